//! What differed between two runs besides the contenders, and so may be what changed the figures.

use assay_model::check::{Check, CheckOutcome};
use assay_model::comparison::Row;
use assay_model::evidence::{Evidence, ForeignRun, Partial, PropertyDifference};
use assay_model::host::HostFacts;
use assay_model::lab::GeneratorHost;
use assay_model::record::{Record, State};
use assay_model::rule::Rule;
use assay_model::verdict::Interval;

use super::{Planned, Side, is_of_turns};
use crate::evidence::sample::server_cpus;

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

/// The runs that did not come to their end. A budget is an end that was given before.
pub(super) fn partial(base: &Side, news: &[Side]) -> Vec<Check> {
    let mut told: Vec<Check> = Vec::new();
    for Record { id, state, .. } in std::iter::once(base).chain(news).map(|side| &side.record) {
        let outcome = match state {
            State::Complete => continue,
            State::BudgetSpent => CheckOutcome::Pass,
            State::Interrupted | State::Running => CheckOutcome::Warn,
        };
        let evidence = Evidence::Partial(Partial { run: id.clone(), state: *state });
        let check = Check { rule: Rule::WholeRun, outcome, evidence };
        if !told.contains(&check) {
            told.push(check);
        }
    }
    told
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
    let apart_share = (together.estimate / alone.estimate).ln().abs().exp_m1();
    let (new, base) = (row.new.contender.clone(), row.base.contender.clone());
    let evidence = Evidence::DuetApart { base, new, cell: row.cell.clone(), apart_share };
    Check::objection(Rule::DuetAgrees, CheckOutcome::Warn, evidence)
}

/// What became of the windows of both at once, where some are void or those of one at a time tell nothing.
pub(super) fn lost_pairs(row: &Planned<'_>) -> Option<Check> {
    let played = row.played();
    let turns = row.withheld().filter(is_of_turns).map(Box::new);
    if played.void.of == 0 || played.void.hits == 0 && turns.is_none() {
        return None;
    }
    let is_withheld = played.is_withheld();
    let outcome = if is_withheld || turns.is_some() { CheckOutcome::Warn } else { CheckOutcome::Pass };
    let (base, new) = (row.base.contender.clone(), row.new.contender.clone());
    let evidence =
        Evidence::LostPairs { base, new, cell: row.cell.clone(), void: played.void, is_withheld, turns };
    Some(Check { rule: Rule::GeneratorDisturbed, outcome, evidence })
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
    let evidence = || Evidence::NoControl { base: comparing.base.clone() };
    let has_none = record.contenders.iter().all(|entry| entry.control_of.is_none());
    has_none.then(|| Check::objection(Rule::NoiseFloor, CheckOutcome::Warn, evidence()))
}

fn between(base: &Record, new: &Record) -> Vec<Check> {
    let runs = Evidence::DifferentRuns { base: base.id.clone(), new: new.id.clone() };
    let unpaired = Check::objection(Rule::Pairing, CheckOutcome::Warn, runs);
    let origins = imported(base, new);
    let imported = (!origins.is_empty()).then(|| {
        Check::objection(Rule::Imported, CheckOutcome::Void, Evidence::NotMeasuredHere { runs: origins })
    });
    let differences = [
        (CheckOutcome::Void, Rule::Machine, machine(base, new)),
        (CheckOutcome::Warn, Rule::MachineState, state(base, new)),
        (CheckOutcome::Warn, Rule::Method, method(base, new)),
    ];
    let told = differences
        .into_iter()
        .filter(|(_, _, between)| !between.is_empty())
        .map(|(outcome, rule, between)| Check::objection(rule, outcome, Evidence::Differences { between }));
    std::iter::once(unpaired).chain(imported).chain(told).collect()
}

/// The records that somebody else measured.
fn imported(base: &Record, new: &Record) -> Vec<ForeignRun> {
    let told =
        |record: &Record| record.imported.clone().map(|origin| ForeignRun { run: record.id.clone(), origin });
    [base, new].into_iter().filter_map(told).collect()
}

/// What differs between the machines.
fn machine(base: &Record, new: &Record) -> Vec<PropertyDifference> {
    let (a, b) = (&base.host, &new.host);
    collect([
        PropertyDifference::of("cpu_model", &a.cpu_model, &b.cpu_model),
        PropertyDifference::of("cpus", &a.cpus, &b.cpus),
        PropertyDifference::of("cores", &a.cores, &b.cores),
        PropertyDifference::of("numa_nodes", &a.numa_nodes, &b.numa_nodes),
        PropertyDifference::of("memory_gb", &gigabytes(a.memory_bytes), &gigabytes(b.memory_bytes)),
        PropertyDifference::of("hypervisor", &a.hypervisor, &b.hypervisor),
    ])
}

