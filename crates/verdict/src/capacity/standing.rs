//! One contender in one cell: its figures, what limited it, and what speaks against them.

use assay_model::check::{Check, CheckOutcome};
use assay_model::conformance::Conformance;
use assay_model::evidence::{Bottleneck, Evidence, Proportion, Withheld};
use assay_model::experiment::Cell;
use assay_model::link::{Flow, LinkUse};
use assay_model::load::ErrorClass;
use assay_model::network::Stack;
use assay_model::record::{Measurement, Record, Run};
use assay_model::rule::Rule;
use assay_model::tls::TlsReport;
use assay_model::units::total;
use assay_model::verdict::{Interval, LimitedBy, Standing};
use assay_stats::interval::geometric_mean_interval;
use assay_stats::order::median_interval;
use assay_stats::robust::trimmed_mean;

use crate::capacity::headroom;
use crate::capacity::limit::{self, Limit};
use crate::capacity::tables::Tables;
use crate::doubts::objections::{answered_by_itself, broken_rules, errors, generator_objections};
use crate::doubts::{disturbed, running};
use crate::evidence::energy::energy_per_answer;
use crate::evidence::price::{price, price_of_a_million};
use crate::evidence::sample::Sample;
use crate::evidence::window::Window;
use crate::evidence::{ages, percentiles};
use crate::{AT_LIMIT, CONFIDENCE, interval, median, point};

/// Segments sent again from which it is told, as a share of the answers: one in ten thousand waits 200 ms, the least
/// retransmission time-out of Linux, and so reaches the 99.99th percentile.
const NOTICEABLE_RETRANSMITS: f64 = 1e-4;
/// Drift within a window beyond which a server was not warm yet, or tired.
const MAX_DRIFT: f64 = 0.05;

/// What a contender is measured against.
#[derive(Clone, Copy)]
pub(crate) struct Beside<'a, 'r> {
    /// The tables of the run.
    pub tables: &'a Tables<'r>,
    /// The cell.
    pub cell: &'a Cell,
    /// The machine's limit in the same cell, if that is known.
    pub limit: Option<&'a Sample<'r>>,
    /// The sample of the contender with the next greater number of connections, if that was measured.
    pub wider: Option<&'a Sample<'r>>,
}

impl<'a, 'r> Beside<'a, 'r> {
    /// Against nobody.
    pub(crate) fn alone(tables: &'a Tables<'r>, cell: &'a Cell) -> Self {
        Self { tables, cell, limit: None, wider: None }
    }
}

/// The standing of `sample`, without its tier.
pub(crate) fn standing(record: &Record, sample: &Sample<'_>, beside: Beside<'_, '_>) -> Standing {
    let Limit { by: limited_by, because } = limit::limit(record, sample, beside.wider);
    let headroom = headroom::headroom(sample, beside.limit);
    let own = [
        errors(sample),
        answered_by_itself(sample),
        ports(sample),
        deaths(sample),
        saturation(sample, limited_by, &because),
        headroom::check(sample, headroom),
        disturbed_generator(record, sample),
        tcp(sample),
        link_overflow(sample),
        tls_otherwise(record, sample),
        stalls(sample),
        warm_up(sample),
        drift(sample),
        running::shared_cpus(sample),
        running::lost_cpu_time(sample),
        percentiles::check(sample, &[0.5, 0.99], |times, q, rounds| {
            times.service_quantile_among(q, rounds).is_some()
        }),
    ];
    let mut checks: Vec<Check> = own.into_iter().flatten().chain(generator_objections(sample)).collect();
    let withheld = withheld(sample, &checks);
    let comparable = beside.limit.filter(|_| withheld.is_none() && !sample.is_limit());
    let share_of_limit = comparable.and_then(|limit| share_of_limit(sample, limit, &beside));
    checks.extend(at_limit(share_of_limit.as_ref()));
    let rounds_per_second = sample.rates_by_round();
    let rates: Vec<f64> = rounds_per_second.iter().copied().flatten().collect();
    let cpu_per_request_ns = median(&sample.cpu_per_answer());
    Standing {
        contender: sample.entry.identity.name.clone(),
        throughput_per_second: throughput(sample, &rates, &beside).filter(|_| withheld.is_none()),
        rounds_per_second,
        trimmed_mean_per_second: trimmed_mean(&rates)
            .ok()
            .filter(|_| record.experiment.trimmed_mean && withheld.is_none()),
        share_of_limit,
        tier: None,
        letters: String::new(),
        p50_ns: quantile(sample, 0.5),
        p99_ns: quantile(sample, 0.99),
        cpu_per_request_ns,
        price_per_million: price_of_a_million(record, cpu_per_request_ns.map(point)),
        energy: energy_per_answer(record, sample),
        server_busy_share: median(&sample.server_busy()),
        generator_busy_share: median(&sample.generator_busy()),
        memory_bytes: memory(sample),
        startup_ns: startup(sample),
        conformance: sample.entry.conformance.as_ref().map(Conformance::score),
        failed: sample.failed_of().0,
        limited_by,
        limit_evidence: because,
        headroom,
        price: price(sample),
        ages: ages::of(lives_of(sample)),
        checks,
        withheld,
    }
}

