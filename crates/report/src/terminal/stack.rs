//! What the stack costs, a table for each pair of networks.

use assay_model::record::Record;
use assay_model::verdict::{Interval, StackCost};

use super::Page;
use super::table::{Column, Row, table};
use crate::stack::{self, StackComparison, StackRow};
use crate::{format, notes};

/// One pair of networks.
pub(super) fn cost(page: &mut Page, record: &Record, comparison: &StackComparison) {
    let column = |head: String, drop, text: &dyn Fn(&StackCost) -> String| {
        let texts = comparison.rows.iter().map(|row| page.spell(&text(&row.cost))).collect();
        Column::new(head, drop, texts)
    };
    let rate = |of: Option<Interval>| notes::or_dash(of.map(|rate| rate.estimate), format::rate);
    let columns = vec![
        column("workload".to_owned(), 1, &|cost| stack::place(&cost.cell)),
        column(format!("{}/s", comparison.user), 3, &|cost| rate(cost.user_per_second)),
        column(format!("{}/s", comparison.kernel), 3, &|cost| rate(cost.kernel_per_second)),
        column("ratio".to_owned(), 0, &|cost| stack::ratio_texts(cost)[0].clone()),
        column("95 % interval".to_owned(), 2, &|cost| stack::ratio_texts(cost)[1].clone()),
        column("p50 ratio".to_owned(), 4, &|cost| notes::or_dash(cost.p50_ratio, format::ratio)),
        column("faster".to_owned(), 5, &|cost| stack::ratio_texts(cost)[2].clone()),
    ];
    let rows: Vec<Row<'_>> = (comparison.rows.iter())
        .map(|StackRow { cost, .. }| Row { contender: &cost.contender, withheld: cost.withheld.as_ref() })
        .collect();
    table(page, record, &format!("Stack cost, {}", stack::title(comparison)), &rows, columns);
}
