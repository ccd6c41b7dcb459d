//! Ctrl-C and its siblings, as flags.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use assay_lab::{Exit, Stop};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::failure::Failure;

const ENDING: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// A flag that becomes true when the process is asked to end.
pub(crate) fn flag() -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in ENDING {
        signal_hook::flag::register(signal, Arc::clone(&flag)).map_err(|e| Failure::Bug(e.to_string()))?;
    }
    Ok(flag)
}

/// A flag like that of [`flag`], but the next such signal ends the process there and then: nothing has to be cleaned up.
pub(crate) fn flag_then_end() -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in ENDING {
        // Handlers run in this order, so the first signal finds the flag not yet set.
        let ends = signal_hook::flag::register_conditional_shutdown(
            signal,
            i32::from(Exit::Interrupted.code()),
            Arc::clone(&flag),
        );
        let sets = signal_hook::flag::register(signal, Arc::clone(&flag));
        ends.and(sets).map_err(|e| Failure::Bug(e.to_string()))?;
    }
    Ok(flag)
}

/// A stop that is requested once for each time the process is asked to end.
pub(crate) fn stop(told: impl Fn(&Stop) + Send + 'static) -> Result<Stop, Failure> {
    let stop = Stop::new();
    let mut signals = Signals::new(ENDING).map_err(|e| Failure::Bug(e.to_string()))?;
    let requested = stop.clone();
    std::thread::spawn(move || {
        for _ in signals.forever() {
            requested.request();
            told(&requested);
        }
    });
    Ok(stop)
}
