//! The rules of HTTP/1.1, one file per theme.

mod answers;
mod bodies;
mod delivery;
mod endurance;
mod framing;
mod grammar;
mod persistence;
mod refusal;
mod targets;

use crate::rule::Rule;

pub(crate) use answers::{date_of, moves};

/// All of them, in the order in which findings are told.
pub(crate) const ALL: [&[Rule]; 8] = [
    delivery::RULES,
    persistence::RULES,
    answers::RULES,
    bodies::RULES,
    targets::RULES,
    framing::RULES,
    grammar::RULES,
    endurance::RULES,
];
