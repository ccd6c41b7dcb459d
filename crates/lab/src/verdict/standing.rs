//! One contender in one cell: its figures, what limited it, and what speaks against them.

use std::collections::BTreeSet;

use assay_model::check::{Check, Outcome};
use assay_model::conformance::Conformance;
use assay_model::record::{Measurement, Record};
use assay_model::verdict::{Interval, LimitedBy, Standing};
use assay_stats::interval::geometric_mean_interval;
use assay_stats::order::median_interval;
use assay_stats::ratio::paired_log_ratio;

use super::sample::Sample;
use super::words::{count_of, percent};
use super::{
    AT_LIMIT, CONFIDENCE, GENERATOR_SATURATED, MAX_ERROR_SHARE, SERVER_SATURATED, interval, is_void, median,
    objection, point,
};

/// Rules of the generator that are judged here, where the server's side and all rounds are known too.
const JUDGED_HERE: [&str; 2] = ["generator-saturated", "failures"];
/// Drift within a window beyond which a server was not warm yet, or tired.
const MAX_DRIFT: f64 = 0.05;

/// The standing of `sample`, without its tier; `limit` is the machine's limit in the same cell, if that is known.
pub(crate) fn standing(record: &Record, sample: &Sample<'_>, limit: Option<&Sample<'_>>) -> Standing {
    let limited_by = limited_by(record, sample);
    let mut checks: Vec<Check> =
        [errors(sample), deaths(sample), saturation(sample, limited_by), warm_up(sample), drift(sample)]
            .into_iter()
            .flatten()
            .collect();
    checks.extend(generator_objections(sample));
    let withheld = withheld(sample, &checks);
    let comparable = limit.filter(|_| withheld.is_none() && !sample.is_limit());
    let share_of_limit = comparable.and_then(|limit| share_of_limit(sample, limit));
    checks.extend(at_limit(share_of_limit.as_ref()));
    let rates: Vec<f64> = sample.rates().into_iter().flatten().collect();
    Standing {
        contender: sample.entry.name.clone(),
        throughput_per_second: if withheld.is_none() { rate_interval(&rates) } else { None },
        rounds_per_second: sample.rates(),
        share_of_limit,
        tier: None,
        letters: String::new(),
        p50_ns: quantile(sample, 0.5),
        p99_ns: quantile(sample, 0.99),
        cpu_per_request_ns: median(&sample.cpu_per_answer()),
        server_busy_share: median(&sample.server_busy()),
        generator_busy_share: median(&sample.generator_busy()).unwrap_or(0.0),
        rss_peak_bytes: sample
            .measured()
            .filter_map(|window| Some(window.server.as_ref()?.rss_peak_bytes))
            .max(),
        startup_ns: startup(sample),
        conformance: sample.entry.conformance.as_ref().map(Conformance::score),
        failed: sample.failed_of().0,
        limited_by,
        checks,
        withheld,
    }
}

