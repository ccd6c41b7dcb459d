//! The transport's process and its three streams, each in a thread of its own, so that nobody waits for a host for longer than they
//! want to.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::carrier;
use super::frame::Decoder;
use super::message::Announcement;
use super::transport::{HAVE, NEED, Way};

/// Writes that may wait for a host that takes none.
const WAITING: usize = 4;
/// Between two looks whether there is room again.
const POLL: Duration = Duration::from_millis(5);
/// Longest line, and most lines, that a shell may print before it says what it has.
const GREETING_BYTES: u64 = 4 << 10;
const GREETING_LINES: usize = 200;
/// Bytes of complaints that are kept, the first ones: what comes later follows from them.
const COMPLAINT_BYTES: usize = 4 << 10;
/// How long a transport may take to end once it has closed its output.
const END_PATIENCE: Duration = Duration::from_secs(5);
/// How long one may take to end that was asked to.
const FORCED_END_PATIENCE: Duration = Duration::from_secs(2);
/// How long what one said last may take to be read once it has ended.
const LAST_WORDS_PATIENCE: Duration = Duration::from_millis(500);
const BUFFER: usize = 64 << 10;

/// What comes from a host.
pub(super) enum Heard {
    /// The host's shell is there, and has the program or needs it.
    Shell {
        /// Whether the program is to be sent.
        needs_program: bool,
    },
    /// The agent tells something, with a body.
    Told(Announcement, Vec<u8>),
    /// What it says cannot be understood.
    Strange(String),
}

/// Hears what a job says as soon as it comes; `None` when that is all, or the host is lost.
pub(super) type SpeechListener = Box<dyn FnMut(Option<&[u8]>) + Send>;

/// Who hears what a job says, by its number.
#[derive(Clone, Default)]
pub(super) struct Listeners(Arc<Mutex<BTreeMap<u64, SpeechListener>>>);

impl Listeners {
    /// Has `listener` hear what a job says that is about to start.
    pub(super) fn add(&self, job: u64, listener: SpeechListener) {
        self.map().insert(job, listener);
    }

    /// Lets whoever listens to it hear what a job said; `None` is the last that is heard of it.
    fn tell(&self, job: u64, words: Option<&[u8]>) {
        let mut map = self.map();
        if let Some(listener) = map.get_mut(&job) {
            listener(words);
        }
        if words.is_none() {
            map.remove(&job);
        }
    }

    /// Nothing is heard of anybody any more.
    fn end(&self) {
        let left = std::mem::take(&mut *self.map());
        left.into_values().for_each(|mut listener| listener(None));
    }

    fn map(&self) -> MutexGuard<'_, BTreeMap<u64, SpeechListener>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes for an agent.
struct Words {
    bytes: Vec<u8>,
    /// The silence after which they are said again, from now on.
    every: Option<Duration>,
}

/// A process whose standard input and output are an agent's.
pub(super) struct Wire {
    child: Child,
    input: Option<SyncSender<Words>>,
    /// Closed when the other side has closed.
    pub(super) heard: Receiver<Heard>,
    /// Who hears what jobs say, which is not kept in `heard`.
    pub(super) listeners: Listeners,
    complaints: Arc<Mutex<Vec<u8>>>,
    /// Reads them until the transport has closed its errors.
    complaining: JoinHandle<()>,
}

impl Wire {
    /// Starts the process, carried by our `own` program; Ctrl-C in the terminal does not reach it.
    pub(super) fn start(own: &Path, way: &Way) -> io::Result<Self> {
        let mut child = Command::new(own)
            .args(carrier::arguments(&way.command))
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (told, heard) = channel();
        let complaints = Arc::new(Mutex::new(Vec::new()));
        let input = child.stdin.take().map(writing);
        let (output, errors) = (child.stdout.take(), child.stderr.take());
        let is_through_shell = way.is_through_shell;
        let listeners = Listeners::default();
        let hearing = listeners.clone();
        thread::spawn(move || {
            if let Some(output) = output {
                listen(BufReader::new(output), is_through_shell, &told, &hearing);
            }
            hearing.end();
        });
        let kept = Arc::clone(&complaints);
        let complaining = thread::spawn(move || {
            if let Some(errors) = errors {
                keep(errors, &kept);
            }
        });
        Ok(Self { child, input, heard, listeners, complaints, complaining })
    }

    /// Hands bytes over to be written, at the latest at `deadline`; whether that was possible.
    pub(super) fn send(&self, bytes: Vec<u8>, deadline: Instant) -> bool {
        self.hand_over(Words { bytes, every: None }, deadline)
    }

    /// Hands bytes over as [`Self::send`] does, and has the same written again after every silence that is so long.
    pub(super) fn send_repeatedly(&self, bytes: Vec<u8>, every: Duration, deadline: Instant) -> bool {
        self.hand_over(Words { bytes, every: Some(every) }, deadline)
    }

    fn hand_over(&self, mut words: Words, deadline: Instant) -> bool {
        let Some(input) = &self.input else { return false };
        loop {
            match input.try_send(words) {
                Ok(()) => return true,
                Err(TrySendError::Full(back)) if Instant::now() < deadline => words = back,
                Err(_) => return false,
            }
            thread::sleep(POLL);
        }
    }

    /// Closes the agent's input, which ends it.
    pub(super) fn close(&mut self) {
        drop(self.input.take());
    }

