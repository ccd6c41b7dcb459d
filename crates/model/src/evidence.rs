//! What a judgement rests on: numbers and names, without a word of prose. Sentences and remedies are made of it where it is shown.

mod ages;
mod answers;
mod bottleneck;
pub mod check;
mod differences;
mod ended;
mod generators;
mod held_back;
mod hosts;
mod in_flight;
mod neighbour;
mod partial;
mod proportion;
mod rounds;
#[cfg(all(feature = "schemas", not(test)))]
mod sentences;
#[cfg(test)]
mod tests;
mod withheld;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::error_class::ErrorClass;
use crate::experiment::Cell;
use crate::imported::Imported;
use crate::running::Running;
use crate::speed::GaugeSeen;
use crate::tls::Agreed;
use crate::units::Nanos;

pub use ages::Ages;
pub use answers::{Against, Answered, Checked};
pub use bottleneck::{Bottleneck, Busiest, LimitedBy};
pub use differences::{ForeignRun, PropertyDifference};
pub use ended::ServerEnded;
pub use generators::{GeneratorGetsMore, GeneratorsAgree, GeneratorsDisagree};
pub use held_back::{HeldBack, SelfRatio};
pub use hosts::{HOST_MARGIN, HostApart, HostMeasure, HostsAlike};
pub use in_flight::InFlight;
pub use neighbour::Neighbour;
pub use partial::Partial;
pub use proportion::Proportion;
pub use rounds::{RestartsUnknown, Rounds};
#[cfg(all(feature = "schemas", not(test)))]
pub(crate) use sentences::with_sentences;
pub use withheld::Withheld;

