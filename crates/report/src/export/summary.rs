//! The verdict as a table for a spreadsheet: one row for each contender, cell and load.

use assay_model::experiment::Cell;
use assay_model::record::Record;
use assay_model::verdict::{
    AnsweredStanding, AnsweredVerdict, CellVerdict, Interval, LatencyStanding, LatencyVerdict,
    RedlineStanding, RedlineVerdict, ResponseQuantile, Standing, Verdict,
};

use super::unmeasured::{Unmeasured, is_redline_unknown, unmeasured};
use crate::standings::{COLUMNS, Value};
use crate::{foreign, titles, words};

const HEAD: [&str; 59] = [
    "run",
    "started_at",
    "imported_from",
    "experiment",
    "workload",
    "connections",
    "pipeline",
    "load",
    "network",
    "protocol",
    "contender",
    "language",
    "tier",
    "letters",
    "rounds",
    "per_second",
    "per_second_low",
    "per_second_high",
    "confidence",
    "share_of_limit",
    "share_of_limit_low",
    "share_of_limit_high",
    "service_p50_ns",
    "service_p99_ns",
    "service_p99_low_ns",
    "service_p99_high_ns",
    "offered_per_second",
    "response_p50_ns",
    "response_p50_is_lower_bound",
    "response_p99_ns",
    "response_p99_low_ns",
    "response_p99_high_ns",
    "response_p99_is_lower_bound",
    "response_p999_ns",
    "response_p999_is_lower_bound",
    "answered_shares",
    "slowest_ns",
    "requests",
    "unanswered",
    "kept_per_second",
    "missed_per_second",
    "recovered_per_second",
    "search",
    "cpu_per_request_ns",
    "price_per_million",
    "currency",
    "energy_per_request_uj",
    "energy_per_request_low_uj",
    "energy_per_request_high_uj",
    "idle_energy_per_request_uj",
    "memory_bytes",
    "startup_ns",
    "rules_kept",
    "rules_applicable",
    "failed",
    "limited_by",
    "headroom",
    "checks",
    "withheld",
];

/// A row under construction: figures by the names of their columns, so that none can slip into another's place.
struct Row {
    fields: [String; HEAD.len()],
}

/// One row for each contender in each cell, closed loops first, then numbers of requests, rates, redlines, and who was not measured
/// (RFC 4180). A number that is withheld or was not measured is absent, with the reason in `withheld`; intervals are absent where there
/// is a single figure, and an upper end where the figure is a lower bound. `search` tells how the search for a redline ended,
/// `answered_shares` what share was answered within each of the times that the experiment names: `MS=SHARE`, divided by spaces.
pub fn summary(record: &Record, verdict: &Verdict) -> String {
    let capacity = verdict
        .cells
        .iter()
        .flat_map(|cell| cell.standings.iter().map(|standing| capacity_row(record, verdict, cell, standing)));
    let counted = verdict
        .answered
        .iter()
        .filter(|cell| !cell.cell.offered.is_capacity())
        .flat_map(|cell| cell.standings.iter().map(|standing| answered_row(record, cell, standing)));
    let latency = verdict
        .latency
        .iter()
        .flat_map(|cell| cell.standings.iter().map(|standing| latency_row(record, cell, standing)));
    let redlines = verdict
        .redlines
        .iter()
        .flat_map(|cell| cell.standings.iter().map(|standing| redline_row(record, cell, standing)));
    let absent = unmeasured(record, verdict);
    let absent = absent.iter().map(|of| unmeasured_row(record, of));
    let rows = capacity.chain(counted).chain(latency).chain(redlines).chain(absent);
    let lines = rows.map(|row| row.fields.join(","));
    std::iter::once(HEAD.join(",")).chain(lines).map(|line| line + "\r\n").collect()
}

fn capacity_row(record: &Record, verdict: &Verdict, cell: &CellVerdict, standing: &Standing) -> Row {
    let mut row = Row::of(record, &cell.cell, &standing.contender);
    for (name, value) in COLUMNS.iter().flat_map(|column| column.fields) {
        match value(standing) {
            Some(Value::Figure(figure)) => row.put(name, Some(figure)),
            Some(Value::Words(words)) => row.text(name, &words),
            None => {}
        }
    }
    for of in verdict.answered.iter().filter(|of| of.cell == cell.cell) {
        let its = of.standings.iter().find(|its| its.contender == standing.contender);
        its.into_iter().for_each(|its| row.answered(of, its));
    }
    row
}

fn answered_row(record: &Record, cell: &AnsweredVerdict, standing: &AnsweredStanding) -> Row {
    let mut row = Row::of(record, &cell.cell, &standing.contender);
    row.put("rounds", Some(standing.rounds));
    row.answered(cell, standing);
    row.text("checks", &words::rules_text(standing.checks.iter().map(|check| check.rule)));
    row.text("withheld", &standing.withheld.as_ref().map(words::withheld).unwrap_or_default());
    row
}

