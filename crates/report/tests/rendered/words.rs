//! Verdicts on records made up, in sentences.

use assay_model::check::{Check, CheckOutcome};
use assay_model::evidence::Evidence;
use assay_model::load::ErrorClass;
use assay_model::network::Network;
use assay_model::published::{Figures, Published, PublishedRow, SourceCpus};
use assay_model::record::{Measurement, NotRun, Record, Stage};
use assay_model::rule::Rule;
use assay_report::terminal::{Style, render};
use assay_report::{export, page, sentences};
use assay_verdict::testing::{judged, record, with_control};

const EVEN: [f64; 6] = [1000.0, 1012.0, 994.0, 1003.0, 997.0, 1006.0];
const OTHER: [f64; 6] = [1004.0, 1003.0, 1001.0, 995.0, 1006.0, 998.0];

fn times(series: [f64; 6], factor: f64) -> Vec<f64> {
    series.map(|rate| rate * factor).to_vec()
}

fn said(record: &Record) -> Vec<String> {
    sentences::of_run(record, &judged(record))
}

fn spoil(record: &mut Record, name: &str, mut how: impl FnMut(&mut Measurement)) {
    for run in record.rounds.iter_mut().flat_map(|round| &mut round.runs).filter(|run| run.contender == name)
    {
        run.cells.iter_mut().for_each(&mut how);
    }
}

#[test]
fn who_leads_and_by_how_much() {
    let (fast, slow) = (times(EVEN, 50.0), times(OTHER, 45.0));
    let told = said(&record(&[("slow", &slow), ("fast", &fast)]));
    assert!(told[0].starts_with("On hello at 64 connections, fast is the fastest with 50."), "{told:?}");
    assert!(told[1].starts_with("fast serves 1.1"), "{told:?}");
    let equal = said(&record(&[("a", &times(EVEN, 50.0)), ("b", &times(OTHER, 50.0))]));
    assert!(equal[0].contains("b and a lead") || equal[0].contains("a and b lead"), "{equal:?}");
    assert!(equal[0].contains("; this run could show differences from "), "{equal:?}");
    let once = said(&record(&[("a", &[100.0]), ("b", &[50.0])]));
    assert!(once[0].contains("one round shows no differences"), "{once:?}");
    let tail = |slow: &[f64], slower: &[f64]| {
        said(&record(&[("a", &times(EVEN, 90.0)), ("b", &times(OTHER, 60.0)), ("c", slow), ("d", slower)]))[1]
            .clone()
    };
    let (slow, as_slow) = (times(EVEN, 30.0), times(OTHER, 30.0));
    assert!(tail(&slow, &times(OTHER, 20.0)).ends_with("serves, the slowest."));
    let tied = tail(&slow, &as_slow);
    assert!(tied.ends_with("serves, one of the slowest."), "a tie has no slowest: {tied}");
    let half = said(&record(&[("limit", &times(EVEN, 80.0)), ("a", &times(EVEN, 40.0))]));
    assert!(half[0].contains("50 % of this machine's limit"), "{half:?}");
}

/// Tiers follow from the order; who is erratic may stand behind the first tier and yet not be shown to be slower than all of it.
#[test]
fn nobody_leads_while_another_is_not_shown_to_be_slower() {
    let erratic = [44.0, 60.0, 30.0, 52.0, 38.0, 47.0].map(|rate| rate * 1000.0);
    let (fast, slow) = (times(EVEN, 50.0), times(OTHER, 45.0));
    let one = record(&[("fast", &fast), ("slow", &slow), ("erratic", &erratic)]);
    let told = said(&one);
    assert!(
        told[0].contains(", fast came out first with 50.")
            && told[0].ends_with("; erratic is not shown to be slower."),
        "{told:?}"
    );
    assert!(told[1].starts_with("fast serves 1.1") && told[1].ends_with("what slow serves."), "{told:?}");
    let bold = |record: &Record| {
        let badge = export::badge(record, &judged(record), export::Choice::default());
        badge.expect("a badge").matches("class=\"first\"").count()
    };
    let style = Style { width: 100, colour: true, ascii: false, full: false };
    let is_heavy = |record: &Record, name: &str| {
        let page = render(record, &judged(record), &style);
        page.lines().any(|line| {
            line.contains('\u{1b}')
                && line.trim_start_matches(['\u{1b}', '[', '1', 'm', ' ']).starts_with(name)
        })
    };
    assert_eq!((bold(&one), is_heavy(&one, "fast ")), (0, false));
    let two = record(&[("fast", &fast), ("slow", &slow)]);
    assert_eq!((bold(&two), is_heavy(&two, "fast ")), (1, true));
    let both =
        said(&record(&[("a", &fast), ("b", &times(OTHER, 50.0)), ("slow", &slow), ("erratic", &erratic)]));
    assert!(both[0].contains(" came out first with up to 50."), "{both:?}");
    assert!(both[0].ends_with(", and erratic is not shown to be slower than each of them."), "{both:?}");
}

