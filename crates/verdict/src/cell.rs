//! One workload at one number of connections.

use std::cmp::Ordering;

use assay_model::experiment::Cell;
use assay_model::verdict::{CellVerdict, Standing};

use super::headroom;
use super::ranking::{Field, Looks, rank};
use super::sample::{Sample, samples};
use super::standing::{Beside, standing};
use super::window::Evidence;

/// Judges one cell; `margin` is the smallest difference that is called one.
pub(crate) fn judge_cell(evidence: &Evidence<'_>, cell: &Cell, margin: f64) -> CellVerdict {
    let samples = samples(evidence, cell);
    let mut verdict =
        CellVerdict { cell: cell.clone(), standings: standings(evidence, cell, &samples), pairs: Vec::new() };
    let is_limit = |name: &str| samples.iter().any(|sample| sample.is_limit() && sample.entry.name == name);
    headroom::withhold_the_bunched(&mut verdict, is_limit);
    let ranking = rank(field(&samples, &verdict.standings), margin, Looks::of(evidence.record));
    for standing in &mut verdict.standings {
        if let Some((_, tier, letters)) =
            ranking.places.iter().find(|(name, _, _)| *name == standing.contender)
        {
            standing.tier = Some(*tier);
            standing.letters.clone_from(letters);
        }
        if ranking.left_out.contains(&standing.contender) {
            standing.withheld = Some("too few rounds together with the others".to_owned());
            standing.throughput_per_second = None;
        }
    }
    verdict.standings.sort_by(fastest_first);
    verdict.pairs = ranking.pairs;
    verdict
}

/// Each contender by itself, beside the limit and beside itself with more connections.
pub(crate) fn standings(evidence: &Evidence<'_>, cell: &Cell, samples: &[Sample<'_>]) -> Vec<Standing> {
    let record = evidence.record;
    // Of a limit that is itself withheld no share can be told.
    let known = |limit: &&Sample<'_>| standing(record, limit, Beside::default()).withheld.is_none();
    let limit = samples.iter().filter(|sample| sample.is_limit()).find(known);
    let wider = next_wider(evidence, cell);
    let beside = |sample: &Sample<'_>| {
        let wider = wider.iter().find(|wider| wider.entry.name == sample.entry.name);
        standing(record, sample, Beside { limit, wider })
    };
    samples.iter().map(beside).collect()
}

/// Everybody in the cell of the same workload with the next greater number of connections.
fn next_wider<'r>(evidence: &'r Evidence<'_>, cell: &Cell) -> Vec<Sample<'r>> {
    let cells = evidence.record.experiment.cells();
    let like = |other: &&Cell| Cell { connections: cell.connections, ..(*other).clone() } == *cell;
    let wider = cells.iter().filter(like).filter(|other| other.connections > cell.connections);
    wider.min_by_key(|other| other.connections).map_or_else(Vec::new, |wider| samples(evidence, wider))
}

/// Everybody who may be ranked: not the limit, and nobody withheld.
fn field<'s>(samples: &'s [Sample<'_>], standings: &[Standing]) -> Field<'s> {
    samples
        .iter()
        .zip(standings)
        .filter(|(sample, standing)| !sample.is_limit() && standing.withheld.is_none())
        .map(|(sample, _)| (sample.entry.name.as_str(), sample.rates()))
        .collect()
}

/// Those without a throughput come last, in the order of their names.
pub(super) fn fastest_first(a: &Standing, b: &Standing) -> Ordering {
    let rate =
        |standing: &Standing| standing.throughput_per_second.map_or(f64::NEG_INFINITY, |rate| rate.estimate);
    rate(b).total_cmp(&rate(a)).then_with(|| a.contender.cmp(&b.contender))
}
