//! Generator and stub on the engines of this machine: what the simulation has instead of a kernel is tried against one. Counts are
//! exact; of times only that no request took less than it must.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::thread;

use assay_engine::{Config, EngineKind, Uring};
use assay_host::cpuset;
use assay_load::{LoadPlan, run};
use assay_model::load::{Arrival, ErrorClass, LoadReport};
use assay_model::units::Nanos;
use assay_serve::stub::{self, Counts, Program, Site};
use assay_stats::Histogram;

use crate::support::{constant, plan, program};

#[test]
fn epoll_counts_what_the_stub_counts() {
    tries(EngineKind::Epoll);
}

#[test]
fn io_uring_counts_what_the_stub_counts() {
    match Uring::new(Config { max_connections: 1 }) {
        Ok(_) => tries(EngineKind::IoUring),
        Err(error) => assay_skip::skip("uring", format_args!("no io_uring here: {error}")),
    }
}

fn tries(engine: EngineKind) {
    let faults = "wrong-byte=0.02,status-500=0.03,reset-in-body=0.04,never=0.002".parse().unwrap();
    let stall = Some("20ms/200ms".parse().unwrap());
    let program = Program { faults, stall, ..program("200us") };
    for arrival in [Arrival::Closed, constant(2_000.0)] {
        let plan = LoadPlan { timeout: Nanos::from_millis(1_000), ..plan(32, arrival, 2_000) };
        let cpus = cpuset::allowed().first().into_iter().collect();
        audit(&measure(&program, &LoadPlan { stack: engine.into(), cpus, ..plan }));
    }
}

/// Puts the load on a stub on the last CPU.
fn measure(program: &Program, plan: &LoadPlan) -> (LoadReport, Counts) {
    let site = Site {
        address: SocketAddr::from(([127, 0, 0, 1], 0)),
        cpus: cpuset::allowed().iter().last().into_iter().collect(),
        stack: plan.stack.clone(),
        tls: None,
    };
    let stop = AtomicBool::new(false);
    let (sender, receiver) = channel();
    thread::scope(|scope| {
        let stub = scope.spawn(|| stub::run(&site, program, &stop, |address| sender.send(address).unwrap()));
        // However it ends, or the scope would wait for the stub for ever.
        let ending = StopAtEnd(&stop);
        let target = receiver.recv().unwrap();
        let plan = LoadPlan { target, host: target.to_string(), ..plan.clone() };
        let report = run(&plan, &AtomicBool::new(false), |_| {}).unwrap();
        drop(ending);
        (report, stub.join().unwrap().unwrap())
    })
}

struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

fn audit((report, counts): &(LoadReport, Counts)) {
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
    let service = Histogram::from_hdr_base64(&report.latency.service_hdr).unwrap();
    assert_eq!(service.count(), books.ok);
    let programmed = counts.programmed_ns as f64 * (1.0 - 1.0 / 128.0);
    assert!(service.sum() as f64 >= programmed, "a request took less than programmed");
}
