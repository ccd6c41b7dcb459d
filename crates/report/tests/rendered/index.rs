//! The index page over made-up runs.

use assay_report::index::{Listed, index};

use crate::support;
use crate::support::{HOSTILE, WITHHELD, sample};

/// The made-up run on another day, perhaps of another machine.
fn on(day: &str, cpu: &str) -> (assay_model::record::Record, assay_model::verdict::Verdict) {
    let (mut record, verdict) = sample();
    record.id = format!("{day}-showdown");
    record.started_at = format!("{day}T10:00:00Z");
    record.host.cpu_model = Some(cpu.to_owned());
    (record, verdict)
}

fn page(runs: &[(assay_model::record::Record, assay_model::verdict::Verdict)]) -> String {
    let listed: Vec<Listed<'_>> = (runs.iter())
        .map(|(record, verdict)| Listed { record, verdict, href: Some(format!("{}/report.html", record.id)) })
        .collect();
    index(&listed)
}

#[test]
fn runs_are_listed_newest_first_and_lead_to_their_reports() {
    let page = page(&[on("2026-11-02", "A"), on("2026-11-03", "A"), on("2026-11-01", "A")]);
    let list = page.split("<h1>Trends").next().unwrap();
    let links: Vec<&str> = list.split("<a href=\"").skip(1).map(|rest| &rest[..10]).collect();
    assert_eq!(links, ["2026-11-03", "2026-11-02", "2026-11-01"]);
    assert!(page.contains("3 runs, 2026-11-01 to 2026-11-03"));
}

#[test]
fn neither_the_limit_nor_who_was_not_run_counts_as_a_contender() {
    let (record, verdict) = on("2026-11-01", "A");
    let all = record.contenders.len();
    let page = page(&[(record, verdict)]);
    let number = page.split("<td class=\"n\">").nth(1).unwrap().split('<').next().unwrap();
    assert_eq!(number, (all - 2).to_string());
}

#[test]
fn tables_are_scrolled_with_the_keyboard_too_and_hidden_heads_take_no_room() {
    let page = page(&[on("2026-11-01", "A"), on("2026-11-02", "A")]);
    for name in ["Runs", "hello at 64"] {
        let place =
            format!("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{name}\"><table");
        assert!(page.contains(&place), "{name}");
    }
    let narrow = page.split("@media (max-width: ").nth(1).unwrap();
    let heads = narrow.split(".runs thead {").nth(1).unwrap().split('}').next().unwrap();
    assert!(heads.contains(" width: 1px; height: 1px; overflow: hidden;"), "{heads}");
}

#[test]
fn only_runs_of_one_machine_are_joined() {
    let lines = |cpus: [&str; 3]| {
        let days = ["2026-11-01", "2026-11-02", "2026-11-03"];
        let runs: Vec<_> = days.into_iter().zip(cpus).map(|(day, cpu)| on(day, cpu)).collect();
        let page = page(&runs);
        let card = page.split("<figure>").find(|card| card.contains("<b>nginx</b>")).unwrap().to_owned();
        let line =
            card.split("class=\"line\" d=\"").nth(1).map(|rest| rest.split('"').next().unwrap().to_owned());
        line.map_or(0, |line| line.matches('L').count())
    };
    assert_eq!(lines(["A", "A", "A"]), 2);
    assert_eq!(lines(["A", "B", "A"]), 1);
    assert_eq!(lines(["A", "B", "C"]), 0);
}

#[test]
fn the_page_needs_nothing_and_runs_nothing() {
    let (mut record, _) = on("2026-11-01", "A");
    let nginx = std::mem::replace(&mut record.contenders[2].identity.name, HOSTILE.to_owned());
    let runs = record.rounds.iter_mut().flat_map(|round| &mut round.runs);
    runs.filter(|run| run.contender == nginx).for_each(|run| HOSTILE.clone_into(&mut run.contender));
    let verdict = support::judge::verdict(&record);
    let page = page(&[(record.clone(), verdict.clone()), on("2026-11-02", "A"), (record, verdict)]);
    assert!(page.contains("default-src 'none'") && !page.contains("<script"), "a script");
    assert!(!page.contains("http://") && !page.contains("src=") && !page.contains("@import"));
    assert!(page.contains("&lt;/script&gt;"));
}

#[test]
fn a_withheld_number_is_a_hollow_mark_with_its_reason() {
    let page = page(&[on("2026-11-01", "A"), on("2026-11-02", "A")]);
    let card = page.split("<figure>").find(|card| card.contains(&format!("<b>{WITHHELD}</b>"))).unwrap();
    assert!(
        card.contains("</b> <span>withheld</span>") && card.contains("withheld: the generator"),
        "{card}"
    );
    assert_eq!((card.matches("mark hollow").count(), card.matches("class=\"mark\"").count()), (2, 0));
}

#[test]
fn what_was_measured_once_is_no_trend() {
    let page = page(&[on("2026-11-01", "A")]);
    assert!(page.contains("Measured in one run only: hello at 16, ") && !page.contains("<figure>"), "{page}");
}