/// Whether the generator had to wait for its CPUs, perhaps for the server itself.
fn disturbed_generator(record: &Record, sample: &Sample<'_>) -> Option<Check> {
    let measured: Vec<&Measurement> = sample.measured().collect();
    let check = disturbed::check(&measured, running::neighbour(record, [sample.entry]));
    (check.outcome != CheckOutcome::Pass).then_some(check)
}

/// Each life that was measured, with its window.
fn lives_of<'s, 'r>(sample: &'s Sample<'r>) -> impl Iterator<Item = (&'r Run, &'r Window<'r>)> + 's {
    sample.runs.iter().zip(&sample.windows).filter_map(|(run, window)| Some(((*run)?, (*window)?)))
}

/// The rate of a typical round, which is where the row stands among the others; where the cell has no table, as at a rate that was asked
/// for, that of its own rounds.
fn throughput(sample: &Sample<'_>, rates: &[f64], beside: &Beside<'_, '_>) -> Option<Interval> {
    let name = &sample.entry.identity.name;
    let of_table = || beside.tables.rate_interval(beside.cell, name).map(interval);
    match beside.tables.rate(beside.cell, name) {
        Some(typical) => of_table().or(Some(point(typical))),
        None => match rates {
            [] => None,
            [only] => Some(point(*only)),
            _ => geometric_mean_interval(rates, CONFIDENCE).ok().map(interval),
        },
    }
}

fn quantile(sample: &Sample<'_>, q: f64) -> Option<Interval> {
    match sample.service_quantiles(q).as_slice() {
        [] => None,
        [only] => Some(point(*only)),
        values => median_interval(values, CONFIDENCE).ok().map(interval),
    }
}

/// Paired by round: what a round does to both cancels.
fn share_of_limit(sample: &Sample<'_>, limit: &Sample<'_>, beside: &Beside<'_, '_>) -> Option<Interval> {
    let names = (sample.entry.identity.name.as_str(), limit.entry.identity.name.as_str());
    let ratio = beside.tables.ratio(beside.cell, names.0, names.1);
    ratio.map(interval).or_else(|| {
        let (own, limit) =
            (beside.tables.rate(beside.cell, names.0)?, beside.tables.rate(beside.cell, names.1)?);
        Some(point(own / limit))
    })
}

/// What it held in memory when a window that counts was over.
fn memory(sample: &Sample<'_>) -> Option<u64> {
    let held = sample.counting().filter_map(|window| Some(window.server.as_ref()?.memory_bytes() as f64));
    median(&held.collect::<Vec<_>>()).map(|bytes| bytes as u64)
}

fn startup(sample: &Sample<'_>) -> Option<f64> {
    let started = sample.runs.iter().flatten().map(|run| run.startup_ns.0 as f64).filter(|&ns| ns > 0.0);
    median(&started.collect::<Vec<_>>())
}

fn deaths(sample: &Sample<'_>) -> Option<Check> {
    let started = sample.runs.iter().flatten().count();
    let failures: Vec<_> = sample.runs.iter().flatten().filter_map(|run| run.failure.as_ref()).collect();
    let last = failures.last()?;
    let evidence = Evidence::Deaths {
        runs: Proportion::new(failures.len(), started),
        reason: last.reason.clone(),
        remedy: last.remedy.clone(),
    };
    Some(Check::objection(Rule::FailedRuns, CheckOutcome::Warn, evidence))
}

/// The generator's own want of ports, which is no fault of the server's.
fn ports(sample: &Sample<'_>) -> Option<Check> {
    let refused =
        |window: &&Measurement| window.load.books.errors.contains_key(&ErrorClass::AddressExhausted);
    let (hits, windows) = (sample.measured().filter(refused).count(), sample.measured().count());
    let outcome = if hits * 2 > windows { CheckOutcome::Void } else { CheckOutcome::Warn };
    let evidence = Evidence::NoPorts { windows: Proportion::new(hits, windows) };
    (hits > 0).then(|| Check::objection(Rule::Ports, outcome, evidence))
}

fn saturation(sample: &Sample<'_>, by: LimitedBy, because: &Bottleneck) -> Option<Check> {
    let evidence = || Evidence::Limit { by, because: because.clone() };
    match by {
        // A rate that was asked for is part of the question; that differences between servers cannot show there is worth saying.
        LimitedBy::Link => Some(Check::objection(Rule::LinkSaturated, CheckOutcome::Warn, evidence())),
        LimitedBy::Generator => {
            // The limit is what generator and server can do together, so there it is only worth knowing.
            let outcome = if sample.is_limit() { CheckOutcome::Warn } else { CheckOutcome::Void };
            Some(Check::objection(Rule::GeneratorSaturated, outcome, evidence()))
        }
        _ => None,
    }
}

/// Segments sent again and connections dropped, for which there is no reason.
fn tcp(sample: &Sample<'_>) -> Option<Check> {
    tcp_check(sample.measured()).filter(|check| check.outcome != CheckOutcome::Pass)
}

/// Segments that the kernel sent again, where the link lost none, and connections that it dropped. It counts by network namespace, so
/// other programs' may be among them: cause for caution, never for more. `None` where its TCP worked in no window: of another
/// stack's segments it knows nothing.
pub(crate) fn tcp_check<'a>(windows: impl Iterator<Item = &'a Measurement>) -> Option<Check> {
    let is_kernels =
        |window: &&Measurement| window.cell.network.is_none_or(|network| network.stack() == Stack::Kernel);
    let windows: Vec<_> = windows.filter(is_kernels).collect();
    if windows.is_empty() {
        return None;
    }
    let sum = |of: fn(&Measurement) -> u64| total(windows.iter().map(|window| of(window)));
    let again = |w: &Measurement| if has_lost_frames(w) { 0 } else { w.machine.tcp_retransmits };
    let (overflows, again) = (sum(|w| w.machine.listen_overflows), sum(again));
    let share = again as f64 / sum(|w| w.load.books.ok).max(1) as f64;
    let is_quiet = overflows == 0 && share <= NOTICEABLE_RETRANSMITS;
    let outcome = if is_quiet { CheckOutcome::Pass } else { CheckOutcome::Warn };
    let evidence = Evidence::Tcp { retransmitted: again, dropped: overflows };
    Some(Check { rule: Rule::Tcp, outcome, evidence })
}

