//! A stub and the generator on a simulated network, and the audit that every run has to pass.

use assay_engine::{Config, Engine as _};
use assay_load::{Http, LoadPlan, run_on};
use assay_model::check::CheckOutcome;
use assay_model::load::{Arrival, ErrorClass, LoadReport, LoadSecond};
use assay_model::rule::Rule;
use assay_model::units::Nanos;
use assay_model::workload::RequestKind;
use assay_serve::stub::{Counts, Program, Service, Stub};
use assay_sim::{Freeze, Network, Pace, Weather};
use assay_stats::Histogram;
use assay_tls::Client;

use crate::layer::{Bare, Layer, Pair};
use crate::spoken::Spoken;

/// One way through the network, where nothing else is said.
pub(crate) const WAY: Nanos = Nanos::from_micros(20);
/// There and back.
pub(crate) const BOTH_WAYS: Nanos = Nanos(2 * WAY.0);
/// Half a bucket of a histogram, relative to the value.
pub(crate) const HALF_A_BUCKET: f64 = 1.0 / 256.0;

/// What is tried.
#[derive(Clone)]
pub(crate) struct Trial {
    pub(crate) seed: u64,
    pub(crate) weather: Weather,
    pub(crate) program: Program,
    pub(crate) plan: LoadPlan,
    pub(crate) pace: Pace,
    /// When the server, and when the generator, does nothing.
    pub(crate) frozen: [Option<Freeze>; 2],
    /// Client and server over TLS, where it is spoken.
    pub(crate) pair: Option<Pair>,
}

/// What both sides say of it.
pub(crate) struct Run {
    pub(crate) spoken: Spoken,
    pub(crate) report: LoadReport,
    pub(crate) counts: Counts,
    /// Service and response times of the right answers, with their exact sums and extremes.
    pub(crate) service: Histogram,
    pub(crate) response: Option<Histogram>,
    /// What was told of each second.
    pub(crate) lines: Vec<LoadSecond>,
    /// When the stub got its first request.
    pub(crate) first_arrival: Nanos,
}

impl Trial {
    /// A server with this program under this load, on a network without any weather.
    pub(crate) fn new(seed: u64, program: Program, plan: LoadPlan) -> Self {
        let program = Program { seed, ..program };
        let plan = LoadPlan { seed, seconds: true, ..plan };
        let weather = Weather::still(WAY);
        Self { seed, weather, program, plan, pace: Pace::EXACT, frozen: [None; 2], pair: None }
    }

    /// Runs it; both sides' books balance and agree.
    pub(crate) fn run(&self) -> Run {
        let run = self.run_unaudited();
        run.audit();
        run
    }

    /// Runs it where the network loses connections, of which the sides know different things.
    pub(crate) fn run_unaudited(&self) -> Run {
        match &self.pair {
            None => self.run_over(&Bare, None),
            Some(pair) => {
                let terms = pair.terms(self.plan.http == Http::Two);
                self.run_over(&terms, terms.client.clone())
            }
        }
    }

    fn run_over(&self, layer: &impl Layer, tls: Option<Client>) -> Run {
        let network = Network::new(self.seed, self.weather);
        let mut engine = network.driven(Config { max_connections: 1 << 14 });
        self.frozen[0].into_iter().for_each(|freeze| engine.freeze(freeze));
        let mut engine = layer.over(engine);
        let target = engine.listen("10.0.0.1:80".parse().unwrap()).unwrap();
        let mut stub = Stub::new(engine, &self.program, 0);
        let mut first_arrival = None;
        let (mut service, mut response) = (Histogram::new(), None::<Histogram>);
        let mut lines = Vec::new();
        let act = || {
            stub.turn().unwrap();
            if first_arrival.is_none() && stub.counts().requests > 0 {
                first_arrival = Some(network.now());
            }
        };
        let config = Config { max_connections: (self.plan.connections + self.plan.idle) as usize };
        let mut engine = network.driving(config, self.pace, act);
        self.frozen[1].into_iter().for_each(|freeze| engine.freeze(freeze));
        let plan = LoadPlan { target, host: target.to_string(), tls, ..self.plan.clone() };
        let report = run_on(&plan, layer.over(engine), |second| {
            service.merge(&second.service);
            if let Some(part) = &second.response {
                response.get_or_insert_default().merge(part);
            }
            lines.push(second.line);
        });
        network.settle(|| stub.turn().unwrap());
        let first_arrival = first_arrival.unwrap_or_default();
        let spoken = Spoken::from(&plan);
        let (report, counts) = (report.unwrap(), stub.finish());
        Run { spoken, report, counts, service, response, lines, first_arrival }
    }
}

