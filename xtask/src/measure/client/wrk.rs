//! wrk, and wrk2 which keeps its format.

use std::process::Command;

use super::text::{number, time_ms};
use super::{Answer, Client, Load, command_of};
use crate::measure::Place;
use crate::measure::tool::Tool;

/// So many copies of the request in one write: wrk counts answers, so what it prints stays right.
const PIPELINE_SCRIPT: &str = "\
function init(arguments)
    local depth = tonumber(arguments[1])
    batch = string.rep(wrk.format(), depth)
end

function request()
    return batch
end
";

/// One of the family.
pub(crate) struct Wrk {
    name: &'static str,
    tool: Tool,
    has_rate: bool,
}

pub(crate) const WRK: Wrk =
    Wrk { name: "wrk", tool: Tool { program: "wrk", install: "apt-get install wrk" }, has_rate: false };

pub(crate) const WRK2: Wrk = Wrk {
    name: "wrk2",
    tool: Tool { program: "wrk2", install: "build it from its source; it is not in Debian" },
    has_rate: true,
};

impl Client for Wrk {
    fn name(&self) -> &'static str {
        self.name
    }

    fn tool(&self) -> Option<Tool> {
        Some(self.tool)
    }

    fn command(&self, load: &Load, place: &Place) -> Option<Command> {
        let rate = load.even_rate()?;
        if self.has_rate != rate.is_some() || load.fresh.is_some() {
            return None;
        }
        let mut command = command_of(self.tool);
        command.args(["-t1", "--latency"]);
        command.arg(format!("-c{}", load.connections)).arg(format!("-d{}s", load.seconds));
        command.arg("--timeout").arg(format!("{}s", load.timeout_seconds));
        command.args(rate.map(|rate| format!("-R{rate}")));
        if load.pipeline == 1 {
            command.arg(&load.url);
            return Some(command);
        }
        let script = place.scratch().join("pipeline.lua");
        std::fs::write(&script, PIPELINE_SCRIPT).ok()?;
        command.arg("-s").arg(script).arg(&load.url).arg("--").arg(load.pipeline.to_string());
        Some(command)
    }

    fn read(&self, stdout: &str) -> Result<Answer, String> {
        let total = stdout.lines().find(|line| line.contains(" requests in ")).ok_or("no line of totals")?;
        let mut words = total.split_ascii_whitespace();
        let requests: u64 = words.next().and_then(|word| word.parse().ok()).ok_or("no count of requests")?;
        let took = words.nth(2).and_then(|word| time_ms(word.trim_end_matches(','))).ok_or("no length")?;
        let not_2xx = number(stdout, "Non-2xx or 3xx responses:").unwrap_or(0.0) as u64;
        let socket = ["connect ", "read ", "write ", "timeout "];
        let errors =
            stdout.split_once("Socket errors:").map_or("", |(_, rest)| rest.lines().next().unwrap_or(""));
        let broken = socket.iter().filter_map(|label| number(errors, label)).sum::<f64>() as u64;
        Ok(Answer {
            right: requests.saturating_sub(not_2xx),
            failed: not_2xx + broken,
            seconds: took / 1e3,
            mean_ms: stdout.lines().find_map(|line| {
                time_ms(line.trim().strip_prefix("Latency ")?.split_ascii_whitespace().next()?)
            }),
            percentiles_ms: stdout.lines().filter_map(percentile).collect(),
        })
    }
}

/// `     99%    3.71ms`, or with as many digits as wrk2 likes.
fn percentile(line: &str) -> Option<(u32, f64)> {
    let (percent, time) = line.trim().split_once('%')?;
    Some(((percent.parse::<f64>().ok()? * 10.0).round() as u32, time_ms(time.trim())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "Running 1s test @ http://127.0.0.1:35911/
  1 threads and 16 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.21ms  493.15us   5.75ms   92.59%
    Req/Sec    13.47k   793.25    14.31k    63.64%
  Latency Distribution
     50%    1.06ms
     99%    3.71ms
  14721 requests in 1.10s, 1.10MB read
  Socket errors: connect 1, read 20, write 300, timeout 4000
  Non-2xx or 3xx responses: 21
Requests/sec:  13377.47
";

    #[test]
    fn what_wrk_prints_is_understood() {
        let answer = WRK.read(PRINTED).unwrap();
        assert_eq!((answer.right, answer.failed), (14_700, 4342));
        assert_eq!((answer.seconds, answer.mean_ms), (1.1, Some(1.21)));
        assert_eq!(answer.percentiles_ms, [(500, 1.06), (990, 3.71)].into());
        assert!(WRK.read("unable to connect").is_err());
    }
}
