//! A table of contenders with a heading, in which columns that do not fit are left out.

use anstyle::Style as Ansi;
use assay_model::record::Record;

use assay_model::evidence::Withheld;

use super::{CAUTION, FAINT, GAP, HEADING, NAME_WIDTH, PLAIN, Page};
use crate::text::{elide, width};
use crate::{notes, words};

/// A column: its head, how gladly it is given up (the highest first), and its texts, one for each row.
pub(super) struct Column {
    head: String,
    drop: u8,
    texts: Vec<String>,
}

/// Who a row is about, and why there is nothing to tell, if so.
pub(super) struct Row<'a> {
    pub(super) contender: &'a str,
    pub(super) withheld: Option<&'a Withheld>,
}

/// Writes the table and an empty line.
pub(super) fn table(page: &mut Page, record: &Record, title: &str, rows: &[Row<'_>], columns: Vec<Column>) {
    let names: Vec<String> = rows.iter().map(|row| page.title(record, row.contender)).collect();
    let name_width = names.iter().map(|name| width(name)).max().unwrap_or(0).clamp(10, NAME_WIDTH);
    let columns = fitting(columns, page.style.width.saturating_sub(1 + name_width));
    let title = format!(" {}", page.spell(title));
    page.line(&[(HEADING, &elide(&title, page.style.width, page.ellipsis()))]);
    let heads = columns.iter().map(|column| column.align(&column.head)).collect::<String>();
    page.line(&[(FAINT, &format!(" {:name_width$}{heads}", ""))]);
    for (index, (row, name)) in rows.iter().zip(&names).enumerate() {
        let name = elide(name, name_width, page.ellipsis());
        let name = format!(" {name}{}", " ".repeat(name_width.saturating_sub(width(&name))));
        match row.withheld {
            Some(reason) => withheld(page, &name, &words::withheld(reason)),
            None => {
                let texts =
                    columns.iter().map(|column| column.align(&column.texts[index])).collect::<String>();
                let ansi: Ansi = if notes::is_limit(record, row.contender) { FAINT } else { PLAIN };
                page.line(&[(ansi, &name), (ansi, &texts)]);
            }
        }
    }
    page.line(&[]);
}

fn withheld(page: &mut Page, name: &str, reason: &str) {
    let room = page.style.width.saturating_sub(width(name) + GAP.len());
    let reason = elide(&page.spell(&format!("withheld: {reason}")), room, page.ellipsis());
    page.line(&[(PLAIN, name), (PLAIN, GAP), (CAUTION, &reason)]);
}

/// The columns that fit into `room`.
fn fitting(mut columns: Vec<Column>, room: usize) -> Vec<Column> {
    while columns.len() > 1 && columns.iter().map(Column::width).sum::<usize>() > room {
        let Some(worst) = (0..columns.len()).max_by_key(|&index| columns[index].drop) else { break };
        columns.remove(worst);
    }
    columns
}

impl Column {
    /// A column whose texts are already spelt as the terminal can show them.
    pub(super) fn new(head: impl Into<String>, drop: u8, texts: Vec<String>) -> Self {
        Self { head: head.into(), drop, texts }
    }

    /// With the gap before it.
    fn width(&self) -> usize {
        let widest = self.texts.iter().map(|text| width(text)).max().unwrap_or(0);
        GAP.len() + widest.max(width(&self.head))
    }

    fn align(&self, text: &str) -> String {
        format!("{}{text}", " ".repeat(self.width().saturating_sub(width(text))))
    }
}
