//! What is to be measured: `experiments/NAME.toml`, or the arguments of `assay run`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::core_hour::CoreHour;
use crate::design::{Comparing, Design};
use crate::generator::GeneratorName;
use crate::network::Network;
use crate::offered::Offered;
use crate::profiling::Profiling;
use crate::published::Published;
use crate::setting::Setting;
use crate::workload::Workload;

pub use crate::arrival::{Arrival, ArrivalModel};
pub use crate::own_command::OwnCommand;
pub use crate::protocol::Protocol;

/// Most processes of our own generator that share a load: more than a machine has CPUs only wait for each other.
pub const MAX_GENERATOR_PROCESSES: u32 = 1_024;

/// A plan: which contenders, under which loads, how often and for how long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Experiment {
    /// Unique name, `[a-z0-9-]+`.
    pub name: String,
    /// One sentence for people.
    #[serde(default)]
    pub about: String,
    /// Selectors of contenders: a name, `lang:go`, `kind:server`, a path; `!` before one excludes.
    pub contenders: Vec<String>,
    /// Servers of the user's own, by the commands that start them; in the record of a run they are contenders.
    #[serde(default, rename = "command", skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<OwnCommand>,
    /// Workloads of its own, beside those of the catalogue; in the record of a run they are among its workloads.
    #[serde(default, rename = "workload", skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<Workload>,
    /// The folder of its file, in which its commands run; empty where it has none.
    #[serde(skip)]
    pub folder: PathBuf,
    /// The loads, each measured in every round.
    #[serde(rename = "measure")]
    pub measures: Vec<Measure>,
    /// Most rounds; each starts every contender afresh, in random order. Where servers take turns within a budget, the run chooses
    /// how many there are, by how much restarts and turns vary.
    #[serde(default = "default_rounds")]
    pub rounds: u32,
    /// Fewest rounds. Absent: two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_rounds: Option<u32>,
    /// Whether to stop before that as soon as every pair is settled, and to spend the rounds on the pairs that are not. The
    /// intervals are then those of a sequential rule: wider, because they allow for looking after each round.
    #[serde(default)]
    pub until_settled: bool,
    /// Half-width of a ratio's interval that is precise enough, as a share (0.02 is 2 %); a pair that has it is settled too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<f64>,
    /// Whether one contender takes part a second time under another name, an A/A pair: how far the two seem to differ is how
    /// far equals seem to differ on this machine.
    #[serde(default = "yes")]
    pub aa: bool,
    /// Whether everybody is looked at once more for long, for slow modes and pauses, where the rounds leave it open and a part of
    /// the budget for it.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub long_look: bool,
    /// Whether lives are profiled after their windows, in slices of load of their own: where the server's time goes. `true` is every
    /// life in every cell, `"once"` each server once, in the first round, in one cell at capacity.
    #[serde(default, skip_serializing_if = "Profiling::is_never")]
    pub profile: Profiling,
    /// What one CPU costs for an hour, such as `0.04 EUR`: answers are then priced by the CPU time that they take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_hour: Option<CoreHour>,
    /// Longest time for all rounds, in seconds; no round is begun that would exceed it. Absent: no bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_s: Option<f64>,
    /// Longest time for which load is given to a fresh server before its first measurement, in seconds; it ends as soon
    /// as the server no longer gets faster.
    #[serde(default = "default_warmup_s")]
    pub warmup_s: f64,
    /// Load given before each window, at that window's own level, in seconds.
    #[serde(default = "default_settle_s")]
    pub settle_s: f64,
    /// Length of one measured window, in seconds.
    #[serde(default = "default_window_s")]
    pub window_s: f64,
    /// Length of one of the short windows that a measured window at capacity is made of where the servers of a round take
    /// turns, in seconds.
    #[serde(default = "default_turn_s")]
    pub turn_s: f64,
    /// Whether one server lives at a time and is measured in one piece, instead of all at once in turns.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_at_a_time: bool,
    /// Most memory that servers may hold together that live at once, in bytes; where all hold more, a round is split into groups.
    /// Absent: what the machine has available, with something to spare.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Length of one measured window at capacity in requests, instead of the time; absent for the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_requests: Option<u32>,
    /// Length of a window at a given rate, in seconds; as long as the others when absent. A percentile p needs 100 / (1 − p)
    /// answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_window_s: Option<f64>,
    /// How requests arrive when a rate is offered.
    #[serde(default)]
    pub arrival: ArrivalModel,
    /// Longest wait for one response, in seconds.
    #[serde(default = "default_timeout_s")]
    pub timeout_s: f64,
    /// Generators that load every server besides, in windows of their own in the same rounds: `["wrk"]`. Ours always measures, and
    /// loads it once more beside them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub generators: Vec<GeneratorName>,
    /// Processes of our own generator, among which each load and the generator's CPUs are divided.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub generator_processes: u32,
    /// Whether the mean of all rounds but the best and the worst is told beside the interval, as the work that it repeats does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trimmed_mean: bool,
    /// Times, rising, in milliseconds: what share of all requests was answered within each is told of every closed loop.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answered_within_ms: Vec<f64>,
    /// What the work that it repeats has published; absent where it repeats none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<Published>,
    /// Who is compared with whom, and how; absent where all are compared with all, by turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparing: Option<Comparing>,
    /// The levels and lengths of the work that it repeats, for `--full`; absent in the record of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full: Option<Full>,
}

