//! What the diagnostic log tells of a run: each decision, and what it rests on (docs/log.md).
//!
//! One function for each decision, called where it is made and never while load is measured. Whether anybody listens, and how
//! it is written, is the binary's matter.

use std::collections::BTreeSet;
use std::time::Duration;

use assay_model::check::{Check, CheckOutcome};
use assay_model::database::Database;
use assay_model::energy::Metering;
use assay_model::experiment::Cell;
use assay_model::generator_window::GeneratorWindow;
use assay_model::host_link::HostLink;
use assay_model::learnt::Learnt;
use assay_model::profile::{Owner, Profile, Refused};
use assay_model::record::{Entry, GeneratorEntry, LeftOut, Measurement, NotRun, Warmup};
use assay_model::units::Nanos;
use assay_verdict::Settling;
use assay_verdict::allocation::Further;
use assay_verdict::outlook::Past;
use tracing::{debug, info};

use crate::contender::learn::Question;
use crate::groups::Room;
use crate::plan::RunPlan;
use crate::prediction::Prediction;

/// What there is to be told about: the targets of all events, which `ASSAY_LOG` names.
pub const TOPICS: [&str; 13] = [
    "design",
    "database",
    "contender",
    "answers",
    "warmup",
    "settle",
    "turns",
    "groups",
    "window",
    "profile",
    "rounds",
    "stop",
    "remedy",
];

/// How the run is designed.
pub(crate) fn design(plan: &RunPlan, past: Option<&Past>) {
    let experiment = &plan.experiment;
    if let Some(comparing) = &experiment.comparing {
        let (base, design, because) = (&comparing.base, comparing.design, &comparing.because);
        info!(target: "design", ?design, ?because, "the others are compared with {base}");
    }
    let (several, at_once) = (plan.subjects.len() > 1, plan.live_at_once());
    if plan.takes_turns() {
        info!(target: "design", at_once, turn_s = experiment.turn_s,
            "the servers of a round take turns: there are several, and closed loops of a given time on the kernel's TCP");
    } else {
        info!(target: "design", several, at_once, one_at_a_time = experiment.one_at_a_time,
            "one server lives at a time, each measured in one piece");
    }
    let Prediction { rounds, round, .. } = plan.prediction(past);
    info!(target: "design", ?round, budget_s = experiment.budget_s, until_settled = experiment.until_settled,
        "{rounds} rounds are planned");
    info!(target: "design", "CPUs: {}", plan.isolation.statement);
    debug!(target: "design", seed = plan.seed, cells = experiment.cells().len(), contenders = plan.subjects.len());
}

/// Who takes part twice.
pub(crate) fn control(entry: &Entry) {
    let original = entry.control_of.as_deref().unwrap_or_default();
    info!(target: "design", "{original} takes part twice, as the A/A control");
}

/// Whether the machine's energy is counted, and what it takes idle.
pub(crate) fn metering(metering: &Metering) {
    info!(target: "design", ?metering, "the machine's energy");
}

/// The database that servers are to use, or why there is none.
pub(crate) fn database(facts: &Database) {
    let Database { kind, origin, version, cpus, beside_generator, not_run, .. } = facts;
    let version = version.as_deref();
    match (not_run, cpus) {
        (Some(NotRun { reason, .. }), _) => info!(target: "database", %kind, ?origin, "{reason}"),
        (None, Some(cpus)) => {
            info!(target: "database", ?origin, version, beside_generator, "{kind} is on CPUs {cpus}");
        }
        (None, None) => info!(target: "database", ?origin, version, "{kind} is on CPUs of its own choice"),
    }
}

/// What the network between hosts carries.
pub(crate) fn host_link(link: &HostLink) {
    let HostLink { hosts, round_trip_ns, carried, is_at_least, to_server, problem, server } = link;
    info!(target: "design", ?round_trip_ns, ?carried, is_at_least, ?to_server, ?problem, "the network from {} to {hosts:?}", server.as_deref().unwrap_or("the servers' host"));
}

/// Several hosts take turns as that of the servers.
pub(crate) fn host_of_round(round: u32, host: &str) {
    info!(target: "rounds", "round {}: servers live on {host}", round + 1);
}

