//! A made-up run (`support`) through every format: what is shown, what is withheld, and what hostile text can do.

use std::collections::BTreeSet;

use assay_model::check::{Check, CheckOutcome};
use assay_model::conformance::{Conformance, Ruling};
use assay_model::evidence::{Evidence, Withheld};
use assay_model::experiment::Cell;
use assay_model::record::{Origin, Record, Run};
use assay_model::rule::Rule;
use assay_model::verdict::Verdict;
use assay_report::terminal::{Style, render, render_after};
use assay_report::{export, foreign, html, page, sentences, text, words};

use crate::support::{DYING, HOSTILE, LEVELS, LIMIT, NOT_INSTALLED, ROUNDS, WITHHELD, sample};
use crate::{latency, networks, published, support};

fn terminal(width: usize, colour: bool, ascii: bool) -> String {
    let (record, verdict) = sample();
    render(&record, &verdict, &Style { width, colour, ascii, full: false })
}

#[test]
fn terminal_at_80_columns() {
    insta::assert_snapshot!(terminal(80, false, false));
}

#[test]
fn terminal_at_200_columns_in_ascii() {
    let text = terminal(200, false, true);
    assert!(text.is_ascii());
    insta::assert_snapshot!(text);
}

#[test]
fn rules_that_contenders_of_the_catalogue_break_are_told_when_all_is_asked_for() {
    let (mut record, verdict) = sample();
    let told = |record: &Record, full| {
        let style = Style { width: 100, colour: false, ascii: false, full };
        render(record, &verdict, &style).contains("nginx: must keep but breaks bad-host")
    };
    assert_eq!((told(&record, false), told(&record, true)), (false, true));
    record.contenders.iter_mut().for_each(|entry| entry.identity.origin = Origin::Command);
    assert!(told(&record, false), "the user's own server");
}

#[test]
fn rules_are_told_when_they_changed() {
    let (mut record, verdict) = sample();
    let nginx = record.contenders.iter_mut().find(|entry| entry.identity.name == "nginx").expect("nginx");
    nginx.identity.origin = Origin::Command;
    let now = nginx.conformance.clone().expect("asked");
    let style = Style { width: 100, colour: false, ascii: false, full: false };
    let told = |before: &Conformance| {
        let text = render_after(&record, &verdict, &[("nginx".to_owned(), before.clone())].into(), &style);
        text.lines().find(|line| line.contains(" nginx: ")).unwrap_or_default().to_owned()
    };
    assert_eq!(told(&now), "");
    let mut before = now;
    let findings = before.findings.iter_mut().filter(|finding| finding.ruling != Ruling::NotApplicable);
    findings.for_each(|finding| {
        finding.ruling = if finding.ruling == Ruling::Kept { Ruling::Broken } else { Ruling::Kept };
    });
    let changed = told(&before);
    assert!(
        changed.contains("Conform  nginx: newly breaks bad-host") && changed.contains("; newly keeps "),
        "{changed}"
    );
}

#[test]
fn what_passed_takes_a_few_lines_and_the_rest_is_counted() {
    let (record, mut verdict) = sample();
    let facts = [Rule::Little, Rule::Steal, Rule::Tcp, Rule::Order, Rule::Trend, Rule::Rounds, Rule::Errors];
    verdict.trust = facts
        .map(|rule| {
            let sentence = format!("{} was looked at in every window, and nothing was amiss", rule.name());
            Check::pass(rule, Evidence::Told { sentence })
        })
        .into();
    let trust = |full| {
        let text = render(&record, &verdict, &Style { width: 80, colour: false, ascii: false, full });
        text.split(" Trust ").nth(1).unwrap().split(" Void ").next().unwrap().trim_end().to_owned()
    };
    let short = trust(false);
    assert!(
        short.trim_start().starts_with("errors was looked at") && short.ends_with("more with -v"),
        "{short}"
    );
    assert!(short.lines().count() <= 5, "{short}");
    let full = trust(true);
    assert!(facts.iter().all(|rule| full.contains(rule.name())) && !full.contains("-v"), "{full}");
}