/// What `--full` changes; what is absent stays.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Full {
    /// Instead of `rounds`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    /// Instead of `budget_s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_s: Option<f64>,
    /// Instead of `warmup_s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup_s: Option<f64>,
    /// Instead of `settle_s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settle_s: Option<f64>,
    /// Instead of `window_s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_s: Option<f64>,
    /// Instead of `window_requests`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_requests: Option<u32>,
    /// Instead of `latency_window_s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_window_s: Option<f64>,
    /// Instead of all `measure`.
    #[serde(default, rename = "measure", skip_serializing_if = "Vec::is_empty")]
    pub measures: Vec<Measure>,
}

/// One workload at one or more numbers of connections and at one or more loads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measure {
    /// Name of the workload.
    pub workload: String,
    /// Numbers of connections, each a cell of its own.
    pub connections: Vec<u32>,
    /// Requests in flight on one connection.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub pipeline: u32,
    /// Streams in flight on one connection of HTTP/2; as many as `pipeline` says where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<u32>,
    /// Loads, each a cell of its own: `max`, `50%`, `common`, `5000/s`, `13000 requests`, `redline:p99<10ms`. One that depends on
    /// the capacity brings `max` with it.
    #[serde(default = "capacity_alone", skip_serializing_if = "is_capacity_alone")]
    pub rates: Vec<Offered>,
    /// Networks, each a cell of its own: `kernel/loopback`, `kernel/veth`, `kernel/veth:1gbit`, `user/xdp`, `user/ring`.
    /// Empty: the kernel's stack over the run's link.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<Network>,
    /// Names of the only contenders that are measured so; empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contenders: Vec<String>,
    /// What is spoken, each a cell of its own: `h1` and `h2c`, and over TLS with a certificate of the run's own `h1+tls` and `h2`.
    /// Empty: `h1`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protocols: Vec<Protocol>,
}

/// One cell of an experiment: a workload over a number of connections at a load.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// Name of the workload.
    pub workload: String,
    /// Connections held open.
    pub connections: u32,
    /// Requests in flight on one connection at most; over HTTP/2 each is a stream.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub pipeline: u32,
    /// The load that is offered.
    #[serde(default, skip_serializing_if = "Offered::is_capacity")]
    pub offered: Offered,
    /// The TCP and the wire; absent where the experiment names none: the kernel's, over the run's link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
    /// What is spoken.
    #[serde(default, skip_serializing_if = "Protocol::is_plain")]
    pub protocol: Protocol,
}

