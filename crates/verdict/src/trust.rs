//! Checks over the whole run: can its numbers be believed? Each with its evidence, and a remedy where it objects.

use assay_model::check::{Check, CheckOutcome};
use assay_model::cpuset::CpuSet;
use assay_model::evidence::{Evidence, Proportion, Rounds};
use assay_model::experiment::Cell;
use assay_model::network::Stack;
use assay_model::program::Program;
use assay_model::record::{Entry, MAX_OTHER_SHARE, MAX_STEAL_SHARE, Measurement, Record};
use assay_model::rule::Rule;
use assay_model::units::{Nanos, total};
use assay_model::upstream::Upstream;
use assay_model::verdict::{CellVerdict, Standing};

use crate::capacity::standing::tcp_check;
use crate::doubts::{answers, disturbed, losses, order, running, throttled};
use crate::evidence::sample::{complete_rounds, counted_rounds};
use crate::evidence::window::DecodedRecord;
use crate::{LEAST_HEADROOM, MIN_ROUNDS, NOTICEABLE_SHARE, median};

/// Share of the server's CPUs that other programs may use before it is told. More than for other disturbances: the
/// difference of two readings is known to about a tick of 10 ms in a window of a second, and kernel threads are in it.
const NOTICEABLE_OTHER: f64 = 0.03;
/// Share of the time that others' tasks may wait for a CPU before it is told: assay's own small processes (the runner, the
/// supervisors) are among them.
const NOTICEABLE_PRESSURE: f64 = 0.03;

/// All checks of a run, in the order in which a person wants to read them; `explained` is the share of the variance of turns that a gauge
/// explains.
pub(crate) fn checks(
    evidence: &DecodedRecord<'_>,
    cells: &[CellVerdict],
    control: Option<Check>,
    explained: Option<f64>,
) -> Vec<Check> {
    let record = evidence.record;
    let windows: Vec<&Measurement> = evidence.windows().map(|window| window.measured).collect();
    // Where nobody was measured, more rounds would not help.
    let is_measured = |_: &Check| !windows.is_empty();
    let mut checks = vec![build(record)];
    checks.extend(Some(rounds(record)).filter(is_measured));
    checks.push(isolation(record));
    checks.extend(control.filter(is_measured));
    checks.extend(running::checks(record));
    if !windows.is_empty() {
        checks.extend(generator(evidence, cells));
        checks.extend(headroom(record, cells));
        checks.extend([
            errors(record, &windows),
            books(&windows),
            little(&windows),
            steal(&windows),
            other_programs(&windows),
            generator_disturbed(record, &windows),
        ]);
        checks.extend(answers::like_answers(record));
        checks.extend(tcp_check(windows.iter().copied()));
        checks.extend(throttled::check(&windows));
        checks.extend(database(record));
        checks.extend(upstream(record));
        checks.extend(pressure(&windows));
        checks.extend(super::speed::check(record, explained));
        checks.extend(losses::check(record, &windows));
        checks.extend(order::checks(evidence));
    }
    checks
}

fn build(record: &Record) -> Check {
    let is_optimised = |cell: &Cell| {
        let stack = cell.network.map_or(Stack::Kernel, |network| network.stack());
        record.assay.is_optimised_for(cell.protocol, stack)
    };
    built(&record.assay, record.experiment.cells().iter().all(is_optimised))
}

/// How assay was built, by whether that is optimised for all that was measured.
pub fn built(program: &Program, is_optimised: bool) -> Check {
    let outcome = if is_optimised { CheckOutcome::Pass } else { CheckOutcome::Void };
    let (version, profile) = (program.version.clone(), program.profile.clone());
    Check { rule: Rule::Build, outcome, evidence: Evidence::Build { version, profile } }
}

fn rounds(record: &Record) -> Check {
    let complete = u32::try_from(complete_rounds(record).len()).unwrap_or(u32::MAX);
    let counting = counted_rounds(record);
    let outcome = if counting >= MIN_ROUNDS { CheckOutcome::Pass } else { CheckOutcome::Warn };
    let counting = (counting < complete).then_some(counting);
    Check {
        rule: Rule::Rounds,
        outcome,
        evidence: Evidence::Rounds(Rounds { complete, counting, replicated: replicated(record) }),
    }
}

/// Contenders that had several processes in a round, each once, in the order of the record.
fn replicated(record: &Record) -> Vec<String> {
    let runs = || record.rounds.iter().flat_map(|round| &round.runs);
    let has_several = |entry: &&Entry| {
        runs().any(|run| run.replica > 0 && run.contender == entry.identity.name && !run.cells.is_empty())
    };
    record.contenders.iter().filter(has_several).map(|entry| entry.identity.name.clone()).collect()
}

