//! What was measured at given rates: response times, and redlines.

use assay_model::record::Record;
use assay_model::verdict::{LatencyStanding, LatencyVerdict, RedlineStanding, RedlineVerdict};

use crate::table::{Column, Row, Table};
use crate::{format, notes};

/// The response times of one cell.
pub(crate) fn response_times<'v>(record: &Record, verdict: &'v LatencyVerdict) -> Table<'v, LatencyStanding> {
    let standings = &verdict.standings;
    let time = |q: f64| move |standing: &LatencyStanding| notes::quantile_text(standing, q);
    let has_failed = standings.iter().any(|standing| standing.failed > 0);
    Table::new("contender", standings, |of| Row::of(record, &of.contender, of.withheld.as_ref()))
        .column(Column::numbers("offered/s").drop(2), |of| {
            notes::or_dash(of.offered_per_second, format::rate)
        })
        .column(Column::numbers("of own").drop(4).in_files_as("of own capacity"), |of| {
            notes::or_dash(of.share_of_capacity, format::percent)
        })
        .column(Column::numbers("p50").drop(1), time(0.5))
        .column(Column::numbers("p90").drop(5), time(0.9))
        .column(Column::numbers("p99"), time(0.99))
        .column(Column::intervals("interval").drop(6), |of| notes::quantile_interval(of, 0.99))
        .column(Column::numbers("p99.9").drop(3), time(0.999))
        .column(Column::numbers("failed").drop(1).on_terminals_if(has_failed).in_files_if(false), |of| {
            format::count(of.failed)
        })
}

/// The redlines of one cell.
pub(crate) fn redlines<'v>(record: &Record, verdict: &'v RedlineVerdict) -> Table<'v, RedlineStanding> {
    let rate = |of: Option<f64>| notes::or_dash(of, format::rate);
    Table::new("contender", &verdict.standings, |of| Row::of(record, &of.contender, None))
        .column(Column::numbers("keeps/s"), |of| rate(of.kept_per_second))
        .column(Column::numbers("misses/s").drop(1), |of| rate(of.missed_per_second))
        .column(Column::numbers("of capacity").drop(2), |of| {
            notes::or_dash(of.share_of_capacity, format::percent)
        })
        .column(Column::numbers("recovers at").drop(4), |of| rate(of.recovered_per_second))
        .column(Column::numbers("trials").drop(5), |of| of.trials.to_string())
        .column(Column::numbers("servers").drop(6), |of| of.servers.to_string())
        .column(Column::labels("").drop(3), |of| notes::redline_end_in_words(of.end).to_owned())
}