#[test]
fn a_rule_that_one_contender_breaks_is_not_told_as_kept() {
    let (record, mut verdict) = sample();
    let tcp = |retransmitted| Evidence::Tcp { retransmitted, dropped: 0 };
    let kept = Check::pass(Rule::Tcp, tcp(7_001));
    verdict.trust = vec![kept.clone()];
    let is_told = |verdict: &Verdict| {
        let text = render(&record, verdict, &Style { width: 200, colour: false, ascii: false, full: true });
        text.split_whitespace().collect::<Vec<_>>().join(" ").contains(&words::evidence(&kept))
    };
    assert!(is_told(&verdict));
    let broken = Check::objection(Rule::Tcp, CheckOutcome::Warn, tcp(6_999));
    verdict.cells[0].standings[0].checks.push(broken);
    assert!(!is_told(&verdict));
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for columns in [40, 60, 72, 80, 100, 132, 200] {
        for ascii in [false, true] {
            let too_wide: Vec<String> = terminal(columns, false, ascii)
                .lines()
                .filter(|line| text::width(line) > columns)
                .map(String::from)
                .collect();
            assert_eq!(too_wide, Vec::<String>::new(), "at {columns} columns");
        }
    }
}

#[test]
fn prose_is_no_wider_than_people_can_follow_back_and_tables_are() {
    let whole = terminal(200, false, false);
    let (tables, prose) = whole.split_once(" Verdict ").unwrap();
    let widest = |part: &str| part.lines().map(text::width).max();
    assert!(widest(tables) > Some(150) && widest(prose) <= Some(110), "{whole}");
}

#[test]
fn notes_below_a_table_are_broken_between_words() {
    let (record, mut verdict) = sample();
    verdict.cells.iter_mut().for_each(|cell| cell.margin = 0.05);
    let told = render(&record, &verdict, &Style { width: 40, colour: false, ascii: false, full: false });
    assert!(told.lines().all(|line| text::width(line) <= 40), "{told}");
    assert!(told.contains("\n here differences under 5.0 % count as\n   none\n"), "{told}");
}

#[test]
fn long_names_are_whole_where_there_is_room_and_never_alike() {
    let (record, verdict) = with_long_names();
    let rows = |width, name: &str| {
        let told = render(&record, &verdict, &Style { width, colour: false, ascii: false, full: false });
        assert!(told.lines().all(|line| text::width(line) <= width), "{told}");
        told.lines().filter(|line| line.starts_with(" java-jar-") && line.contains(name)).count()
    };
    let tables = 2 * LEVELS.len();
    for (name, end) in LONG.into_iter().zip(["s-one-jar ", "s-two-jar "]) {
        assert_eq!(rows(220, &format!(" {name} ")), tables, "the columns leave room");
        assert_eq!((rows(80, name), rows(80, end)), (0, tables), "they do not");
    }
}

/// Commands that begin alike.
const LONG: [&str; 2] = ["java-jar-home-me-servers-one-jar", "java-jar-home-me-servers-two-jar"];

/// The made-up run with those in place of two contenders.
fn with_long_names() -> (Record, Verdict) {
    let (mut record, _) = sample();
    for (name, long) in ["nginx", "node"].into_iter().zip(LONG) {
        let entries = record.contenders.iter_mut().map(|entry| &mut entry.identity.name);
        let runs = record.rounds.iter_mut().flat_map(|round| &mut round.runs).map(|run| &mut run.contender);
        entries.chain(runs).filter(|own| *own == name).for_each(|own| long.clone_into(own));
    }
    let verdict = support::judge::verdict(&record);
    (record, verdict)
}

#[test]
fn every_table_keeps_contender_and_speed_at_any_width() {
    for columns in [40, 80, 200] {
        let text = terminal(columns, false, false);
        for name in ["nginx", "net-http", "gin", "node", WITHHELD, LIMIT] {
            let rows = text.lines().filter(|line| line.starts_with(&format!(" {name} "))).count();
            assert_eq!(rows, 2 * LEVELS.len(), "{name} at {columns} columns");
        }
        assert!(text.contains("77.9k") && text.contains("withheld: the generator"), "{text}");
    }
}

