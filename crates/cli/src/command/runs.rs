//! `assay list runs`: what was measured, newest last.

use assay_lab::LabError;
use assay_lab::store::{Store, read_record};
use assay_report::foreign;
use assay_report::listing::{self, Entry};
use assay_verdict::judge;

use crate::args::ListArguments;
use crate::failure::Failure;
use crate::output;

/// Runs that are shown unless all are asked for: a screen of them, because each record is read and judged.
const LATEST: usize = 12;

pub(super) fn run(arguments: &ListArguments) -> Result<(), Failure> {
    let store = Store::new(&arguments.places.runs);
    let ids = store.ids();
    let earlier = if arguments.all { 0 } else { ids.len().saturating_sub(LATEST) };
    let entries: Vec<Entry> = ids[earlier..].iter().filter_map(|id| entry(&store, id)).collect();
    if arguments.json {
        let text = serde_json::to_string_pretty(&entries).map_err(|e| Failure::Bug(e.to_string()))?;
        output::result(&(foreign::json(&text) + "\n"));
    } else {
        output::result(&listing::text(&entries, &output::style(arguments.ascii)));
    }
    if earlier > 0 {
        output::note(format_args!("{earlier} earlier runs are not shown; give --all to see them"));
    }
    Ok(())
}

/// What is to be told of a run; one that cannot be read is named and left out.
fn entry(store: &Store, id: &str) -> Option<Entry> {
    let record = store.resolve(id).and_then(|path| read_record(&path));
    let judged = record.and_then(|record| {
        let verdict = judge(&record).map_err(LabError::Unreadable)?;
        Ok(Entry::of(&record, &verdict))
    });
    judged.inspect_err(|error| output::warning(format_args!("{id} is left out: {error}"))).ok()
}
