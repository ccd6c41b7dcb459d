//! What a record means: rates with intervals, tiers, shares of the limit, what limited whom, and what may be believed.
//!
//! Invariants
//! - Pure functions of records (docs/method/trust.md, docs/method/statistics.md, docs/method/limits.md): the same
//!   record always gives the same verdict, so it is computed again and never stored.
//! - What decides the course of a run is judged here too, from the record so far: whether pairs are settled
//!   ([`settling`]), which load comes next in the search for a redline ([`course`]), which rate is offered ([`rates`]).
//!
//! Must not know: sockets, processes, files, clocks, how anything is measured, stored, drawn or put into sentences.
#![forbid(unsafe_code)]

mod ageing;
pub mod budget;
pub mod calibration;
mod capacity;
pub mod compare;
mod costs;
mod cross_check;
mod doubts;
mod during;
mod ending;
mod evidence;
mod hosts;
mod imported;
mod published;
mod response;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod timing;
mod trust;
mod why;

use assay_model::experiment::{Cell, Experiment};
use assay_model::offered::Offered;
use assay_model::record::Record;
use assay_model::verdict::{CellVerdict, Interval, Verdict};

use ageing::Slow;
pub use ageing::needs_long_look;
use capacity::self_ratio::Bar;
use capacity::tables::Tables;
use capacity::{cell, floor};
use costs::{protocol, proxy, stack};
use doubts::looks::watched;
use doubts::pauses;
pub use during::settling::{Settling, settling};
pub use during::{allocation, outlook};
pub use ending::{Ending, ending, ending_of_load};
pub use evidence::percentiles::{Percentile, RoundTimes};
use evidence::sample;
pub use evidence::sample::offered_rate;
pub use evidence::turns::throughput;
pub use evidence::window::{DecodedRecord, ServerRun, Times, Unreadable, Window};
pub use evidence::{speed, turns};
pub use response::answered::never_answered;
use response::{answered, latency, redline};
pub use response::{course, rates};
pub use trust::built;

/// Rounds that are measured even where the budget is too small: from one round no interval can be had.
pub const MIN_ROUNDS: u32 = 2;
/// Probability with which intervals cover; for pairs it holds for all pairs of a cell at once.
pub const CONFIDENCE: f64 = 0.95;
/// Share of failed requests above which a contender is not ranked.
pub const MAX_ERROR_SHARE: f64 = 0.001;
/// Share of its CPUs' time above which a server counts as saturated.
pub const SERVER_SATURATED: f64 = 0.85;
/// Share of its CPU's time above which a generator's thread counts as saturated.
pub const GENERATOR_SATURATED: f64 = 0.95;
/// Share of a window's time from which a disturbance is told.
pub(crate) const NOTICEABLE_SHARE: f64 = 0.01;
/// What the generator should be able to send, over what it sent.
pub const LEAST_HEADROOM: f64 = 1.5;
/// Share of the limit above which contenders cannot be told from it.
pub const AT_LIMIT: f64 = 0.98;

/// Judges a record, in whatever state it is.
///
/// # Errors
/// [`Unreadable`] when a histogram of the record cannot be read.
pub fn judge(record: &Record) -> Result<Verdict, Unreadable> {
    DecodedRecord::of(record).map(|evidence| judge_evidence(&evidence))
}

fn judge_evidence(evidence: &DecodedRecord<'_>) -> Verdict {
    match &evidence.record.imported {
        Some(imported) => imported::judge(evidence, imported),
        None => judge_own(evidence),
    }
}

