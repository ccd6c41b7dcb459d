//! Why something was not run.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::network::Network;
use crate::protocol::Protocol;
use crate::setting::Setting;

/// Why a contender, or one run of it, yielded nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotRun {
    /// At which step.
    pub stage: Stage,
    /// What happened, in a sentence.
    pub reason: String,
    /// How to mend it, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// The last lines of its log.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log_tail: Vec<String>,
}

/// How a [`NotRun`] begins that says which host of the load was lost, and how it goes on.
const LOST_HOST: [&str; 2] = ["the host ", " of the load was lost: "];

impl NotRun {
    /// The reason in words where a host of the load was lost.
    pub fn lost_host_reason(host: &str, why: &str) -> String {
        let [begin, middle] = LOST_HOST;
        format!("{begin}{host}{middle}{why}")
    }

    /// The host of the load that was lost, with what befell it, if that is the reason.
    pub fn lost_host(&self) -> Option<(&str, &str)> {
        let [begin, middle] = LOST_HOST;
        let at = self.reason.find(begin)? + begin.len();
        self.reason[at..].split_once(middle)
    }
}

/// The steps in a contender's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Something it needs is missing.
    Needs,
    /// Its build failed.
    Build,
    /// It did not start, or was not ready in time.
    Start,
    /// It answered wrongly before any load.
    Answer,
    /// It died or stopped answering under load.
    Load,
}

/// Why a contender yielded nothing in a setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotRunOn {
    /// The network; absent where the experiment names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
    /// The protocol.
    #[serde(default, skip_serializing_if = "Protocol::is_plain")]
    pub protocol: Protocol,
    /// The reason.
    #[serde(flatten)]
    pub why: NotRun,
}

impl NotRunOn {
    /// Where the contender yielded nothing.
    pub fn setting(&self) -> Setting {
        Setting { network: self.network, protocol: self.protocol }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_host_is_told_and_found_again() {
        let of = |reason: String| NotRun { stage: Stage::Load, reason, remedy: None, log_tail: Vec::new() };
        let lost = of(format!("the load generator failed: {}", NotRun::lost_host_reason("box2", "it ended")));
        assert_eq!(lost.lost_host(), Some(("box2", "it ended")));
        assert_eq!(of("the load generator failed: it ended".to_owned()).lost_host(), None);
    }
}