/// What a rule found: the figures that decide it, of whichever kind the rule looks at. Shares are from 0 to 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Evidence {
    /// A sentence: of a record that was written before evidence had types.
    Told {
        /// As it stands there.
        sentence: String,
    },
    /// Right answers in a window.
    RightAnswers {
        /// How many.
        ok: u64,
    },
    /// The busiest thread of the generator.
    BusiestThread {
        /// Share of its CPU that it used.
        busy_share: f64,
    },
    /// The longest-waiting thread of the generator.
    ThreadWaited {
        /// Share of the window in which it could have run but another had its CPU.
        waiting_share: f64,
        /// Times that a thread was taken off its CPU.
        involuntary_switches: u64,
        /// Whether a database had the same CPUs by plan.
        #[serde(default)]
        beside_database: bool,
        /// Whether the upstream of a proxy had.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        beside_upstream: bool,
        /// The server, where it may run on these CPUs too.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        beside_server: Option<Neighbour>,
    },
    /// Requests that ended in a window.
    Failures {
        /// Those with a right answer.
        ok: u64,
        /// The others, by class.
        errors: BTreeMap<ErrorClass, u64>,
    },
    /// Requests without an end.
    Unanswered {
        /// Those that were given up.
        unanswered: u64,
        /// All requests.
        requests: u64,
    },
    /// Several generators of one load, in one window or several.
    Generators {
        /// How many.
        generators: u64,
        /// Those that did not take part to the end, each with what befell it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        lost: Vec<String>,
        /// From the first one's begin to the last one's, where they were farthest apart.
        apart_ns: Nanos,
        /// Who began last.
        latest: String,
        /// Their clocks are known to within so much.
        clock_error_ns: Nanos,
    },
    /// How late requests left, in one window.
    SendLag {
        /// 99th percentile of the lag.
        lag_p99_ns: Nanos,
        /// Quantiles that are not known for it, 0 to 1.
        unknown: Vec<f64>,
        /// Greatest difference between a quantile from due and from sent, as a share.
        apart_share: f64,
    },
    /// What was due in a window, and what was sent.
    Offered {
        /// Requests that were due.
        due: u64,
        /// Requests that were sent.
        sent: u64,
        /// Requests given up because too many waited.
        given_up: u64,
    },
    /// What a closed loop had in flight.
    InFlight(InFlight),
    /// A server that ended while it was measured.
    ServerEnded(ServerEnded),
    /// How long a window was beside the responses in it.
    WindowLength {
        /// Responses that would fit into it one after another.
        responses: f64,
        /// How long one takes on average.
        mean_ns: Nanos,
    },
    /// Both sides of Little's law in one window.
    LittlesLaw {
        /// Requests in flight on average.
        in_flight: f64,
        /// Throughput times mean latency.
        throughput_times_latency: f64,
    },
    /// Connections on which bytes came that no request had asked for.
    Unsolicited {
        /// How many.
        connections: u64,
    },
    /// Connections made.
    Connections {
        /// To be kept open.
        asked: u64,
        /// Made for that.
        opened: u64,
    },
    /// Requests for which there was no local port.
    NoPort {
        /// How many.
        requests: u64,
    },
    /// Retransmission timers of one of our own stacks.
    Retransmissions {
        /// The wire.
        wire: String,
        /// Timers that ran out.
        timeouts: u64,
        /// Segments sent again.
        segments: u64,
        /// Windows in which one ran out; absent where one window is meant.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        windows: Option<Proportion>,
    },
    /// What connections over TLS agreed on instead of what was asked for.
    TlsOtherwise {
        /// What was asked for.
        asked: Agreed,
        /// What the first connection that did otherwise agreed on.
        agreed: Agreed,
        /// Windows in which one did.
        windows: Proportion,
    },
    /// How assay was built.
    Build {
        /// Its version.
        version: String,
        /// The profile.
        profile: String,
    },
    /// Rounds in which everybody was measured.
    Rounds(Rounds),
    /// The CPUs that each side had.
    Isolation {
        /// As the record tells it.
        statement: String,
    },
    /// The generator of a whole run.
    GeneratorBusy {
        /// Share of its CPU that its busiest thread used, at most.
        busy_share: f64,
    },
    /// How much more the generator could have sent.
    Headroom {
        /// Times as much.
        times: f64,
        /// Against whom; absent where that goes without saying.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        contender: Option<String>,
    },
    /// Requests that failed, over several windows.
    Errors {
        /// Requests that failed.
        failed: u64,
        /// All requests.
        requests: u64,
        /// What one of them came to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        example: Option<String>,
        /// What answers were held against, where none failed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        checked: Vec<Checked>,
    },
    /// Failed requests as somebody else's generator counted them.
    SourceErrors {
        /// By class.
        errors: BTreeMap<ErrorClass, u64>,
    },
    /// Windows whose books do not balance.
    Books {
        /// How many.
        broken: u64,
    },
    /// Little's law over all windows.
    LittleOverWindows {
        /// Those that break it, of those in which it was looked at.
        broken: Proportion,
        /// What the first of them found.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        example: Option<Box<Evidence>>,
    },
    /// CPU time that somebody else took.
    Taken {
        /// Share of the worst window.
        share: f64,
        /// Windows that are void for it as a whole.
        void: Proportion,
        /// Turns whose rates do not count for it; absent where none tells.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turns: Option<Proportion>,
    },
    /// The generator's waiting for its CPUs, over several windows.
    GeneratorWaited {
        /// Share of the worst window, all threads together.
        share: f64,
        /// Windows in which it was noticeable.
        noticeable: Proportion,
        /// Windows that are void for it as a whole.
        void: u64,
        /// Turns whose rates do not count for it; absent where none tells.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turns: Option<Proportion>,
        /// What the generator says itself of its worst window, where it objects.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        own: Option<Box<Evidence>>,
        /// Whether only the generator objects.
        #[serde(default)]
        only_own: bool,
        /// A server that may run on these CPUs too.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        beside_server: Option<Neighbour>,
    },
    /// What the kernel's TCP counted.
    Tcp {
        /// Segments sent again.
        retransmitted: u64,
        /// Connections dropped at a full accept queue.
        dropped: u64,
    },
    /// A quota of CPU time.
    Quota {
        /// CPUs that it allows.
        cpus: f64,
        /// What it did, if anything.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        held: Option<HeldBack>,
    },
    /// Where a database ran.
    Database {
        /// Its CPUs, as a kernel list; absent for one of the user's own.
        cpus: Option<String>,
        /// The other host whose these CPUs are, if they are another's.
        host: Option<String>,
        /// Whether they are the generator's.
        beside_generator: bool,
    },
    /// Where the upstreams of proxies ran.
    Upstream {
        /// Their CPUs, as a kernel list.
        cpus: String,
        /// Whether they are the generator's.
        beside_generator: bool,
    },
    /// Right answers of a proxy for which its upstream got no request.
    AnsweredByItself {
        /// Answers that it gave by itself.
        answers: u64,
        /// All right answers.
        of: u64,
    },
    /// How long tasks of others waited for a CPU.
    Pressure {
        /// Share of the time in half of the windows.
        share: f64,
    },
    /// How fast the machine itself was.
    MachineSpeed {
        /// Standard deviation of its logarithm.
        spread_share: f64,
        /// Windows in one piece in which it was far from usual.
        outliers: Proportion,
        /// Turns in which it was; absent where nobody took turns.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turns: Option<Proportion>,
        /// What a gauge within turns told; absent where there was none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        gauge: Option<GaugeSeen>,
    },
    /// What links lost where a loss was asked for.
    LinkLoss {
        /// Frames lost.
        lost: u64,
        /// Frames offered.
        frames: u64,
        /// Share that was asked for.
        asked_share: f64,
    },
    /// How throughput changed along an order.
    Change {
        /// From first to last, as a share; negative for a fall.
        change_share: f64,
        /// Probability of such a change by chance.
        p: f64,
    },
    /// A contender against itself.
    NoiseFloor {
        /// By how much restarts vary (coefficient of variation); absent where that is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        restart_cv: Option<f64>,
        /// Why it is not; absent where it is, and where an earlier version did not tell.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        restarts_unknown: Option<RestartsUnknown>,
        /// Who took part twice; absent when nobody did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        contender: Option<String>,
        /// Whether it could be compared with itself: too few rounds may count.
        is_compared: bool,
        /// A cell in which it differs from itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        apart: Option<SelfRatio>,
    },
    /// Figures of others, all of them.
    Imported {
        /// Where they are from.
        origin: Imported,
    },
    /// Each figure is a single run.
    SingleRun,
    /// A server that somebody else runs.
    Running {
        /// The contender.
        contender: String,
        /// What is known of it.
        running: Running,
        /// The generator's CPUs among its own, as a kernel list; empty for none.
        shared_cpus: String,
    },
    /// How late requests left, over several windows.
    LateRequests {
        /// Quantiles that cannot be told, 0 to 1.
        unknown: Vec<f64>,
        /// Greatest difference between the others from due and from sent, as a share.
        apart_share: f64,
        /// Windows that count.
        windows: u64,
    },
    /// Runs that failed.
    Deaths {
        /// How many.
        runs: Proportion,
        /// Why the last of them did.
        reason: String,
        /// What helps there, as whoever saw it says.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remedy: Option<String>,
    },
    /// Windows in which the generator found no port.
    NoPorts {
        /// How many.
        windows: Proportion,
    },
    /// Something else than the server set its figure.
    Limit {
        /// What set the figure.
        by: LimitedBy,
        /// What that is concluded from.
        because: Bottleneck,
    },
    /// Frames lost at the full queue before a link's rate.
    Overflow {
        /// How many.
        frames: u64,
    },
    /// Runs whose warm-up ended too early.
    NotWarm {
        /// How many.
        runs: Proportion,
    },
    /// How the rate of a contender changes with the load that its lives have behind them, by all that was measured.
    SlowMode {
        /// Change over a typical life, as a share; negative for a fall.
        change_share: f64,
        /// The least change that is as likely.
        low_share: f64,
        /// The greatest.
        high_share: f64,
        /// Load behind a typical life when it was first measured.
        from_ns: Nanos,
        /// Load behind it when it was last measured.
        to_ns: Nanos,
    },
    /// What its rate was in a long life, later than at the age at which it was measured.
    LongLook {
        /// Change from one to the other, as a share; negative for a fall.
        change_share: f64,
        /// The least change that is as likely.
        low_share: f64,
        /// The greatest.
        high_share: f64,
        /// Load up to which the life was as young as those that were measured.
        young_ns: Nanos,
        /// Load from which on it is compared with that.
        late_ns: Nanos,
        /// Load at its end.
        end_ns: Nanos,
    },
    /// How old servers were when they were measured, and which change with age would have been seen.
    Ages {
        /// From the first measurement that counts to the last.
        ages: Ages,
        /// The greatest change over a typical life that one of the contenders may hide, as a share; absent where there are
        /// too few lives to tell.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        could_show_share: Option<f64>,
        /// Load at the end of the long look at each contender, in the shortest; absent where not all were looked at.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        long_look_ns: Option<Nanos>,
    },
    /// Times at which no answer came for a while.
    Pauses {
        /// How often it stood still: in so many of its turns or windows.
        pauses: u64,
        /// Load under which it was watched.
        watched_ns: Nanos,
        /// Shortest silence that counts.
        least_ns: Nanos,
        /// The longest that was seen; a window may have cut it short.
        longest_ns: Nanos,
        /// How often the others did.
        others: u64,
        /// Load under which they were watched.
        others_watched_ns: Nanos,
    },
    /// Throughput along a window.
    Drift {
        /// Last third over first.
        ratio: f64,
    },
    /// How near it comes to the machine's limit.
    ShareOfLimit {
        /// Share of it.
        share: f64,
    },
    /// A server that was seen on a CPU of the generator's.
    SharedCpus {
        /// The CPU.
        cpu: u32,
        /// Windows in which that was so.
        windows: Proportion,
    },
    /// Windows in which CPU time of its processes got lost.
    LostCpuTime {
        /// How many.
        windows: Proportion,
    },
    /// Contenders at the generator's ceiling.
    Bunched {
        /// How many.
        contenders: u64,
    },
    /// What the generator objected to in several windows.
    InWindows {
        /// What it found in the worst.
        worst: Box<Evidence>,
        /// How many.
        windows: Proportion,
    },
    /// Two different runs are compared.
    DifferentRuns {
        /// Name of the base.
        base: String,
        /// Name of the other.
        new: String,
    },
    /// A run that did not come to its end.
    Partial(Partial),
    /// Runs whose figures were imported.
    NotMeasuredHere {
        /// Each with its origin.
        runs: Vec<ForeignRun>,
    },
    /// What differs between two runs.
    Differences {
        /// Each with both values.
        between: Vec<PropertyDifference>,
    },
    /// Percentiles with too few answers beyond them.
    FewAnswers {
        /// These, 0 to 1.
        untold: Vec<f64>,
        /// Rounds in which that is so.
        rounds: Proportion,
    },
    /// How two servers answered what they were both asked.
    Answers {
        /// How one of the two answered, the base of the comparison.
        base: Box<Answered>,
        /// The other.
        new: Box<Answered>,
    },
    /// All that were asked for the same answered alike.
    AllAlike,
    /// A ratio that two servers at once show, and one at a time does not.
    DuetApart {
        /// The one in the denominator.
        base: String,
        /// The other.
        new: String,
        /// The cell in which they are apart.
        cell: Cell,
        /// By how much both ratios differ.
        apart_share: f64,
    },
    /// Windows of two servers at once that do not count, because a generator waited for its CPU.
    LostPairs {
        /// The one in the denominator.
        base: String,
        /// The other.
        new: String,
        /// The cell in which pairs were lost.
        cell: Cell,
        /// Pairs of windows that are void, of all.
        void: Proportion,
        /// Whether they are so many that nothing is told of the others.
        #[serde(default)]
        is_withheld: bool,
        /// Why turns of one at a time tell nothing, where that is so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turns: Option<Box<Withheld>>,
    },
    /// The time did not allow for a contender against itself.
    NoControl {
        /// The contender.
        base: String,
    },
    /// Generators of others got as much out of the servers as ours, and told the same ratios of them.
    GeneratorsAgree(GeneratorsAgree),
    /// A generator of others got more out of a server than ours.
    GeneratorGetsMore(GeneratorGetsMore),
    /// A generator of others told another ratio of two contenders than ours.
    GeneratorsDisagree(GeneratorsDisagree),
    /// No host of a role was shown to differ from the others.
    HostsAlike(HostsAlike),
    /// A host of the run differs from the others.
    HostApart(HostApart),
    /// Evidence of another version of assay.
    #[serde(other)]
    Unknown,
}
