//! Servers under several generators, a table for each cell.

use assay_model::cross_check::CrossCheck;
use assay_model::record::Record;

use super::table::{Column, Row, table};
use super::{FAINT, Page};
use crate::cross_check;

/// One cell.
pub(super) fn by_generator(page: &mut Page, record: &Record, crossed: &CrossCheck) {
    let columns = cross_check::COLUMNS.iter().map(|column| {
        let texts = crossed.standings.iter().map(|standing| page.spell(&(column.text)(standing))).collect();
        Column::new(page.spell(column.head), column.drop, texts)
    });
    let columns = columns.collect();
    let rows: Vec<Row<'_>> = (crossed.standings.iter())
        .map(|standing| Row { contender: &standing.contender, withheld: None })
        .collect();
    table(page, record, &cross_check::title(crossed), &rows, columns);
    for note in cross_check::footnotes(crossed) {
        page.line(&[(FAINT, &format!(" {note}"))]);
    }
    page.line(&[]);
}
