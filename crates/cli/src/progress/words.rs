//! What is told of a run that goes on, in words.

use std::time::Duration;

use assay_model::experiment::Cell;
use assay_model::setting::Setting;
use assay_report::format;

/// A span as people say it: `45 s`, `3:05 min`.
pub(crate) fn clock(span: Duration) -> String {
    let seconds = span.as_secs_f64().round() as u64;
    if seconds < 60 { format!("{seconds} s") } else { format!("{}:{:02} min", seconds / 60, seconds % 60) }
}

/// What is said of a database that could not be removed.
pub(crate) fn left_in_words(problem: &str) -> String {
    format!("{problem}; `assay clean --database URL` removes it")
}

/// Half-width of a typical ratio's interval. Two rounds can leave it beyond any use; then it is not a figure yet.
pub(super) fn precision_so_far(half_width: f64) -> String {
    if half_width > 1.0 {
        "precision not known yet".to_owned()
    } else {
        format!("precision so far ±{}", format::percent(half_width))
    }
}

pub(super) fn cell_name(cell: &Cell) -> String {
    let load = if cell.offered.is_capacity() { String::new() } else { format!(", load {}", cell.offered) };
    let setting = cell.setting();
    let on = if setting == Setting::USUAL { String::new() } else { format!(" on {setting}") };
    format!("{} at {}{on}{load}", cell.workload, cell.connections_in_words())
}

/// What happened, and in which setting where it concerns but one.
pub(super) fn on(what: &str, setting: Option<&Setting>) -> String {
    setting.map_or_else(|| what.to_owned(), |setting| format!("{what} on {setting}"))
}
