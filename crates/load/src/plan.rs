//! What is to be measured and how, with its own form checked.

use std::net::{IpAddr, SocketAddr};

use assay_engine::EngineKind;
use assay_fleet::slice::Slice;
use assay_model::experiment::Protocol;
use assay_model::load::{Arrival, Checking};
use assay_model::units::Nanos;
use assay_model::workload::{MessageKind, RequestKind};
use assay_tcp::Stack;

use crate::LoadError;

/// Requests in flight on one connection at most. The HTTP benchmarks that pipeline use 16; beyond a few hundred only
/// the socket buffers grow.
pub const MAX_PIPELINE: u32 = 1024;

/// Connections at most; one source address has fewer ports towards one target, so this needs several.
pub const MAX_CONNECTIONS: u32 = 1 << 20;

/// A measurement to make. [`LoadPlan::new`] fills in what is usual; every field may be changed.
#[derive(Clone, Debug)]
pub struct LoadPlan {
    /// Where to connect to.
    pub target: SocketAddr,
    /// Value of the Host field.
    pub host: String,
    /// The kinds of request and their right answers; one is drawn for every request by weight.
    pub requests: Vec<RequestKind>,
    /// Connections held open, spread over the threads.
    pub connections: u32,
    /// Connections that are held open beside these, on which nothing is asked.
    pub idle: u32,
    /// Whether requests are messages of this kind over WebSockets. All travel over the path of the first.
    pub websocket: Option<MessageKind>,
    /// Whether requests are calls of gRPC, which travel over HTTP/2; their bodies and those that are expected are texts of messages
    /// ([`assay_model::message`]).
    pub grpc: bool,
    /// What carries the connections.
    pub stack: Stack,
    /// How connections are secured; absent for plain HTTP.
    pub tls: Option<assay_tls::Client>,
    /// CPUs of the generator, one pinned thread each. Fewer threads are used when there are fewer connections.
    pub cpus: Vec<u32>,
    /// When requests are issued, by all generators together.
    pub arrival: Arrival,
    /// Threads of this generator among those of several; absent for a generator that has the load for itself. Connections and requests are its own in
    /// either case.
    pub slice: Option<Slice>,
    /// Load before the window.
    pub warmup: Nanos,
    /// How long to measure.
    pub span: Span,
    /// The version of HTTP that is spoken.
    pub http: Http,
    /// Requests in flight on one connection at most: the depth of a pipeline, or the number of streams.
    pub pipeline: u32,
    /// Longest wait for a connection, and for one response from the time its request was submitted.
    pub timeout: Nanos,
    /// Longest wait, after the last request was due, for what is still unanswered or unsent; then it is censored.
    pub drain: Nanos,
    /// How long a connection is used.
    pub reuse: Reuse,
    /// Local addresses to connect from, in turn; empty lets the system choose.
    pub sources: Vec<IpAddr>,
    /// Seed of every random choice.
    pub seed: u64,
    /// The bodies that are compared to their end.
    pub checking: Checking,
    /// Interval of the series of right answers.
    pub series_interval: Nanos,
    /// Whether the series begins with the load instead of with what is measured, to show how a window settles.
    pub series_from_start: bool,
    /// Whether each second is told ([`crate::News::Second`]).
    pub seconds: bool,
}

/// A version of HTTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Http {
    /// HTTP/1.1.
    #[default]
    One,
    /// HTTP/2: over TLS where ALPN says so, else by prior knowledge.
    Two,
}

/// The length of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// A window of this length after the warm-up.
    Time(Nanos),
    /// Exactly so many requests after the warm-up, however long they take.
    Requests(u64),
}

/// How many requests a connection carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// No limit but the server's.
    Always,
    /// A fixed number, the last of which says `Connection: close`.
    Requests(u32),
}

