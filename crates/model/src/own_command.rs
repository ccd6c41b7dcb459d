//! Servers of the user's own in an experiment: `[[command]]`.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;

/// A server of the user's own that assay starts, measures and stops.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OwnCommand {
    /// What it is called, `[a-z0-9-]+`. Absent: made of the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What `sh` runs, in the folder of the experiment's file.
    pub run: String,
    /// The port that it listens on. Absent: a free one, which it finds in `$PORT`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Longest time until it is ready, in seconds. Absent: 20.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_timeout_s: Option<f64>,
    /// A path that it answers with 2xx when it is ready. Absent: what is asked under load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_path: Option<String>,
}
