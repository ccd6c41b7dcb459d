//! What the runtimes inside processes keep of those that wait: Go's of its goroutines, Java's of its threads. It is read from outside, in
//! their memory; nothing is asked of them, and nothing stopped.

mod go;
mod java;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use assay_model::profile::{Facet, Frame, Refused, Waiter};

use crate::naming::Names;

/// Most processes that are looked into: of more than these, which are alike, some stand for all.
const MAX_PROCESSES: usize = 64;

/// One that was found waiting.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    /// Address of what it waits for.
    pub(crate) address: u64,
    /// Class of that, where the runtime keeps one.
    pub(crate) class: Option<Arc<str>>,
    /// Where the runtime keeps the one that waits. Another has its place only when it is gone, so as many places are seen as there are at
    /// once, however short each one's life is.
    pub(crate) waiter: u64,
    /// The calls that led there, innermost first, in the runtime's own terms; absent where they were not followed.
    pub(crate) way: Option<Vec<u64>>,
}

/// A runtime inside a process.
pub(crate) trait Runtime: Send {
    /// What waits in it.
    fn waiter(&self) -> Waiter;

    /// Shows everything that waits now.
    fn look(&mut self, see: &mut dyn FnMut(Waiting));

    /// The functions of a way.
    fn frames(&self, names: &Names, pid: u32, way: &[u64]) -> Vec<Frame>;

    /// What was wrong with what was read, after the last look.
    fn complaint(&self) -> Option<String>;
}

/// Runtimes, each with its process.
pub(crate) type Runtimes = Vec<(u32, Box<dyn Runtime>)>;

/// The runtimes of some processes that can be looked into, and why others cannot.
pub(crate) fn of(processes: &BTreeSet<u32>) -> (Runtimes, Vec<Refused>) {
    let (mut found, mut refused) = (Runtimes::new(), Vec::<Refused>::new());
    for pid in processes.iter().take(MAX_PROCESSES) {
        match runtime(*pid) {
            Some(Ok(runtime)) => found.push((*pid, runtime)),
            // Told once of many processes of one program.
            Some(Err(why)) if refused.iter().all(|refused| refused.why != why) => refused.push(unseen(why)),
            Some(Err(_)) | None => {}
        }
    }
    (found, refused)
}

/// The runtime of a process, or why it cannot be looked into; `None` where it has none that is known.
fn runtime(pid: u32) -> Option<Result<Box<dyn Runtime>, String>> {
    let go = go::Go::of(pid).map(|go| go.map(boxed));
    go.or_else(|| java::Java::of(pid).map(|java| java.map(boxed)))
}

fn boxed(runtime: impl Runtime + 'static) -> Box<dyn Runtime> {
    Box::new(runtime)
}

/// Names of the code at some addresses of a process that its runtime has compiled, as far as the runtime keeps them and it is known how.
pub(crate) fn compiled(pid: u32, addresses: &BTreeSet<u64>) -> HashMap<u64, String> {
    if addresses.is_empty() { HashMap::new() } else { java::compiled(pid, addresses) }
}

/// Says that what is waited for inside a runtime is not seen.
pub(crate) fn unseen(why: String) -> Refused {
    Refused { what: Facet::Runtime, why }
}

/// Why the memory of a runtime cannot be read.
fn closed(runtime: &str, error: &std::io::Error) -> String {
    format!(
        "what waits for a lock inside {runtime} is not seen, because its memory may not be read ({error}): run as root, or as the \
         server's user with kernel.yama.ptrace_scope at most 1"
    )
}