fn isolation(record: &Record) -> Check {
    let isolation = &record.isolation;
    let cpus = |list: &str| list.parse::<CpuSet>().unwrap_or_default();
    let shared = !cpus(&isolation.server_cpus).is_disjoint(&cpus(&isolation.generator_cpus));
    let outcome = if shared { CheckOutcome::Void } else { CheckOutcome::Pass };
    let statement = isolation.statement.clone();
    Check { rule: Rule::Isolation, outcome, evidence: Evidence::Isolation { statement } }
}

/// The worst of what the standings say of their generator; nothing where nobody's share is known. When those of all contenders are void,
/// so is the run; else only they are.
fn generator(evidence: &DecodedRecord<'_>, cells: &[CellVerdict]) -> Option<Check> {
    let standings = || cells.iter().flat_map(|cell| &cell.standings);
    let counting = || standings().filter(|standing| standing.rounds_per_second.iter().any(Option::is_some));
    let told = Evidence::GeneratorBusy { busy_share: busiest(evidence, cells)? };
    let outcome_of = |standing: &Standing| {
        let saturated = standing.checks.iter().filter(|check| check.rule == Rule::GeneratorSaturated);
        saturated.map(|check| check.outcome).max().unwrap_or(CheckOutcome::Pass)
    };
    let worst = standings().map(outcome_of).max().unwrap_or(CheckOutcome::Pass);
    let is_good = |standing: &Standing| {
        !evidence.record.is_limit(&standing.contender) && outcome_of(standing) != CheckOutcome::Void
    };
    let outcome = if counting().any(is_good) { worst.min(CheckOutcome::Warn) } else { worst };
    Some(Check { rule: Rule::Generator, outcome, evidence: told })
}

/// The greatest share of its CPU that a thread of the generator used in any window at capacity whose throughput counts.
fn busiest(evidence: &DecodedRecord<'_>, cells: &[CellVerdict]) -> Option<f64> {
    let counting = evidence.windows().filter(|window| window.rate_counts());
    let judged = counting.filter(|window| cells.iter().any(|judged| judged.cell == window.cell));
    judged.flat_map(|window| window.load.thread_busy_shares.iter().copied()).reduce(f64::max)
}

/// The least headroom of all contenders.
fn headroom(record: &Record, cells: &[CellVerdict]) -> Option<Check> {
    let standings = cells.iter().flat_map(|cell| &cell.standings);
    let known = standings.filter(|standing| !record.is_limit(&standing.contender));
    let known = known.filter_map(|standing| Some((standing.headroom?, standing.contender.as_str())));
    let (least, contender) = known.min_by(|a, b| a.0.total_cmp(&b.0))?;
    let outcome = if least >= LEAST_HEADROOM { CheckOutcome::Pass } else { CheckOutcome::Warn };
    let evidence = Evidence::Headroom { times: least, contender: Some(contender.to_owned()) };
    Some(Check { rule: Rule::Headroom, outcome, evidence })
}

fn errors(record: &Record, windows: &[&Measurement]) -> Check {
    let failed = total(windows.iter().map(|window| window.load.books.failed()));
    let right = total(windows.iter().map(|window| window.load.books.ok));
    let outcome = if failed == 0 { CheckOutcome::Pass } else { CheckOutcome::Warn };
    let checked = if failed == 0 { answers::checked(record, windows) } else { Vec::new() };
    let evidence = Evidence::Errors { failed, requests: total([right, failed]), example: None, checked };
    Check { rule: Rule::Errors, outcome, evidence }
}

fn books(windows: &[&Measurement]) -> Check {
    let broken = windows.iter().filter(|window| !window.load.books.balance()).count();
    let outcome = if broken == 0 { CheckOutcome::Pass } else { CheckOutcome::Void };
    Check { rule: Rule::Books, outcome, evidence: Evidence::Books { broken: broken as u64 } }
}

/// Each generator compares what was in flight with throughput times latency, both from the same stamps: that its books are in
/// order, and not that its clock is. Here all windows together.
fn little(windows: &[&Measurement]) -> Check {
    let told = || {
        windows.iter().flat_map(|window| &window.load.checks).filter(|check| check.rule == Rule::LittlesLaw)
    };
    let broken = || told().filter(|check| check.outcome != CheckOutcome::Pass);
    let outcome = match told().next().is_some() && broken().next().is_none() {
        true => CheckOutcome::Pass,
        false => CheckOutcome::Warn,
    };
    let evidence = Evidence::LittleOverWindows {
        broken: Proportion::new(broken().count(), told().count()),
        example: broken().next().map(|check| Box::new(check.evidence.clone())),
    };
    Check { rule: Rule::Little, outcome, evidence }
}

