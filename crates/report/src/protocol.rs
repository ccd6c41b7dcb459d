//! What a protocol costs, gathered by the pair of protocols: the data of the page's section and the texts of every format.

use assay_model::JsonSchema;
use assay_model::experiment::{Cell, Protocol};
use assay_model::record::Record;
use assay_model::verdict::{Call, Interval, ProtocolCost, Verdict};
use serde::Serialize;

use crate::format;
use crate::table::{Column, DASH, Row, Table, or_dash};

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
fn place(cell: &Cell) -> String {
    cell.over(Protocol::default()).to_string()
}

/// The ratio, its interval, and what may be said of it.
fn ratio_texts(cost: &ProtocolCost) -> [String; 3] {
    let Some(ratio) = &cost.ratio else { return [DASH, DASH, DASH].map(str::to_owned) };
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
fn rate_text(of: Option<Interval>) -> String {
    or_dash(of.map(|rate| rate.estimate), format::rate)
}

/// The table of one comparison.
pub(crate) fn table<'c>(record: &Record, comparison: &'c ProtocolComparison) -> Table<'c, ProtocolCost> {
    let ProtocolComparison { protocol, base, rows } = comparison;
    let per_second =
        |over: &Protocol| Column::numbers(format!("{over}/s")).drop(3).in_files_as(format!("{over} req/s"));
    Table::new("contender", rows, |cost| Row::of(record, &cost.contender, cost.withheld.as_ref()))
        .column(Column::labels("workload").drop(1).foreign().always_told(), |cost| place(&cost.cell))
        .column(per_second(protocol), |cost| rate_text(cost.per_second))
        .column(per_second(base), |cost| rate_text(cost.base_per_second))
        .column(Column::numbers("ratio"), |cost| ratio_texts(cost)[0].clone())
        .column(Column::intervals("95 % interval").drop(2), |cost| ratio_texts(cost)[1].clone())
        .column(Column::numbers("p50 ratio").drop(4), |cost| or_dash(cost.p50_ratio, format::ratio))
        .column(Column::labels(format!("{protocol} is")).drop(5), |cost| ratio_texts(cost)[2].clone())
}