/// Judges what was measured here.
fn judge_own(evidence: &DecodedRecord<'_>) -> Verdict {
    let record = evidence.record;
    let tables = Tables::of(evidence);
    let (noise_floor, noise) = (floor::noise_floor(record, &tables), tables.noise());
    let margin = tables.greatest_margin();
    let mut cells: Vec<CellVerdict> =
        closed(record).iter().map(|cell| cell::judge_cell(evidence, &tables, cell)).collect();
    let slow = Slow::of(evidence);
    slow.object(&mut cells);
    pauses::object(evidence, &mut cells);
    let control = floor::check(evidence, noise_floor.as_ref(), noise.as_ref());
    let mut trust = trust::checks(evidence, &cells, control, tables.explained());
    trust.extend(slow.check(&cells));
    let latency = latency::judge(evidence, margin);
    let redlines = redline::judge(evidence);
    let bar = Bar { margin, looks: watched(record) };
    let stack_cost = stack::stack_costs(&cells, bar);
    let crossings = stack::crossings(&stack_cost, &record.workloads);
    let protocol_cost = protocol::protocol_costs(&cells, bar);
    let (proxy_cost, added_latency) =
        (proxy::proxy_costs(evidence, &cells, bar), proxy::added_latencies(evidence));
    let rounds = sample::counted_rounds(record);
    let cross_checks = cross_check::judge(record, margin);
    trust.extend(cross_check::check(&cross_checks, margin));
    let hosts = hosts::judge(evidence);
    trust.extend(hosts::check(&hosts));
    let answered = answered::judge(evidence);
    let published = published::judge(evidence, &cells, &answered);
    Verdict {
        trust,
        rounds,
        margin,
        noise_floor,
        noise,
        timing: timing::timing(evidence),
        cells,
        latency,
        redlines,
        answered,
        published,
        hosts,
        cross_checks,
        stack_cost,
        crossings,
        protocol_cost,
        proxy_cost,
        added_latency,
        why: why::judge(evidence),
    }
}

/// The cells that were measured at capacity, in the settings that could be had.
fn closed(record: &Record) -> Vec<Cell> {
    let settings = record.settings_had();
    let cells = record.experiment.cells().into_iter();
    cells.filter(|cell| cell.offered.is_capacity() && settings.contains(&cell.setting())).collect()
}

/// The cells in which tails are compared: at shares of their own capacities the rates differ, so that a longer one is no
/// verdict on anybody.
fn with_compared_tails(experiment: &Experiment) -> Vec<Cell> {
    let cells = experiment.cells().into_iter();
    cells.filter(|cell| cell.offered.is_rate() && !matches!(cell.offered, Offered::Share(_))).collect()
}

/// Half-width of a typical interval of a ratio between two ranked contenders, as a share: the median over all pairs and
/// cells. `None` before there is one.
///
/// # Errors
/// [`Unreadable`] when a histogram of the record cannot be read.
pub fn precision(record: &Record) -> Result<Option<f64>, Unreadable> {
    let evidence = &DecodedRecord::of(record)?;
    let (tables, cells) = (Tables::of(evidence), closed(record));
    let verdicts = cells.iter().map(|cell| cell::judge_cell(evidence, &tables, cell));
    let widths =
        verdicts.flat_map(|cell| cell.pairs).map(|pair| (pair.ratio.high / pair.ratio.low).sqrt() - 1.0);
    Ok(median(&widths.collect::<Vec<f64>>()))
}

pub(crate) fn interval(of: assay_stats::Interval) -> Interval {
    Interval { estimate: of.estimate, low: of.low, high: of.high, confidence: of.confidence }
}

/// An estimate of which nothing is known but itself.
fn point(estimate: f64) -> Interval {
    Interval { estimate, low: estimate, high: estimate, confidence: 0.0 }
}

/// A mean over restarts with its interval; of a single one the figure alone.
fn mean_over_restarts(values: &[f64], confidence: f64) -> Interval {
    let alone = || point(values.iter().sum::<f64>() / values.len() as f64);
    assay_stats::difference::mean_interval(values, confidence).map_or_else(|_| alone(), interval)
}

/// The median of what is there; `None` for nothing.
fn median(values: &[f64]) -> Option<f64> {
    assay_stats::robust::median(values).ok()
}

#[cfg(test)]
mod tests;
