//! Who yielded nothing, and why: networks that could not be had, contenders that never ran, runs that ended early.

use assay_model::record::{Entry, NetworkFacts, NotRun, Record, Run};
use assay_model::setting::Setting;

use crate::words::stage_in_words;

/// A network, a contender, or one run of it, that yielded nothing.
pub(crate) struct Absent<'a> {
    /// Name of the contender; absent for everybody on a network.
    name: Option<&'a str>,
    /// The only setting concerned, where there are several.
    setting: Option<Setting>,
    /// Index of the first round in which it failed; absent when it never ran.
    pub(crate) round: Option<u32>,
    pub(crate) why: &'a NotRun,
}

impl Absent<'_> {
    /// `nginx`, `nginx on user/xdp`, `user/xdp`.
    pub(crate) fn who(&self) -> String {
        match (self.name, self.setting) {
            (Some(name), None) => name.to_owned(),
            (Some(name), Some(setting)) => format!("{name} on {setting}"),
            (None, Some(setting)) => setting.to_string(),
            (None, None) => String::new(),
        }
    }

    /// At which step it failed, in words.
    pub(crate) fn stage(&self) -> &'static str {
        stage_in_words(self.why.stage)
    }
}

/// Networks, then contenders that never ran, then those with runs that ended early, and the limit last: each once, with its first failure.
pub(crate) fn absent(record: &Record) -> Vec<Absent<'_>> {
    let mut all: Vec<Absent<'_>> = record.networks.iter().filter_map(network).collect();
    let proper = || record.contenders.iter().filter(|entry| entry.control_of.is_none());
    let ended_early =
        |entry: &&Entry| failed_runs(record).any(|(_, run, _)| run.contender == entry.identity.name);
    all.extend(proper().filter(|entry| !ended_early(entry)).filter_map(nowhere));
    all.extend(proper().flat_map(|entry| somewhere(record, entry)));
    for (round, run, why) in failed_runs(record).filter(|(_, run, _)| !is_echo(record, run)) {
        let (name, setting) = (Some(run.contender.as_str()), told(run.setting()));
        if all.iter().all(|known| (known.name, known.setting) != (name, setting)) {
            all.push(Absent { name, setting, round: Some(round), why });
        }
    }
    // Where it is missing, that may be because others are.
    all.sort_by_key(|absent| absent.name.is_some_and(|name| record.is_limit(name)));
    all
}

fn network(facts: &NetworkFacts) -> Option<Absent<'_>> {
    let why = facts.not_run.as_ref()?;
    Some(Absent { name: None, setting: Some(Setting::on(Some(facts.network))), round: None, why })
}

fn nowhere(entry: &Entry) -> Option<Absent<'_>> {
    let why = entry.not_run.as_ref().filter(|_| entry.not_run_on.is_empty())?;
    Some(Absent { name: Some(&entry.identity.name), setting: None, round: None, why })
}

/// The usual setting needs no name.
fn told(setting: Setting) -> Option<Setting> {
    Some(setting).filter(|setting| *setting != Setting::USUAL)
}

/// In single settings, where it did not fail in a round, which tells more.
fn somewhere<'r>(record: &'r Record, entry: &'r Entry) -> impl Iterator<Item = Absent<'r>> {
    let absences = entry.not_run_on.iter();
    let never =
        absences.filter(|absence| first_failure(record, &entry.identity.name, absence.setting()).is_none());
    never.map(|absence| Absent {
        name: Some(&entry.identity.name),
        setting: Some(absence.setting()),
        round: None,
        why: &absence.why,
    })
}

fn first_failure<'r>(record: &'r Record, name: &str, setting: Setting) -> Option<(u32, &'r NotRun)> {
    let its = |run: &Run| run.contender == name && run.setting() == setting;
    failed_runs(record).find(|(_, run, _)| its(run)).map(|(round, _, why)| (round, why))
}

/// Whether it is the failure of an A/A control whose original failed likewise, which is reported.
fn is_echo(record: &Record, run: &Run) -> bool {
    let entry = record.contenders.iter().find(|entry| entry.identity.name == run.contender);
    let original = entry.and_then(|entry| entry.control_of.as_ref());
    original.is_some_and(|original| first_failure(record, original, run.setting()).is_some())
}

fn failed_runs(record: &Record) -> impl Iterator<Item = (u32, &Run, &NotRun)> {
    let runs = record.rounds.iter().flat_map(|round| round.runs.iter().map(move |run| (round.index, run)));
    runs.filter_map(|(round, run)| Some((round, run, run.failure.as_ref()?)))
}
