//! A run as OpenMetrics text, for a time series database that follows results over months.
//!
//! The format: OpenMetrics 1.0 (github.com/prometheus/OpenMetrics, specification/OpenMetrics.md). Every figure is a gauge of
//! its own, in the base unit that its name ends with; the ends of an interval are gauges too, because a label `bound` would
//! invite to sums over it. A number that is withheld has no sample, and `assay_withheld` says so.

use std::fmt::Write as _;

use assay_model::check::CheckOutcome;
use assay_model::experiment::Cell;
use assay_model::record::Record;
use assay_model::verdict::{Interval, RedlineStanding, Standing, Verdict};

use super::unmeasured::{is_redline_unknown, unmeasured};
use crate::{foreign, titles};

/// A family under construction: samples of one name stand together.
struct Family {
    name: &'static str,
    unit: &'static str,
    help: &'static str,
    samples: Vec<(Vec<(&'static str, String)>, f64)>,
}

type Labels = Vec<(&'static str, String)>;

/// The whole exposition, with `# EOF`. Labels of all figures: run, contender, workload, connections, pipeline, load, network and protocol.
pub fn openmetrics(record: &Record, verdict: &Verdict) -> String {
    let mut out = String::new();
    info(record, &mut out);
    for family in run_families(record, verdict).iter().chain(&capacity(record, verdict)) {
        family.write(&mut out);
    }
    let others = [answered(record, verdict), latency(record, verdict), redlines(record, verdict)];
    for family in others.iter().flatten() {
        family.write(&mut out);
    }
    withheld(record, verdict).write(&mut out);
    out + "# EOF\n"
}

/// What identifies the run and decides whether two can be compared.
fn info(record: &Record, out: &mut String) {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let imported = record.imported.as_ref().map(ToString::to_string).unwrap_or_default();
    let labels: Labels = vec![
        ("run", record.id.clone()),
        ("experiment", record.experiment.name.clone()),
        ("version", record.assay.version.clone()),
        ("cpu", text(&record.host.cpu_model)),
        ("kernel", text(&record.host.kernel)),
        ("link", record.link_text()),
        ("imported_from", imported),
    ];
    out.push_str("# TYPE assay_run info\n# HELP assay_run What was run where; imported_from is empty for what was measured here.\n");
    let _ = writeln!(out, "assay_run_info{} 1", braces(&labels));
}

fn run_families(record: &Record, verdict: &Verdict) -> Vec<Family> {
    let run: Labels = vec![("run", record.id.clone())];
    let mut started =
        Family::new("assay_run_start_timestamp_seconds", "seconds", "When the run began, Unix time.");
    if let Some(seconds) = unix_seconds(&record.started_at) {
        started.add(run.clone(), Some(seconds));
    }
    let mut rounds = Family::new("assay_rounds", "", "Rounds that count.");
    rounds.add(run.clone(), Some(f64::from(verdict.rounds)));
    let mut checks =
        Family::new("assay_check", "", "Checks over the whole run: 0 passed, 1 warning, 2 void.");
    for check in &verdict.trust {
        let outcome = match check.outcome {
            CheckOutcome::Pass => 0.0,
            CheckOutcome::Warn => 1.0,
            CheckOutcome::Void => 2.0,
        };
        checks.add([run.as_slice(), &[("rule", check.rule.to_string())]].concat(), Some(outcome));
    }
    vec![started, rounds, checks]
}

/// A figure of a standing: name, unit, help, and the value where it may be told.
type Figure = (&'static str, &'static str, &'static str, fn(&Standing) -> Option<f64>);

const FIGURES: [Figure; 13] = [
    (
        "assay_throughput_requests_per_second",
        "requests_per_second",
        "Right answers per second in a typical round.",
        |s| s.throughput_per_second.map(|of| of.estimate),
    ),
    ("assay_throughput_low_requests_per_second", "requests_per_second", "Lower end of its interval.", |s| {
        end(s.throughput_per_second, |of| of.low)
    }),
    ("assay_throughput_high_requests_per_second", "requests_per_second", "Upper end of its interval.", |s| {
        end(s.throughput_per_second, |of| of.high)
    }),
    ("assay_share_of_limit_ratio", "ratio", "Throughput over that of the machine's limit, 0 to 1.", |s| {
        s.share_of_limit.map(|of| of.estimate)
    }),
    ("assay_tier", "", "Tier, 1 is the fastest.", |s| s.tier.map(f64::from)),
    (
        "assay_service_time_median_seconds",
        "seconds",
        "Service time in a closed loop, 50th percentile.",
        |s| known(s, s.p50_ns.map(|of| of.estimate / 1e9)),
    ),
    ("assay_service_time_p99_seconds", "seconds", "Service time in a closed loop, 99th percentile.", |s| {
        known(s, s.p99_ns.map(|of| of.estimate / 1e9))
    }),
    ("assay_cpu_per_request_seconds", "seconds", "CPU time of the server for one right answer.", |s| {
        known(s, s.cpu_per_request_ns.map(|ns| ns / 1e9))
    }),
    ("assay_memory_bytes", "bytes", "Memory of the server at a window's end, median over the rounds.", |s| {
        known(s, s.memory_bytes.map(|bytes| bytes as f64))
    }),
    ("assay_startup_seconds", "seconds", "From start to the first right answer.", |s| {
        known(s, s.startup_ns.map(|ns| ns / 1e9))
    }),
    ("assay_rules_kept", "", "Rules of HTTP/1.1 and of the test types that are kept.", |s| {
        s.conformance.map(|score| f64::from(score.kept))
    }),
    ("assay_rules_applicable", "", "Rules that apply.", |s| {
        s.conformance.map(|score| f64::from(score.applicable))
    }),
    ("assay_failed_requests", "requests", "Failed requests over all rounds.", |s| Some(s.failed as f64)),
];

/// Of each contender in each cell at capacity.
fn capacity(record: &Record, verdict: &Verdict) -> Vec<Family> {
    let family = |(name, unit, help, figure): Figure| {
        let mut family = Family::new(name, unit, help);
        for cell in &verdict.cells {
            for standing in &cell.standings {
                family.add(labels(record, &cell.cell, &standing.contender), figure(standing));
            }
        }
        family
    };
    FIGURES.into_iter().map(family).collect()
}

/// Of each contender in each cell at a given rate.
fn latency(record: &Record, verdict: &Verdict) -> Vec<Family> {
    let mut offered =
        Family::new("assay_offered_requests_per_second", "requests_per_second", "Offered load.");
    let mut response = Family::new(
        "assay_response_time_seconds",
        "seconds",
        "Response time from the intended time, by quantile; assay_response_time_is_lower_bound tells bounds.",
    );
    let mut bound = Family::new(
        "assay_response_time_is_lower_bound",
        "",
        "1 where the quantile reaches requests that were given up, so that the truth may be greater.",
    );
    for cell in &verdict.latency {
        for standing in cell.standings.iter().filter(|standing| standing.withheld.is_none()) {
            let own = labels(record, &cell.cell, &standing.contender);
            offered.add(own.clone(), standing.offered_per_second);
            for one in &standing.quantiles {
                let labels = [own.as_slice(), &[("quantile", one.quantile.to_string())]].concat();
                response.add(labels.clone(), Some(one.response_ns.estimate / 1e9));
                bound.add(labels, Some(f64::from(u8::from(one.is_lower_bound))));
            }
        }
    }
    vec![offered, response, bound]
}

/// Of each contender in each closed loop that ends with a number of requests, or whose experiment names times.
fn answered(record: &Record, verdict: &Verdict) -> Vec<Family> {
    let mut shares = Family::new(
        "assay_answered_ratio",
        "ratio",
        "Share of all requests that were answered rightly within so many milliseconds, 0 to 1.",
    );
    let mut slowest =
        Family::new("assay_slowest_answer_seconds", "seconds", "Slowest right answer of all rounds.");
    let mut unanswered = Family::new(
        "assay_unanswered_requests",
        "requests",
        "Requests that failed or were given up, over all rounds.",
    );
    for cell in &verdict.answered {
        for standing in &cell.standings {
            let own = labels(record, &cell.cell, &standing.contender);
            for (ms, share) in cell.within_ms.iter().zip(&standing.shares) {
                let labels = [own.as_slice(), &[("within_ms", ms.to_string())]].concat();
                shares.add(labels, Some(share.estimate));
            }
            slowest.add(own.clone(), standing.slowest_ns.map(|ns| ns / 1e9));
            unanswered.add(own, Some(standing.unanswered as f64));
        }
    }
    vec![shares, slowest, unanswered]
}

/// A figure of a redline: as [`Figure`].
type RedlineFigure = (&'static str, &'static str, &'static str, fn(&RedlineStanding) -> Option<f64>);

const REDLINE_FIGURES: [RedlineFigure; 4] = [
    (
        "assay_redline_kept_requests_per_second",
        "requests_per_second",
        "Highest rate known to keep the objective that the load names.",
        |s| s.kept_per_second,
    ),
    (
        "assay_redline_missed_requests_per_second",
        "requests_per_second",
        "Lowest rate known to miss it.",
        |s| s.missed_per_second,
    ),
    (
        "assay_redline_recovered_requests_per_second",
        "requests_per_second",
        "Highest rate that kept it again after an overload, 0 for none.",
        |s| s.recovered_per_second,
    ),
    (
        "assay_redline_settled",
        "",
        "1 where the search came to its end, 0 where the rates are the best known.",
        |s| Some(f64::from(u8::from(s.is_settled()))),
    ),
];

/// Of each contender whose redline was searched.
fn redlines(record: &Record, verdict: &Verdict) -> Vec<Family> {
    let family = |(name, unit, help, figure): RedlineFigure| {
        let mut family = Family::new(name, unit, help);
        for cell in &verdict.redlines {
            for standing in &cell.standings {
                family.add(labels(record, &cell.cell, &standing.contender), figure(standing));
            }
        }
        family
    };
    REDLINE_FIGURES.into_iter().map(family).collect()
}

/// Where there is no number to be believed, of everybody who was to be measured.
fn withheld(record: &Record, verdict: &Verdict) -> Family {
    let mut family = Family::new(
        "assay_withheld",
        "",
        "1 where there is no number to be believed: it is withheld, or nothing was measured.",
    );
    let mut add = |cell: &Cell, contender: &str, is_withheld: bool| {
        family.add(labels(record, cell, contender), Some(f64::from(u8::from(is_withheld))));
    };
    for of in &verdict.cells {
        of.standings.iter().for_each(|one| add(&of.cell, &one.contender, one.withheld.is_some()));
    }
    // Shares of loops at capacity are beside these.
    for of in verdict.answered.iter().filter(|of| !of.cell.offered.is_capacity()) {
        of.standings.iter().for_each(|one| add(&of.cell, &one.contender, one.withheld.is_some()));
    }
    for of in &verdict.latency {
        of.standings.iter().for_each(|one| add(&of.cell, &one.contender, one.withheld.is_some()));
    }
    for of in &verdict.redlines {
        of.standings.iter().for_each(|one| add(&of.cell, &one.contender, is_redline_unknown(one)));
    }
    unmeasured(record, verdict).iter().for_each(|of| add(&of.cell, of.contender, true));
    family
}

fn labels(record: &Record, cell: &Cell, contender: &str) -> Labels {
    vec![
        ("run", record.id.clone()),
        ("contender", contender.to_owned()),
        ("workload", cell.workload.clone()),
        ("connections", cell.connections.to_string()),
        ("pipeline", cell.pipeline.to_string()),
        ("load", cell.offered.to_string()),
        ("network", titles::network_text(record, cell)),
        ("protocol", cell.protocol.to_string()),
    ]
}

/// A measured number that goes with a throughput is withheld with it.
fn known(standing: &Standing, value: Option<f64>) -> Option<f64> {
    value.filter(|_| standing.withheld.is_none())
}

/// The end of an interval; none where a single figure is all that is known.
fn end(of: Option<Interval>, which: fn(Interval) -> f64) -> Option<f64> {
    of.filter(|of| of.confidence > 0.0).map(which)
}

impl Family {
    fn new(name: &'static str, unit: &'static str, help: &'static str) -> Self {
        Self { name, unit, help, samples: Vec::new() }
    }

    fn add(&mut self, labels: Labels, value: Option<f64>) {
        self.samples.extend(value.filter(|value| value.is_finite()).map(|value| (labels, value)));
    }

    /// Nothing for a family without samples.
    fn write(&self, out: &mut String) {
        let Self { name, unit, help, samples } = self;
        if samples.is_empty() {
            return;
        }
        let _ = writeln!(out, "# TYPE {name} gauge");
        if !unit.is_empty() {
            let _ = writeln!(out, "# UNIT {name} {unit}");
        }
        let _ = writeln!(out, "# HELP {name} {help}");
        for (labels, value) in samples {
            let _ = writeln!(out, "{name}{} {value}", braces(labels));
        }
    }
}

/// Labels with their values, in braces.
fn braces(labels: &Labels) -> String {
    let pairs: Vec<String> =
        labels.iter().map(|(name, value)| format!("{name}=\"{}\"", foreign::label(value))).collect();
    format!("{{{}}}", pairs.join(","))
}

/// Seconds since 1970 of `YYYY-MM-DDThh:mm:ssZ`, by the civil calendar (days since a 1 March, 400-year eras).
fn unix_seconds(rfc3339: &str) -> Option<f64> {
    let number = |range: std::ops::Range<usize>| rfc3339.get(range)?.parse::<i64>().ok();
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
    let year = if month <= 2 { year - 1 } else { year };
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = year.div_euclid(400) * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    Some((days * 86_400 + hour * 3600 + minute * 60 + second) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_unix_times() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", 0.0),
            ("2000-02-29T12:00:01Z", 951_825_601.0),
            ("2026-11-20T22:07:31Z", 1_795_212_451.0),
        ] {
            assert_eq!(unix_seconds(text), Some(seconds), "{text}");
        }
        assert_eq!(unix_seconds("yesterday"), None);
    }

    #[test]
    fn label_values_cannot_leave_their_quotes() {
        let labels = vec![("a", "x\"} 1\n\\".to_owned())];
        assert_eq!(braces(&labels), r#"{a="x\"} 1\n\\"}"#);
    }
}
