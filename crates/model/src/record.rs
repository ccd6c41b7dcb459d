//! The evidence of a run: `runs/ID/record.json`.

mod measurement;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::conformance::Conformance;
use crate::design::Side;
use crate::energy::{Energy, Metering};
use crate::experiment::{Cell, Experiment, Protocol};
use crate::generator::GeneratorName;
use crate::generator_window::GeneratorWindow;
use crate::host::{HostFacts, Isolation};
use crate::host_link::HostLink;
use crate::identity::Identity;
use crate::imported::Imported;
use crate::lab::{GeneratorHost, PlacedHost};
use crate::learnt::Learnt;
use crate::link::{LinkFacts, LinkUse};
use crate::load::{LoadReport, LoadTurn, StackCounts};
use crate::network::{Network, Spec};
use crate::profile::Profile;
use crate::run_hosts::one_or_several;
use crate::running::Running;
use crate::setting::Setting;
use crate::speed::WindowSpeed;
use crate::tls::Agreed;
use crate::units::Nanos;
use crate::upstream::{Upstream, UpstreamUsage};
use crate::usage::Usage;
use crate::workload::Workload;

pub use crate::database::{Database, DatabaseOrigin};
pub use crate::identity::Origin;
pub use crate::not_run::{NotRun, NotRunOn, Stage};
pub use crate::program::Program;
pub use crate::state::State;
pub use crate::throttled::Throttled;
pub use crate::turn::{MAX_GENERATOR_DELAY_SHARE, MAX_OTHER_SHARE, MAX_STEAL_SHARE, TimeTaken, Turn};
pub use crate::warmup::{LeadIn, Warmup};

/// Name and version of the format of [`Record`].
pub const RECORD_SCHEMA: &str = "assay-record/1";

/// Everything that was measured, and all that is needed to judge it again and to repeat it. No summary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// [`RECORD_SCHEMA`].
    pub schema: String,
    /// Name of the run's folder.
    pub id: String,
    /// When it began, RFC 3339 in UTC.
    pub started_at: String,
    /// Wall-clock time from the first round's start to the last save.
    pub elapsed_ns: Nanos,
    /// How much of that time the run waited, because a person wanted a pause.
    #[serde(default, skip_serializing_if = "Nanos::is_zero")]
    pub paused_ns: Nanos,
    /// Where the run stands.
    pub state: State,
    /// The program that measured.
    pub assay: Program,
    /// The command line, for repeating it.
    pub command: Vec<String>,
    /// Seed of every random choice of the schedule.
    pub seed: u64,
    /// The plan, complete.
    pub experiment: Experiment,
    /// The workloads of the plan, complete.
    pub workloads: Vec<Workload>,
    /// The machine.
    pub host: HostFacts,
    /// Who ran where.
    pub isolation: Isolation,
    /// How client and server were joined: `loopback`, `veth`, `veth:1gbit`; `not known` where figures are somebody else's.
    #[serde(with = "link_or_not")]
    #[schemars(with = "String")]
    pub link: Option<Spec>,
    /// The database of the workloads that need one; absent when none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<Database>,
    /// The server behind every proxy; absent where no proxy takes part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream: Option<Upstream>,
    /// The hosts on which servers were started, where that was not this one; their CPUs are the servers'. Several took turns, round by
    /// round. Records from before they could have the only one as `server_host`.
    #[serde(
        default,
        alias = "server_host",
        deserialize_with = "one_or_several",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub server_hosts: Vec<PlacedHost>,
    /// The hosts from which load came, where that was not this one alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub generator_hosts: Vec<GeneratorHost>,
    /// What the network carries between the servers' host and those of the load, each by itself and all at once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host_links: Vec<HostLink>,
    /// How the link was set up; absent for loopback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_facts: Option<LinkFacts>,
    /// Whether the machine's energy was counted; absent in records from before it was, and where nothing was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<Metering>,
    /// Where the figures came from when assay did not measure them; absent for a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
    /// Generators of other projects that were to load the same servers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub generators: Vec<GeneratorEntry>,
    /// The networks that the experiment names, in its order; empty where it names none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<NetworkFacts>,
    /// What every connection over TLS was to agree on; absent where none was secured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Agreed>,
    /// All contenders that were asked for, also those that could not run.
    pub contenders: Vec<Entry>,
    /// The rounds in the order in which they were measured.
    pub rounds: Vec<Round>,
    /// One long life of each contender, after the rounds and no part of them: whether a server gets faster or slower with age,
    /// or stands still now and then. Absent where the time did not allow for it, or the rounds told it already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long_look: Option<Round>,
}

