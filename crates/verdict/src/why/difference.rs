//! Where one server spends more than another: the difference of two budgets, part by part, paired by restart.

use assay_model::part::Part;
use assay_model::verdict::Interval;
use assay_model::why::{CountDifference, Difference, Event, PartDifference};
use assay_stats::difference::paired_difference;
use assay_stats::simultaneous::each_of;

use super::events::speaks_of;
use super::spending::{Spent, mean_count, mean_of, parts_of};
use crate::CONFIDENCE;

/// Share of what the dearer of two spends in all below which a difference in a part is told to nobody.
const LEAST_SHARE: f64 = 0.01;
/// Least difference of a count for each answer that can be the reason of anything.
const LEAST_COUNT: f64 = 0.02;
/// Least ratio of two counts that counts as a difference.
const LEAST_RATIO: f64 = 1.2;
/// Most counts that are told of a part: the first few explain it, more hide them.
const MOST_COUNTS: usize = 2;

/// One of two contenders whose spending is compared.
#[derive(Clone, Copy)]
pub(super) struct Spender<'s> {
    /// Its name.
    pub(super) name: &'s str,
    /// What it spent in each block of the run; none where it was not profiled.
    pub(super) restarts: &'s [Option<Spent>],
}

/// The difference of `other` to `base`; `None` unless both were profiled in at least two common blocks.
pub(super) fn difference(base: Spender<'_>, other: Spender<'_>) -> Option<Difference> {
    let common = base.restarts.iter().zip(other.restarts);
    let pairs: Vec<(&Spent, &Spent)> =
        common.filter_map(|(base, other)| Some((base.as_ref()?, other.as_ref()?))).collect();
    let (of_base, of_other): (Vec<&Spent>, Vec<&Spent>) = pairs.iter().copied().unzip();
    let both = Both { base: &of_base, other: &of_other };
    let total_ns = both.difference(|spent| spent.cpu_ns, CONFIDENCE)?;
    let known = parts_of(of_base.iter().chain(&of_other).copied());
    let confidence = each_of(known.len(), CONFIDENCE);
    let all: Vec<PartDifference> = known.into_iter().filter_map(|part| both.part(part, confidence)).collect();
    let [base_ns, contender_ns] = [both.base, both.other].map(|side| mean_of(side, |spent| spent.cpu_ns));
    let least = LEAST_SHARE * base_ns.max(contender_ns);
    let (mut parts, alike): (Vec<_>, Vec<_>) = all.into_iter().partition(|part| is_shown(part, least));
    let size = |part: &PartDifference| part.difference_ns.estimate.abs();
    parts.sort_by(|a, b| size(b).total_cmp(&size(a)).then(a.part.cmp(&b.part)));
    Some(Difference {
        base: base.name.to_owned(),
        contender: other.name.to_owned(),
        base_network: None,
        contender_network: None,
        restarts: u32::try_from(pairs.len()).unwrap_or(u32::MAX),
        base_ns,
        contender_ns,
        total_ns,
        parts,
        alike: u32::try_from(alike.len()).unwrap_or(u32::MAX),
        alike_ns: alike.iter().map(|part| part.difference_ns.estimate).sum(),
    })
}

/// Whether a part is shown to differ, and by enough to be told.
fn is_shown(part: &PartDifference, least_ns: f64) -> bool {
    part.difference_ns.excludes_zero() && part.difference_ns.estimate.abs() >= least_ns
}

/// The restarts of both sides, pair by pair.
struct Both<'s> {
    base: &'s [&'s Spent],
    other: &'s [&'s Spent],
}

impl Both<'_> {
    /// A figure of the other's less that of the base's.
    fn difference(&self, of: impl Fn(&Spent) -> f64, confidence: f64) -> Option<Interval> {
        let series = |side: &[&Spent]| side.iter().map(|spent| of(spent)).collect::<Vec<f64>>();
        let told = paired_difference(&series(self.other), &series(self.base), confidence).ok()?;
        Some(Interval { confidence: CONFIDENCE, ..crate::interval(told) })
    }

    fn part(&self, part: Part, confidence: f64) -> Option<PartDifference> {
        let difference_ns = self.difference(|spent| spent.of(part), confidence)?;
        Some(PartDifference {
            part,
            base_ns: mean_of(self.base, |spent| spent.of(part)),
            contender_ns: mean_of(self.other, |spent| spent.of(part)),
            difference_ns,
            because: self.because(part, difference_ns.estimate > 0.0),
        })
    }

    /// What the one that spends more in a part does there more often.
    fn because(&self, part: Part, other_spends_more: bool) -> Vec<CountDifference> {
        let events = self.base.iter().chain(self.other).flat_map(|spent| spent.counts.keys());
        let mut events: Vec<&Event> = events.filter(|event| speaks_of(event, part)).collect();
        events.sort();
        events.dedup();
        let count = |event: &Event| {
            let (base, contender) = (mean_count(self.base, event)?, mean_count(self.other, event)?);
            let (more, less) = if other_spends_more { (contender, base) } else { (base, contender) };
            let is_reason = more - less >= LEAST_COUNT && more >= LEAST_RATIO * less;
            is_reason.then(|| CountDifference { event: event.clone(), base, contender })
        };
        let mut told: Vec<CountDifference> = events.into_iter().filter_map(count).collect();
        let size = |of: &CountDifference| (of.contender - of.base).abs();
        told.sort_by(|a, b| size(b).total_cmp(&size(a)));
        told.truncate(MOST_COUNTS);
        told
    }
}