fn latency_row(record: &Record, cell: &LatencyVerdict, standing: &LatencyStanding) -> Row {
    let mut row = Row::of(record, &cell.cell, &standing.contender);
    let quantile = |which: f64| {
        let told = standing.quantiles.iter().filter(|_| standing.withheld.is_none());
        told.into_iter().find(|one| one.quantile == which)
    };
    row.put("rounds", Some(standing.rounds));
    row.put("offered_per_second", standing.offered_per_second);
    row.percentile("response_p50", quantile(0.5));
    row.percentile("response_p99", quantile(0.99));
    row.percentile("response_p999", quantile(0.999));
    let energy = standing.energy.filter(|_| standing.withheld.is_none());
    row.interval("energy_per_request", "_uj", energy.map(|of| of.whole_uj));
    row.put("idle_energy_per_request_uj", energy.and_then(|of| of.idle_uj));
    row.put("failed", Some(standing.failed));
    row.text("checks", &words::rules_text(standing.checks.iter().map(|check| check.rule)));
    row.text("withheld", &standing.withheld.as_ref().map(words::withheld).unwrap_or_default());
    row
}

fn redline_row(record: &Record, cell: &RedlineVerdict, standing: &RedlineStanding) -> Row {
    let mut row = Row::of(record, &cell.cell, &standing.contender);
    let end = words::redline_end_in_words(standing.end);
    row.put("kept_per_second", standing.kept_per_second);
    row.put("missed_per_second", standing.missed_per_second);
    row.put("recovered_per_second", standing.recovered_per_second);
    row.text("search", if end.is_empty() { "confirmed" } else { end });
    row.text("withheld", if is_redline_unknown(standing) { end } else { "" });
    row
}

fn unmeasured_row(record: &Record, of: &Unmeasured<'_>) -> Row {
    let mut row = Row::of(record, &of.cell, of.contender);
    row.text("withheld", &of.reason());
    row
}

impl Row {
    fn of(record: &Record, cell: &Cell, contender: &str) -> Self {
        let mut row = Self { fields: std::array::from_fn(|_| String::new()) };
        let entry = record.entry_of(contender);
        row.text("run", &record.id);
        row.text("started_at", &record.started_at);
        row.text("imported_from", &record.imported.as_ref().map_or_else(String::new, ToString::to_string));
        row.text("experiment", &record.experiment.name);
        row.text("workload", &cell.workload);
        row.put("connections", Some(cell.connections));
        row.put("pipeline", Some(cell.pipeline));
        row.text("load", &cell.offered.to_string());
        row.text("network", &titles::network_text(record, cell));
        row.text("protocol", &cell.protocol.to_string());
        row.text("contender", contender);
        row.text("language", entry.map_or("", |entry| &entry.identity.language));
        row
    }

    fn text(&mut self, column: &str, text: &str) {
        self.set(column, foreign::csv(text));
    }

    /// A figure of ours.
    fn put(&mut self, column: &str, value: Option<impl ToString>) {
        self.set(column, value.map(|value| value.to_string()).unwrap_or_default());
    }

    fn set(&mut self, column: &str, field: String) {
        if let Some(index) = HEAD.iter().position(|head| *head == column) {
            self.fields[index] = field;
        }
    }

    /// A percentile; no upper end of one that is but a lower bound.
    fn percentile(&mut self, name: &str, of: Option<&ResponseQuantile>) {
        self.interval(name, "_ns", of.map(|of| of.response_ns));
        self.put(&format!("{name}_is_lower_bound"), of.map(|of| of.is_lower_bound));
        if of.is_some_and(|of| of.is_lower_bound) {
            self.put(&format!("{name}_high_ns"), None::<f64>);
        }
    }

    /// How soon a contender answered.
    fn answered(&mut self, cell: &AnsweredVerdict, standing: &AnsweredStanding) {
        let told = cell.within_ms.iter().zip(&standing.shares);
        let shares: Vec<String> = told.map(|(ms, share)| format!("{ms}={}", share.estimate)).collect();
        self.text("answered_shares", &shares.join(" "));
        self.put("slowest_ns", standing.slowest_ns);
        self.put("requests", Some(standing.requests));
        self.put("unanswered", Some(standing.unanswered));
    }

    /// Estimate and, where more than a single figure is known, both ends: `NAME`, `NAME_low`, `NAME_high`, each before the
    /// unit.
    fn interval(&mut self, name: &str, unit: &str, of: Option<Interval>) {
        let ends = of.filter(|of| of.confidence > 0.0);
        self.put(&format!("{name}{unit}"), of.map(|of| of.estimate));
        self.put(&format!("{name}_low{unit}"), ends.map(|of| of.low));
        self.put(&format!("{name}_high{unit}"), ends.map(|of| of.high));
    }
}
