//! Where the time goes, in every format.

use assay_model::contender::Kind;
use assay_model::profiling::Profiling;
use assay_model::verdict::Verdict;
use assay_report::terminal::{Style, explanation, render};
use assay_report::text::width;
use assay_report::{export, page, sentences};

use crate::{profiled, support};

fn style(width: usize, ascii: bool) -> Style {
    Style { width, colour: false, ascii, full: false }
}

fn sample() -> (assay_model::record::Record, Verdict) {
    profiled::profiled(support::sample()).expect("a record that can be judged")
}

#[test]
fn the_explanation_at_80_columns() {
    let (record, verdict) = sample();
    insta::assert_snapshot!(explanation(&record, &verdict, &style(80, false)).expect("profiles"));
}

#[test]
fn no_line_is_wider_than_the_terminal_and_ascii_is_ascii() {
    let (record, verdict) = sample();
    for columns in [40, 60, 80, 120, 200] {
        let told = explanation(&record, &verdict, &style(columns, true)).expect("profiles");
        assert!(told.is_ascii());
        let too_wide: Vec<&str> = told.lines().filter(|line| width(line) > columns).collect();
        assert!(too_wide.is_empty(), "{columns}: {too_wide:#?}");
    }
}

#[test]
fn a_summary_has_bars_and_sentences_and_nothing_of_it_without_profiles() {
    let (record, verdict) = sample();
    let told = render(&record, &verdict, &style(100, false));
    assert!(told.contains("Where the time of an answer goes") && told.contains("node spends "), "{told}");
    let (plain, judged) = support::sample();
    assert_eq!(explanation(&plain, &judged, &style(80, false)), None);
    assert!(!render(&plain, &judged, &style(100, false)).contains("Where the time of an answer goes"));
}

/// The showdown looks once at each server; the cheapest may be the limit, which nobody asks about.
#[test]
fn a_single_look_is_a_sentence_on_the_cheapest_contender_and_bars_on_the_page() {
    let (mut record, verdict) = sample();
    record.experiment.profile = Profiling::Once;
    let limit = record.contenders.iter_mut().find(|entry| entry.identity.name == "nginx").expect("nginx");
    limit.identity.kind = Kind::Limit;
    let told = sentences::of_run(&record, &verdict);
    let looks: Vec<&String> = told.iter().filter(|said| said.contains("show --why")).collect();
    let [one] = looks.as_slice() else { panic!("one sentence: {told:#?}") };
    assert!(
        one.contains(", gin spends ") && !told.iter().any(|said| said.contains("node spends ")),
        "{told:#?}"
    );
    assert!(!render(&record, &verdict, &style(100, false)).contains("Where the time of an answer goes"));
    let built = page::build(&[(&record, &verdict)]).expect("a page");
    assert_eq!(built.runs[0].head.why[0].spendings.len(), 3);
}

#[test]
fn markdown_has_a_row_for_each_part_and_one_for_each_difference() {
    let (record, verdict) = sample();
    let text = export::markdown(&record, &verdict);
    let why = text
        .split("### Where the time of an answer goes: hello, 64 connections, at capacity")
        .nth(1)
        .expect("a table");
    assert!(why.contains("| part | nginx | gin | node |") && why.contains("| TCP send | 4.2"), "{why}");
    assert!(why.contains("| node less nginx | nginx | node | difference |"), "{why}");
    assert!(why.contains("| compiled at run time | 0 ns | 9.7"), "{why}");
    assert!(why.contains("4.20 epoll\\_wait instead of 0.10"), "{why}");
}

#[test]
fn the_page_has_the_same_texts_and_a_tree_of_calls() {
    let (record, verdict) = sample();
    let built = page::build(&[(&record, &verdict)]).expect("a page");
    let head = &built.runs[0].head;
    let [explained] = head.why.as_slice() else { panic!("one cell: {:?}", head.why) };
    let all = sentences::of_run(&record, &verdict);
    assert!(explained.sentences.iter().all(|own| all.contains(own)), "{all:?}");
    assert_eq!(
        explained.spendings.iter().map(|of| of.contender.as_str()).collect::<Vec<_>>(),
        ["nginx", "gin", "node"]
    );
    let flames: usize = built.runs[0].findings.iter().map(|found| found.flames.len()).sum();
    assert_eq!(flames, 3);
    let node = built.runs[0]
        .findings
        .iter()
        .flat_map(|found| &found.flames)
        .find(|of| of.contender == "node")
        .expect("node");
    let spent = explained.spendings.iter().find(|of| of.contender == "node").expect("node");
    assert!((node.ns[0] / spent.cpu_ns.estimate - 1.0).abs() < 0.01, "the root is all CPU time");
}
