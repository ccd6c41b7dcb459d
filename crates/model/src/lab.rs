//! The hosts of a lab, as people write them (`lab.toml`) and as they were found (the JSON of `assay doctor --lab --json`).

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::doctor::Diagnosis;
use crate::fleet::ClockOffset;
use crate::host_link::HostLink;
pub use crate::run_hosts::{GeneratorHost, PlacedHost};

/// Name and version of the format of [`LabReport`].
pub const LAB_SCHEMA: &str = "assay-lab/1";

/// The hosts of a lab.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Lab {
    /// All hosts, `[[host]]` in the file.
    #[serde(rename = "host")]
    pub hosts: Vec<LabHost>,
}

/// One host: how it is reached, and what it is there for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabHost {
    /// What it is called in tables and messages, and by `--server` and `--from`.
    pub name: String,
    /// What joins our standard input and output to a process there.
    pub transport: Transport,
    /// Whom the transport is asked for: `user@host` of ssh, a node of Slurm, a pod of Kubernetes; the name when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// Further arguments of `ssh`, `srun` or `kubectl exec`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// With the transport `command`: the program and arguments behind which assay's own command is written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// The assay program there, of this version; ours travels when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// What it is there for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<HostRole>,
    /// Where load reaches its servers, or the servers their database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    /// CPUs of what is measured there, as the kernel lists them; all that its agent may use when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<String>,
    /// Longest time until its agent answers, in seconds: a queue may have to be waited for.
    #[serde(default = "ready_timeout_s")]
    pub ready_timeout_s: f64,
}

fn ready_timeout_s() -> f64 {
    30.0
}

/// What joins standard input and output to a process on another host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// Nothing: it is this host.
    Local,
    /// `ssh` of OpenSSH.
    Ssh,
    /// `srun` of Slurm.
    Slurm,
    /// `kubectl exec -i`.
    Kubernetes,
    /// A command of the user's own.
    Command,
}

/// What a host is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HostRole {
    /// What is measured runs there.
    Server,
    /// Load comes from there.
    Generator,
    /// The database of the servers runs there, where they need a PostgreSQL.
    Database,
}

impl Transport {
    /// Name of the transport as it is written in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Ssh => "ssh",
            Self::Slurm => "slurm",
            Self::Kubernetes => "kubernetes",
            Self::Command => "command",
        }
    }

    /// Whether it is asked for a destination.
    pub fn has_destination(self) -> bool {
        matches!(self, Self::Ssh | Self::Slurm | Self::Kubernetes)
    }
}

impl HostRole {
    /// Name of the role as it is written in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Generator => "generator",
            Self::Database => "database",
        }
    }
}

impl LabHost {
    /// A host of which nothing else is said.
    pub fn new(name: String, transport: Transport) -> Self {
        Self {
            name,
            transport,
            destination: None,
            arguments: Vec::new(),
            command: Vec::new(),
            program: None,
            roles: Vec::new(),
            address: None,
            cpus: None,
            ready_timeout_s: ready_timeout_s(),
        }
    }

    /// Whom the transport is asked for.
    pub fn destination(&self) -> &str {
        self.destination.as_deref().unwrap_or(&self.name)
    }

    /// The machine in the destination, without the user.
    pub fn machine(&self) -> &str {
        let destination = self.destination();
        destination.rsplit_once('@').map_or(destination, |(_, machine)| machine)
    }
}

/// The hosts of a lab as they were found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabReport {
    /// [`LAB_SCHEMA`].
    pub schema: String,
    /// Each host, in the order of the file.
    pub hosts: Vec<HostReport>,
    /// What the network carries from each host of servers to those of the load, and from that of the database to those of the servers;
    /// empty where that was not measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<HostLink>,
}

/// One host as it was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostReport {
    /// What the file says of it.
    pub host: LabHost,
    /// What an agent told there; absent where none answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<HostFound>,
    /// What speaks against using it, in sentences with their remedies.
    pub problems: Vec<String>,
}

/// What an agent told of its host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostFound {
    /// How its monotonic clock stands to ours. The round trip is twice the error.
    pub clock: ClockOffset,
    /// CPUs that its agent, and what that starts, may use.
    pub cpus: String,
    /// The machine and its fitness, without what would have to be measured there.
    pub diagnosis: Diagnosis,
    /// Bytes that are free where contenders would be built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_bytes: Option<u64>,
}