impl LoadPlan {
    /// One connection from CPU 0 in a closed loop for one second, without warm-up; five seconds of patience.
    pub fn new(target: SocketAddr, requests: Vec<RequestKind>) -> Self {
        Self {
            target,
            host: target.to_string(),
            requests,
            connections: 1,
            idle: 0,
            websocket: None,
            grpc: false,
            stack: Stack::Kernel(EngineKind::Epoll),
            tls: None,
            cpus: vec![0],
            arrival: Arrival::Closed,
            slice: None,
            warmup: Nanos::ZERO,
            span: Span::Time(Nanos::from_millis(1000)),
            http: Http::One,
            pipeline: 1,
            timeout: Nanos::from_millis(5000),
            drain: Nanos::from_millis(5000),
            reuse: Reuse::Always,
            sources: Vec::new(),
            seed: 0,
            checking: Checking::Full,
            series_interval: Nanos::from_millis(100),
            series_from_start: false,
            seconds: false,
        }
    }

    /// The part of this plan that falls to one of several generators, on the CPUs of its own.
    #[must_use]
    pub fn part(&self, slice: Slice, cpus: Vec<u32>) -> Self {
        let own = |count: u32| u32::try_from(slice.share(count.into())).unwrap_or(u32::MAX);
        let span = match self.span {
            Span::Requests(n) => Span::Requests(slice.share(n)),
            time @ Span::Time(_) => time,
        };
        let cpus = cpus.into_iter().take(slice.threads as usize).collect();
        let (connections, idle) = (own(self.connections), own(self.idle));
        Self { connections, idle, span, cpus, slice: Some(slice), ..self.clone() }
    }

    /// Whether the plan can be carried out at all.
    ///
    /// # Errors
    /// [`LoadError::Plan`] names the first part that cannot be, and what would do.
    pub fn check(&self) -> Result<(), LoadError> {
        let rate = match self.arrival {
            Arrival::Closed => 1.0,
            Arrival::Constant { per_second } | Arrival::Poisson { per_second } => per_second,
        };
        let spare_family = |source: &&IpAddr| source.is_ipv4() != self.target.is_ipv4();
        let complaint = if self.requests.iter().all(|kind| kind.weight == 0) {
            "no kind of request has a weight above 0".to_owned()
        } else if self.cpus.is_empty() {
            "no CPU is given to the generator; name at least one".to_owned()
        } else if !(1..=MAX_CONNECTIONS).contains(&self.connections) {
            format!("{} connections; give 1 to {MAX_CONNECTIONS}", self.connections)
        } else if self.idle > MAX_CONNECTIONS - self.connections {
            format!("{} idle connections; give {MAX_CONNECTIONS} in all at most", self.idle)
        } else if !(1..=MAX_PIPELINE).contains(&self.pipeline) {
            format!("{} requests in flight per connection; give 1 to {MAX_PIPELINE}", self.pipeline)
        } else if !(rate.is_finite() && rate > 0.0) {
            format!("a rate of {rate} requests per second; give a number above 0")
        } else if matches!(self.span, Span::Time(Nanos::ZERO) | Span::Requests(0)) {
            "nothing to measure: the window has no length; give a time or a number of requests".to_owned()
        } else if self.reuse == Reuse::Requests(0) {
            "0 requests per connection; give at least 1".to_owned()
        } else if self.timeout == Nanos::ZERO || self.series_interval == Nanos::ZERO {
            "the timeout and the interval of the series must be longer than 0".to_owned()
        } else if self.grpc && self.http == Http::One {
            "calls of gRPC travel over HTTP/2".to_owned()
        } else if let Some(fault) = self.fault_of_calls() {
            fault
        } else if let Some(source) = self.sources.iter().find(spare_family) {
            format!("source address {source} is of another family than the target {}", self.target)
        } else {
            return Ok(());
        };
        Err(LoadError::Plan(complaint))
    }

    fn fault_of_calls(&self) -> Option<String> {
        let mut calls = self.requests.iter().filter(|_| self.grpc);
        calls.find_map(|call| Some(format!("the call {}: {}", call.path, call.fault_of_call()?)))
    }

