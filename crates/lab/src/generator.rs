//! Load generators as processes: ours with its arguments and its report, and those of other projects.
//!
//! What all have in common is [`LoadGenerator`]; [`run()`] puts one load on a server with any of them. Ours alone also measures window
//! after window on the same connections ([`Generator`]).

mod asked;
mod foreign;
mod hosts;
mod load;
mod on_request;
mod own;
mod process;
mod run;
mod tool;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_file::WriteError;
use assay_host::names;
use assay_link::Link;
use assay_model::experiment::Span;
use assay_model::load::{Arrival, LOAD_SCHEMA, LoadReport};
use assay_model::protocol::Protocol;
use assay_model::rule::Rule;
use assay_model::workload::Workload;
use assay_verdict::Times;
use thiserror::Error;

use crate::stack::UserEnd;
use crate::supervisor::SupervisorOptions;
use crate::tls::{CIPHERS, SERVER_NAME};
use crate::tools::Tools;
use crate::url::Url;

pub(crate) use asked::{load_of, whole_seconds};
pub use foreign::{FOREIGN, foreign};
pub use hosts::Hosts;
use hosts::ProcessSurroundings;
pub use load::{Load, LoadGenerator, Sessions, Site};
pub use on_request::{CONNECTED, Generator};
pub use own::{KernelEngine, Own};
use process::GeneratorProcess;
pub(crate) use run::version;
pub use run::{Finished, Manner, run};
pub use tool::Tool;

/// Most bytes of a report of ours: histograms, and a count for each interval of a long window.
const MOST_REPORT_BYTES: u64 = 64 << 20;
/// How much longer than its orders the generator may live: connecting, draining, reporting.
const MARGIN: Duration = Duration::from_secs(10);
/// Longest time for a window of a number of requests, in seconds; a million take less than two minutes at 10,000 a second.
const MAX_COUNTED_S: f64 = 600.0;

/// One measurement to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadOrder<'a> {
    /// `http://host:port`; the paths are the workload's.
    pub url: &'a str,
    /// A file with the workload as JSON.
    pub workload: &'a Path,
    /// Connections of all threads.
    pub connections: u32,
    /// Requests in flight on one connection at most.
    pub pipeline: u32,
    /// What is spoken.
    pub protocol: Protocol,
    /// When requests are issued.
    pub arrival: Arrival,
    /// Load before the window, in seconds.
    pub warmup_s: f64,
    /// Length of the window.
    pub window: Span,
    /// Longest wait for one response, in seconds.
    pub timeout_s: f64,
    /// CPUs of its threads, as a kernel list.
    pub cpus: &'a str,
    /// Processes among which the load and the CPUs are divided.
    pub generators: u32,
    /// The hosts from which it comes, whose CPUs are in their lab file; absent for this one.
    pub hosts: Option<&'a Hosts>,
    /// Seed of its random choices.
    pub seed: u64,
    /// The generator's end of the wire, where it brings the user-space stack; absent for the kernel's.
    pub stack: Option<&'a UserEnd>,
    /// File with the authority to trust, where connections are secured; absent for plain HTTP.
    pub authority: Option<&'a Path>,
}

/// Why there is no report.
#[derive(Debug, Error)]
pub enum LoadError {
    /// Nobody wanted it any more.
    #[error("the measurement was interrupted")]
    Unwanted,
    /// The generator could not be started, broke off or wrote something else.
    #[error("the load generator failed: {problem}")]
    Failed {
        /// How it failed.
        problem: String,
        /// The last lines of its error output.
        log_tail: Vec<String>,
    },
}

/// Writes a workload where an order can name it; it may hold a token, so it is nobody else's.
///
/// # Errors
/// When the file cannot be written.
pub(crate) fn write_workload(file: &Path, workload: &Workload) -> Result<(), WriteError> {
    let failed = |error: serde_json::Error| WriteError { path: file.to_owned(), source: error.into() };
    assay_file::write_private(file, &serde_json::to_vec(workload).map_err(failed)?)
}

