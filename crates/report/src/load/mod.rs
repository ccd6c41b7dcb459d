//! A load in ten lines: what `assay load` prints.

mod server;
mod shares;
mod tls;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use assay_model::check::{Check, CheckOutcome};
use assay_model::learnt::{Learnt, is_redirection};
use assay_model::load::{Arrival, BodyChecks, Books, ErrorClass, ErrorSample, LoadReport};
use assay_model::rule::Rule;
use assay_stats::Histogram;
use assay_stats::lag::{self, Bounds};
use assay_stats::order::is_resolved;
use assay_verdict::Times;

use crate::error::ReportError;
use crate::foreign;
use crate::format;
use crate::terminal::Style;
use crate::text::{ascii, wrap};
use crate::words;

const QUANTILES: [(f64, &str); 5] =
    [(0.5, "p50"), (0.9, "p90"), (0.99, "p99"), (0.999, "p99.9"), (0.9999, "p99.99")];

/// Connections, idle ones included, from which on what each of them costs stands out of what the threads need anyway.
const MANY_CONNECTIONS: u64 = 1000;
/// Wrong answers that are shown.
const MAX_SAMPLES: usize = 3;
/// No line is broken shorter than this, however narrow the terminal.
const MIN_COLUMNS: usize = 24;
/// Columns of the names in front of the lines.
const NAME_COLUMNS: usize = 12;

/// A line with its name.
type Line = (&'static str, String);

/// What was asked for.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// In the words of a request line, or the name of the workload.
    pub words: String,
    /// `host:port` of the URL that names the path; absent where a workload does.
    pub authority: Option<String>,
}

/// The summary of a load.
///
/// # Errors
/// [`ReportError`] when a histogram cannot be read.
pub fn summary(report: &LoadReport, asked: &Asked, style: &Style) -> Result<String, ReportError> {
    let lines = match report.checks.iter().find(|check| check.rule == Rule::ServerEnded && check.is_void()) {
        Some(ended) => of_an_ended_server(report, asked, ended),
        None => of_a_measurement(report, asked)?,
    };
    let text = lines.into_iter().map(|(name, text)| laid_out(name, &text, style.width)).collect::<String>();
    Ok(if style.ascii { ascii(&text) } else { text })
}

/// Of a server that ended there are no figures, and what else there is to object comes of its end.
fn of_an_ended_server(report: &LoadReport, asked: &Asked, ended: &Check) -> Vec<Line> {
    let mut lines = vec![("load", describe_load(report, &asked.words)), ("books", books(&report.books))];
    lines.extend(failures(&report.books));
    lines.extend([objection(ended), ("trust", "this load tells nothing of the server's speed".to_owned())]);
    lines
}

fn of_a_measurement(report: &LoadReport, asked: &Asked) -> Result<Vec<Line>, ReportError> {
    let (kind, times) = headline(report)?;
    let mut lines = vec![
        ("load", describe_load(report, &asked.words)),
        ("throughput", throughput(report)),
        (kind, quantiles(&times)),
    ];
    let of_times = match times.ended.is_empty() {
        true => waited_in_vain(&times.censored),
        false => Some(format!("{}; {}", spread(&times), meaning(report))),
    };
    lines.extend(of_times.map(|text| ("", text)));
    lines.push(("books", books(&report.books)));
    if let Some(tls) = &report.tls {
        lines.insert(1, ("tls", tls::agreed(tls)));
        lines.push(("handshakes", tls::handshakes(report, tls)?));
    }
    lines.extend(failures(&report.books));
    let mut told = BTreeSet::new();
    let samples = report.samples.iter().filter(|sample| told.insert(&sample.detail)).take(MAX_SAMPLES);
    lines.extend(samples.map(|sample| ("", failure(sample))));
    lines.extend(about_the_path(report, asked).map(|text| ("", text)));
    lines.extend(answers(&report.learnt).map(|text| ("answers", text)));
    lines.extend(bodies(&report.bodies).map(|text| ("bodies", text)));
    lines.push(("generator", generator(report)));
    lines.extend(shares::lines(report));
    lines.extend(server::describe(report).map(|text| ("server", text)));
    let objecting = report.checks.iter().filter(|check| check.outcome != CheckOutcome::Pass);
    lines.extend(objecting.map(objection));
    lines.push(("trust", trust(report)));
    Ok(lines)
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
    let rate = format::rate(report.window_ns.rate_of(report.window.ok));
    let mut text = format!("{rate}/s validated responses over {}", format::span(report.window_ns.0));
    if report.window.body_bytes > 0 {
        let bytes = format::bytes(report.window_ns.rate_of(report.window.body_bytes) as u64);
        let _ = write!(text, ", {bytes}/s of bodies");
    }
    text
}

