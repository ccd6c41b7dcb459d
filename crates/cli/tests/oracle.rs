//! The oracle's tests that need processes (docs/method/oracle.md#the-tests): a server that freezes (T7), a generator
//! that freezes (T8), a generator that has to share its CPU (T17). Counts are exact; times have the slack of a busy
//! machine.

// What clippy.toml allows in test functions is as right in the functions that help them.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../../load/tests/oracle/settling.rs"]
mod settling;

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use assay_host::cpuset::{self, CpuSet, pin_current_thread};
use assay_model::check::Outcome;
use assay_model::load::LoadReport;
use assay_model::rule::Rule;
use assay_serve::stub::Counts;
use assay_stats::Histogram;
use rustix::process::{Pid, Signal, kill_process};

/// What a busy machine may add to a time.
const SLACK_MS: f64 = 40.0;
/// Runs until times that fail are believed.
const ATTEMPTS: u32 = 3;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// `assay stub`, on the last CPU.
struct Stub {
    child: Child,
    url: String,
    /// Kept open: the stub must not write into a closed pipe.
    _log: BufReader<ChildStderr>,
}

impl Stub {
    fn start(arguments: &[&str]) -> Self {
        let mut child =
            assay("stub").args(["-p", "0"]).args(arguments).stderr(Stdio::piped()).spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        log.read_line(&mut line).unwrap();
        let url = line.split(' ').find(|word| word.starts_with("http://")).expect(&line).to_owned();
        Self { child, url, _log: log }
    }

    fn stop(mut self) -> Counts {
        signal(&self.child, Signal::INT);
        serde_json::from_str(&output(&mut self.child)).unwrap()
    }
}

/// A test that fails leaves no process behind.
impl Drop for Stub {
    fn drop(&mut self) {
        // One that was stopped in order has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// `assay load` on the first CPU, under way.
fn load(stub: &Stub, arguments: &[&str]) -> Child {
    let cpu = cpuset::allowed().first().unwrap().to_string();
    // What is expected need not be asked for before: the stub counts every request.
    let common = ["--json", "--arrival", "constant", "--cpus", &cpu, "--expect-status", "200"];
    assay("load").arg(&stub.url).args(common).args(arguments).spawn().unwrap()
}

fn assay(command: &str) -> Command {
    let mut assay = Command::new(env!("CARGO_BIN_EXE_assay"));
    assay.arg(command).stdout(Stdio::piped());
    assay
}

fn output(child: &mut Child) -> String {
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    child.wait().unwrap();
    text
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// Stops a process for about so long; returns for how long it was, in ms.
fn freeze(child: &Child, span: Duration) -> f64 {
    let began = Instant::now();
    signal(child, Signal::STOP);
    std::thread::sleep(span);
    signal(child, Signal::CONT);
    began.elapsed().as_secs_f64() * 1e3
}

/// Both sides' last words; their books agree.
fn finish(stub: Stub, mut load: Child) -> LoadReport {
    let report: LoadReport = serde_json::from_str(&output(&mut load)).unwrap();
    let counts = stub.stop();
    assert!(report.books.balance() && counts.balance());
    assert_eq!((report.books.issued, report.books.ok), (counts.requests, counts.right));
    assert_eq!(report.books.sent_bytes, counts.received_bytes);
    report
}

fn quantile_ms(hdr: &str, q: f64) -> f64 {
    Histogram::from_hdr_base64(hdr).unwrap().quantile(q).unwrap() as f64 / 1e6
}

fn objections(report: &LoadReport) -> Vec<&str> {
    let objecting = report.checks.iter().filter(|check| check.outcome == Outcome::Void);
    objecting.map(|check| check.rule.name()).collect()
}

/// Measures until the times are as they should be, a few times at most.
fn settle(measure: impl Fn() -> Result<(), String>) {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    settling::settle(ATTEMPTS, measure);
}

/// Whether a time in ms is within limits.
fn between(name: &str, measured: f64, low: f64, high: f64) -> Result<(), String> {
    let is_right = (low..high).contains(&measured);
    if is_right { Ok(()) } else { Err(format!("{name} is {measured:.1}, expected {low:.1} to {high:.1}")) }
}

#[test]
fn t7_a_frozen_server_is_charged_with_everything_that_was_due_meanwhile() {
    settle(|| {
        let (window_ms, n) = (4000.0, "2000");
        let stub = Stub::start(&[]);
        let load = load(&stub, &["-r", "500", "-n", n, "-c", "400"]);
        std::thread::sleep(Duration::from_millis(1500));
        let frozen_ms = freeze(&stub.child, Duration::from_millis(400));
        let report = finish(stub, load);
        let response = report.latency.response_hdr.unwrap();
        // Uniform from 0 to the length of the freeze, for the share of the window that the freeze takes.
        for q in [0.95, 0.99, 0.999] {
            let expected = frozen_ms - (1.0 - q) * window_ms;
            // The signal takes effect a little after it was sent, in both directions.
            let (low, high) = (expected - SLACK_MS, expected + 2.0 * SLACK_MS);
            between(&format!("p{q}"), quantile_ms(&response, q), low, high)?;
        }
        between("p0.5", quantile_ms(&response, 0.5), 0.0, SLACK_MS)
    });
}

#[test]
fn t8_a_frozen_generator_takes_the_blame_itself() {
    settle(|| {
        let stub = Stub::start(&["--service", "1ms"]);
        // As many as it takes that a hundred lie beyond the 99th percentile.
        let load = load(&stub, &["-r", "2500", "-n", "10000", "-c", "400"]);
        for _ in 0..3 {
            std::thread::sleep(Duration::from_millis(800));
            freeze(&load, Duration::from_millis(100));
        }
        let report = finish(stub, load);
        let lag_check =
            report.checks.iter().find(|check| check.rule == Rule::SendLag).expect("an open model");
        assert!(
            lag_check.outcome == Outcome::Warn && assay_report::words::evidence(lag_check).contains("p99"),
            "{lag_check:?}"
        );
        // What it would have taken in time is recorded beside it.
        let in_time = report.latency.response_from_sent_hdr.as_ref().expect("an open model");
        between("p99 from sending", quantile_ms(in_time, 0.99), 0.0, SLACK_MS)?;
        // 3 × 100 ms in 4 s: the longest 1 % of the lags are the longest 13 % of those in a freeze.
        let lag = quantile_ms(&report.latency.client_lag_hdr.unwrap(), 0.99);
        assert!(quantile_ms(&report.latency.response_hdr.unwrap(), 0.99) >= lag * 0.98);
        between("lag", lag, 80.0, 100.0 + SLACK_MS)?;
        // Only the request in flight when the generator froze is seen late; the server is not blamed for the others.
        between("service", quantile_ms(&report.latency.service_hdr, 0.99), 0.0, SLACK_MS)
    });
}

#[test]
fn t17_a_generator_that_must_share_its_cpu_says_so() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let cpu = cpuset::allowed().first().unwrap();
    let stop = AtomicBool::new(false);
    let stub = Stub::start(&["--service", "1ms"]);
    let report = std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                pin_current_thread(&CpuSet::from_iter([cpu])).unwrap();
                while !stop.load(Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        // However it ends, or the scope would wait for the hogs for ever.
        let _ending = StopAtEnd(&stop);
        let load = load(&stub, &["-r", "2000", "-n", "4000", "-c", "200"]);
        finish(stub, load)
    });
    assert!(!objections(&report).is_empty(), "{:?}", report.checks);
}
