//! A measurement in ten lines.

use std::fmt::Write as _;

use assay_model::check::Outcome;
use assay_model::load::{Arrival, Books, ErrorClass, LoadReport};
use assay_report::format;
use assay_report::terminal::Style;
use assay_report::text::ascii;
use assay_stats::{Histogram, censored};

use crate::failure::Failure;

/// Samples that must lie beyond a quantile for it to be printed (METHODOLOGY, quantiles).
const SAMPLES_BEYOND: f64 = 100.0;
const QUANTILES: [(f64, &str); 5] =
    [(0.5, "p50"), (0.9, "p90"), (0.99, "p99"), (0.999, "p99.9"), (0.9999, "p99.99")];

pub(super) fn text(report: &LoadReport, style: &Style) -> Result<String, Failure> {
    let mut out = String::new();
    let seconds = report.window_ns.as_secs_f64();
    let line = |out: &mut String, name: &str, text: String| {
        let _ = writeln!(out, "{name:<12}{text}");
    };
    line(&mut out, "load", describe_load(report));
    line(
        &mut out,
        "throughput",
        format!(
            "{}/s validated responses over {}",
            format::rate(report.window.ok as f64 / seconds.max(f64::MIN_POSITIVE)),
            format::span(report.window_ns.0)
        ),
    );
    let (kind, times) = headline(report)?;
    line(&mut out, kind, quantiles(&times));
    line(&mut out, "", spread(&times));
    line(&mut out, "books", books(&report.books));
    if report.books.failed() > 0 {
        line(&mut out, "errors", errors(&report.books));
    }
    for sample in report.samples.iter().take(3) {
        line(&mut out, "", format!("{}; received: {}", sample.detail, sample.received));
    }
    line(&mut out, "generator", generator(report));
    for check in report.checks.iter().filter(|c| c.outcome != Outcome::Pass) {
        let word = if check.outcome == Outcome::Void { "void" } else { "caution" };
        let remedy = check.remedy.as_ref().map_or_else(String::new, |r| format!(" — {r}"));
        line(&mut out, word, format!("{}{remedy}", check.evidence));
    }
    if report.checks.iter().all(|c| c.outcome == Outcome::Pass) {
        line(
            &mut out,
            "trust",
            "nothing to object; what limited the server is not known from here".to_owned(),
        );
    }
    Ok(if style.ascii { ascii(&out) } else { out })
}

fn describe_load(report: &LoadReport) -> String {
    let arrival = match report.arrival {
        Arrival::Closed => "closed loop".to_owned(),
        Arrival::Constant { per_second } => format!("{}/s at even intervals", format::rate(per_second)),
        Arrival::Poisson { per_second } => format!("{}/s Poisson", format::rate(per_second)),
    };
    let pipeline =
        if report.pipeline > 1 { format!(", pipelined {} deep", report.pipeline) } else { String::new() };
    let connections = format::count(u64::from(report.connections));
    format!(
        "{} · {arrival}, {connections} connections{pipeline} · {} on CPU {}",
        report.target, report.engine, report.cpus
    )
}

/// How long requests took, those included of which it is only known that they took longer.
struct Times {
    ended: Histogram,
    censored: Histogram,
}

/// The time that the arrival model can speak of, with its name.
fn headline(report: &LoadReport) -> Result<(&'static str, Times), Failure> {
    let (name, text) = match &report.latency.response_hdr {
        Some(response) => ("response", response),
        None => ("service", &report.latency.service_hdr),
    };
    let read = |text: &String| Histogram::from_hdr_base64(text).map_err(|e| Failure::Bug(e.to_string()));
    let censored = report.latency.censored_hdr.as_ref().map(read).transpose()?.unwrap_or_default();
    Ok((name, Times { ended: read(text)?, censored }))
}

fn quantiles(times: &Times) -> String {
    let count = (times.ended.count() + times.censored.count()) as f64;
    let enough = |q: f64| count * (1.0 - q) >= SAMPLES_BEYOND;
    let shown = QUANTILES.iter().filter(|(q, _)| enough(*q)).filter_map(|(q, name)| {
        let quantile = censored::quantile(&times.ended, &times.censored, *q)?;
        let sign = if quantile.is_lower_bound { "> " } else { "" };
        Some(format!("{name} {sign}{}", format::duration(quantile.value as f64)))
    });
    let shown: Vec<String> = shown.collect();
    if shown.is_empty() { "too few answers for a percentile".to_owned() } else { shown.join("   ") }
}

fn spread(times: &Times) -> String {
    let sign = if times.censored.is_empty() { "" } else { "> " };
    let mut all = times.ended.clone();
    all.merge(&times.censored);
    match (all.mean(), all.max()) {
        (Some(mean), Some(max)) => {
            format!("mean {sign}{}   max {sign}{}", format::duration(mean), format::duration(max as f64))
        }
        _ => "no answers".to_owned(),
    }
}

fn books(books: &Books) -> String {
    format!(
        "{} issued = {} right + {} failed + {} unfinished",
        format::count(books.issued),
        format::count(books.ok),
        format::count(books.failed()),
        format::count(books.censored)
    )
}

fn errors(books: &Books) -> String {
    let one = |(class, n): (&ErrorClass, &u64)| format!("{} {class}", format::count(*n));
    books.errors.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn generator(report: &LoadReport) -> String {
    let busiest = report.thread_busy_shares.iter().copied().fold(0.0, f64::max);
    let per_answer = report.generator.cpu_ns().0 as f64 / report.window.ok.max(1) as f64;
    format!(
        "busiest thread {} busy · {} CPU per answer",
        format::percent(busiest),
        format::duration(per_answer)
    )
}
