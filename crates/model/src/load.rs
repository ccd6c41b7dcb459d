//! What the load generator reports: the JSON of `assay load --json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::check::Check;
use crate::experiment::Protocol;
use crate::fleet::ClockOffset;
use crate::learnt::Learnt;
use crate::running::Running;
use crate::tls::TlsReport;
use crate::units::{Nanos, total};
use crate::usage::{Usage, is_zero};
use crate::workload::MessageKind;

pub use crate::arrival::Arrival;
pub use crate::error_class::ErrorClass;

/// Name and version of the format of [`LoadReport`].
pub const LOAD_SCHEMA: &str = "assay-load/1";

/// Name and version of the format of [`LoadSecond`].
pub const SECOND_SCHEMA: &str = "assay-load-second/1";

/// One measurement by the load generator: raw evidence, no summary.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadReport {
    /// [`LOAD_SCHEMA`].
    pub schema: String,
    /// `http://address:port` that was driven, or `https://address:port`.
    pub target: String,
    /// Event engine that ran: `epoll` or `io_uring`.
    pub engine: String,
    /// Arrival model.
    pub arrival: Arrival,
    /// CPUs of the generator's threads, one thread each, as a kernel list.
    pub cpus: String,
    /// Connections asked for.
    pub connections: u32,
    /// Connections that were open beside these, on which nothing was asked.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub idle: u32,
    /// Kind of the messages, where WebSocket was spoken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub websocket: Option<MessageKind>,
    /// Requests in flight on one connection at most: the depth of a pipeline, or the number of streams.
    pub pipeline: u32,
    /// What was spoken.
    #[serde(default)]
    pub protocol: Protocol,
    /// Length of the window from which throughput and latency are taken.
    pub window_ns: Nanos,
    /// Load before the window, not part of it.
    pub warmup_ns: Nanos,
    /// All requests from start to end, warm-up included; these books balance.
    pub books: Books,
    /// Completions inside the window.
    pub window: WindowCounts,
    /// Histograms of the window.
    pub latency: Latency,
    /// Right answers per interval over the window, in order; the last interval may be cut short.
    pub series: Series,
    /// What the generator itself consumed during the window.
    pub generator: Usage,
    /// CPU time of each generator thread during the window over the window's length, 0 to 1, in thread order. Under an
    /// open model a thread spins shortly before a request is due; that is left out here, though not in `generator`.
    pub thread_busy_shares: Vec<f64>,
    /// How the bodies of the window's right answers were looked at.
    #[serde(default)]
    pub bodies: BodyChecks,
    /// System calls of the generator's engines during the window.
    #[serde(default)]
    pub system_calls: SystemCalls,
    /// Memory of the generator.
    #[serde(default)]
    pub memory: GeneratorMemory,
    /// The server that answered, where it was looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<Running>,
    /// What that used from before the first connection to after the last; absent where it was not seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Usage>,
    /// What its own TCP stack did, from its first connection to its last; absent where the kernel's worked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<StackCounts>,
    /// How the connections were secured; absent where they were not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsReport>,
    /// What the server answered before the load, where nobody said what is right.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub learnt: Vec<Learnt>,
    /// The generators whose reports these figures are put together from; none where one generator made the load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub generators: Vec<GeneratorShare>,
    /// The first wrong answers, for people.
    pub samples: Vec<ErrorSample>,
    /// What the generator has to say about its own trustworthiness
    /// (docs/method/generator.md#what-does-the-generator-check-of-itself).
    pub checks: Vec<Check>,
}

/// The part that one of several generators had in a load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GeneratorShare {
    /// The generator, by number or by host.
    pub name: String,
    /// Its clock beside that of whoever led the load.
    pub clock: ClockOffset,
    /// When it really began, after the moment on which all had agreed, by the leader's clock; of several windows the one in which
    /// it was farthest from it. Absent where it never began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began_ns: Option<i64>,
    /// What befell it, where it did not carry out its part to the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
    /// Its own report, from which the common one is made; absent where it was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Box<LoadReport>>,
}

/// One of several short windows on the same connections.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadTurn {
    /// Load before what is measured.
    pub settle_ns: Nanos,
    /// Length of what is measured.
    pub window_ns: Nanos,
    /// Right answers in the window.
    pub ok: u64,
    /// Failed requests in it.
    pub failed: u64,
    /// Right answers from the first request to the last answer, those before and after the window included.
    pub answered: u64,
    /// Right answers per interval, from the beginning of the load to the end of the window.
    pub slices: Series,
    /// Share of its CPU that the generator's busiest thread used in the window, 0 to 1.
    pub generator_busy_share: f64,
    /// Longest share of the window for which one of its threads waited for its CPU, 0 to 1.
    pub generator_delay_share: f64,
}

