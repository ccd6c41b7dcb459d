//! Files for other programs and places: Markdown for a pull request, CSV for a spreadsheet, JSON for a script, JUnit for a
//! continuous integration server, OpenMetrics for a time series database, a drawing of the standings for a README.

mod badge;
mod junit;
mod openmetrics;
mod summary;

pub use badge::{Choice, badge};
pub use junit::junit;
pub use openmetrics::openmetrics;
pub use summary::summary;

use assay_model::check::Outcome;
use assay_model::experiment::Cell;
use assay_model::load::Arrival;
use assay_model::record::{Measurement, Record, Run};
use assay_model::usage::Usage;
use assay_model::verdict::{CellVerdict, Interval, LatencyVerdict, RedlineVerdict, Standing, Verdict};
use serde::Serialize;

use crate::absent::absent;
use crate::{ReportError, beside, format, notes, page, stack, text};

/// Name and version of the format that [`json`] writes.
pub const REPORT_SCHEMA: &str = "assay-report/1";

/// Record and verdict as one JSON document.
///
/// # Errors
/// [`ReportError::Json`] when a value cannot be written.
pub fn json(record: &Record, verdict: &Verdict) -> Result<String, ReportError> {
    #[derive(Serialize)]
    struct Document<'a> {
        schema: &'static str,
        verdict: &'a Verdict,
        record: &'a Record,
    }
    Ok(serde_json::to_string_pretty(&Document { schema: REPORT_SCHEMA, verdict, record })? + "\n")
}

/// The standings, what they are worth, and how to repeat them, as GitHub-flavoured Markdown.
pub fn markdown(record: &Record, verdict: &Verdict) -> String {
    let mut out = String::new();
    for (i, sentence) in verdict.sentences.iter().enumerate() {
        let sentence = cell_text(sentence);
        out += &if i == 0 { format!("**{sentence}**\n") } else { format!("{sentence}\n") };
    }
    if let Some(state) = notes::state_in_words(record.state) {
        out += &format!("Partial: {state}.\n");
    }
    for cell in &verdict.cells {
        out += &markdown_standings(record, cell);
    }
    for cell in &verdict.latency {
        out += &markdown_latency(record, cell);
    }
    verdict.redlines.iter().for_each(|cell| out += &markdown_redlines(cell));
    verdict.answered.iter().for_each(|cell| out += &beside::markdown_answered(cell));
    verdict.published.iter().for_each(|published| out += &beside::markdown(published));
    out += &stack::markdown(record, verdict);
    out += &markdown_notes(record, verdict);
    if record.imported.is_some() {
        return out;
    }
    let facts = format!(
        "{} rounds, differences under {} count as none; assay {}, seed {}",
        verdict.rounds,
        format::percent(verdict.margin),
        record.assay.version,
        record.seed
    );
    out + &format!("\n<sub>{}. Repeat with `{}`</sub>\n", cell_text(&facts), text::shell(&record.command))
}

fn markdown_standings(record: &Record, cell: &CellVerdict) -> String {
    let in_flight = cell.cell.in_flight();
    let mut out = format!("\n### {}\n\n", notes::cell_title(&cell.cell));
    out += &format!(
        "| tier | contender | req/s | 95 % interval | of limit | p50 at {in_flight} in flight | p99 | cpu/req | rss | conform | limited by |\n"
    );
    out += "|--:|:--|--:|:-:|--:|--:|--:|--:|--:|--:|:--|\n";
    for standing in &cell.standings {
        out += &markdown_row(record, standing);
    }
    out
}

fn markdown_row(record: &Record, standing: &Standing) -> String {
    let name = cell_text(&standing.contender);
    if let Some(reason) = &standing.withheld {
        return format!("| – | {name} | withheld: {} | | | | | | | | |\n", cell_text(reason));
    }
    let limit = if notes::is_limit(record, &standing.contender) { " (limit)" } else { "" };
    let throughput = standing.throughput_per_second.map(|of| format::rate_interval(&of));
    let [rate, mut interval] = throughput.map_or_else(dashes, |of| [of.estimate, of.interval]);
    if let Some(trimmed) = standing.trimmed_mean_per_second {
        interval += &format!(", trimmed mean {}", format::rate(trimmed));
    }
    let duration = |of: Option<Interval>| or_dash(of.map(|of| format::duration(of.estimate)));
    format!(
        "| {} | {name}{limit} | {rate} | {interval} | {} | {} | {} | {} | {} | {} | {} |\n",
        or_dash(standing.tier.map(|tier| tier.to_string())),
        or_dash(standing.share_of_limit.map(|of| format::percent(of.estimate))),
        duration(standing.p50_ns),
        duration(standing.p99_ns),
        or_dash(standing.cpu_per_request_ns.map(format::duration)),
        or_dash(standing.rss_peak_bytes.map(format::bytes)),
        or_dash(standing.conformance.map(|score| format::score(&score))),
        notes::limit_in_words(standing.limited_by),
    )
}