/// Whether frames got lost on the link: what was sent again then is the answer, and told with the link.
fn has_lost_frames(window: &Measurement) -> bool {
    let lost = |flow: &Flow| flow.lost_frames.max(flow.overflowed_frames) > 0;
    window.link_use.as_ref().is_some_and(|used| lost(&used.to_server) || lost(&used.to_generator))
}

/// Frames that a link lost although none was to be lost: more waited for its rate than its queue holds.
fn link_overflow(sample: &Sample<'_>) -> Option<Check> {
    let overflowed = |used: &LinkUse| [used.to_server, used.to_generator].map(|flow| flow.overflowed_frames);
    let lost = total(sample.measured().filter_map(|window| window.link_use.as_ref()).flat_map(overflowed));
    let evidence = Evidence::Overflow { frames: lost };
    (lost > 0).then(|| Check::objection(Rule::LinkOverflow, CheckOutcome::Warn, evidence))
}

/// Connections over TLS that agreed on something else than all are measured with: what they cost is not what others' cost.
fn tls_otherwise(record: &Record, sample: &Sample<'_>) -> Option<Check> {
    let asked = record.tls.as_ref()?;
    let told: Vec<_> = sample.measured().filter_map(|window| window.load.tls.as_ref()).collect();
    let is_otherwise = |tls: &&&TlsReport| {
        tls.otherwise > 0 || tls.agreed.as_ref().is_some_and(|agreed| agreed.differs_from(asked))
    };
    let otherwise: Vec<&&TlsReport> = told.iter().filter(is_otherwise).collect();
    let agreed = otherwise.first()?.agreed.clone()?;
    let windows = Proportion::new(otherwise.len(), told.len());
    let evidence = Evidence::TlsOtherwise { asked: asked.clone(), agreed, windows };
    Some(Check::objection(Rule::TlsOtherwise, CheckOutcome::Warn, evidence))
}

