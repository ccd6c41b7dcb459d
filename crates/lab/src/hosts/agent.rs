//! The agent: does on its host what a lab asks for, as frames over standard input and output, and ends with all that it started
//! when its input closes, or when nothing came for as long as its lease.
//!
//! It is two processes. The outer one only watches, is the parent of all orphans below it, and removes the agent's folder when
//! nothing is left; the inner one is the agent. What that starts has supervisors of its own ([`crate::supervisor`]), which end
//! it when the agent is gone. Whichever of outer and inner is killed, the other ends all; an inner one that stands still when the
//! input closes is ended by the outer one.

use std::io::{self, Read};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::desk::{Desk, Reply};
use super::frame::Decoder;
use super::jobs::{Jobs, Stopping};
use super::message::{Announcement, Answer, NumberedRequest, Request};
use super::voice::Voice;
use crate::secrets::Secrets;
use crate::supervisor::keeping;

/// How often jobs are looked at while there are any.
const TICK: Duration = Duration::from_millis(50);
/// Bytes that are read at once.
const BUFFER: usize = 64 << 10;
/// Our own program, whatever its path leads to by now.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// What wakes the agent.
enum Wakeup {
    /// Something was asked.
    Asked(NumberedRequest, Vec<u8>),
    /// Nobody asks any more, or what came is no question.
    Closed(Option<String>),
    /// The agent is to end.
    Terminated,
}

/// The body of `assay agent`: both processes. Returns when nothing is left here.
///
/// # Errors
/// When a process cannot be prepared, or the folder cannot be made.
pub fn run(part: AgentPart, version: &str) -> io::Result<()> {
    match part {
        AgentPart::Outer => outer(),
        AgentPart::Inner { parent, work } => inner_part(parent, &work, version),
    }
}

/// One of the two processes of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentPart {
    /// The one that watches.
    Outer,
    /// The one that works.
    Inner {
        /// The outer one.
        parent: u32,
        /// The agent's own folder, which is there.
        work: PathBuf,
    },
}

/// Starts the inner part and ends whatever that leaves.
fn outer() -> io::Result<()> {
    let keeping = keeping::begin()?;
    let temporary = std::env::temp_dir();
    crate::clean::remove_abandoned_agents(&temporary);
    let unusable = |error: io::Error| {
        let mend = "set TMPDIR there to a folder that this user may write to";
        io::Error::new(
            error.kind(),
            format!("no folder can be made in {}: {error}; {mend}", temporary.display()),
        )
    };
    let (work, _used) = crate::clean::agent_folder(&temporary).map_err(unusable)?;
    let mut agent = Command::new(OWN_PROGRAM);
    agent.arg0("assay").args(["agent", "--parent"]).arg(std::process::id().to_string());
    agent.arg("--work").arg(&work);
    let kept = agent.spawn().map(|agent| keeping.until_end_of(&agent));
    let _ = std::fs::remove_dir_all(&work);
    kept
}

fn inner_part(parent: u32, work: &Path, version: &str) -> io::Result<()> {
    let (told, events) = channel();
    keeping::end_with_parent(parent, told.clone(), || Wakeup::Terminated)?;
    thread::spawn(move || listen(io::stdin(), &told));
    let jobs = Jobs::new(OWN_PROGRAM.into(), Secrets::of(std::env::vars_os()));
    let desk = Desk::new(work, jobs, Voice::new(io::stdout()));
    let program = std::env::current_exe()?;
    let ready = Announcement::Ready { version: version.to_owned(), work: work.to_owned(), program };
    desk.voice.tell(&ready, Vec::new());
    let mut attendant = Attendant::new(desk);
    let complaint = attendant.attend(&events);
    drop(attendant);
    // Where the outer part is no more, nobody else removes it.
    let _ = std::fs::remove_dir_all(work);
    complaint.map_or(Ok(()), |complaint| Err(io::Error::new(io::ErrorKind::InvalidData, complaint)))
}

