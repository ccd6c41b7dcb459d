//! What a lab asks of an agent, and what that tells: the heads of their frames, as JSON.

use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use assay_host::system::SystemDelta;
use assay_model::doctor::Diagnosis;
use assay_model::profile::Refused;
use assay_model::record::Throttled;
use assay_model::units::Nanos;
use assay_model::usage::Usage;
use serde::{Deserialize, Serialize};

use super::frame::{Frame, FrameError};
use crate::port::Listener;
use crate::supervisor::Ended;

/// A question, with the number that its answer repeats.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NumberedRequest {
    /// Counts up from 1.
    pub number: u64,
    /// What is asked.
    pub request: Request,
}

/// What an agent is asked for. Each is answered once, in any order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "ask")]
pub enum Request {
    /// The time of its monotonic clock.
    Clock,
    /// What its machine is, and whether it is fit.
    Machine,
    /// How much memory programs can still take there.
    Memory,
    /// The contents, of these named by their SHA-256, that have not come yet.
    Missing {
        /// Hexadecimal digits of each.
        contents: Vec<String>,
    },
    /// A part of a content is the body.
    Content {
        /// SHA-256 of the content.
        sha256: String,
        /// Whether it is whole with this part.
        is_last: bool,
    },
    /// A folder with these files, whose contents have come.
    Folder {
        /// Name of the folder in the agent's own.
        name: String,
        /// What is in it.
        files: Vec<Parcel>,
    },
    /// A port that nobody listens on.
    Port {
        /// Where it will be listened on.
        address: IpAddr,
        /// The one that it must be; any when absent.
        fixed: Option<u16>,
    },
    /// A command under a supervisor.
    Start(Start),
    /// The body goes to the standard input of a job that is spoken to.
    Say {
        /// The job.
        job: u64,
    },
    /// What a job listens on.
    Listening {
        /// The job.
        job: u64,
    },
    /// Processes that somebody else started, to be looked at as a job.
    Adopt {
        /// The number by which they are asked for from now on.
        job: u64,
        /// Processes from which all others descend.
        roots: Vec<u32>,
    },
    /// From now on a job is looked at from these processes downwards, as that of a container; what ends it is unchanged.
    LookAt {
        /// The job.
        job: u64,
        /// Processes from which all others descend.
        roots: Vec<u32>,
    },
    /// All processes of a job.
    Processes {
        /// The job.
        job: u64,
    },
    /// Who listens on a port, as far as the job's processes go.
    Listener {
        /// The job.
        job: u64,
        /// The port.
        port: u16,
    },
    /// How many requests a server has counted in a file of its host.
    RequestsCounted {
        /// The file.
        file: PathBuf,
    },
    /// The beginning of a span over which the use of jobs is counted, and what the machine does beside them.
    BeginSpan {
        /// The jobs, the server first; none where the machine alone is looked at.
        jobs: Vec<u64>,
        /// In what detail their processes are read. The same jobs have one span in each at a time.
        detail: Detail,
        /// The CPUs of the server, where what others than the first job use of them is looked at, which takes a look at all processes.
        cpus: Option<String>,
    },
    /// The end of the latest span of these jobs in that detail.
    EndSpan {
        /// The jobs.
        jobs: Vec<u64>,
        /// In what detail their processes are read.
        detail: Detail,
        /// Whether the memory of the first job is looked at, which takes long where there are many processes.
        with_memory: bool,
    },
    /// What the job has used since its start.
    UsedSinceStart {
        /// The job.
        job: u64,
    },
    /// The beginning of a slice in which the job's processes are profiled.
    BeginProfile {
        /// The job.
        job: u64,
        /// What the profile is of.
        kind: ProfileKind,
    },
    /// The end of that slice. The profile is kept there as JSON, to be asked for in parts.
    EndProfile {
        /// The job.
        job: u64,
        /// Right answers in the slice.
        answers: u64,
    },
    /// A part of the profile, as the body of the answer.
    ProfilePart {
        /// The job.
        job: u64,
        /// Bytes of it that have come.
        from: u64,
    },
    /// The end of the job's log, as the body of the answer.
    Log {
        /// The job.
        job: u64,
    },
    /// The end of a job and of all that it started.
    Stop {
        /// The job.
        job: u64,
        /// Whether by SIGKILL at once.
        at_once: bool,
    },
    /// To end, as when its input closes, once nothing was asked for so long: one that is cut off does not hear of that.
    Lease {
        /// The longest silence.
        silence_ns: Nanos,
    },
}

