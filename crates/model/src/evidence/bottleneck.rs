//! What held a throughput where it is.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;

/// What is busy, or short, where a throughput ends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Bottleneck {
    /// No window counts.
    #[default]
    NoWindow,
    /// Whoever measured it does not tell.
    SourceSilent,
    /// How busy everybody was.
    Busy {
        /// CPUs of the server.
        cpus: u64,
        /// Share of them that it used; absent when it was not observed.
        server_share: Option<f64>,
        /// Share of its CPU that the generator's busiest thread used.
        generator_share: f64,
        /// What was busier than the rest.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        busiest: Option<Busiest>,
    },
    /// More connections were served more.
    MoreWithMore {
        /// Times as much.
        times: f64,
    },
    /// What was in flight hardly waited.
    OnCpu {
        /// Requests in flight.
        in_flight: u32,
        /// Share of its time that a request was on a CPU.
        share: f64,
    },
}

/// A part that was busy while the whole was not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Busiest {
    /// A thread of the server.
    Thread {
        /// Share of a CPU that it used.
        share: f64,
    },
    /// A CPU of the server.
    Cpu {
        /// Share of the time that it was busy.
        share: f64,
    },
    /// The database's CPUs.
    Database {
        /// Share of what it could have that it used.
        share: f64,
        /// Whether the generator took its part of them.
        beside_generator: bool,
    },
    /// A process of the database.
    DatabaseProcess {
        /// Share of a CPU that it used.
        share: f64,
    },
    /// The upstream of a proxy.
    Upstream {
        /// Share of what it could have of its CPUs that it used.
        share: f64,
        /// Whether the generator took its part of them.
        beside_generator: bool,
    },
    /// The link.
    Link {
        /// Its name.
        link: String,
        /// Share of what it carries that went in the fuller direction.
        share: f64,
        /// Whether that is the way from the server.
        from_server: bool,
    },
}

/// What held a throughput where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitedBy {
    /// The server's CPUs were saturated, all of them.
    Server,
    /// One CPU of the server was saturated, or one of its threads, while others idled.
    ServerCore,
    /// The generator's CPUs were saturated: the server could do more.
    Generator,
    /// Both were: the server is at least this fast.
    Both,
    /// Neither was, but the database's CPUs, or one of its processes.
    Database,
    /// Neither was, but the CPUs of the upstream behind a proxy.
    Upstream,
    /// The link carried all that it can in a direction: the server could do more.
    Link,
    /// Neither was, because too few requests were in flight.
    Connections,
    /// Neither was: waiting or locks.
    Neither,
    /// The server's CPUs could not be observed.
    Unknown,
}
