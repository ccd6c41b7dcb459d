//! Checks over the whole run: can its numbers be believed? Each with its evidence, and a remedy where it objects.

use assay_model::check::{Check, Outcome};
use assay_model::contender::Kind;
use assay_model::cpuset::CpuSet;
use assay_model::record::{MAX_OTHER_SHARE, MAX_STEAL_SHARE, Measurement, Record};
use assay_model::rule::Rule;
use assay_model::verdict::CellVerdict;

use super::MIN_ROUNDS;
use super::sample::counted_rounds;
use super::standing::{MORE_CPUS, NOTICEABLE_SHARE, tcp_check};
use super::window::Evidence;
use super::words::{count_of, percent, times};
use super::{LEAST_HEADROOM, answers, disturbed, median, objection, order, pass};

/// Share of the server's CPUs that other programs may use before it is told. More than for other disturbances: the
/// difference of two readings is known to about a tick of 10 ms in a window of a second, and kernel threads are in it.
const NOTICEABLE_OTHER: f64 = 0.03;
/// Share of the time that others' tasks may wait for a CPU before it is told: assay's own small processes (the runner, the
/// keepers) are among them.
const NOTICEABLE_PRESSURE: f64 = 0.03;

/// All checks of a run, in the order in which a person wants to read them.
pub(crate) fn checks(evidence: &Evidence<'_>, cells: &[CellVerdict], control: Check) -> Vec<Check> {
    let record = evidence.record;
    let windows: Vec<&Measurement> = evidence.windows().map(|window| window.measured).collect();
    let mut checks = vec![build(record), rounds(record), isolation(record), control];
    checks.extend(super::running::checks(record));
    if !windows.is_empty() {
        checks.extend(generator(cells));
        checks.extend(headroom(record, cells));
        checks.extend([
            errors(record, &windows),
            books(&windows),
            little(&windows),
            steal(&windows),
            other_programs(&windows),
            generator_disturbed(&windows),
        ]);
        checks.extend(answers::like_answers(record));
        checks.extend(tcp_check(windows.iter().copied()));
        checks.extend(super::throttled::check(&windows));
        checks.extend(database(record));
        checks.extend(pressure(&windows));
        checks.extend(super::speed::check(record));
        checks.extend(super::losses::check(record, &windows));
        checks.extend(order::checks(evidence));
    }
    checks
}

fn build(record: &Record) -> Check {
    if record.assay.profile == "release" {
        return pass(Rule::Build, format!("assay {} built for release", record.assay.version));
    }
    let evidence = format!(
        "assay was built for {}: its generator and limit are many times too slow",
        record.assay.profile
    );
    objection(Rule::Build, Outcome::Void, evidence, "measure with `cargo build --release`")
}

fn rounds(record: &Record) -> Check {
    let counted = counted_rounds(record);
    if counted >= MIN_ROUNDS {
        return pass(Rule::Rounds, format!("{counted} complete rounds, each with fresh server processes"));
    }
    let evidence =
        format!("{} complete: nothing can be said of differences", count_of(counted as usize, "round"));
    objection(Rule::Rounds, Outcome::Warn, evidence, "measure at least two rounds, better six")
}

fn isolation(record: &Record) -> Check {
    let isolation = &record.isolation;
    let cpus = |list: &str| list.parse::<CpuSet>().unwrap_or_default();
    let shared = !cpus(&isolation.server_cpus).is_disjoint(&cpus(&isolation.generator_cpus));
    if shared {
        let remedy = "use a machine with at least two CPUs, or give each side its own";
        return objection(Rule::Isolation, Outcome::Void, isolation.statement.clone(), remedy);
    }
    pass(Rule::Isolation, isolation.statement.clone())
}

/// The worst of what the standings say of their generator.
fn generator(cells: &[CellVerdict]) -> Option<Check> {
    let standings = || cells.iter().flat_map(|cell| &cell.standings);
    let counting = standings().filter(|standing| standing.rounds_per_second.iter().any(Option::is_some));
    let busiest = counting.map(|standing| standing.generator_busy_share).reduce(f64::max)?;
    let evidence = format!("the generator used up to {} of its CPU", percent(busiest));
    let saturated =
        standings().flat_map(|s| &s.checks).filter(|check| check.rule == Rule::GeneratorSaturated);
    Some(match saturated.map(|check| check.outcome).max() {
        None => pass(Rule::Generator, evidence),
        Some(outcome) => objection(Rule::Generator, outcome, evidence, MORE_CPUS),
    })
}

/// The least headroom of all contenders.
fn headroom(record: &Record, cells: &[CellVerdict]) -> Option<Check> {
    let is_limit = |name: &str| record.contenders.iter().any(|e| e.name == name && e.kind == Kind::Limit);
    let known =
        cells.iter().flat_map(|cell| &cell.standings).filter(|standing| !is_limit(&standing.contender));
    let known = known.filter_map(|standing| Some((standing.headroom?, standing.contender.as_str())));
    let (least, contender) = known.min_by(|a, b| a.0.total_cmp(&b.0))?;
    if least >= LEAST_HEADROOM {
        let evidence =
            format!("the generator could send at least {} what a contender took ({contender})", times(least));
        return Some(pass(Rule::Headroom, evidence));
    }
    let evidence = format!("the generator could send only {least:.2} times what {contender} took");
    Some(objection(Rule::Headroom, Outcome::Warn, evidence, MORE_CPUS))
}

