//! What was measured at given rates: response times, and redlines.

use assay_model::record::Record;
use assay_model::verdict::{LatencyStanding, LatencyVerdict, RedlineStanding, RedlineVerdict};

use super::Page;
use super::table::{Column, Row, table};
use crate::{format, notes};

/// The response times of one cell.
pub(super) fn response_times(page: &mut Page, record: &Record, verdict: &LatencyVerdict) {
    let standings = &verdict.standings;
    let column = |head, drop, text: &dyn Fn(&LatencyStanding) -> String| {
        Column::new(head, drop, standings.iter().map(|standing| page.spell(&text(standing))).collect())
    };
    let time = |q: f64| move |standing: &LatencyStanding| notes::quantile_text(standing, q);
    let mut columns = vec![
        column("offered/s", 2, &|standing| format::rate(standing.offered_per_second)),
        column("of own", 4, &|standing| notes::or_dash(standing.share_of_capacity, format::percent)),
        column("p50", 1, &time(0.5)),
        column("p90", 5, &time(0.9)),
        column("p99", 0, &time(0.99)),
        column("interval", 6, &|standing| notes::quantile_interval(standing, 0.99)),
        column("p99.9", 3, &time(0.999)),
    ];
    if standings.iter().any(|standing| standing.failed > 0) {
        columns.push(column("failed", 1, &|standing| format::count(standing.failed)));
    }
    let rows: Vec<Row<'_>> = (standings.iter())
        .map(|standing| Row { contender: &standing.contender, withheld: standing.withheld.as_ref() })
        .collect();
    table(page, record, &notes::latency_title(record, &verdict.cell), &rows, columns);
}

/// The redlines of one cell.
pub(super) fn redlines(page: &mut Page, record: &Record, verdict: &RedlineVerdict) {
    let standings = &verdict.standings;
    let column = |head, drop, text: &dyn Fn(&RedlineStanding) -> String| {
        Column::new(head, drop, standings.iter().map(|standing| page.spell(&text(standing))).collect())
    };
    let columns = vec![
        column("keeps/s", 0, &|standing| notes::or_dash(standing.kept_per_second, format::rate)),
        column("misses/s", 1, &|standing| notes::or_dash(standing.missed_per_second, format::rate)),
        column("of capacity", 2, &|standing| notes::or_dash(standing.share_of_capacity, format::percent)),
        column("recovers at", 4, &|standing| notes::or_dash(standing.recovered_per_second, format::rate)),
        column("trials", 5, &|standing| standing.trials.to_string()),
        column("servers", 6, &|standing| standing.servers.to_string()),
        column("", 3, &|standing| notes::redline_end_in_words(standing.end).to_owned()),
    ];
    let rows: Vec<Row<'_>> =
        standings.iter().map(|standing| Row { contender: &standing.contender, withheld: None }).collect();
    table(page, record, &notes::redline_title(&verdict.cell), &rows, columns);
}
