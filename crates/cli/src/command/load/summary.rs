//! A measurement in ten lines.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use assay_model::check::CheckOutcome;
use assay_model::learnt::Learnt;
use assay_model::load::{Arrival, BodyChecks, Books, ErrorClass, LoadReport};
use assay_report::foreign;
use assay_report::format;
use assay_report::terminal::Style;
use assay_report::text::{ascii, wrap};
use assay_report::words;
use assay_stats::Histogram;
use assay_stats::lag::{self, Bounds};
use assay_stats::order::is_resolved;
use assay_verdict::Times;

use crate::failure::Failure;

const QUANTILES: [(f64, &str); 5] =
    [(0.5, "p50"), (0.9, "p90"), (0.99, "p99"), (0.999, "p99.9"), (0.9999, "p99.99")];

/// Connections from which on what each of them costs stands out of what the threads need anyway.
const MANY_CONNECTIONS: u32 = 1000;
/// Wrong answers that are shown.
const MAX_SAMPLES: usize = 3;
/// No line is broken shorter than this, however narrow the terminal.
const MIN_COLUMNS: usize = 24;
/// Columns of the names in front of the lines.
const NAME_COLUMNS: usize = 12;

pub(super) fn text(report: &LoadReport, asked: &str, style: &Style) -> Result<String, Failure> {
    let (kind, times) = headline(report)?;
    let mut lines = vec![
        ("load", describe_load(report, asked)),
        ("throughput", throughput(report)),
        (kind, quantiles(&times)),
        ("", format!("{}; {}", spread(&times), meaning(report))),
        ("books", books(&report.books)),
    ];
    if let Some(tls) = &report.tls {
        lines.insert(1, ("tls", super::tls::agreed(tls)));
        lines.push(("handshakes", super::tls::handshakes(report, tls)?));
    }
    if report.books.failed() > 0 {
        lines.push(("errors", errors(&report.books)));
    }
    let mut told = BTreeSet::new();
    let samples = report.samples.iter().filter(|sample| told.insert(&sample.detail)).take(MAX_SAMPLES);
    lines.extend(samples.map(|sample| ("", format!("{}; received: {}", sample.detail, sample.received))));
    lines.extend(report.learnt.iter().map(|learnt| ("answers", answers(learnt))));
    lines.extend(bodies(&report.bodies).map(|text| ("bodies", text)));
    lines.push(("generator", generator(report)));
    lines.extend(super::shares::lines(report));
    lines.extend(super::server::describe(report).map(|text| ("server", text)));
    lines.extend(objections(report));
    lines.push(("trust", trust(report)));
    let text = lines.into_iter().map(|(name, text)| laid_out(name, &text, style.width)).collect::<String>();
    Ok(if style.ascii { ascii(&text) } else { text })
}

/// A line with its name in front, broken between words to `width` columns.
fn laid_out(name: &str, text: &str, width: usize) -> String {
    let room = width.saturating_sub(NAME_COLUMNS).max(MIN_COLUMNS);
    let mut out = String::new();
    for (number, line) in wrap(&foreign::line(text), room).into_iter().enumerate() {
        let name = if number == 0 { name } else { "" };
        let _ = writeln!(out, "{name:<NAME_COLUMNS$}{line}");
    }
    out
}

fn throughput(report: &LoadReport) -> String {
    let seconds = report.window_ns.as_secs_f64().max(f64::MIN_POSITIVE);
    let rate = format::rate(report.window.ok as f64 / seconds);
    let mut text = format!("{rate}/s validated responses over {}", format::span(report.window_ns.0));
    if report.window.body_bytes > 0 {
        let bytes = format::bytes((report.window.body_bytes as f64 / seconds) as u64);
        let _ = write!(text, ", {bytes}/s of bodies");
    }
    text
}

/// What the printed times are, in words.
fn meaning(report: &LoadReport) -> String {
    let in_flight = u64::from(report.connections) * u64::from(report.pipeline);
    match report.arrival {
        Arrival::Closed => {
            format!("from sending to the last byte, at {} in flight", format::count(in_flight))
        }
        _ => "from the moment a request was due to the last byte".to_owned(),
    }
}