fn other_programs(windows: &[&Measurement]) -> Check {
    let share =
        Disturbance { rule: Rule::OtherPrograms, noticeable: NOTICEABLE_OTHER, void: MAX_OTHER_SHARE };
    share.check(windows, |window| window.machine.server_other_share)
}

/// The worst window speaks. When all are void, so is the run.
fn generator_disturbed(record: &Record, windows: &[&Measurement]) -> Check {
    let all_void = are_all_void(windows, Rule::GeneratorDisturbed);
    let check = disturbed::check(windows, running::neighbour(record, &record.contenders));
    let outcome = if all_void { CheckOutcome::Void } else { check.outcome };
    Check { outcome, ..check }
}

fn steal(windows: &[&Measurement]) -> Check {
    let share = Disturbance { rule: Rule::Steal, noticeable: NOTICEABLE_SHARE, void: MAX_STEAL_SHARE };
    share.check(windows, |window| window.machine.steal_share)
}

/// A share of a window's time that somebody else took.
struct Disturbance {
    rule: Rule,
    /// From here on it is told.
    noticeable: f64,
    /// From here on a window is void ([`Measurement::void_rules`]).
    void: f64,
}

impl Disturbance {
    /// The worst window speaks. When all are void, so is the run.
    fn check(&self, windows: &[&Measurement], share: impl Fn(&Measurement) -> f64) -> Check {
        let shares: Vec<f64> = windows.iter().map(|window| share(window)).collect();
        let worst = shares.iter().copied().fold(0.0, f64::max);
        let void = shares.iter().filter(|share| **share > self.void).count();
        let turns = disturbed::void_turns(windows, self.rule);
        let is_noticeable = worst > self.noticeable || turns.is_some_and(|turns| turns.hits > 0);
        let outcome = match is_noticeable {
            false => CheckOutcome::Pass,
            true if are_all_void(windows, self.rule) => CheckOutcome::Void,
            true => CheckOutcome::Warn,
        };
        let evidence = Evidence::Taken { share: worst, void: Proportion::new(void, windows.len()), turns };
        Check { rule: self.rule, outcome, evidence }
    }
}

/// Whether no window's throughput counts for a rule.
fn are_all_void(windows: &[&Measurement], rule: Rule) -> bool {
    windows.iter().all(|window| window.rate_void_rules().contains(&rule))
}

/// Where the database ran; only told where there was one.
fn database(record: &Record) -> Option<Check> {
    let database = record.database.as_ref().filter(|database| database.not_run.is_none())?;
    let is_shared = database.cpus.is_some() && database.beside_generator;
    let outcome = if is_shared { CheckOutcome::Warn } else { CheckOutcome::Pass };
    let host = database.host.as_ref().map(|host| host.name.clone());
    let evidence = Evidence::Database { cpus: database.cpus.clone(), host, beside_generator: is_shared };
    Some(Check { rule: Rule::Database, outcome, evidence })
}

/// Where the upstreams of proxies ran; only told where there were any.
fn upstream(record: &Record) -> Option<Check> {
    let Upstream { cpus, beside_generator, .. } = record.upstream.clone()?;
    let outcome = if beside_generator { CheckOutcome::Warn } else { CheckOutcome::Pass };
    Some(Check { rule: Rule::Upstream, outcome, evidence: Evidence::Upstream { cpus, beside_generator } })
}

/// Tasks that waited for a CPU and were neither the server's nor the generator's: a sign of other programs, wherever they
/// wanted to run. Threads of a server that wait for each other are the server's own doing.
fn pressure(windows: &[&Measurement]) -> Option<Check> {
    let others = |window: &&Measurement| {
        let (some, server) = (window.machine.cpu_pressure_share?, window.server.as_ref()?);
        let database = window.database.as_ref().and_then(|database| database.usage.run_delay_ns);
        let upstream = window.upstream.as_ref().and_then(|upstream| upstream.usage.run_delay_ns);
        let companions: Nanos = [database, upstream].into_iter().flatten().sum();
        let own = (server.run_delay_ns? + window.load.generator.run_delay_ns? + companions).0;
        Some(some - own as f64 / server.wall_ns.0.max(1) as f64)
    };
    let shares: Vec<f64> = windows.iter().filter_map(others).collect();
    let usual = median(&shares)?.max(0.0);
    let outcome = if usual <= NOTICEABLE_PRESSURE { CheckOutcome::Pass } else { CheckOutcome::Warn };
    Some(Check { rule: Rule::Pressure, outcome, evidence: Evidence::Pressure { share: usual } })
}
