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

use assay_engine::clock;
use assay_host::cpuset;
use assay_host::doctor::{Facts, diagnose};

use super::frame::Decoder;
use super::jobs::Jobs;
use super::message::{Answer, Asked, Request, Told};
use super::parcels::{Contents, inner};
use super::voice::Voice;
use crate::contender::port;
use crate::database::Programs;
use crate::secrets::Secrets;
use crate::supervisor::keeping;

/// How often jobs are looked at while there are any.
const TICK: Duration = Duration::from_millis(50);
/// Bytes that are read at once.
const BUFFER: usize = 64 << 10;

/// What wakes the agent.
enum Event {
    /// Something was asked.
    Asked(Asked, Vec<u8>),
    /// Nobody asks any more, or what came is no question.
    Closed(Option<String>),
    /// It is to end.
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
    crate::clean::remove_abandoned_agents(&std::env::temp_dir());
    let (work, _used) = crate::clean::agent_folder(&std::env::temp_dir())?;
    let mut agent = Command::new("/proc/self/exe");
    agent.arg0("assay").args(["agent", "--parent"]).arg(std::process::id().to_string());
    agent.arg("--work").arg(&work);
    let kept = agent.spawn().map(|agent| keeping.until_end_of(&agent));
    let _ = std::fs::remove_dir_all(&work);
    kept
}

fn inner_part(parent: u32, work: &Path, version: &str) -> io::Result<()> {
    let (told, events) = channel();
    keeping::end_with_parent(parent, told.clone(), || Event::Terminated)?;
    thread::spawn(move || listen(io::stdin(), &told));
    let mut agent = Agent::new(work, Voice::new(io::stdout()));
    let program = std::env::current_exe()?;
    agent
        .voice
        .tell(&Told::Ready { version: version.to_owned(), work: work.to_owned(), program }, Vec::new());
    let complaint = agent.attend(&events);
    drop(agent);
    // Where the outer part is no more, nobody else removes it.
    let _ = std::fs::remove_dir_all(work);
    complaint.map_or(Ok(()), |complaint| Err(io::Error::new(io::ErrorKind::InvalidData, complaint)))
}

/// Reads questions until the end of input.
fn listen(mut input: impl Read, told: &Sender<Event>) {
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
    let _ = told.send(Event::Closed(complaint));
}

fn hand_on(decoder: &mut Decoder, told: &Sender<Event>) -> Result<(), String> {
    while let Some(frame) = decoder.next_frame().map_err(|error| error.to_string())? {
        let asked = serde_json::from_slice(&frame.head).map_err(|error| format!("no question: {error}"))?;
        if told.send(Event::Asked(asked, frame.body)).is_err() {
            break;
        }
    }
    Ok(())
}

/// What an agent keeps.
struct Agent {
    voice: Voice,
    work: PathBuf,
    contents: Contents,
    jobs: Jobs,
    stopping: Vec<JoinHandle<()>>,
    /// When it was last asked for something.
    asked: Instant,
    /// The longest silence after which the lab is believed to be there; none until it has said so.
    lease: Option<Duration>,
}

impl Agent {
    fn new(work: &Path, voice: Voice) -> Self {
        Self {
            voice,
            work: work.to_owned(),
            contents: Contents::new(work.join("contents")),
            jobs: Jobs::new(Secrets::of(std::env::vars_os())),
            stopping: Vec::new(),
            asked: Instant::now(),
            lease: None,
        }
    }