    /// What the transport complained of, with how it ended where it has.
    pub(super) fn complaint(&mut self) -> String {
        let mut status = None;
        is_so_within(END_PATIENCE, || {
            status = self.child.try_wait().ok().flatten();
            status.is_some()
        });
        // What it said last may not be read when it has ended; and what it leaves behind, such as a connection that ssh shares, may keep
        // its errors open.
        is_so_within(LAST_WORDS_PATIENCE, || self.complaining.is_finished());
        let bytes = self.complaints.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        match (lines.is_empty(), status) {
            (false, _) => lines.join("; "),
            (true, Some(status)) => format!("its transport ended with {status} and said nothing"),
            (true, None) => "it closed its output and said nothing".to_owned(),
        }
    }

    /// Has the transport end at once. One that does not is ended by its carrier, which nobody waits for.
    pub(super) fn kill(&mut self) {
        self.close();
        // Not waited for yet, so the number is still its own.
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        }
        self.await_end(FORCED_END_PATIENCE);
    }

    /// Waits for the end of the transport; whether it came in time.
    fn await_end(&mut self, patience: Duration) -> bool {
        is_so_within(patience, || !matches!(self.child.try_wait(), Ok(None)))
    }

    /// Waits for the end of a transport that has closed its output.
    pub(super) fn reap(&mut self) {
        if !self.await_end(END_PATIENCE) {
            self.kill();
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.close();
        self.kill();
    }
}

/// A thread that writes what it is handed.
fn writing(to: ChildStdin) -> SyncSender<Words> {
    let (input, words) = sync_channel(WAITING);
    // A process that no longer reads has closed its output too, which is noticed there.
    thread::spawn(move || write(to, &words));
    input
}

fn write(mut to: impl Write, words: &Receiver<Words>) -> io::Result<()> {
    let mut sign: Option<(Vec<u8>, Duration)> = None;
    loop {
        let next = match &sign {
            Some((_, every)) => words.recv_timeout(*every),
            None => words.recv().map_err(RecvTimeoutError::from),
        };
        match next {
            Ok(Words { bytes, every }) => {
                to.write_all(&bytes)?;
                sign = every.map(|every| (bytes, every)).or(sign);
            }
            Err(RecvTimeoutError::Timeout) => sign.iter().try_for_each(|(bytes, _)| to.write_all(bytes))?,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
        to.flush()?;
    }
}

/// Tells what the shell, if there is one, and the agent say until they close their output.
fn listen(mut from: impl BufRead, is_through_shell: bool, told: &Sender<Heard>, listeners: &Listeners) {
    if is_through_shell && let Err(complaint) = listen_to_shell(&mut from, told) {
        let _ = told.send(Heard::Strange(complaint));
        return;
    }
    let (mut decoder, mut buffer) = (Decoder::default(), vec![0; BUFFER]);
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(read) => decoder.feed(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        }
        loop {
            let heard = match decoder.next_frame() {
                Ok(None) => break,
                Ok(Some(frame)) => match serde_json::from_slice(&frame.head) {
                    Ok(Announcement::Said { job }) => {
                        listeners.tell(job, Some(&frame.body));
                        continue;
                    }
                    Ok(Announcement::Silent { job }) => {
                        listeners.tell(job, None);
                        continue;
                    }
                    Ok(said) => Heard::Told(said, frame.body),
                    Err(error) => Heard::Strange(format!("its agent says what is not understood: {error}")),
                },
                Err(error) => Heard::Strange(error.to_string()),
            };
            let is_last = matches!(heard, Heard::Strange(_));
            if told.send(heard).is_err() || is_last {
                return;
            }
        }
    }
}

/// What start-up files of a shell print comes before what it is asked to say.
fn listen_to_shell(from: &mut impl BufRead, told: &Sender<Heard>) -> Result<(), String> {
    for _ in 0..GREETING_LINES {
        let mut line = Vec::new();
        let read = from.take(GREETING_BYTES).read_until(b'\n', &mut line);
        if !matches!(read, Ok(1..)) {
            return Ok(());
        }
        let line = String::from_utf8_lossy(&line);
        let said = line.trim_end();
        if said == NEED || said == HAVE {
            let _ = told.send(Heard::Shell { needs_program: said == NEED });
            return Ok(());
        }
    }
    Err("the shell there prints too much before it does what it is asked for".to_owned())
}

/// Whether something becomes so in time.
fn is_so_within(patience: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + patience;
    while !is_so() {
        if Instant::now() >= deadline {
            return false;
        }
        thread::sleep(POLL);
    }
    true
}

fn keep(mut from: impl Read, complaints: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        let mut kept = complaints.lock().unwrap_or_else(PoisonError::into_inner);
        let room = COMPLAINT_BYTES.saturating_sub(kept.len());
        kept.extend_from_slice(&buffer[..read.min(room)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_silence_a_sign_is_given_again_and_again() {
        let (input, words) = sync_channel(WAITING);
        let (mut reader, writer) = io::pipe().expect("a pipe");
        let thread = thread::spawn(move || write(writer, &words));
        let every = Some(Duration::from_millis(1));
        input.send(Words { bytes: b"there".to_vec(), every: None }).expect("taken");
        input.send(Words { bytes: b".".to_vec(), every }).expect("taken");
        let mut said = [0; 8];
        reader.read_exact(&mut said).expect("said");
        assert_eq!(&said, b"there...");
        drop(input);
        thread.join().expect("no panic").expect("an end");
    }
}
