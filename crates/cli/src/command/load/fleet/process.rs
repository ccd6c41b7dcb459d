//! One generator as a process of this machine: what it is told goes to its standard input, what it says comes from its standard output.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::Sender;
use std::thread::{JoinHandle, spawn};
use std::time::{Duration, Instant};

use assay_engine::clock;
use assay_fleet::line::{self, MAX_LINE_BYTES, Order};

use super::heard::{Heard, Report};
use super::participant::PARTICIPANT;

/// How long one that has reported may take to end.
const ENDING: Duration = Duration::from_secs(5);
/// What is kept of its error output.
const MAX_COMPLAINT_BYTES: u64 = 4096;

/// The process. Dropping it ends it.
pub(super) struct Process {
    child: Child,
    orders: Option<ChildStdin>,
    complaint: Option<JoinHandle<String>>,
}

impl Process {
    /// Starts generator `number`; what is heard of it goes to `told`. It is in a process group of its own, so that only we are meant by a
    /// Ctrl-C.
    pub(super) fn start(number: usize, told: Sender<Report>) -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(PARTICIPANT).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        if let Some(said) = child.stdout.take() {
            spawn(move || listen(number, said, &told));
        }
        let complaint = child.stderr.take().map(|errors| spawn(move || complaint(errors)));
        Ok(Self { orders: child.stdin.take(), child, complaint })
    }

    /// Tells it something.
    ///
    /// # Errors
    /// Why it was not told; one that has ended says itself why.
    pub(super) fn send(&mut self, order: &Order) -> Result<(), String> {
        let line = line::written(order)?;
        let Some(orders) = &mut self.orders else { return Ok(()) };
        match orders.write_all(line.as_bytes()).and_then(|()| orders.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(format!("cannot tell it anything: {error}"))
            }
            _ => Ok(()),
        }
    }

    /// How it ended, once it has closed its output.
    pub(super) fn ended(&mut self) -> String {
        let status = self.wait();
        let complaint = self.complaint.take().and_then(|complaint| complaint.join().ok()).unwrap_or_default();
        let complaint = complaint.trim();
        let how = status.map_or_else(|| "it was ended".to_owned(), |status| in_words(&status));
        if complaint.is_empty() { how } else { format!("{how}; it said: {complaint}") }
    }

    /// Lets it end, or ends it.
    fn wait(&mut self) -> Option<ExitStatus> {
        drop(self.orders.take());
        let deadline = Instant::now() + ENDING;
        while Instant::now() < deadline {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = self.child.kill();
        self.child.wait().ok()
    }
}

impl Drop for Process {
    /// A generator that has nothing more to say is not waited for.
    fn drop(&mut self) {
        drop(self.orders.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn in_words(status: &ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("it ended with status {code}"),
        (None, Some(signal)) => format!("it was killed by signal {signal}"),
        (None, None) => "it ended".to_owned(),
    }
}

/// Hands on each line with the time of its arrival, to the end.
fn listen(number: usize, said: ChildStdout, told: &Sender<Report>) {
    let mut said = BufReader::new(said);
    loop {
        let mut line = String::new();
        let read = said.by_ref().take(MAX_LINE_BYTES as u64).read_line(&mut line);
        let at = clock::now();
        let heard = match read {
            Ok(1..) => Heard::of(&line),
            Ok(0) | Err(_) => Heard::Gone,
        };
        let is_over = !matches!(heard, Heard::Said(_));
        if told.send(Report { number, at, heard }).is_err() || is_over {
            return;
        }
    }
}

/// The beginning of what it says on standard error; the rest is read and forgotten, so that it never waits for us.
fn complaint(mut errors: ChildStderr) -> String {
    let mut kept = Vec::new();
    let _ = errors.by_ref().take(MAX_COMPLAINT_BYTES).read_to_end(&mut kept);
    let _ = io::copy(&mut errors, &mut io::sink());
    String::from_utf8_lossy(&kept).into_owned()
}
