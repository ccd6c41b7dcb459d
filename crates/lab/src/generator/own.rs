//! `assay load` as one generator among others.

use std::ffi::OsString;
use std::str::FromStr;

use assay_model::experiment::Span;
use assay_model::generator::{GeneratorName, Told, ToldPercentile};
use assay_model::load::LoadReport;
use assay_model::protocol::Protocol;
use assay_model::units::Nanos;
use assay_model::workload::{RequestKind, Workload};
use assay_verdict::Times;

use super::load::{Load, LoadGenerator, Sessions, Site};
use super::tool::Tool;
use super::{LoadOrder, read_report, write_workload};
use crate::url::Url;

/// The percentiles that generators tell.
const QUANTILES: [f64; 5] = [0.5, 0.9, 0.95, 0.99, 0.999];

/// Our generator.
#[derive(Clone, Copy, Debug, Default)]
pub struct Own {
    /// The engine that makes its system calls; absent for its own choice.
    pub engine: Option<KernelEngine>,
}

/// What makes system calls on the kernel's stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelEngine {
    /// io_uring.
    Uring,
    /// The engine over epoll.
    Epoll,
}

impl KernelEngine {
    /// Both engines, the faster one first.
    pub const ALL: [Self; 2] = [Self::Uring, Self::Epoll];

    /// The kernel's own name for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Uring => "io_uring",
            Self::Epoll => "epoll",
        }
    }

    /// The argument of `--engine`.
    pub fn flag(self) -> &'static str {
        match self {
            Self::Uring => "uring",
            Self::Epoll => "epoll",
        }
    }
}

impl FromStr for KernelEngine {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|engine| engine.flag() == text);
        known.ok_or_else(|| format!("`{text}` is no engine; there are uring and epoll"))
    }
}

impl LoadGenerator for Own {
    fn name(&self) -> GeneratorName {
        GeneratorName::Assay
    }

    fn title(&self) -> &'static str {
        match self.engine {
            None => "assay",
            Some(KernelEngine::Uring) => "assay io_uring",
            Some(KernelEngine::Epoll) => "assay epoll",
        }
    }

    fn tool(&self) -> Option<Tool> {
        None
    }

    fn refusal(&self, _: &Load) -> Option<String> {
        None
    }

    fn command(&self, load: &Load, site: &Site<'_>) -> std::io::Result<Vec<OsString>> {
        let (origin, path) = origin_and_path(&load.url)?;
        let own_file = site.work.join("own-load.json");
        let workload = match &load.workload {
            Some(file) => file,
            None => {
                write_workload(&own_file, &get(&path, &load.headers)).map_err(|error| error.source)?;
                &own_file
            }
        };
        let order = LoadOrder {
            url: &origin,
            workload,
            connections: load.connections,
            pipeline: load.pipeline,
            protocol: Protocol::of(load.http2, load.url.starts_with("https:")),
            arrival: load.arrival.clone(),
            warmup_s: 0.0,
            window: Span::Seconds(load.seconds.into()),
            timeout_s: load.timeout_s.into(),
            cpus: &site.cpus.to_string(),
            generators: 1,
            hosts: None,
            seed: load.seed,
            stack: None,
            authority: load.authority.as_deref(),
        };
        let mut command = vec![site.tools.assay.clone().into()];
        command.extend(order.to_arguments());
        command.extend(self.engine.iter().flat_map(|engine| ["--engine", engine.flag()]).map(OsString::from));
        command.extend(load.own_flags().map(OsString::from));
        Ok(command)
    }

    /// 11 besides: a server answered wrongly, which is a result.
    fn exit_codes(&self) -> &'static [i32] {
        &[0, 11]
    }

    fn most_output_bytes(&self) -> u64 {
        super::MOST_REPORT_BYTES
    }

    /// Figures of all its life, as those of others are, and as its CPU time is.
    fn read(&self, printed: &str) -> Result<Told, String> {
        told(&read_report(printed)?)
    }
}

impl Load {
    fn own_flags(&self) -> impl Iterator<Item = &'static str> {
        let is_unchecked = self.url.starts_with("https:") && self.authority.is_none();
        [
            (is_unchecked, "--insecure"),
            (self.fresh.is_some(), "--close"),
            (self.fresh == Some(Sessions::Forgotten), "--no-resumption"),
        ]
        .into_iter()
        .filter_map(|(is_wanted, flag)| is_wanted.then_some(flag))
    }
}

/// What a report says in the terms that all generators have.
fn told(report: &LoadReport) -> Result<Told, String> {
    let times = Times::of(&report.latency).map_err(|error| error.to_string())?;
    let times = times.response.unwrap_or(times.service);
    let percentile = |quantile| Some(ToldPercentile { quantile, time_ns: Nanos(times.quantile(quantile)?) });
    Ok(Told {
        right: report.books.ok,
        failed: report.books.failed(),
        window_ns: report.window_ns,
        mean_ns: times.mean().map(|mean| Nanos::from_secs_f64(mean / 1e9)),
        percentiles: QUANTILES.into_iter().filter_map(percentile).collect(),
    })
}

/// A workload of one GET.
fn get(path: &str, headers: &[(String, String)]) -> Workload {
    let request = RequestKind { headers: headers.to_vec(), ..RequestKind::get(path) };
    Workload { name: "load".to_owned(), requests: vec![request], ..Workload::default() }
}

fn origin_and_path(url: &str) -> std::io::Result<(String, String)> {
    let url = Url::parse(url).map_err(std::io::Error::other)?;
    Ok((format!("{}://{}", url.scheme.name(), url.authority()), url.path))
}

#[cfg(test)]
mod tests {
    use assay_verdict::testing;

    use super::*;

    #[test]
    fn a_report_is_told_in_the_terms_of_all_generators() {
        let report = testing::load_report(64, 1000.0);
        let printed = serde_json::to_string(&report).expect("json");
        let told = Own::default().read(&printed).expect("a report");
        assert_eq!((told.right, told.failed, told.per_second()), (1000, 0, 1000.0));
        let median_ms = told.percentile(0.5).expect("a median").0 / 1_000_000;
        assert!((63..=65).contains(&median_ms), "{median_ms} ms: 64 in flight at 1000/s");
        assert!(Own::default().read(&printed[..printed.len() / 2]).is_err());
    }

    #[test]
    fn its_flags_follow_from_the_load() {
        let flags = |load: &Load| load.own_flags().collect::<Vec<_>>().join(" ");
        let plain = Load::closed("http://127.0.0.1:1/".to_owned(), 1, 1);
        assert_eq!(flags(&plain), "");
        let secured =
            Load { url: "https://127.0.0.1:1/".to_owned(), fresh: Some(Sessions::Forgotten), ..plain };
        assert_eq!(flags(&secured), "--insecure --close --no-resumption");
        let resumed = Load { fresh: Some(Sessions::Resumed), authority: Some("ca.pem".into()), ..secured };
        assert_eq!(flags(&resumed), "--close");
    }
}
