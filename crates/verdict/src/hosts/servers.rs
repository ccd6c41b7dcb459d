//! Hosts of servers against each other: the same servers in other rounds, where hosts take turns
//! (docs/method/fleet.md#hosts-that-take-turns).

use std::collections::{BTreeMap, BTreeSet};

use assay_model::evidence::HostMeasure;
use assay_model::hosts::BesideHosts;
use assay_model::lab::PlacedHost;
use assay_model::load::Arrival;
use assay_stats::robust::geometric_mean;
use assay_stats::unpaired::welch_log_ratio;

use super::beside::{apart, shared};
use crate::evidence::window::{DecodedRecord, ServerRun};

/// The windows in which servers were on a host: all, where it is the only one.
pub(super) fn windows_on(evidence: &DecodedRecord<'_>, host: &PlacedHost) -> usize {
    let rounds = evidence.record.rounds.iter().zip(&evidence.rounds);
    let there = rounds.filter(|(round, _)| round.server_host.as_ref().is_none_or(|name| *name == host.name));
    there.flat_map(|(_, server_runs)| server_runs).map(|server_run| server_run.windows.len()).sum()
}

/// What the servers of each host reached over what they reached on the others, by its name; nothing where hosts did not take turns.
pub(super) fn compare<'r>(evidence: &DecodedRecord<'r>) -> BTreeMap<&'r str, BesideHosts> {
    let levels = levels(evidence);
    let confidence = shared(evidence.record.server_hosts.len());
    let of = |host: &'r PlacedHost| {
        let (there, elsewhere): (Vec<_>, Vec<_>) = levels.iter().partition(|(name, _)| *name == host.name);
        let [there, elsewhere] =
            [there, elsewhere].map(|of| of.into_iter().map(|(_, level)| level).collect::<Vec<f64>>());
        let ratio = welch_log_ratio(&there, &elsewhere, confidence).ok()?.interval;
        Some((host.name.as_str(), apart(HostMeasure::Served, ratio, levels.len())))
    };
    evidence.record.server_hosts.iter().filter_map(of).collect()
}

/// A server in one of its loads, by the contender's name and the place of the cell in the experiment.
type Place<'e> = (&'e str, usize);

/// How fast the servers of each round were on its host: the geometric mean over all that were measured in each of these rounds.
fn levels<'r>(evidence: &DecodedRecord<'r>) -> Vec<(&'r str, f64)> {
    let rounds = evidence.record.rounds.iter().zip(&evidence.rounds);
    let hosted = rounds.filter_map(|(round, server_runs)| {
        Some((round.server_host.as_deref()?, rates(evidence, server_runs)))
    });
    let hosted: Vec<(&str, BTreeMap<Place<'_>, f64>)> = hosted.collect();
    let places = hosted.iter().map(|(_, rates)| rates.keys().copied().collect::<BTreeSet<_>>());
    let common = places.reduce(|all, own| &all & &own).unwrap_or_default();
    let level = |rates: &BTreeMap<Place<'_>, f64>| {
        geometric_mean(&common.iter().map(|place| rates[place]).collect::<Vec<_>>()).ok()
    };
    hosted.iter().filter_map(|(host, rates)| Some((*host, level(rates)?))).collect()
}

/// The rates of one round that count, of first processes in closed loops.
fn rates<'e>(evidence: &'e DecodedRecord<'_>, server_runs: &'e [ServerRun<'_>]) -> BTreeMap<Place<'e>, f64> {
    let cells = evidence.record.experiment.cells();
    let first = server_runs.iter().filter(|server_run| server_run.run.replica == 0);
    let windows = first.flat_map(|of| of.windows.iter().map(|window| (of.run.contender.as_str(), window)));
    let counting =
        windows.filter(|(_, window)| window.rate_counts() && window.load.arrival == Arrival::Closed);
    let of = |(name, window): (&'e str, &crate::evidence::window::Window<'_>)| {
        let cell = cells.iter().position(|cell| *cell == window.cell)?;
        Some(((name, cell), window.rate()?))
    };
    counting.filter_map(of).collect()
}