/// In what detail the use of a server's processes is read over a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    /// Thread by thread: over a window, or over all turns in a cell and what is between them.
    ByThread,
    /// By one clock for each process: over a turn, which would be over before all threads of a large server have been read.
    ByClock,
}

/// What a profile of a job's processes is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProfileKind {
    /// Samples of their stacks: [`assay_profile::Sampling`].
    Sampling,
    /// System calls of the processes: [`assay_profile::Tracing`].
    Tracing,
}

/// A file or link of a folder that travels.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Parcel {
    /// Path within the folder.
    pub path: String,
    /// What is there.
    #[serde(flatten)]
    pub what: ParcelKind,
}

/// What a parcel holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum ParcelKind {
    /// A folder, which may be empty.
    Folder,
    /// A file.
    File {
        /// SHA-256 of its content.
        sha256: String,
        /// Who may read, write and execute it, as in chmod(2).
        mode: u32,
    },
    /// A symbolic link.
    Link {
        /// Where it leads, relative to the link.
        to: String,
    },
}

/// A command to be started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// The number by which it is asked for from now on.
    pub job: u64,
    /// The arguments of `assay supervise`.
    pub arguments: Vec<OsString>,
    /// The job's working folder.
    pub folder: PathBuf,
    /// Names of the variables of the agent's environment that it is given beside those that all are; all when absent.
    pub inherited: Option<Vec<String>>,
    /// Whether it builds or probes, and so is given more of them.
    pub is_building: bool,
    /// Variables of its own.
    pub variables: Vec<(OsString, OsString)>,
    /// Whether it is spoken to: its standard input is what [`Request::Say`] brings, and its standard output is told.
    pub is_spoken_to: bool,
}

/// What an agent tells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "tell")]
pub enum Announcement {
    /// The agent is there: the first that it tells.
    Ready {
        /// Version of its program.
        version: String,
        /// The folder that is the agent's own and goes with it.
        work: PathBuf,
        /// The agent's program.
        program: PathBuf,
    },
    /// An answer.
    Answer {
        /// Number of the question.
        to: u64,
        /// What it is.
        answer: Answer,
    },
    /// The body is what a job that is spoken to says.
    Said {
        /// The job.
        job: u64,
    },
    /// A job that is spoken to has closed its output.
    Silent {
        /// The job.
        job: u64,
    },
    /// A job's first process has ended.
    Exited {
        /// The job.
        job: u64,
        /// How it ended.
        ended: Ended,
    },
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "answer")]
pub enum Answer {
    /// The time of its monotonic clock.
    Clock {
        /// Since a moment of its own.
        monotonic_ns: Nanos,
    },
    /// What its machine is.
    Machine {
        /// What `assay doctor` tells there, without what it would have to measure.
        diagnosis: Box<Diagnosis>,
        /// CPUs that the agent, and what it starts, may use.
        cpus: String,
        /// Bytes that are free where its own folder is.
        free_bytes: Option<u64>,
        /// Whether PostgreSQL is installed.
        has_postgresql: bool,
    },
    /// What is left of the memory.
    Memory {
        /// Bytes that can still be taken before the kernel swaps or ends a program; absent where it does not tell.
        available_bytes: Option<u64>,
    },
    /// Contents that have not come.
    Missing {
        /// SHA-256 of each.
        contents: Vec<String>,
    },
    /// What was asked is done.
    Done,
    /// The folder is there.
    Folder {
        /// The folder's path there.
        path: PathBuf,
    },
    /// A free port.
    Port {
        /// Number of the port.
        port: u16,
    },
    /// The job runs.
    Started {
        /// The job's first process.
        pid: u32,
    },
    /// What the job listens on.
    Listening {
        /// Addresses with ports.
        addresses: Vec<SocketAddr>,
    },
    /// What the job has used since its start.
    Used {
        /// All its processes together.
        usage: Box<Usage>,
    },
    /// All processes of a job that live.
    Processes {
        /// Ids of the processes there.
        pids: Vec<u32>,
    },
    /// Who listens on the port.
    Listener {
        /// The owner of the sockets.
        listener: Listener,
    },
    /// What a server has counted.
    RequestsCounted {
        /// Requests since its start; absent where it does not count.
        requests: Option<u64>,
    },
    /// What happened in a span.
    Span(Box<HostUse>),
    /// A profile has begun, or not.
    Profiling {
        /// Why it has not.
        refused: Option<Refused>,
    },
    /// The body is a part of a profile.
    ProfilePart {
        /// Whether it is the last.
        is_last: bool,
    },
    /// The body is the end of the log.
    Log,
    /// The job has ended.
    Stopped {
        /// Whether nothing of it is left.
        nothing_left: bool,
    },
    /// What was asked cannot be done.
    Refused {
        /// Why, with the remedy if there is one.
        problem: String,
    },
}

