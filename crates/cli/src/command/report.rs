//! `assay report`: a run's page, computed again from its record.

use std::path::Path;

use assay_lab::store::Store;
use assay_lab::{Exit, verdict};
use assay_report::html;

use crate::args::ReportArguments;
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(arguments: &ReportArguments) -> Result<Exit, Failure> {
    let store = Store::new(&arguments.places.runs);
    let record = store.open(&arguments.run)?;
    let page = html::page(&record, &verdict::judge(&record))?;
    let path = match &arguments.output {
        Some(path) => path.clone(),
        None => beside(&store.resolve(&arguments.run)?),
    };
    write(&path, &page)?;
    output::note(format_args!("report {}", path.display()));
    Ok(Exit::Ok)
}

/// Writes a file whole or not at all.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let aside = path.with_extension("part");
    std::fs::write(&aside, text)
        .and_then(|()| std::fs::rename(&aside, path))
        .inspect_err(|_| drop(std::fs::remove_file(&aside)))
        .map_err(|e| Failure::write(path, e))
}

/// `report.html` beside the record.
fn beside(record: &Path) -> std::path::PathBuf {
    record.with_file_name("report.html")
}