impl LoadOrder<'_> {
    /// The arguments behind the program's name.
    pub fn to_arguments(&self) -> Vec<OsString> {
        // Whoever ordered the run was asked; and behind a link no server is at an address of the generator's.
        let mut arguments: Vec<OsString> =
            ["load", self.url, "--json", "--yes", "--workload"].map(Into::into).to_vec();
        arguments.push(self.workload.into());
        arguments.extend(self.address().into_iter().flat_map(|a| ["--at".into(), a.to_string().into()]));
        let rest = [
            ("-c", self.connections.to_string()),
            (if self.protocol.is_http2() { "--streams" } else { "--pipeline" }, self.pipeline.to_string()),
            ("--warmup", seconds(self.warmup_s)),
            match self.window {
                Span::Seconds(length) => ("-d", seconds(length)),
                Span::Requests(n) => ("-n", n.to_string()),
            },
            ("--timeout", seconds(self.timeout_s)),
        ];
        // Those of other hosts are in their lab file.
        let cpus = self.hosts.is_none().then(|| ("--cpus", self.cpus.to_owned()));
        let seed = [("--seed", self.seed.to_string())];
        let open = match self.arrival {
            Arrival::Closed => None,
            Arrival::Constant { per_second } => Some(("constant", per_second)),
            Arrival::Poisson { per_second } => Some(("poisson", per_second)),
        };
        let open = open
            .into_iter()
            .flat_map(|(model, rate)| [("-r", rate.to_string()), ("--arrival", model.to_owned())]);
        let all = rest.into_iter().chain(cpus).chain(seed).chain(open);
        arguments.extend(all.flat_map(|(name, value)| [name.into(), value.into()]));
        if self.generators > 1 {
            arguments.extend(["--generators".into(), self.generators.to_string().into()]);
        }
        arguments.extend(self.hosts.iter().flat_map(|hosts| ["--lab".into(), hosts.file.clone().into()]));
        if self.protocol.is_http2() {
            arguments.extend(["--http".into(), "2".into()]);
        }
        arguments.extend(self.stack.iter().flat_map(|end| end.arguments()).map(OsString::from));
        if let Some(file) = self.authority {
            arguments.extend(["--cacert".into(), file.into(), "--server-name".into(), SERVER_NAME.into()]);
            arguments.extend(["--cipher".into(), CIPHERS.join(",").into()]);
        }
        arguments
    }

    /// Where the name in the URL leads, as this process has known since it asked for consent; the generator would ask anew.
    fn address(&self) -> Option<SocketAddr> {
        let authority = Url::parse(self.url).ok()?.authority();
        let is_name = authority.parse::<SocketAddr>().is_err();
        names::resolve(&authority).ok().filter(|_| is_name)?.first().copied()
    }

    /// How its process is started, on its own CPUs with all its threads.
    fn options(&self, tools: &Tools, link: &Link, log: PathBuf) -> SupervisorOptions {
        let mut options = SupervisorOptions::new(log, vec![tools.assay.clone().into()]);
        options.command.extend(self.to_arguments());
        (options.side, options.cpus) = (link.generator_side(), self.cpus.parse().ok());
        options.grace = Hosts::grace(self.hosts, options.grace);
        options
    }

    /// Longest time of all that is ordered, in seconds. Of a number of requests each takes its turn on a connection, and none
    /// longer than the time-out.
    fn longest_s(&self) -> f64 {
        let window_s = match self.window {
            Span::Seconds(seconds) => seconds,
            Span::Requests(n) => {
                let turns = n.div_ceil(self.connections.saturating_mul(self.pipeline).max(1));
                (f64::from(turns) * self.timeout_s).min(MAX_COUNTED_S)
            }
        };
        self.warmup_s + window_s + self.timeout_s
    }

    /// Runs the generator on its side of `link` to its end, as long as the measurement is `wanted`; its report and its error output
    /// pass through the folder `work`.
    ///
    /// # Errors
    /// When it is no longer wanted, or there is no report.
    pub fn measure(
        &self,
        tools: &Tools,
        link: &Link,
        work: &Path,
        wanted: &mut dyn FnMut() -> bool,
    ) -> Result<LoadReport, LoadError> {
        let log = work.join("load.log");
        let options = self.options(tools, link, log.clone());
        let timeout = Duration::from_secs_f64(self.longest_s()) + MARGIN + Hosts::patience(self.hosts);
        let surroundings = ProcessSurroundings::of(self.hosts, work);
        let most_bytes = MOST_REPORT_BYTES;
        let job = GeneratorProcess { tools, options, surroundings, timeout, most_bytes, is_weighed: false };
        let output = job.run(wanted)?;
        // Whatever its status says about the answers: a whole report is a report.
        read_report(&output.stdout).map_err(|problem| {
            let own_words = GeneratorProcess::last_words(&log, tools).filter(|_| output.stdout.is_empty());
            process::failed(format!("{}: {}", output.ended, own_words.unwrap_or(problem)), &log, tools)
        })
    }
}