    /// Answers until nobody asks any more; returns what is wrong with what was asked, if that was the reason.
    fn attend(&mut self, events: &Receiver<Event>) -> Option<String> {
        loop {
            let look = (!self.jobs.is_idle()).then_some(TICK);
            let event = match look.into_iter().chain(self.lease_left()).min() {
                Some(patience) => events.recv_timeout(patience),
                None => events.recv().map_err(RecvTimeoutError::from),
            };
            match event {
                Ok(Event::Asked(asked, body)) => self.hear(asked, &body),
                Ok(Event::Closed(complaint)) => return complaint,
                Ok(Event::Terminated) | Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) if self.lease_left() == Some(Duration::ZERO) => return None,
                Err(RecvTimeoutError::Timeout) => {}
            }
            for (job, ended) in self.jobs.ended() {
                self.voice.tell(&Told::Exited { job, ended }, Vec::new());
            }
        }
    }

    fn lease_left(&self) -> Option<Duration> {
        self.lease.map(|lease| lease.saturating_sub(self.asked.elapsed()))
    }

    fn hear(&mut self, asked: Asked, body: &[u8]) {
        self.asked = Instant::now();
        let to = asked.number;
        let (answer, body) = match self.answer(to, asked.request, body) {
            Ok(Some(answer)) => answer,
            Ok(None) => return,
            Err(problem) => (Answer::Refused { problem }, Vec::new()),
        };
        self.voice.tell(&Told::Answer { to, answer }, body);
    }

    /// The answer to question `number`, with its body; none where it comes later.
    fn answer(
        &mut self,
        number: u64,
        request: Request,
        body: &[u8],
    ) -> Result<Option<(Answer, Vec<u8>)>, String> {
        let answer = match request {
            Request::Clock => Answer::Clock { monotonic_ns: clock::now() },
            Request::Machine => self.machine(),
            Request::Missing { contents } => Answer::Missing { contents: self.contents.missing(contents) },
            Request::Content { sha256, is_last } => {
                self.contents.take(&sha256, body, is_last)?;
                Answer::Done
            }
            Request::Folder { name, files } => {
                let name = inner(Path::new(&name)).ok_or("a folder has a name that leads elsewhere")?;
                let path = self.work.join(name);
                self.contents.unpack(&path, &files)?;
                Answer::Folder { path }
            }
            Request::Port { address, fixed } => Answer::Port { port: port::free_at(address, fixed)? },
            Request::Start(start) => Answer::Started { pid: self.jobs.start(start, &self.voice)? },
            Request::Say { job } => {
                self.jobs.say(job, body)?;
                Answer::Done
            }
            Request::Listening { job } => {
                let addresses = port::addresses_of(&self.jobs.processes(job)?);
                Answer::Listening { addresses: addresses.into_iter().collect() }
            }
            Request::BeginSpan { job, detail } => {
                self.jobs.begin(job, detail)?;
                Answer::Done
            }
            Request::EndSpan { job, detail, with_memory } => {
                let (usage, machine) = self.jobs.end(job, detail, with_memory)?;
                Answer::Span { usage: usage.map(Box::new), machine }
            }
            Request::UsedSinceStart { job } => Answer::Used { usage: Box::new(self.jobs.used(job)?) },
            Request::BeginProfile { job, kind } => {
                self.jobs.begin_profile(job, kind)?;
                Answer::Done
            }
            Request::EndProfile { job, answers } => {
                self.jobs.end_profile(job, answers)?;
                Answer::Done
            }
            Request::ProfilePart { job, from } => {
                let (part, is_last) = self.jobs.part_of_profile(job, from)?;
                return Ok(Some((Answer::ProfilePart { is_last }, part)));
            }
            Request::Log { job } => return Ok(Some((Answer::Log, self.jobs.log(job)?))),
            Request::Lease { silence_ns } => {
                self.lease = Some(silence_ns.into());
                Answer::Done
            }
            Request::Stop { job, at_once } => {
                self.end(number, job, at_once);
                return Ok(None);
            }
        };
        Ok(Some((answer, Vec::new())))
    }

    fn machine(&self) -> Answer {
        let free = rustix::fs::statvfs(&self.work).ok();
        Answer::Machine {
            diagnosis: Box::new(diagnose(&Facts::read())),
            cpus: cpuset::allowed().to_string(),
            free_bytes: free.map(|room| room.f_bavail.saturating_mul(room.f_frsize)),
            has_postgresql: Programs::find().is_some(),
        }
    }

    /// Ends a job beside everything else, because it may take as long as its grace, and answers then.
    fn end(&mut self, to: u64, job: u64, at_once: bool) {
        let (voice, stopping) = (self.voice.clone(), self.jobs.stop(job));
        let end = move || {
            let answer = Answer::Stopped { nothing_left: stopping.end(at_once) };
            voice.tell(&Told::Answer { to, answer }, Vec::new());
        };
        self.stopping.retain(|thread| !thread.is_finished());
        self.stopping.push(thread::spawn(end));
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.stopping.extend(self.jobs.take().map(|stopping| {
            // All at the same time.
            thread::spawn(move || {
                let _ = stopping.end(false);
            })
        }));
        self.stopping.drain(..).for_each(|thread| drop(thread.join()));
    }
}
