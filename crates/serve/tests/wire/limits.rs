//! Limits of time and number, and many clients at once.

use std::io::{ErrorKind, Write};
use std::time::{Duration, Instant};

use assay_engine::EngineKind;
use assay_model::units::Nanos;
use assay_serve::Limits;

use crate::support::{GET, PATIENCE, Running, hello, read_hello, rest};

on_each_engine!(
    a_thousand_slow_clients_do_not_hold_up_the_fast_ones,
    a_thousand_idle_connections_stay_and_are_all_served,
    time_limits_are_kept,
    a_peer_that_takes_nothing_is_reset,
    connections_over_the_limit_wait_until_one_is_free,
);

fn a_thousand_slow_clients_do_not_hold_up_the_fast_ones(engine: EngineKind) {
    let server = Running::start(engine, Limits::default());
    let mut slow: Vec<_> = (0..1000).map(|_| server.connect()).collect();
    let mut fast = server.connect();
    for (at, &byte) in GET.iter().enumerate() {
        for stream in &mut slow {
            stream.write_all(&[byte]).unwrap();
        }
        if at % 4 == 0 {
            hello(&mut fast);
        }
    }
    slow.iter_mut().for_each(read_hello);
}

fn a_thousand_idle_connections_stay_and_are_all_served(engine: EngineKind) {
    let server = Running::start(engine, Limits::default());
    let mut idle: Vec<_> = (0..1000).map(|_| server.connect()).collect();
    hello(&mut server.connect());
    idle.iter_mut().for_each(hello);
    let summary = server.stop();
    assert_eq!((summary.requests(), summary.threads[0].engine.accepted), (1001, 1001));
    for stream in &mut idle {
        assert_eq!(rest(stream), "", "closed in order, without a word");
    }
}

fn time_limits_are_kept(engine: EngineKind) {
    let short = Nanos::from_millis(150);
    let limits = Limits { idle: short, head_time: short, body_time: short, ..Limits::default() };
    let server = Running::start(engine, limits);
    assert_eq!(rest(&mut server.connect()), "", "idle");
    for unfinished in
        ["GET / HTTP/1.1\r\nHos", "POST /hello HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab"]
    {
        let mut stream = server.connect();
        stream.write_all(unfinished.as_bytes()).unwrap();
        let answer = rest(&mut stream);
        assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("Connection: close"), "{answer}");
    }
}

fn a_peer_that_takes_nothing_is_reset(engine: EngineKind) {
    let limits = Limits { send_time: Nanos::from_millis(150), ..Limits::default() };
    let server = Running::start(engine, limits);
    let mut stream = server.connect();
    stream.write_all(b"GET /bytes/1073741824 HTTP/1.1\r\nHost: h\r\n\r\n").unwrap();
    std::thread::sleep(Duration::from_secs(1));
    stream.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    let started = Instant::now();
    let error = loop {
        match std::io::copy(&mut stream, &mut std::io::sink()) {
            Ok(_) => panic!("the end of a body that was not sent"),
            // TCP does not repeat a reset that was dropped where buffers were full, but gives one for whatever is sent
            // to a connection that is gone (RFC 9293 §3.10.7.1).
            Err(error) if error.kind() == ErrorKind::WouldBlock && started.elapsed() < PATIENCE => {
                let _ = stream.write_all(b"\r\n");
            }
            Err(error) => break error.kind(),
        }
    };
    assert!(matches!(error, ErrorKind::ConnectionReset | ErrorKind::BrokenPipe), "{error}");
}

fn connections_over_the_limit_wait_until_one_is_free(engine: EngineKind) {
    let server = Running::start(engine, Limits { connections: 2, ..Limits::default() });
    let (mut first, mut second) = (server.connect(), server.connect());
    hello(&mut first);
    hello(&mut second);
    let mut third = server.connect();
    third.write_all(GET).unwrap();
    hello(&mut first);
    drop(second);
    read_hello(&mut third);
}