/// Length of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Span {
    /// A time, in seconds.
    Seconds(f64),
    /// Until so many requests that were sent in it have ended; those in flight when it began end in it too.
    Requests(u32),
}

impl Measure {
    /// `workload` in a closed loop without pipelining.
    pub fn capacity(workload: impl Into<String>, connections: Vec<u32>) -> Self {
        Self {
            workload: workload.into(),
            connections,
            pipeline: one(),
            streams: None,
            rates: capacity_alone(),
            networks: Vec::new(),
            contenders: Vec::new(),
            protocols: Vec::new(),
        }
    }

    /// The cells: in each setting all numbers of connections, at each of them the capacity first.
    pub fn cells(&self) -> impl Iterator<Item = Cell> {
        let implied =
            self.rates.iter().any(Offered::needs_capacity) && !self.rates.contains(&Offered::Capacity);
        let capacity = implied.then_some(Offered::Capacity);
        let at = move |(Setting { network, protocol }, connections): (Setting, u32)| {
            let of = move |offered: Offered| Cell {
                workload: self.workload.clone(),
                connections,
                pipeline: self.in_flight_over(protocol),
                offered,
                network,
                protocol,
            };
            capacity.into_iter().chain(self.rates.iter().copied()).map(of)
        };
        let on = |setting| self.connections.iter().map(move |&connections| (setting, connections));
        self.settings().into_iter().flat_map(on).flat_map(at)
    }

    /// Requests in flight on one connection over a protocol.
    fn in_flight_over(&self, protocol: Protocol) -> u32 {
        self.streams.filter(|_| protocol.is_http2()).unwrap_or(self.pipeline)
    }

    /// Each network with each protocol.
    fn settings(&self) -> Vec<Setting> {
        let with = |network| self.protocols().into_iter().map(move |protocol| Setting { network, protocol });
        self.networks().into_iter().flat_map(with).collect()
    }

    /// What is measured where the workload is one of messages.
    #[must_use]
    pub fn with_messages(self) -> Self {
        let mut protocols: Vec<Protocol> =
            self.protocols().into_iter().map(Protocol::with_messages).collect();
        protocols.sort_unstable();
        protocols.dedup();
        Self { protocols, ..self }
    }

    /// What is measured where the workload is one of calls of gRPC.
    #[must_use]
    pub fn with_calls(self) -> Self {
        let mut protocols: Vec<Protocol> = self.protocols().into_iter().map(Protocol::with_calls).collect();
        protocols.sort_unstable();
        protocols.dedup();
        Self { protocols, ..self }
    }

    /// The protocols; where none is named HTTP/1.1 alone.
    fn protocols(&self) -> Vec<Protocol> {
        if self.protocols.is_empty() { vec![Protocol::H1] } else { self.protocols.clone() }
    }

    /// The networks; where none is named the one that the run decides on.
    fn networks(&self) -> Vec<Option<Network>> {
        if self.networks.is_empty() { vec![None] } else { self.networks.iter().copied().map(Some).collect() }
    }
}

impl Cell {
    /// A closed loop without pipelining.
    pub fn closed(workload: impl Into<String>, connections: u32) -> Self {
        Self {
            workload: workload.into(),
            connections,
            pipeline: one(),
            offered: Offered::Capacity,
            network: None,
            protocol: Protocol::H1,
        }
    }

    /// What a server is started for that is measured in it.
    pub fn setting(&self) -> Setting {
        Setting { network: self.network, protocol: self.protocol }
    }

    /// The cell that differs from this one only in what is spoken.
    pub fn over(&self, protocol: Protocol) -> Self {
        Self { protocol, ..self.clone() }
    }

    /// The cell that differs from this one only in its network.
    pub fn on(&self, network: Option<Network>) -> Self {
        Self { network, ..self.clone() }
    }

