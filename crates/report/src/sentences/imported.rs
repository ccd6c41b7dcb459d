//! Figures that somebody else measured, in sentences.

use assay_model::imported::Imported;
use assay_model::verdict::CellVerdict;

use crate::words::{ALONE, count_of};

/// What they are, and who has the greatest.
pub(super) fn sentences(imported: &Imported, cells: &[CellVerdict]) -> Vec<String> {
    let mut sentences = vec![format!("{}.", opening(imported)), format!("{ALONE}.")];
    sentences.extend(cells.iter().filter_map(|cell| greatest(cell, cells)));
    sentences
}

fn opening(imported: &Imported) -> String {
    let text = imported.to_string();
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// One sentence for each workload, at the number of connections where its greatest figure is.
fn greatest(cell: &CellVerdict, all: &[CellVerdict]) -> Option<String> {
    let rate = |cell: &CellVerdict| cell.standings.first()?.throughput_per_second.map(|rate| rate.estimate);
    let own = rate(cell)?;
    let alike = all.iter().filter(|other| other.cell.workload == cell.cell.workload);
    if alike.filter_map(rate).any(|other| other > own) {
        return None;
    }
    let best = cell.standings.first()?;
    let connections = count_of(cell.cell.connections as usize, "connection");
    Some(format!("Greatest on {}, at {connections}: {}.", cell.cell.workload, best.contender))
}
