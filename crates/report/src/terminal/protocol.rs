//! What a protocol costs, a table for each pair of protocols.

use assay_model::record::Record;
use assay_model::verdict::ProtocolCost;

use super::Page;
use super::table::{Column, Row, table};
use crate::protocol::{self, ProtocolComparison};
use crate::{format, notes};

/// One pair of protocols.
pub(super) fn cost(page: &mut Page, record: &Record, comparison: &ProtocolComparison) {
    let column = |head: String, drop, text: &dyn Fn(&ProtocolCost) -> String| {
        Column::new(head, drop, comparison.rows.iter().map(|cost| page.spell(&text(cost))).collect())
    };
    let columns = vec![
        column("workload".to_owned(), 1, &|cost| protocol::place(&cost.cell)),
        column(format!("{}/s", comparison.protocol), 3, &|cost| protocol::rate_text(cost.per_second)),
        column(format!("{}/s", comparison.base), 3, &|cost| protocol::rate_text(cost.base_per_second)),
        column("ratio".to_owned(), 0, &|cost| protocol::ratio_texts(cost)[0].clone()),
        column("95 % interval".to_owned(), 2, &|cost| protocol::ratio_texts(cost)[1].clone()),
        column("p50 ratio".to_owned(), 4, &|cost| notes::or_dash(cost.p50_ratio, format::ratio)),
        column(format!("{} is", comparison.protocol), 5, &|cost| protocol::ratio_texts(cost)[2].clone()),
    ];
    let rows: Vec<Row<'_>> = (comparison.rows.iter())
        .map(|cost| Row { contender: &cost.contender, withheld: cost.withheld.as_ref() })
        .collect();
    table(page, record, &protocol::title(comparison), &rows, columns);
}