#[test]
fn colour_changes_nothing_but_the_colour() {
    let coloured = terminal(80, true, false);
    assert!(coloured.contains("\u{1b}["));
    let mut plain = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, escape)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        rest = escape.split_once('m').unwrap().1;
    }
    plain.push_str(rest);
    let trimmed: Vec<&str> = plain.lines().map(str::trim_end).collect();
    assert_eq!(trimmed, terminal(80, false, false).lines().collect::<Vec<_>>());
    assert!(!terminal(80, false, false).contains('\u{1b}'));
}

#[test]
fn a_withheld_number_is_nowhere_in_the_summaries() {
    let (record, verdict) = sample();
    let markdown = export::markdown(&record, &verdict);
    for text in [terminal(200, false, false), markdown] {
        for line in text.lines().filter(|line| line.contains(WITHHELD) && line.contains("withheld")) {
            assert!(!line.contains("84.") && !line.contains("ms"), "{line}");
        }
    }
}

#[test]
fn response_times_have_tables_of_their_own() {
    let (record, mut verdict) = sample();
    (verdict.cells, verdict.trust) = (Vec::new(), Vec::new());
    verdict.latency = latency::latency();
    let at = |width| render(&record, &verdict, &Style { width, colour: false, ascii: false, full: false });
    insta::assert_snapshot!(at(80).split(" Failed").next().unwrap());
    for columns in [40, 60, 80, 120] {
        let tables = at(columns);
        assert!(
            tables.lines().filter(|line| line.starts_with(" n")).all(|line| text::width(line) <= columns)
        );
        assert!(tables.contains("> 13.8 s"), "{tables}");
    }
    let markdown = export::markdown(&record, &verdict);
    for words in ["Poisson load at 50 % of own capacity", "| node | 30.5k |", "withheld: only 2 of 6"] {
        assert!(markdown.contains(words), "{words} in {markdown}");
    }
}

/// `nginx` on both stacks, over the same kind of wire and over memory.
fn on_both_stacks() -> Vec<assay_model::verdict::StackCost> {
    use assay_model::experiment::Cell;
    use assay_model::network::{Cable, Network, Spec};
    use assay_model::verdict::{Call, Interval, StackCost};
    let veth = Spec::Veth(Cable::default());
    let around =
        |estimate: f64| Interval { estimate, low: estimate * 0.98, high: estimate * 1.02, confidence: 0.95 };
    let of = |link: Spec, per_second: f64| StackCost {
        contender: "nginx".to_owned(),
        cell: Cell::closed("hello", 64).on(Some(Network::user(link))),
        kernel: Network::kernel(link),
        same_wire: link != Spec::Loopback,
        user_per_second: Some(around(per_second)),
        kernel_per_second: Some(around(100_000.0)),
        ratio: Some(around(per_second / 100_000.0)),
        call: Some(Call::Distinct),
        p50_ratio: Some(0.31),
        withheld: None,
    };
    let withheld = StackCost {
        contender: "gin".to_owned(),
        ratio: None,
        withheld: Some(Withheld::OnStack {
            user_space: true,
            because: Box::new(support::judge::because("it is written in Go")),
        }),
        ..of(veth, 1.0)
    };
    vec![of(veth, 265_000.0), withheld, of(Spec::Loopback, 612_000.0)]
}

