//! What is told of windows that are void as a whole, while the rates of their turns count.

use assay_model::check::CheckOutcome;
use assay_model::evidence::{Bottleneck, Evidence};
use assay_model::experiment::Cell;
use assay_model::load::{Arrival, ErrorClass, LoadTurn};
use assay_model::offered::Offered;
use assay_model::record::{Measurement, Record, TimeTaken, Turn};
use assay_model::rule::Rule;
use assay_model::units::Nanos;
use assay_model::verdict::{LimitedBy, RedlineEnd, Standing, Verdict};

use super::{check, of, spoil};
use crate::evidence::turns::throughput;
use crate::response::course::{Course, Next};
use crate::response::rates::{course_of, first_capacity};
use crate::testing::{judged, record};

/// Six rounds of `a` and `b` in turns. Others took a fifth of the server's CPUs in one turn of `a` in four, which makes its windows void
/// as a whole.
fn turned() -> Record {
    let mut record = record(&[("a", &[20_000.0; 6]), ("b", &[19_000.0; 6])]);
    spoil(&mut record, "a", |window| in_turns(window, true));
    spoil(&mut record, "b", |window| in_turns(window, false));
    record
}

fn in_turns(window: &mut Measurement, is_disturbed: bool) {
    let load = LoadTurn {
        ok: window.load.window.ok / 4,
        window_ns: Nanos(window.load.window_ns.0 / 4),
        ..LoadTurn::default()
    };
    let turn = |rotation| {
        let server_other_share = if is_disturbed && rotation == 0 { 0.5 } else { 0.0 };
        let taken = Some(TimeTaken { server_other_share, ..TimeTaken::default() });
        Turn { rotation, load: load.clone(), taken, ..Turn::default() }
    };
    window.turns = (0..4).map(turn).collect();
    window.machine.server_other_share = if is_disturbed { 0.12 } else { 0.0 };
    assert_eq!((window.void_rules().is_empty(), window.rate_void_rules().is_empty()), (!is_disturbed, true));
}

fn verdict_after(how: impl FnMut(&mut Measurement)) -> Verdict {
    let mut record = turned();
    spoil(&mut record, "a", how);
    judged(&record)
}

#[test]
fn a_rate_that_counts_is_held_against_a_saturated_generator() {
    let verdict = verdict_after(|window| {
        window.load.thread_busy_shares = vec![0.99];
        window.machine.server_idle_share = 0.6;
        window.server.iter_mut().for_each(|usage| usage.user_ns = Nanos::from_millis(1));
    });
    let a = of(&verdict, "a");
    assert_eq!((a.limited_by, a.generator_busy_share), (LimitedBy::Generator, Some(0.99)));
    let saturated = check(&a.checks, "generator-saturated");
    assert!(saturated.is_void() && a.throughput_per_second.is_none(), "{a:?}");
}

#[test]
fn what_limits_a_rate_that_counts_is_told_with_its_headroom() {
    let verdict = judged(&turned());
    let a = of(&verdict, "a");
    assert!(!matches!(a.limit_evidence, Bottleneck::NoWindow), "{a:?}");
    assert_eq!((a.generator_busy_share, a.headroom.map(f64::round)), (Some(0.5), Some(2.0)));
    let Evidence::GeneratorBusy { busy_share } = check(&verdict.trust, "generator").evidence else {
        panic!()
    };
    assert_eq!(busy_share, 0.5);
}

#[test]
fn the_greatest_use_of_the_generators_cpu_is_that_of_a_window_and_of_one_that_counts() {
    let mut record = record(&[("a", &[20_000.0; 6]), ("b", &[19_000.0; 6])]);
    record.rounds[1].runs[0].cells[0].load.thread_busy_shares = vec![0.6, 0.9];
    let void = &mut record.rounds[2].runs[1].cells[0];
    void.load.thread_busy_shares = vec![0.97];
    void.machine.steal_share = 0.5;
    let told = check(&judged(&record).trust, "generator").evidence.clone();
    assert_eq!(told, Evidence::GeneratorBusy { busy_share: 0.9 });
}

