//! What the page shows before its script runs, or where none may: the verdict and the first table.

use std::fmt::Write as _;

use assay_model::record::Record;
use assay_model::verdict::{CellVerdict, Standing, Verdict};

use crate::foreign::markup;
use crate::standings::{Column, telling};
use crate::{notes, words};

/// The verdict in sentences and the standings of the first cell, as HTML without a script.
pub(crate) fn static_page(record: &Record, verdict: &Verdict) -> String {
    let mut sentences = words::sentences(record, verdict).into_iter();
    let mut out = format!("<main><h1>{}</h1>\n", markup(&sentences.next().unwrap_or_default()));
    for sentence in sentences {
        let _ = writeln!(out, "<p>{}</p>", markup(&sentence));
    }
    if let Some(cell) = verdict.cells.first() {
        out += &table(cell);
    }
    out + "<noscript><p class=\"notice\">The charts, the evidence and the other tables need JavaScript. Nothing is loaded \
           from a network.</p></noscript></main>"
}

fn table(cell: &CellVerdict) -> String {
    let columns: Vec<&Column> = telling(cell).filter(|column| column.in_markdown).collect();
    let heads: String =
        columns.iter().map(|column| format!("<th scope=\"col\">{}</th>", markup(column.head))).collect();
    let rows: String = cell.standings.iter().map(|standing| row(standing, &columns)).collect();
    format!(
        "<h2>{}</h2>\n<table><thead><tr><th scope=\"col\">contender</th>{heads}</tr></thead>\n<tbody>\n{rows}</tbody></table>\n",
        markup(&notes::cell_title(&cell.cell))
    )
}

fn row(standing: &Standing, columns: &[&Column]) -> String {
    let cells = match &standing.withheld {
        Some(reason) => {
            format!(
                "<td class=\"across\" colspan=\"{}\">withheld: {}</td>",
                columns.len(),
                markup(&words::withheld(reason))
            )
        }
        None => {
            columns.iter().map(|column| format!("<td>{}</td>", markup(&(column.text)(standing)))).collect()
        }
    };
    format!("<tr><th scope=\"row\">{}</th>{cells}</tr>\n", markup(&standing.contender))
}
