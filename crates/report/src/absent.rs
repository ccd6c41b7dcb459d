//! Who yielded nothing, and why: networks that could not be had, contenders that never ran, runs that ended early.

use assay_model::network::Network;
use assay_model::record::{Entry, NetworkFacts, NotRun, Record, Run, Stage};

use crate::notes::stage_in_words;

/// A network, a contender, or one run of it, that yielded nothing.
pub(crate) struct Absent<'a> {
    /// Name of the contender; absent for everybody on a network.
    name: Option<&'a str>,
    /// The only network concerned, where there are several.
    network: Option<Network>,
    /// Index of the first round in which it failed; absent when it never ran.
    pub(crate) round: Option<u32>,
    pub(crate) why: &'a NotRun,
}

impl Absent<'_> {
    /// `nginx`, `nginx on user/xdp`, `user/xdp`.
    pub(crate) fn who(&self) -> String {
        match (self.name, self.network) {
            (Some(name), None) => name.to_owned(),
            (Some(name), Some(network)) => format!("{name} on {network}"),
            (None, Some(network)) => network.to_string(),
            (None, None) => String::new(),
        }
    }

    /// At which step it failed, in words.
    pub(crate) fn stage(&self) -> &'static str {
        match (self.why.stage, self.network) {
            // What a contender needs in general is there, or it would be absent everywhere.
            (Stage::Needs, Some(_)) => "not run",
            (stage, _) => stage_in_words(stage),
        }
    }
}

/// Networks, then contenders that never ran, then those with runs that ended early: each once, with its first failure.
pub(crate) fn absent(record: &Record) -> Vec<Absent<'_>> {
    let mut all: Vec<Absent<'_>> = record.networks.iter().filter_map(network).collect();
    let proper = || record.contenders.iter().filter(|entry| entry.control_of.is_none());
    all.extend(
        proper().filter(|entry| first_failure(record, &entry.name, None).is_none()).filter_map(nowhere),
    );
    all.extend(proper().flat_map(|entry| somewhere(record, entry)));
    for (round, run, why) in failed_runs(record).filter(|(_, run, _)| !is_echo(record, run)) {
        let (name, network) = (Some(run.contender.as_str()), run.network);
        if all.iter().all(|known| (known.name, known.network) != (name, network)) {
            all.push(Absent { name, network, round: Some(round), why });
        }
    }
    all
}

fn network(facts: &NetworkFacts) -> Option<Absent<'_>> {
    let why = facts.not_run.as_ref()?;
    Some(Absent { name: None, network: Some(facts.network), round: None, why })
}

fn nowhere(entry: &Entry) -> Option<Absent<'_>> {
    let why = entry.not_run.as_ref().filter(|_| entry.not_run_on.is_empty())?;
    Some(Absent { name: Some(&entry.name), network: None, round: None, why })
}

/// On single networks, where it did not fail in a round, which tells more.
fn somewhere<'r>(record: &'r Record, entry: &'r Entry) -> impl Iterator<Item = Absent<'r>> {
    let absences = entry.not_run_on.iter();
    let never =
        absences.filter(|absence| first_failure(record, &entry.name, Some(absence.network)).is_none());
    never.map(|absence| Absent {
        name: Some(&entry.name),
        network: Some(absence.network),
        round: None,
        why: &absence.why,
    })
}

fn first_failure<'r>(record: &'r Record, name: &str, network: Option<Network>) -> Option<(u32, &'r NotRun)> {
    let its = |run: &Run| run.contender == name && run.network == network;
    failed_runs(record).find(|(_, run, _)| its(run)).map(|(round, _, why)| (round, why))
}

/// Whether it is the failure of an A/A control whose original failed likewise, of which is told.
fn is_echo(record: &Record, run: &Run) -> bool {
    let entry = record.contenders.iter().find(|entry| entry.name == run.contender);
    let original = entry.and_then(|entry| entry.control_of.as_ref());
    original.is_some_and(|original| first_failure(record, original, run.network).is_some())
}

fn failed_runs(record: &Record) -> impl Iterator<Item = (u32, &Run, &NotRun)> {
    let runs = record.rounds.iter().flat_map(|round| round.runs.iter().map(move |run| (round.index, run)));
    runs.filter_map(|(round, run)| Some((round, run, run.failure.as_ref()?)))
}