fn markdown_latency(record: &Record, verdict: &LatencyVerdict) -> String {
    let mut out = format!("\n### {}\n\n", notes::latency_title(record, &verdict.cell));
    out += "| contender | offered/s | of own capacity | p50 | p90 | p99 | interval | p99.9 |\n";
    out += "|:--|--:|--:|--:|--:|--:|:-:|--:|\n";
    for standing in &verdict.standings {
        let name = cell_text(&standing.contender);
        if let Some(reason) = &standing.withheld {
            out += &format!("| {name} | withheld: {} | | | | | | |\n", cell_text(reason));
            continue;
        }
        let limit = if notes::is_limit(record, &standing.contender) { " (limit)" } else { "" };
        out += &format!(
            "| {name}{limit} | {} | {} | {} | {} | {} | {} | {} |\n",
            format::rate(standing.offered_per_second),
            or_dash(standing.share_of_capacity.map(format::percent)),
            notes::quantile_text(standing, 0.5),
            notes::quantile_text(standing, 0.9),
            notes::quantile_text(standing, 0.99),
            notes::quantile_interval(standing, 0.99),
            notes::quantile_text(standing, 0.999),
        );
    }
    out
}

fn markdown_redlines(verdict: &RedlineVerdict) -> String {
    let mut out = format!("\n### {}\n\n", cell_text(&notes::redline_title(&verdict.cell)));
    out += "| contender | keeps/s | misses/s | of capacity | recovers at | trials | servers | |\n";
    out += "|:--|--:|--:|--:|--:|--:|--:|:--|\n";
    for standing in &verdict.standings {
        out += &format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} |\n",
            cell_text(&standing.contender),
            notes::or_dash(standing.kept_per_second, format::rate),
            notes::or_dash(standing.missed_per_second, format::rate),
            notes::or_dash(standing.share_of_capacity, format::percent),
            notes::or_dash(standing.recovered_per_second, format::rate),
            standing.trials,
            standing.servers,
            notes::redline_end_in_words(standing.end),
        );
    }
    out
}

fn markdown_notes(record: &Record, verdict: &Verdict) -> String {
    let mut lines = Vec::new();
    for warning in notes::warnings(verdict) {
        let label = if warning.outcome == Outcome::Void { "Void" } else { "Warning" };
        let places = notes::places_in_words(&warning.places);
        let places = if places.is_empty() { places } else { format!(" [{places}]") };
        let remedy = warning.remedy.map(|remedy| format!(" → {remedy}")).unwrap_or_default();
        lines.push(format!("- **{label}**: {}", cell_text(&format!("{}{places}{remedy}", warning.evidence))));
    }
    for (name, rules) in notes::broken_rules(record) {
        lines.push(format!("- **{}**: {}", cell_text(name), cell_text(&rules)));
    }
    for absent in absent(record) {
        let round = absent.round.map(|round| format!(" in round {}", round + 1)).unwrap_or_default();
        let remedy = absent.why.remedy.as_ref().map(|remedy| format!(" → {remedy}")).unwrap_or_default();
        let what = format!("{}{round}: {}{remedy}", absent.stage(), absent.why.reason);
        lines.push(format!("- **{}**: {}", cell_text(&absent.who()), cell_text(&what)));
    }
    if lines.is_empty() { String::new() } else { format!("\n{}\n", lines.join("\n")) }
}

/// Text that stays one cell and one line, and is read as text.
pub(crate) fn cell_text(raw: &str) -> String {
    let mut safe = String::with_capacity(raw.len());
    for c in text::harmless(raw).chars() {
        match c {
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' => safe.extend(['\\', c]),
            '<' => safe.push_str("&lt;"),
            c => safe.push(c),
        }
    }
    safe
}

fn or_dash(value: Option<String>) -> String {
    value.unwrap_or_else(|| "–".to_owned())
}

fn dashes() -> [String; 2] {
    [or_dash(None), or_dash(None)]
}

const CSV_HEAD: &str = "run,round,place,contender,stack_wire,workload,connections,pipeline,load,offset_ns,window_ns,ok,failed,\
    per_second,offered_per_second,service_p50_ns,service_p99_ns,response_p50_ns,response_p99_ns,server_cpu_ns,\
    server_system_ns,server_busiest_thread_ns,server_voluntary_switches,server_involuntary_switches,\
    server_page_faults,server_rss_peak_bytes,startup_ns,server_idle_share,server_other_share,steal_share,\
    cpu_pressure_share,tcp_retransmits,listen_overflows,generator_busy_share,generator_delay_share,void,failure,\
    rules_kept,rules_applicable,rules_broken,published_per_second\r\n";
/// Columns between the cell's and `failure`: what a window that was not measured leaves empty.
const CSV_FIGURES: usize = 27;

