//! A server that somebody else runs, as far as this machine shows it.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;

/// What is known of a server that was running already.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum Running {
    /// It runs on this machine, and its CPU time and memory are in the record as those of servers that assay starts.
    Found {
        /// The name of its program.
        program: String,
        /// The processes that hold its listening sockets; the others are below them.
        pids: Vec<u32>,
        /// Its processes, all together.
        processes: u32,
        /// The CPUs on which its threads may run, as a kernel list.
        cpus: String,
    },
    /// It could not be found, so its CPU time and memory are not known, nor on which CPUs it runs.
    Unseen {
        /// Why, in a sentence.
        why: String,
    },
}