impl Run {
    /// T14: issued = ok + errors + censored = what the stub counted, class by class; bytes equal; Little's law holds; and all
    /// of the programmed time is in the service times.
    fn audit(&self) {
        let Self { spoken, report, counts, .. } = self;
        let books = &report.books;
        assert!(books.balance() && counts.balance(), "{books:?} {counts:?}");
        assert_eq!(
            (books.issued, books.ok),
            (counts.requests, counts.right),
            "{:?} {books:?}",
            report.samples
        );
        let [to_us, to_stub] = self.unread();
        let missing = counts.sent_bytes.checked_sub(books.received_bytes);
        assert!(missing.is_some_and(|bytes| bytes <= to_us), "{spoken:?} {books:?} {counts:?}");
        assert!(
            books.sent_bytes.abs_diff(counts.received_bytes) <= to_stub,
            "{spoken:?} {books:?} {counts:?}"
        );
        assert!(books.connections_opened <= counts.connections);
        for (class, counted) in [
            (ErrorClass::WrongBody, counts.wrong_byte),
            (spoken.failed(), counts.status_500),
            (spoken.broken_off(), counts.reset_in_body),
        ] {
            assert_eq!(books.errors.get(&class).copied().unwrap_or(0), counted, "{class:?}");
        }
        let unanswered = books.errors.get(&ErrorClass::HeadTimeout).copied().unwrap_or(0) + books.censored;
        assert_eq!(unanswered, counts.never_answered);
        let little = report.checks.iter().find(|check| check.rule == Rule::LittlesLaw);
        assert!(little.is_none_or(|check| check.outcome == CheckOutcome::Pass), "{little:?}");
        assert_eq!(self.service.count(), books.ok);
        assert!(
            self.service.sum() >= u128::from(counts.programmed_ns),
            "a request took less than programmed"
        );
    }

    /// Bytes, to the generator and to the stub, that belong to no request and may be under way when the report is made.
    pub(crate) fn unread(&self) -> [u64; 2] {
        let (opened, connections) = (self.counts.connections, u64::from(self.report.connections));
        match self.spoken {
            Spoken::Http1 => [0, 0],
            // What begins a connection that no request was left for, in 28 and 9 bytes; what acknowledges it, or gives a stream up.
            Spoken::Http2 | Spoken::Grpc => [40 * connections, 32 * opened],
            // The opening handshake of such a connection, in 129 bytes and fewer than 180; the answer to a close frame, of 8, which the
            // stub does not read; and the pongs of a last echo in fragments, of 6 bytes each and fewer than 20.
            Spoken::WebSocket => [129 * connections, 8 * self.counts.status_500 + 300 * connections],
        }
    }

    /// Response times under an open model.
    pub(crate) fn response(&self) -> &Histogram {
        self.response.as_ref().unwrap()
    }

    /// How the rule came out.
    pub(crate) fn outcome(&self, rule: Rule) -> CheckOutcome {
        self.report.checks.iter().find(|check| check.rule == rule).unwrap().outcome
    }

    /// Whether each service time is what the stub meant it to be, and both ways: to the nanosecond, in sum.
    pub(crate) fn took_what_was_programmed(&self) {
        let ways = u128::from(BOTH_WAYS.0 * self.counts.right);
        assert_eq!(self.service.sum(), u128::from(self.counts.programmed_ns) + ways);
    }
}

/// A stub with this service time.
pub(crate) fn program(service: &str) -> Program {
    Program::new(service.parse::<Service>().unwrap())
}

/// A request for `path` that expects the stub's body.
pub(crate) fn get(path: &str) -> RequestKind {
    Spoken::Http1.request(path)
}

/// Arrivals at even intervals.
pub(crate) fn constant(per_second: f64) -> Arrival {
    Arrival::Constant { per_second }
}

/// Arrivals of a Poisson process.
pub(crate) fn poisson(per_second: f64) -> Arrival {
    Arrival::Poisson { per_second }
}

/// `n` requests over HTTP/1.1.
pub(crate) fn plan(connections: u32, arrival: Arrival, n: u64) -> LoadPlan {
    Spoken::Http1.plan(connections, arrival, n)
}

/// Seconds as a time.
pub(crate) fn seconds(n: u64) -> Nanos {
    Nanos::from_millis(1_000 * n)
}

/// A histogram of these times.
pub(crate) fn histogram(times: impl IntoIterator<Item = Nanos>) -> Histogram {
    let mut histogram = Histogram::new();
    times.into_iter().for_each(|time| histogram.record(time.0));
    histogram
}

/// Quantiles are, in ms, what a closed form says, to the resolution of the histogram.
pub(crate) fn quantiles(histogram: &Histogram, expected: &[(f64, f64)]) {
    for &(q, ms) in expected {
        let seen = histogram.quantile(q).unwrap() as f64 / 1e6;
        assert!((seen / ms - 1.0).abs() <= 2.0 * HALF_A_BUCKET, "p{}: {seen} ms, not {ms} ms", q * 100.0);
    }
}

/// Whether the mean of what was drawn is `expected` within four times the standard error that the sample shows, which is at
/// most `error` of it: a test that cannot tell anything apart would prove nothing.
pub(crate) fn is_mean_of(name: &str, sample: &[f64], expected: f64, error: f64) {
    let n = sample.len() as f64;
    let mean = sample.iter().sum::<f64>() / n;
    let variance = sample.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let standard_error = (variance / n).sqrt();
    assert!(standard_error <= error * expected, "{name}: {mean} ± {standard_error} says too little");
    assert!(
        (mean - expected).abs() <= 4.0 * standard_error,
        "{name}: {mean} ± {standard_error}, not {expected}"
    );
}
