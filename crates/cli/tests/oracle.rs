//! The oracle's test that needs processes (docs/method/oracle.md#the-tests): a generator that has to share its CPU (T17), of which
//! only a kernel can tell. All others are in `crates/load/tests/oracle`, in virtual time.

// What clippy.toml allows in test functions is as right in the functions that help them.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use assay_host::cpuset::{self, CpuSet, pin_current_thread};
use assay_model::check::CheckOutcome;
use assay_model::load::LoadReport;
use assay_serve::stub::Counts;
use rustix::process::{Pid, Signal, kill_process};

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

/// Last words of stub and load, whose books agree.
fn finish(stub: Stub, mut load: Child) -> LoadReport {
    let report: LoadReport = serde_json::from_str(&output(&mut load)).unwrap();
    let counts = stub.stop();
    assert!(report.books.balance() && counts.balance());
    assert_eq!((report.books.issued, report.books.ok), (counts.requests, counts.right));
    assert_eq!(report.books.sent_bytes, counts.received_bytes);
    report
}

fn objections(report: &LoadReport) -> Vec<&str> {
    let objecting = report.checks.iter().filter(|check| check.outcome == CheckOutcome::Void);
    objecting.map(|check| check.rule.name()).collect()
}

#[test]
fn t17_a_generator_that_must_share_its_cpu_says_so() {
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
