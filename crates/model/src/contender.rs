//! A server that can be measured: `contenders/LANGUAGE/NAME/contender.toml`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::database::DatabaseKind;
use crate::protocol::Protocol;

/// How to get, build and start a server. `contenders/README.md` explains each key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Contender {
    /// Unique name, `[a-z0-9-]+`.
    pub name: String,
    /// How people call it.
    pub title: String,
    /// Language it is written in, lower case.
    pub language: String,
    /// What it is.
    pub kind: Kind,
    /// Where it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub homepage: Option<String>,
    /// One sentence on how it is set up here.
    #[serde(default)]
    pub about: String,
    /// Names of the workloads it answers; none for a database.
    pub workloads: Vec<String>,
    /// Deviations from its defaults, one a line.
    #[serde(default)]
    pub tuning: Vec<String>,
    /// The database that it is for others. It answers no workload then and takes part in no comparison.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provides: Option<DatabaseKind>,
    /// What must be present on the machine.
    #[serde(default)]
    pub needs: Vec<Need>,
    /// Names of variables that its commands are given of the user's environment besides those that all are given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pass_environment: Vec<String>,
    /// How to build it; absent when there is nothing to build.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<Build>,
    /// How to start it.
    pub run: ServerCommand,
    /// Commands whose output holds a version (its first dotted number), by what they tell the version of.
    #[serde(default)]
    pub versions: BTreeMap<String, Vec<String>>,
}

/// What a contender is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A web server of its own.
    Server,
    /// A program written with a framework or a language's HTTP library.
    Framework,
    /// Something that forwards to another server; the reference server is started behind it.
    Proxy,
    /// The reference server, which stands for what this machine can do.
    Limit,
}

/// Something the machine must have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Need {
    /// In words: "Go 1.22 or newer".
    pub what: String,
    /// A command that exits with 0 when it is there.
    pub probe: Vec<String>,
    /// Lowest version accepted, compared with the first dotted number the probe prints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum: Option<String>,
    /// How to get it.
    pub install: String,
}

/// A build step, run in the contender's folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Build {
    /// Program and arguments.
    pub command: Vec<String>,
    /// Longest time it may take, in seconds.
    #[serde(default = "build_timeout_s")]
    pub timeout_s: f64,
}

/// The server's command, run in the contender's folder with PORT, ADDRESS, CPUS, WORKERS, SCRATCH and PROTOCOL set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Run")]
pub struct ServerCommand {
    /// Program and arguments; `${PORT}` and its siblings are replaced.
    pub command: Vec<String>,
    /// Further arguments for a program that has a user-space stack of its own and is to use it; `${WIRE}` and
    /// `${WIRE_ADDRESS}` say where. Without them the program is started with the preload library.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack_arguments: Vec<String>,
    /// Further arguments, right behind the program, with which a runtime tells the names of what it compiles: for runs that profile
    /// every server in every cell (`assay why`), and for those alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profile_arguments: Vec<String>,
    /// Further arguments, if any are needed, for a run over TLS; `${CERT}` and `${KEY}` are the files to serve with, and in its
    /// environment too. Absent where it is not set up for TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls_arguments: Option<Vec<String>>,
    /// The protocols of HTTP/2 that it is set up for: `h2c`, without TLS and by prior knowledge, and `h2`, over TLS. It finds what
    /// it is to speak in `${PROTOCOL}`, and in its environment too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub http2: Vec<Protocol>,
    /// Whether there is one worker for each CPU given that can have a user-space stack to itself: a process that accepts its own
    /// connections, or a thread of a program with `stack_arguments`. Then each gets a queue of the wire. Without it the
    /// user-space stack has one queue, and the program is told of one worker.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub queue_per_worker: bool,
    /// Longest time from start to the first right answer, in seconds.
    #[serde(default = "ready_timeout_s")]
    pub ready_timeout_s: f64,
    /// A path that is answered with 2xx when the server is ready, as a health check is; absent where the first request of a
    /// workload tells that as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_path: Option<String>,
    /// Extra environment; `${WORKERS}` and its siblings are replaced.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

fn build_timeout_s() -> f64 {
    600.0
}

fn ready_timeout_s() -> f64 {
    20.0
}