/// What happened on a host in a span.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostUse {
    /// What the machine did.
    pub system: SystemDelta,
    /// CPU time of all but the first job that may run on the server's CPUs, where that was looked at and all processes can be seen.
    pub others_ns: Option<Nanos>,
    /// What a quota did to the first job, where there is one.
    pub throttled: Option<Throttled>,
    /// What each job used; absent where its processes have ended.
    pub jobs: Vec<Option<JobUse>>,
}

impl HostUse {
    /// What the first job used, where it was read thread by thread.
    pub fn first_by_thread(self) -> Option<ThreadUse> {
        match self.jobs.into_iter().next()?? {
            JobUse::ByThread(threads) => Some(*threads),
            JobUse::ByClock(_) => None,
        }
    }
}

/// What all processes of a job used in a span, together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobUse {
    /// Use as read thread by thread.
    ByThread(Box<ThreadUse>),
    /// Use as the clocks of processes showed.
    ByClock(ClockUse),
}

/// What some processes used, as read thread by thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThreadUse {
    /// The use of all threads together.
    pub usage: Usage,
    /// The CPUs on which the threads that did the work were seen.
    pub seen_on: String,
}

/// What the clocks of some processes showed, whoever of them came or ended meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockUse {
    /// Length of the span.
    pub wall_ns: Nanos,
    /// CPU time of all of them together.
    pub cpu_ns: Nanos,
    /// CPU time of the one that used most, of those that were there all the time.
    pub busiest_ns: Nanos,
    /// Whether none came, ended or waited for another that ended.
    pub is_steady: bool,
}

/// A frame of what is said, with a body.
///
/// # Errors
/// When it is too long.
pub(super) fn frame(said: &impl Serialize, body: Vec<u8>) -> Result<Vec<u8>, FrameError> {
    // Of our own types, whose maps have keys of text: there is nothing that serde_json refuses.
    let head = serde_json::to_vec(said).unwrap_or_default();
    Frame { head, body }.encode()
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt as _;

    use super::*;
    use crate::hosts::frame::Decoder;

    #[test]
    fn what_is_said_arrives() {
        let start = Start {
            job: 3,
            arguments: vec!["--log".into(), "/tmp/a log".into()],
            folder: "/tmp".into(),
            inherited: Some(vec!["TOKEN".to_owned()]),
            is_building: true,
            variables: vec![("PORT".into(), OsString::from_vec(vec![0xff]))],
            is_spoken_to: false,
        };
        let file = ParcelKind::File { sha256: "00".to_owned(), mode: 0o755 };
        let files = vec![Parcel { path: "a/b".to_owned(), what: file }];
        for request in [
            Request::Clock,
            Request::Start(start),
            Request::Folder { name: "x".to_owned(), files },
            Request::Stop { job: 1, at_once: true },
        ] {
            let asked = NumberedRequest { number: 7, request };
            let mut decoder = Decoder::default();
            decoder.feed(&frame(&asked, b"body".to_vec()).expect("short"));
            let arrived = decoder.next_frame().expect("a frame").expect("whole");
            assert_eq!(serde_json::from_slice::<NumberedRequest>(&arrived.head).expect("asked"), asked);
            assert_eq!(arrived.body, b"body");
        }
    }
}