/// Counters of a program's own TCP stack, over all threads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StackCounts {
    /// The wire and what was to go wrong on it, as it was named.
    pub wire: String,
    /// Whether the wire loses nothing, so that every retransmission is a fault.
    pub lossless: bool,
    /// Frames that arrived.
    pub received_frames: u64,
    /// Frames that left.
    pub sent_frames: u64,
    /// Segments sent again, whatever the reason.
    pub retransmitted_segments: u64,
    /// Times that a retransmission timer ran out (RFC 6298), but for requests for a connection: a full backlog drops these.
    pub retransmission_timeouts: u64,
    /// Probes for a loss at the end of what was sent (RFC 8985 §7).
    #[serde(default)]
    pub tail_loss_probes: u64,
    /// Losses that acknowledgements told of, counted once for each window (RFC 8985 §6).
    #[serde(default)]
    pub loss_recoveries: u64,
    /// Times that the wire had no room for a frame, which was then sent later.
    pub wire_full: u64,
    /// Frames given up for want of room.
    pub dropped_frames: u64,
    /// System calls that the wire took: to move frames, to sleep, to wake the other end.
    #[serde(default)]
    pub system_calls: u64,
    /// Handshakes that were dropped, as too many connections were not yet accepted, or memory was short.
    #[serde(default)]
    pub dropped_requests: u64,
    /// Handshakes under way that were forgotten, as many others had begun since; an honest one succeeds all the same (SYN cookies,
    /// RFC 4987 §3.6).
    #[serde(default)]
    pub forgotten_handshakes: u64,
    /// Times that the memory of all connections became short.
    #[serde(default)]
    pub memory_shortages: u64,
    /// Connections that were reset for want of memory.
    #[serde(default)]
    pub memory_resets: u64,
}

impl StackCounts {
    /// Counts of two stacks together, on the wire of the first.
    #[must_use]
    pub fn plus(self, other: &Self) -> Self {
        Self {
            wire: self.wire.clone(),
            lossless: self.lossless && other.lossless,
            ..self.each(other, u64::saturating_add)
        }
    }

    /// What was counted since `before`; nothing where a counter went back.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        self.each(before, u64::saturating_sub)
    }

    fn each(&self, other: &Self, of: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            wire: self.wire.clone(),
            lossless: self.lossless,
            received_frames: of(self.received_frames, other.received_frames),
            sent_frames: of(self.sent_frames, other.sent_frames),
            retransmitted_segments: of(self.retransmitted_segments, other.retransmitted_segments),
            retransmission_timeouts: of(self.retransmission_timeouts, other.retransmission_timeouts),
            tail_loss_probes: of(self.tail_loss_probes, other.tail_loss_probes),
            loss_recoveries: of(self.loss_recoveries, other.loss_recoveries),
            wire_full: of(self.wire_full, other.wire_full),
            dropped_frames: of(self.dropped_frames, other.dropped_frames),
            system_calls: of(self.system_calls, other.system_calls),
            dropped_requests: of(self.dropped_requests, other.dropped_requests),
            forgotten_handshakes: of(self.forgotten_handshakes, other.forgotten_handshakes),
            memory_shortages: of(self.memory_shortages, other.memory_shortages),
            memory_resets: of(self.memory_resets, other.memory_resets),
        }
    }

    /// Whether a retransmission timer ran out where nothing is lost: one of the two ends stood still.
    pub fn has_stalled(&self) -> bool {
        self.lossless && self.retransmission_timeouts > 0
    }
}

/// Every request accounted for: `issued = ok + Σ errors + censored`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Books {
    /// Requests that were due.
    pub issued: u64,
    /// Right answers.
    pub ok: u64,
    /// Failed requests by class; a class is absent when it counts none.
    pub errors: BTreeMap<ErrorClass, u64>,
    /// Requests unfinished when the generator stopped.
    pub censored: u64,
    /// Bytes handed to the sockets.
    pub sent_bytes: u64,
    /// Bytes taken from the sockets.
    pub received_bytes: u64,
    /// Connections that were established.
    pub connections_opened: u64,
    /// Times that a request was sent once more, as the server had said that it had not looked at it (HTTP/2: GOAWAY,
    /// REFUSED_STREAM; HTTP/1.1: `Connection: close` in an answer before). No outcome: each such request ended later in another way.
    #[serde(default)]
    pub repeated: u64,
}

impl Books {
    /// Failed requests of all classes.
    pub fn failed(&self) -> u64 {
        total(self.errors.values().copied())
    }

    /// Whether every issued request is accounted for exactly once.
    pub fn balance(&self) -> bool {
        let accounted = self.ok.checked_add(self.failed()).and_then(|ended| ended.checked_add(self.censored));
        accounted == Some(self.issued)
    }
}

/// Completions inside the measured window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WindowCounts {
    /// Right answers; throughput is this over the window's length.
    pub ok: u64,
    /// Failed requests by class.
    pub errors: BTreeMap<ErrorClass, u64>,
    /// Bytes of right answers' bodies.
    pub body_bytes: u64,
    /// Requests that failed after the window, whenever they were sent; absent in records of before they were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_later: Option<u64>,
}

