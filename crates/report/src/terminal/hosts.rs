//! The hosts of a run, a table of what each did.

use assay_model::record::Record;
use assay_model::verdict::Verdict;

use super::table::{Column, Row, table};
use super::{FAINT, Page, prose};
use crate::hosts;

/// All hosts; nothing where all was on one.
pub(super) fn table_of_hosts(page: &mut Page, record: &Record, verdict: &Verdict) {
    let all = hosts::hosts(record, verdict);
    if all.is_empty() {
        return;
    }
    let columns = hosts::COLUMNS.iter().map(|column| {
        let texts = all.iter().map(|host| page.spell(&(column.text)(host))).collect();
        Column::new(page.spell(column.head), column.drop, texts)
    });
    let columns = columns.collect();
    let rows: Vec<Row<'_>> =
        all.iter().map(|host| Row { contender: &host.standing.name, withheld: None }).collect();
    table(page, record, hosts::TITLE, &rows, columns);
    for note in hosts::footnotes(record, verdict) {
        prose::paragraph(page, "", FAINT, FAINT, &note);
    }
    page.line(&[]);
}