#[test]
fn what_the_stack_costs_names_both_axes_at_any_width() {
    let (record, mut verdict) = sample();
    (verdict.cells, verdict.trust) = (Vec::new(), Vec::new());
    verdict.stack_cost = on_both_stacks();
    for width in [80, 200] {
        let table = render(&record, &verdict, &Style { width, colour: false, ascii: false, full: false });
        let of_stacks = table.split(" Failed").next().unwrap().split(" Not run").next().unwrap();
        for title in ["user/xdp against kernel/veth: same kind of wire", "user/ring against kernel/loopback"]
        {
            assert!(of_stacks.contains(title), "{table}");
        }
        assert!(of_stacks.contains("2.65×") && of_stacks.contains("it is written in Go"), "{of_stacks}");
        assert!(of_stacks.lines().all(|line| line.chars().count() <= width), "{of_stacks}");
        assert!(of_stacks.contains("[2.60 … 2.70]"), "{of_stacks}");
    }
    let markdown = export::markdown(&record, &verdict);
    assert!(markdown.contains("| nginx | hello at 64 | 265k | 100k | 2.65× | [2.60 … 2.70] |"), "{markdown}");
    let page = page::build(&[(&record, &verdict)]).expect("page");
    let compared = &page.runs[0].head.stack_cost;
    assert_eq!(compared.iter().map(|one| one.rows.len()).collect::<Vec<_>>(), [2, 1]);
    assert!(compared[0].same_wire && !compared[1].same_wire);
}

#[test]
fn redlines_are_told_with_both_bounds() {
    let (record, mut verdict) = sample();
    (verdict.cells, verdict.trust) = (Vec::new(), Vec::new());
    verdict.redlines = latency::redlines();
    let table = render(&record, &verdict, &Style { width: 100, colour: false, ascii: false, full: false });
    insta::assert_snapshot!(table.split(" Failed").next().unwrap().split(" Not run").next().unwrap());
    let markdown = export::markdown(&record, &verdict);
    for words in [
        "highest rate that keeps p99&lt;10ms",
        "| nginx | 63.2k | 64.3k | 79 % | 56.9k | 23 | 9 |",
        "given up: void",
    ] {
        assert!(markdown.contains(words), "{words} in {markdown}");
    }
}

#[test]
fn figures_of_others_stand_beside_ours_as_ratios() {
    let (record, mut verdict) = sample();
    (verdict.cells, verdict.trust) = (Vec::new(), Vec::new());
    (verdict.published, verdict.answered) = (Some(published::figures()), published::answered());
    let at = |width| render(&record, &verdict, &Style { width, colour: false, ascii: false, full: false });
    insta::assert_snapshot!(at(100).split(" Failed").next().unwrap().split(" Not run").next().unwrap());
    for columns in [40, 60, 80, 120] {
        let table = at(columns);
        assert!(table.lines().all(|line| text::width(line) <= columns), "{table}");
        assert!(table.contains("3.20 | 1.83") && table.contains("4.36 | –"), "{table}");
    }
    let markdown = export::markdown(&record, &verdict);
    for words in [
        "| Go (Gin) | 3.20 | 1.83 | [1.79 … 1.87] |",
        "| Vert.x \\| 3 | 4.36 | – | – |",
        "| not run |",
        "| no contender here |",
        "share of 13,000 requests answered within",
        "| node | 0 % | 10 % | 40 % | 97 % | 1.26 s | 2,340 |",
        "| gin | withheld: only 2 of 6 windows count (steal)",
    ] {
        assert!(markdown.contains(words), "{words} in {markdown}");
    }
    let page = page::build(&[(&record, &verdict)]).unwrap();
    assert_eq!(page.runs[0].head.published.as_ref().map(|of| &of.beside), verdict.published.as_ref());
}

#[test]
fn the_trimmed_mean_stands_beside_the_interval_where_it_is_asked_for() {
    let (record, mut verdict) = sample();
    assert!(!terminal(200, false, false).contains("trimmed"));
    for standing in verdict.cells.iter_mut().flat_map(|cell| &mut cell.standings) {
        standing.trimmed_mean_per_second = standing.throughput_per_second.map(|of| of.estimate);
    }
    let style = Style { width: 200, colour: false, ascii: false, full: false };
    assert!(render(&record, &verdict, &style).contains("95 % interval  trimmed"));
    assert!(export::markdown(&record, &verdict).contains("| 95 % interval | trimmed |"));
}

#[test]
fn those_who_are_missing_come_with_reason_and_remedy() {
    let (record, verdict) = sample();
    let flat = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for text in [flat(terminal(80, false, false)), flat(export::markdown(&record, &verdict))] {
        for fact in
            [NOT_INSTALLED, "apt install openjdk-17-jdk-headless maven", DYING, "in round 4", "SIGSEGV"]
        {
            assert!(text.contains(fact), "{fact} in {text}");
        }
    }
}

