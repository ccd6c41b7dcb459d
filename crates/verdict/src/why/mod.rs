//! Where the time of each server goes, and why one spends more of it than another (docs/method/why.md).
//!
//! A restart is one observation, as everywhere: its profile becomes one budget, and intervals are over the budgets of restarts
//! (docs/method/rounds.md#restarts-are-the-unit-of-replication). How many samples a profile has decides how much its budgets
//! scatter, and needs no formula of its own.

mod difference;
mod events;
mod held_up;
mod spending;
mod unnamed;

use std::collections::BTreeMap;

use assay_model::cause::{Cause, HeldUp};
use assay_model::evidence::Busiest;
use assay_model::experiment::Cell;
use assay_model::network::Stack;
use assay_model::part::Part;
use assay_model::profile::{Owner, Profile, Sampled, SystemCall, Traced};
use assay_model::record::Run;
use assay_model::units::total;
use assay_model::usage::Usage;
use assay_model::why::{Difference, Event, Spending, Why};

use crate::budget::{rules_version, samples_by_part};
use crate::capacity::limit::full_link;
use crate::evidence::energy::energy_per_answer;
use crate::evidence::price::price_of_a_million;
use crate::evidence::sample::{Sample, samples};
use crate::evidence::window::DecodedRecord;
use crate::{SERVER_SATURATED, median};
use difference::{Spender, difference};
use held_up::{busy_share, causes, in_order};
use spending::{Spent, spending, watching};

/// Largest share of a slice's events that may be lost for its counts to be believed. Those that are lost are many at once, so what is
/// left is no sample of all.
const MOST_LOST: f64 = 0.05;
/// What is told where more were.
const CALLS_LOST: &str = "more than a twentieth of the events of its system calls were lost, so calls are not counted here, and no cause that \
    they would show is looked for";

/// What profiles tell of each cell in which there are any, in the experiment's order.
pub(crate) fn judge(evidence: &DecodedRecord<'_>) -> Vec<Why> {
    let settings = evidence.record.settings_had();
    let cells = evidence.record.experiment.cells().into_iter();
    let cells = cells.filter(|cell| settings.contains(&cell.setting()));
    let profiled: Vec<(Cell, Vec<Profiled>)> =
        cells.map(|cell| (cell.clone(), profiled(evidence, &cell))).collect();
    let told = |(cell, own): &(Cell, Vec<Profiled>)| {
        Some(Why { stacks: stacks(cell, own, &profiled), ..of_cell(cell, own)? })
    };
    profiled.iter().filter_map(told).collect()
}

/// Contenders that were profiled in a cell.
fn profiled(evidence: &DecodedRecord<'_>, cell: &Cell) -> Vec<Profiled> {
    samples(evidence, cell).iter().filter_map(|sample| Profiled::of(evidence, sample, cell)).collect()
}

/// Each contender on the user-space stack against itself on the kernel's counterpart, where it was profiled on both.
fn stacks(cell: &Cell, own: &[Profiled], all: &[(Cell, Vec<Profiled>)]) -> Vec<Difference> {
    let Some(user) = cell.network.filter(|network| network.stack() == Stack::User) else { return Vec::new() };
    let Some(kernel) = user.kernel_counterpart() else { return Vec::new() };
    let wanted = cell.on(Some(kernel));
    let others = all.iter().filter(|(cell, _)| *cell == wanted).flat_map(|(_, profiled)| profiled);
    let others: Vec<&Profiled> = others.collect();
    let against_itself = |of: &Profiled| {
        let before = others.iter().find(|other| other.spending.contender == of.spending.contender)?;
        let told = difference(before.side(), of.side())?;
        Some(Difference { base_network: Some(kernel), contender_network: Some(user), ..told })
    };
    own.iter().filter_map(against_itself).collect()
}

fn of_cell(cell: &Cell, profiled: &[Profiled]) -> Option<Why> {
    let mut order: Vec<&Profiled> = profiled.iter().collect();
    order.sort_by(|a, b| a.spending.cpu_ns.estimate.total_cmp(&b.spending.cpu_ns.estimate));
    let (cheapest, others) = order.split_first()?;
    let differences = others.iter().filter_map(|other| difference(cheapest.side(), other.side())).collect();
    let spendings = order.iter().map(|of| of.spending.clone()).collect();
    let (stacks, rules_version) = (Vec::new(), rules_version());
    Some(Why { spendings, differences, stacks, rules_version, cell: cell.clone() })
}

/// A contender with what it spent in each block.
struct Profiled {
    spending: Spending,
    restarts: Vec<Option<Spent>>,
}

impl Profiled {
    /// `None` where no restart tells anything.
    fn of(evidence: &DecodedRecord<'_>, sample: &Sample<'_>, cell: &Cell) -> Option<Self> {
        let profiles: Vec<Option<&Profile>> =
            sample.runs.iter().map(|run| profile_in((*run)?, cell)).collect();
        let restarts: Vec<Option<Spent>> = profiles.iter().map(|profile| spent((*profile)?)).collect();
        let known: Vec<&Spent> = restarts.iter().flatten().collect();
        let unwatched = sample.cpu_per_answer_in_blocks();
        let told = spending(&sample.entry.identity.name, &known, mean(&unwatched))?;
        let spending = Spending {
            watching: watching(&restarts, &unwatched),
            price_per_million: price_of_a_million(evidence.record, Some(told.cpu_ns)),
            energy: energy_per_answer(evidence.record, sample),
            held_up: held_up(evidence, sample, profiles.into_iter().flatten()),
            ..told
        };
        Some(Self { spending, restarts })
    }

