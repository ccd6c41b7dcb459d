//! Tails at equal load in sentences.

use assay_model::verdict::{Call, LatencyPair, LatencyVerdict};

use super::phrases::all_of;
use crate::format;

/// What the tails at equal load come to, a sentence for each cell in which there are some.
pub(super) fn sentences(verdicts: &[LatencyVerdict]) -> Vec<String> {
    verdicts.iter().filter(|verdict| !verdict.pairs.is_empty()).map(sentence).collect()
}

fn sentence(verdict: &LatencyVerdict) -> String {
    let LatencyVerdict { cell, standings, pairs } = verdict;
    let rate = standings.first().map_or(0.0, |standing| standing.offered_per_second);
    let (rate, place) = (format::rate(rate), format!("{} at {}", cell.workload, cell.width()));
    let at = format!("At the same {rate} requests per second for all ({place})");
    let apart = pairs.iter().filter(|pair| pair.call == Call::Distinct);
    let Some(widest) = apart.max_by(|a, b| a.ratio.estimate.total_cmp(&b.ratio.estimate)) else {
        let mut names: Vec<String> =
            pairs.iter().flat_map(|p| [p.longer.clone(), p.shorter.clone()]).collect();
        names.sort_unstable();
        names.dedup();
        return format!("{at}, the 99th percentiles of {} are not shown to differ.", all_of(&names));
    };
    let LatencyPair { longer, shorter, ratio, .. } = widest;
    format!(
        "{at}, {longer}'s 99th percentile is {} times as long as {shorter}'s (between {} and {}).",
        format::quotient(ratio.estimate),
        format::quotient(ratio.low),
        format::quotient(ratio.high)
    )
}
