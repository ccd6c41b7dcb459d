//! Slow modes: whether a contender gets faster or slower with the load that its lives have behind them, when it was called
//! warm long ago (docs/method/ageing.md).

mod looks;

use assay_model::check::{Check, CheckOutcome};
use assay_model::evidence::Evidence;
use assay_model::record::{Entry, Record};
use assay_model::rule::Rule;
use assay_model::units::Nanos;
use assay_model::verdict::{Ages, CellVerdict};
use assay_stats::ageing::{Ageing, Later, ageing, beside_others, later};
use assay_stats::tiers::LEAST_MARGIN;

use crate::CONFIDENCE;
use crate::evidence::ages;
use crate::evidence::window::{DecodedRecord, Unreadable};

/// A change that is smaller than this is not told, however sure it is: what warm-up lets pass, too.
const WORTH_TELLING: f64 = 0.03;
/// A run that could only have shown greater changes than this has shown nothing.
const USELESS: f64 = 0.5;
/// The longest time constant that is looked for, in seconds.
const HORIZON_S: f64 = 30.0;
/// Load behind a life from which on it is old enough.
const OLD: Nanos = Nanos::from_millis(60_000);
/// What may be left to gain over the horizon without being looked for.
const NO_MATTER: f64 = 0.05;

/// What is known of each contender but the limit, in the order of the record.
pub(crate) struct Slow<'r> {
    found: Vec<(&'r Entry, Option<Ageing>, Option<Later>)>,
}

impl<'r> Slow<'r> {
    /// By all that was measured at capacity, and by the long look.
    pub(crate) fn of(evidence: &DecodedRecord<'r>) -> Self {
        let proper = evidence.record.contenders.iter();
        let entries: Vec<&Entry> =
            proper.filter(|entry| entry.control_of.is_none() && !entry.identity.is_limit()).collect();
        let looks: Vec<_> = entries.iter().map(|entry| looks::looks(evidence, entry)).collect();
        // Where there are long looks, too, both have half of the chance to be wrong.
        let wrong = (1.0 - CONFIDENCE) / if evidence.long_look.is_empty() { 1.0 } else { 2.0 };
        let is_over_limit = evidence.record.contenders.iter().any(|entry| entry.identity.is_limit());
        let trends = ageing(&looks, is_over_limit, 1.0 - wrong).unwrap_or_else(|_| vec![None; entries.len()]);
        let long: Vec<_> = entries.iter().map(|entry| looks::long_look(evidence, entry)).collect();
        let looked_at = long.iter().filter(|looks| !looks.is_empty()).count().max(1);
        let each = 1.0 - wrong / looked_at as f64;
        let later = |entry: &Entry, looks: &[(f64, f64)]| {
            let young = ages_of(evidence, entry)?.loaded_to_ns.as_secs_f64();
            later(looks, young, each).ok().flatten()
        };
        let alone: Vec<_> = entries.iter().zip(&long).map(|(entry, long)| later(entry, long)).collect();
        let laters = beside(&alone, is_over_limit);
        let found = entries.into_iter().zip(trends).zip(laters);
        Self { found: found.map(|((entry, trend), later)| (entry, trend, later)).collect() }
    }

    /// Adds to each standing what speaks against it.
    pub(crate) fn object(&self, cells: &mut [CellVerdict]) {
        for standing in cells.iter_mut().flat_map(|cell| &mut cell.standings) {
            let own = self.found.iter().find(|(entry, ..)| entry.identity.name == standing.contender);
            standing
                .checks
                .extend(own.and_then(|(_, trend, later)| objection(trend.as_ref(), later.as_ref())));
        }
    }

    /// How old servers were, and which change would have been seen; `None` where no age is known.
    pub(crate) fn check(&self, cells: &[CellVerdict]) -> Option<Check> {
        let standings = cells.iter().flat_map(|cell| &cell.standings);
        let ages = standings.filter_map(|standing| standing.ages).reduce(Ages::and)?;
        let hidden = self.found.iter().map(|(_, trend, _)| trend.map(|trend| share(trend.could_show())));
        let hidden: Option<Vec<f64>> = hidden.collect();
        let end = |later: &Option<Later>| Some(Nanos::from_secs_f64(later.as_ref()?.end_s));
        let ends: Option<Vec<Nanos>> = self.found.iter().map(|(_, _, later)| end(later)).collect();
        let evidence = Evidence::Ages {
            ages,
            could_show_share: hidden
                .and_then(|shares| shares.into_iter().reduce(f64::max))
                .filter(|share| *share < USELESS),
            long_look_ns: ends.and_then(|ends| ends.into_iter().min()),
        };
        Some(Check { rule: Rule::Ages, outcome: CheckOutcome::Pass, evidence })
    }