/// What the printed times are, in words.
fn meaning(report: &LoadReport) -> String {
    let in_flight = most_in_flight(report).min(report.books.issued);
    let of = match report.arrival {
        Arrival::Closed if is_short_of_requests(report) => "from sending to the last byte".to_owned(),
        Arrival::Closed => {
            format!("from sending to the last byte, at {} in flight", format::count(in_flight))
        }
        _ => "from the moment a request was due to the last byte".to_owned(),
    };
    let is_any_wrong = report.books.errors.keys().any(|class| class.is_wrong_answer());
    if is_any_wrong { format!("{of}, without wrong answers") } else { of }
}

/// How many requests were to be in flight at most.
fn most_in_flight(report: &LoadReport) -> u64 {
    u64::from(report.connections) * u64::from(report.pipeline)
}

/// Whether a closed loop had fewer requests in flight than asked for, or mostly made connections.
fn is_short_of_requests(report: &LoadReport) -> bool {
    let told = report.checks.iter().find(|check| check.rule == Rule::InFlight);
    told.is_some_and(|check| check.outcome != CheckOutcome::Pass)
        || report.books.connections_opened > 2 * (u64::from(report.connections) + u64::from(report.idle))
}

/// What the generator holds against its own numbers, with the remedy.
fn objection(check: &Check) -> Line {
    let word = if check.outcome == CheckOutcome::Void { "void" } else { "caution" };
    let remedy = words::remedy(check).map_or_else(String::new, |remedy| format!(" — {remedy}"));
    (word, format!("{}{remedy}", words::evidence(check)))
}

/// What all checks together come to.
fn trust(report: &LoadReport) -> String {
    let count = |outcome| report.checks.iter().filter(|check| check.outcome == outcome).count();
    match (count(CheckOutcome::Void), count(CheckOutcome::Warn)) {
        (0, 0) if report.arrival == Arrival::Closed && report.books.issued < most_in_flight(report) => {
            format!(
                "too few requests for {} in flight: send more with -n, or use fewer connections",
                format::count(most_in_flight(report))
            )
        }
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
            format!(" of {}, {} each", report.protocol, words::counted(u64::from(n), "stream"))
        }
        0..=1 => String::new(),
        _ if report.websocket.is_some() => format!(" with {depth} messages in flight each"),
        _ => format!(", pipelined {depth} deep"),
    };
    let connections = words::counted(u64::from(report.connections), "connection");
    let idle = match report.idle {
        0 => String::new(),
        n => format!(" and {} idle ones", format::count(u64::from(n))),
    };
    format!(
        "{asked} at {} · {arrival}, {connections}{pipeline}{idle} · {} on CPU {}",
        report.target, report.engine, report.cpus
    )
}

/// How long requests took, those included of which it is only known that they took longer.
struct Durations {
    ended: Histogram,
    /// Times less what the generator was late; equal where nothing is due at a time.
    sent: Histogram,
    censored: Histogram,
}

