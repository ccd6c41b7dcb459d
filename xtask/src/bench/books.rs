//! Whether the merged books of several generators are the server's, load after load, with faults on both sides.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use assay_host::limits::free_port;
use assay_host::process::scan_trees;
use assay_model::error_class::ErrorClass;
use assay_model::load::{Books, LoadReport};
use assay_serve::stub::Counts;
use rand::RngExt as _;
use rustix::process::{Pid, Signal, kill_process};

use super::table;
use crate::measure::process::Running;
use crate::measure::{Testbed, under_way};

/// What the stub does to answers, by rate.
const FAULTS: &str = "wrong-byte=0.02,status-500=0.02,reset-in-body=0.02,never=0.002";
const REQUESTS: u64 = 2000;
const GENERATORS: usize = 3;
/// After so long an answer that never comes is given up: longer than a generator stands still, else it would give up what has come.
const TIMEOUT: &str = "1s";
/// A generator stands still for so long at most.
const LONGEST_STOP_MS: u64 = 200;
/// Longest time of one load, and of a server's start.
const LIMIT: Duration = Duration::from_secs(60);
const READY: Duration = Duration::from_secs(10);
const TICK: Duration = Duration::from_millis(5);

/// Makes so many loads, each on a stub of its own that spoils answers while generators are stopped and go on, and compares what both
/// counted.
///
/// # Errors
/// The first load whose books are not the stub's.
pub(super) fn compare(loads: u32, testbed: &Testbed) -> Result<(), String> {
    let mut all = [0; 6];
    under_way(&format!("{loads} loads"));
    for number in 0..loads {
        let (counts, books, stops) = one(number, testbed)?;
        differs(&counts, &books).map_or(Ok(()), |what| Err(format!("load {number}: {what}")))?;
        let Counts { right, wrong_byte, status_500, reset_in_body, never_answered, .. } = counts;
        let these = [right, wrong_byte, status_500, reset_in_body, never_answered, stops];
        all.iter_mut().zip(these).for_each(|(sum, count)| *sum += count);
    }
    table::head(
        &[
            "loads",
            "right",
            "wrong byte",
            "status 500",
            "reset",
            "never",
            "generators stopped",
            "differences",
        ]
        .map(String::from),
    );
    let counted = std::iter::once(u64::from(loads)).chain(all).chain([0]);
    table::row(&counted.map(|count| count.to_string()).collect::<Vec<_>>());
    Ok(())
}

/// What is different; nothing when the books of all generators together are the stub's.
fn differs(counts: &Counts, books: &Books) -> Option<String> {
    let of = |class| books.errors.get(&class).copied().unwrap_or(0);
    // One that stood still when it came finds nothing of the answer.
    let reset = of(ErrorClass::ResetInBody) + of(ErrorClass::ResetBeforeHead);
    let pairs = [
        ("requests", counts.requests, books.issued),
        ("right answers", counts.right, books.ok),
        ("wrong bodies", counts.wrong_byte, of(ErrorClass::WrongBody)),
        ("wrong statuses", counts.status_500, of(ErrorClass::UnexpectedStatus)),
        ("resets", counts.reset_in_body, reset),
        ("unanswered", counts.never_answered, of(ErrorClass::HeadTimeout)),
        ("bytes received by the server", counts.received_bytes, books.sent_bytes),
    ];
    let (what, theirs, ours) = pairs.into_iter().find(|(_, theirs, ours)| theirs != ours)?;
    Some(format!("{what}: the server counted {theirs}, the generators {ours}; {counts:?}, {books:?}"))
}

/// One load; what both counted, and how many times a generator was stopped.
fn one(number: u32, testbed: &Testbed) -> Result<(Counts, Books, u64), String> {
    let port = free_port(std::net::Ipv4Addr::LOCALHOST.into()).map_err(|error| error.to_string())?;
    let stub = stub(port, number, testbed)?;
    let mut command = Command::new(&testbed.assay);
    let (url, requests) = (format!("http://127.0.0.1:{port}/"), REQUESTS.to_string());
    command.args(["load", &url, "--json", "-c", "12", "-n", &requests, "--timeout", TIMEOUT]);
    command.args(["--generators", &GENERATORS.to_string(), "--expect-body", "as programmed"]);
    command.args(["--cpus", &testbed.client_cpu.to_string(), "--seed", &number.to_string()]);
    let mut load = Running::start(&mut command, &testbed.client_cpu)?;
    let stopped = disturb(&mut load);
    let ended = load.finish(LIMIT, testbed)?.with_code(&[0, 11, 12], "assay load")?;
    let report: LoadReport =
        serde_json::from_str(&ended.stdout).map_err(|error| format!("assay load: no report: {error}"))?;
    stub.signal(Signal::TERM)?;
    let ended = stub.finish(LIMIT, testbed)?.with_code(&[0], "assay stub")?;
    let counts =
        serde_json::from_str(&ended.stdout).map_err(|error| format!("assay stub: no counts: {error}"))?;
    Ok((counts, report.books, stopped))
}

fn stub(port: u16, seed: u32, testbed: &Testbed) -> Result<Running, String> {
    let mut command = Command::new(&testbed.assay);
    command.args(["stub", "--port", &port.to_string(), "--faults", FAULTS, "--seed", &seed.to_string()]);
    command.args(["--cpus", &testbed.server_cpu.to_string()]);
    let mut stub = Running::start(&mut command, &testbed.server_cpu)?;
    let until = Instant::now() + READY;
    while !stub.log().contains("http://") {
        testbed.go_on()?;
        if stub.has_ended() || Instant::now() > until {
            return Err(format!("the stub does not serve: {}", stub.log().trim()));
        }
        std::thread::sleep(TICK);
    }
    Ok(stub)
}

/// Stops one of the generators now and then until all have ended; how often.
fn disturb(load: &mut Running) -> u64 {
    let (mut stops, until) = (0, Instant::now() + LIMIT);
    while !load.has_ended() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(rand::rng().random_range(5..50)));
        let below: Vec<u32> = scan_trees(&[load.pid()]).iter().map(|process| process.pid).collect();
        let generators = below.iter().filter(|pid| **pid != load.pid() && is_generator(**pid));
        let pids: Vec<Pid> = generators.filter_map(|pid| Pid::from_raw(pid.cast_signed())).collect();
        if pids.is_empty() {
            continue;
        }
        let victim = pids[rand::rng().random_range(0..pids.len())];
        if kill_process(victim, Signal::STOP).is_ok() {
            stops += 1;
            std::thread::sleep(Duration::from_millis(rand::rng().random_range(1..LONGEST_STOP_MS)));
            let _ = kill_process(victim, Signal::CONT);
        }
    }
    stops
}

fn is_generator(pid: u32) -> bool {
    let line = std::fs::read(Path::new("/proc").join(pid.to_string()).join("cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0).any(|word| word == b"--participant")
}