    /// Whether a slow mode of a contender may still be hidden.
    fn may_hide_some(&self) -> bool {
        let is_known = |trend: &Option<Ageing>| {
            trend.is_some_and(|trend| trend.half_width * HORIZON_S <= NO_MATTER.ln_1p())
        };
        self.found.iter().any(|(_, trend, _)| !is_known(trend))
    }
}

/// Whether a long look may tell what the rounds have not: a slow mode that is still hidden, of lives that were not old.
///
/// # Errors
/// [`Unreadable`] when a histogram of the record cannot be read.
pub fn needs_long_look(record: &Record) -> Result<bool, Unreadable> {
    let evidence = &DecodedRecord::of(record)?;
    let entries = record.contenders.iter().filter(|entry| entry.control_of.is_none());
    let oldest = entries.filter_map(|entry| ages_of(evidence, entry)).map(|ages| ages.loaded_to_ns).min();
    Ok(oldest.is_some_and(|oldest| oldest < OLD) && Slow::of(evidence).may_hide_some())
}

/// At which ages a contender was measured at capacity.
fn ages_of(evidence: &DecodedRecord<'_>, entry: &Entry) -> Option<Ages> {
    let server_runs =
        evidence.rounds.iter().flatten().filter(|server_run| server_run.run.contender == entry.identity.name);
    let windows =
        server_runs.flat_map(|server_run| server_run.windows.iter().map(|window| (server_run.run, window)));
    ages::of(windows.filter(|(_, window)| window.measured.cell.offered.is_capacity()))
}

/// What the long looks show, each beside the others'.
fn beside(alone: &[Option<Later>], is_over_limit: bool) -> Vec<Option<Later>> {
    let changes: Vec<Option<(f64, f64)>> =
        alone.iter().map(|later| later.map(|later| (later.change, later.half_width))).collect();
    let found = beside_others(&changes, is_over_limit).into_iter().zip(alone);
    found
        .map(|(change, later)| change.zip(*later))
        .map(|both| both.map(|((change, half_width), later)| Later { change, half_width, ..later }))
        .collect()
}

/// The long look sees more than the rounds do, where both see something.
fn objection(trend: Option<&Ageing>, later: Option<&Later>) -> Option<Check> {
    let later = later.filter(|later| is_told(later.change, later.half_width)).map(long_look);
    let trend = || trend.filter(|trend| is_told(trend.change(), trend.could_show())).map(slow_mode);
    Some(Check::objection(Rule::SlowModes, CheckOutcome::Warn, later.or_else(trend)?))
}

/// Whether a change is great enough to be told, and shown to be greater than differences that count as none.
fn is_told(change: f64, half_width: f64) -> bool {
    share(change).abs() >= WORTH_TELLING && change.abs() - half_width > LEAST_MARGIN.ln_1p()
}

fn slow_mode(trend: &Ageing) -> Evidence {
    let change = trend.change();
    Evidence::SlowMode {
        change_share: share(change),
        low_share: share(change - trend.could_show()),
        high_share: share(change + trend.could_show()),
        from_ns: Nanos::from_secs_f64(trend.from_s),
        to_ns: Nanos::from_secs_f64(trend.to_s),
    }
}

fn long_look(later: &Later) -> Evidence {
    Evidence::LongLook {
        change_share: share(later.change),
        low_share: share(later.change - later.half_width),
        high_share: share(later.change + later.half_width),
        young_ns: Nanos::from_secs_f64(later.young_s),
        late_ns: Nanos::from_secs_f64(later.late_s),
        end_ns: Nanos::from_secs_f64(later.end_s),
    }
}

/// What a difference of logarithms is as a share.
fn share(change: f64) -> f64 {
    change.exp_m1()
}

#[cfg(test)]
mod tests;