/// More rounds of each would not help those who never meet.
#[test]
fn those_who_never_met_are_not_said_to_have_too_few_restarts() {
    let met_in = |rounds: usize| {
        let mut apart = record(&[("a", &times(EVEN, 50.0)), ("b", &times(OTHER, 45.0))]);
        for (index, round) in apart.rounds.iter_mut().enumerate().skip(rounds) {
            round.runs.retain(|run| (run.contender == "a") == (index < 3));
        }
        said(&apart)[0].clone()
    };
    let never = met_in(0);
    let none = "; no two contenders count in the same round, so that none can be compared.";
    assert!(never.ends_with(none), "{never}");
    let once = met_in(1);
    let too_few = "; no two contenders count together in two rounds, and one is too few to show differences.";
    assert!(once.ends_with(too_few), "{once}");
}

/// A throughput is the same text wherever it stands.
#[test]
fn a_number_reads_alike_in_a_sentence_and_in_a_table() {
    // Rounds that differ, because an interval without a width shows no more digits than usual.
    let record = record(&[("a", &[9_998.0, 10_000.0, 9_999.0, 9_999.0, 9_999.0, 9_999.0])]);
    let table =
        render(&record, &judged(&record), &Style { width: 120, colour: false, ascii: false, full: false });
    assert!(said(&record)[0].contains("a serves 9.999k right answers"), "{:?}", said(&record));
    assert!(table.lines().any(|line| line.starts_with(" a ") && line.contains(" 9.999k ")), "{table}");
}

#[test]
fn a_control_is_nobody_of_its_own() {
    let (a, b) = (times(EVEN, 50.0), times(OTHER, 45.0));
    let told = said(&with_control(record(&[("a", &a), ("b", &b), ("a′", &times(OTHER, 50.0))])));
    assert!(told.iter().all(|sentence| !sentence.contains('′')), "{told:?}");
}

#[test]
fn who_is_not_ranked_or_was_not_run_is_said_with_the_reason() {
    let mut wrong = record(&[("good", &EVEN), ("bad", &times(EVEN, 2.0)), ("limit", &times(EVEN, 4.0))]);
    for name in ["bad", "limit"] {
        spoil(&mut wrong, name, |window| {
            window.load.books.errors.insert(ErrorClass::UnexpectedStatus, 1000);
            window.load.books.issued += 1000;
        });
    }
    let told = said(&wrong);
    assert!(told.iter().any(|sentence| sentence.starts_with("bad is not ranked: 6,000 of ")), "{told:?}");
    assert!(
        told.last().is_some_and(|last| last.starts_with("This machine's limit is not known: ")),
        "{told:?}"
    );
    let mut partial = record(&[("a", &EVEN), ("b", &[])]);
    let reason = "needs Go 1.23 or newer".to_owned();
    partial.contenders[1].not_run =
        Some(NotRun { stage: Stage::Needs, reason, remedy: None, log_tail: Vec::new() });
    assert_eq!(said(&partial).last().map(String::as_str), Some("b was not run: needs Go 1.23 or newer."));
    assert_eq!(said(&record(&[("a", &[])])), ["On hello, no contender was measured."]);
}

#[test]
fn what_voids_a_run_comes_first() {
    let mut debug = record(&[("a", &EVEN)]);
    debug.assay.profile = "debug".to_owned();
    assert!(
        said(&debug)[0].starts_with("Do not use these numbers: assay was built for debug"),
        "{:?}",
        said(&debug)
    );
}

/// Both axes are named on both sides.
#[test]
fn a_stack_against_another() {
    let networks = ["kernel/veth", "user/xdp"].map(|name| name.parse::<Network>().expect("network"));
    let mut record = record(&[("nginx", &EVEN)]);
    record.experiment.measures[0].networks = networks.to_vec();
    for round in &mut record.rounds {
        let runs = networks.map(|network| {
            let mut run = round.runs[0].clone();
            (run.network, run.cells[0].cell.network) = (Some(network), Some(network));
            let faster = network == networks[1];
            run.cells[0].load.window.ok *= if faster { 5 } else { 2 };
            run
        });
        round.runs = runs.to_vec();
    }
    let told = said(&record);
    let sentence = told.iter().find(|text| text.contains("nginx serves 2.5")).expect("a sentence");
    assert!(sentence.contains("the user-space stack over AF_XDP on veth"), "{sentence}");
    assert!(
        sentence.contains("the kernel's stack over veth") && sentence.contains("same kind of wire"),
        "{sentence}"
    );
}