fn rate_interval(rates: &[f64]) -> Option<Interval> {
    match rates {
        [] => None,
        [only] => Some(point(*only)),
        _ => geometric_mean_interval(rates, CONFIDENCE).ok().map(interval),
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
fn share_of_limit(sample: &Sample<'_>, limit: &Sample<'_>) -> Option<Interval> {
    let pairs = sample.rates().into_iter().zip(limit.rates()).filter_map(|(own, limit)| own.zip(limit));
    let (own, limits): (Vec<f64>, Vec<f64>) = pairs.unzip();
    match (own.as_slice(), limits.as_slice()) {
        ([own], [limit]) => Some(point(own / limit)),
        _ => paired_log_ratio(&own, &limits, CONFIDENCE).ok().map(|ratio| interval(ratio.interval)),
    }
}

fn startup(sample: &Sample<'_>) -> Option<f64> {
    let started = sample.runs.iter().flatten().map(|run| run.startup_ns.0 as f64).filter(|&ns| ns > 0.0);
    median(&started.collect::<Vec<_>>())
}

/// Compares the medians over rounds with [`SERVER_SATURATED`] and [`GENERATOR_SATURATED`].
fn limited_by(record: &Record, sample: &Sample<'_>) -> LimitedBy {
    let generator = median(&sample.generator_busy()).unwrap_or(0.0) >= GENERATOR_SATURATED;
    let observed = median(&sample.server_busy());
    let shared = record.isolation.server_cpus == record.isolation.generator_cpus;
    let server = observed.map(|own| {
        let cpus = if shared { 0.0 } else { median(&sample.server_cpus_busy()).unwrap_or(0.0) };
        own.max(cpus) >= SERVER_SATURATED
    });
    match (server, generator) {
        // Their only CPU was busy with both.
        _ if shared && median(&sample.server_cpus_busy()).unwrap_or(0.0) >= SERVER_SATURATED => {
            LimitedBy::Both
        }
        (Some(true), true) => LimitedBy::Both,
        (Some(true), false) => LimitedBy::Server,
        (_, true) => LimitedBy::Generator,
        (Some(false), false) => LimitedBy::Neither,
        (None, false) => LimitedBy::Unknown,
    }
}

/// How many of its requests failed, for whatever reason.
fn errors(sample: &Sample<'_>) -> Option<Check> {
    let (failed, all) = sample.failed_of();
    if failed == 0 {
        return None;
    }
    let share = failed as f64 / all as f64;
    let seen = sample.measured().flat_map(|window| &window.load.samples).next();
    let seen = seen.map_or_else(String::new, |seen| format!("; for example {}", seen.detail));
    let evidence = format!("{failed} of {all} requests failed ({}){seen}", percent(share));
    let outcome = if share > MAX_ERROR_SHARE { Outcome::Void } else { Outcome::Warn };
    Some(objection("errors", outcome, evidence, "see its log and the samples in the record; mend the server"))
}

fn deaths(sample: &Sample<'_>) -> Option<Check> {
    let started = sample.runs.iter().flatten().count();
    let failures: Vec<_> = sample.runs.iter().flatten().filter_map(|run| run.failure.as_ref()).collect();
    let last = failures.last()?;
    let evidence = format!("{} of {} failed: {}", failures.len(), count_of(started, "run"), last.reason);
    Some(objection("failed-runs", Outcome::Warn, evidence, last.remedy.as_deref().unwrap_or("see its log")))
}

fn saturation(sample: &Sample<'_>, limited_by: LimitedBy) -> Option<Check> {
    if limited_by != LimitedBy::Generator {
        return None;
    }
    let busy = percent(median(&sample.generator_busy()).unwrap_or(0.0));
    let evidence = format!("the generator used {busy} of its CPU while the server's was not saturated");
    // The limit is what generator and server can do together, so there it is only worth knowing.
    let outcome = if sample.is_limit() { Outcome::Warn } else { Outcome::Void };
    Some(objection(
        "generator-saturated",
        outcome,
        evidence,
        "give the generator more CPUs, or the server fewer",
    ))
}

/// Whether it had stopped getting faster before it was measured.
fn warm_up(sample: &Sample<'_>) -> Option<Check> {
    let runs: Vec<_> = sample.runs.iter().flatten().collect();
    let unsettled = runs.iter().filter(|run| run.warmups.iter().any(|warmup| !warmup.settled)).count();
    if unsettled == 0 {
        return None;
    }
    let evidence = format!(
        "still getting faster when its warm-up ended, in {unsettled} of {}",
        count_of(runs.len(), "run")
    );
    Some(objection("warm-up", Outcome::Warn, evidence, "give it longer with --warmup"))
}

fn drift(sample: &Sample<'_>) -> Option<Check> {
    let drift = sample.drift()?;
    if (drift - 1.0).abs() <= MAX_DRIFT {
        return None;
    }
    let way = if drift > 1.0 { "rose" } else { "fell" };
    let evidence = format!(
        "throughput {way} by {} from the first to the last third of a window",
        percent((drift - 1.0).abs())
    );
    Some(objection("drift", Outcome::Warn, evidence, "warm up for longer, or measure longer windows"))
}

fn at_limit(share: Option<&Interval>) -> Option<Check> {
    let share = share.filter(|share| share.estimate >= AT_LIMIT)?;
    let evidence = format!(
        "it reaches {} of this machine's limit: it may be faster than can be seen here",
        percent(share.estimate)
    );
    Some(objection("at-limit", Outcome::Warn, evidence, "give the generator more CPUs, or the server fewer"))
}

/// What the generator itself said, each rule once with its worst outcome.
fn generator_objections(sample: &Sample<'_>) -> Vec<Check> {
    let objects =
        |check: &&Check| check.outcome != Outcome::Pass && !JUDGED_HERE.contains(&check.rule.as_str());
    let mut found: Vec<Check> = Vec::new();
    for check in sample.measured().flat_map(|window| &window.load.checks).filter(objects) {
        match found.iter_mut().find(|known| known.rule == check.rule) {
            Some(known) if known.outcome >= check.outcome => {}
            Some(known) => *known = check.clone(),
            None => found.push(check.clone()),
        }
    }
    let windows = sample.measured().count();
    for known in &mut found {
        let hit = |window: &&assay_model::record::Measurement| {
            window.load.checks.iter().any(|check| check.rule == known.rule && check.outcome != Outcome::Pass)
        };
        let hits = sample.measured().filter(hit).count();
        known.evidence = format!("{} (in {hits} of {})", known.evidence, count_of(windows, "window"));
        // A single bad window is no reason to throw the others away; the intervals show it.
        if known.outcome == Outcome::Void && (hits * 2 <= windows || sample.is_limit()) {
            known.outcome = Outcome::Warn;
        }
    }
    found
}

/// Why no rank may be given, if so. The limit is not ranked anyway, so nothing of it is withheld but wrong answers.
fn withheld(sample: &Sample<'_>, checks: &[Check]) -> Option<String> {
    if let Some(void) = checks.iter().find(|check| is_void(check)) {
        return Some(void.evidence.clone());
    }
    let (rates, started) = (sample.rates().iter().flatten().count(), sample.runs.iter().flatten().count());
    let broken: BTreeSet<String> = sample.measured().flat_map(Measurement::void_rules).collect();
    let void = broken.into_iter().collect::<Vec<_>>().join(", ");
    match rates {
        0 if void.is_empty() => Some("not one right answer in a window".to_owned()),
        0 => Some(format!("every window is void ({void})")),
        _ if rates * 2 >= started => None,
        _ if void.is_empty() => Some(format!("only {rates} of {} gave a result", count_of(started, "run"))),
        _ => Some(format!("only {rates} of {} count ({void})", count_of(started, "window"))),
    }
}
