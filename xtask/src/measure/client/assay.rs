//! `assay load`: the generator under test.

use std::process::Command;

use assay_model::load::{Arrival, LoadReport};
use assay_stats::Histogram;

use super::{Answer, Client, Load, Sessions};
use crate::measure::Place;
use crate::measure::tool::Tool;

/// 0, and 11: a server answered wrongly, which is a result.
pub(crate) const CODES: &[i32] = &[0, 11];

/// What makes the system calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Engine {
    Uring,
    Epoll,
}

impl Engine {
    pub(crate) const ALL: [Self; 2] = [Self::Uring, Self::Epoll];

    /// The argument of `--engine`.
    pub(crate) fn flag(self) -> &'static str {
        match self {
            Self::Uring => "uring",
            Self::Epoll => "epoll",
        }
    }

    /// The kernel's own name for it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Uring => "io_uring",
            Self::Epoll => "epoll",
        }
    }
}

/// Our generator on one engine.
pub(crate) struct Assay(pub(crate) Engine);

impl Client for Assay {
    fn name(&self) -> &'static str {
        match self.0 {
            Engine::Uring => "assay io_uring",
            Engine::Epoll => "assay epoll",
        }
    }

    fn tool(&self) -> Option<Tool> {
        None
    }

    fn codes(&self) -> &'static [i32] {
        CODES
    }

    fn command(&self, load: &Load, place: &Place) -> Option<Command> {
        let mut command = Command::new(&place.assay);
        command.args(["load", &load.url, "--json", "--threads", "1", "--engine", self.0.flag()]);
        for (flag, value) in [
            ("-c", load.connections.to_string()),
            ("--pipeline", load.pipeline.to_string()),
            ("-d", format!("{}s", load.seconds)),
            ("--timeout", format!("{}s", load.timeout_seconds)),
        ] {
            command.args([flag, &value]);
        }
        match load.arrival {
            Arrival::Closed => {}
            Arrival::Constant { per_second } => {
                command.args(["-r", &per_second.to_string(), "--arrival", "constant"]);
            }
            Arrival::Poisson { per_second } => {
                command.args(["-r", &per_second.to_string(), "--arrival", "poisson"]);
            }
        }
        // The others look at no certificate either.
        command.args(load.url.starts_with("https:").then_some("--insecure"));
        command.args(load.fresh.map(|_| "--close"));
        command.args((load.fresh == Some(Sessions::Forgotten)).then_some("--no-resumption"));
        if let Some(file) = &load.workload {
            command.arg("--workload").arg(file);
        }
        Some(command)
    }

    /// Of all its life, as the others' figures are, and as its CPU time is.
    fn read(&self, stdout: &str) -> Result<Answer, String> {
        let report: LoadReport = serde_json::from_str(stdout).map_err(|error| error.to_string())?;
        let latency = report.latency.response_hdr.as_ref().unwrap_or(&report.latency.service_hdr);
        let times = Histogram::from_hdr_base64(latency).map_err(|error| error.to_string())?;
        let percentile = |p: u32| Some((p, times.quantile(f64::from(p) / 1e3)? as f64 / 1e6));
        Ok(Answer {
            right: report.books.ok,
            failed: report.books.failed(),
            seconds: report.window_ns.as_secs_f64(),
            mean_ms: times.mean().map(|mean| mean / 1e6),
            percentiles_ms: [500, 900, 950, 990, 999].into_iter().filter_map(percentile).collect(),
        })
    }
}
