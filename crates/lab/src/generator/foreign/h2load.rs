//! h2load, of nghttp2, in HTTP/1.1 and HTTP/2.

use std::ffi::OsString;

use assay_model::generator::{GeneratorName, Told};
use assay_model::load::Arrival;

use super::text::{count, time};
use super::{arguments, even_arrivals, headers, keeps_connections, threads};
use crate::generator::load::{Load, LoadGenerator, Site};
use crate::generator::tool::Tool;

/// h2load. It prints no percentiles; its rate is per connection.
pub(super) struct H2load;

const TOOL: Tool = Tool { program: "h2load", install: "apt-get install nghttp2-client" };

impl LoadGenerator for H2load {
    fn name(&self) -> GeneratorName {
        GeneratorName::H2load
    }

    fn tool(&self) -> Option<Tool> {
        Some(TOOL)
    }

    fn refusal(&self, load: &Load) -> Option<String> {
        even_arrivals(load).or_else(|| keeps_connections(load))
    }

    fn command(&self, load: &Load, site: &Site<'_>) -> std::io::Result<Vec<OsString>> {
        let mut command: Vec<OsString> = vec![TOOL.path().into()];
        if !load.http2 {
            command.push("--h1".into());
        }
        command.push(format!("-t{}", threads(load, site)).into());
        command.extend(arguments([
            ("-c", load.connections.to_string()),
            ("-m", load.pipeline.to_string()),
            ("-D", load.seconds.to_string()),
            ("-N", load.timeout_s.to_string()),
        ]));
        if let (Arrival::Constant { .. }, Some(rate)) = (&load.arrival, load.even_rate()) {
            let each = rate / f64::from(load.connections.max(1));
            command.extend(arguments([("--rps", each.to_string())]));
        }
        command.extend(headers(load));
        command.push((&load.url).into());
        Ok(command)
    }

    fn read(&self, printed: &str) -> Result<Told, String> {
        let line = |start: &str| printed.lines().find(|line| line.starts_with(start));
        let finished = line("finished in").ok_or("no line of totals")?;
        let took = finished.split_ascii_whitespace().nth(2).map(|word| word.trim_end_matches(','));
        let requests = line("requests:").ok_or("no line of requests")?;
        let statuses = line("status codes:").ok_or("no line of statuses")?;
        let times = line("time for request:").map(|row| row.trim_start_matches("time for request:"));
        Ok(Told {
            right: count(statuses, "status codes:").ok_or("no count of 2xx")?,
            // What is errored or timed out is among the failed (h2load(1), OUTPUT). The count can fall below zero, which
            // h2load prints as a number near 2^64.
            failed: counted(requests, "failed").filter(|&count| count < 1 << 63).unwrap_or(0),
            window_ns: took.and_then(time).ok_or("no length")?,
            mean_ns: times.and_then(|row| time(row.split_ascii_whitespace().nth(2)?)),
            percentiles: Vec::new(),
        })
    }
}

/// The count before a word: `17 failed,`.
fn counted(line: &str, word: &str) -> Option<u64> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let at = words.iter().position(|one| one.trim_end_matches(',') == word)?;
    words.get(at.checked_sub(1)?)?.parse().ok()
}