/// Where nothing is lost, a retransmission timer that ran out in the server's own stack is a stall of one of the two ends.
fn stalls(sample: &Sample<'_>) -> Option<Check> {
    let told: Vec<_> = sample.measured().filter_map(|window| window.server_stack.as_ref()).collect();
    let (windows, stalled) = (told.len(), told.iter().filter(|counts| counts.has_stalled()).count());
    let all = told.into_iter().cloned().reduce(|one, other| one.plus(&other)).filter(|_| stalled > 0)?;
    let evidence = Evidence::Retransmissions {
        wire: all.wire,
        timeouts: all.retransmission_timeouts,
        segments: all.retransmitted_segments,
        windows: Some(Proportion::new(stalled, windows)),
    };
    // A single bad window is no reason to throw the others away; the intervals show it.
    let outcome =
        if stalled * 2 > windows || sample.is_limit() { CheckOutcome::Void } else { CheckOutcome::Warn };
    Some(Check::objection(Rule::ServerRetransmissions, outcome, evidence))
}

/// Whether it had stopped getting faster before it was measured.
fn warm_up(sample: &Sample<'_>) -> Option<Check> {
    let runs: Vec<_> = sample.runs.iter().flatten().collect();
    let unsettled = runs.iter().filter(|run| run.warmups.iter().any(|warmup| !warmup.settled)).count();
    let evidence = Evidence::NotWarm { runs: Proportion::new(unsettled, runs.len()) };
    (unsettled > 0).then(|| Check::objection(Rule::WarmUp, CheckOutcome::Warn, evidence))
}

fn drift(sample: &Sample<'_>) -> Option<Check> {
    let ratio = sample.drift().filter(|ratio| (ratio - 1.0).abs() > MAX_DRIFT)?;
    Some(Check::objection(Rule::Drift, CheckOutcome::Warn, Evidence::Drift { ratio }))
}

fn at_limit(share: Option<&Interval>) -> Option<Check> {
    let share = share.map(|share| share.estimate).filter(|share| *share >= AT_LIMIT)?;
    Some(Check::objection(Rule::AtLimit, CheckOutcome::Warn, Evidence::ShareOfLimit { share }))
}

/// Why no rank may be given, if so. The limit is not ranked anyway, so nothing of it is withheld but wrong answers.
fn withheld(sample: &Sample<'_>, checks: &[Check]) -> Option<Withheld> {
    if let Some(void) = checks.iter().find(|check| check.is_void()) {
        return Some(Withheld::void(void));
    }
    let (rates, started) = (sample.rates().iter().flatten().count(), sample.runs.iter().flatten().count());
    let counted = Proportion::new(rates, started);
    let rules = broken_rules(sample);
    match rates {
        0 if rules.is_empty() => Some(Withheld::NoRightAnswer),
        0 => Some(Withheld::AllVoid { rules }),
        _ if rates * 2 >= started => None,
        _ if rules.is_empty() => Some(Withheld::FewRuns { runs: counted }),
        _ => Some(Withheld::FewWindows { windows: counted, rules }),
    }
}
