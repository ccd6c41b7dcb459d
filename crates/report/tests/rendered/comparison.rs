//! A made-up comparison through every format: what is shown, what is not, and what hostile names can do.

use assay_model::check::{Check, CheckOutcome};
use assay_model::comparison::{
    COMPARISON_SCHEMA, Change, Comparison, Metric, Objection, Pairing, Row, RunCheck, Shift, Subject,
    ThresholdFinding, ThresholdOutcome,
};
use assay_model::design::{Because, Comparing, Design};
use assay_model::evidence::{Evidence, PropertyDifference, Withheld};
use assay_model::experiment::Cell;
use assay_model::rule::Rule;
use assay_model::verdict::{Interval, SelfRatio};
use assay_report::comparison::{json, junit, markdown, render};
use assay_report::terminal::Style;
use assay_report::text;

use crate::planting;

const HOSTILE: &str = "evil|`\u{1b}[31m<img src=x>";

fn change(metric: Metric, base: f64, [low, high]: [f64; 2], call: Shift) -> Change {
    let estimate = (low * high).sqrt();
    let ratio = Some(Interval { estimate, low, high, confidence: 0.95 });
    Change {
        metric,
        base: Some(base),
        new: Some(base * estimate),
        ratio,
        rounds: 6,
        round_cv: Some(0.02),
        design: if metric == Metric::Rps { Design::Duet } else { Design::Alternating },
        alternating: ratio.filter(|_| metric == Metric::Rps),
        margin: 0.01,
        detectable: Some(0.03),
        call,
    }
}

fn warning(rule: Rule) -> Check {
    let sentence = "something was amiss".to_owned();
    Check::objection(rule, CheckOutcome::Warn, Evidence::Told { sentence })
}

fn row(new: &str, changes: Vec<Change>, withheld: Option<Withheld>) -> Row {
    let of = |contender: &str| Subject { run: "20261120-run".to_owned(), contender: contender.to_owned() };
    Row { cell: Cell::closed("hello", 64), base: of("old"), new: of(new), changes, withheld }
}

fn comparison() -> Comparison {
    let changes = vec![
        change(Metric::Rps, 100_000.0, [0.93, 0.95], Shift::Worse),
        change(Metric::P50, 640_000.0, [0.97, 1.04], Shift::NotShown),
        change(Metric::P99, 750_000.0, [1.06, 1.08], Shift::NotCalled),
        change(Metric::Cpu, 9_000.0, [0.80, 0.84], Shift::Better),
        change(Metric::Memory, 9e6, [1.0, 1.0], Shift::Equal),
    ];
    let finding = |text: &str, row: u32, outcome: ThresholdOutcome| ThresholdFinding {
        threshold: text.parse().unwrap(),
        row,
        outcome,
    };
    Comparison {
        schema: COMPARISON_SCHEMA.to_owned(),
        pairing: Pairing::Rounds,
        comparing: Some(Comparing {
            base: "old".to_owned(),
            design: Design::Duet,
            because: Because::OneKind,
        }),
        control: vec![SelfRatio {
            cell: Cell::closed("hello", 64),
            ratio: Interval { estimate: 1.001, low: 0.994, high: 1.008, confidence: 0.95 },
        }],
        trust: vec![
            RunCheck { run: None, check: Check::pass(Rule::Answers, Evidence::RightAnswers { ok: 12_345 }) },
            RunCheck { run: None, check: warning(Rule::Pressure) },
        ],
        objections: vec![Objection {
            run: None,
            contender: "new".to_owned(),
            cell: Cell::closed("hello", 64),
            check: warning(Rule::WarmUp),
        }],
        confidence: 0.95,
        margin: 0.01,
        caveats: vec![Check {
            rule: Rule::Machine,
            outcome: CheckOutcome::Void,
            evidence: Evidence::Differences {
                between: vec![PropertyDifference { property: "cpus".into(), base: 2.into(), new: 4.into() }],
            },
        }],
        rows: vec![
            row("new", changes, None),
            row(HOSTILE, Vec::new(), Some(Withheld::AllVoid { rules: vec![Rule::Steal] })),
        ],
        findings: vec![
            finding("rps:-3%", 0, ThresholdOutcome::Shown),
            finding("p99:+2%", 0, ThresholdOutcome::Possible { rounds_needed: Some(23) }),
            finding("cpu:+5%", 0, ThresholdOutcome::Excluded),
            finding("rps:-3%", 1, ThresholdOutcome::Unknown),
        ],
    }
}

/// The comparison with another change of throughput.
fn told(interval: [f64; 2], call: Shift) -> String {
    let changes = vec![change(Metric::Rps, 100_000.0, interval, call)];
    let of = Comparison { rows: vec![row("new", changes, None)], findings: Vec::new(), ..comparison() };
    render(&of, &Style { width: 100, colour: false, ascii: false, full: false }).lines().take(2).collect()
}