/// A generator of another project was asked for.
pub(crate) fn generator(entry: &GeneratorEntry) {
    let (name, version) = (entry.name, entry.version.as_deref());
    match &entry.not_run {
        Some(NotRun { reason, .. }) => info!(target: "design", "{name} loads no server: {reason}"),
        None => info!(target: "design", version, "{name} loads the servers besides"),
    }
    for LeftOut { cell, reason } in &entry.left_out {
        info!(target: "design", "{name} leaves {cell} out, as it {reason}");
    }
}

/// A generator, ours or another, has loaded a server for comparison.
pub(crate) fn cross_checked(contender: &str, window: &GeneratorWindow) {
    let GeneratorWindow { generator, cell, server_counted, cpu_ns, .. } = window;
    match &window.failure {
        Some(failure) => info!(target: "window", "{generator} failed on {contender} at {cell}: {failure}"),
        None => debug!(target: "window", per_second = window.per_second(), server_counted, ?cpu_ns,
            "{contender} at {cell} under {generator}"),
    }
}

/// A server is ready.
pub(crate) fn started(contender: &str, round: usize, startup: Nanos, pid: Option<u32>) {
    let startup = Duration::from_nanos(startup.0);
    debug!(target: "contender", ?startup, pid, "{contender} is ready in round {round}");
}

/// A run of a contender ended early.
pub(crate) fn failed(contender: &str, reason: &NotRun, failures: u32, is_given_up: bool) {
    let NotRun { stage, reason, .. } = reason;
    info!(target: "contender", ?stage, failures, is_given_up, "{contender} failed: {reason}");
}

/// Answers of a server are the measure of those under load, because nobody said what is right.
pub(crate) fn learnt(contender: &str, learnt: &Learnt, is_looser: bool) {
    let Learnt { workload, request, asked, held, status, body_bytes, .. } = learnt;
    let request = request + 1;
    if is_looser {
        info!(target: "answers", asked, ?held, ?status, ?body_bytes,
            "{contender} varies more in request {request} of {workload} than was seen before: less is held against it");
    } else {
        debug!(target: "answers", asked, ?held, ?status, ?body_bytes,
            "{contender} answers request {request} of {workload}, which leaves open what is right");
    }
}

/// Nothing was learnt of a server's answers, because there were none, or they were unlike those before.
pub(crate) fn nothing_learnt(contender: &str, question: Question<'_>, problem: &str) {
    let (request, workload) = (question.number + 1, question.workload);
    info!(target: "answers", "{contender}: nothing new was learnt of request {request} of {workload}: {problem}");
}

/// A server was warmed up: as long as it took, or as an earlier start of it needed.
pub(crate) fn warmed_up(contender: &str, warmup: &Warmup, slice_s: f64, is_known: bool) {
    let Warmup { workload, per_second, settled, .. } = warmup;
    let spent_s = per_second.len() as f64 * slice_s;
    if is_known {
        debug!(target: "warmup", "{contender} had {spent_s} s on {workload}, as much as its first start needed");
    } else if *settled {
        info!(target: "warmup", "{contender} was warm on {workload} after {spent_s} s: it no longer got faster");
    } else if per_second.is_empty() {
        info!(target: "warmup", "{contender} had no load on {workload} to get warm");
    } else {
        info!(target: "warmup", "{contender} on {workload} had not stopped getting faster after {spent_s} s, the longest warm-up");
    }
    let rates: Vec<f64> = per_second.iter().map(|rate| rate.round()).collect();
    debug!(target: "warmup", ?rates, "{contender} on {workload}, slice by slice");
}

/// A contender's time of recovery after a rest is known.
pub(crate) fn recovers(contender: &str, after_s: f64) {
    info!(target: "warmup", "{contender} has {after_s} s of load before its turns in a cell, as it takes that long after a rest");
}

/// A contender is to be under load for another time before a turn counts.
pub(crate) fn settles(contender: &str, cell: &Cell, before: Nanos, now: Nanos) {
    let [before, now] = [before, now].map(|it| Duration::from_nanos(it.0));
    info!(target: "settle", "{contender} at {cell}: its turns count after {now:?} of load, not {before:?}, as they show");
}

/// A contender's answers in a cell are too slow for the usual length of a turn.
pub(crate) fn lengthens(contender: &str, cell: &Cell, window: Nanos) {
    let window = Duration::from_nanos(window.0);
    info!(target: "turns", "{contender} at {cell} has turns of {window:?}, because its answers take long");
}

