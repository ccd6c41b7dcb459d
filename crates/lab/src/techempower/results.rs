//! The shape of `results.json` and `test_metadata.json`. Keys that are not needed are passed over.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde::de::{DeserializeOwned, Error, Visitor};
use serde::{Deserialize, Deserializer};

use super::TestType;
use crate::error::{LabError, SourcePlace};

/// Longest file that is read, in bytes; a whole round is about 20 MB.
const MAX_BYTES: u64 = 256 << 20;

/// One measurement of many implementations: the part of `results.json` that matters here.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Results {
    #[serde(default)]
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) environment_description: Option<String>,
    #[serde(default)]
    pub(super) git: Option<Git>,
    /// Milliseconds since 1970.
    #[serde(default)]
    pub(super) start_time: Option<i64>,
    /// Milliseconds since 1970.
    #[serde(default)]
    pub(super) completion_time: Option<i64>,
    #[serde(default)]
    pub(super) concurrency_levels: Vec<u32>,
    #[serde(default)]
    pub(super) pipeline_concurrency_levels: Vec<u32>,
    #[serde(default)]
    pub(super) query_intervals: Vec<u32>,
    #[serde(default)]
    pub(super) cached_query_intervals: Vec<u32>,
    #[serde(default)]
    pub(super) frameworks: Vec<String>,
    /// Length of one window, in seconds.
    #[serde(deserialize_with = "number")]
    pub(super) duration: f64,
    pub(super) raw_data: RawData,
    /// When each was done, or why it could not be started.
    #[serde(default)]
    pub(super) completed: BTreeMap<String, String>,
    /// What the source's verifier said, by test and type: `pass`, `warn` or `fail`.
    #[serde(default)]
    pub(super) verify: BTreeMap<String, BTreeMap<String, String>>,
    #[serde(default)]
    pub(super) test_metadata: Option<Vec<Metadata>>,
}

/// What was measured.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Git {
    #[serde(default)]
    pub(super) commit_id: Option<String>,
}

/// Windows by test type and test, one for each level.
#[derive(Debug, Deserialize)]
pub(super) struct RawData {
    #[serde(default)]
    json: Windows,
    #[serde(default)]
    db: Windows,
    #[serde(default)]
    query: Windows,
    #[serde(default)]
    fortune: Windows,
    #[serde(default)]
    update: Windows,
    #[serde(default)]
    plaintext: Windows,
    #[serde(default, rename = "cached-query", alias = "cached_query")]
    cached: Windows,
}

/// The windows of each test, by level.
pub(super) type Windows = BTreeMap<String, Vec<Window>>;

/// What wrk printed. Its latencies are left aside: the mean of a closed loop follows from the throughput (Little's law),
/// and neither a deviation nor a greatest value is a percentile.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Window {
    /// Answers of any status; absent where wrk said nothing.
    #[serde(default)]
    pub(super) total_requests: Option<u64>,
    /// Answers with another status than 2xx or 3xx, whatever the name says.
    #[serde(default, rename = "5xx")]
    pub(super) other_status: u64,
    #[serde(default)]
    pub(super) connect: u64,
    #[serde(default)]
    pub(super) read: u64,
    #[serde(default)]
    pub(super) write: u64,
    #[serde(default)]
    pub(super) timeout: u64,
    /// Seconds since 1970.
    #[serde(default)]
    pub(super) start_time: Option<f64>,
}

/// What is known of a test.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Metadata {
    pub(super) name: String,
    pub(super) display_name: String,
    pub(super) language: String,
    pub(super) classification: String,
    pub(super) approach: String,
    pub(super) orm: String,
    pub(super) platform: String,
    pub(super) webserver: String,
    pub(super) database: String,
}

impl RawData {
    pub(super) fn of(&self, test_type: TestType) -> &Windows {
        match test_type {
            TestType::Json => &self.json,
            TestType::Db => &self.db,
            TestType::Queries => &self.query,
            TestType::Fortunes => &self.fortune,
            TestType::Updates => &self.update,
            TestType::Plaintext => &self.plaintext,
            TestType::Cached => &self.cached,
        }
    }
}

impl Results {
    /// The numbers in which the windows of a type differ, as far as the file names them.
    pub(super) fn levels(&self, test_type: TestType) -> &[u32] {
        match test_type {
            TestType::Json | TestType::Db | TestType::Fortunes => &self.concurrency_levels,
            TestType::Queries | TestType::Updates => &self.query_intervals,
            TestType::Plaintext => &self.pipeline_concurrency_levels,
            TestType::Cached => &self.cached_query_intervals,
        }
    }

    /// The key under which the file names them.
    pub(super) fn levels_key(test_type: TestType) -> &'static str {
        match test_type {
            TestType::Json | TestType::Db | TestType::Fortunes => "concurrencyLevels",
            TestType::Queries | TestType::Updates => "queryIntervals",
            TestType::Plaintext => "pipelineConcurrencyLevels",
            TestType::Cached => "cachedQueryIntervals",
        }
    }
}

/// Reads a `T`; what is wrong is told with its place.
///
/// # Errors
/// When the file cannot be read, is too long, is no JSON or no `T`.
pub(super) fn read<T: DeserializeOwned>(path: &Path, what: &str) -> Result<T, LabError> {
    read_within(MAX_BYTES, path, what)
}

fn read_within<T: DeserializeOwned>(at_most: u64, path: &Path, what: &str) -> Result<T, LabError> {
    let text = assay_file::read(path, at_most).map_err(|source| LabError::read(path, source))?;
    serde_json::from_str(&text).map_err(|error| {
        let place =
            SourcePlace { file: path.to_owned(), line: error.line().max(1), column: error.column().max(1) };
        let problem = error.to_string();
        let problem = problem.rsplit_once(" at line ").map_or(problem.as_str(), |(words, _)| words);
        LabError::File { place, problem: problem.to_owned(), mend: format!("give {what}, whole") }
    })
}

/// A number, or a text that holds one: the toolset wrote both.
fn number<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    struct Number;
    impl Visitor<'_> for Number {
        type Value = f64;
        fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str("a number of seconds")
        }
        fn visit_u64<E: Error>(self, value: u64) -> Result<f64, E> {
            Ok(value as f64)
        }
        fn visit_f64<E: Error>(self, value: f64) -> Result<f64, E> {
            Ok(value)
        }
        fn visit_str<E: Error>(self, value: &str) -> Result<f64, E> {
            value.trim().parse().map_err(|_| E::invalid_value(serde::de::Unexpected::Str(value), &self))
        }
    }
    from.deserialize_any(Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_an_end_is_not_read_to_it() {
        let error = read_within::<Metadata>(1 << 10, Path::new("/dev/zero"), "a file").expect_err("endless");
        assert!(error.to_string().contains("longer than 1024 bytes"), "{error}");
    }
}
