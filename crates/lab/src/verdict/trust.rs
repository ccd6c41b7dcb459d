//! Checks over the whole run: can its numbers be believed? Each with its evidence, and a remedy where it objects.

use assay_model::check::{Check, Outcome};
use assay_model::record::MAX_OTHER_SHARE;
use assay_model::record::{Measurement, Record};
use assay_model::verdict::CellVerdict;

use super::sample::counted_rounds;
use super::words::{count_of, percent};
use super::{LEAST_HEADROOM, is_void, objection, pass};
use crate::schedule::MIN_ROUNDS;

/// The generator's rule that compares a window's throughput and latency with what was in flight (Little's law).
const LITTLE: &str = "littles-law";
/// Time that a hypervisor may take away, as a share.
const MAX_STEAL: f64 = 0.01;
/// Segments that may be sent again, as a share of the answers.
const MAX_RETRANSMITS: f64 = 1e-4;

/// All checks of a run, in the order in which a person wants to read them.
pub(crate) fn checks(record: &Record, cells: &[CellVerdict]) -> Vec<Check> {
    let windows: Vec<&Measurement> =
        record.rounds.iter().flat_map(|round| &round.runs).flat_map(|run| &run.cells).collect();
    let mut checks = vec![build(record), rounds(record), isolation(record), noise_floor()];
    if !windows.is_empty() {
        checks.extend([
            generator(cells),
            headroom(record, cells),
            errors(&windows),
            books(&windows),
            little(&windows),
            steal(&windows),
            other_programs(&windows),
            tcp(&windows),
        ]);
    }
    checks
}

fn build(record: &Record) -> Check {
    if record.assay.profile == "release" {
        return pass("build", format!("assay {} built for release", record.assay.version));
    }
    let evidence = format!(
        "assay was built for {}: its generator and limit are many times too slow",
        record.assay.profile
    );
    objection("build", Outcome::Void, evidence, "measure with `cargo build --release`")
}

fn rounds(record: &Record) -> Check {
    let counted = counted_rounds(record);
    if counted >= MIN_ROUNDS {
        return pass("rounds", format!("{counted} complete rounds, each with fresh server processes"));
    }
    let evidence =
        format!("{} complete: nothing can be said of differences", count_of(counted as usize, "round"));
    objection("rounds", Outcome::Warn, evidence, "measure at least two rounds, better six")
}

fn isolation(record: &Record) -> Check {
    let isolation = &record.isolation;
    let shared = isolation.server_cpus == isolation.generator_cpus;
    if shared {
        let remedy = "use a machine with at least two CPUs";
        return objection("isolation", Outcome::Warn, isolation.statement.clone(), remedy);
    }
    pass("isolation", isolation.statement.clone())
}

fn noise_floor() -> Check {
    let evidence = "not measured: the margin of a tie is the least one, 1 %".to_owned();
    let remedy =
        "to see this machine's noise, measure a copy of a contender's folder beside it: the two should tie";
    objection("noise-floor", Outcome::Warn, evidence, remedy)
}

/// The worst of what the standings say of their generator.
fn generator(cells: &[CellVerdict]) -> Check {
    let standings = || cells.iter().flat_map(|cell| &cell.standings);
    let busiest = standings().map(|standing| standing.generator_busy_share).fold(0.0, f64::max);
    let evidence = format!("the generator used up to {} of its CPU", percent(busiest));
    let saturated = standings().flat_map(|s| &s.checks).filter(|check| check.rule == "generator-saturated");
    match saturated.map(|check| check.outcome).max() {
        None => pass("generator", evidence),
        Some(outcome) => {
            objection("generator", outcome, evidence, "give the generator more CPUs, or the server fewer")
        }
    }
}

/// What the generator could have sent at its cost per request, over what it sent, for the contender that needed it most.
fn headroom(record: &Record, cells: &[CellVerdict]) -> Check {
    let limits = |name: &str| {
        record.contenders.iter().any(|e| e.name == name && e.kind == assay_model::contender::Kind::Limit)
    };
    let contenders =
        cells.iter().flat_map(|cell| &cell.standings).filter(|standing| !limits(&standing.contender));
    let busiest = contenders.max_by(|a, b| a.generator_busy_share.total_cmp(&b.generator_busy_share));
    let Some(busiest) = busiest.filter(|standing| standing.generator_busy_share > 0.0) else {
        return pass("headroom", "no contender kept the generator busy".to_owned());
    };
    let headroom = 1.0 / busiest.generator_busy_share;
    let evidence = format!("the generator could send {headroom:.1} times what {} took", busiest.contender);
    if headroom >= LEAST_HEADROOM {
        return pass("headroom", evidence);
    }
    objection("headroom", Outcome::Warn, evidence, "give the generator more CPUs, or the server fewer")
}

