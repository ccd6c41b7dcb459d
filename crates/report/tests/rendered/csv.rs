//! The windows of the made-up run (`support`) as a table for a spreadsheet.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::record::{Measurement, Record, TimeTaken, Turn};
use assay_report::export::csv;

use crate::support::{LEVELS, ROUNDS, sample};
use crate::{again, networks};

/// Rows as fields by heading, but for those with a comma inside quotes: two reasons at most.
fn rows(csv: &str) -> Vec<BTreeMap<&str, &str>> {
    let headings: Vec<&str> = csv.lines().next().unwrap_or_default().split(',').collect();
    let rows = csv.lines().skip(1).filter(|line| !line.contains('"')).map(|line| {
        let fields: Vec<&str> = line.split(',').collect();
        assert_eq!(fields.len(), headings.len(), "{line}");
        headings.iter().copied().zip(fields).collect()
    });
    rows.collect()
}

fn each_window(record: &mut Record, how: impl FnMut(&mut Measurement)) {
    record.rounds.iter_mut().flat_map(|round| &mut round.runs).flat_map(|run| &mut run.cells).for_each(how);
}

#[test]
fn every_planned_window_has_a_row() {
    let (record, _) = sample();
    let csv = csv(&record).unwrap();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 1 + 7 * 2 * LEVELS.len() * ROUNDS as usize);
    assert_eq!(lines.iter().filter(|line| line.contains("failed under load")).count(), 4);
    assert_eq!(rows(&csv).iter().filter(|row| row["void"] == "steal").count(), 2);
    assert!(rows(&csv).iter().all(|row| row["failure"].is_empty() != row["ok"].is_empty()));
}

#[test]
fn turns_that_do_not_count_are_counted_where_turns_tell() {
    let (mut record, _) = sample();
    let mut shares = [Some(0.2), Some(0.0), None].into_iter().cycle();
    each_window(&mut record, |window| {
        let taken =
            shares.next().flatten().map(|share| TimeTaken { steal_share: share, ..TimeTaken::default() });
        window.turns = vec![Turn { taken, ..Turn::default() }; 2];
    });
    let csv = csv(&record).unwrap();
    let told: BTreeSet<&str> = rows(&csv).iter().map(|row| row["void_turns"]).collect();
    assert_eq!(told, BTreeSet::from(["", "0", "2"]));
}

#[test]
fn a_row_has_the_counters_of_the_stack_that_worked_and_no_others() {
    let (mut record, _) = networks::on_networks(sample());
    each_window(&mut record, |window| {
        (window.machine.tcp_retransmits, window.machine.listen_overflows) = (7, 5);
    });
    let csv = csv(&record).unwrap();
    let mut seen = BTreeSet::new();
    for row in rows(&csv).iter().filter(|row| !row["ok"].is_empty()) {
        let ok = row["ok"];
        let told = [
            "tcp_retransmits",
            "listen_overflows",
            "server_stack_sent_frames",
            "server_stack_retransmitted_segments",
            "server_stack_retransmission_timeouts",
            "server_stack_tail_loss_probes",
            "generator_stack_received_frames",
            "generator_stack_wire_full",
            "generator_stack_system_calls",
        ];
        let (user, silent) = (row["stack_wire"].starts_with("user/"), row["contender"] == networks::SILENT);
        let (wanted, of_stacks) = match (user, silent) {
            (false, _) => (["7", "5", "", "", "", "", "", "", ""], 0),
            (true, false) => (["", "", ok, "2", "0", "1", ok, "3", "12"], 26),
            (true, true) => (["", "", "", "", "", "", ok, "3", "12"], 13),
        };
        assert_eq!(told.map(|heading| row[heading]), wanted, "{row:?}");
        let filled = row.iter().filter(|(heading, field)| heading.contains("_stack_") && !field.is_empty());
        assert_eq!(filled.count(), of_stacks, "{row:?}");
        seen.insert((user, silent));
    }
    assert_eq!(seen.len(), 4);
}

#[test]
fn what_several_generators_say_has_rows_of_its_own_that_name_the_generator() {
    let (record, verdict, _) = again::again(sample()).unwrap();
    let csv = csv(&record).unwrap();
    let (by, others): (Vec<_>, Vec<_>) = rows(&csv).into_iter().partition(|row| !row["generator"].is_empty());
    assert_eq!(others.len(), 7 * 2 * LEVELS.len() * ROUNDS as usize);
    let windows = || record.rounds.iter().flat_map(|round| &round.runs).flat_map(|run| &run.by_generator);
    assert_eq!((by.len(), windows().count()), (3 * ROUNDS as usize, 3 * ROUNDS as usize));
    for (row, window) in by.iter().zip(windows()) {
        assert_eq!(row["generator"], window.generator.to_string());
        assert_eq!(row["contender"], again::LOADED);
        assert_eq!((row["service_p99_ns"], row["void"]), ("", ""));
        match &window.told {
            Some(told) => {
                assert_eq!(row["ok"], window.right().unwrap().0.to_string());
                assert_eq!(
                    row["told_p99_ns"],
                    told.percentile(0.99).map_or(String::new(), |of| of.0.to_string())
                );
                assert_eq!(row["failure"], "");
            }
            None => assert_eq!((row["ok"], row["failure"]), ("", again::WHY)),
        }
    }
    assert_eq!(verdict.cross_checks.len(), 1);
}