#[test]
fn a_run_that_was_stopped_says_so() {
    let (mut record, verdict) = sample();
    record.state = assay_model::record::State::Interrupted;
    let style = Style { width: 80, colour: false, ascii: false, full: false };
    for text in [render(&record, &verdict, &style), export::markdown(&record, &verdict)] {
        assert!(text.contains("stopped by hand"), "{text}");
    }
}

#[test]
fn the_page_is_whole_and_hostile_text_cannot_leave_its_data() {
    let (mut record, _) = sample();
    let nginx = std::mem::replace(&mut record.contenders[2].identity.name, HOSTILE.to_owned());
    let runs = record.rounds.iter_mut().flat_map(|round| &mut round.runs);
    runs.filter(|run| run.contender == nginx).for_each(|run| HOSTILE.clone_into(&mut run.contender));
    let verdict = support::judge::verdict(&record);
    let page = html::page(&record, &verdict).unwrap();
    assert!(!page.contains("<script>alert"), "hostile text has become markup");
    assert!(!page.contains("</script><script>"), "hostile text has closed a script");
    assert!(page.contains("<title>showdown: On hello at 64 connections, &lt;/script&gt;&lt;script&gt;"));
    assert!(!page.contains("http-equiv=\"refresh\"") && page.contains("default-src 'none'"));
    let loads = ["src=\"http", "href=\"http", "url(http", "@import"];
    assert!(loads.iter().all(|load| !page.contains(load)), "the page needs something from outside");
}

#[test]
fn without_a_script_the_page_shows_its_verdict_and_its_first_table() {
    let (record, verdict) = sample();
    let page = html::page(&record, &verdict).unwrap();
    let still = page.split_once("<div id=\"app\">").unwrap().1.split_once("</main>").unwrap().0;
    let sentences = sentences::of_run(&record, &verdict);
    assert!(still.contains(&foreign::markup(&sentences[0])), "{still}");
    for standing in &verdict.cells[0].standings {
        assert!(still.contains(&format!("<th scope=\"row\">{}</th>", standing.contender)), "{still}");
    }
    assert!(still.contains("<noscript>") && !still.contains("<script"), "{still}");
    assert!(still.contains("<div class=\"scroll\" tabindex=\"0\""), "{still}");
}

#[test]
fn the_page_holds_what_the_record_holds() {
    let (record, verdict) = sample();
    let mut data = page::build(&[(&record, &verdict)]).unwrap();
    let page::RunPage { head, findings } = data.runs.remove(0);
    let windows: usize = record.rounds.iter().flat_map(|round| &round.runs).map(|run| run.cells.len()).sum();
    let samples: Vec<&page::Sample> = findings.iter().flat_map(|place| &place.samples).collect();
    assert_eq!(samples.len(), windows);
    assert_eq!(head.run.seed, record.seed.to_string());
    assert_eq!(head.failures.iter().map(|failure| failure.missing.len()).collect::<Vec<_>>(), [4]);
    let void: BTreeSet<(&str, u32)> =
        samples.iter().filter(|s| !s.void.is_empty()).map(|s| (s.contender.as_str(), s.round)).collect();
    assert_eq!(void, BTreeSet::from([("node", 1)]));
    assert_eq!((head.spots.len(), findings.len()), (verdict.cells.len(), verdict.cells.len()));
    assert_eq!(head.leaders, ["nginx", "net-http", "gin", "apache", "node"]);
    for (place, judged) in findings.iter().zip(&verdict.cells) {
        assert_eq!((&place.standings, place.pairs.call.len()), (&judged.standings, judged.pairs.len()));
        assert_eq!(place.curves.len(), 7);
        place.curves.iter().for_each(|curve| is_a_curve(curve, &head));
    }
}

