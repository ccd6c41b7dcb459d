//! What the stack costs, gathered by the pair of networks: the data of the page's section and the texts of every format.

use assay_model::JsonSchema;
use assay_model::experiment::Cell;
use assay_model::network::Network;
use assay_model::record::Record;
use assay_model::verdict::{Call, Crossing, Interval, StackCost, Verdict};
use serde::Serialize;

use crate::table::{Column, DASH, Row, Table, or_dash};
use crate::{format, words};

/// The user-space stack over one wire against the kernel's over another or the same kind.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StackComparison {
    /// The network of the user-space stack: `user/xdp`.
    pub user: Network,
    /// The network in words, both axes named.
    pub user_in_words: String,
    /// The network of the kernel's stack: `kernel/veth`.
    pub kernel: Network,
    /// The kernel's network in words.
    pub kernel_in_words: String,
    /// Whether both went over the same kind of wire, so that the stack alone differs.
    pub same_wire: bool,
    /// Every contender in every cell, in the experiment's order.
    pub rows: Vec<StackRow>,
    /// Where along a workload's number the one stack overtakes the other.
    pub crossings: Vec<Crossing>,
}

/// One contender in one cell on both networks.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StackRow {
    /// The comparison.
    #[serde(flatten)]
    pub cost: StackCost,
    /// The workload's number, where it is one of several that differ in it: the size of a body.
    pub number: Option<u32>,
    /// What those are called together; the workload's own name otherwise.
    pub family: String,
}

/// All pairs of networks that were compared, in the experiment's order.
pub(crate) fn comparisons(record: &Record, verdict: &Verdict) -> Vec<StackComparison> {
    let mut all: Vec<StackComparison> = Vec::new();
    for cost in &verdict.stack_cost {
        let Some(user) = cost.cell.network else { continue };
        let row = row(record, cost);
        match all.iter_mut().find(|one| one.user == user && one.kernel == cost.kernel) {
            Some(comparison) => comparison.rows.push(row),
            None => all.push(StackComparison {
                user,
                user_in_words: words::network_in_words(user, &record.host),
                kernel: cost.kernel,
                kernel_in_words: words::network_in_words(cost.kernel, &record.host),
                same_wire: cost.same_wire,
                rows: vec![row],
                crossings: Vec::new(),
            }),
        }
    }
    for comparison in &mut all {
        let is_its = |one: &&Crossing| one.user == comparison.user && one.kernel == comparison.kernel;
        comparison.crossings = verdict.crossings.iter().filter(is_its).cloned().collect();
    }
    all
}

fn row(record: &Record, cost: &StackCost) -> StackRow {
    let workload = record.workloads.iter().find(|workload| workload.name == cost.cell.workload);
    let family = workload.and_then(|workload| workload.family.as_ref());
    StackRow {
        cost: cost.clone(),
        number: family.map(|family| family.value),
        family: family.map_or_else(|| cost.cell.workload.clone(), |family| family.name.clone()),
    }
}

/// What a table of one comparison shows.
pub(crate) fn title(comparison: &StackComparison) -> String {
    let wire = if comparison.same_wire { "same kind of wire" } else { "another stack and another wire" };
    format!("Stack cost, {} against {}: {wire}", comparison.user, comparison.kernel)
}

/// The cell without its network, which the title names.
fn place(cell: &Cell) -> String {
    cell.on(None).to_string()
}

/// The ratio, its interval, and what may be said of it.
fn ratio_texts(cost: &StackCost) -> [String; 3] {
    let Some(ratio) = &cost.ratio else { return [DASH, DASH, DASH].map(str::to_owned) };
    let told = format::ratio_interval(ratio);
    let call = match cost.call {
        Some(Call::Distinct) if ratio.estimate > 1.0 => "user-space stack",
        Some(Call::Distinct) => "kernel's stack",
        Some(Call::Equivalent) => "equal",
        Some(Call::Tie) => "not shown to differ",
        None => "one round",
    };
    [told.estimate, told.interval, call.to_owned()]
}

/// The table of one comparison.
pub(crate) fn table<'c>(record: &Record, comparison: &'c StackComparison) -> Table<'c, StackRow> {
    let StackComparison { user, kernel, rows, .. } = comparison;
    let rate = |of: Option<Interval>| or_dash(of.map(|rate| rate.estimate), format::rate);
    let per_second = |network: &Network| {
        Column::numbers(format!("{network}/s")).drop(3).in_files_as(format!("{network} req/s"))
    };
    let ratio = |row: &StackRow, text: usize| ratio_texts(&row.cost)[text].clone();
    Table::new("contender", rows, |row| Row::of(record, &row.cost.contender, row.cost.withheld.as_ref()))
        .column(Column::labels("workload").drop(1).foreign().always_told(), |row| place(&row.cost.cell))
        .column(per_second(user), |row| rate(row.cost.user_per_second))
        .column(per_second(kernel), |row| rate(row.cost.kernel_per_second))
        .column(Column::numbers("ratio"), |row| ratio(row, 0))
        .column(Column::intervals("95 % interval").drop(2), |row| ratio(row, 1))
        .column(Column::numbers("p50 ratio").drop(4), |row| or_dash(row.cost.p50_ratio, format::ratio))
        .column(Column::labels("faster").drop(5), |row| ratio(row, 2))
}
