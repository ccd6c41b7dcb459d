//! Starting and stopping.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::AtomicBool;

use assay_engine::EngineKind;
use assay_host::cpuset::{self, CpuSet};
use assay_model::units::Nanos;
use assay_serve::{Config, Limits, ServeError, run};

use crate::support::{Running, config, hello, rest};

on_each_engine!(
    stopping_finishes_what_is_under_way_and_refuses_what_is_new,
    stopping_is_bounded,
    a_port_in_use_is_said_so,
    every_cpu_has_a_thread_that_serves,
    a_request_under_way_is_told_that_it_is_the_last,
    the_summary_counts_connections_and_memory,
);

fn stopping_finishes_what_is_under_way_and_refuses_what_is_new(engine: EngineKind) {
    const LENGTH: usize = 16 << 20;
    let server = Running::start(engine, Limits::default());
    let address = server.address;
    let mut busy = server.connect();
    write!(busy, "GET /bytes/{LENGTH} HTTP/1.1\r\nHost: h\r\n\r\n").unwrap();
    let mut idle = server.connect();
    hello(&mut idle);
    let stopping = std::thread::spawn(move || server.stop());
    assert_eq!(rest(&mut idle), "");
    let answer = rest(&mut busy);
    assert!(answer.split_once("\r\n\r\n").unwrap().1.len() == LENGTH);
    stopping.join().unwrap();
    assert!(TcpStream::connect(address).is_err());
}

fn stopping_is_bounded(engine: EngineKind) {
    let server = Running::start(engine, Limits { stop_time: Nanos::from_millis(200), ..Limits::default() });
    let mut unfinished = server.connect();
    unfinished.write_all(b"GET / HT").unwrap();
    hello(&mut server.connect());
    server.stop();
    let error = unfinished.read(&mut [0; 1]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
}

fn a_port_in_use_is_said_so(engine: EngineKind) {
    let server = Running::start(engine, Limits::default());
    let config = Config { port: server.address.port(), ..config(engine, Limits::default()) };
    let error = run(&config, &AtomicBool::new(true), |_| ()).unwrap_err();
    assert!(matches!(&error, ServeError::Listen { address, .. } if address.port() == config.port), "{error}");
}

fn every_cpu_has_a_thread_that_serves(engine: EngineKind) {
    let cpus: CpuSet = cpuset::allowed().iter().take(2).collect();
    let server = Running::with(Config { cpus: cpus.clone(), ..config(engine, Limits::default()) });
    // The kernel spreads connections by a hash of their ports: that all of them meet one thread is out of the question.
    for _ in 0..200 {
        hello(&mut server.connect());
    }
    let summary = server.stop();
    assert!(summary.threads.iter().map(|thread| thread.cpu).eq(cpus.iter()));
    assert!(summary.threads.iter().all(|thread| thread.requests > 0), "{summary:?}");
    assert_eq!(summary.requests(), 200);
}

pub(crate) fn a_request_under_way_is_told_that_it_is_the_last(engine: EngineKind) {
    let server = Running::start(engine, Limits::default());
    let mut half = server.connect();
    half.write_all(b"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nha").unwrap();
    let mut late = server.connect();
    late.write_all(b"GET /hello HTTP/1.1\r\nHo").unwrap();
    hello(&mut server.connect());
    let address = server.address;
    let stopping = std::thread::spawn(move || server.stop());
    while TcpStream::connect(address).is_ok() {}
    half.write_all(b"lf").unwrap();
    late.write_all(b"st: h\r\n\r\n").unwrap();
    assert!(rest(&mut half).ends_with("\r\n\r\nhalf"));
    let answer = rest(&mut late);
    assert!(answer.contains("Connection: close\r\n") && answer.ends_with("hello"), "{answer}");
    stopping.join().unwrap();
}

pub(crate) fn the_summary_counts_connections_and_memory(engine: EngineKind) {
    let server = Running::start(engine, Limits::default());
    let mut open: Vec<_> = (0..20).map(|_| server.connect()).collect();
    open.iter_mut().for_each(hello);
    drop(open);
    hello(&mut server.connect());
    let summary = server.stop();
    assert_eq!((summary.accepted(), summary.requests()), (21, 21));
    assert!((20..=21).contains(&summary.most_connections()), "{summary:?}");
    let memory = summary.memory.unwrap();
    assert!(memory.start_bytes > 0 && memory.peak_bytes >= memory.start_bytes, "{memory:?}");
}
