//! The columns of a standings table that fit.

use assay_model::verdict::{CellVerdict, Standing};

use super::GAP;
use crate::standings::{self, telling};
use crate::text;

/// One column, measured for one cell's standings.
pub(super) struct Column {
    pub(super) of: &'static standings::Column,
    pub(super) width: usize,
}

/// The columns that fit into `room`, each with its gap before it; `spell` gives a text its final form.
pub(super) fn fitting(cell: &CellVerdict, room: usize, spell: impl Fn(&str) -> String) -> Vec<Column> {
    let mut chosen: Vec<Column> =
        telling(cell).map(|column| measured(column, &cell.standings, &spell)).collect();
    let total = |chosen: &[Column]| -> usize { chosen.iter().map(|c| GAP.len() + c.width).sum() };
    while chosen.len() > 1 && total(&chosen) > room {
        let Some(worst) = (0..chosen.len()).max_by_key(|&i| chosen[i].of.drop) else { break };
        chosen.remove(worst);
    }
    chosen
}

fn measured(
    column: &'static standings::Column,
    standings: &[Standing],
    spell: impl Fn(&str) -> String,
) -> Column {
    let shown = standings.iter().filter(|standing| standing.withheld.is_none());
    let widest = shown.map(|standing| text::width(&spell(&(column.text)(standing)))).max().unwrap_or(0);
    Column { of: column, width: widest.max(column.head.len()) }
}

impl Column {
    /// A text filled up to the column's width.
    pub(super) fn align(&self, text: &str) -> String {
        let space = " ".repeat(self.width.saturating_sub(text::width(text)));
        if self.of.is_text { format!("{text}{space}") } else { format!("{space}{text}") }
    }
}