#[test]
fn a_machine_of_the_sources_size_is_an_upper_bound() {
    let row = |title: &str, contender: &str, value: f64| PublishedRow {
        title: title.to_owned(),
        contender: Some(contender.to_owned()),
        network: None,
        values: vec![value],
    };
    let mut record = record(&[("a", &EVEN), ("b", &times(EVEN, 2.0)), ("c", &[500.0; 6])]);
    record.experiment.published = Some(Published {
        source: "a talk".to_owned(),
        quantity: "requests per second".to_owned(),
        figures: Figures::Throughput,
        workload: None,
        cpus: Some(SourceCpus { count: 40, unit: "hardware threads".to_owned() }),
        columns: vec!["64".to_owned()],
        rows: vec![row("A of old", "a", 100.0), row("B", "b", 300.0)],
    });
    let page = page::build(&[(&record, &judged(&record))]).expect("page");
    let told = &page.runs[0].head.published.as_ref().expect("published").sentences;
    assert_eq!(told.len(), 4, "{told:?}");
    for words in
        ["300 requests per second on 40 hardware threads", "7.50 on each", "on the 1 CPU", "upper bound"]
    {
        assert!(told[1].contains(words), "{words} in {}", told[1]);
    }
    assert!(told[1].ends_with("takes 1 of them at least."), "{}", told[1]);
    assert!(told[2].contains("here: a 1.00k") && told[2].contains("c 500."), "{}", told[2]);
    assert!(told[3].starts_with("On loopback"), "{}", told[3]);
}

/// Twelve rules that are broken, of which two void the run.
fn broken() -> Vec<Check> {
    let rules = [
        (Rule::NoiseFloor, CheckOutcome::Warn),
        (Rule::Headroom, CheckOutcome::Warn),
        (Rule::Pressure, CheckOutcome::Warn),
        (Rule::MachineSpeed, CheckOutcome::Warn),
        (Rule::Steal, CheckOutcome::Warn),
        (Rule::Trend, CheckOutcome::Warn),
        (Rule::Order, CheckOutcome::Warn),
        (Rule::Tcp, CheckOutcome::Warn),
        (Rule::Throttled, CheckOutcome::Warn),
        (Rule::LinkLoss, CheckOutcome::Warn),
        (Rule::Isolation, CheckOutcome::Void),
        (Rule::Books, CheckOutcome::Void),
    ];
    let told = |rule: Rule| Evidence::Told {
        sentence: format!("{rule} is broken, in words that take a line or two of a terminal"),
    };
    rules.map(|(rule, outcome)| Check::objection(rule, outcome, told(rule))).to_vec()
}

#[test]
fn warnings_take_a_screen_and_what_is_void_comes_first() {
    let record = record(&[("a", &times(EVEN, 50.0)), ("b", &times(OTHER, 45.0))]);
    let mut verdict = judged(&record);
    verdict.trust = broken();
    let lines = |width, full| -> Vec<String> {
        let text = render(&record, &verdict, &Style { width, colour: false, ascii: false, full });
        let all = text.lines().map(str::to_owned);
        all.skip_while(|line| !line.starts_with(" Void")).collect()
    };
    let labels = |lines: &[String], label: &str| lines.iter().filter(|line| line.starts_with(label)).count();
    for width in [60, 80, 120, 200] {
        let (short, full) = (lines(width, false), lines(width, true));
        assert!(short.len() <= 20, "{} lines at {width} columns:\n{}", short.len(), short.join("\n"));
        assert_eq!((labels(&short, " Void"), labels(&full, " Void")), (2, 2));
        assert_eq!(labels(&full, " Warning"), 10, "{full:?}");
        let (told, left) = (labels(&short, " Warning"), short.join(" "));
        // Two of the rules tell of one disturbance.
        assert!(told < 9 && left.contains(&format!(" {} more with -v: ", 9 - told)), "{width}: {left}");
        assert!(!full.join(" ").contains("more with -v"), "{full:?}");
    }
    verdict.trust.truncate(4);
    verdict.trust.push(Check::objection(Rule::Steal, CheckOutcome::Void, Evidence::Pressure { share: 0.4 }));
    let few = render(&record, &verdict, &Style { width: 100, colour: false, ascii: false, full: false });
    assert!(few.contains(" Void     disturbed: ") && !few.contains("more with -v"), "{few}");
    let markdown = assay_report::export::markdown(&record, &verdict);
    let said: Vec<&str> =
        markdown.lines().filter(|line| line.contains("waited for a CPU 40 % of the time")).collect();
    assert!(
        said.len() == 2 && said[0].starts_with("**Do not use") && said[1].starts_with("- **Void**"),
        "{markdown}"
    );
    assert_eq!(
        markdown.matches("- **Void**").count() + markdown.matches("- **Warning**").count(),
        4,
        "{markdown}"
    );
}