/// What the generator holds against its own numbers, with the remedies.
fn objections(report: &LoadReport) -> impl Iterator<Item = (&'static str, String)> {
    let objecting = report.checks.iter().filter(|check| check.outcome != CheckOutcome::Pass);
    objecting.map(|check| {
        let word = if check.outcome == CheckOutcome::Void { "void" } else { "caution" };
        let remedy = words::remedy(check).map_or_else(String::new, |remedy| format!(" — {remedy}"));
        (word, format!("{}{remedy}", words::evidence(check)))
    })
}

/// What all checks together come to.
fn trust(report: &LoadReport) -> String {
    let count = |outcome| report.checks.iter().filter(|check| check.outcome == outcome).count();
    match (count(CheckOutcome::Void), count(CheckOutcome::Warn)) {
        (0, 0) => "nothing to object; what limited the server is not known from here".to_owned(),
        (0, 1) => "believe these numbers with the caution above in mind".to_owned(),
        (0, n) => format!("believe these numbers with the {n} cautions above in mind"),
        _ => "do not believe these numbers: see void above".to_owned(),
    }
}

fn describe_load(report: &LoadReport, asked: &str) -> String {
    let arrival = match report.arrival {
        Arrival::Closed => "closed loop".to_owned(),
        Arrival::Constant { per_second } => format!("{}/s at even intervals", format::rate(per_second)),
        Arrival::Poisson { per_second } => format!("{}/s Poisson", format::rate(per_second)),
    };
    let depth = format::count(u64::from(report.pipeline));
    let pipeline = match report.pipeline {
        n if report.protocol.is_http2() => {
            format!(" of {}, {depth} stream{} each", report.protocol, plural(n))
        }
        0..=1 => String::new(),
        _ if report.websocket.is_some() => format!(" with {depth} messages in flight each"),
        _ => format!(", pipelined {depth} deep"),
    };
    let connections = format::count(u64::from(report.connections));
    let idle = match report.idle {
        0 => String::new(),
        n => format!(" and {} idle ones", format::count(u64::from(n))),
    };
    format!(
        "{asked} at {} · {arrival}, {connections} connection{}{pipeline}{idle} · {} on CPU {}",
        report.target,
        plural(report.connections),
        report.engine,
        report.cpus
    )
}

fn plural(n: u32) -> &'static str {
    if n == 1 { "" } else { "s" }
}

/// How long requests took, those included of which it is only known that they took longer.
struct Durations {
    ended: Histogram,
    /// Times less what the generator was late; equal where nothing is due at a time.
    sent: Histogram,
    censored: Histogram,
}

/// The time that the arrival model can speak of, with its name.
fn headline(report: &LoadReport) -> Result<(&'static str, Durations), Failure> {
    let Times { service, response, response_from_sent, censored } =
        Times::of(&report.latency).map_err(|error| Failure::Bug(error.to_string()))?;
    Ok(match response {
        Some(ended) => {
            let sent = response_from_sent.unwrap_or_else(|| ended.clone());
            ("response", Durations { ended, sent, censored })
        }
        None => ("service", Durations { sent: service.clone(), ended: service, censored }),
    })
}

fn quantiles(times: &Durations) -> String {
    let count = times.ended.count() + times.censored.count();
    let shown = QUANTILES.iter().filter(|(q, _)| is_resolved(count, *q)).filter_map(|(q, name)| {
        let bounds = lag::bounds(&times.ended, &times.sent, &times.censored, *q)?;
        Some(format!("{name} {}", quantile(&bounds)))
    });
    let shown: Vec<String> = shown.collect();
    if shown.is_empty() { "too few answers for a percentile".to_owned() } else { shown.join(" · ") }
}

/// A percentile; both ends of it where requests left so late that only these are known.
fn quantile(bounds: &Bounds) -> String {
    let latest = format::duration(bounds.from_due.value as f64);
    let sign = if bounds.from_due.is_lower_bound { "> " } else { "" };
    match bounds.are_close() {
        true => format!("{sign}{latest}"),
        false => format!("between {} and {sign}{latest}", format::duration(bounds.from_sent as f64)),
    }
}

