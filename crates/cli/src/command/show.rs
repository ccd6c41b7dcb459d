//! `assay show`: a run's summary, computed again from its record.

use assay_lab::Exit;
use assay_lab::store::Store;
use assay_model::record::Record;
use assay_model::verdict::Verdict;
use assay_report::terminal::Style;
use assay_report::{export, terminal};
use assay_verdict::judge;

use crate::args::ShowArguments;
use crate::failure::Failure;
use crate::{command, output};

pub(crate) fn run(arguments: &ShowArguments) -> Result<Exit, Failure> {
    let store = Store::new(&arguments.places.runs);
    let record = store.open(&arguments.run)?;
    let verdict = judge(&record)?;
    let style = Style { full: arguments.verbose, ..output::style(arguments.ascii) };
    let text = match (arguments.json, arguments.why) {
        (true, _) => export::json(&record, &verdict)?,
        (false, true) => command::explanation::text(&record, &verdict, &style)?,
        (false, false) => summary(&record, &verdict, &store, &style),
    };
    output::result(&text);
    Ok(Exit::Ok)
}

/// A run's summary, in the light of the runs before it.
pub(crate) fn summary(record: &Record, verdict: &Verdict, store: &Store, style: &Style) -> String {
    terminal::render_after(record, verdict, &store.conformance_before(record), style)
}
