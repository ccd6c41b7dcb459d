//! What cells and loads are called: the titles of tables, and the parts of them that sentences have, too.

use assay_model::experiment::{ArrivalModel, Cell};
use assay_model::offered::Offered;
use assay_model::record::Record;

use crate::format;

/// A cell in a heading, without its load: `hello, 64 connections, user/ring`.
pub(crate) fn cell_title(cell: &Cell) -> String {
    let network = cell.network.map(|network| format!(", {network}")).unwrap_or_default();
    let protocol = if cell.protocol.is_plain() { String::new() } else { format!(", {}", cell.protocol) };
    format!("{}, {}{network}{protocol}", cell.workload, cell.connections_in_words())
}

/// What a table of response times shows: workload, connections, arrivals and load.
pub(crate) fn latency_title(record: &Record, cell: &Cell) -> String {
    let arrival = match record.experiment.arrival {
        ArrivalModel::Poisson => "Poisson",
        ArrivalModel::Constant => "even",
    };
    let load = match cell.offered {
        Offered::Capacity => "in a closed loop".to_owned(),
        Offered::Share(thousandths) => {
            format!("at {} of own capacity", format::percent(f64::from(thousandths) / 1000.0))
        }
        Offered::Common => "at a rate all can serve".to_owned(),
        Offered::Rate(per_second) => {
            format!("of {}/s", format::count(u64::from(per_second)))
        }
        Offered::Requests(n) => format!("of {} requests", format::count(u64::from(n))),
        Offered::Redline(slo) => format!("in search of the redline, {slo}"),
    };
    format!("{}: response time, {arrival} load {load}", cell_title(cell))
}

/// What a table of redlines shows.
pub(crate) fn redline_title(cell: &Cell) -> String {
    let objective = match cell.offered {
        Offered::Redline(slo) => slo.to_string(),
        other => other.to_string(),
    };
    format!("{}: highest rate that keeps {objective}", cell_title(cell))
}

/// How much is asked for, behind "at": `capacity`, `the common rate`, else as people write it.
pub(crate) fn load_in_words(offered: Offered) -> String {
    match offered {
        Offered::Capacity => "capacity".to_owned(),
        Offered::Common => "the common rate".to_owned(),
        other => other.to_string(),
    }
}

/// The TCP and the wire of a cell; nothing where that is not known.
pub(crate) fn network_text(record: &Record, cell: &Cell) -> String {
    record.network_of(cell).map_or_else(String::new, |network| network.to_string())
}
