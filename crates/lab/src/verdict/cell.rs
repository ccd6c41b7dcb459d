//! One workload at one number of connections.

use std::cmp::Ordering;

use assay_model::experiment::Cell;
use assay_model::record::Record;
use assay_model::verdict::{CellVerdict, Standing};

use super::ranking::{Field, rank};
use super::sample::{Sample, samples};
use super::standing::standing;

/// Judges one cell; `margin` is the smallest difference that is called one.
pub(crate) fn judge_cell(record: &Record, cell: &Cell, margin: f64) -> CellVerdict {
    let samples = samples(record, cell);
    // Of a limit that is itself withheld no share can be told.
    let known = |limit: &&Sample<'_>| standing(record, limit, None).withheld.is_none();
    let limit = samples.iter().filter(|sample| sample.is_limit()).find(known);
    let mut standings: Vec<Standing> = samples.iter().map(|sample| standing(record, sample, limit)).collect();
    let ranking = rank(field(&samples, &standings), margin);
    for standing in &mut standings {
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
    standings.sort_by(fastest_first);
    CellVerdict { cell: cell.clone(), standings, pairs: ranking.pairs }
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
fn fastest_first(a: &Standing, b: &Standing) -> Ordering {
    let rate =
        |standing: &Standing| standing.throughput_per_second.map_or(f64::NEG_INFINITY, |rate| rate.estimate);
    rate(b).total_cmp(&rate(a)).then_with(|| a.contender.cmp(&b.contender))
}
