//! What a proxy costs: the texts of every format.

use assay_model::experiment::Cell;
use assay_model::verdict::{AddedLatency, AddedQuantile, Call, Interval, ProxyCost, Verdict};

use crate::{foreign, format, notes, words};

/// Nothing is known.
const DASH: &str = "–";

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
    format!("{}: through a proxy against {straight} alone in its place", notes::cell_title(costs.cell))
}

/// What a table of response times shows.
pub(crate) fn added_title(added: &Added<'_>) -> String {
    let (title, load) = (notes::cell_title(added.cell), notes::load_in_words(added.cell.offered));
    format!("{title}, {load}: added by a proxy to response times, through less straight")
}

/// The ratio, its interval, and what may be said of it.
pub(crate) fn ratio_texts(cost: &ProxyCost) -> [String; 3] {
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
pub(crate) fn cpu_text(ns: Option<f64>) -> String {
    notes::or_dash(ns, format::duration)
}

/// A throughput, or a dash.
pub(crate) fn rate_text(of: Option<Interval>) -> String {
    notes::or_dash(of.map(|rate| rate.estimate), format::rate)
}

/// What a proxy adds at a percentile, and its interval.
pub(crate) fn added_texts(row: &AddedLatency, quantile: f64) -> [String; 2] {
    let told = |of: &AddedQuantile| {
        let told = format::added_duration(&of.added_ns);
        [told.estimate, told.interval]
    };
    let of = row.quantiles.iter().find(|of| of.quantile == quantile);
    of.map_or_else(|| [DASH, DASH].map(str::to_owned), told)
}

/// Both kinds of tables in Markdown.
pub(crate) fn markdown(verdict: &Verdict) -> String {
    let costs = costs(verdict).iter().map(markdown_costs).collect::<String>();
    costs + &added(verdict).iter().map(markdown_added).collect::<String>()
}

fn markdown_costs(costs: &Costs<'_>) -> String {
    let mut out = format!("\n### Proxies: {}\n\n", foreign::markdown(&cost_title(costs)));
    out +=
        "| proxy | req/s | alone req/s | share | 95 % interval | CPU/req | upstream CPU/req | proxy is |\n";
    out += "|:--|--:|--:|--:|:-:|--:|--:|:--|\n";
    for cost in &costs.rows {
        let name = foreign::markdown(&cost.contender);
        if let Some(reason) = &cost.withheld {
            let reason = foreign::markdown(&words::withheld(reason));
            out += &format!("| {name} | withheld: {reason} | | | | | | |\n");
            continue;
        }
        let [share, interval, call] = ratio_texts(cost);
        out += &format!(
            "| {name} | {} | {} | {share} | {interval} | {} | {} | {call} |\n",
            rate_text(cost.per_second),
            rate_text(cost.straight_per_second),
            cpu_text(cost.cpu_per_request_ns),
            cpu_text(cost.upstream_cpu_per_request_ns),
        );
    }
    out
}

fn markdown_added(added: &Added<'_>) -> String {
    let heads: String =
        added.quantiles.iter().map(|&q| format!(" {} | interval |", quantile_name(q))).collect();
    let mut out = format!("\n### Proxies: {}\n\n", foreign::markdown(&added_title(added)));
    out += &format!(
        "| proxy | req/s |{heads} pairs |\n|:--|--:|{}--:|\n",
        "--:|:-:|".repeat(added.quantiles.len())
    );
    for row in &added.rows {
        let name = foreign::markdown(&row.contender);
        if let Some(reason) = &row.withheld {
            let rest = " | |".repeat(added.quantiles.len());
            out +=
                &format!("| {name} | withheld: {} |{rest} |\n", foreign::markdown(&words::withheld(reason)));
            continue;
        }
        let told: String = (added.quantiles.iter())
            .map(|&q| {
                let [estimate, interval] = added_texts(row, q);
                format!(" {estimate} | {interval} |")
            })
            .collect();
        out += &format!("| {name} | {} |{told} {} |\n", format::rate(row.offered_per_second), row.pairs);
    }
    out
}

/// A percentile as people call it: "p99.9".
pub(crate) fn quantile_name(quantile: f64) -> String {
    format!("p{}", format::percentile(quantile))
}