fn errors(windows: &[&Measurement]) -> Check {
    let failed: u64 = windows.iter().map(|window| window.load.books.failed()).sum();
    let all: u64 = windows.iter().map(|window| window.load.books.ok).sum::<u64>() + failed;
    if failed == 0 {
        return pass("errors", format!("0 of {all} requests failed; every answer was checked"));
    }
    let evidence = format!("{failed} of {all} requests failed; none of them counts as throughput");
    objection("errors", Outcome::Warn, evidence, "see which contender failed, and the samples in the record")
}

fn books(windows: &[&Measurement]) -> Check {
    let broken = windows.iter().filter(|window| !window.load.books.balance()).count();
    if broken == 0 {
        return pass("books", "issued = right + failed + unfinished in every window".to_owned());
    }
    let evidence =
        format!("in {} the requests issued are not those accounted for", count_of(broken, "window"));
    objection("books", Outcome::Void, evidence, "report this: it is a fault of assay")
}

/// Each generator compares what was in flight, counted, with throughput times latency; here all windows together.
fn little(windows: &[&Measurement]) -> Check {
    let told = || windows.iter().flat_map(|window| &window.load.checks).filter(|check| check.rule == LITTLE);
    let (checked, failed) = (told().count(), told().filter(|check| check.outcome != Outcome::Pass).count());
    if checked > 0 && failed == 0 {
        let evidence =
            format!("throughput × latency is what was in flight in {}", count_of(checked, "window"));
        return pass("little", evidence);
    }
    let evidence = match told().find(|check| check.outcome != Outcome::Pass) {
        Some(check) => {
            format!("{failed} of {} break Little's law: {}", count_of(checked, "window"), check.evidence)
        }
        None => "the generator did not compare throughput with what was in flight".to_owned(),
    };
    objection(
        "little",
        Outcome::Warn,
        evidence,
        "measure longer windows; look for what disturbed the generator",
    )
}

fn other_programs(windows: &[&Measurement]) -> Check {
    let worst = windows.iter().map(|window| window.machine.server_other_share).fold(0.0, f64::max);
    let hit = windows.iter().filter(|window| window.machine.server_other_share > MAX_OTHER_SHARE).count();
    if hit == 0 {
        return pass(
            "other-programs",
            format!("other programs used at most {} of the server's CPUs", percent(worst)),
        );
    }
    let evidence = format!(
        "other programs used up to {} of the server's CPUs; {hit} of {} do not count",
        percent(worst),
        count_of(windows.len(), "window")
    );
    let outcome = if hit == windows.len() { Outcome::Void } else { Outcome::Warn };
    objection("other-programs", outcome, evidence, "stop the other programs, or measure when they are done")
}

fn steal(windows: &[&Measurement]) -> Check {
    let worst = windows.iter().map(|window| window.machine.steal_share).fold(0.0, f64::max);
    let evidence = format!("a hypervisor took at most {} of a window's CPU time", percent(worst));
    if worst <= MAX_STEAL {
        return pass("steal", evidence);
    }
    objection("steal", Outcome::Warn, evidence, "use a machine that is not shared, or measure more rounds")
}

fn tcp(windows: &[&Measurement]) -> Check {
    let sum = |of: fn(&Measurement) -> u64| windows.iter().map(|window| of(window)).sum::<u64>();
    let (overflows, again) = (sum(|w| w.machine.listen_overflows), sum(|w| w.machine.tcp_retransmits));
    let answers = sum(|w| w.load.books.ok).max(1);
    let evidence =
        format!("{again} TCP segments sent again, {overflows} connections dropped at a full accept queue");
    if overflows == 0 && again as f64 / answers as f64 <= MAX_RETRANSMITS {
        return pass("tcp", evidence);
    }
    objection(
        "tcp",
        Outcome::Warn,
        evidence,
        "raise net.core.somaxconn and the server's backlog, or use fewer connections",
    )
}

/// Whether any number of the run is void as a whole.
pub(crate) fn void(checks: &[Check]) -> Option<&Check> {
    checks.iter().find(|check| is_void(check))
}