/// One row per contender (a twin counts as one), cell and round, raw (RFC 4180). A planned window that was not measured has a row too, with the
/// reason in `failure`; `void` holds the rules that a window broke, `rules_broken` those of HTTP/1.1 that the contender does;
/// `published_per_second` is the figure of the work that the experiment repeats.
///
/// # Errors
/// [`ReportError::Histogram`] when a histogram of the record cannot be read.
pub fn csv(record: &Record) -> Result<String, ReportError> {
    let mut out = CSV_HEAD.to_owned();
    for round in &record.rounds {
        for (place, run) in round.runs.iter().enumerate() {
            let key = |cell: &Cell| {
                let place = place.to_string();
                let network = record.network_of(cell).to_string();
                [&record.id, &round.index.to_string(), &place, &run.contender, &network, &cell.workload]
                    .map(|text| field(text))
                    .join(",")
                    + &format!(",{},{},{}", cell.connections, cell.pipeline, field(&cell.offered.to_string()))
            };
            let rules = csv_rules(record, &run.contender);
            let published = |cell: &Cell| {
                let figure = beside::published_per_second(&record.experiment, &run.contender, cell);
                figure.map(|figure| figure.to_string()).unwrap_or_default()
            };
            for measurement in &run.cells {
                out += &format!(
                    "{},{},{rules},{}\r\n",
                    key(&measurement.cell),
                    csv_numbers(run, round.index, measurement)?,
                    published(&measurement.cell)
                );
            }
            if let Some(failure) = &run.failure {
                let why = field(&format!("{}: {}", notes::stage_in_words(failure.stage), failure.reason));
                for cell in page::missing_cells(record, run) {
                    out += &format!(
                        "{},{}{why},{rules},{}\r\n",
                        key(&cell),
                        ",".repeat(CSV_FIGURES),
                        published(&cell)
                    );
                }
            }
        }
    }
    Ok(out)
}

fn csv_rules(record: &Record, contender: &str) -> String {
    let entry = record.contenders.iter().find(|entry| entry.name == contender);
    let Some(conformance) = entry.and_then(|entry| entry.conformance.as_ref()) else {
        return ",,".to_owned();
    };
    let broken: Vec<&str> = conformance.broken().map(|finding| finding.rule.as_str()).collect();
    let score = conformance.score();
    format!("{},{},{}", score.kept, score.applicable, field(&broken.join(" ")))
}

fn csv_numbers(run: &Run, round: u32, measurement: &Measurement) -> Result<String, ReportError> {
    let load = &measurement.load;
    let service = page::service(run, round, measurement)?;
    let response = page::response(run, round, measurement)?;
    let offered = match load.arrival {
        Arrival::Closed => String::new(),
        Arrival::Constant { per_second } | Arrival::Poisson { per_second } => per_second.to_string(),
    };
    let number = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
    let server = |of: fn(&Usage) -> u64| number(measurement.server.as_ref().map(of));
    let machine = &measurement.machine;
    let busiest = load.thread_busy_shares.iter().copied().fold(0.0, f64::max);
    let fields = [
        measurement.offset_ns.0.to_string(),
        load.window_ns.0.to_string(),
        load.window.ok.to_string(),
        load.window.errors.values().sum::<u64>().to_string(),
        page::per_second(measurement).to_string(),
        offered,
        number(service.quantile(0.5)),
        number(service.quantile(0.99)),
        number(response.quantile(0.5)),
        number(response.quantile(0.99)),
        server(|usage| usage.cpu_ns().0),
        server(|usage| usage.system_ns.0),
        number(measurement.server.as_ref().and_then(|usage| usage.busiest_thread_ns).map(|ns| ns.0)),
        server(|usage| usage.voluntary_switches),
        server(|usage| usage.involuntary_switches),
        server(|usage| usage.minor_faults + usage.major_faults),
        server(|usage| usage.rss_peak_bytes),
        run.startup_ns.0.to_string(),
        machine.server_idle_share.to_string(),
        machine.server_other_share.to_string(),
        machine.steal_share.to_string(),
        machine.cpu_pressure_share.map(|share| share.to_string()).unwrap_or_default(),
        machine.tcp_retransmits.to_string(),
        machine.listen_overflows.to_string(),
        busiest.to_string(),
        measurement.generator_delay_share().to_string(),
        field(&measurement.void_rules().join(" ")),
        String::new(),
    ];
    Ok(fields.join(","))
}

/// A text as a CSV field: quoted where needed, and led by an apostrophe where a spreadsheet would take it for a formula.
fn field(text: &str) -> String {
    let text = if text.starts_with(['=', '+', '-', '@']) { format!("'{text}") } else { text.to_owned() };
    let needs_quotes = text.contains([',', '"', '\r', '\n']);
    if needs_quotes { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_fields_survive_spreadsheets() {
        assert_eq!(field("plain"), "plain");
        assert_eq!(field("a,\"b\"\n"), "\"a,\"\"b\"\"\n\"");
        assert_eq!(field("=1+1"), "'=1+1");
    }

    #[test]
    fn markdown_text_cannot_leave_its_cell() {
        assert_eq!(cell_text("a|b\n<img> `x`"), "a\\|b &lt;img> \\`x\\`");
    }
}
