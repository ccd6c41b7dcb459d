//! ab, of Apache httpd.

use std::ffi::OsString;

use assay_model::generator::{GeneratorName, Told};
use assay_model::load::Arrival;
use assay_model::units::Nanos;

use super::text::{count, number, percentiles};
use super::{arguments, headers, http1_alone, keeps_connections};
use crate::generator::load::{Load, LoadGenerator, Site};
use crate::generator::tool::Tool;

/// More than ab can make in a second: the time shall end it, not the count, for which it allocates memory beforehand.
const REQUESTS_PER_SECOND_AT_MOST: u64 = 1_000_000;
/// What ab calls the concurrency limit of its build.
const CONNECTIONS_AT_MOST: u32 = 20_000;

/// ab, which is a single thread. It does not pipeline and has no rate.
pub(super) struct Ab;

const TOOL: Tool = Tool { program: "ab", install: "apt-get install apache2-utils" };

impl LoadGenerator for Ab {
    fn name(&self) -> GeneratorName {
        GeneratorName::Ab
    }

    fn tool(&self) -> Option<Tool> {
        Some(TOOL)
    }

    fn version_flag(&self) -> &'static str {
        "-V"
    }

    fn refusal(&self, load: &Load) -> Option<String> {
        if load.http2 {
            return http1_alone(load);
        }
        if load.pipeline > 1 {
            return Some("does not pipeline".to_owned());
        }
        if load.connections > CONNECTIONS_AT_MOST {
            return Some(format!("makes {CONNECTIONS_AT_MOST} connections at most"));
        }
        match load.arrival {
            Arrival::Closed => keeps_connections(load),
            _ => Some("has no rate, only a closed loop".to_owned()),
        }
    }

    fn command(&self, load: &Load, _: &Site<'_>) -> std::io::Result<Vec<OsString>> {
        let mut command: Vec<OsString> = vec![TOOL.path().into()];
        // -r: go on after a reset; -l: bodies may differ in length.
        command.extend(["-q", "-k", "-r", "-l"].map(OsString::from));
        // -t sets a count of its own, which -n behind it undoes.
        let requests = u64::from(load.seconds) * REQUESTS_PER_SECOND_AT_MOST;
        command.extend(arguments([
            ("-t", load.seconds.to_string()),
            ("-n", requests.to_string()),
            ("-s", load.timeout_s.to_string()),
            ("-c", load.connections.to_string()),
        ]));
        command.extend(headers(load));
        command.push((&load.url).into());
        Ok(command)
    }

    fn read(&self, printed: &str) -> Result<Told, String> {
        let complete = count(printed, "Complete requests:").ok_or("no count of requests")?;
        let of = |label| count(printed, label).unwrap_or(0);
        let failed = of("Failed requests:").saturating_add(of("Non-2xx responses:"));
        let length = number(printed, "Time taken for tests:").ok_or("no length")?;
        let total = printed.lines().find_map(|line| line.strip_prefix("Total:"));
        let mean_ms: Option<f64> = total.and_then(|row| row.split_ascii_whitespace().nth(1)?.parse().ok());
        Ok(Told {
            right: complete.saturating_sub(failed),
            failed,
            window_ns: Nanos::from_secs_f64(length),
            mean_ns: mean_ms.map(|ms| Nanos::from_secs_f64(ms / 1e3)),
            percentiles: percentiles(printed.lines().filter_map(percentile)),
        })
    }
}

/// `  99%      3`, in whole ms.
fn percentile(line: &str) -> Option<(f64, Nanos)> {
    let (percent, ms) = line.trim().split_once('%')?;
    let ms: u64 = ms.split_ascii_whitespace().next()?.parse().ok()?;
    Some((f64::from(percent.parse::<u32>().ok()?) / 100.0, Nanos(ms.saturating_mul(1_000_000))))
}
