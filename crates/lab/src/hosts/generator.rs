//! A host from which load comes: its agent, and the load generator that it starts there, which is spoken to line by line.
//!
//! Whoever leads the load opens these, and closes them when it is over: nothing of assay is there between loads.

use std::ffi::OsString;
use std::panic::resume_unwind;
use std::thread;
use std::time::Duration;

use assay_host::cpuset::CpuSet;
use assay_model::lab::{GeneratorHost, LabHost};

use super::asking::{Agent as _, Given, start};
use super::message::{Answer, Request};
use super::session::{OwnProgram, Session};
use super::starting::{log_there, machine};
use crate::host_error::HostError;
use crate::supervisor::SupervisorOptions;

/// How long a generator that has closed its output may take until its end is known.
const ENDING: Duration = Duration::from_secs(5);
/// Bytes of its error output that are repeated, the last ones.
const COMPLAINT_BYTES: usize = 1024;

/// An agent on a host from which load comes. Dropping it ends it with all that it started there.
pub struct HostGenerator {
    session: Session,
    cpus: CpuSet,
    job: u64,
}

/// Starts an agent on each host at the same time, while that is `wanted`.
///
/// # Errors
/// The first host, in the order of `hosts`, of which something else is so than its lab file says.
pub fn open_all(
    hosts: &[LabHost],
    own: &OwnProgram,
    wanted: &(dyn Fn() -> bool + Sync),
) -> Result<Vec<(HostGenerator, GeneratorHost)>, HostError> {
    thread::scope(|scope| {
        let open = |host| scope.spawn(move || HostGenerator::open(host, own, wanted));
        let opening: Vec<_> = hosts.iter().map(open).collect();
        let opened =
            opening.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        // All are awaited before the first error is told, so that none comes when nobody is there any more.
        opened.collect::<Vec<_>>().into_iter().collect()
    })
}

impl HostGenerator {
    fn open(
        host: &LabHost,
        own: &OwnProgram,
        wanted: &(dyn Fn() -> bool + Sync),
    ) -> Result<(Self, GeneratorHost), HostError> {
        let wanted = &mut || wanted();
        let session = Session::open(host, own, wanted)?;
        let clock = session.clock(wanted)?;
        let (diagnosis, cpus) = machine(&session, host, wanted)?;
        let found =
            GeneratorHost { name: host.name.clone(), cpus: cpus.to_string(), host: diagnosis.host, clock };
        let job = session.new_job();
        Ok((Self { session, cpus, job }, found))
    }

    /// The host's name.
    pub fn name(&self) -> &str {
        &self.session.host
    }

    /// CPUs of the generator there.
    pub fn cpus(&self) -> &CpuSet {
        &self.cpus
    }

    /// Starts `assay ARGUMENTS` there. `listener` hears what it says as it comes, and `None` when that is all.
    ///
    /// # Errors
    /// When it cannot be started, or the host is lost.
    pub fn start(
        &self,
        arguments: impl IntoIterator<Item = OsString>,
        listener: impl FnMut(Option<&[u8]>) + Send + 'static,
    ) -> Result<(), HostError> {
        let program = OsString::from(self.session.program.clone());
        let command = std::iter::once(program).chain(arguments).collect();
        let options = SupervisorOptions::new(log_there(&self.session.work, self.job), command);
        self.session.hear(self.job, Box::new(listener));
        let given = Given {
            folder: &self.session.work,
            inherited: Some(Vec::new()),
            is_building: false,
            variables: Vec::new(),
            is_spoken_to: true,
        };
        start(&self.session, self.job, &options, given).map(drop)
    }

    /// Has nothing sent there in a window of `longest`.
    ///
    /// # Errors
    /// When the host is lost.
    pub fn expect_silence(
        &self,
        longest: Duration,
        wanted: &mut dyn FnMut() -> bool,
    ) -> Result<(), HostError> {
        self.session.expect_silence(longest, wanted)
    }

    /// Says something to it, and waits for no answer.
    ///
    /// # Errors
    /// When its host does not take it.
    pub fn say(&self, words: &str) -> Result<(), HostError> {
        self.session.say(self.job, words.as_bytes())
    }

    /// How it ended that has closed its output, with what it complained of.
    pub fn ended(&self) -> String {
        let how = match self.session.ended(self.job, ENDING) {
            Ok(Some(ended)) => format!("it ended with {ended}"),
            Ok(None) => "it closed its output".to_owned(),
            Err(HostError::Lost { said, .. }) => {
                return format!("its host is lost ({said}); what was started there ends by itself");
            }
            Err(error) => return error.to_string(),
        };
        match self.complaint() {
            Some(complaint) => format!("{how}; it said: {complaint}"),
            None => how,
        }
    }

    /// Ends the agent with all that it started, and waits until nothing is left there.
    ///
    /// # Errors
    /// [`HostError::Left`] when that is not known.
    pub fn end(&self) -> Result<(), HostError> {
        self.session.end()
    }

    /// The end of its error output.
    fn complaint(&self) -> Option<String> {
        let request = Request::Log { job: self.job };
        let Ok((Answer::Log, bytes)) = self.session.ask_job(request) else {
            return None;
        };
        let end = &bytes[bytes.len().saturating_sub(COMPLAINT_BYTES)..];
        let text = String::from_utf8_lossy(end).trim().to_owned();
        (!text.is_empty()).then_some(text)
    }
}
