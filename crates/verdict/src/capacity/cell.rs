//! One workload at one number of connections.

use std::cmp::Ordering;

use assay_model::experiment::Cell;
use assay_model::verdict::{CellVerdict, Standing};

use crate::capacity::headroom;
use crate::capacity::standing::{Beside, standing};
use crate::capacity::tables::Tables;
use crate::evidence::sample::{Sample, samples};
use crate::evidence::window::DecodedRecord;

/// Judges one cell.
pub(crate) fn judge_cell(evidence: &DecodedRecord<'_>, tables: &Tables<'_>, cell: &Cell) -> CellVerdict {
    let samples = samples(evidence, cell);
    let standings = standings(evidence, tables, cell, &samples);
    let (pairs, margin) = (Vec::new(), tables.margin(cell));
    let mut verdict = CellVerdict { cell: cell.clone(), standings, pairs, margin, detectable: None };
    let is_limit =
        |name: &str| samples.iter().any(|sample| sample.is_limit() && sample.entry.identity.name == name);
    headroom::withhold_the_bunched(&mut verdict, is_limit);
    let ranking = tables.ranking(cell, &field(&samples, &verdict.standings));
    for standing in &mut verdict.standings {
        if let Some(place) = ranking.places.iter().find(|place| place.name == standing.contender) {
            standing.tier = Some(place.tier);
            standing.letters.clone_from(&place.letters);
        }
    }
    verdict.standings.sort_by(fastest_first);
    (verdict.pairs, verdict.detectable) = (ranking.pairs, ranking.detectable);
    verdict
}

/// Each contender by itself, beside the limit and beside itself with more connections.
pub(crate) fn standings(
    evidence: &DecodedRecord<'_>,
    tables: &Tables<'_>,
    cell: &Cell,
    samples: &[Sample<'_>],
) -> Vec<Standing> {
    let record = evidence.record;
    // Of a limit that is itself withheld no share can be told.
    let known = |limit: &&Sample<'_>| standing(record, limit, Beside::alone(tables, cell)).withheld.is_none();
    let limit = samples.iter().filter(|sample| sample.is_limit()).find(known);
    let wider = next_wider(evidence, cell);
    let beside = |sample: &Sample<'_>| {
        let wider = wider.iter().find(|wider| wider.entry.identity.name == sample.entry.identity.name);
        standing(record, sample, Beside { tables, cell, limit, wider })
    };
    samples.iter().map(beside).collect()
}

/// Everybody in the cell of the same workload with the next greater number of connections.
fn next_wider<'r>(evidence: &'r DecodedRecord<'_>, cell: &Cell) -> Vec<Sample<'r>> {
    let cells = evidence.record.experiment.cells();
    let like = |other: &&Cell| Cell { connections: cell.connections, ..(*other).clone() } == *cell;
    let wider = cells.iter().filter(like).filter(|other| other.connections > cell.connections);
    wider.min_by_key(|other| other.connections).map_or_else(Vec::new, |wider| samples(evidence, wider))
}

/// The names of everybody who may be ranked: not the limit, and nobody withheld.
fn field<'s>(samples: &'s [Sample<'_>], standings: &[Standing]) -> Vec<&'s str> {
    let both = samples.iter().zip(standings);
    let ranked = both.filter(|(sample, standing)| !sample.is_limit() && standing.withheld.is_none());
    ranked.map(|(sample, _)| sample.entry.identity.name.as_str()).collect()
}

/// Orders contenders by throughput; those without one come last, in the order of their names.
pub(crate) fn fastest_first(a: &Standing, b: &Standing) -> Ordering {
    let rate =
        |standing: &Standing| standing.throughput_per_second.map_or(f64::NEG_INFINITY, |rate| rate.estimate);
    rate(b).total_cmp(&rate(a)).then_with(|| a.contender.cmp(&b.contender))
}
