//! What the page shows before its script runs, or where none may: the verdict and the first table.

use std::fmt::Write as _;

use assay_model::record::Record;
use assay_model::verdict::Verdict;

use crate::foreign::markup;
use crate::table::scrolling;
use crate::{sentences, standings, titles};

/// The verdict in sentences and the standings of the first cell, as HTML without a script.
pub(crate) fn static_page(record: &Record, verdict: &Verdict) -> String {
    let mut sentences = sentences::of_run(record, verdict).into_iter();
    let mut out = format!("<main><h1>{}</h1>\n", prose(&sentences.next().unwrap_or_default()));
    for sentence in sentences {
        let _ = writeln!(out, "<p>{}</p>", prose(&sentence));
    }
    if let Some(cell) = verdict.cells.first() {
        let title = titles::cell_title(&cell.cell);
        let (place, table) = (scrolling(&title), standings::table(record, cell).html());
        let _ = writeln!(out, "<h2>{}</h2>\n{place}\n{table}</div>", markup(&title));
    }
    out + "<noscript><p class=\"notice\">The charts, the evidence and the other tables need JavaScript. Nothing is loaded \
           from a network.</p></noscript></main>"
}

/// A sentence in which commands stand between quotation marks, where the script would set them off. No text of a record brings a tag.
fn prose(sentence: &str) -> String {
    let pieces = sentence.split('`').enumerate();
    let quoted = pieces.map(|(place, piece)| match place {
        0 => piece.to_owned(),
        place if place % 2 == 1 => format!("“{piece}"),
        _ => format!("”{piece}"),
    });
    markup(&quoted.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::prose;

    #[test]
    fn commands_stand_between_quotation_marks() {
        assert_eq!(prose("`assay show --why` tells <it>."), "“assay show --why” tells &lt;it&gt;.");
        assert_eq!(prose("no command"), "no command");
    }
}
