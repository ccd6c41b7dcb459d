//! What differed between two runs besides the contenders, and so may be what changed the figures.

use std::fmt::Debug;

use assay_model::check::{Check, Outcome};
use assay_model::comparison::Row;
use assay_model::record::Record;
use assay_model::rule::Rule;
use assay_model::verdict::Interval;

use super::Side;
use crate::words::percent;

/// All caveats, how the sides' answers differ first; of one run there are no others.
pub(super) fn caveats(base: &Side, news: &[Side], answers: impl Iterator<Item = Check>) -> Vec<Check> {
    let others = news.iter().filter(|new| new.record.id != base.record.id);
    let mut found: Vec<Check> = Vec::new();
    for check in answers.chain(others.flat_map(|new| between(&base.record, &new.record))) {
        if !found.contains(&check) {
            found.push(check);
        }
    }
    found
}

/// Where two servers at once differ by something else than one at a time.
pub(super) fn disagreements(rows: &[Row]) -> Vec<Check> {
    let figures = rows.iter().flat_map(|row| row.changes.iter().map(move |change| (row, change)));
    let told = figures.filter_map(|(row, change)| {
        let (together, alone) = (change.ratio?, change.alternating?);
        (!are_compatible(&together, &alone)).then(|| disagreement(row, &together, &alone))
    });
    told.collect()
}

fn disagreement(row: &Row, together: &Interval, alone: &Interval) -> Check {
    let apart = (together.estimate / alone.estimate).ln().abs().exp_m1();
    let (new, base) = (&row.new.contender, &row.base.contender);
    Check {
        rule: Rule::DuetAgrees,
        outcome: Outcome::Warn,
        evidence: format!(
            "{new} over {base}, {}, differs by {} from what it is by turns, more than both intervals allow",
            row.cell,
            percent(apart),
        ),
        remedy: Some(
            "believe the turns where each will have its CPUs to itself (--design alternating), and look for what both share: \
             caches, memory, a generator that is the limit"
                .to_owned(),
        ),
    }
}

/// Whether two intervals of the same ratio, from different windows, can both be right: their difference against the error of
/// both together, on the logarithmic scale.
fn are_compatible(one: &Interval, other: &Interval) -> bool {
    let reach = |of: &Interval| (of.high / of.low).ln() / 2.0;
    let apart = (one.estimate / other.estimate).ln().abs();
    apart <= reach(one).hypot(reach(other))
}

/// Why there is no A/A control although commands were measured for this, if so.
pub(super) fn without_control(record: &Record) -> Option<Check> {
    let comparing = record.experiment.comparing.as_ref()?;
    record.contenders.iter().all(|entry| entry.twin_of.is_none()).then(|| Check {
        rule: Rule::NoiseFloor,
        outcome: Outcome::Warn,
        evidence: format!("the time did not allow for {} against itself (A/A control)", comparing.base),
        remedy: Some("give a longer --budget".to_owned()),
    })
}

fn between(base: &Record, new: &Record) -> Vec<Check> {
    let unpaired = Check {
        rule: Rule::Pairing,
        outcome: Outcome::Warn,
        evidence: format!(
            "{} and {} are different runs: what drifted between them is part of the change",
            base.id, new.id
        ),
        remedy: Some("measure both now, in the same rounds: assay compare --cmd OLD --cmd NEW".to_owned()),
    };
    let differences = [
        (Outcome::Void, Rule::Imported, "not all of them were measured here", imported(base, new)),
        (Outcome::Void, Rule::Machine, "they ran on different machines", machine(base, new)),
        (Outcome::Warn, Rule::MachineState, "the machine was in another state", state(base, new)),
        (Outcome::Warn, Rule::Method, "they were measured differently", method(base, new)),
    ];
    let told = differences.into_iter().filter(|(_, _, _, what)| !what.is_empty()).map(
        |(outcome, rule, sentence, what)| Check {
            rule,
            outcome,
            evidence: format!("{sentence}: {}", what.join("; ")),
            remedy: Some("compare runs of the same machine in the same state, measured alike".to_owned()),
        },
    );
    std::iter::once(unpaired).chain(told).collect()
}