fn errors(record: &Record, windows: &[&Measurement]) -> Check {
    let failed: u64 = windows.iter().map(|window| window.load.books.failed()).sum();
    let all: u64 = windows.iter().map(|window| window.load.books.ok).sum::<u64>() + failed;
    if failed == 0 {
        let checked = answers::checked(record, windows);
        return pass(Rule::Errors, format!("0 of {all} requests failed; {checked}"));
    }
    let evidence = format!("{failed} of {all} requests failed; none of them counts as throughput");
    objection(
        Rule::Errors,
        Outcome::Warn,
        evidence,
        "see which contender failed, and the samples in the record",
    )
}

fn books(windows: &[&Measurement]) -> Check {
    let broken = windows.iter().filter(|window| !window.load.books.balance()).count();
    if broken == 0 {
        return pass(Rule::Books, "issued = right + failed + unfinished in every window".to_owned());
    }
    let evidence =
        format!("in {} the requests issued are not those accounted for", count_of(broken, "window"));
    objection(Rule::Books, Outcome::Void, evidence, "report this: it is a fault of assay")
}

/// Each generator compares what was in flight with throughput times latency, both from the same stamps: that its books are in
/// order, and not that its clock is. Here all windows together.
fn little(windows: &[&Measurement]) -> Check {
    let told = || {
        windows.iter().flat_map(|window| &window.load.checks).filter(|check| check.rule == Rule::LittlesLaw)
    };
    let (checked, failed) = (told().count(), told().filter(|check| check.outcome != Outcome::Pass).count());
    if checked > 0 && failed == 0 {
        let evidence =
            format!("the generator's books of what was in flight agree in {}", count_of(checked, "window"));
        return pass(Rule::Little, evidence);
    }
    let evidence = match told().find(|check| check.outcome != Outcome::Pass) {
        Some(check) => {
            format!("{failed} of {} break Little's law: {}", count_of(checked, "window"), check.evidence)
        }
        None => "the generator did not compare throughput with what was in flight".to_owned(),
    };
    objection(
        Rule::Little,
        Outcome::Warn,
        evidence,
        "measure longer windows; look for what disturbed the generator",
    )
}

fn other_programs(windows: &[&Measurement]) -> Check {
    let share = Disturbance {
        rule: Rule::OtherPrograms,
        who: "other programs used",
        what: "of the server's CPUs",
        remedy: "stop the other programs, or measure when they are done; `assay doctor` shows what they take",
        noticeable: NOTICEABLE_OTHER,
        void: MAX_OTHER_SHARE,
    };
    share.check(windows, |window| window.machine.server_other_share)
}

/// The worst window speaks. When all are void, so is the run.
fn generator_disturbed(windows: &[&Measurement]) -> Check {
    let all_void = windows.iter().all(|window| disturbed::is_void(window));
    let check = disturbed::check(windows);
    let outcome = if all_void { Outcome::Void } else { check.outcome };
    Check { outcome, ..check }
}

fn steal(windows: &[&Measurement]) -> Check {
    let share = Disturbance {
        rule: Rule::Steal,
        who: "a hypervisor took",
        what: "of a window's CPU time",
        remedy: "use a machine that is not shared, or measure more rounds",
        noticeable: NOTICEABLE_SHARE,
        void: MAX_STEAL_SHARE,
    };
    share.check(windows, |window| window.machine.steal_share)
}

/// A share of a window's time that somebody else took.
struct Disturbance {
    rule: Rule,
    who: &'static str,
    what: &'static str,
    remedy: &'static str,
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
        if worst <= self.noticeable {
            return pass(self.rule, format!("{} at most {} {}", self.who, percent(worst), self.what));
        }
        let evidence = format!("{} up to {} {}", self.who, percent(worst), self.what);
        let lost = match void {
            0 => String::new(),
            _ => format!("; {void} of {} do not count", count_of(windows.len(), "window")),
        };
        let outcome = if void == windows.len() { Outcome::Void } else { Outcome::Warn };
        objection(self.rule, outcome, evidence + &lost, self.remedy)
    }
}

/// Where the database ran; only told where there was one.
fn database(record: &Record) -> Option<Check> {
    let database = record.database.as_ref().filter(|database| database.not_run.is_none())?;
    let Some(cpus) = &database.cpus else {
        let evidence =
            "the database is the user's own: what it used, and what used it, is not known".to_owned();
        return Some(pass(Rule::Database, evidence));
    };
    if !database.beside_generator {
        return Some(pass(Rule::Database, format!("the database had CPUs {cpus} for itself")));
    }
    let evidence =
        format!("the database shared CPUs {cpus} with the generator, so latencies include waiting for it");
    let remedy = "use a machine with three physical cores, or name a database elsewhere in DATABASE_URL";
    Some(objection(Rule::Database, Outcome::Warn, evidence, remedy))
}

/// Tasks that waited for a CPU and were neither the server's nor the generator's: a sign of other programs, wherever they
/// wanted to run. Threads of a server that wait for each other are the server's own doing.
fn pressure(windows: &[&Measurement]) -> Option<Check> {
    let others = |window: &&Measurement| {
        let (some, server) = (window.machine.cpu_pressure_share?, window.server.as_ref()?);
        let database = window.database.as_ref().and_then(|database| database.usage.run_delay_ns);
        let own =
            server.run_delay_ns?.0 + window.load.generator.run_delay_ns?.0 + database.map_or(0, |ns| ns.0);
        Some(some - own as f64 / server.wall_ns.0.max(1) as f64)
    };
    let shares: Vec<f64> = windows.iter().filter_map(others).collect();
    let usual = median(&shares)?.max(0.0);
    let evidence =
        format!("tasks of others waited for a CPU {} of the time in half of the windows", percent(usual));
    Some(match usual <= NOTICEABLE_PRESSURE {
        true => pass(Rule::Pressure, evidence),
        false => objection(
            Rule::Pressure,
            Outcome::Warn,
            evidence,
            "stop the other programs; `assay doctor` shows what they take",
        ),
    })
}