/// The state it was in.
fn state(base: &Record, new: &Record) -> Vec<PropertyDifference> {
    let (a, b) = (&base.host, &new.host);
    collect([
        PropertyDifference::of("kernel", &a.kernel, &b.kernel),
        PropertyDifference::of("distribution", &a.distribution, &b.distribution),
        PropertyDifference::of("governor", &a.governor, &b.governor),
        PropertyDifference::of("turbo", &a.turbo, &b.turbo),
        PropertyDifference::of("smt", &a.smt, &b.smt),
        PropertyDifference::of("mitigations", &a.mitigations, &b.mitigations),
        PropertyDifference::of("interrupts_apart", &a.interrupts_apart, &b.interrupts_apart),
        PropertyDifference::of("clock_source", &a.clock_source, &b.clock_source),
        PropertyDifference::of("container", &a.container, &b.container),
        PropertyDifference::of("cpu_quota", &a.cpu_quota, &b.cpu_quota),
        PropertyDifference::of("memory_limit_bytes", &a.memory_limit_bytes, &b.memory_limit_bytes),
    ])
}

/// How it was measured.
fn method(base: &Record, new: &Record) -> Vec<PropertyDifference> {
    let (a, b) = (&base.experiment, &new.experiment);
    collect([
        PropertyDifference::of("assay", &base.assay.version, &new.assay.version),
        PropertyDifference::of("build", &base.assay.profile, &new.assay.profile),
        PropertyDifference::of("networks", &networks(base), &networks(new)),
        PropertyDifference::of("server_hosts", &server_hosts(base), &server_hosts(new)),
        PropertyDifference::of("database_host", &database_host(base), &database_host(new)),
        PropertyDifference::of("generator_hosts", &generator_hosts(base), &generator_hosts(new)),
        PropertyDifference::of("server_cpus", &server_cpus(base), &server_cpus(new)),
        PropertyDifference::of(
            "generator_cpus",
            &base.isolation.generator_cpus,
            &new.isolation.generator_cpus,
        ),
        PropertyDifference::of("engine", &engine(base), &engine(new)),
        PropertyDifference::of("memory", &memory(base), &memory(new)),
        PropertyDifference::of("window_s", &a.window_s, &b.window_s),
        PropertyDifference::of("warmup_s", &a.warmup_s, &b.warmup_s),
    ])
}

/// The hosts on which servers were started, and what machines these are; empty for the one that measured.
fn server_hosts(record: &Record) -> Vec<String> {
    let hosts = record.server_hosts.iter();
    hosts.flat_map(|host| machine_of(&host.name, &host.host)).collect()
}

/// The host on which the database was started, and what machine that is; empty where it was not on another one.
fn database_host(record: &Record) -> Vec<String> {
    let host = record.database.iter().flat_map(|database| &database.host);
    host.flat_map(|host| machine_of(&host.name, &host.host)).collect()
}

/// The hosts from which load came, with their CPUs, and what machines these are; empty for the one that measured.
fn generator_hosts(record: &Record) -> Vec<String> {
    let of = |host: &GeneratorHost| {
        machine_of(&host.name, &host.host).chain([host.cpus.clone()]).collect::<Vec<_>>()
    };
    record.generator_hosts.iter().flat_map(of).collect()
}

/// A host by its name and what machine it is.
fn machine_of(name: &str, host: &HostFacts) -> impl Iterator<Item = String> + use<> {
    [Some(name.to_owned()), host.cpu_model.clone(), host.kernel.clone()].into_iter().flatten()
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

/// The size of memory that was taken.
fn memory(record: &Record) -> Option<&'static str> {
    let mut windows = record.rounds.iter().flat_map(|round| &round.runs).flat_map(|run| &run.cells);
    let used = windows.find_map(|window| window.server.as_ref())?;
    Some(if used.pss_bytes.is_some() { "proportional" } else { "resident" })
}

/// Memory varies by a little from boot to boot.
fn gigabytes(bytes: Option<u64>) -> Option<u64> {
    bytes.map(|bytes| bytes.saturating_add(500_000_000) / 1_000_000_000)
}

fn collect<const N: usize>(differences: [Option<PropertyDifference>; N]) -> Vec<PropertyDifference> {
    differences.into_iter().flatten().collect()
}