#[test]
fn each_network_has_places_of_its_own_and_what_its_stack_did() {
    let (record, verdict) = networks::on_networks(sample());
    let mut data = page::build(&[(&record, &verdict)]).unwrap();
    let page::RunPage { head, findings } = data.runs.remove(0);
    let on = |name: &str| head.spots.iter().filter(|spot| spot.network == name.parse().ok()).count();
    assert_eq!(
        ["kernel/veth", "user/xdp", "kernel/loopback", "user/ring", networks::LOST].map(on),
        [6, 6, 6, 6, 0]
    );
    for (spot, found) in head.spots.iter().zip(&findings) {
        let is_user = spot.network.is_some_and(|network| network.to_string().starts_with("user/"));
        let has_all = found.standings.iter().any(|standing| standing.contender == networks::KERNEL_ONLY);
        assert_ne!(is_user, has_all, "{spot:?}");
        assert!(found.samples.iter().any(|sample| sample.contender == "nginx"), "{spot:?}");
    }
    let titles: Vec<String> =
        head.stack_cost.iter().map(|one| format!("{} {} {}", one.user, one.kernel, one.same_wire)).collect();
    assert_eq!(titles, ["user/xdp kernel/veth true", "user/ring kernel/loopback false"]);
    let crossings: Vec<usize> = head.stack_cost.iter().map(|one| one.crossings.len()).collect();
    assert_eq!(crossings, [1, 0], "a crossing belongs to its pair of networks");
}

#[test]
fn each_end_tells_what_its_own_stack_counted() {
    let (record, verdict) = networks::on_networks(sample());
    let node = counters_of(&record, &verdict, "node").unwrap();
    let told = |end: &page::EndCounters| end.stack.clone().unwrap();
    let (server, generator) = (told(&node.server), told(&node.generator));
    assert_eq!(server.answers, generator.answers);
    assert_eq!(server.counts.sent_frames, generator.counts.received_frames);
    let seldom = |of: &page::ToldCounts| [of.counts.tail_loss_probes, of.counts.wire_full];
    let rounds = u64::from(ROUNDS);
    assert_eq!([seldom(&server), seldom(&generator)], [[rounds, 0], [0, 3 * rounds]]);
    let silent = counters_of(&record, &verdict, networks::SILENT).unwrap();
    assert!(silent.server.stack.is_none() && silent.generator.stack.is_some(), "nothing is not zeros");
}

#[test]
fn system_calls_of_each_end_stand_beside_those_on_the_kernels_stack() {
    let (mut record, verdict) = networks::on_networks(sample());
    let node = counters_of(&record, &verdict, "node").unwrap();
    assert_eq!((node.server.system_calls, node.server.kernel_system_calls), (Some(0.002), Some(2.03)));
    assert_eq!(node.generator.kernel_system_calls, Some(2.0));
    assert!(node.generator.system_calls.is_some_and(|calls| calls < 0.01));
    let on_kernel = |run: &&mut Run| run.network == "kernel/veth".parse().ok();
    record
        .rounds
        .iter_mut()
        .flat_map(|round| &mut round.runs)
        .filter(on_kernel)
        .for_each(|run| run.cells.clear());
    let alone = counters_of(&record, &verdict, "node").unwrap();
    assert_eq!(alone.generator, page::EndCounters { kernel_system_calls: None, ..node.generator });
}

#[test]
fn counters_are_summed_over_the_windows_that_count_and_tell() {
    let (mut record, verdict) = networks::on_networks(sample());
    let of_node = |record: &_| counters_of(record, &verdict, "node").unwrap();
    let before = of_node(&record);
    record.rounds[0].runs.iter_mut().flat_map(|run| &mut run.cells).for_each(|window| {
        window.machine.steal_share = 1.0;
    });
    record.rounds[1].runs.iter_mut().flat_map(|run| &mut run.cells).for_each(|window| {
        window.server_stack = None;
    });
    let after = of_node(&record);
    let told = |counters: &page::StackCounters| {
        [&counters.server, &counters.generator].map(|end| end.stack.clone().unwrap())
    };
    let ([_, before], [server, generator]) = (told(&before), told(&after));
    let rounds = u64::from(ROUNDS);
    assert_eq!((before.counts.wire_full, generator.counts.wire_full), (3 * rounds, 3 * (rounds - 1)));
    assert_eq!(server.counts.tail_loss_probes, rounds - 2);
    assert_eq!(
        server.counts.sent_frames, server.answers,
        "the answers of windows that tell nothing are left out"
    );
    assert!(server.answers < generator.answers && generator.answers < before.answers);
}

