//! What a generator and whoever leads it say to each other: a line of JSON each, over standard input and output of the generator.
//!
//! ```text
//! leader                          generator
//! {"ping":{"number":1}}      →
//!                            ←    {"pong":{"number":1,"at_ns":…}}      and so on: how the clocks stand
//! {"part":{…}}               →                                         its share of the load; it connects
//!                            ←    "ready"
//! {"begin":{"at_ns":…,…}}    →                                         by the generator's clock; silence from then on
//!                            ←    {"turn":{"began_ns":…,…}}            the window is over
//! "end"                      →                                         or another begin
//!                            ←    {"report":{…}}
//! ```
//!
//! A generator whose input ends before it was told to ends at once, because nobody would hear it.

use std::net::{IpAddr, SocketAddr};

use assay_model::load::{LoadReport, LoadSecond, LoadTurn};
use assay_model::units::Nanos;
use assay_model::workload::Workload;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::slice::Slice;

/// Name and version of this conversation.
pub const FLEET_SCHEMA: &str = "assay-fleet/2";

/// Longest line: a report with histograms, and a count for each interval of a long window.
pub const MAX_LINE_BYTES: usize = 64 << 20;

/// What a generator is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// To tell the time at once.
    Ping {
        /// The question.
        number: u32,
    },
    /// What it is to do; it makes its connections.
    Part(Box<Part>),
    /// To measure a window.
    Begin(Begin),
    /// To end the window that goes on, if there is one, and to report.
    End,
}

/// What one generator is to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// [`FLEET_SCHEMA`].
    pub schema: String,
    /// The words of the command that leads, without the program. They are told and no arguments of the generator's, which everybody on
    /// its host can read: there may be a token in a field.
    pub arguments: Vec<String>,
    /// Where to connect to.
    pub target: SocketAddr,
    /// CPUs of the generator, as a kernel list; one thread each.
    pub cpus: String,
    /// Local addresses to connect from, in turn; none lets the system choose.
    pub sources: Vec<IpAddr>,
    /// Threads of the generator among those of all.
    pub slice: Slice,
    /// What is asked and what is right, with nothing left to find out.
    pub workload: Workload,
    /// Whether it tells of each second.
    pub seconds: bool,
    /// The authorities to trust, in PEM form, where they are in a file that its host does not have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorities: Option<String>,
}

/// A window to be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begin {
    /// When the first request is due, by the generator's clock.
    pub at_ns: Nanos,
    /// Load before the window.
    pub settle_ns: Nanos,
    /// Length of the window; nothing where a number of requests was asked for.
    pub length_ns: Nanos,
}

/// What a generator says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// The time.
    Pong {
        /// The question.
        number: u32,
        /// What its clock showed.
        at_ns: Nanos,
    },
    /// The connections are made, or known not to be had.
    Ready,
    /// A second is over.
    Second(Box<Second>),
    /// The window is over.
    Turn(Box<Turn>),
    /// All that it saw.
    Report(Box<LoadReport>),
    /// The generator cannot carry out its part.
    Failed {
        /// The exit code that says so.
        exit: u8,
        /// The reason in words.
        reason: String,
    },
}

/// A window that is over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// When its last thread really began, by its clock.
    pub began_ns: Nanos,
    /// What it saw.
    pub turn: LoadTurn,
}

/// A second that is over, with its histograms in the form of [`assay_model::load::Latency`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// What is told of it.
    pub line: LoadSecond,
    /// Service times of the right answers in it.
    pub service_hdr: String,
    /// Response times of the same, under an open model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_hdr: Option<String>,
}

/// The line that says it, with its end.
///
/// # Errors
/// What is said has no form in JSON, which cannot happen to what is declared here.
pub fn written<T: Serialize>(said: &T) -> Result<String, String> {
    serde_json::to_string(said).map(|line| line + "\n").map_err(|error| error.to_string())
}

/// What a line says.
///
/// # Errors
/// Why it says nothing that is known here.
pub fn read<T: DeserializeOwned>(line: &str) -> Result<T, String> {
    serde_json::from_str(line).map_err(|error| format!("no line of {FLEET_SCHEMA}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part() -> Part {
        Part {
            schema: FLEET_SCHEMA.to_owned(),
            arguments: Vec::new(),
            target: SocketAddr::from(([127, 0, 0, 1], 80)),
            cpus: "0-1".to_owned(),
            sources: Vec::new(),
            slice: Slice::whole(2),
            workload: Workload::default(),
            seconds: false,
            authorities: None,
        }
    }

    #[test]
    fn what_is_written_is_read_again_in_one_line() {
        let orders = [
            Order::Ping { number: 3 },
            Order::Part(Box::new(part())),
            Order::Begin(Begin { at_ns: Nanos(5), settle_ns: Nanos(1), length_ns: Nanos(2) }),
            Order::End,
        ];
        for order in orders {
            let line = written(&order).unwrap();
            assert_eq!(line.find('\n'), Some(line.len() - 1));
            assert_eq!(read::<Order>(line.trim_end()), Ok(order));
        }
        assert_eq!(written(&Said::Ready).unwrap(), "\"ready\"\n");
        let said = Said::Turn(Box::default());
        assert_eq!(read::<Said>(&written(&said).unwrap()), Ok(said));
    }

    #[test]
    fn what_is_of_no_use_is_refused_with_the_reason() {
        for line in ["", "connected", "{\"pong\":{}}", "\"begin\""] {
            let why = read::<Said>(line).unwrap_err();
            assert!(why.starts_with(&format!("no line of {FLEET_SCHEMA}: ")), "{why}");
        }
    }
}
