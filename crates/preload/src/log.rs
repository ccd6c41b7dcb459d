//! One line for whoever started the program, on its standard error or in the file that `ASSAY_STACK_LOG` names.

use std::fs::OpenOptions;
use std::io::Write;

use crate::settings;

/// Says something, whole lines at a time. Where it cannot be said, nobody listens.
pub(crate) fn say(message: &str) {
    let line = format!("assay-preload[{}]: {message}\n", std::process::id());
    let file = settings::get().and_then(|s| s.log.as_ref());
    let _ = match file.map(|path| OpenOptions::new().create(true).append(true).open(path)) {
        Some(Ok(mut file)) => file.write_all(line.as_bytes()),
        // By itself: a signal's handler may come while the standard library's own stream is in use.
        _ => rustix::io::write(rustix::stdio::stderr(), line.as_bytes()).map(drop).map_err(Into::into),
    };
}
