//! `assay clean`: what killed runs left behind.

use std::path::PathBuf;

use assay_lab::store::Store;
use assay_lab::{Exit, clean};

use crate::args::CleanArguments;
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(arguments: &CleanArguments) -> Result<Exit, Failure> {
    let temporary = [std::env::temp_dir(), clean::SHARED_MEMORY.into()];
    let temporary = temporary.each_ref().map(PathBuf::as_path);
    let found = clean::leftovers(&Store::new(&arguments.places.runs), &temporary);
    let done = if arguments.dry_run { "would remove" } else { "removed" };
    for path in &found {
        if !arguments.dry_run {
            clean::remove(path).map_err(|source| Failure::write(path, source))?;
        }
        output::result(&format!("{done} {}\n", path.display()));
    }
    if found.is_empty() {
        output::result("nothing is left behind\n");
    }
    Ok(Exit::Ok)
}
