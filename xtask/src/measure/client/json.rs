//! Generators that print JSON: a table of arguments and of where each figure stands.

use std::process::Command;

use serde_json::Value;

use super::{Answer, Client, Load, command_of};
use crate::measure::Place;
use crate::measure::tool::Tool;

/// A generator that prints one JSON document.
pub(crate) struct JsonClient {
    tool: Tool,
    /// The command line, with `{url}`, `{c}`, `{s}`, `{timeout}` and `{rate}` to be filled in.
    closed: Option<&'static str>,
    open: Option<&'static str>,
    /// JSON pointers (RFC 6901) to counts of right answers and of failures, summed up; a map counts by its values.
    right: &'static [&'static str],
    failed: &'static [&'static str],
    /// Pointer to the length, and what makes seconds of it.
    seconds: (&'static str, f64),
    /// Pointers to times, and what makes ms of them.
    to_ms: f64,
    mean: &'static str,
    percentiles: &'static [(u32, &'static str)],
}

/// Those that are known, whether installed or not.
pub(crate) const JSON_CLIENTS: [JsonClient; 3] = [OHA, BOMBARDIER, AUTOCANNON];

const OHA: JsonClient = JsonClient {
    tool: Tool { program: "oha", install: "cargo install oha" },
    closed: Some("--no-tui --output-format json -w -t {timeout}s -c {c} -z {s}s {url}"),
    open: Some(
        "--no-tui --output-format json -w -t {timeout}s -c {c} -z {s}s -q {rate} --latency-correction {url}",
    ),
    right: &["/statusCodeDistribution/200"],
    failed: &["/statusCodeDistribution/500", "/errorDistribution"],
    seconds: ("/summary/total", 1.0),
    to_ms: 1e3,
    mean: "/summary/average",
    percentiles: &[
        (500, "/latencyPercentiles/p50"),
        (900, "/latencyPercentiles/p90"),
        (950, "/latencyPercentiles/p95"),
        (990, "/latencyPercentiles/p99"),
        (999, "/latencyPercentiles/p99.9"),
    ],
};

const BOMBARDIER: JsonClient = JsonClient {
    tool: Tool { program: "bombardier", install: "go install github.com/codesenberg/bombardier@latest" },
    closed: Some("-p r -o json -l -t {timeout}s -c {c} -d {s}s {url}"),
    open: Some("-p r -o json -l -t {timeout}s -c {c} -d {s}s -r {rate} {url}"),
    right: &["/result/req2xx"],
    failed: &["/result/req4xx", "/result/req5xx", "/result/others"],
    seconds: ("/result/timeTakenSeconds", 1.0),
    to_ms: 1e-3,
    mean: "/result/latency/mean",
    percentiles: &[
        (500, "/result/latency/percentiles/50"),
        (900, "/result/latency/percentiles/90"),
        (950, "/result/latency/percentiles/95"),
        (990, "/result/latency/percentiles/99"),
    ],
};

const AUTOCANNON: JsonClient = JsonClient {
    tool: Tool { program: "autocannon", install: "npm install -g autocannon" },
    closed: Some("-j -t {timeout} -c {c} -d {s} {url}"),
    open: Some("-j -t {timeout} -c {c} -d {s} -R {rate} {url}"),
    right: &["/2xx"],
    failed: &["/non2xx", "/errors"],
    seconds: ("/duration", 1.0),
    to_ms: 1.0,
    mean: "/latency/mean",
    percentiles: &[
        (500, "/latency/p50"),
        (900, "/latency/p90"),
        (990, "/latency/p99"),
        (999, "/latency/p99_9"),
    ],
};

impl Client for JsonClient {
    fn name(&self) -> &'static str {
        self.tool.program
    }

    fn tool(&self) -> Option<Tool> {
        Some(self.tool)
    }

    fn command(&self, load: &Load, _: &Place) -> Option<Command> {
        if load.pipeline > 1 {
            return None;
        }
        let rate = load.even_rate()?;
        let template = if rate.is_some() { self.open? } else { self.closed? };
        let mut command = command_of(self.tool);
        let fill = |word: &str| {
            word.replace("{url}", &load.url)
                .replace("{c}", &load.connections.to_string())
                .replace("{s}", &load.seconds.to_string())
                .replace("{timeout}", &load.timeout_seconds.to_string())
                .replace("{rate}", &rate.unwrap_or_default().to_string())
        };
        command.args(template.split(' ').map(fill));
        Some(command)
    }

    fn read(&self, stdout: &str) -> Result<Answer, String> {
        let document: Value = serde_json::from_str(stdout).map_err(|error| error.to_string())?;
        let figure = |pointer: &str| document.pointer(pointer)?.as_f64();
        let sum = |pointers: &[&str]| pointers.iter().map(|at| document.pointer(at).map_or(0, count)).sum();
        let times = self.percentiles.iter();
        Ok(Answer {
            right: sum(self.right),
            failed: sum(self.failed),
            seconds: figure(self.seconds.0).ok_or("no length")? * self.seconds.1,
            mean_ms: figure(self.mean).map(|mean| mean * self.to_ms),
            percentiles_ms: times.filter_map(|&(p, at)| Some((p, figure(at)? * self.to_ms))).collect(),
        })
    }
}

/// A number, or the sum of a map's.
fn count(value: &Value) -> u64 {
    match value {
        Value::Object(map) => map.values().map(count).sum(),
        value => value.as_u64().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_where_they_stand() {
        let printed = r#"{"summary":{"total":2.0,"average":0.0015},"latencyPercentiles":{"p50":0.001,"p99":0.002},
            "statusCodeDistribution":{"200":10,"500":2},"errorDistribution":{"timeout":1,"connection closed":3}}"#;
        let answer = OHA.read(printed).unwrap();
        assert_eq!((answer.right, answer.failed, answer.seconds), (10, 6, 2.0));
        assert_eq!((answer.mean_ms, answer.percentiles_ms[&990]), (Some(1.5), 2.0));
        assert!(OHA.read("{}").is_err());
    }
}
