//! The rules that a number must keep to be believed, by their stable names.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::JsonSchema;

/// Each rule with what it demands and its name in files.
macro_rules! rules {
    ($($(#[$about:meta])+ $rule:ident => $name:literal,)+) => {
        /// A rule about a measurement.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum Rule {
            $($(#[$about])+ #[serde(rename = $name)] $rule,)+
            /// A rule of another version of assay, of which only the outcome is known.
            #[serde(other, rename = "unknown")]
            Unknown,
        }

        impl Rule {
            /// All rules of this version.
            pub const ALL: &[Self] = &[$(Self::$rule,)+];

            /// Stable name of the rule, such as `generator-saturated`.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$rule => $name,)+
                    Self::Unknown => "unknown",
                }
            }
        }
    };
}

rules! {
    /// It is known how old servers were when they were measured, and which change with age would have been seen.
    Ages => "ages",
    /// All right answers of a proxy come from its upstream.
    AnsweredByItself => "answered-by-itself",
    /// A right answer came in the window.
    Answers => "answers",
    /// A contender can be told from the machine's limit.
    AtLimit => "at-limit",
    /// Requests issued are those accounted for.
    Books => "books",
    /// assay was built for release.
    Build => "build",
    /// Contenders do not crowd at the generator's ceiling.
    Bunched => "bunched",
    /// As many connections were made as asked for.
    Connections => "connections",
    /// The database has CPUs for itself.
    Database => "database",
    /// Throughput is the same at both ends of a window.
    Drift => "drift",
    /// What two servers differ by under load at the same time is what they differ by one at a time.
    DuetAgrees => "duet-agrees",
    /// Requests do not fail.
    Errors => "errors",
    /// A contender lives through all of its runs.
    FailedRuns => "failed-runs",
    /// No request that ended in the window failed; the generator's own word, judged with `errors`.
    Failures => "failures",
    /// The generator is not what limits a run.
    Generator => "generator",
    /// No thread of the generator waits for its CPU. The generator knows it of each thread, the runner from the
    /// counters of all; they share the rule, so that one fact is one rule.
    GeneratorDisturbed => "generator-disturbed",
    /// No thread of the generator uses all of its CPU.
    GeneratorSaturated => "generator-saturated",
    /// Several generators of one load begin together, and none is lost.
    Generators => "generators",
    /// The generator could send more than it did.
    Headroom => "headroom",
    /// Hosts of one load get the same answers at the same time.
    HostEffect => "host-effect",
    /// Figures were measured here.
    Imported => "imported",
    /// A closed loop keeps in flight what was asked for.
    InFlight => "in-flight",
    /// Server and generator have CPUs of their own.
    Isolation => "isolation",
    /// A link loses what it was asked to lose.
    LinkLoss => "link-loss",
    /// A link loses nothing else.
    LinkOverflow => "link-overflow",
    /// The link is not what limits a contender.
    LinkSaturated => "link-saturated",
    /// Little's law holds over all windows.
    Little => "little",
    /// Little's law holds in a window: what was in flight is throughput times latency.
    LittlesLaw => "littles-law",
    /// Every connection found a local port; the generator's own word.
    LocalPorts => "local-ports",
    /// All CPU time of a server's processes is accounted for.
    LostCpuTime => "lost-cpu-time",
    /// Servers that are asked for the same answer alike.
    LikeAnswers => "like-answers",
    /// Runs that are compared were made on the same machine.
    Machine => "machine",
    /// The machine is as fast from window to window.
    MachineSpeed => "machine-speed",
    /// Compared runs were made while the machine was in the same state.
    MachineState => "machine-state",
    /// Compared runs were measured in the same way.
    Method => "method",
    /// A contender does not differ from itself.
    NoiseFloor => "noise-floor",
    /// What was due was sent.
    OfferedLoad => "offered-load",
    /// The place within a round does not matter.
    Order => "order",
    /// Generators of other projects tell of servers what ours does.
    OtherGenerators => "other-generators",
    /// No other program uses the server's CPUs.
    OtherPrograms => "other-programs",
    /// What is compared was measured in the same rounds.
    Pairing => "pairing",
    /// Each round that counts has answers enough for a percentile, or none has.
    Percentiles => "percentiles",
    /// A server does not stand still for a while, as one that collects its garbage may.
    Pauses => "pauses",
    /// The generator finds a port for each connection.
    Ports => "ports",
    /// Nobody else waits for a CPU.
    Pressure => "pressure",
    /// No retransmission timer of the generator's own stack runs out where nothing is lost.
    Retransmissions => "retransmissions",
    /// There are rounds enough to compare.
    Rounds => "rounds",
    /// It is known which process serves that somebody else started.
    RunningServer => "running-server",
    /// Requests leave when they are due. It voids no window: both ends of a response time are recorded, and a percentile at
    /// which they differ is not told.
    SendLag => "send-lag",
    /// A server lives to the end of a measurement.
    ServerEnded => "server-ended",
    /// No retransmission timer of the server's own stack runs out where nothing is lost.
    ServerRetransmissions => "server-retransmissions",
    /// A server that somebody else started is not on the generator's CPUs.
    SharedCpus => "shared-cpus",
    /// A figure is more than a single run.
    SingleRun => "single-run",
    /// A server neither gets faster nor slower with its age.
    SlowModes => "slow-modes",
    /// No hypervisor takes CPU time.
    Steal => "steal",
    /// The kernel sends no segment again and drops no connection.
    Tcp => "tcp",
    /// No quota of CPU time holds server or generator back.
    Throttled => "throttled",
    /// Connections over TLS agree on the version, cipher suite and key that all are measured with.
    TlsOtherwise => "tls-otherwise",
    /// Rounds do not get slower or faster.
    Trend => "trend",
    /// Every request has an end.
    Unfinished => "unfinished",
    /// No bytes come that nobody asked for.
    UnsolicitedBytes => "unsolicited-bytes",
    /// The upstreams of proxies have CPUs for themselves.
    Upstream => "upstream",
    /// A server is as fast as it will be before it is measured.
    WarmUp => "warm-up",
    /// A run that is compared came to its end.
    WholeRun => "whole-run",
    /// A window is many times as long as a response.
    WindowLength => "window-length",
}

impl fmt::Display for Rule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_read_by_its_name_and_a_strangers_rule_is_unknown() {
        let read = |text: &str| serde_json::from_str::<Rule>(text).expect("a rule");
        assert_eq!(serde_json::to_string(&Rule::SendLag).expect("json"), "\"send-lag\"");
        assert_eq!((read("\"send-lag\""), read("\"of-the-future\"")), (Rule::SendLag, Rule::Unknown));
        assert_eq!(Rule::GeneratorDisturbed.to_string(), "generator-disturbed");
    }
}