/// Which of them somebody else measured.
fn imported(base: &Record, new: &Record) -> Vec<String> {
    let told = |record: &Record| record.imported.as_ref().map(|origin| format!("{} is {origin}", record.id));
    [base, new].into_iter().filter_map(told).collect()
}

/// Which machine it is.
fn machine(base: &Record, new: &Record) -> Vec<String> {
    let (a, b) = (&base.host, &new.host);
    collect([
        difference("CPU", &a.cpu_model, &b.cpu_model),
        difference("CPUs", &a.cpus, &b.cpus),
        difference("cores", &a.cores, &b.cores),
        difference("NUMA nodes", &a.numa_nodes, &b.numa_nodes),
        difference("memory in GB", &gigabytes(a.memory_bytes), &gigabytes(b.memory_bytes)),
        difference("hypervisor", &a.hypervisor, &b.hypervisor),
    ])
}

/// The state it was in.
fn state(base: &Record, new: &Record) -> Vec<String> {
    let (a, b) = (&base.host, &new.host);
    collect([
        difference("kernel", &a.kernel, &b.kernel),
        difference("distribution", &a.distribution, &b.distribution),
        difference("governor", &a.governor, &b.governor),
        difference("turbo", &a.turbo, &b.turbo),
        difference("SMT", &a.smt, &b.smt),
        difference("mitigations", &a.mitigations, &b.mitigations),
        difference("interrupts apart from programs", &a.interrupts_apart, &b.interrupts_apart),
        difference("clock source", &a.clock_source, &b.clock_source),
        difference("container", &a.container, &b.container),
        difference("CPU quota", &a.cpu_quota, &b.cpu_quota),
        difference("memory limit", &a.memory_limit_bytes, &b.memory_limit_bytes),
    ])
}

/// How it was measured.
fn method(base: &Record, new: &Record) -> Vec<String> {
    let (a, b) = (&base.experiment, &new.experiment);
    collect([
        difference("assay", &base.assay.version, &new.assay.version),
        difference("assay's build", &base.assay.profile, &new.assay.profile),
        difference("networks", &networks(base), &networks(new)),
        difference("server CPUs", &base.isolation.server_cpus, &new.isolation.server_cpus),
        difference("generator CPUs", &base.isolation.generator_cpus, &new.isolation.generator_cpus),
        difference("engine", &engine(base), &engine(new)),
        difference("memory", &memory(base), &memory(new)),
        difference("seconds of a window", &a.window_s, &b.window_s),
        difference("seconds of warm-up", &a.warmup_s, &b.warmup_s),
    ])
}

/// Stack and wire of every network that was measured.
fn networks(record: &Record) -> Vec<String> {
    let mut names: Vec<String> = record
        .experiment
        .cells()
        .iter()
        .filter_map(|cell| record.network_of(cell))
        .map(|on| on.to_string())
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn engine(record: &Record) -> Option<&str> {
    let mut windows = record.rounds.iter().flat_map(|round| &round.runs).flat_map(|run| &run.cells);
    Some(windows.next()?.load.engine.as_str())
}

/// Which size of memory was taken.
fn memory(record: &Record) -> Option<&'static str> {
    let mut windows = record.rounds.iter().flat_map(|round| &round.runs).flat_map(|run| &run.cells);
    let used = windows.find_map(|window| window.server.as_ref())?;
    Some(if used.pss_bytes.is_some() { "proportional" } else { "resident" })
}

/// Memory varies by a little from boot to boot.
fn gigabytes(bytes: Option<u64>) -> Option<u64> {
    bytes.map(|bytes| (bytes + 500_000_000) / 1_000_000_000)
}

fn collect<const N: usize>(differences: [Option<String>; N]) -> Vec<String> {
    differences.into_iter().flatten().collect()
}

/// `kernel "6.1" → "6.8"`; nothing when both are equal.
fn difference<T: PartialEq + Debug>(what: &str, base: &T, new: &T) -> Option<String> {
    let text = |value: &T| {
        let text = format!("{value:?}").replace("Some(", "").replace(')', "");
        if text == "None" { "unknown".to_owned() } else { text }
    };
    (base != new).then(|| format!("{what} {} → {}", text(base), text(new)))
}
