//! The hosts of a run, each with what is known of it.

use assay_model::JsonSchema;
use assay_model::record::Record;
use assay_model::verdict::Verdict;
use serde::Serialize;

use crate::hosts;

/// The hosts of a run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HostTable {
    /// The heads of all columns behind the host's name.
    pub heads: Vec<String>,
    /// Each host, the servers' first.
    pub rows: Vec<HostRow>,
    /// What must be known of them, in words.
    pub notes: Vec<String>,
}

/// One host.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HostRow {
    /// The host's name.
    pub name: String,
    /// What stands in each column.
    pub texts: Vec<String>,
    /// Whether it was late or lost, or its answers are not those of the others.
    pub is_odd: bool,
}

/// The table; absent where all was on one host.
pub(super) fn host_table(record: &Record, verdict: &Verdict) -> Option<HostTable> {
    let all = hosts::hosts(record, verdict);
    let columns = hosts::table(&all).columns;
    let row = |(index, host): (usize, &hosts::Host<'_>)| HostRow {
        name: host.standing.name.clone(),
        texts: columns.iter().map(|column| column.texts[index].clone()).collect(),
        is_odd: host.standing.is_odd(),
    };
    let rows: Vec<HostRow> = all.iter().enumerate().map(row).collect();
    let heads = columns.iter().map(|column| column.head.clone()).collect();
    (!rows.is_empty()).then(|| HostTable { heads, rows, notes: hosts::footnotes(record, verdict) })
}