/// On one of the user-space networks.
fn counters_of(record: &Record, verdict: &Verdict, contender: &str) -> Option<page::StackCounters> {
    let page = page::build(&[(record, verdict)]).ok()?;
    let cell = Cell { network: "user/xdp".parse().ok(), ..Cell::closed("hello", 64) };
    let mut all = page.runs.into_iter().flat_map(|run| run.head.stack_counters);
    all.find(|one| one.contender == contender && one.cell == cell)
}

fn is_a_curve(curve: &page::Curve, head: &page::Head) {
    let of = |column: &Vec<Option<u64>>| column.iter().copied().collect::<Option<Vec<u64>>>().unwrap();
    let [median, low, high] = [&curve.median_ns, &curve.low_ns, &curve.high_ns].map(of);
    assert!(median.is_sorted() && (median.len(), median.len()) == (low.len(), high.len()));
    assert!(low.iter().zip(&median).zip(&high).all(|((low, median), high)| low <= median && median <= high));
    assert!(head.quantiles[median.len() - 1] >= 0.99, "{} has no p99", curve.contender);
    assert!(
        curve.shares.is_sorted()
            && curve.shares[0] == 0.0
            && curve.shares.last().is_some_and(|&share| share > 0.999)
    );
    assert!(curve.shares_from + curve.shares.len() < head.bounds_ns.len());
}

#[test]
fn a_broken_histogram_is_named() {
    let (mut record, verdict) = sample();
    record.rounds[2].runs[1].cells[0].load.latency.service_hdr = "HISTFAAAA".to_owned();
    let error = html::page(&record, &verdict).unwrap_err().to_string();
    let contender = &record.rounds[2].runs[1].contender;
    assert!(
        error.contains(contender) && error.contains("round 3") && error.contains("hello at 16"),
        "{error}"
    );
}

#[test]
fn markdown_for_a_pull_request() {
    let (record, verdict) = sample();
    insta::assert_snapshot!(export::markdown(&record, &verdict));
}

#[test]
fn json_reads_back_as_the_same_record_and_verdict() {
    let (record, verdict) = sample();
    let document: serde_json::Value =
        serde_json::from_str(&export::json(&record, &verdict).unwrap()).unwrap();
    assert_eq!(document["schema"], export::REPORT_SCHEMA);
    assert_eq!(
        serde_json::from_value::<assay_model::verdict::Verdict>(document["verdict"].clone()).unwrap(),
        verdict
    );
    assert_eq!(
        serde_json::from_value::<assay_model::record::Record>(document["record"].clone()).unwrap(),
        record
    );
}

#[test]
fn the_schema_that_the_page_was_built_against_is_fresh() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../report-ui/page.schema.json");
    let committed: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let current = serde_json::to_value(page::schema()).unwrap();
    assert!(
        without_words(committed) == without_words(current),
        "report-ui/page.schema.json is stale; run `cargo run -p assay-report --example page_schema report-ui/page.schema.json`, \
         then `npm run types && npm run build` in report-ui/"
    );
}

/// A schema without its descriptions: a reworded docstring makes no page stale.
fn without_words(mut schema: serde_json::Value) -> serde_json::Value {
    fn strip(value: &mut serde_json::Value) {
        match value {
            serde_json::Value::Object(map) => {
                map.retain(|key, value| key != "description" || !value.is_string());
                map.values_mut().for_each(strip);
            }
            serde_json::Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    strip(&mut schema);
    schema
}

#[test]
fn a_round_of_any_number_is_told() {
    let (mut record, verdict) = sample();
    record.rounds.iter_mut().for_each(|round| round.index = u32::MAX);
    assert!(
        render(&record, &verdict, &Style { width: 100, colour: false, ascii: false, full: false })
            .contains("round 4294967295")
    );
    assert!(export::markdown(&record, &verdict).contains("round 4294967295"));
}
