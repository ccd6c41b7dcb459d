//! What other generators found of the same servers.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::experiment::Cell;
use crate::generator::GeneratorName;

/// So much was compared, and nothing was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GeneratorsAgree {
    /// Contenders, cells and generators that were compared.
    pub comparisons: u64,
    /// Pairs of contenders whose ratios were.
    pub pairs: u64,
}

/// A generator got more out of a server than ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GeneratorGetsMore {
    /// The contender.
    pub contender: String,
    /// The generator.
    pub generator: GeneratorName,
    /// The cell in which it gets more.
    pub cell: Cell,
    /// Its throughput over that under ours.
    pub ratio: f64,
    /// Lower end of the ratio's interval.
    pub low_ratio: f64,
    /// Upper end.
    pub high_ratio: f64,
}

/// A generator told another ratio of two contenders than ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GeneratorsDisagree {
    /// The generator.
    pub generator: GeneratorName,
    /// The two.
    pub contenders: [String; 2],
    /// The cell in which they disagree.
    pub cell: Cell,
    /// Throughput of the first over that of the second under that generator.
    pub theirs: f64,
    /// Throughput of the first over that of the second under ours.
    pub ours: f64,
}
