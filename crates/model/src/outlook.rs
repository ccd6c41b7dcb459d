//! What a run would show, told before it begins. Nothing here is measured; it follows from the noise of earlier runs.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::units::Nanos;
use crate::verdict::Noise;

/// Name and version of the format of [`Outlook`].
pub const OUTLOOK_SCHEMA: &str = "assay-outlook/1";

/// What the run of an experiment would show.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outlook {
    /// [`OUTLOOK_SCHEMA`].
    pub schema: String,
    /// Name of the experiment.
    pub experiment: String,
    /// Contenders that are compared with each other, the limit aside.
    pub contenders: u32,
    /// Tables whose statements hold together: cells at capacity, and rates at which all are compared.
    pub tables: u32,
    /// Probability with which they do, 0 to 1.
    pub confidence: f64,
    /// The largest difference that is called none, 0.01 for 1 %.
    pub margin: f64,
    /// The noise that was reckoned with.
    pub noise: Noise,
    /// The run in which it was seen; absent where there is none, and it is what is usual.
    pub noise_of: Option<String>,
    /// The run as it was asked for.
    pub run: Foresight,
    /// The division of the same time into restarts and windows that shows most; told with a difference.
    pub best: Option<Foresight>,
    /// The difference for which a time was wanted, 0.02 for 2 %.
    pub difference: Option<f64>,
    /// The shortest run that would show it; absent where a day is too short.
    pub enough: Option<Foresight>,
    /// What is to be expected of the commands where they are compared under load at the same time, as `assay compare` does; absent
    /// where they are not, and where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duet: Option<DuetOutlook>,
}

/// What a comparison of commands under load at the same time would show of their throughputs. A window is a pair of them here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DuetOutlook {
    /// By how much the ratio of the two varies, which is what was reckoned with.
    pub noise: Noise,
    /// The run in whose duets it was seen; absent where there is none, and it is what is usual.
    pub noise_of: Option<String>,
    /// The comparison as it was asked for.
    pub run: Foresight,
    /// The shortest one that would show the difference for which a time was wanted; absent where none was, or a day is too short.
    pub enough: Option<Foresight>,
}

/// A run of so many restarts, and what it would show.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Foresight {
    /// Restarts of every contender.
    pub rounds: u32,
    /// Windows of every restart in each table; 1 where windows are measured in one piece.
    pub windows: u32,
    /// How long it would take.
    pub takes_ns: Nanos,
    /// The smallest difference that a typical pair would be shown to have in four runs of five, 0.09 for 9 %; absent where
    /// that is nothing useful.
    pub shows: Option<f64>,
}
