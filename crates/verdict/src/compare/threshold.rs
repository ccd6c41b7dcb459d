//! Changes against thresholds: shown beyond the noise, excluded, or possible and how many rounds would tell.

use assay_model::comparison::{Change, Row, Threshold, ThresholdFinding, ThresholdOutcome};
use assay_stats::planning::rounds_for;

/// What became of every threshold in every row; of each row it is known whether its sides answer `alike`.
pub(super) fn findings(thresholds: &[Threshold], rows: &[Row], alike: &[bool]) -> Vec<ThresholdFinding> {
    let in_rows = |threshold: &Threshold| {
        let threshold = *threshold;
        (0..).zip(rows.iter().zip(alike)).map(move |(row, (of, alike))| {
            let outcome = if *alike { crossing(&threshold, of) } else { ThresholdOutcome::NotAlike };
            ThresholdFinding { threshold, row, outcome }
        })
    };
    // A row without the metric has nothing to be judged by, unless the cell has no such metric at all.
    let applies = |finding: &ThresholdFinding| {
        let cell = &rows[finding.row as usize].cell;
        cell.offered.is_capacity() || finding.threshold.metric != assay_model::comparison::Metric::Rps
    };
    thresholds.iter().flat_map(in_rows).filter(applies).collect()
}

fn crossing(threshold: &Threshold, row: &Row) -> ThresholdOutcome {
    let Some(change) = row.changes.iter().find(|change| change.metric == threshold.metric) else {
        return ThresholdOutcome::Unknown;
    };
    let Some(ratio) = change.ratio else { return ThresholdOutcome::Unknown };
    let bound = 1.0 + threshold.change;
    let (beyond, within) = if threshold.change < 0.0 {
        (ratio.high < bound, ratio.low >= bound)
    } else {
        (ratio.low > bound, ratio.high <= bound)
    };
    match (beyond, within) {
        (true, _) => ThresholdOutcome::Shown,
        (_, true) => ThresholdOutcome::Excluded,
        _ => ThresholdOutcome::Possible { rounds_needed: rounds_needed(change, ratio.confidence, bound) },
    }
}

/// Rounds after which an interval around the same estimate would no longer reach the bound.
fn rounds_needed(change: &Change, confidence: f64, bound: f64) -> Option<u32> {
    let distance = (change.ratio?.estimate / bound).ln().abs().exp_m1();
    let rounds = rounds_for(distance, change.round_cv?, confidence).ok().flatten()?;
    Some(u32::try_from(rounds).unwrap_or(u32::MAX).max(change.rounds + 1))
}