/// A generator of another project as it took part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GeneratorEntry {
    /// The generator by its name.
    pub name: GeneratorName,
    /// Its version, as it tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Why it was not run, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_run: Option<NotRun>,
    /// The cells that it cannot make.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
}

/// A cell that a generator cannot make.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// The cell.
    #[serde(flatten)]
    pub cell: Cell,
    /// Why not, in words that follow the generator's name: "has no rate".
    pub reason: String,
}

/// What stands for a link that is not known.
const LINK_NOT_KNOWN: &str = "not known";

/// A link as text; none is [`LINK_NOT_KNOWN`].
mod link_or_not {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::{LINK_NOT_KNOWN, Spec};

    pub(super) fn serialize<S: Serializer>(link: &Option<Spec>, to: S) -> Result<S::Ok, S::Error> {
        match link {
            Some(link) => to.collect_str(link),
            None => to.serialize_str(LINK_NOT_KNOWN),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Spec>, D::Error> {
        match String::deserialize(from)?.as_str() {
            LINK_NOT_KNOWN => Ok(None),
            text => text.parse().map(Some).map_err(serde::de::Error::custom),
        }
    }
}

/// A network of a run, as it was set up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkFacts {
    /// The network.
    pub network: Network,
    /// The cable laid for it; absent where none is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_facts: Option<LinkFacts>,
    /// Why it could not be had, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_run: Option<NotRun>,
}

/// A contender as it took part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    /// Identity of the contender.
    #[serde(flatten)]
    pub identity: Identity,
    /// Versions found, by what they are versions of.
    pub versions: BTreeMap<String, String>,
    /// The command that started it; empty for a URL.
    pub command: Vec<String>,
    /// Arguments of the command with which its runtime tells the names of what it compiles, for the sake of profiles; empty
    /// where it was started as it always is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profile_arguments: Vec<String>,
    /// For a URL, whose server that is on this machine and where it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<Running>,
    /// Name of the contender that this is, taking part a second time for the noise floor; absent for a contender proper.
    #[serde(default, rename = "twin_of", skip_serializing_if = "Option::is_none")]
    pub control_of: Option<String>,
    /// What it keeps of the rules of HTTP/1.1 and of its test types; absent when it was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conformance: Option<Conformance>,
    /// Why it was not run, or given up after it had been measured, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_run: Option<NotRun>,
    /// Why it was not run in one of several settings; the others go on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_run_on: Vec<NotRunOn>,
}

/// One randomised block: every contender once in every setting; where not all could live at once, one of them once in each
/// group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Round {
    /// 0, 1, 2 …
    pub index: u32,
    /// The host on which its servers lived, where several took turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_host: Option<String>,
    /// One run per contender, setting and group, in the order in which they were measured; then one for each further replica.
    pub runs: Vec<Run>,
}

/// One life of a contender's process: started, warmed up, measured in every cell, stopped.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Name of the contender.
    pub contender: String,
    /// The network that it was started on; absent where the experiment names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
    /// The protocol that it was started to speak.
    #[serde(default, skip_serializing_if = "Protocol::is_plain")]
    pub protocol: Protocol,
    /// The group of its round in which it lived, from 0: those of one group lived at once, and took turns. 0 for all where nothing kept
    /// them from living together.
    #[serde(default, skip_serializing_if = "is_first")]
    pub group: u32,
    /// The number of the process among those of its contender that lived at once, from 0: those of one whose restarts vary much take turns.
    #[serde(default, skip_serializing_if = "is_first")]
    pub replica: u32,
    /// When it was started, after the start of the whole run.
    pub offset_ns: Nanos,
    /// From start to the first right answer; zero for a URL.
    pub startup_ns: Nanos,
    /// What it used from start to readiness until just before the first load; absent for a URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<Usage>,
    /// What it answered where its workloads do not say what is right, one entry per request; with what earlier lives answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub learnt: Vec<Learnt>,
    /// Load before the first measurement, one entry per workload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warmups: Vec<Warmup>,
    /// Load just before the turns in a cell, because the server had rested while others had theirs, one entry per cell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lead_ins: Vec<LeadIn>,
    /// The measurements, in the order in which they were made.
    pub cells: Vec<Measurement>,
    /// Windows of load by several generators, ours among them, one after the other; empty where no other was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_generator: Vec<GeneratorWindow>,
    /// Where its time went, in slices of load of their own after the measurements; empty where nobody asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<Profile>,
    /// Why it ended early, if it did; cells measured before stay valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<NotRun>,
}

