//! The most connections that this process may have: a program of its own, for it takes nearly all descriptors.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, also in its helpers")]
#![allow(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test says what it skips and what it measured"
)]

#[allow(dead_code, reason = "shared with the other tests, which use the rest")]
#[path = "wire/support.rs"]
mod support;

use std::io::{Write, stderr};
use std::net::TcpStream;

use assay_engine::EngineKind;
use assay_host::limits::nofile;
use assay_serve::Limits;

use support::{GET, Running, hello, read_hello, rest, where_allowed};

/// Connections that are wanted; each needs a descriptor at either end.
const WANTED: usize = 9000;
/// Fewer would show nothing.
const LEAST: usize = 1000;
/// Descriptors for everything else.
const OTHERS: usize = 200;
/// Connections that stay busy while the others are idle.
const BUSY: usize = 100;

#[test]
fn thousands_of_connections_are_served_idle_and_busy_on_each_engine() {
    let [_, most] = nofile();
    let count = WANTED.min((usize::try_from(most).unwrap_or(usize::MAX) - OTHERS) / 2);
    if count < WANTED {
        // Not by `eprintln!`, which the test harness hides when a test passes.
        let _ = writeln!(
            stderr(),
            "{count} connections instead of {WANTED}: this process may open {most} files (ulimit -Hn)"
        );
    }
    if count < LEAST {
        return assay_skip::skip("files", format_args!("fewer than {LEAST} connections show nothing"));
    }
    // One after the other: both together would not find descriptors enough.
    serve_many(EngineKind::Epoll, count);
    where_allowed(|engine| serve_many(engine, count));
}

fn serve_many(engine: EngineKind, count: usize) {
    let server = Running::start(engine, Limits::default());
    let mut all: Vec<TcpStream> = (0..count).map(|_| server.connect()).collect();
    all.iter_mut().for_each(hello);
    let (busy, idle) = all.split_at_mut(BUSY);
    for _ in 0..20 {
        busy.iter_mut().for_each(|stream| stream.write_all(GET).unwrap());
        busy.iter_mut().for_each(read_hello);
    }
    // Everybody at once.
    idle.iter_mut().for_each(|stream| stream.write_all(GET).unwrap());
    idle.iter_mut().for_each(read_hello);
    let summary = server.stop();
    assert_eq!(summary.most_connections(), count);
    assert_eq!(summary.requests() as usize, 2 * count + 19 * BUSY);
    assert_eq!(summary.refused(), 0);
    for stream in &mut all {
        assert_eq!(rest(stream), "", "closed in order, without a word");
    }
    println!("{}: {:?} bytes for each of {count} connections", engine.name(), summary.bytes_per_connection());
}
