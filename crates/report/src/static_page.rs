//! What the page shows before its script runs, or where none may: the verdict and the first table.

use std::fmt::Write as _;

use assay_model::record::Record;
use assay_model::verdict::Verdict;

use crate::foreign::markup;
use crate::{notes, standings, words};

/// The verdict in sentences and the standings of the first cell, as HTML without a script.
pub(crate) fn static_page(record: &Record, verdict: &Verdict) -> String {
    let mut sentences = words::sentences(record, verdict).into_iter();
    let mut out = format!("<main><h1>{}</h1>\n", markup(&sentences.next().unwrap_or_default()));
    for sentence in sentences {
        let _ = writeln!(out, "<p>{}</p>", markup(&sentence));
    }
    if let Some(cell) = verdict.cells.first() {
        let title = markup(&notes::cell_title(&cell.cell));
        let _ = write!(out, "<h2>{title}</h2>\n{}", standings::table(record, cell).html());
    }
    out + "<noscript><p class=\"notice\">The charts, the evidence and the other tables need JavaScript. Nothing is loaded \
           from a network.</p></noscript></main>"
}
