//! Response times at rates in sentences: tails at equal load, those of a contender that is alone, and of which loads nothing can be told.

use assay_model::check::Check;
use assay_model::experiment::Cell;
use assay_model::offered::Offered;
use assay_model::record::Record;
use assay_model::verdict::{Call, LatencyPair, LatencyStanding, LatencyVerdict};

use super::standings::{warning, within};
use crate::format;
use crate::words::phrases::{all_of, count_of};
use crate::words::withheld;

/// Reasons that are told where they differ from one contender to another.
const MAX_REASONS: usize = 2;

/// What the tails at equal load come to, a sentence for each cell in which there are some; where one contender is alone, its times at the
/// highest load of each place; then the loads at which nobody is told of.
pub(super) fn sentences(record: &Record, verdicts: &[LatencyVerdict], trust: &[Check]) -> Vec<String> {
    let compared = verdicts.iter().filter(|verdict| !verdict.pairs.is_empty());
    let mut sentences: Vec<String> = compared.map(sentence).collect();
    // Where nothing counts one sentence says why; it need not be said again of every load.
    if warning(trust).is_empty() {
        sentences.extend(alone(record, verdicts));
        sentences.extend(untold(record, verdicts));
    }
    sentences
}

/// The times of a contender with which nobody can be compared, at the highest load of each place.
fn alone(record: &Record, verdicts: &[LatencyVerdict]) -> Vec<String> {
    let mut highest: Vec<(Cell, f64, String)> = Vec::new();
    for verdict in verdicts {
        let Some((rate, told)) = only_one(record, verdict) else { continue };
        let place = verdict.cell.capacity();
        match highest.iter_mut().find(|(known, ..)| *known == place) {
            Some(known) if known.1 < rate => *known = (place, rate, told),
            Some(_) => {}
            None => highest.push((place, rate, told)),
        }
    }
    highest.into_iter().map(|(.., told)| told).collect()
}

/// The rate and the times of the only contender proper that was measured in a cell; `None` where there are several, or none of it can be
/// told.
fn only_one(record: &Record, verdict: &LatencyVerdict) -> Option<(f64, String)> {
    let mut proper = verdict.standings.iter().filter(|of| !record.is_limit(&of.contender));
    let (Some(only), None) = (proper.next(), proper.next()) else { return None };
    let time_of = |quantile: f64| {
        let of = only.quantiles.iter().find(|of| (of.quantile - quantile).abs() < f64::EPSILON)?;
        let or_more = if of.is_lower_bound { " or more" } else { "" };
        Some(format!("{}{or_more}", format::duration(of.response_ns.estimate)))
    };
    let rate = only.offered_per_second.filter(|_| only.withheld.is_none())?;
    let told = format!(
        "At {} requests per second ({}), {} answers half of them within {} and 99 % within {}.",
        format::rate(rate),
        place(&verdict.cell),
        only.contender,
        time_of(0.5)?,
        time_of(0.99)?
    );
    Some((rate, told))
}

fn place(cell: &Cell) -> String {
    format!("{} at {}{}", cell.workload, cell.width(), within(cell.setting()))
}

/// A sentence for the loads of each place at which no response time is told for the same reason.
fn untold(record: &Record, verdicts: &[LatencyVerdict]) -> Vec<String> {
    let mut told: Vec<(String, String, Vec<&Cell>)> = Vec::new();
    for verdict in verdicts {
        let Some(why) = why_nobody(record, verdict) else { continue };
        let cell = &verdict.cell;
        let place =
            format!("On {} at {}{}", cell.workload, cell.connections_in_words(), within(cell.setting()));
        match told.iter_mut().find(|known| (&known.0, &known.1) == (&place, &why)) {
            Some((.., cells)) => cells.push(cell),
            None => told.push((place, why, vec![cell])),
        }
    }
    let sentence = |(place, why, cells): (String, String, Vec<&Cell>)| {
        format!("{place} and {}, nobody's response time can be told: {why}.", loads(&cells))
    };
    told.into_iter().map(sentence).collect()
}

/// Why no contender's response time is told; `None` where one is. The limit is asked only where it is alone.
fn why_nobody(record: &Record, verdict: &LatencyVerdict) -> Option<String> {
    let is_limit = |of: &&LatencyStanding| record.is_limit(&of.contender);
    let (limit, proper): (Vec<_>, Vec<_>) = verdict.standings.iter().partition(is_limit);
    let asked = if proper.is_empty() { limit } else { proper };
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for standing in asked {
        let reason = withheld(standing.withheld.as_ref()?);
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) => names.push(standing.contender.clone()),
            None => reasons.push((reason, vec![standing.contender.clone()])),
        }
    }
    match reasons.as_slice() {
        [] => None,
        [(only, _)] => Some(only.clone()),
        several => {
            let of = |(reason, names): &(String, Vec<String>)| format!("{}: {reason}", all_of(names));
            let mut told: Vec<String> = several.iter().take(MAX_REASONS).map(of).collect();
            let more = several.len().saturating_sub(MAX_REASONS);
            told.extend((more > 0).then(|| count_of(more, "other reason")));
            Some(told.join("; "))
        }
    }
}

/// `5,000/s`, `10 % and 50 % of capacity and a rate for all`.
fn loads(cells: &[&Cell]) -> String {
    let (mut shares, mut others) = (Vec::new(), Vec::new());
    for cell in cells {
        match cell.offered {
            Offered::Share(thousandths) => shares.push(format::percent(f64::from(thousandths) / 1000.0)),
            Offered::Common => others.push("a rate for all".to_owned()),
            Offered::Rate(per_second) => {
                others.push(format!("{}/s", format::count(u64::from(per_second))));
            }
            other => others.push(other.to_string()),
        }
    }
    let of_capacity = (!shares.is_empty()).then(|| format!("{} of capacity", all_of(&shares)));
    all_of(&of_capacity.into_iter().chain(others).collect::<Vec<_>>())
}

fn sentence(verdict: &LatencyVerdict) -> String {
    let LatencyVerdict { cell, standings, pairs } = verdict;
    let rate = standings.iter().find_map(|standing| standing.offered_per_second).unwrap_or(0.0);
    let (rate, place) = (format::rate(rate), place(cell));
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
