//! What a protocol costs, gathered by the pair of protocols: the data of the page's section and the texts of every format.

use assay_model::JsonSchema;
use assay_model::experiment::{Cell, Protocol};
use assay_model::record::Record;
use assay_model::verdict::{Call, Interval, ProtocolCost, Verdict};
use serde::Serialize;

use crate::{foreign, format, notes, words};

/// A protocol against the one that it runs over.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ProtocolComparison {
    /// The protocol: `h1+tls`.
    pub protocol: Protocol,
    /// The one beneath: `h1`.
    pub base: Protocol,
    /// Every contender in every cell, in the experiment's order.
    pub rows: Vec<ProtocolCost>,
}

/// All pairs of protocols that were compared, in the experiment's order.
pub(crate) fn comparisons(verdict: &Verdict) -> Vec<ProtocolComparison> {
    let mut all: Vec<ProtocolComparison> = Vec::new();
    for cost in &verdict.protocol_cost {
        let (protocol, base) = (cost.cell.protocol, cost.base);
        match all.iter_mut().find(|one| one.protocol == protocol && one.base == base) {
            Some(comparison) => comparison.rows.push(cost.clone()),
            None => all.push(ProtocolComparison { protocol, base, rows: vec![cost.clone()] }),
        }
    }
    all
}

/// What a table of one comparison shows.
pub(crate) fn title(comparison: &ProtocolComparison) -> String {
    format!("Protocol cost, {} against {}", comparison.protocol, comparison.base)
}

/// The cell without its protocol, which the title names.
pub(crate) fn place(cell: &Cell) -> String {
    cell.over(Protocol::default()).to_string()
}

/// The ratio, its interval, and what may be said of it.
pub(crate) fn ratio_texts(cost: &ProtocolCost) -> [String; 3] {
    let dash = || "–".to_owned();
    let Some(ratio) = &cost.ratio else { return [dash(), dash(), dash()] };
    let told = format::ratio_interval(ratio);
    let call = match cost.call {
        Some(Call::Distinct) if ratio.estimate > 1.0 => "faster".to_owned(),
        Some(Call::Distinct) => "slower".to_owned(),
        Some(Call::Equivalent) => "equal".to_owned(),
        Some(Call::Tie) => "not shown to differ".to_owned(),
        None => "one round".to_owned(),
    };
    [told.estimate, told.interval, call]
}

/// A throughput, or a dash.
pub(crate) fn rate_text(of: Option<Interval>) -> String {
    notes::or_dash(of.map(|rate| rate.estimate), format::rate)
}

/// The comparisons as Markdown tables.
pub(crate) fn markdown(record: &Record, verdict: &Verdict) -> String {
    comparisons(verdict).iter().map(|comparison| markdown_table(record, comparison)).collect()
}

fn markdown_table(record: &Record, comparison: &ProtocolComparison) -> String {
    let ProtocolComparison { protocol, base, rows } = comparison;
    let mut out = format!("\n### {}\n\n", title(comparison));
    out += &format!(
        "| contender | workload | {protocol} req/s | {base} req/s | ratio | 95 % interval | p50 ratio | {protocol} is |\n"
    );
    out += "|:--|:--|--:|--:|--:|:-:|--:|:--|\n";
    rows.iter().for_each(|cost| out += &markdown_row(record, cost));
    out
}

fn markdown_row(record: &Record, cost: &ProtocolCost) -> String {
    let limit = if notes::is_limit(record, &cost.contender) { " (limit)" } else { "" };
    let (name, place) = (foreign::markdown(&cost.contender), foreign::markdown(&place(&cost.cell)));
    if let Some(reason) = &cost.withheld {
        let reason = foreign::markdown(&words::withheld(reason));
        return format!("| {name}{limit} | {place} | withheld: {reason} | | | | | |\n");
    }
    let [ratio, interval, call] = ratio_texts(cost);
    format!(
        "| {name}{limit} | {place} | {} | {} | {ratio} | {interval} | {} | {call} |\n",
        rate_text(cost.per_second),
        rate_text(cost.base_per_second),
        notes::or_dash(cost.p50_ratio, format::ratio),
    )
}
