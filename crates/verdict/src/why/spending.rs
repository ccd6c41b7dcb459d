//! Where one server's time goes: its parts with intervals over restarts.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::part::Part;
use assay_model::units::total;
use assay_model::verdict::Interval;
use assay_model::why::{CountSpending, Event, PartSpending, Spending, Waiting};
use assay_stats::simultaneous::each_of;

use super::unnamed::{ByFile, unnamed};
use crate::{CONFIDENCE, mean_over_restarts};

/// What one restart spent on each right answer while it was profiled.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Spent {
    /// CPU time by the kernel's accounts, in nanoseconds.
    pub(crate) cpu_ns: f64,
    /// CPU time by parts, in nanoseconds.
    pub(crate) parts: BTreeMap<Part, f64>,
    /// How often it did what can be counted.
    pub(crate) counts: BTreeMap<Event, f64>,
    /// Where its threads slept, as shares of their time.
    pub(crate) waits: BTreeMap<String, f64>,
    /// Time for which its threads waited for a CPU, in nanoseconds.
    pub(crate) run_delay_ns: Option<f64>,
    /// Samples of its stacks.
    pub(crate) samples: u64,
    /// The time that they stand for over the CPU time.
    pub(crate) sampled_share: f64,
    /// Share of its samples whose own function has no name, 0 to 1.
    pub(crate) unnamed_share: f64,
    /// Samples by the file of their own function.
    pub(crate) by_file: ByFile,
    /// CPU time in a kernel that was not seen, in nanoseconds.
    pub(crate) unseen_ns: f64,
    /// Share of its CPUs' samples in which other programs ran.
    pub(crate) others_share: f64,
    /// Why some of it could not be told.
    pub(crate) refused: Vec<String>,
}

impl Spent {
    /// What a part takes; nothing where no sample fell into it.
    pub(super) fn of(&self, part: Part) -> f64 {
        self.parts.get(&part).copied().unwrap_or(0.0)
    }
}

/// All parts that any of these restarts has.
pub(super) fn parts_of<'s>(all: impl IntoIterator<Item = &'s Spent>) -> BTreeSet<Part> {
    all.into_iter().flat_map(|spent| spent.parts.keys().copied()).collect()
}

/// The spending of `contender` over at least one restart; `unwatched_ns` is its CPU time for each right answer while nobody
/// looked. `None` without any. What holds its answers up,
/// what it costs and how it was changed by looking is not in it.
pub(super) fn spending(contender: &str, restarts: &[&Spent], unwatched_ns: Option<f64>) -> Option<Spending> {
    if restarts.is_empty() {
        return None;
    }
    let known = parts_of(restarts.iter().copied());
    let confidence = each_of(known.len(), CONFIDENCE);
    let part = |part: Part| {
        let ns = mean(restarts.iter().map(|spent| spent.of(part)), confidence);
        PartSpending { part, ns: Interval { confidence: ns.confidence.min(CONFIDENCE), ..ns } }
    };
    let mut parts: Vec<PartSpending> = known.into_iter().map(part).collect();
    parts.sort_by(|a, b| b.ns.estimate.total_cmp(&a.ns.estimate).then(a.part.cmp(&b.part)));
    let delays: Option<Vec<f64>> = restarts.iter().map(|spent| spent.run_delay_ns).collect();
    let refused: BTreeSet<&String> = restarts.iter().flat_map(|spent| &spent.refused).collect();
    Some(Spending {
        contender: contender.to_owned(),
        restarts: u32::try_from(restarts.len()).unwrap_or(u32::MAX),
        samples: total(restarts.iter().map(|spent| spent.samples)),
        cpu_ns: mean(restarts.iter().map(|spent| spent.cpu_ns), CONFIDENCE),
        unwatched_cpu_ns: unwatched_ns,
        watching: None,
        price_per_million: None,
        energy: None,
        unseen_ns: mean_of(restarts, |spent| spent.unseen_ns),
        others_share: mean_of(restarts, |spent| spent.others_share),
        sampled_share: mean_of(restarts, |spent| spent.sampled_share),
        unnamed_share: mean_of(restarts, |spent| spent.unnamed_share),
        unnamed: unnamed(restarts.iter().map(|spent| &spent.by_file)),
        parts,
        counts: counts(restarts),
        run_delay_ns: delays.map(|delays| delays.iter().sum::<f64>() / delays.len() as f64),
        waits: waits(restarts),
        held_up: Vec::new(),
        refused: refused.into_iter().cloned().collect(),
    })
}

/// How much more an answer cost while it was profiled than in the windows of the same restart: a restart is as fast in the one as
/// in the other, whatever sets it apart from the next.
pub(super) fn watching(restarts: &[Option<Spent>], unwatched_ns: &[Option<f64>]) -> Option<Interval> {
    let both = restarts.iter().zip(unwatched_ns);
    let shares: Vec<f64> = both
        .filter_map(|(spent, unwatched)| {
            Some(spent.as_ref()?.cpu_ns / unwatched.filter(|ns| *ns > 0.0)? - 1.0)
        })
        .collect();
    (!shares.is_empty()).then(|| mean(shares.into_iter(), CONFIDENCE))
}

/// A mean with its interval; of a single restart the figure alone.
fn mean(values: impl Iterator<Item = f64>, confidence: f64) -> Interval {
    mean_over_restarts(&values.collect::<Vec<_>>(), confidence)
}

/// How often each event happens for an answer, the most frequent first.
fn counts(restarts: &[&Spent]) -> Vec<CountSpending> {
    let events: BTreeSet<&Event> = restarts.iter().flat_map(|spent| spent.counts.keys()).collect();
    let count = |event: &Event| {
        Some(CountSpending { event: event.clone(), per_answer: mean_count(restarts, event)? })
    };
    let mut counts: Vec<CountSpending> = events.into_iter().filter_map(count).collect();
    counts.sort_by(|a, b| b.per_answer.total_cmp(&a.per_answer).then_with(|| a.event.cmp(&b.event)));
    counts
}

/// How often an event happens for an answer, on average over the restarts in which such were counted; `None` without any. Every server
/// makes some system calls, so one of which none is known was not followed.
pub(super) fn mean_count(restarts: &[&Spent], event: &Event) -> Option<f64> {
    let is_call = |event: &Event| matches!(event, Event::SystemCall { .. });
    let is_counted = |spent: &&Spent| !is_call(event) || spent.counts.keys().any(is_call);
    let counted: Vec<&Spent> = restarts.iter().copied().filter(is_counted).collect();
    let mean = mean_of(&counted, |spent| spent.counts.get(event).copied().unwrap_or(0.0));
    (!counted.is_empty()).then_some(mean)
}

/// A figure's mean over the restarts.
pub(super) fn mean_of(restarts: &[&Spent], of: impl Fn(&Spent) -> f64) -> f64 {
    restarts.iter().map(|spent| of(spent)).sum::<f64>() / restarts.len().max(1) as f64
}

/// Where the threads slept, the longest first.
fn waits(restarts: &[&Spent]) -> Vec<Waiting> {
    let channels: BTreeSet<&String> = restarts.iter().flat_map(|spent| spent.waits.keys()).collect();
    let share =
        |channel: &String| mean_of(restarts, |spent| spent.waits.get(channel).copied().unwrap_or(0.0));
    let waiting = |channel: &String| Waiting { channel: channel.clone(), share: share(channel) };
    let mut waits: Vec<Waiting> = channels.into_iter().map(waiting).collect();
    waits.sort_by(|a, b| b.share.total_cmp(&a.share));
    waits
}
