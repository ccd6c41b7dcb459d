//! Generators that print JSON: a table of arguments and of where each figure stands.

use std::ffi::OsString;

use assay_model::generator::{GeneratorName, Told};
use assay_model::units::Nanos;
use serde_json::Value;

use super::text::percentiles;
use super::{even_arrivals, headers, http1_alone, keeps_connections};
use crate::generator::load::{Load, LoadGenerator, Site};
use crate::generator::tool::Tool;

/// A generator that prints one JSON document.
pub(super) struct JsonGenerator {
    name: GeneratorName,
    tool: Tool,
    /// Arguments of the generator but the URL, with `{c}`, `{s}` and `{timeout}` to be filled in.
    closed: &'static str,
    /// Arguments for a rate besides, with `{rate}`.
    open: &'static str,
    /// What makes it take any certificate.
    any_certificate: Option<&'static str>,
    /// JSON pointer (RFC 6901) to a map of statuses to their counts, where there is one.
    statuses: Option<&'static str>,
    /// Pointers to counts of right answers and of failures besides, summed up; a map counts by its values.
    right: &'static [&'static str],
    failed: &'static [&'static str],
    /// Pointer to the length, in seconds.
    length: &'static str,
    /// Pointers to times, and what makes seconds of them.
    to_seconds: f64,
    mean: &'static str,
    percentiles: &'static [(f64, &'static str)],
}

pub(super) const OHA: JsonGenerator = JsonGenerator {
    name: GeneratorName::Oha,
    tool: Tool { program: "oha", install: "cargo install oha" },
    closed: "--no-tui --output-format json -w -t {timeout}s -c {c} -z {s}s",
    open: "-q {rate} --latency-correction",
    any_certificate: Some("--insecure"),
    statuses: Some("/statusCodeDistribution"),
    right: &[],
    failed: &["/errorDistribution"],
    length: "/summary/total",
    to_seconds: 1.0,
    mean: "/summary/average",
    percentiles: &[
        (0.5, "/latencyPercentiles/p50"),
        (0.9, "/latencyPercentiles/p90"),
        (0.95, "/latencyPercentiles/p95"),
        (0.99, "/latencyPercentiles/p99"),
        (0.999, "/latencyPercentiles/p99.9"),
    ],
};

pub(super) const BOMBARDIER: JsonGenerator = JsonGenerator {
    name: GeneratorName::Bombardier,
    tool: Tool { program: "bombardier", install: "go install github.com/codesenberg/bombardier@latest" },
    closed: "-p r -o json -l -t {timeout}s -c {c} -d {s}s",
    open: "-r {rate}",
    any_certificate: Some("--insecure"),
    statuses: None,
    right: &["/result/req2xx"],
    failed: &["/result/req4xx", "/result/req5xx", "/result/others"],
    length: "/result/timeTakenSeconds",
    to_seconds: 1e-6,
    mean: "/result/latency/mean",
    percentiles: &[
        (0.5, "/result/latency/percentiles/50"),
        (0.9, "/result/latency/percentiles/90"),
        (0.95, "/result/latency/percentiles/95"),
        (0.99, "/result/latency/percentiles/99"),
    ],
};

pub(super) const AUTOCANNON: JsonGenerator = JsonGenerator {
    name: GeneratorName::Autocannon,
    tool: Tool { program: "autocannon", install: "npm install -g autocannon" },
    closed: "-j -t {timeout} -c {c} -d {s}",
    open: "-R {rate}",
    any_certificate: None,
    statuses: None,
    right: &["/2xx"],
    failed: &["/non2xx", "/errors"],
    length: "/duration",
    to_seconds: 1e-3,
    mean: "/latency/mean",
    percentiles: &[
        (0.5, "/latency/p50"),
        (0.9, "/latency/p90"),
        (0.99, "/latency/p99"),
        (0.999, "/latency/p99_9"),
    ],
};

impl LoadGenerator for JsonGenerator {
    fn name(&self) -> GeneratorName {
        self.name
    }

    fn tool(&self) -> Option<Tool> {
        Some(self.tool)
    }

    fn refusal(&self, load: &Load) -> Option<String> {
        if load.http2 {
            return http1_alone(load);
        }
        if load.pipeline > 1 {
            return Some("does not pipeline".to_owned());
        }
        even_arrivals(load).or_else(|| keeps_connections(load))
    }

    fn command(&self, load: &Load, _: &Site<'_>) -> std::io::Result<Vec<OsString>> {
        let rate = load.even_rate();
        let fill = |word: &str| {
            word.replace("{c}", &load.connections.to_string())
                .replace("{s}", &load.seconds.to_string())
                .replace("{timeout}", &load.timeout_s.to_string())
                .replace("{rate}", &rate.unwrap_or_default().to_string())
        };
        let words = self.closed.split(' ').chain(rate.iter().flat_map(|_| self.open.split(' ')));
        let is_secured = load.url.starts_with("https:");
        let mut command: Vec<OsString> = vec![self.tool.path().into()];
        command.extend(words.map(|word| fill(word).into()));
        command.extend(self.any_certificate.filter(|_| is_secured).map(OsString::from));
        command.extend(headers(load));
        command.push((&load.url).into());
        Ok(command)
    }

    fn read(&self, printed: &str) -> Result<Told, String> {
        let document: Value = serde_json::from_str(printed).map_err(|error| error.to_string())?;
        let figure = |pointer: &str| document.pointer(pointer)?.as_f64();
        let time = |pointer: &str| Some(Nanos::from_secs_f64(figure(pointer)? * self.to_seconds));
        let sum = |pointers: &[&str]| {
            let counts = pointers.iter().filter_map(|at| document.pointer(at)).map(counted);
            counts.fold(0, u64::saturating_add)
        };
        let [answered, refused] = self.statuses.and_then(|at| document.pointer(at)).map_or([0; 2], by_status);
        let times = self.percentiles.iter().filter_map(|&(quantile, at)| Some((quantile, time(at)?)));
        Ok(Told {
            right: sum(self.right).saturating_add(answered),
            failed: sum(self.failed).saturating_add(refused),
            window_ns: Nanos::from_secs_f64(figure(self.length).ok_or("no length")?),
            mean_ns: time(self.mean),
            percentiles: percentiles(times),
        })
    }
}

/// The counts in a map of statuses: those of 2xx and of all others.
fn by_status(value: &Value) -> [u64; 2] {
    let all = value.as_object().into_iter().flatten();
    all.filter_map(|(status, count)| Some((status, count.as_u64()?))).fold(
        [0; 2],
        |[right, wrong], (status, n)| match status.starts_with('2') {
            true => [right.saturating_add(n), wrong],
            false => [right, wrong.saturating_add(n)],
        },
    )
}

/// A count, or those of a map together.
fn counted(value: &Value) -> u64 {
    match value {
        Value::Object(map) => map.values().filter_map(Value::as_u64).fold(0, u64::saturating_add),
        value => value.as_u64().unwrap_or(0),
    }
}