/// Whether the number of a group or a replica is left out of a record.
fn is_first(number: &u32) -> bool {
    *number == 0
}

/// One window of load on one contender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measurement {
    /// The cell.
    #[serde(flatten)]
    pub cell: Cell,
    /// When it began, after the start of the whole run.
    pub offset_ns: Nanos,
    /// Load that its server had behind it in this life when it began.
    #[serde(default)]
    pub loaded_ns: Nanos,
    /// What the generator saw.
    pub load: LoadReport,
    /// What the server's processes used from just before the generator started to just after it ended, so with the load
    /// before the window: set it against `load.books`, not `load.window`. Absent for a URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Usage>,
    /// What the server's own TCP stack counted over the same span, by its own account; absent where the kernel's worked, or it gave
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_stack: Option<StackCounts>,
    /// What the database's processes used over the same span; absent where none was needed or it is not ours to observe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<DatabaseUsage>,
    /// What the upstream of a proxy did over the same span; absent for all others, and where it could not be observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream: Option<UpstreamUsage>,
    /// The window at the same rate, just before or after this one, that went straight to the upstream of a proxy: there the
    /// upstream is the server. Absent in closed loops and for all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub straight: Option<Box<Measurement>>,
    /// What went over the link in the same span; absent for loopback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_use: Option<LinkUse>,
    /// What the machine did over the same span.
    pub machine: Machine,
    /// What the machine took over the same span, the generator's part included; absent where it is not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<Energy>,
    /// The short windows that this one is made of, in which the servers of a round took turns; empty where it was measured in
    /// one piece. Everything else here is of all of them together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<Turn>,
    /// The short windows in which it was under load together with another server, on the same CPUs; nothing else here is of
    /// them. Empty where no duet was measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub duet: Vec<DuetTurn>,
    /// Share of one CPU that the server's processes used while the others had their turns, 0 to 1 and more; absent where it
    /// could not be observed, and where nobody took turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_busy_share: Option<f64>,
    /// The CPUs, as a kernel list, on which the server's busy threads were seen at the begin and end of the span; only of a
    /// server that was running already, because others are where they were put.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_seen_on: Option<String>,
    /// How fast the CPUs of server and generator were beside the span; where servers took turns, each turn has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed: Option<WindowSpeed>,
}

/// One of the short windows in which two servers are under load at the same time, as one of them saw it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DuetTurn {
    /// Name of the contender that was under load at the same time; its window has the same rotation and the other side.
    pub beside: String,
    /// The number of the rotation over all pairs, from 0.
    pub rotation: u32,
    /// The side that it had.
    pub side: Side,
    /// When it began, after the start of the whole run.
    pub offset_ns: Nanos,
    /// What its own generator saw.
    #[serde(flatten)]
    pub load: LoadTurn,
    /// CPU time of the server's processes from just before its load to just after it; absent where it could not be observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu_ns: Option<Nanos>,
}

/// What a database used during a window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DatabaseUsage {
    /// By all of its processes.
    #[serde(flatten)]
    pub usage: Usage,
    /// Whether the generator had the same CPUs.
    pub beside_generator: bool,
}

impl Record {
    /// The TCP and the wire of a cell; absent where that is not known.
    pub fn network_of(&self, cell: &Cell) -> Option<Network> {
        cell.network.or_else(|| self.link.map(Network::kernel))
    }

    /// How client and server were joined, as the record writes it.
    pub fn link_text(&self) -> String {
        self.link.map_or_else(|| LINK_NOT_KNOWN.to_owned(), |link| link.to_string())
    }

    /// The networks that could be had, where the experiment names any; else how client and server were joined.
    pub fn networks_text(&self) -> String {
        let had = self.networks.iter().filter(|facts| facts.not_run.is_none());
        let names: Vec<String> = had.map(|facts| facts.network.to_string()).collect();
        if names.is_empty() { self.link_text() } else { names.join(", ") }
    }

