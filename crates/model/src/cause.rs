//! What may hold a server's answers up: figures and names, without a word of prose.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::profile::Waiter;

/// Something that was found to hold a server's answers up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeldUp {
    /// What it is, with the figures that show it: those of the restart in the middle.
    #[serde(flatten)]
    pub by: Cause,
    /// For how much it accounts, 0 to 1: of the time, where the server waits, or of its CPU time, where it works
    /// ([`Cause::is_work`]).
    pub share: f64,
    /// Restarts in which it was found.
    pub restarts: u32,
}

/// A cause, with what shows it. Times and counts are means for each right answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "cause", rename_all = "snake_case")]
pub enum Cause {
    /// Every answer waits for an acknowledgement that the other end delays (Nagle, RFC 896; RFC 9293, section 3.8.6.3).
    DelayedAcknowledgement {
        /// Median time of an answer, in nanoseconds.
        median_ns: f64,
        /// Acknowledgements that TCP delayed to the end.
        delayed: f64,
        /// Calls that send.
        sends: f64,
    },
    /// Connections came faster than the server accepted them, and the kernel turned them away.
    AcceptQueue {
        /// Connections that found the queue full.
        overflows: u64,
        /// Connections that were made all the same.
        connections: u64,
    },
    /// Threads or goroutines wait for a lock.
    Lock {
        /// Address of its word or object; absent for a lock that parks its threads, each at a word of its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        address: Option<u64>,
        /// Class of its object, as in `java.util.concurrent.locks.ReentrantLock$NonfairSync`; absent where it has none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        class: Option<String>,
        /// The function that takes it; absent where the calls could not be followed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        function: Option<String>,
        /// How often something waited for it; absent where waits were not counted, but looked at now and then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        waits: Option<f64>,
        /// Time waited, summed over the threads or goroutines, in nanoseconds.
        wait_ns: f64,
        /// What waited.
        #[serde(default, skip_serializing_if = "Waiter::is_thread")]
        waiter: Waiter,
        /// Threads that waited, or goroutines.
        threads: u32,
    },
    /// Threads wait until what they wrote is on the disk.
    Disk {
        /// The system call.
        call: String,
        /// How often it is made.
        calls: f64,
        /// Its time, in nanoseconds.
        ns: f64,
    },
    /// The link to the clients is full.
    Link {
        /// What joins the two sides, as people write it: `veth:1gbit`.
        link: String,
        /// Share of its rate that was used in the fuller direction.
        used: f64,
        /// Whether that is the direction from the server.
        from_server: bool,
    },
    /// One thread is always busy while other CPUs of the server have nothing to do.
    OneThread {
        /// Its name.
        thread: String,
        /// Share of the time that it was on a CPU or waited for one.
        busy_share: f64,
        /// CPUs of the server.
        cpus: u32,
        /// How many of these it kept busy in all.
        used: f64,
    },
    /// Memory that is no longer used is collected.
    Collector {
        /// CPU time that it takes, in nanoseconds.
        ns: f64,
    },
    /// Answers leave, or requests come, in small pieces.
    SmallBuffers {
        /// Whether pieces of answers are small, or of requests.
        sends: bool,
        /// How many calls were made.
        calls: f64,
        /// Bytes of a call.
        bytes: f64,
    },
    /// More threads could run than there are CPUs.
    RunQueue {
        /// Time for which threads could have run, in nanoseconds.
        delay_ns: f64,
        /// CPU time, in nanoseconds.
        cpu_ns: f64,
        /// Threads of the server.
        threads: u32,
        /// Its CPUs; 0 where it shares them.
        cpus: u32,
    },
}

impl Cause {
    /// Whether it costs the server CPU time, and not just time.
    pub fn is_work(&self) -> bool {
        match self {
            Self::Collector { .. } | Self::SmallBuffers { .. } | Self::RunQueue { .. } => true,
            Self::DelayedAcknowledgement { .. }
            | Self::AcceptQueue { .. }
            | Self::Lock { .. }
            | Self::Disk { .. }
            | Self::Link { .. }
            | Self::OneThread { .. } => false,
        }
    }
}