    fn side(&self) -> Spender<'_> {
        Spender { name: &self.spending.contender, restarts: &self.restarts }
    }
}

/// The mean of what is known.
fn mean(values: &[Option<f64>]) -> Option<f64> {
    let known: Vec<f64> = values.iter().copied().flatten().collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}

fn profile_in<'r>(run: &'r Run, cell: &Cell) -> Option<&'r Profile> {
    run.profiles.iter().find(|of| of.cell == *cell)
}

/// What the profiles of a sample show to hold answers up, and a full link, which its windows show.
fn held_up<'p>(
    evidence: &DecodedRecord<'_>,
    sample: &Sample<'_>,
    profiles: impl Iterator<Item = &'p Profile>,
) -> Vec<HeldUp> {
    // What a link carries is counted exactly, whatever else a window suffered.
    let link = match full_link(evidence.record, &sample.measured().collect::<Vec<_>>()) {
        Some(Busiest::Link { link, share, from_server }) => {
            Some((Cause::Link { link, used: share, from_server }, share.min(1.0)))
        }
        _ => None,
    };
    let (mut found, mut busy) = (Vec::new(), Vec::new());
    for profile in profiles {
        found.push(causes(profile).into_iter().chain(link.clone()).collect());
        busy.extend(busy_share(&profile.sampled));
    }
    in_order(found, median(&busy).is_some_and(|share| share >= SERVER_SATURATED))
}

/// What one profile tells; `None` where nothing was answered, or nothing sampled.
fn spent(profile: &Profile) -> Option<Spent> {
    let sampled = &profile.sampled;
    let (ns_of_a_sample, named_share) = (profile.ns_of_a_sample()?, sampled.named_share()?);
    let (answers, samples) = (sampled.answers as f64, sampled.samples_of(Owner::Server));
    let cpu_ns = sampled.usage.cpu_ns().0 as f64;
    let mut counts = switches(&sampled.usage, answers);
    counts.extend(counted(profile).into_iter().flat_map(calls));
    let seen_ns = profile.seen_cpu_ns().0 as f64;
    let unseen_ns = (cpu_ns - seen_ns) / answers;
    let parts = samples_by_part(sampled).into_iter().map(|(part, of)| (part, of as f64 * ns_of_a_sample));
    let mut parts: BTreeMap<Part, f64> = parts.collect();
    if unseen_ns > 0.0 {
        *parts.entry(Part::Unassigned).or_default() += unseen_ns;
    }
    Some(Spent {
        cpu_ns: cpu_ns / answers,
        parts,
        unseen_ns,
        others_share: others_share(sampled),
        counts: counts.into_iter().collect(),
        waits: waits(sampled),
        run_delay_ns: sampled.usage.run_delay_ns.map(|delay| delay.0 as f64 / answers),
        samples,
        sampled_share: sampled.sampled_share(profile.seen_cpu_ns()),
        unnamed_share: 1.0 - named_share,
        by_file: unnamed::by_file(sampled),
        refused: refused(profile),
    })
}

/// The system calls of a profile, unless too many of their events were lost.
fn counted(profile: &Profile) -> Option<&Traced> {
    profile.traced.as_ref().filter(|traced| traced.answers > 0 && traced.lost_share() <= MOST_LOST)
}

/// Why some of it is not told.
fn refused(profile: &Profile) -> Vec<String> {
    let has_lost = profile.traced.as_ref().is_some_and(|traced| traced.lost_share() > MOST_LOST);
    let whys = profile.refused.iter().map(|refused| refused.why.clone());
    whys.chain(has_lost.then(|| CALLS_LOST.to_owned())).collect()
}

/// Share of all samples of the server's CPUs in which other programs ran.
fn others_share(sampled: &Sampled) -> f64 {
    let of = |owner| sampled.samples_of(owner);
    let all = total([of(Owner::Server), of(Owner::Kernel), sampled.idle, sampled.others]);
    sampled.others as f64 / all.max(1) as f64
}

/// Where threads slept, as shares of the time of all of them.
fn waits(sampled: &Sampled) -> BTreeMap<String, f64> {
    let threads = sampled.usage.threads.max(sampled.most_threads);
    let all = sampled.usage.wall_ns.0 as f64 * f64::from(threads);
    let mut waits: BTreeMap<String, f64> = BTreeMap::new();
    for wait in sampled.waits.iter().filter(|_| all > 0.0) {
        *waits.entry(wait.channel.clone()).or_default() += wait.time_ns.0 as f64 / all;
    }
    waits
}

fn switches(usage: &Usage, answers: f64) -> Vec<(Event, f64)> {
    vec![
        (Event::VoluntarySwitch, usage.voluntary_switches as f64 / answers),
        (Event::InvoluntarySwitch, usage.involuntary_switches as f64 / answers),
        (Event::PageFault, (usage.minor_faults + usage.major_faults) as f64 / answers),
    ]
}

fn calls(traced: &Traced) -> Vec<(Event, f64)> {
    let answers = traced.answers as f64;
    let of = |call: &SystemCall| (Event::SystemCall { name: call.name.clone() }, call.count as f64 / answers);
    traced.calls.iter().map(of).collect()
}

#[cfg(test)]
mod tests;
