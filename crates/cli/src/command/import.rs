//! `assay import`: somebody else's results as a record, a summary and a page.

use assay_lab::store::Store;
use assay_lab::{Exit, techempower};
use assay_report::{export, html, terminal};
use assay_verdict::judge;

use crate::args::ImportArguments;
use crate::failure::Failure;
use crate::{command, output};

pub(crate) fn run(arguments: &ImportArguments) -> Result<Exit, Failure> {
    let store = Store::new(&arguments.places.runs);
    let words = command::run::own_command();
    let metadata = arguments.metadata.as_deref();
    let record = techempower::import(&arguments.file, metadata, &store, words, command::run::program())?;
    let verdict = judge(&record)?;
    output::result(&if arguments.json {
        export::json(&record, &verdict)?
    } else {
        terminal::render(&record, &verdict, &output::style(arguments.ascii))
    });
    let folder = arguments.places.runs.join(&record.id);
    assay_file::write_here(&folder.join("report.html"), html::page(&record, &verdict)?.as_bytes())?;
    output::note(format_args!("imported as {}; page {}", record.id, folder.join("report.html").display()));
    Ok(Exit::Ok)
}
