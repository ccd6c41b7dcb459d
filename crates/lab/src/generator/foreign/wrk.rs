//! wrk, and wrk2 which keeps its format.

use std::ffi::OsString;

use assay_model::generator::{GeneratorName, Told};
use assay_model::load::Arrival;
use assay_model::units::Nanos;

use super::text::{count, percentiles, time};
use super::{arguments, headers, http1_alone, keeps_connections, threads};
use crate::generator::load::{Load, LoadGenerator, Site};
use crate::generator::tool::Tool;

/// A script that puts several copies of the request into one write: wrk counts answers, so what it prints stays right.
const PIPELINE_SCRIPT: &str = "\
function init(arguments)
    local depth = tonumber(arguments[1])
    batch = string.rep(wrk.format(), depth)
end

function request()
    return batch
end
";

/// wrk or one of its family.
pub(super) struct Wrk {
    name: GeneratorName,
    tool: Tool,
    has_rate: bool,
}

pub(super) const WRK: Wrk = Wrk {
    name: GeneratorName::Wrk,
    tool: Tool { program: "wrk", install: "apt-get install wrk" },
    has_rate: false,
};

pub(super) const WRK2: Wrk = Wrk {
    name: GeneratorName::Wrk2,
    tool: Tool { program: "wrk2", install: "build https://github.com/giltene/wrk2 and call it wrk2" },
    has_rate: true,
};

impl LoadGenerator for Wrk {
    fn name(&self) -> GeneratorName {
        self.name
    }

    fn tool(&self) -> Option<Tool> {
        Some(self.tool)
    }

    fn version_flag(&self) -> &'static str {
        "-v"
    }

    fn refusal(&self, load: &Load) -> Option<String> {
        match (self.has_rate, &load.arrival) {
            _ if load.http2 => http1_alone(load),
            (false, Arrival::Closed) | (true, Arrival::Constant { .. }) => keeps_connections(load),
            (false, _) => Some("has no rate, only a closed loop".to_owned()),
            (true, Arrival::Closed) => Some("has no closed loop, only a rate".to_owned()),
            (true, Arrival::Poisson { .. }) => Some("has even arrivals only (--arrival constant)".to_owned()),
        }
    }

    fn command(&self, load: &Load, site: &Site<'_>) -> std::io::Result<Vec<OsString>> {
        let mut command: Vec<OsString> = vec![self.tool.path().into(), "--latency".into()];
        command.push(format!("-t{}", threads(load, site)).into());
        command.push(format!("-c{}", load.connections).into());
        command.push(format!("-d{}s", load.seconds).into());
        command.extend(arguments([("--timeout", format!("{}s", load.timeout_s))]));
        command.extend(load.even_rate().map(|rate| format!("-R{rate}").into()));
        command.extend(headers(load));
        if load.pipeline == 1 {
            command.push((&load.url).into());
            return Ok(command);
        }
        let script = site.work.join("pipeline.lua");
        std::fs::write(&script, PIPELINE_SCRIPT)?;
        command.extend(["-s".into(), script.into(), (&load.url).into()]);
        command.extend(["--".into(), load.pipeline.to_string().into()]);
        Ok(command)
    }

    fn read(&self, printed: &str) -> Result<Told, String> {
        let total = printed.lines().find(|line| line.contains(" requests in ")).ok_or("no line of totals")?;
        let mut words = total.split_ascii_whitespace();
        let requests: u64 = words.next().and_then(|word| word.parse().ok()).ok_or("no count of requests")?;
        let took = words.nth(2).and_then(|word| time(word.trim_end_matches(','))).ok_or("no length")?;
        let not_2xx = count(printed, "Non-2xx or 3xx responses:").unwrap_or(0);
        let errors = printed.split_once("Socket errors:").and_then(|(_, rest)| rest.lines().next());
        let kinds = ["connect ", "read ", "write ", "timeout "];
        let broken = kinds.iter().filter_map(|kind| count(errors?, kind)).fold(0, u64::saturating_add);
        Ok(Told {
            right: requests.saturating_sub(not_2xx),
            failed: not_2xx.saturating_add(broken),
            window_ns: took,
            mean_ns: printed.lines().find_map(mean),
            percentiles: percentiles(printed.lines().filter_map(percentile)),
        })
    }
}

/// `    Latency     1.21ms  493.15us   5.75ms   92.59%`.
fn mean(line: &str) -> Option<Nanos> {
    time(line.trim().strip_prefix("Latency ")?.split_ascii_whitespace().next()?)
}

/// `     99%    3.71ms`, or with as many digits as wrk2 likes.
fn percentile(line: &str) -> Option<(f64, Nanos)> {
    let (percent, after) = line.trim().split_once('%')?;
    Some((percent.parse::<f64>().ok()? / 100.0, time(after.trim())?))
}