#[test]
fn the_sentence_comes_first_and_says_what_is_known() {
    for (interval, call, sentence) in [
        ([0.972, 0.986], Shift::Worse, "new is 2.1 % slower than old [1.4 … 2.8 %]"),
        ([1.03, 1.05], Shift::Better, "new is 4.0 % faster than old [3.0 … 5.0 %]"),
        ([2.3, 2.5], Shift::Better, "new is 2.40 times as fast as old [2.30 … 2.50]"),
        (
            [0.97, 1.04],
            Shift::NotShown,
            "cannot tell whether new differs from old [−3.0 … +4.0 %]: this comparison could see changes from",
        ),
        ([0.996, 1.004], Shift::Equal, "new does not differ from old by more than 1.0 % [−0.4 … +0.4 %]"),
    ] {
        let text = told(interval, call);
        assert!(text.trim_start().starts_with(sentence), "{text}");
    }
}

#[test]
fn where_nothing_was_compared_there_is_no_legend() {
    let style = Style { width: 100, colour: false, ascii: false, full: false };
    let said = |of: &Comparison| {
        let both = render(of, &style) + &markdown(of);
        both.matches("intervals that hold for all rows").count()
    };
    let all = comparison();
    assert_eq!(said(&all), 1, "on the terminal it is wrapped");
    let rows = all.rows.iter().cloned().map(|row| Row { changes: Vec::new(), ..row }).collect();
    assert_eq!(said(&Comparison { rows, ..all }), 0);
}

#[test]
fn what_speaks_against_two_runs_is_told_of_each() {
    let runs = ["one", "two"].map(|run| Some(run.to_owned()));
    let trust = runs.clone().map(|run| RunCheck { run, check: warning(Rule::Pressure) });
    let objections = runs.map(|run| Objection {
        run,
        contender: "new".to_owned(),
        cell: Cell::closed("hello", 64),
        check: warning(Rule::WarmUp),
    });
    let of = Comparison { trust: trust.into(), objections: objections.into(), ..comparison() };
    let told = render(&of, &Style { width: 100, colour: false, ascii: false, full: true });
    for text in [told, markdown(&of)] {
        for about in ["pressure in one: ", "pressure in two: ", "warm up in one: ", "warm up in two: "] {
            assert_eq!(text.matches(about).count(), 1, "{about}: {text}");
        }
    }
}

#[test]
fn terminal_at_80_columns() {
    insta::assert_snapshot!(terminal(80, false));
}

fn terminal(width: usize, ascii: bool) -> String {
    render(&comparison(), &Style { width, colour: false, ascii, full: false })
}

#[test]
fn terminal_at_100_columns() {
    insta::assert_snapshot!(terminal(100, false));
}

#[test]
fn markdown_for_a_pull_request() {
    insta::assert_snapshot!(markdown(&comparison()));
}

#[test]
fn junit_for_a_server() {
    insta::assert_snapshot!(junit(&comparison()).unwrap());
}

#[test]
fn no_line_is_wider_than_the_terminal_and_the_change_is_always_there() {
    for columns in [40, 60, 80, 132] {
        for ascii in [false, true] {
            let text = terminal(columns, ascii);
            let too_wide: Vec<&str> = text.lines().filter(|line| text::width(line) > columns).collect();
            assert_eq!(too_wide, Vec::<&str>::new(), "at {columns} columns");
            let change = if ascii { "-6.0 %" } else { "−6.0 %" };
            assert!(text.lines().any(|line| line.contains("req/s") && line.contains(change)), "{text}");
            assert!(!ascii || text.is_ascii());
        }
    }
}

#[test]
fn hostile_names_stay_text() {
    assert!(!terminal(100, false).contains('\u{1b}'));
    let markdown = markdown(&comparison());
    assert!(markdown.contains("evil\\|\\` \\[31m&lt;img"), "{markdown}");
    let xml = junit(&comparison()).unwrap();
    assert!(xml.contains("&lt;img") && !xml.contains("<img") && !xml.contains('\u{1b}'), "{xml}");
}

#[test]
fn hostile_text_in_every_string_stays_text() {
    let (base, other) = ("node".to_owned(), "python3".to_owned());
    let because = Because::DifferentPrograms { base, other };
    let comparing = Comparing { base: "old".to_owned(), design: Design::Alternating, because };
    let tame = Comparison { comparing: Some(comparing), ..comparison() };
    let ground = planting::Ground::of(&tame);
    for plant in planting::PLANTS {
        let hostile: Comparison = ground.planted(plant);
        let text = markdown(&hostile);
        planting::assert_tame(&text);
        let skeleton = planting::skeleton_of_markdown;
        assert_eq!(skeleton(&text), skeleton(&markdown(&tame)), "{text}");
        let xml = |of| planting::skeleton_of_xml(&junit(of).unwrap());
        assert_eq!(xml(&hostile), xml(&tame));
        planting::assert_tame(&render(
            &hostile,
            &Style { width: 100, colour: false, ascii: false, full: false },
        ));
        let text = json(&hostile).unwrap();
        planting::assert_tame(&text);
        assert_eq!(serde_json::from_str::<Comparison>(&text).unwrap(), hostile);
    }
}

#[test]
fn json_reads_back_as_the_same() {
    let text = json(&comparison()).unwrap();
    assert_eq!(serde_json::from_str::<Comparison>(&text).unwrap(), comparison());
    assert!(
        text.contains("\"outcome\": \"possible\"") && text.contains("\"threshold\": \"p99:+2%\""),
        "{text}"
    );
}