    /// The cell that differs from this one only in that its load is the capacity.
    pub fn capacity(&self) -> Self {
        Self { offered: Offered::Capacity, ..self.clone() }
    }

    /// Most requests in flight at a time.
    pub fn in_flight(&self) -> u32 {
        self.connections.saturating_mul(self.pipeline)
    }

    /// The connections in words, with what is in flight on each: `64 connections`, `64×8 connections`, and over HTTP/2
    /// `8 connections × 10 streams`.
    pub fn connections_in_words(&self) -> String {
        let many = |n: u32, one: &str| format!("{n} {one}{}", if n == 1 { "" } else { "s" });
        match self.pipeline {
            streams if self.protocol.is_http2() => {
                format!("{} × {}", many(self.connections, "connection"), many(streams, "stream"))
            }
            1 => many(self.connections, "connection"),
            _ => format!("{} connections", self.width()),
        }
    }

    /// Number of connections, with the depth of their pipelines if they have any: `64`, `64×8`.
    pub fn width(&self) -> String {
        if self.pipeline > 1 {
            format!("{}×{}", self.connections, self.pipeline)
        } else {
            self.connections.to_string()
        }
    }
}

/// A short name: `hello at 64`, `hello at 64×8, 50%`, `hello at 64 on user/ring`.
impl std::fmt::Display for Cell {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} at {}", self.workload, self.width())?;
        if let Some(network) = self.network {
            write!(out, " on {network}")?;
        }
        if !self.protocol.is_plain() {
            write!(out, " over {}", self.protocol)?;
        }
        if self.offered.is_capacity() { Ok(()) } else { write!(out, ", {}", self.offered) }
    }
}

impl Experiment {
    /// An experiment with the defaults of a file.
    pub fn new(name: impl Into<String>, measures: Vec<Measure>) -> Self {
        Self {
            name: name.into(),
            about: String::new(),
            contenders: Vec::new(),
            commands: Vec::new(),
            workloads: Vec::new(),
            folder: PathBuf::new(),
            measures,
            rounds: default_rounds(),
            least_rounds: None,
            until_settled: false,
            precision: None,
            aa: yes(),
            long_look: yes(),
            profile: Profiling::Never,
            core_hour: None,
            budget_s: None,
            warmup_s: default_warmup_s(),
            settle_s: default_settle_s(),
            window_s: default_window_s(),
            turn_s: default_turn_s(),
            one_at_a_time: false,
            memory_bytes: None,
            latency_window_s: None,
            arrival: ArrivalModel::default(),
            timeout_s: default_timeout_s(),
            generators: Vec::new(),
            generator_processes: one(),
            published: None,
            window_requests: None,
            trimmed_mean: false,
            answered_within_ms: Vec::new(),
            comparing: None,
            full: None,
        }
    }

    /// The experiment at the levels and lengths of the work that it repeats; `None` where the file names none.
    pub fn in_full(&self) -> Option<Self> {
        let full = self.full.clone()?;
        Some(Self {
            rounds: full.rounds.unwrap_or(self.rounds),
            budget_s: full.budget_s.or(self.budget_s),
            warmup_s: full.warmup_s.unwrap_or(self.warmup_s),
            settle_s: full.settle_s.unwrap_or(self.settle_s),
            window_s: full.window_s.unwrap_or(self.window_s),
            window_requests: full.window_requests.or(self.window_requests),
            latency_window_s: full.latency_window_s.or(self.latency_window_s),
            measures: if full.measures.is_empty() { self.measures.clone() } else { full.measures },
            full: None,
            ..self.clone()
        })
    }

    /// Every cell in the order in which the file names them.
    pub fn cells(&self) -> Vec<Cell> {
        self.measures.iter().flat_map(Measure::cells).collect()
    }

    /// Whether a redline is searched in any of its cells.
    pub fn searches(&self) -> bool {
        self.measures.iter().flat_map(|measure| &measure.rates).any(Offered::is_search)
    }

