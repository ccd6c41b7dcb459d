//! Windows as the record has them.

use std::collections::BTreeSet;

use assay_model::experiment::Cell;
use assay_model::record::{Measurement, Record, Run};

/// Right answers per second of a window; 0 for an empty one.
pub fn per_second(measurement: &Measurement) -> f64 {
    measurement.load.window_ns.rate_of(measurement.load.window.ok)
}

/// The planned cells that a run did not measure although its contender answers their workload.
pub fn missing_cells(record: &Record, run: &Run) -> Vec<Cell> {
    let entry = record.entry_of(&run.contender);
    let is_called = |cell: &Cell, name: &String| {
        let workload = record.workloads.iter().find(|workload| workload.name == cell.workload);
        workload.map_or(cell.workload == *name, |workload| workload.is_called(name))
    };
    let answers = |cell: &Cell| {
        record.experiment.takes(&run.contender, cell)
            && entry.is_none_or(|e| e.identity.workloads.iter().any(|name| is_called(cell, name)))
    };
    let measured: BTreeSet<&Cell> = run.cells.iter().map(|measurement| &measurement.cell).collect();
    let planned = record.experiment.cells().into_iter().filter(|cell| cell.setting() == run.setting());
    planned.filter(|cell| answers(cell) && !measured.contains(cell)).collect()
}

/// Whether a contender takes part for its own sake, and not as another one's control.
pub(super) fn is_proper(record: &Record, contender: &str) -> bool {
    record.contenders.iter().all(|entry| entry.identity.name != contender || entry.control_of.is_none())
}
