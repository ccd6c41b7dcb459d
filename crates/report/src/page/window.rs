//! Windows and their histograms, as the record has them.

use std::collections::BTreeSet;

use assay_model::experiment::Cell;
use assay_model::record::{Measurement, Record, Run};
use assay_stats::Histogram;

use crate::{ReportError, notes};

/// Right answers per second of a window; 0 for an empty one.
pub fn per_second(measurement: &Measurement) -> f64 {
    let seconds = measurement.load.window_ns.as_secs_f64();
    if seconds > 0.0 { measurement.load.window.ok as f64 / seconds } else { 0.0 }
}

/// The histogram of service times of a window.
///
/// # Errors
/// [`ReportError::Histogram`] when it cannot be read. A window without one yields an empty histogram.
pub fn service(run: &Run, round: u32, measurement: &Measurement) -> Result<Histogram, ReportError> {
    let text = &measurement.load.latency.service_hdr;
    decoded(text, run, round, measurement)
}

/// The histogram of response times of a window, from the intended times; empty for a closed loop.
///
/// # Errors
/// [`ReportError::Histogram`] when it cannot be read.
pub fn response(run: &Run, round: u32, measurement: &Measurement) -> Result<Histogram, ReportError> {
    let text = measurement.load.latency.response_hdr.as_deref().unwrap_or_default();
    decoded(text, run, round, measurement)
}

pub(super) fn decoded(
    text: &str,
    run: &Run,
    round: u32,
    measurement: &Measurement,
) -> Result<Histogram, ReportError> {
    if text.is_empty() {
        return Ok(Histogram::new());
    }
    Histogram::from_hdr_base64(text).map_err(|source| ReportError::Histogram {
        contender: run.contender.clone(),
        round,
        cell: notes::cell_title(&measurement.cell),
        source,
    })
}

/// The planned cells that a run did not measure although its contender answers their workload.
pub fn missing_cells(record: &Record, run: &Run) -> Vec<Cell> {
    let entry = record.contenders.iter().find(|entry| entry.name == run.contender);
    let is_called = |cell: &Cell, name: &String| {
        let workload = record.workloads.iter().find(|workload| workload.name == cell.workload);
        workload.map_or(cell.workload == *name, |workload| workload.is_called(name))
    };
    let answers = |cell: &Cell| {
        record.experiment.takes(&run.contender, cell)
            && entry.is_none_or(|e| e.workloads.iter().any(|name| is_called(cell, name)))
    };
    let measured: BTreeSet<&Cell> = run.cells.iter().map(|measurement| &measurement.cell).collect();
    let planned = record.experiment.cells().into_iter().filter(|cell| cell.network == run.network);
    planned.filter(|cell| answers(cell) && !measured.contains(cell)).collect()
}

/// Whether a contender takes part for its own sake, and not as another one's twin.
pub(super) fn is_proper(record: &Record, contender: &str) -> bool {
    record.contenders.iter().all(|entry| entry.name != contender || entry.twin_of.is_none())
}