    /// Whether redlines are searched and nothing else is asked for: a search takes as long as it may, and ends with its time.
    pub fn searches_alone(&self) -> bool {
        let mut rates = self.measures.iter().flat_map(|measure| &measure.rates).peekable();
        rates.peek().is_some() && rates.all(Offered::is_search)
    }

    /// The generators of other projects that load the servers besides, each once.
    pub fn other_generators(&self) -> Vec<GeneratorName> {
        let mut names = self.generators.clone();
        names.retain(|name| !name.is_ours());
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Whether any of its cells is measured over TLS.
    pub fn is_secured(&self) -> bool {
        self.settings().iter().any(|setting| setting.protocol.is_secured())
    }

    /// Everything that a server is started for, in the order in which the file names it.
    pub fn settings(&self) -> Vec<Setting> {
        let mut settings = Vec::new();
        for setting in self.measures.iter().flat_map(Measure::settings) {
            if !settings.contains(&setting) {
                settings.push(setting);
            }
        }
        settings
    }

    /// Length of one measured window at a load.
    pub fn window_at(&self, offered: Offered) -> Span {
        match offered {
            Offered::Requests(n) => Span::Requests(n),
            Offered::Capacity => self.window_requests.map_or(Span::Seconds(self.window_s), Span::Requests),
            _ => Span::Seconds(self.latency_window_s.unwrap_or(self.window_s)),
        }
    }

    /// Whether servers that live at once take turns in a cell: in a closed loop whose window is a time.
    pub fn is_turned(&self, cell: &Cell) -> bool {
        !self.one_at_a_time
            && cell.offered.is_capacity()
            && matches!(self.window_at(cell.offered), Span::Seconds(_))
    }

    /// Whether base and other are under load at the same time in a cell, besides taking turns.
    pub fn is_duet(&self, cell: &Cell) -> bool {
        self.comparing.as_ref().is_some_and(|comparing| comparing.design == Design::Duet)
            && self.is_turned(cell)
    }

    /// Load given before a window at a load, in seconds: none before one that is all of a few requests.
    pub fn settle_at(&self, offered: Offered) -> f64 {
        if matches!(offered, Offered::Requests(_)) { 0.0 } else { self.settle_s }
    }

    /// Whether a contender is measured in a cell, as far as that is the experiment's to say.
    pub fn takes(&self, contender: &str, cell: &Cell) -> bool {
        let of_cell = |measure: &&Measure| measure.cells().any(|of| of == *cell);
        let named = |measure: &Measure| {
            measure.contenders.is_empty() || measure.contenders.iter().any(|name| name == contender)
        };
        self.measures.iter().find(of_cell).is_none_or(named)
    }

    /// Every network that a cell names, in the order in which the file names them; `None` stands for the one that the run
    /// decides on.
    pub fn networks(&self) -> Vec<Option<Network>> {
        let mut networks = Vec::new();
        for network in self.measures.iter().flat_map(Measure::networks) {
            if !networks.contains(&network) {
                networks.push(network);
            }
        }
        networks
    }
}

fn one() -> u32 {
    1
}

fn is_one(n: &u32) -> bool {
    *n == 1
}

fn capacity_alone() -> Vec<Offered> {
    vec![Offered::Capacity]
}

fn is_capacity_alone(rates: &Vec<Offered>) -> bool {
    rates.as_slice() == [Offered::Capacity]
}

fn yes() -> bool {
    true
}

fn is_yes(wish: &bool) -> bool {
    *wish
}

fn default_rounds() -> u32 {
    6
}

fn default_warmup_s() -> f64 {
    10.0
}

fn default_settle_s() -> f64 {
    0.1
}

fn default_window_s() -> f64 {
    1.0
}

fn default_turn_s() -> f64 {
    0.15
}

fn default_timeout_s() -> f64 {
    5.0
}

#[cfg(test)]
mod tests;
