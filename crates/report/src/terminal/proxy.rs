//! What proxies cost: a table of throughputs for each cell, and one of response times for each rate.

use assay_model::record::Record;
use assay_model::verdict::{AddedLatency, ProxyCost};

use super::Page;
use super::table::{Column, Row, table};
use crate::format;
use crate::proxy::{self, Added, Costs};

/// Throughput through each proxy, and alone.
pub(super) fn costs(page: &mut Page, record: &Record, costs: &Costs<'_>) {
    let column = |head, drop, text: &dyn Fn(&ProxyCost) -> String| {
        Column::new(head, drop, costs.rows.iter().map(|cost| page.spell(&text(cost))).collect())
    };
    let columns = vec![
        column("req/s", 3, &|cost| proxy::rate_text(cost.per_second)),
        column("alone", 4, &|cost| proxy::rate_text(cost.straight_per_second)),
        column("share", 0, &|cost| proxy::ratio_texts(cost)[0].clone()),
        column("95 % interval", 2, &|cost| proxy::ratio_texts(cost)[1].clone()),
        column("cpu/req", 1, &|cost| proxy::cpu_text(cost.cpu_per_request_ns)),
        column("upstream's", 1, &|cost| proxy::cpu_text(cost.upstream_cpu_per_request_ns)),
        column("it is", 5, &|cost| proxy::ratio_texts(cost)[2].clone()),
    ];
    let rows: Vec<Row<'_>> = (costs.rows.iter())
        .map(|cost| Row { contender: &cost.contender, withheld: cost.withheld.as_ref() })
        .collect();
    table(page, record, &proxy::cost_title(costs), &rows, columns);
}

/// What each proxy adds to response times.
pub(super) fn added(page: &mut Page, record: &Record, added: &Added<'_>) {
    let column = |head: String, drop, text: &dyn Fn(&AddedLatency) -> String| {
        Column::new(head, drop, added.rows.iter().map(|row| page.spell(&text(row))).collect())
    };
    let mut columns = vec![column("offered/s".to_owned(), 3, &|row| format::rate(row.offered_per_second))];
    for &q in &added.quantiles {
        // The interval is what makes a difference one; of the percentiles the middle ones are given up first.
        let drop = if q == 0.5 || q == 0.99 { 0 } else { 2 };
        columns.push(column(proxy::quantile_name(q), drop, &|row| proxy::added_texts(row, q)[0].clone()));
        columns.push(column("interval".to_owned(), drop + 1, &|row| proxy::added_texts(row, q)[1].clone()));
    }
    columns.push(column("pairs".to_owned(), 4, &|row| row.pairs.to_string()));
    let rows: Vec<Row<'_>> = (added.rows.iter())
        .map(|row| Row { contender: &row.contender, withheld: row.withheld.as_ref() })
        .collect();
    table(page, record, &proxy::added_title(added), &rows, columns);
}
