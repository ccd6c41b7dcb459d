//! One server on one wire under load, watched.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use assay_host::sampler::tree_usage;
use assay_model::load::{LoadReport, StackCounts};
use assay_model::stats_page;
use rustix::process::Signal;

use super::memory::growth;
use super::subject::{BODY_BYTES, PORT, Subject, body};
use crate::measure::Testbed;
use crate::measure::cable::CABLE;
use crate::measure::process::Running;

/// Addresses of server and generator: nobody else is on these wires.
const ADDRESSES: [&str; 2] = ["10.77.0.1", "10.77.0.2"];
/// Requests on a connection before it is closed and another opened.
const REQUESTS: &str = "20";
/// An answer may take as long as a busy machine needs for all connections at once.
const TIMEOUT: &str = "30s";
/// Samples of memory, at most one a second.
const SAMPLES: u32 = 40;
/// How much longer than planned anything may take.
const GRACE: Duration = Duration::from_secs(60);
/// What a ring lies in.
const MEMORY: &str = "/dev/shm";

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    Ring,
    Xdp,
}

impl Wire {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ring => "ring",
            Self::Xdp => "xdp",
        }
    }
}

pub(crate) struct Trial<'a> {
    pub(crate) testbed: &'a Testbed,
    pub(crate) library: &'a Path,
    pub(crate) subject: &'a Subject,
    pub(crate) wire: Wire,
    pub(crate) length: Duration,
    pub(crate) connections: u32,
}