fn read_report(text: &str) -> Result<LoadReport, String> {
    let mut report: LoadReport = serde_json::from_str(text).map_err(|error| format!("no report: {error}"))?;
    // A run compares its hosts over all windows, by more figures.
    report.checks.retain(|check| check.rule != Rule::HostEffect);
    if report.schema != LOAD_SCHEMA {
        return Err(format!("a report in the format `{}`", report.schema));
    }
    let times = Times::of(&report.latency);
    times.map_err(|error| format!("a report with a histogram that cannot be read: {error}"))?;
    Ok(report)
}

/// A length of time as the command line takes it.
fn seconds(length: f64) -> String {
    format!("{length}s")
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_verdict::testing;

    #[test]
    fn the_generator_is_told_where_a_name_leads() {
        let arguments = order("http://localhost:8080").to_arguments();
        let at = arguments.iter().position(|word| word == "--at").expect("told");
        let address: SocketAddr = arguments[at + 1].to_str().expect("text").parse().expect("an address");
        assert!(address.ip().is_loopback() && address.port() == 8080, "{address}");
        assert!(arguments.contains(&"http://localhost:8080".into()), "the name is sent as the host");
    }

    fn order(url: &str) -> LoadOrder<'_> {
        LoadOrder {
            url,
            workload: Path::new("/tmp/hello.json"),
            connections: 64,
            pipeline: 1,
            protocol: Protocol::H1,
            arrival: Arrival::Closed,
            warmup_s: 0.1,
            window: Span::Seconds(1.0),
            timeout_s: 5.0,
            cpus: "0-1",
            generators: 1,
            hosts: None,
            seed: 7,
            stack: None,
            authority: None,
        }
    }

    #[test]
    fn the_arguments_are_the_contract() {
        let mut order = order("http://127.0.0.1:8080");
        let words = |order: &LoadOrder<'_>| {
            let words = order.to_arguments().into_iter().map(|word| word.into_string().expect("text"));
            words.collect::<Vec<_>>().join(" ")
        };
        let closed = "load http://127.0.0.1:8080 --json --yes --workload /tmp/hello.json -c 64 --pipeline 1 --warmup 0.1s -d 1s \
                      --timeout 5s --cpus 0-1 --seed 7";
        assert_eq!(words(&order), closed);
        order.arrival = Arrival::Poisson { per_second: 5000.0 };
        assert_eq!(words(&order), format!("{closed} -r 5000 --arrival poisson"));
        order.window = Span::Requests(200);
        assert!(words(&order).contains(" --warmup 0.1s -n 200 --timeout 5s "));
        assert_eq!(order.longest_s(), 0.1 + 4.0 * 5.0 + 5.0);
        let end = UserEnd { wire: "ring:/x".to_owned(), address: None };
        order = LoadOrder { arrival: Arrival::Closed, stack: Some(&end), window: Span::Requests(1), ..order };
        let wanted = closed.replace("-d 1s", "-n 1") + " --stack user --wire ring:/x";
        assert_eq!(words(&order), wanted);
        order = LoadOrder { stack: None, generators: 3, ..order };
        assert!(words(&order).ends_with(" --generators 3"));
        let folder = tempfile::tempdir().expect("folder");
        let box1 = toml::from_str("name = \"box1\"\ntransport = \"ssh\"").expect("a host");
        let hosts = Hosts::write(&[box1], folder.path(), "generators").expect("written");
        order = LoadOrder { hosts: hosts.as_ref(), generators: 1, ..order };
        assert!(words(&order).ends_with("/generators.toml") && !words(&order).contains("--cpus"));
        order = LoadOrder { hosts: None, generators: 3, ..order };
        order = LoadOrder { protocol: Protocol::H2c, pipeline: 8, stack: None, ..order };
        assert!(words(&order).contains(" --streams 8 ") && words(&order).ends_with(" --http 2"));
    }

    #[test]
    fn only_whole_reports_of_our_format_are_read() {
        let mut report = testing::load_report(64, 1000.0);
        let text = serde_json::to_string(&report).expect("json");
        assert_eq!(read_report(&text), Ok(report.clone()));
        assert!(read_report(&text[..text.len() - 1]).expect_err("cut").starts_with("no report"));
        assert!(read_report("").is_err());
        report.latency.service_hdr = "HISTFAAA".to_owned();
        let text = serde_json::to_string(&report).expect("json");
        assert!(read_report(&text).expect_err("spoilt").contains("a histogram that cannot be read"));
        report.schema = "assay-load/9".to_owned();
        let text = serde_json::to_string(&report).expect("json");
        assert!(read_report(&text).expect_err("other").contains("assay-load/9"));
    }
}
