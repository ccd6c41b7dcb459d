//! One trial: the stub on one CPU, the generator on the other, both sides' last words.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use assay_host::cpuset::{CpuSet, pin_current_thread};
use assay_model::check::{Check, CheckOutcome};
use assay_model::load::{ErrorClass, LoadReport};
use assay_serve::stub::{BODY, Counts};
use rustix::process::Signal;

use super::cases::{Case, Disturbance};
use crate::measure::client::{self, Engine};
use crate::measure::process::Running;
use crate::measure::{Testbed, workload};

/// The stub says within this where it listens, and ends within this when it is told to.
const STUB_PATIENCE: Duration = Duration::from_secs(10);
/// The longest test takes five minutes.
const LOAD_PATIENCE: Duration = Duration::from_secs(400);
/// Threads that want the generator's CPU for themselves.
const HOGS: usize = 4;

/// Failures of requests that the server never saw.
const NEVER_SENT: [ErrorClass; 6] = [
    ErrorClass::ConnectRefused,
    ErrorClass::ConnectTimeout,
    ErrorClass::ConnectOther,
    ErrorClass::AddressExhausted,
    ErrorClass::UnsentNoConnection,
    ErrorClass::UnsentEnd,
];

/// What both sides say of a trial.
pub(super) struct Evidence {
    pub(super) report: LoadReport,
    pub(super) counts: Counts,
}

impl Evidence {
    /// The checks by which the generator itself calls its run void.
    pub(super) fn objections(&self) -> impl Iterator<Item = &Check> {
        self.report.checks.iter().filter(|check| check.outcome == CheckOutcome::Void)
    }

    /// By how many requests, right answers, bytes and connections the two sides differ, and the books with themselves.
    pub(super) fn books_apart(&self) -> u64 {
        let (books, counts) = (&self.report.books, &self.counts);
        let unsent = |class: &ErrorClass| NEVER_SENT.contains(class);
        let never_sent: u64 = books.errors.iter().filter(|(class, _)| unsent(class)).map(|(_, n)| n).sum();
        let pairs = [
            (books.issued - never_sent, counts.requests),
            (books.issued, books.ok + books.failed() + books.censored),
            (books.ok, counts.right),
            (books.sent_bytes, counts.received_bytes),
            (books.received_bytes, counts.sent_bytes),
            (books.connections_opened, counts.connections),
        ];
        pairs.iter().map(|(ours, theirs)| ours.abs_diff(*theirs)).sum::<u64>() + u64::from(!counts.balance())
    }
}

/// A stub under way.
pub(super) struct Stub {
    process: Running,
    pub(super) url: String,
}

impl Stub {
    /// # Errors
    /// When it does not start.
    pub(super) fn start(arguments: &str, testbed: &Testbed) -> Result<Self, String> {
        let mut command = Command::new(&testbed.assay);
        command.args(["stub", "-p", "0"]).args(arguments.split_ascii_whitespace());
        let process = Running::start(&mut command, &testbed.server_cpu)?;
        let until = Instant::now() + STUB_PATIENCE;
        loop {
            testbed.go_on()?;
            let log = process.log();
            // A line that is still being written is none.
            let line = log.split_once('\n').map_or("", |(line, _)| line);
            if let Some(url) = line.split_ascii_whitespace().find(|word| word.starts_with("http://")) {
                return Ok(Self { process, url: url.to_owned() });
            }
            if Instant::now() > until {
                return Err(format!("the stub does not listen: {log}"));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// # Errors
    /// When it does not end in order.
    pub(super) fn stop(self, testbed: &Testbed) -> Result<Counts, String> {
        self.process.signal(Signal::INT)?;
        let ended = self.process.finish(STUB_PATIENCE, testbed)?.with_code(&[0], "stub")?;
        serde_json::from_str(&ended.stdout).map_err(|error| format!("stub: {error}"))
    }
}

/// Puts the load of a case on its stub.
///
/// # Errors
/// When one of the two fails, or a person asks to end.
pub(super) fn run(case: &Case, engine: Engine, testbed: &Testbed) -> Result<Evidence, String> {
    let stub = Stub::start(case.stub, testbed)?;
    let mut load = Running::start(&mut generator(case, &stub, engine, testbed)?, &testbed.client_cpu)?;
    let over = AtomicBool::new(false);
    let ended = std::thread::scope(|scope| {
        if case.disturbance == Disturbance::Hogs {
            (0..HOGS).for_each(|_| drop(scope.spawn(|| hog(&testbed.client_cpu, &over))));
        }
        let disturbed = disturb(case.disturbance, &stub, &mut load, testbed);
        let ended = disturbed.and_then(|()| load.finish(LOAD_PATIENCE, testbed));
        over.store(true, Relaxed);
        ended
    })?;
    let ended = ended.with_code(client::ours(engine).exit_codes(), "assay load")?;
    let report = serde_json::from_str(&ended.stdout).map_err(|error| format!("assay load: {error}"))?;
    Ok(Evidence { report, counts: stub.stop(testbed)? })
}

fn generator(case: &Case, stub: &Stub, engine: Engine, testbed: &Testbed) -> Result<Command, String> {
    let mut command = Command::new(&testbed.assay);
    command.args(["load", &format!("{}{}", stub.url, case.path), "--json", "--threads", "1"]);
    command.args(["--engine", engine.flag()]).args(case.load.split_ascii_whitespace());
    match case.mix {
        [] if case.has_body => {
            command.args(["--expect-body", BODY]);
        }
        [] => {}
        paths => {
            command.arg("--workload").arg(workload::write(testbed, paths, Some(BODY))?);
        }
    }
    Ok(command)
}

/// Does to a running trial what its test is about.
fn disturb(what: Disturbance, stub: &Stub, load: &mut Running, testbed: &Testbed) -> Result<(), String> {
    match what {
        Disturbance::None | Disturbance::Hogs => Ok(()),
        Disturbance::ServerFreezes { after, span } => {
            pause(after, testbed)?;
            freeze(&stub.process, span, testbed)
        }
        Disturbance::GeneratorFreezes { every, span } => {
            pause(every, testbed)?;
            while !load.has_ended() {
                freeze(load, span, testbed)?;
                pause(every - span, testbed)?;
            }
            Ok(())
        }
    }
}

/// The signals have no effect on a process that has just ended; that is no fault of the test.
fn freeze(process: &Running, span: Duration, testbed: &Testbed) -> Result<(), String> {
    process.signal(Signal::STOP)?;
    let slept = pause(span, testbed);
    process.signal(Signal::CONT)?;
    slept
}

fn pause(span: Duration, testbed: &Testbed) -> Result<(), String> {
    let until = Instant::now() + span;
    while let left @ 1.. = until.saturating_duration_since(Instant::now()).as_micros() as u64 {
        testbed.go_on()?;
        std::thread::sleep(Duration::from_micros(left.min(50_000)));
    }
    Ok(())
}

fn hog(cpus: &CpuSet, over: &AtomicBool) {
    // On another CPU it would disturb somebody else.
    if pin_current_thread(cpus).is_ok() {
        while !over.load(Relaxed) {
            std::hint::spin_loop();
        }
    }
}
