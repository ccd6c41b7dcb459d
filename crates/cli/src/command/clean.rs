//! `assay clean`: what killed runs left behind.

use std::path::PathBuf;

use assay_lab::database::{self, DatabaseError, Marked};
use assay_lab::store::Store;
use assay_lab::{Exit, clean};
use assay_report::foreign;

use crate::args::CleanArguments;
use crate::embedded;
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(arguments: &CleanArguments) -> Result<Exit, Failure> {
    let mut is_clean = databases(arguments)?;
    let temporary = [std::env::temp_dir(), clean::SHARED_MEMORY.into()];
    let temporary = temporary.each_ref().map(PathBuf::as_path);
    let mut found = clean::leftovers(&Store::new(&arguments.places.runs), &temporary);
    found.extend(embedded::leftovers());
    let done = if arguments.dry_run { "would remove" } else { "removed" };
    for path in &found {
        if !arguments.dry_run {
            clean::remove(path).map_err(|source| Failure::Remove { path: path.clone(), source })?;
        }
        output::result(&(foreign::line(&format!("{done} {}", path.display())) + "\n"));
    }
    is_clean &= found.is_empty();
    if is_clean {
        output::result("nothing is left behind\n");
    }
    Ok(Exit::Ok)
}

/// Removes the databases that bear our mark on a server that the user names, but those of living runs, and names those that could be ours
/// and do not bear it; whether there were none.
fn databases(arguments: &CleanArguments) -> Result<bool, Failure> {
    let Some(server) = arguments.database.given()? else { return Ok(true) };
    let failed = |error: DatabaseError| Failure::Machine(error.to_string());
    let found = database::marked(&server).map_err(failed)?;
    for Marked { name, run, is_used } in &found {
        // Whoever may make databases there can write what is told of them.
        let of = foreign::line(&format!("the database {name} of the run {run}"));
        if *is_used {
            output::result(&format!("left {of}: somebody is connected to it\n"));
        } else if arguments.dry_run {
            output::result(&format!("would remove {of}\n"));
        } else if database::remove_marked(&server, name).map_err(failed)? {
            output::result(&format!("removed {of}\n"));
        }
    }
    let unmarked = database::unmarked(&server).map_err(failed)?;
    for name in &unmarked {
        output::result(&format!(
            "left the database {name}: it has a name such as assay gives and not its mark; if nobody else made it and no run begins just \
             now, DROP DATABASE {name}\n"
        ));
    }
    Ok(found.is_empty() && unmarked.is_empty())
}
