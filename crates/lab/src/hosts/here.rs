//! This host, asked as others are: the same desk answers, and nothing travels.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::asking::Agent;
use super::desk::{Desk, Reply};
use super::jobs::Jobs;
use super::message::{Answer, Request};
use super::voice::Voice;
use crate::host_error::HostError;
use crate::supervisor::Ended;
use crate::tools::Tools;

/// Longest wait for the end of a job in which nobody else can ask for anything.
const WAIT: Duration = Duration::from_millis(10);

/// What answers for this host. Dropping it ends all jobs.
pub(super) struct Here {
    desk: Mutex<Desk>,
    jobs: AtomicU64,
}

impl Here {
    /// An agent within this process. Logs are written here, and what reads them hides secrets.
    pub(super) fn new(tools: &Tools) -> Self {
        let jobs = Jobs::new(tools.assay.clone(), tools.secrets.clone());
        // No job of this host is spoken to by an agent.
        let desk = Desk::new(&std::env::temp_dir(), jobs, Voice::new(io::sink()));
        Self { desk: Mutex::new(desk), jobs: AtomicU64::new(0) }
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Agent for Here {
    fn name(&self) -> &str {
        "this host"
    }

    fn ask_with(
        &self,
        request: Request,
        body: Vec<u8>,
        _patience: Duration,
        _wanted: &mut dyn FnMut() -> bool,
    ) -> Result<(Answer, Vec<u8>), HostError> {
        let reply = self.desk().answer(request, &body);
        match reply.map_err(|problem| HostError::Here { problem })? {
            Reply::Now(answer, body) => Ok((answer, body)),
            Reply::Stopped { stopping, at_once } => {
                Ok((Answer::Stopped { nothing_left: stopping.end(at_once) }, Vec::new()))
            }
        }
    }

    fn ended(&self, job: u64, timeout: Duration) -> Result<Option<Ended>, HostError> {
        let deadline = Instant::now() + timeout;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let ended = self.desk().jobs.end_of(job, left.min(WAIT));
            if ended.is_some() || left.is_zero() {
                return Ok(ended);
            }
        }
    }

    fn expect_silence(&self, _longest: Duration, _wanted: &mut dyn FnMut() -> bool) -> Result<(), HostError> {
        Ok(())
    }

    fn new_job(&self) -> u64 {
        self.jobs.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn end(&self) -> Result<(), HostError> {
        let all: Vec<_> = self.desk().jobs.take().collect();
        let is_left =
            all.into_iter().map(|stopping| stopping.end(false)).filter(|is_gone| !is_gone).count() > 0;
        if is_left { Err(HostError::Left { host: self.name().to_owned() }) } else { Ok(()) }
    }
}
