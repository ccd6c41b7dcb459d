//! What a proxy costs: the texts of every format.

use assay_model::experiment::Cell;
use assay_model::record::Record;
use assay_model::verdict::{AddedLatency, AddedQuantile, Call, Interval, ProxyCost, Verdict};

use crate::table::{Column, DASH, Row, Table, or_dash};
use crate::{format, titles};

/// All proxies in one cell, in the order of their throughput.
pub(crate) struct Costs<'v> {
    /// The cell.
    pub(crate) cell: &'v Cell,
    /// Each proxy.
    pub(crate) rows: Vec<&'v ProxyCost>,
}

/// The proxies of a verdict, cell by cell.
pub(crate) fn costs(verdict: &Verdict) -> Vec<Costs<'_>> {
    let mut all: Vec<Costs<'_>> = Vec::new();
    for cost in &verdict.proxy_cost {
        match all.iter_mut().find(|of| *of.cell == cost.cell) {
            Some(of) => of.rows.push(cost),
            None => all.push(Costs { cell: &cost.cell, rows: vec![cost] }),
        }
    }
    all
}

/// What proxies add in one cell at a rate.
pub(crate) struct Added<'v> {
    /// The cell.
    pub(crate) cell: &'v Cell,
    /// Each proxy.
    pub(crate) rows: Vec<&'v AddedLatency>,
    /// The percentiles that any of them tells, rising.
    pub(crate) quantiles: Vec<f64>,
}

/// What proxies add to response times, cell by cell.
pub(crate) fn added(verdict: &Verdict) -> Vec<Added<'_>> {
    let mut all: Vec<Added<'_>> = Vec::new();
    for added in &verdict.added_latency {
        match all.iter_mut().find(|of| *of.cell == added.cell) {
            Some(of) => of.rows.push(added),
            None => all.push(Added { cell: &added.cell, rows: vec![added], quantiles: Vec::new() }),
        }
    }
    for of in &mut all {
        of.quantiles = of.rows.iter().flat_map(|row| &row.quantiles).map(|one| one.quantile).collect();
        of.quantiles.sort_by(f64::total_cmp);
        of.quantiles.dedup();
    }
    all
}

/// What a table of throughputs shows.
pub(crate) fn cost_title(costs: &Costs<'_>) -> String {
    let straight = costs.rows.first().map_or("", |cost| cost.straight.as_str());
    format!("{}: through a proxy against {straight} alone in its place", titles::cell_title(costs.cell))
}

/// What a table of response times shows.
pub(crate) fn added_title(added: &Added<'_>) -> String {
    let (title, load) = (titles::cell_title(added.cell), titles::load_in_words(added.cell.offered));
    format!("{title}, {load}: added by a proxy to response times, through less straight")
}

/// The ratio, its interval, and what may be said of it.
fn ratio_texts(cost: &ProxyCost) -> [String; 3] {
    let Some(ratio) = &cost.ratio else { return [DASH, DASH, DASH].map(str::to_owned) };
    let told = format::percent_interval(ratio);
    let call = match cost.call {
        Some(Call::Distinct) if ratio.estimate > 1.0 => "faster",
        Some(Call::Distinct) => "slower",
        Some(Call::Equivalent) => "equal",
        Some(Call::Tie) => "not shown to differ",
        None => "one round",
    };
    [told.estimate, told.interval, call.to_owned()]
}

/// CPU time for a right answer, or a dash.
fn cpu_text(ns: Option<f64>) -> String {
    or_dash(ns, format::duration)
}

/// A throughput, or a dash.
fn rate_text(of: Option<Interval>) -> String {
    or_dash(of.map(|rate| rate.estimate), format::rate)
}

/// What a proxy adds at a percentile, and its interval.
fn added_texts(row: &AddedLatency, quantile: f64) -> [String; 2] {
    let told = |of: &AddedQuantile| {
        let told = format::added_duration(&of.added_ns);
        [told.estimate, told.interval]
    };
    let of = row.quantiles.iter().find(|of| of.quantile == quantile);
    of.map_or_else(|| [DASH, DASH].map(str::to_owned), told)
}

/// The table of throughputs.
pub(crate) fn cost_table<'v>(record: &Record, costs: &Costs<'v>) -> Table<'v, ProxyCost> {
    Table::new("proxy", costs.rows.iter().copied(), |of| Row::of(record, &of.contender, of.withheld.as_ref()))
        .column(Column::numbers("req/s").drop(3), |of| rate_text(of.per_second))
        .column(Column::numbers("alone").drop(4).in_files_as("alone req/s"), |of| {
            rate_text(of.straight_per_second)
        })
        .column(Column::numbers("share"), |of| ratio_texts(of)[0].clone())
        .column(Column::intervals("95 % interval").drop(2), |of| ratio_texts(of)[1].clone())
        .column(Column::numbers("cpu/req").drop(1).in_files_as("CPU/req"), |of| {
            cpu_text(of.cpu_per_request_ns)
        })
        .column(Column::numbers("upstream's").drop(1).in_files_as("upstream CPU/req"), |of| {
            cpu_text(of.upstream_cpu_per_request_ns)
        })
        .column(Column::labels("it is").drop(5).in_files_as("proxy is"), |of| ratio_texts(of)[2].clone())
}

/// The table of response times.
pub(crate) fn added_table<'v>(record: &Record, added: &Added<'v>) -> Table<'v, AddedLatency> {
    let rows = added.rows.iter().copied();
    let mut table = Table::new("proxy", rows, |of| Row::of(record, &of.contender, of.withheld.as_ref()))
        .column(Column::numbers("offered/s").drop(3).in_files_as("req/s"), |of| {
            format::rate(of.offered_per_second)
        });
    for &q in &added.quantiles {
        // The interval is what makes a difference one; of the percentiles the middle ones are given up first.
        let drop = if q == 0.5 || q == 0.99 { 0 } else { 2 };
        table = table
            .column(Column::numbers(quantile_name(q)).drop(drop), |of| added_texts(of, q)[0].clone())
            .column(Column::intervals("interval").drop(drop + 1), |of| added_texts(of, q)[1].clone());
    }
    table.column(Column::numbers("pairs").drop(4), |of| of.pairs.to_string())
}

/// A percentile as people call it: "p99.9".
pub(crate) fn quantile_name(quantile: f64) -> String {
    format!("p{}", format::percentile(quantile))
}
