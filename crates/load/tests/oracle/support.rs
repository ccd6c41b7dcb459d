//! A stub on the last CPU, the generator on the first, and the audit that every run has to pass.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use assay_engine::{Config, EngineKind, Uring};
use assay_host::cpuset;
use assay_load::{Plan, Span, run};
use assay_model::check::Outcome;
use assay_model::load::{Arrival, ErrorClass, LoadReport};
use assay_model::rule::Rule;
use assay_model::workload::{Expect, RequestKind};
use assay_serve::stub::{self, BODY, Counts, Program, Site};
use assay_stats::Histogram;

use crate::settling;

/// What a busy machine may add to any time, in ms.
const SLACK_MS: f64 = 15.0;
/// docs/method/oracle.md#tolerances allows 0.15 ms at p99 on a quiet host, and five times that here.
const TOLERANCE_MS: f64 = 5.0 * 0.15;
/// Half a bucket of both histograms, and the grid of the arrivals.
const RESOLUTION: f64 = 0.015;
/// How far a quantile of a short run may fall below that of an endless one, as a share.
const LUCK: f64 = 0.05;
/// Runs until times that fail are believed.
const ATTEMPTS: u32 = 5;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Waits for the other tests. One that failed is no reason to fail too.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What both sides say of one run.
pub(crate) struct Run {
    pub(crate) report: LoadReport,
    pub(crate) counts: Counts,
}

/// A request for `path` that expects the stub's body.
pub(crate) fn get(path: &str) -> RequestKind {
    let expect = Expect { status: Some(200), body: Some(BODY.into()), ..Expect::default() };
    RequestKind {
        weight: 1,
        method: "GET".into(),
        path: path.into(),
        headers: Vec::new(),
        body: None,
        expect,
    }
}

/// Arrivals at even intervals.
pub(crate) fn constant(per_second: f64) -> Arrival {
    Arrival::Constant { per_second }
}

/// Arrivals of a Poisson process.
pub(crate) fn poisson(per_second: f64) -> Arrival {
    Arrival::Poisson { per_second }
}

/// The engines that this machine has: counts must not depend on who makes the system calls.
pub(crate) fn engines() -> Vec<EngineKind> {
    let ring = Uring::new(Config { max_connections: 1 }).is_ok().then_some(EngineKind::IoUring);
    [EngineKind::Epoll].into_iter().chain(ring).collect()
}

/// `n` requests.
pub(crate) fn plan(connections: u32, arrival: Arrival, n: u64) -> Plan {
    let cpu = cpuset::allowed().first().unwrap();
    let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
    let plan = Plan::new(nowhere, vec![get("/")]);
    Plan { connections, arrival, span: Span::Requests(n), cpus: vec![cpu], ..plan }
}

/// Puts the planned load on a stub with this program; both sides' books balance and agree.
pub(crate) fn measure(program: &Program, plan: &Plan) -> Run {
    let run = with_stub(program, |address| {
        let plan = Plan { target: address, host: address.to_string(), ..plan.clone() };
        run(&plan, &AtomicBool::new(false), |_| {}).unwrap()
    });
    let run = Run { report: run.0, counts: run.1 };
    run.audit();
    run
}

/// Does something with a stub; returns what came of it and what the stub counted.
pub(crate) fn with_stub<T>(program: &Program, act: impl FnOnce(SocketAddr) -> T) -> (T, Counts) {
    let site = Site {
        address: SocketAddr::from(([127, 0, 0, 1], 0)),
        cpus: cpuset::allowed().iter().last().into_iter().collect(),
        stack: EngineKind::Epoll.into(),
    };
    let stop = AtomicBool::new(false);
    let (sender, receiver) = channel();
    thread::scope(|scope| {
        let stub = scope.spawn(|| stub::run(&site, program, &stop, |address| sender.send(address).unwrap()));
        // However it ends, or the scope would wait for the stub for ever.
        let ending = StopAtEnd(&stop);
        let result = act(receiver.recv().unwrap());
        drop(ending);
        (result, stub.join().unwrap().unwrap())
    })
}

struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

/// Measures until the times are as they should be, a few times at most.
pub(crate) fn settle(program: &Program, plan: &Plan, judge: impl Fn(&Run) -> Result<(), String>) {
    let _alone = alone();
    settling::settle(ATTEMPTS, || judge(&measure(program, plan)));
}

impl Run {
    /// T14: issued = ok + errors + censored = what the stub counted, class by class; bytes equal; Little's law holds; and
    /// all of the programmed time is in the service times: without a warm-up every request begins in the window.
    fn audit(&self) {
        let Self { report, counts } = self;
        let books = &report.books;
        assert!(books.balance() && counts.balance(), "{books:?} {counts:?}");
        assert_eq!((books.issued, books.ok), (counts.requests, counts.right), "{:?}", report.samples);
        assert_eq!((books.sent_bytes, books.received_bytes), (counts.received_bytes, counts.sent_bytes));
        assert_eq!(books.connections_opened, counts.connections);
        for (class, counted) in [
            (ErrorClass::WrongBody, counts.wrong_byte),
            (ErrorClass::UnexpectedStatus, counts.status_500),
            (ErrorClass::ResetInBody, counts.reset_in_body),
            (ErrorClass::HeadTimeout, counts.never_answered),
        ] {
            assert_eq!(books.errors.get(&class).copied().unwrap_or(0), counted, "{class:?}");
        }
        let little = report.checks.iter().find(|check| check.rule == Rule::LittlesLaw);
        assert!(little.is_none_or(|check| check.outcome == Outcome::Pass), "{little:?}");
        let service = self.service();
        assert_eq!(service.count(), books.ok);
        let programmed = counts.programmed_ns as f64;
        assert!(
            service.sum() as f64 >= programmed * (1.0 - RESOLUTION),
            "a request took less than programmed"
        );
    }

    pub(crate) fn service(&self) -> Histogram {
        Histogram::from_hdr_base64(&self.report.latency.service_hdr).unwrap()
    }

    pub(crate) fn response(&self) -> Histogram {
        Histogram::from_hdr_base64(self.report.latency.response_hdr.as_ref().unwrap()).unwrap()
    }

    pub(crate) fn pool_wait(&self) -> Histogram {
        Histogram::from_hdr_base64(self.report.latency.pool_wait_hdr.as_ref().unwrap()).unwrap()
    }

    /// What the stub meant a request to take on average, in ms: the truth, with no sampling error.
    pub(crate) fn programmed_ms(&self) -> f64 {
        self.counts.programmed_ns as f64 / self.counts.right as f64 / 1e6
    }
}

/// The mean in ms.
pub(crate) fn mean_ms(histogram: &Histogram) -> f64 {
    histogram.mean().unwrap() / 1e6
}

/// Whether quantiles, in ms, are as expected.
pub(crate) fn quantiles(name: &str, histogram: &Histogram, expected: &[(f64, f64)]) -> Result<(), String> {
    expected.iter().try_for_each(|&(q, ms)| {
        let measured = histogram.quantile(q).unwrap() as f64 / 1e6;
        near(&format!("{name} p{}", q * 100.0), measured, ms)
    })
}

/// Whether a time in ms is as expected. Downwards there is only the luck of a short run: how its stalls fall on its
/// arrivals; that no request took less than it must is audited exactly.
pub(crate) fn near(name: &str, measured: f64, expected: f64) -> Result<(), String> {
    between(name, measured, expected * (1.0 - LUCK), expected * (1.0 + RESOLUTION) + TOLERANCE_MS + SLACK_MS)
}

/// Whether a number is within limits.
pub(crate) fn between(name: &str, measured: f64, low: f64, high: f64) -> Result<(), String> {
    if (low..=high).contains(&measured) {
        Ok(())
    } else {
        Err(format!("{name} is {measured:.3}, expected {low:.3} to {high:.3}"))
    }
}