impl Trial<'_> {
    /// Returns what was not as it should be.
    ///
    /// # Errors
    /// What kept it from running.
    pub(crate) fn run(&self) -> Result<Vec<String>, String> {
        let say = |error: std::io::Error| error.to_string();
        let files = tempfile::tempdir_in(self.testbed.scratch()).map_err(say)?;
        let memory = tempfile::Builder::new().prefix("assay-soak-").tempdir_in(MEMORY).map_err(say)?;
        let stats_page = files.path().join("stats");
        let [server_end, generator_end] = self.ends(memory.path());
        let mut server_command = self.server(files.path(), &server_end).map_err(say)?;
        let server =
            Running::start(server_command.env("ASSAY_STACK_STATS", &stats_page), &self.testbed.server_cpu)?;
        let mut load = self.load(&generator_end);
        let generator = Running::start(&mut load, &self.testbed.client_cpu)?;
        let (samples, report) = self.watch(&server, generator)?;
        let counted = std::fs::read(&stats_page).ok().and_then(|file| stats_page::total(&file, &server_end));
        server.signal(Signal::TERM)?;
        let ended = server.finish(GRACE, self.testbed)?;
        let mut findings = judge(&report, counted.as_ref(), &samples);
        if ended.status.code() != Some(0) {
            findings.push(format!("the server ended with {}: {}", ended.status, ended.stderr.trim()));
        }
        findings.extend(left_in(memory.path()));
        self.print(&report, counted.as_ref(), &samples);
        Ok(findings)
    }

    fn ends(&self, memory: &Path) -> [String; 2] {
        match self.wire {
            Wire::Ring => [(); 2].map(|()| format!("ring:{}/ring", memory.display())),
            Wire::Xdp => CABLE.map(|end| format!("xdp:{end}")),
        }
    }

    fn server(&self, files: &Path, wire: &str) -> std::io::Result<Command> {
        let address = format!("{}/24", ADDRESSES[0]);
        let Some(make) = self.subject.command else {
            let mut command = Command::new(&self.testbed.assay);
            command.args(["serve", "--stack", "user", "--wire", wire, "--wire-address", &address]);
            command.args(["--port", &PORT.to_string(), "--cpus", &self.testbed.server_cpu.to_string()]);
            return Ok(command);
        };
        let mut command = make(ADDRESSES[0], files, &body())?;
        command.env("LD_PRELOAD", self.library).env("UV_USE_IO_URING", "0").env("ASSAY_STACK", "user");
        command.env("ASSAY_STACK_WIRE", wire).env("ASSAY_STACK_ADDRESS", address);
        Ok(command)
    }

    fn load(&self, wire: &str) -> Command {
        let mut command = Command::new(&self.testbed.assay);
        command.args(["load", &format!("http://{}:{PORT}/bytes/{BODY_BYTES}", ADDRESSES[0])]);
        command.args(["--stack", "user", "--wire", wire, "--wire-address", &format!("{}/24", ADDRESSES[1])]);
        command.args(["--cpus", &self.testbed.client_cpu.to_string(), "-c", &self.connections.to_string()]);
        command.args(["--warmup", "0s", "-d", &format!("{}s", self.length.as_secs().max(1))]);
        command.args([
            "--requests-per-connection",
            REQUESTS,
            "--timeout",
            TIMEOUT,
            "--check",
            "full",
            "--yes",
        ]);
        command.args(["--expect-body", &body(), "--json"]);
        command
    }

    /// Samples the memory of both until the generator has ended.
    fn watch(&self, server: &Running, mut generator: Running) -> Result<([Vec<u64>; 2], LoadReport), String> {
        let (mut samples, interval) = ([Vec::new(), Vec::new()], self.interval());
        let deadline = Instant::now() + self.length + GRACE;
        while !generator.has_ended() && Instant::now() < deadline {
            self.testbed.go_on()?;
            for (list, pid) in samples.iter_mut().zip([server.pid(), generator.pid()]) {
                list.extend(tree_usage(pid).map(|usage| usage.rss_bytes));
            }
            std::thread::sleep(interval);
        }
        let ended = generator.finish(GRACE, self.testbed)?.with_code(&[0, 1, 2, 3], "assay load")?;
        let report = serde_json::from_str(&ended.stdout)
            .map_err(|error| format!("assay load: {error}: {}", ended.stderr.trim()))?;
        Ok((samples, report))
    }

    fn interval(&self) -> Duration {
        (self.length / SAMPLES).max(Duration::from_secs(1))
    }

    fn print(&self, report: &LoadReport, counted: Option<&StackCounts>, samples: &[Vec<u64>; 2]) {
        let books = &report.books;
        println!(
            "{} on {}: {} right answers, {} failed, {} connections opened",
            self.subject.name,
            self.wire.name(),
            books.ok,
            books.failed(),
            books.connections_opened
        );
        for (who, counts) in [("server", counted), ("generator", report.stack.as_ref())] {
            match counts {
                Some(counts) => println!(
                    "  {who}: {} timers ran out, {} segments sent again, wire full {} times",
                    counts.retransmission_timeouts, counts.retransmitted_segments, counts.wire_full
                ),
                None => println!("  {who}: its stack told nothing"),
            }
        }
        for (who, list) in ["server", "generator"].iter().zip(samples) {
            let shown = list.iter().step_by((list.len() / 10).max(1));
            let mib: Vec<String> = shown.map(|bytes| (bytes >> 20).to_string()).collect();
            println!("  {who}: resident MiB every {} samples: {}", (list.len() / 10).max(1), mib.join(" "));
        }
    }
}

fn judge(report: &LoadReport, counted: Option<&StackCounts>, samples: &[Vec<u64>; 2]) -> Vec<String> {
    let mut findings = Vec::new();
    let books = &report.books;
    if books.ok == 0 || books.failed() > 0 {
        findings.push(format!("{} right answers, {} failed: {:?}", books.ok, books.failed(), books.errors));
    }
    if !books.balance() {
        findings.push("the books do not balance".to_owned());
    }
    for (who, counts) in [("server", counted), ("generator", report.stack.as_ref())] {
        match counts {
            None => findings.push(format!("the {who}'s stack told nothing")),
            Some(counts) if counts.has_stalled() => {
                findings.push(format!("{} timers of the {who} ran out", counts.retransmission_timeouts));
            }
            Some(_) => {}
        }
    }
    for (who, list) in ["server", "generator"].iter().zip(samples) {
        if let Some(bytes) = growth(list) {
            findings.push(format!("the {who}'s memory grew by {} MiB", bytes >> 20));
        }
    }
    findings
}

/// What the two have left behind in shared memory.
fn left_in(folder: &Path) -> Option<String> {
    let names: Vec<_> = folder.read_dir().ok()?.flatten().map(|entry| entry.file_name()).collect();
    (!names.is_empty()).then(|| format!("left behind: {names:?}"))
}