    /// The settings whose networks could be had.
    pub fn settings_had(&self) -> Vec<Setting> {
        let lost = |network: Network| {
            self.networks.iter().any(|facts| facts.network == network && facts.not_run.is_some())
        };
        let named = self.experiment.settings().into_iter();
        named.filter(|setting| !setting.network.is_some_and(lost)).collect()
    }

    /// The cable of a cell; absent where there was none.
    pub fn link_facts_of(&self, cell: &Cell) -> Option<&LinkFacts> {
        match cell.network {
            None => self.link_facts.as_ref(),
            Some(network) => self.networks.iter().find(|facts| facts.network == network)?.link_facts.as_ref(),
        }
    }

    /// The contender of this name.
    pub fn entry_of(&self, name: &str) -> Option<&Entry> {
        self.contenders.iter().find(|entry| entry.identity.name == name)
    }

    /// Whether the contender of this name stands for what the machine can do.
    pub fn is_limit(&self, name: &str) -> bool {
        self.contenders.iter().any(|entry| entry.identity.name == name && entry.identity.is_limit())
    }
}

impl Round {
    /// The run of a contender in a setting; the first of one that lived in several groups, or several times in one.
    pub fn run_of(&self, contender: &str, setting: Setting) -> Option<&Run> {
        self.runs.iter().find(|run| run.contender == contender && run.setting() == setting)
    }
}

impl Run {
    /// What the server was started for.
    pub fn setting(&self) -> Setting {
        Setting { network: self.network, protocol: self.protocol }
    }
}

impl Entry {
    /// What is known of a contender before anything was tried.
    pub fn untried(identity: Identity) -> Self {
        Self {
            identity,
            versions: BTreeMap::new(),
            command: Vec::new(),
            profile_arguments: Vec::new(),
            running: None,
            control_of: None,
            conformance: None,
            not_run: None,
            not_run_on: Vec::new(),
        }
    }

    /// Name of the contender that it is: its own, or that of whom it is the control.
    pub fn original(&self) -> &str {
        self.control_of.as_deref().unwrap_or(&self.identity.name)
    }

    /// Why it does not take part, or no longer, in a setting.
    pub fn absence_on(&self, setting: Setting) -> Option<&NotRun> {
        let there = || self.not_run_on.iter().find(|absence| absence.setting() == setting);
        self.not_run.as_ref().or_else(|| there().map(|absence| &absence.why))
    }
}

/// The machine's counters over a window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// Share of the pinned CPUs' time that a hypervisor took away, 0 to 1.
    pub steal_share: f64,
    /// Share of the server CPUs' time that was idle, 0 to 1.
    pub server_idle_share: f64,
    /// Share of the server CPUs' time that other programs used, 0 to 1: neither idle nor the server's, nor taken by the
    /// hypervisor, nor spent in interrupts where the kernel counts these apart ([`HostFacts::interrupts_apart`]). At least so
    /// much; zero where the server's own use is not known, or not all of it.
    #[serde(default)]
    pub server_other_share: f64,
    /// Share of the server CPUs' time in hard and soft interrupts, 0 to 1. Where the kernel does not count these apart it is a
    /// sample of ticks, and part of what the interrupted programs used.
    #[serde(default)]
    pub server_interrupt_share: f64,
    /// Share of the generator CPUs' time that was idle, 0 to 1.
    pub generator_idle_share: f64,
    /// Share of each server CPU's time that was not idle, 0 to 1, by ascending CPU number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server_cpu_busy_shares: Vec<f64>,
    /// Share of the span in which some task on the machine waited for a CPU (kernel: accounting/psi.rst), 0 to 1; absent
    /// where the kernel does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_pressure_share: Option<f64>,
    /// TCP segments that the kernel sent again, in the network namespace of the server. It sees none of a user-space stack's.
    pub tcp_retransmits: u64,
    /// Connections that the kernel dropped there because an accept queue was full.
    pub listen_overflows: u64,
    /// What a quota of CPU time did to the server; absent where none binds it, or somebody else runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_throttled: Option<Throttled>,
    /// What one did to assay itself, the generator included; absent where none binds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_throttled: Option<Throttled>,
}