/// Histograms as base64 of the HdrHistogram V2 compressed format, in nanoseconds, two significant figures.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// Last byte minus submission: what a request took once it was sent. The only time a closed loop can tell.
    pub service_hdr: String,
    /// First byte minus submission.
    pub ttfb_hdr: String,
    /// Connection establishment, without TLS's handshake; over the generator's whole life.
    pub connect_hdr: String,
    /// Last byte minus intended time; open-loop models only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_hdr: Option<String>,
    /// Response times less what the generator was late with each request: what it would at least have taken in time. Waiting for a
    /// free connection is in both. The truth lies between the two; open-loop models only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_from_sent_hdr: Option<String>,
    /// How late the generator was, in noticing and in sending; open-loop models only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_lag_hdr: Option<String>,
    /// How long a due request waited for a free connection; open-loop models only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool_wait_hdr: Option<String>,
    /// How long requests had lasted, from the intended time, when they were given up unanswered: timed out, unfinished
    /// or never sent. Each would have taken longer, so a percentile that reaches the least of them is a lower bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub censored_hdr: Option<String>,
    /// Service time of requests that failed after they were sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_hdr: Option<String>,
}

/// Counts per interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// Length of an interval.
    pub interval_ns: Nanos,
    /// Right answers in each.
    pub ok: Vec<u64>,
}

impl Series {
    /// The intervals but the last one, which may be cut short.
    pub fn whole(&self) -> &[u64] {
        self.ok.split_last().map_or(&[], |(_, whole)| whole)
    }
}

/// The bodies that are compared to their end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Checking {
    /// All of which it is known what they must be.
    #[default]
    Full,
    /// Of the large ones, the first of each kind on each connection and a random sample; of the others only status, head,
    /// length and first bytes are checked, and the rest is dropped unseen.
    Sampled,
}

/// How the bodies of right answers were looked at; the three counts add up to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BodyChecks {
    /// The rule.
    pub checking: Checking,
    /// Under the sampling rule, one in so many large bodies was compared at random.
    pub sampled_one_in: u32,
    /// Compared to their end.
    pub compared: u64,
    /// Checked by status, head, length and first bytes only.
    pub by_length: u64,
    /// Accepted whatever they were, because nothing was expected of them.
    pub unjudged: u64,
}

/// System calls by what they are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SystemCalls {
    /// They wait for events; with io_uring they also carry what is sent and received.
    pub waits: u64,
    /// They receive.
    pub receives: u64,
    /// They send.
    pub sends: u64,
    /// All others: open, register, close.
    pub others: u64,
}

impl SystemCalls {
    /// Calls of all kinds.
    pub fn total(&self) -> u64 {
        total([self.waits, self.receives, self.sends, self.others])
    }
}

/// Resident memory of the generator's process; what the kernel holds for its sockets is not part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GeneratorMemory {
    /// Before its threads were started.
    pub start_bytes: u64,
    /// When all connections had been made, before the first request.
    pub ready_bytes: u64,
}

/// What happened in one second or less: a line of `assay load --stream`. Intervals begin and end with the window too.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadSecond {
    /// [`SECOND_SCHEMA`].
    pub schema: String,
    /// Begin of the interval, since the first request was due.
    pub offset_ns: Nanos,
    /// Length of the interval.
    pub length_ns: Nanos,
    /// The part of the measurement that it belongs to.
    pub phase: Phase,
    /// Requests that became due in it.
    pub issued: u64,
    /// Right answers in it.
    pub ok: u64,
    /// Requests that failed in it, by class; a class is absent when it counts none.
    pub errors: BTreeMap<ErrorClass, u64>,
    /// Bytes of right answers' bodies.
    pub body_bytes: u64,
    /// Bytes handed to the sockets.
    pub sent_bytes: u64,
    /// Bytes taken from the sockets.
    pub received_bytes: u64,
    /// Requests submitted and not answered at its end.
    pub in_flight: u64,
    /// Connections open at its end.
    pub connections: u64,
    /// Median of the right answers' times: response times under an open model, service times in a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ns: Option<Nanos>,
    /// Their 99th percentile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<Nanos>,
    /// The longest of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_ns: Option<Nanos>,
}

/// Part of a measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Connections are being made; no request is due.
    #[default]
    Connecting,
    /// Load that does not count.
    WarmUp,
    /// Load that counts.
    Window,
    /// No request is due any more; answers are waited for.
    Drain,
}

/// A wrong answer, kept for people to look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorSample {
    /// Its class.
    pub class: ErrorClass,
    /// What was expected and what came, in words.
    pub detail: String,
    /// The first bytes received, at most 64, with bytes outside printable ASCII escaped as `\xNN`.
    pub received: String,
}
