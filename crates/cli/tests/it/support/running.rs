//! Programs that go on while the test does something else.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

use rustix::process::{Pid, Signal, kill_process};

use super::{PATIENCE, eventually};

/// `assay`, going on. Killed when dropped.
pub(crate) struct Running {
    child: Child,
    lines: Receiver<String>,
    stdout: Option<JoinHandle<String>>,
    /// Standard error of the run so far.
    pub(crate) said: String,
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("assay");
        let (told, lines) = channel();
        let errors = BufReader::new(child.stderr.take().expect("stderr"));
        std::thread::spawn(move || errors.lines().map_while(Result::ok).try_for_each(|line| told.send(line)));
        let mut output = child.stdout.take().expect("stdout");
        let stdout = std::thread::spawn(move || {
            let mut text = String::new();
            output.read_to_string(&mut text).expect("UTF-8");
            text
        });
        Self { child, lines, stdout: Some(stdout), said: String::new() }
    }

    /// `assay serve` at a free port, and its URL.
    pub(crate) fn serve(lab: &super::Lab) -> (Self, String) {
        Self::serve_with(lab, &[])
    }

    /// [`Self::serve`] with further arguments, such as `--tls`.
    pub(crate) fn serve_with(lab: &super::Lab, more: &[&str]) -> (Self, String) {
        Self::listening(lab, "serve", more)
    }

    /// `assay stub` at a free port, which answers as these arguments say, and its URL.
    pub(crate) fn stub(lab: &super::Lab, program: &[&str]) -> (Self, String) {
        Self::listening(lab, "stub", program)
    }

    fn listening(lab: &super::Lab, what: &str, more: &[&str]) -> (Self, String) {
        let mut server = Self::start(lab.command(&[&[what, "--port", "0", "--cpus", "0"], more].concat()));
        let scheme = if more.contains(&"--tls") { "https://" } else { "http://" };
        let line = server.wait_for(&format!(" {scheme}"));
        let url = line.split_whitespace().find(|word| word.starts_with(scheme)).expect("URL");
        (server, url.to_owned())
    }

    /// Waits for a line with these words on standard error.
    pub(crate) fn wait_for(&mut self, words: &str) -> String {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => {
                    self.said += &format!("{line}\n");
                    if line.contains(words) {
                        return line;
                    }
                }
                Err(error) => panic!("`{words}` was never said ({error}), but:\n{}", self.said),
            }
        }
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("signalled");
    }

    pub(crate) fn is_alive(&mut self) -> bool {
        self.child.try_wait().expect("status").is_none()
    }

    /// Waits for its end; returns its status and standard output.
    pub(crate) fn end(&mut self) -> (ExitStatus, String) {
        eventually("it ends", || !self.is_alive());
        self.said.extend(self.lines.iter().map(|line| line + "\n"));
        let stdout = self.stdout.take().expect("only once").join().expect("read");
        (self.child.wait().expect("status"), stdout)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.stdout.is_some() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Somebody else's server, within the test: it answers hello to everybody and counts.
pub(crate) struct Stranger {
    pub(crate) port: u16,
    answered: Arc<AtomicUsize>,
}

impl Stranger {
    pub(crate) fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("port");
        let port = listener.local_addr().expect("address").port();
        let answered = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&answered);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let count = Arc::clone(&count);
                std::thread::spawn(move || answer_all(stream, &count));
            }
        });
        Self { port, answered }
    }

    pub(crate) fn answered(&self) -> usize {
        self.answered.load(Ordering::Relaxed)
    }
}

fn answer_all(stream: TcpStream, count: &AtomicUsize) {
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    let mut output = stream.try_clone().expect("clone");
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        if line.is_empty() {
            count.fetch_add(1, Ordering::Relaxed);
            if output.write_all(answer).is_err() {
                return;
            }
        }
    }
}

/// Command lines of the living processes that have `mark` in their environment.
pub(crate) fn processes_with(mark: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("proc").flatten() {
        if has_variable(&entry.path(), mark) {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            found.push(format!("{}: {line}", entry.file_name().to_string_lossy()));
        }
    }
    found
}

/// The process on a host whose command line has these words, and not one that supervises it. The transport to the host sets ON to its
/// name.
pub(crate) fn process_on(lab: &super::Lab, host: &str, words: &str) -> Pid {
    let processes = lab.processes();
    let own = processes.iter().filter(|line| line.contains(words) && !line.contains(" supervise "));
    let pids = own.filter_map(|line| line.split(':').next()?.parse::<i32>().ok());
    let on = format!("ON={host}");
    let is_there = |pid: &i32| {
        line_of(*pid).iter().any(|pid| has_variable(&Path::new("/proc").join(pid.to_string()), &on))
    };
    let found = pids.into_iter().find(is_there);
    Pid::from_raw(found.unwrap_or_else(|| panic!("no {words} on {host} among {processes:?}"))).expect("a pid")
}

/// A process and all from which it descends.
fn line_of(pid: i32) -> Vec<i32> {
    let parent = |pid: &i32| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        text.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok().filter(|parent| *parent > 1)
    };
    std::iter::successors(Some(pid), parent).collect()
}

/// Whether the process of a folder of /proc has a variable, as NAME=VALUE. As text, in which the standard library's own code looks for
/// the ends: the tests' own is not optimised, and would look at every byte of all processes' environments.
fn has_variable(process: &Path, wanted: &str) -> bool {
    let environment = std::fs::read(process.join("environ")).unwrap_or_default();
    String::from_utf8_lossy(&environment).split('\0').any(|variable| variable == wanted)
}
