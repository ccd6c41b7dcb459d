//! HTTP/2 in virtual time, against the reference server: times to the nanosecond, and books in any weather.

use assay_engine::{Config as EngineConfig, Engine as _, EngineKind};
use assay_host::cpuset::CpuSet;
use assay_load::{Http, LoadPlan, run_on};
use assay_model::check::CheckOutcome;
use assay_model::load::{Arrival, ErrorClass, LoadReport};
use assay_model::rule::Rule;
use assay_model::units::Nanos;
use assay_model::workload::{Expect, RequestKind};
use assay_serve::{Config, Limits, Server};
use assay_sim::seeds::each;
use assay_sim::{Freeze, Network, Pace, Weather};
use assay_stats::Histogram;
use assay_tcp::Stack;
use chacha20::ChaCha8Rng;
use rand::SeedableRng;

use crate::support::{BOTH_WAYS, WAY, constant, plan, poisson, seconds};

/// A load of HTTP/2 on the reference server.
struct Trial {
    seed: u64,
    weather: Weather,
    plan: LoadPlan,
    limits: Limits,
    frozen: Option<Freeze>,
}

impl Trial {
    fn new(seed: u64, streams: u32, arrival: Arrival, requests: Vec<RequestKind>, n: u64) -> Self {
        let plan = plan(2, arrival, n);
        let plan = LoadPlan { seed, requests, http: Http::Two, pipeline: streams, seconds: true, ..plan };
        Self { seed, weather: Weather::still(WAY), plan, limits: Limits::default(), frozen: None }
    }

    /// Runs it; the books balance, and Little's law holds. Returns the service times of the right answers too.
    fn run(&self) -> (LoadReport, Histogram) {
        let network = Network::new(self.seed, self.weather);
        let mut engine = network.driven(EngineConfig { max_connections: 1 << 10 });
        let target = engine.listen("10.0.0.1:80".parse().unwrap()).unwrap();
        self.frozen.into_iter().for_each(|freeze| engine.freeze(freeze));
        let config = Config {
            address: target.ip(),
            port: target.port(),
            shares_port: false,
            cpus: CpuSet::from_iter([0]),
            stack: Stack::Kernel(EngineKind::Epoll),
            tls: None,
            root: None,
            hello: false,
            dot_files: false,
            requests: None,
            limits: self.limits,
        };
        let mut server = Server::on(&config, engine).unwrap();
        let act = || server.turn().unwrap();
        let engine = network.driving(EngineConfig { max_connections: 2 }, Pace::EXACT, act);
        let plan = LoadPlan { target, host: target.to_string(), ..self.plan.clone() };
        let mut service = Histogram::new();
        let report = run_on(&plan, engine, |second| service.merge(&second.service)).unwrap();
        assert!(report.books.balance(), "{:?} {:?}", report.books, report.samples);
        let little = report.checks.iter().find(|check| check.rule == Rule::LittlesLaw);
        assert!(little.is_none_or(|check| check.outcome == CheckOutcome::Pass), "{little:?}");
        (report, service)
    }

    /// Runs it; every answer is right.
    fn all_right(&self) -> (LoadReport, Histogram) {
        let (report, service) = self.run();
        assert_eq!(report.books.ok, report.books.issued, "{:?} {:?}", report.books, report.samples);
        (report, service)
    }
}

/// The first `len` bytes that `/bytes/N` gives.
fn pattern(len: usize) -> String {
    let letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";
    letters.chars().cycle().take(len).collect()
}

fn bytes(len: usize) -> RequestKind {
    let expect = Expect { status: Some(200), body: Some(pattern(len)), ..Expect::default() };
    RequestKind { expect, ..RequestKind::get(&format!("/bytes/{len}")) }
}

fn echo(len: usize) -> RequestKind {
    let body = format!("${{sequence}}{}", pattern(len));
    let expect = Expect { status: Some(200), body: Some(body.clone()), ..Expect::default() };
    RequestKind { method: "POST".into(), body: Some(body), expect, ..RequestKind::get("/echo") }
}

#[test]
fn t1_a_request_takes_both_ways_and_nothing_else() {
    for (streams, arrival) in
        [(1, Arrival::Closed), (10, Arrival::Closed), (10, constant(5_000.0)), (10, poisson(5_000.0))]
    {
        let (report, service) = Trial::new(1, streams, arrival, vec![bytes(5)], 10_000).all_right();
        assert_eq!(report.books.ok, 10_000);
        assert_eq!(service.sum(), u128::from(BOTH_WAYS.0) * 10_000, "{streams} streams");
    }
}

#[test]
fn t13_bodies_both_ways_are_right_to_the_last_byte_in_any_weather() {
    each(0..24, |seed| {
        let weather = Weather::rough(&mut ChaCha8Rng::seed_from_u64(seed));
        let kinds =
            vec![bytes(0), bytes(1), bytes(20_000), bytes(70_000), echo(0), echo(3_000), echo(70_000)];
        let head = RequestKind { method: "HEAD".into(), ..bytes(7) };
        let requests = [kinds, vec![head]].concat();
        for (streams, arrival) in [(5, Arrival::Closed), (5, poisson(300.0))] {
            let trial = Trial::new(seed, streams, arrival, requests.clone(), 60);
            let plan = LoadPlan { timeout: seconds(600), drain: seconds(600), ..trial.plan.clone() };
            Trial { weather, plan, ..trial }.all_right();
        }
    });
}

#[test]
fn t14_a_server_that_takes_few_streams_is_not_asked_for_more_and_every_request_ends_once() {
    let limits = Limits { streams: 3, ..Limits::default() };
    let trial = Trial::new(1, 8, Arrival::Closed, vec![echo(100)], 2_000);
    let (report, _) = Trial { limits, ..trial }.all_right();
    assert_eq!(report.books.ok, 2_000, "{:?}", report.books);
}

#[test]
fn t12_a_server_that_stands_still_leaves_what_waited_in_the_books() {
    let from = Nanos::from_millis(50);
    let frozen = Some(Freeze { from, length: seconds(3), every: Nanos::MAX });
    let trial = Trial::new(1, 4, constant(1_000.0), vec![bytes(5)], 1_000);
    let plan = LoadPlan { timeout: Nanos::from_millis(500), ..trial.plan.clone() };
    let (report, _) = Trial { plan, frozen, ..trial }.run();
    let late = report.books.errors.get(&ErrorClass::HeadTimeout).copied().unwrap_or(0);
    assert!(late >= 8 && report.books.ok > 10, "{:?}", report.books);
}
