//! `assay export`: a run for other programs.

use assay_lab::store::Store;
use assay_lab::{Exit, verdict};
use assay_model::record::Record;
use assay_report::export;

use crate::args::{ExportArguments, Format};
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(arguments: &ExportArguments) -> Result<Exit, Failure> {
    let record = Store::new(&arguments.places.runs).open(&arguments.run)?;
    output::result(&text(&record, arguments.format)?);
    Ok(Exit::Ok)
}

/// The run in `format`.
pub(crate) fn text(record: &Record, format: Format) -> Result<String, Failure> {
    Ok(match format {
        Format::Json => export::json(record, &verdict::judge(record))?,
        Format::Csv => export::csv(record)?,
        Format::Md => export::markdown(record, &verdict::judge(record)),
    })
}