/// How the budget of the rounds to come is spent, before the first of them.
pub(crate) fn opens(opening: Further, left: Duration) {
    let Further { rounds, turns } = opening;
    info!(target: "turns", "the budget of {left:?} is planned for {rounds} rounds of {turns} turns in each cell");
}

/// How what is left of the budget is spent, once some rounds have shown how results vary from round to round and turn to turn.
pub(crate) fn paces(done: u32, rest: Option<Further>, left: Duration) {
    match rest {
        Some(Further { rounds, turns }) => info!(target: "turns", done,
            "the {left:?} that are left go into {rounds} further rounds of {turns} turns in each cell"),
        None => info!(target: "turns", done, "the {left:?} that are left suffice for no further round"),
    }
}

/// Not all servers of a round can live at once.
pub(crate) fn divided(round: u32, number: u32, members: &[&str], common: Option<&str>, room: &Room) {
    let (round, number) = (round + 1, number + 1);
    let Room { memory_bytes, sessions } = room;
    info!(target: "groups", common, memory_bytes, sessions,
        "not all live at once: group {number} of round {round} is {}", members.join(", "));
}

/// A window was measured; what its own checks object to.
pub(crate) fn measured(contender: &str, window: &Measurement) {
    let (load, cell) = (&window.load, &window.cell);
    let per_second = load.window_ns.rate_of(load.window.ok).round();
    let turns = window.turns.len();
    debug!(target: "window", per_second, failed = load.books.failed(), turns, "{contender} at {cell}");
    for Check { rule, outcome, evidence } in
        load.checks.iter().filter(|check| check.outcome != CheckOutcome::Pass)
    {
        info!(target: "window", ?outcome, ?evidence, "{contender} at {cell}: {rule}");
    }
}

/// A server was profiled.
pub(crate) fn profiled(contender: &str, profile: &Profile) {
    let Profile { cell, sampled, traced, refused, .. } = profile;
    let (samples, calls) =
        (sampled.samples_of(Owner::Server), traced.as_ref().map(|traced| traced.calls.len()));
    debug!(target: "profile", samples, lost = sampled.lost, calls, "{contender} at {cell}");
    for Refused { what, why } in refused {
        info!(target: "profile", ?what, "{contender} at {cell}: {why}");
    }
}

/// How many rounds there will be, once one was timed.
pub(crate) fn planned(rounds: u32, round: Duration) {
    info!(target: "rounds", "the first round took {round:?}: {rounds} are planned");
}

/// Who is to be measured again, after a look at the results.
pub(crate) fn looked(index: u32, settling: &Settling) {
    let Settling { pairs, open, searches, unsettled } = settling;
    let unsettled = names(unsettled);
    info!(target: "rounds", pairs, open, searches, "after round {}, another may tell something of {unsettled}", index + 1);
}

/// Why there is no further round.
pub(crate) fn stopped(rounds: u32, because: Option<&str>) {
    info!(target: "stop", rounds, "no further round: {}", because.unwrap_or("nothing speaks against one"));
}

/// Why nobody is looked at for long.
pub(crate) fn no_long_look(because: &str) {
    info!(target: "stop", "no long look: {because}");
}

fn names(all: &BTreeSet<String>) -> String {
    if all.is_empty() {
        return "nobody".to_owned();
    }
    all.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    /// The targets of all events in the sources below a folder. What marks one is spelled apart, so that this finds not itself.
    fn targets(folder: &Path) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                found.append(&mut targets(&path));
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a source");
            let mut rests = text.split(concat!("!(target", ": \""));
            rests.next();
            found.extend(rests.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())));
        }
        found
    }

    #[test]
    fn every_event_has_a_topic_that_can_be_chosen_and_is_documented() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut told = targets(&root.join("src"));
        // The binary's own.
        told.append(&mut targets(&root.join("../cli/src")));
        assert_eq!(told, TOPICS.map(str::to_owned).into());
        let page = std::fs::read_to_string(root.join("../../docs/log.md")).expect("the page of the log");
        for topic in TOPICS {
            assert!(page.contains(&format!("\n| `{topic}` | ")), "docs/log.md tells nothing of {topic}");
        }
    }
}
