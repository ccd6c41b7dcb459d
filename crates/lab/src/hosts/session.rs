//! The lab's side of an agent: from its start on a host to its end there.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use assay_engine::clock;
use assay_fleet::clock::{ROUND_TRIPS, RoundTrip, offset};
use assay_model::fleet::ClockOffset;
use assay_model::lab::LabHost;
use assay_model::units::Nanos;

use super::asking::{Agent, PATIENCE};
use super::frame::MAX_BODY;
use super::message::{Announcement, Answer, NumberedRequest, Request, frame};
use super::parcels::digest;
use super::transport::{Traveller, needs_program, remedy, way};
use super::wire::{Heard, SpeechListener, Wire};
use crate::host_error::HostError;
use crate::supervisor::Ended;

/// Longest wait for the end of an agent: of its jobs, which have their grace, and of what a killed one left.
const END_PATIENCE: Duration = Duration::from_secs(30);
/// The silence after which an agent ends that is cut off, beside that of the longest window.
const LEASE: Nanos = Nanos::from_millis(120_000);
/// The silence after which it is asked for something, beside that of the longest window, so that it knows that we are there.
const SIGN: Duration = Duration::from_secs(60);
/// Longest wait until there is room for words that nobody answers.
const SAYING: Duration = Duration::from_secs(2);
/// How often a wait looks whether it is still wanted.
const TICK: Duration = Duration::from_millis(50);

/// Our own program: it travels where it is not.
#[derive(Clone, Debug)]
pub struct OwnProgram {
    /// Where it is.
    pub path: PathBuf,
    /// The version of the program, which an agent must have too.
    pub version: String,
}

/// An agent on a host. Dropping it ends it with all that it started there.
pub struct Session {
    /// The host's name.
    pub host: String,
    /// The agent's own folder there, which goes with it.
    pub work: PathBuf,
    /// The agent's program there.
    pub program: PathBuf,
    state: Mutex<State>,
}

struct State {
    wire: Wire,
    number: u64,
    jobs: u64,
    ended: BTreeMap<u64, Ended>,
    /// What came last that is no message of an agent: the words of a transport that breaks off, for one.
    strange: Option<String>,
    is_over: bool,
}

impl Session {
    /// Starts an agent on `host`, while that is `wanted`.
    ///
    /// # Errors
    /// When none comes, or it is of another version.
    pub fn open(
        host: &LabHost,
        own: &OwnProgram,
        wanted: &mut dyn FnMut() -> bool,
    ) -> Result<Self, HostError> {
        let traveller = if needs_program(host) { Some(measured(host, &own.path)?) } else { None };
        let unreachable = |said: String| {
            let remedy = remedy(host, &said);
            HostError::Unreachable { host: host.name.clone(), said, remedy }
        };
        let mut wire =
            Wire::start(&own.path, &way(host, &own.path, traveller.as_ref())).map_err(|error| {
                unreachable(format!("its transport {} did not start: {error}", host.transport.name()))
            })?;
        let deadline = Instant::now() + Duration::from_secs_f64(host.ready_timeout_s);
        loop {
            match await_one(&wire, deadline, wanted) {
                Ok(Heard::Shell { needs_program }) => {
                    if needs_program && !send_program(&wire, &own.path, deadline) {
                        return Err(unreachable("its shell does not take the program".to_owned()));
                    }
                }
                Ok(Heard::Told(Announcement::Ready { version, work, program }, _)) => {
                    let host = host.name.clone();
                    if version != own.version {
                        return Err(HostError::Version { host, theirs: version, ours: own.version.clone() });
                    }
                    let session = Self { host, work, program, state: Mutex::new(State::new(wire)) };
                    return session.expect_silence(Duration::ZERO, wanted).map(|()| session);
                }
                Ok(Heard::Told(..)) => {
                    return Err(unreachable("its agent begins with something else".to_owned()));
                }
                Ok(Heard::Strange(said)) => return Err(unreachable(said)),
                Err(Silence::Closed) => return Err(unreachable(wire.complaint())),
                Err(Silence::Unwanted) => return Err(HostError::Unwanted { host: host.name.clone() }),
                Err(Silence::Late) => {
                    return Err(unreachable(format!(
                        "not within {} s; ready_timeout_s in its lab file allows for more, such as a queue",
                        host.ready_timeout_s
                    )));
                }
            }
        }
    }

