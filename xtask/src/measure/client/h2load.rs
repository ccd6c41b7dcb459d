//! h2load, of nghttp2, speaking HTTP/1.1.

use std::process::Command;

use super::text::{number, time_ms};
use super::{Answer, Client, Load, command_of};
use crate::measure::Place;
use crate::measure::tool::Tool;

/// h2load. It prints no percentiles; its rate is per connection.
pub(crate) struct H2load;

impl Client for H2load {
    fn name(&self) -> &'static str {
        "h2load"
    }

    fn tool(&self) -> Option<Tool> {
        Some(Tool { program: "h2load", install: "apt-get install nghttp2-client" })
    }

    fn command(&self, load: &Load, _: &Place) -> Option<Command> {
        let mut command = command_of(self.tool()?);
        command.args(["--h1", "-t1"]);
        for (flag, value) in [("-c", load.connections), ("-m", load.pipeline), ("-D", load.seconds)] {
            command.args([flag, &value.to_string()]);
        }
        command.args(["-N", &load.timeout_seconds.to_string()]);
        if let Some(rate) = load.even_rate()? {
            command.args(["--rps", &(rate / f64::from(load.connections)).to_string()]);
        }
        command.arg(&load.url);
        Some(command)
    }

    fn read(&self, stdout: &str) -> Result<Answer, String> {
        let line = |start: &str| stdout.lines().find(|line| line.starts_with(start));
        let finished = line("finished in").ok_or("no line of totals")?;
        let took = finished.split_ascii_whitespace().nth(2).map(|word| word.trim_end_matches(','));
        let counted = |text: &str, behind: &str| -> Option<u64> {
            let words: Vec<&str> = text.split_ascii_whitespace().collect();
            let at = words.iter().position(|word| word.trim_end_matches(',') == behind)?;
            words.get(at.checked_sub(1)?)?.parse().ok()
        };
        let requests = line("requests:").ok_or("no line of requests")?;
        let statuses = line("status codes:").ok_or("no line of statuses")?;
        let succeeded = number(statuses, "status codes:").ok_or("no count of 2xx")? as u64;
        let time = line("time for request:").map(|row| row.trim_start_matches("time for request:"));
        Ok(Answer {
            right: succeeded,
            // What is errored or timed out is among the failed (h2load(1), OUTPUT). The count can fall below zero, which
            // h2load prints as a number near 2^64.
            failed: counted(requests, "failed").filter(|&count| count < 1 << 63).unwrap_or(0),
            seconds: took.and_then(time_ms).ok_or("no length")? / 1e3,
            mean_ms: time.and_then(|row| time_ms(row.split_ascii_whitespace().nth(2)?)),
            percentiles_ms: Default::default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "finished in 1.00s, 10917.00 req/s, 831.57KB/s
requests: 10917 total, 10933 started, 10917 done, 10900 succeeded, 17 failed, 2 errored, 1 timeout
status codes: 10900 2xx, 0 3xx, 0 4xx, 17 5xx
traffic: 831.57KB (851526) total, 405.72KB (415454) headers (space savings 0.00%), 138.80KB (142129) data
                     min         max         mean         sd        +/- sd
time for request:     1.02ms     26.46ms      1.46ms      1.80ms    95.23%
";

    #[test]
    fn what_h2load_prints_is_understood() {
        let answer = H2load.read(PRINTED).unwrap();
        assert_eq!((answer.right, answer.failed), (10_900, 17));
        assert_eq!((answer.seconds, answer.mean_ms), (1.0, Some(1.46)));
        assert!(H2load.read("").is_err());
    }
}