/// Reads questions until the end of input.
fn listen(mut input: impl Read, told: &Sender<Wakeup>) {
    let (mut decoder, mut buffer) = (Decoder::default(), vec![0; BUFFER]);
    let complaint = loop {
        match input.read(&mut buffer) {
            Ok(0) => break None,
            Ok(read) => decoder.feed(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break None,
        }
        if let Err(complaint) = hand_on(&mut decoder, told) {
            break Some(complaint);
        }
    };
    let _ = told.send(Wakeup::Closed(complaint));
}

fn hand_on(decoder: &mut Decoder, told: &Sender<Wakeup>) -> Result<(), String> {
    while let Some(frame) = decoder.next_frame().map_err(|error| error.to_string())? {
        let asked = serde_json::from_slice(&frame.head).map_err(|error| format!("no question: {error}"))?;
        if told.send(Wakeup::Asked(asked, frame.body)).is_err() {
            break;
        }
    }
    Ok(())
}

/// The inner part at work.
struct Attendant {
    desk: Desk,
    stopping: Vec<JoinHandle<()>>,
    /// When it was last asked for something.
    asked: Instant,
    /// The longest silence after which the lab is believed to be there; none until it has said so.
    lease: Option<Duration>,
}

impl Attendant {
    fn new(desk: Desk) -> Self {
        Self { desk, stopping: Vec::new(), asked: Instant::now(), lease: None }
    }

    /// Answers until nobody asks any more; returns what is wrong with what was asked, if that was the reason.
    fn attend(&mut self, events: &Receiver<Wakeup>) -> Option<String> {
        loop {
            let look = (!self.desk.jobs.is_idle()).then_some(TICK);
            let event = match look.into_iter().chain(self.lease_left()).min() {
                Some(patience) => events.recv_timeout(patience),
                None => events.recv().map_err(RecvTimeoutError::from),
            };
            match event {
                Ok(Wakeup::Asked(asked, body)) => self.hear(asked, &body),
                Ok(Wakeup::Closed(complaint)) => return complaint,
                Ok(Wakeup::Terminated) | Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) if self.lease_left() == Some(Duration::ZERO) => return None,
                Err(RecvTimeoutError::Timeout) => {}
            }
            for (job, ended) in self.desk.jobs.ended() {
                self.desk.voice.tell(&Announcement::Exited { job, ended }, Vec::new());
            }
        }
    }

    fn lease_left(&self) -> Option<Duration> {
        self.lease.map(|lease| lease.saturating_sub(self.asked.elapsed()))
    }

    fn hear(&mut self, NumberedRequest { number: to, request }: NumberedRequest, body: &[u8]) {
        self.asked = Instant::now();
        if let Request::Lease { silence_ns } = request {
            self.lease = Some(silence_ns.into());
            return self.desk.voice.tell(&Announcement::Answer { to, answer: Answer::Done }, Vec::new());
        }
        let (answer, body) = match self.desk.answer(request, body) {
            Ok(Reply::Now(answer, body)) => (answer, body),
            Ok(Reply::Stopped { stopping, at_once }) => return self.end(to, stopping, at_once),
            Err(problem) => (Answer::Refused { problem }, Vec::new()),
        };
        self.desk.voice.tell(&Announcement::Answer { to, answer }, body);
    }

    /// Ends a job beside everything else, because it may take as long as its grace, and answers then.
    fn end(&mut self, to: u64, stopping: Stopping, at_once: bool) {
        let voice = self.desk.voice.clone();
        let end = move || {
            let answer = Answer::Stopped { nothing_left: stopping.end(at_once) };
            voice.tell(&Announcement::Answer { to, answer }, Vec::new());
        };
        self.stopping.retain(|thread| !thread.is_finished());
        self.stopping.push(thread::spawn(end));
    }
}

impl Drop for Attendant {
    fn drop(&mut self) {
        self.stopping.extend(self.desk.jobs.take().map(|stopping| {
            // All at the same time.
            thread::spawn(move || {
                let _ = stopping.end(false);
            })
        }));
        self.stopping.drain(..).for_each(|thread| drop(thread.join()));
    }
}