#[test]
fn a_share_of_the_generators_cpu_that_nobody_knows_is_not_told_as_none() {
    let mut record = turned();
    for name in ["a", "b"] {
        spoil(&mut record, name, |window| window.load.thread_busy_shares.clear());
    }
    let verdict = judged(&record);
    assert_eq!(of(&verdict, "a").generator_busy_share, None);
    assert!(verdict.trust.iter().all(|check| check.rule != Rule::Generator), "{:?}", verdict.trust);
}

#[test]
fn requests_that_fail_in_a_window_whose_rate_counts_count_too() {
    let failing = |window: &mut Measurement| {
        window.load.books.errors.insert(ErrorClass::HeadTimeout, 1000);
    };
    let outcome =
        |a: &Standing| a.checks.iter().find(|check| check.rule == Rule::Errors).map(|of| of.outcome);
    assert_eq!(outcome(of(&verdict_after(failing), "a")), Some(CheckOutcome::Void));
    // Where others were at work in all turns they are excused.
    let excused = verdict_after(|window| {
        failing(window);
        let taken = window.turns[0].taken;
        window.turns.iter_mut().for_each(|turn| turn.taken = taken);
    });
    assert_eq!(outcome(of(&excused, "a")), None);
}

#[test]
fn memory_is_that_of_windows_that_count_as_a_whole() {
    let verdict = judged(&turned());
    let memory = ["a", "b"].map(|name| of(&verdict, name).memory_bytes);
    assert_eq!(memory, [None, Some(1 << 20)]);
}

const OBJECTIVE: &str = "p99<20ms";

fn searched_cell() -> Cell {
    let offered = Offered::Redline(OBJECTIVE.parse().expect("objective"));
    Cell { offered, ..Cell::closed("hello", 64) }
}

fn search_from(capacity: f64) -> Course {
    Course::new(OBJECTIVE.parse().expect("objective"), capacity).expect("course")
}

#[test]
fn a_search_begins_below_a_capacity_that_the_table_shows() {
    let (mut record, cell) = (turned(), searched_cell());
    record.experiment.measures[0].rates.push(cell.offered);
    let own = record.rounds[5].runs[0].clone();
    assert!(first_capacity(std::iter::once(&own), &cell).is_some());
    let verdict = judged(&record);
    let ends: Vec<RedlineEnd> = verdict.redlines[0].standings.iter().map(|standing| standing.end).collect();
    assert_eq!(ends, [RedlineEnd::Unfinished; 2], "no window was left time for");
}

/// An earlier assay began below the first window that counts as a whole.
#[test]
fn a_search_that_began_below_a_later_capacity_is_still_read() {
    let (mut record, cell) = (turned(), searched_cell());
    let a = &mut record.rounds[1].runs[0].cells;
    in_turns(&mut a[0], false);
    a[0].turns.iter_mut().for_each(|turn| turn.load.ok = turn.load.ok * 4 / 5);
    let capacity = throughput(&a[0]).expect("some");
    let begun = search_from(capacity);
    let Next::Window { per_second, .. } = begun.next() else { panic!("over") };
    let mut window = a[0].clone();
    (window.cell, window.load.arrival) = (cell.clone(), Arrival::Poisson { per_second });
    window.turns.clear();
    a.push(window);
    let own = record.rounds[2].runs[0].clone();
    let course = course_of(&record, &own, &cell).expect("readable").expect("a search");
    let is_at = |next| matches!(next, Next::Window { per_second: at, .. } if at == per_second);
    assert!(is_at(course.next()) && !is_at(search_from(20_000.0).next()), "{course:?}");
    assert_ne!(format!("{course:?}"), format!("{begun:?}"), "its window was taken");
}
