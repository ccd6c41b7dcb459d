//! A job that is spoken to: what it is told goes to its standard input, and what it says on its standard output is told as it comes.
//! Each way is a pipe with a thread of its own, so that the agent waits for no job.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use super::message::Announcement;
use super::voice::Voice;
use crate::pipe::Pipe;
use crate::supervisor::SupervisorOptions;

/// Bytes of what a job says that are told at once.
const BUFFER: usize = 64 << 10;

/// Pipes for a job that is about to start.
pub(super) struct Pipes {
    asked: Pipe,
    telling: Pipe,
    orders: File,
    answers: File,
    reader: File,
}

impl Pipes {
    /// Makes them beside the job's log.
    pub(super) fn make(options: &mut SupervisorOptions) -> io::Result<Self> {
        let asked = Pipe::new(options.log.with_extension("asked"));
        let telling = Pipe::new(options.log.with_extension("told"));
        let (orders, answers) = (asked.both_ends()?, telling.both_ends()?);
        let reader = telling.reader()?;
        (options.stdin, options.stdout) = (Some(asked.path.clone()), Some(telling.path.clone()));
        Ok(Self { asked, telling, orders, answers, reader })
    }

    /// Joins the job, which has opened its ends by now, to `voice`; what is sent from now on is said to it.
    pub(super) fn join(self, job: u64, voice: Voice) -> Sender<Vec<u8>> {
        let Self { asked, telling, mut orders, answers, reader } = self;
        // Their names are of no more use, and only the job holds the end to write to: our reader finds an end when it ends.
        drop((asked, telling, answers));
        thread::spawn(move || tell(reader, job, &voice));
        let (said, words) = channel::<Vec<u8>>();
        thread::spawn(move || words.iter().try_for_each(|words| orders.write_all(&words)));
        said
    }
}

/// Tells what the job says until it has closed its output.
fn tell(mut from: File, job: u64, voice: &Voice) {
    let mut buffer = vec![0; BUFFER];
    loop {
        match from.read(&mut buffer) {
            Ok(read @ 1..) => voice.tell(&Announcement::Said { job }, buffer[..read].to_vec()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => return voice.tell(&Announcement::Silent { job }, Vec::new()),
        }
    }
}