fn spread(times: &Durations) -> String {
    let sign = if times.censored.is_empty() { "" } else { "> " };
    let mut all = times.ended.clone();
    all.merge(&times.censored);
    match (all.mean(), all.max()) {
        (Some(mean), Some(max)) => {
            format!("mean {sign}{} · max {sign}{}", format::duration(mean), format::duration(max as f64))
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

/// What was learnt before the load, and what every answer was held against for that.
fn answers(learnt: &Learnt) -> String {
    format!("{}: {}", words::held_in_words(learnt.held), words::described(learnt))
}

/// How bodies were looked at, where that was not to their end.
fn bodies(bodies: &BodyChecks) -> Option<String> {
    let BodyChecks { sampled_one_in, compared, by_length, unjudged, .. } = *bodies;
    if by_length > 0 {
        return Some(format!(
            "1 in {sampled_one_in} large ones compared to the end, the rest by head, length and first bytes: {} and {}",
            format::count(compared),
            format::count(by_length)
        ));
    }
    (unjudged > 0)
        .then(|| format!("{} accepted whatever they were: nothing was expected", format::count(unjudged)))
}

fn generator(report: &LoadReport) -> String {
    let busiest = report.thread_busy_shares.iter().copied().fold(0.0, f64::max);
    let mut text = format!("busiest thread {} busy", format::percent(busiest));
    // Of no answers there is no share.
    if report.window.ok > 0 {
        let answers = report.window.ok as f64;
        let cpu = format::duration(report.generator.cpu_ns().0 as f64 / answers);
        let calls = format::rate(report.system_calls.total() as f64 / answers);
        let _ = write!(text, " · {cpu} CPU and {calls} system calls per answer");
    }
    if report.connections >= MANY_CONNECTIONS {
        let grown = report.memory.ready_bytes.saturating_sub(report.memory.start_bytes);
        let each = format::bytes(grown / u64::from(report.connections));
        let _ = write!(text, " · {each} of memory per connection");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_to_the_width_and_keep_their_column() {
        let text = laid_out("load", &"word ".repeat(30), 80);
        assert!(text.lines().count() == 3 && text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.starts_with("load        word") && text.contains("\n            word"));
        assert_eq!(laid_out("", "\x1b[31mred", 80).matches('\x1b').count(), 0);
    }

    #[test]
    fn a_percentile_that_lag_spoils_is_told_by_both_its_ends() {
        let [ended, sent] = [[2_900_000, 15_300_000], [2_300_000, 15_000_000]].map(|[most, slow]| {
            let mut histogram = Histogram::new();
            histogram.record_n(most, 9_800);
            histogram.record_n(slow, 200);
            histogram
        });
        let text = quantiles(&Durations { ended, sent, censored: Histogram::new() });
        assert_eq!(text, "p50 between 2.30 ms and 2.91 ms · p90 between 2.30 ms and 2.91 ms · p99 15.3 ms");
    }

    #[test]
    fn no_answer_costs_nothing_and_many_calls_are_told_shortly() {
        let with = |ok: u64| {
            let mut report = LoadReport { thread_busy_shares: vec![0.5], ..LoadReport::default() };
            (report.window.ok, report.system_calls.sends) = (ok, 28_376);
            generator(&report)
        };
        assert_eq!(with(0), "busiest thread 50 % busy");
        assert!(with(1).ends_with("28.4k system calls per answer"), "{}", with(1));
    }

    #[test]
    fn the_last_line_says_what_the_checks_come_to() {
        let check = |outcome| assay_model::check::Check {
            rule: assay_model::rule::Rule::Answers,
            outcome,
            evidence: assay_model::evidence::Evidence::RightAnswers { ok: 0 },
        };
        let said = |outcomes: &[CheckOutcome]| {
            trust(&LoadReport {
                checks: outcomes.iter().map(|o| check(*o)).collect(),
                ..LoadReport::default()
            })
        };
        assert!(said(&[CheckOutcome::Pass]).starts_with("nothing to object"));
        assert!(said(&[CheckOutcome::Warn, CheckOutcome::Warn]).contains("2 cautions"));
        assert!(said(&[CheckOutcome::Warn, CheckOutcome::Void]).starts_with("do not believe"));
    }
}