/// The time that the arrival model can speak of, with its name.
fn headline(report: &LoadReport) -> Result<(&'static str, Durations), ReportError> {
    let Times { service, response, response_from_sent, censored } = Times::of(&report.latency)?;
    Ok(match response {
        Some(ended) => {
            let sent = response_from_sent.unwrap_or_else(|| ended.clone());
            ("response", Durations { ended, sent, censored })
        }
        None => ("service", Durations { sent: service.clone(), ended: service, censored }),
    })
}

fn quantiles(times: &Durations) -> String {
    if times.ended.is_empty() {
        return "no right answer, so no percentile".to_owned();
    }
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

/// Requests that were given up, where none came to a right end.
fn waited_in_vain(censored: &Histogram) -> Option<String> {
    let [least, most] = [censored.min()?, censored.max()?].map(|time| format::duration(time as f64));
    let after = if least == most { most } else { format!("{least} to {most}") };
    Some(match censored.count() {
        1 => format!("1 request was given up after {after}"),
        several => format!("{} requests were given up after {after}", format::count(several)),
    })
}

/// The classes of failed requests, where there are any.
fn failures(books: &Books) -> Option<Line> {
    (books.failed() > 0).then(|| ("errors", errors(books)))
}

/// A failure in words, with the beginning of what came where anything did.
fn failure(sample: &ErrorSample) -> String {
    match sample.received.as_str() {
        "" => sample.detail.clone(),
        received => format!("{}; received: {received}", sample.detail),
    }
}

/// What a wrong status says of the path that was asked for: nothing is there, or it leads elsewhere.
fn about_the_path(report: &LoadReport, asked: &Asked) -> Option<String> {
    let (path, place) = match &asked.authority {
        Some(_) => ("this path".to_owned(), "in the URL"),
        None => (format!("a path of {}", asked.words), "there"),
    };
    report.samples.iter().filter_map(wrong_status).find_map(|status| match status {
        404 => Some(format!("nothing is at {path}: give another {place}")),
        status if is_redirection(status) => Some(match redirected_to(report, asked) {
            Some(url) => format!("{path} is redirected: give {url} {place}"),
            None => format!("{path} is redirected: give the URL that it points to"),
        }),
        _ => None,
    })
}

/// The status of a wrong answer; a sample has it in words alone.
fn wrong_status(sample: &ErrorSample) -> Option<u16> {
    let is_meant = sample.class == ErrorClass::UnexpectedStatus;
    let (_, told) = sample.detail.split_once("got status ").filter(|_| is_meant)?;
    told.split_whitespace().next()?.parse().ok()
}

/// Where the answers before the load were redirected to; a path on the same server is made a whole URL.
fn redirected_to(report: &LoadReport, asked: &Asked) -> Option<String> {
    let location = report.learnt.iter().find_map(|learnt| learnt.location.as_deref())?;
    let is_path = location.starts_with('/') && !location.starts_with("//");
    let authority = asked.authority.as_ref().filter(|_| is_path);
    let scheme = report.target.split("://").next().unwrap_or("http");
    Some(
        authority
            .map_or_else(|| location.to_owned(), |authority| format!("{scheme}://{authority}{location}")),
    )
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
fn answers(learnt: &[Learnt]) -> impl Iterator<Item = String> {
    let is_one = learnt.len() == 1;
    learnt.iter().map(move |learnt| {
        let told = format!("{}: {}", words::held_in_words(learnt.held), words::described(learnt));
        let number = format::count(u64::from(learnt.request) + 1);
        if is_one { told } else { format!("of request {number}, {told}") }
    })
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
    (unjudged > 0).then(|| format!("the content of {} was not compared", format::count(unjudged)))
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
    let connections = u64::from(report.connections) + u64::from(report.idle);
    if connections >= MANY_CONNECTIONS {
        let grown = report.memory.ready_bytes.saturating_sub(report.memory.start_bytes);
        let each = format::bytes(grown / connections);
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
    fn without_a_right_answer_only_what_is_known_is_told() {
        let mut censored = Histogram::new();
        censored.record_n(5_020_000_000, 26);
        assert_eq!(waited_in_vain(&censored).as_deref(), Some("26 requests were given up after 5.02 s"));
        assert_eq!(waited_in_vain(&Histogram::new()), None);
        let times = Durations { ended: Histogram::new(), sent: Histogram::new(), censored };
        assert_eq!(quantiles(&times), "no right answer, so no percentile");
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
    fn memory_is_told_of_each_connection_whether_it_is_idle_or_not() {
        let with = |connections, idle| {
            let mut report = LoadReport { connections, idle, ..LoadReport::default() };
            report.memory.ready_bytes = 6_500_000;
            generator(&report)
        };
        assert!(with(1000, 9000).ends_with(" · 650 B of memory per connection"), "{}", with(1000, 9000));
        assert_eq!(with(10_000, 0), with(1000, 9000));
        assert_eq!(with(100, 9900), with(1000, 9000), "few of which are under load");
        assert!(!with(100, 100).contains("memory"), "{}", with(100, 100));
    }

    #[test]
    fn a_status_says_what_is_to_be_done_about_the_path() {
        let told = |status: u16, location: Option<&str>, authority: Option<&str>| {
            let sample = ErrorSample {
                class: ErrorClass::UnexpectedStatus,
                detail: format!("expected a status from 200 to 299, got status {status} with 2 bytes"),
                received: String::new(),
            };
            let learnt = Learnt { location: location.map(str::to_owned), ..Learnt::default() };
            let report = LoadReport {
                target: "http://127.0.0.1:80".to_owned(),
                samples: vec![sample],
                learnt: vec![learnt],
                ..LoadReport::default()
            };
            let asked = Asked { words: "users.toml".to_owned(), authority: authority.map(str::to_owned) };
            about_the_path(&report, &asked).unwrap_or_default()
        };
        let typed = Some("localhost:80");
        assert_eq!(told(404, None, typed), "nothing is at this path: give another in the URL");
        assert_eq!(told(404, None, None), "nothing is at a path of users.toml: give another there");
        for (location, url) in [("/new", "http://localhost:80/new"), ("https://a/b", "https://a/b")] {
            let words = format!("this path is redirected: give {url} in the URL");
            assert_eq!(told(302, Some(location), typed), words);
        }
        assert_eq!(told(301, None, typed), "this path is redirected: give the URL that it points to");
        for status in [200, 304, 401, 500] {
            assert_eq!(told(status, None, typed), "", "{status}: another path would not help");
        }
    }

    #[test]
    fn of_a_failure_at_which_nothing_came_nothing_is_shown() {
        let sample = |received: &str| {
            let (class, detail) = (ErrorClass::StreamReset, "the server reset the stream".to_owned());
            failure(&ErrorSample { class, detail, received: received.to_owned() })
        };
        assert_eq!(sample(""), "the server reset the stream");
        assert_eq!(sample("abc"), "the server reset the stream; received: abc");
    }

    #[test]
    fn no_more_are_said_to_be_in_flight_than_were_sent() {
        let mut report = LoadReport { connections: 64, pipeline: 1, ..LoadReport::default() };
        report.books.issued = 5;
        assert_eq!(meaning(&report), "from sending to the last byte, at 5 in flight");
        assert!(trust(&report).starts_with("too few requests for 64 in flight"), "{}", trust(&report));
        report.books.issued = 64;
        assert_eq!(meaning(&report), "from sending to the last byte, at 64 in flight");
        assert!(trust(&report).starts_with("nothing to object"), "{}", trust(&report));
    }

    #[test]
    fn of_bodies_that_were_judged_by_their_length_nothing_is_said_that_denies_it() {
        let unjudged = BodyChecks { unjudged: 7054, ..BodyChecks::default() };
        assert_eq!(bodies(&unjudged).as_deref(), Some("the content of 7,054 was not compared"));
        assert_eq!(bodies(&BodyChecks::default()), None);
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
