//! `assay show`: a run's summary, computed again from its record.

use assay_lab::Exit;
use assay_lab::store::Store;
use assay_report::terminal::Style;
use assay_report::{export, terminal};
use assay_verdict::judge;

use crate::args::ShowArguments;
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(arguments: &ShowArguments) -> Result<Exit, Failure> {
    let record = Store::new(&arguments.places.runs).open(&arguments.run)?;
    let verdict = judge(&record)?;
    let text = if arguments.json {
        export::json(&record, &verdict)?
    } else {
        terminal::render(
            &record,
            &verdict,
            &Style { full: arguments.verbose, ..output::style(arguments.ascii) },
        )
    };
    output::result(&text);
    Ok(Exit::Ok)
}
