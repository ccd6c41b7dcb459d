//! What was measured at given rates: response times, and redlines.

use assay_model::record::Record;
use assay_model::verdict::{LatencyStanding, LatencyVerdict, RedlineStanding, RedlineVerdict};

use crate::table::{Column, DASH, Row, Table, or_dash};
use crate::{format, words};

/// The response times of one cell.
pub(crate) fn response_times<'v>(record: &Record, verdict: &'v LatencyVerdict) -> Table<'v, LatencyStanding> {
    let standings = &verdict.standings;
    let time = |q: f64| move |standing: &LatencyStanding| quantile_text(standing, q);
    let has_failed = standings.iter().any(|standing| standing.failed > 0);
    Table::new("contender", standings, |of| Row::of(record, &of.contender, of.withheld.as_ref()))
        .column(Column::numbers("offered/s").drop(2), |of| or_dash(of.offered_per_second, format::rate))
        .column(Column::numbers("of own").drop(4).in_files_as("of own capacity"), |of| {
            or_dash(of.share_of_capacity, format::percent)
        })
        .column(Column::numbers("p50").drop(1), time(0.5))
        .column(Column::numbers("p90").drop(5), time(0.9))
        .column(Column::numbers("p99"), time(0.99))
        .column(Column::intervals("interval").drop(6), |of| quantile_interval(of, 0.99))
        .column(Column::numbers("p99.9").drop(3), time(0.999))
        .column(Column::numbers("failed").drop(1).on_terminals_if(has_failed).in_files_if(false), |of| {
            format::count(of.failed)
        })
}

/// The redlines of one cell.
pub(crate) fn redlines<'v>(record: &Record, verdict: &'v RedlineVerdict) -> Table<'v, RedlineStanding> {
    let rate = |of: Option<f64>| or_dash(of, format::rate);
    Table::new("contender", &verdict.standings, |of| Row::of(record, &of.contender, None))
        .column(Column::numbers("keeps/s"), |of| rate(of.kept_per_second))
        .column(Column::numbers("misses/s").drop(1), |of| rate(of.missed_per_second))
        .column(Column::numbers("of capacity").drop(2), |of| or_dash(of.share_of_capacity, format::percent))
        .column(Column::numbers("recovers at").drop(4), |of| rate(of.recovered_per_second))
        .column(Column::numbers("trials").drop(5), |of| of.trials.to_string())
        .column(Column::numbers("servers").drop(6), |of| of.servers.to_string())
        .column(Column::labels("").drop(3), |of| words::redline_end_in_words(of.end).to_owned())
}

/// A percentile of the response time: `0.34 ms`, `> 5.00 s` for a lower bound, a dash when it may not be told.
pub(crate) fn quantile_text(standing: &LatencyStanding, quantile: f64) -> String {
    let found = standing.quantiles.iter().find(|of| of.quantile == quantile);
    found.map_or_else(
        || DASH.to_owned(),
        |of| {
            let sign = if of.is_lower_bound { "> " } else { "" };
            format!("{sign}{}", format::duration(of.response_ns.estimate))
        },
    )
}

/// The interval of a percentile; that of a lower bound has no upper end.
fn quantile_interval(standing: &LatencyStanding, quantile: f64) -> String {
    let found = standing.quantiles.iter().find(|of| of.quantile == quantile);
    found.map_or_else(
        || DASH.to_owned(),
        |of| match of.is_lower_bound && of.response_ns.confidence > 0.0 {
            true => format!("[{} …]", format::duration(of.response_ns.low)),
            false => format::duration_interval(&of.response_ns).interval,
        },
    )
}