    /// How its clock stands to ours, which is asked while that is `wanted`.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub fn clock(&self, wanted: &mut dyn FnMut() -> bool) -> Result<ClockOffset, HostError> {
        let ask = |_| {
            let sent = clock::now();
            match self.ask_while(Request::Clock, wanted)? {
                Answer::Clock { monotonic_ns: theirs } => {
                    Ok(RoundTrip { sent, theirs, received: clock::now() })
                }
                other => Err(self.unexpected(&other)),
            }
        };
        let round_trips = (0..ROUND_TRIPS).map(ask).collect::<Result<Vec<_>, _>>()?;
        Ok(offset(&round_trips).unwrap_or_default())
    }

    /// Has `listener` hear what a job says that is about to start and to be spoken to.
    pub(super) fn hear(&self, job: u64, listener: SpeechListener) {
        self.state().wire.listeners.add(job, listener);
    }

    /// Says something to a job that is spoken to, and waits for no answer: of one that has ended, or a host that is lost, the listener
    /// hears.
    ///
    /// # Errors
    /// When the host does not take it.
    pub(super) fn say(&self, job: u64, words: &[u8]) -> Result<(), HostError> {
        let mut state = self.state();
        let deadline = Instant::now() + SAYING;
        for part in words.chunks(MAX_BODY) {
            state.number += 1;
            let asked = NumberedRequest { number: state.number, request: Request::Say { job } };
            let bytes = frame(&asked, part.to_vec()).map_err(|error| self.refused(error.to_string()))?;
            if !state.wire.send(bytes, deadline) && Instant::now() >= deadline {
                return Err(HostError::Silent { host: self.host.clone(), seconds: SAYING.as_secs() });
            }
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lost(&self, state: &mut State) -> HostError {
        state.is_over = true;
        let said = state.strange.take().unwrap_or_else(|| state.wire.complaint());
        HostError::Lost { host: self.host.clone(), said }
    }
}

impl Agent for Session {
    fn name(&self) -> &str {
        &self.host
    }

    fn ask_with(
        &self,
        request: Request,
        body: Vec<u8>,
        patience: Duration,
        wanted: &mut dyn FnMut() -> bool,
    ) -> Result<(Answer, Vec<u8>), HostError> {
        let mut state = self.state();
        state.number += 1;
        let number = state.number;
        let bytes = frame(&NumberedRequest { number, request }, body)
            .map_err(|error| self.refused(error.to_string()))?;
        let deadline = Instant::now() + patience;
        let silent = || HostError::Silent { host: self.host.clone(), seconds: patience.as_secs() };
        if !state.wire.send(bytes, deadline) {
            return Err(if Instant::now() < deadline { self.lost(&mut state) } else { silent() });
        }
        loop {
            match await_one(&state.wire, deadline, wanted) {
                Ok(Heard::Told(Announcement::Answer { to, answer }, body)) if to == number => {
                    return match answer {
                        Answer::Refused { problem } => Err(self.refused(problem)),
                        answer => Ok((answer, body)),
                    };
                }
                Ok(heard) => state.note(heard),
                Err(Silence::Closed) => return Err(self.lost(&mut state)),
                Err(Silence::Late) => return Err(silent()),
                Err(Silence::Unwanted) => {
                    state.abandon();
                    return Err(HostError::Unwanted { host: self.host.clone() });
                }
            }
        }
    }

    fn ended(&self, job: u64, timeout: Duration) -> Result<Option<Ended>, HostError> {
        let deadline = Instant::now() + timeout;
        let mut state = self.state();
        loop {
            if let Some(ended) = state.ended.get(&job) {
                return Ok(Some(ended.clone()));
            }
            match await_one(&state.wire, deadline, &mut || true) {
                Ok(heard) => state.note(heard),
                Err(Silence::Closed) => return Err(self.lost(&mut state)),
                Err(Silence::Late | Silence::Unwanted) => return Ok(None),
            }
        }
    }

    fn expect_silence(&self, longest: Duration, wanted: &mut dyn FnMut() -> bool) -> Result<(), HostError> {
        // Whose answer nobody waits for.
        let sign = frame(&NumberedRequest { number: 0, request: Request::Clock }, Vec::new());
        let sign = sign.map_err(|error| self.refused(error.to_string()))?;
        self.state().wire.send_repeatedly(sign, SIGN + longest, Instant::now() + PATIENCE);
        self.ask_while(Request::Lease { silence_ns: LEASE + longest.into() }, wanted).map(drop)
    }

    fn new_job(&self) -> u64 {
        let mut state = self.state();
        state.jobs += 1;
        state.jobs
    }

    fn end(&self) -> Result<(), HostError> {
        let mut state = self.state();
        state.end().map_err(|()| HostError::Left { host: self.host.clone() })
    }
}

impl State {
    fn new(wire: Wire) -> Self {
        Self { wire, number: 0, jobs: 0, ended: BTreeMap::new(), strange: None, is_over: false }
    }

    /// Keeps what was told without having been asked for; answers that nobody waits for any more are dropped.
    fn note(&mut self, heard: Heard) {
        match heard {
            Heard::Told(Announcement::Exited { job, ended }, _) => drop(self.ended.insert(job, ended)),
            Heard::Strange(said) => self.strange = Some(said),
            _ => {}
        }
    }

    /// Nobody waits for it any more, not even for its end: an agent whose input is closed ends by itself, with all that it started.
    fn abandon(&mut self) {
        self.is_over = true;
        self.wire.kill();
    }

    /// Whoever closes their output there has ended all before. Of a host that was lost nothing is known.
    fn end(&mut self) -> Result<(), ()> {
        if std::mem::replace(&mut self.is_over, true) {
            return Err(());
        }
        self.wire.close();
        let deadline = Instant::now() + END_PATIENCE;
        loop {
            match await_one(&self.wire, deadline, &mut || true) {
                Ok(_) => {}
                Err(Silence::Closed) => {
                    self.wire.reap();
                    return Ok(());
                }
                Err(Silence::Late | Silence::Unwanted) => {
                    self.wire.kill();
                    return Err(());
                }
            }
        }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// Why nothing was heard.
enum Silence {
    Closed,
    Late,
    Unwanted,
}

fn await_one(wire: &Wire, deadline: Instant, wanted: &mut dyn FnMut() -> bool) -> Result<Heard, Silence> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match wire.heard.recv_timeout(left.min(TICK)) {
            Ok(heard) => return Ok(heard),
            Err(RecvTimeoutError::Disconnected) => return Err(Silence::Closed),
            Err(RecvTimeoutError::Timeout) if left.is_zero() => return Err(Silence::Late),
            Err(RecvTimeoutError::Timeout) if !wanted() => return Err(Silence::Unwanted),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

fn measured(host: &LabHost, own: &Path) -> Result<Traveller, HostError> {
    let look = || -> std::io::Result<Traveller> {
        let file = File::open(own)?;
        let bytes = file.metadata()?.len();
        Ok(Traveller { sha256: digest(file)?, bytes })
    };
    look().map_err(|error| HostError::Refused {
        host: host.name.clone(),
        problem: format!("this program cannot be read to be sent there: {}: {error}", own.display()),
    })
}

fn send_program(wire: &Wire, own: &Path, deadline: Instant) -> bool {
    let Ok(mut file) = File::open(own) else { return false };
    loop {
        let mut part = Vec::new();
        match file.by_ref().take(MAX_BODY as u64).read_to_end(&mut part) {
            Ok(0) => return true,
            Ok(_) if wire.send(part, deadline) => {}
            Ok(_) | Err(_) => return false,
        }
    }
}
