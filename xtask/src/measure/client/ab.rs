//! ab, of Apache httpd.

use std::process::Command;

use assay_model::load::Arrival;

use super::text::number;
use super::{Answer, Client, Load, command_of};
use crate::measure::Place;
use crate::measure::tool::Tool;

/// More than ab can make in a second: the time shall end it, not the count, for which it allocates memory beforehand.
const REQUESTS_PER_SECOND_AT_MOST: u64 = 1_000_000;
/// What ab calls the concurrency limit of its build.
const CONNECTIONS_AT_MOST: u32 = 20_000;

/// ab. It does not pipeline and has no rate.
pub(crate) struct Ab;

impl Client for Ab {
    fn name(&self) -> &'static str {
        "ab"
    }

    fn tool(&self) -> Option<Tool> {
        Some(Tool { program: "ab", install: "apt-get install apache2-utils" })
    }

    fn command(&self, load: &Load, _: &Place) -> Option<Command> {
        if load.pipeline > 1 || load.arrival != Arrival::Closed || load.connections > CONNECTIONS_AT_MOST {
            return None;
        }
        let mut command = command_of(self.tool()?);
        // -r: go on after a reset; -l: bodies may differ in length. -t sets a count of its own, which -n behind it undoes.
        let requests = u64::from(load.seconds) * REQUESTS_PER_SECOND_AT_MOST;
        command.args(["-q", "-k", "-r", "-t", &load.seconds.to_string(), "-n", &requests.to_string()]);
        command.args([
            "-s",
            &load.timeout_seconds.to_string(),
            "-c",
            &load.connections.to_string(),
            &load.url,
        ]);
        Some(command)
    }

    fn read(&self, stdout: &str) -> Result<Answer, String> {
        let count = |label| number(stdout, label).map(|count| count as u64);
        let complete = count("Complete requests:").ok_or("no count of requests")?;
        let failed = count("Failed requests:").unwrap_or(0) + count("Non-2xx responses:").unwrap_or(0);
        let total = stdout.lines().find_map(|line| line.strip_prefix("Total:"));
        Ok(Answer {
            right: complete.saturating_sub(failed),
            failed,
            seconds: number(stdout, "Time taken for tests:").ok_or("no length")?,
            mean_ms: total.and_then(|row| row.split_ascii_whitespace().nth(1)?.parse().ok()),
            percentiles_ms: stdout.lines().filter_map(percentile).collect(),
        })
    }
}

/// `  99%      3`, in whole ms.
fn percentile(line: &str) -> Option<(u32, f64)> {
    let (percent, ms) = line.trim().split_once('%')?;
    Some((percent.parse::<u32>().ok()? * 10, ms.split_ascii_whitespace().next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "Concurrency Level:      2
Time taken for tests:   0.500 seconds
Complete requests:      1000
Failed requests:        10
   (Connect: 0, Receive: 0, Length: 10, Exceptions: 0)
Non-2xx responses:      5
Connection Times (ms)
              min  mean[+/-sd] median   max
Total:          0    2   0.1      1       9

Percentage of the requests served within a certain time (ms)
  50%      1
  99%      8
 100%      9 (longest request)
";

    #[test]
    fn what_ab_prints_is_understood() {
        let answer = Ab.read(PRINTED).unwrap();
        assert_eq!((answer.right, answer.failed, answer.seconds), (985, 15, 0.5));
        assert_eq!(answer.mean_ms, Some(2.0));
        assert_eq!(answer.percentiles_ms, [(500, 1.0), (990, 8.0), (1000, 9.0)].into());
        assert!(Ab.read("apr_socket_connect()").is_err());
    }
}
