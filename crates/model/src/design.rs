//! How two sides of a comparison are measured, and why so.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;

/// What `assay compare` measures: others against a base.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Comparing {
    /// Name of the contender that the others are compared with; where there is an A/A control, it is this one that takes
    /// part twice.
    pub base: String,
    /// The design by which they are compared.
    pub design: Design,
    /// Why so.
    pub because: Because,
}

/// A design of experiments with two sides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Design {
    /// One server is under load at a time, by turns.
    #[default]
    Alternating,
    /// Base and other are under load at the same time on the same CPUs, and take turns besides, from which absolute rates
    /// come (Bulej et al., *Duet Benchmarking*, ICPE 2020).
    Duet,
}

/// Why a design was chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Because {
    /// The user asked for it.
    AskedFor,
    /// Both sides are builds of one kind of server, so what disturbs the machine disturbs both alike.
    OneKind,
    /// The sides are different programs: what they share of the CPUs says more of the scheduler than of them.
    DifferentPrograms {
        /// Program of the base.
        base: String,
        /// Program of the other.
        other: String,
    },
    /// A load that is not a closed loop of a given time: what is offered is served, whoever else is there.
    NotClosed,
    /// A server on the user-space stack has a wire to itself.
    UserStack,
    /// The database that both ask would be what they share.
    Database,
    /// The link has a rate or a loss, which both would share.
    ShapedLink,
    /// Both need a port of their own choice, or one lives at a time for another reason.
    NotTogether,
    /// Server and generator have the same CPUs.
    SharedCpus,
}

/// The side that a server has in a duet: where its load comes from, and who is loaded first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The generator's first share of CPUs; its load begins first.
    #[default]
    First,
    /// The other.
    Second,
}

impl Side {
    /// The two sides, the first first.
    pub const BOTH: [Self; 2] = [Self::First, Self::Second];

    /// The other one.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }
}