    /// The part of the arrivals that falls to this generator.
    pub(crate) fn own_arrival(&self) -> Arrival {
        let own = |per_second| self.slice.map_or(per_second, |slice| slice.share_of_rate(per_second));
        match self.arrival {
            Arrival::Closed => Arrival::Closed,
            Arrival::Constant { per_second } => Arrival::Constant { per_second: own(per_second) },
            Arrival::Poisson { per_second } => Arrival::Poisson { per_second: own(per_second) },
        }
    }

    /// Requests in flight on one connection at most, of which it may take fewer altogether.
    pub(crate) fn depth(&self) -> u32 {
        match self.reuse {
            Reuse::Always => self.pipeline,
            Reuse::Requests(n) => self.pipeline.min(n),
        }
    }

    /// Connections of all kinds.
    pub(crate) fn all_connections(&self) -> u32 {
        self.connections.saturating_add(self.idle)
    }

    /// Threads that will run.
    pub(crate) fn threads(&self) -> usize {
        self.cpus.len().min(self.connections as usize)
    }

    /// The part of `total` that falls to thread `thread`; the parts differ by one at most and add up to the total.
    pub(crate) fn share(&self, total: u64, thread: usize) -> u64 {
        let threads = self.threads() as u64;
        total / threads + u64::from((thread as u64) < total % threads)
    }

    /// The scheme of its URL.
    pub(crate) fn scheme(&self) -> &'static str {
        match (self.websocket, &self.tls) {
            (None, None) if self.grpc => "grpc",
            (None, Some(_)) if self.grpc => "grpcs",
            (None, None) => "http",
            (None, Some(_)) => "https",
            (Some(_), None) => "ws",
            (Some(_), Some(_)) => "wss",
        }
    }

    /// What is spoken.
    pub fn protocol(&self) -> Protocol {
        let protocol = Protocol::of(self.http == Http::Two, self.tls.is_some());
        match self.websocket {
            Some(_) => protocol.with_messages(),
            None if self.grpc => protocol.with_calls(),
            None => protocol,
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.arrival != Arrival::Closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> LoadPlan {
        let kind = RequestKind {
            weight: 1,
            method: "GET".into(),
            path: "/".into(),
            headers: Vec::new(),
            body: None,
            expect: assay_model::workload::Expect::default(),
        };
        LoadPlan::new("127.0.0.1:80".parse().unwrap(), vec![kind])
    }

    #[test]
    fn shares_add_up() {
        let plan = LoadPlan { cpus: vec![0, 1, 2], connections: 64, ..plan() };
        assert_eq!((0..3).map(|thread| plan.share(64, thread)).collect::<Vec<_>>(), [22, 21, 21]);
        assert_eq!(LoadPlan { connections: 2, ..plan }.threads(), 2);
    }

    #[test]
    fn impossible_plans_are_named() {
        let why = |plan: LoadPlan| plan.check().unwrap_err().to_string();
        assert!(plan().check().is_ok());
        assert!(why(LoadPlan { cpus: Vec::new(), ..plan() }).contains("CPU"));
        assert!(why(LoadPlan { connections: 0, ..plan() }).contains("0 connections"));
        assert!(why(LoadPlan { pipeline: 0, ..plan() }).contains("per connection"));
        assert!(why(LoadPlan { requests: Vec::new(), ..plan() }).contains("weight"));
        assert!(why(LoadPlan { span: Span::Requests(0), ..plan() }).contains("nothing to measure"));
        assert!(why(LoadPlan { reuse: Reuse::Requests(0), ..plan() }).contains("at least 1"));
        for per_second in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(why(LoadPlan { arrival: Arrival::Poisson { per_second }, ..plan() }).contains("rate"));
        }
        assert!(why(LoadPlan { sources: vec!["::1".parse().unwrap()], ..plan() }).contains("family"));
    }
}
