//! The rules of HTTP/2 (RFC 9113) and of the compression of its heads (RFC 7541), one file per theme.
//!
//! A rule is frames that are sent on a connection of its own and what is demanded then. A server may answer any breach by
//! ending the connection, and name it by a generic code (RFC 9113 §5.4); a malformed request it may also refuse with a status
//! (§8.1.1). What RFC 9113 lets a server overlook is no more than recommended here, though RFC 7540 demanded it.

mod blocks;
mod closing;
mod compression;
mod control;
mod demands;
mod endurance;
mod frames;
mod malformed;
mod messages;
mod priorities;
mod settings;
mod starting;
mod streams;
mod tables;
mod windows;

use crate::objection::Objection;
use crate::peer::NOT_SPOKEN;
use crate::rule::Rule;

pub(crate) use starting::SPOKEN;

/// The rules, in the order in which findings are told.
const ALL: [&[Rule]; 14] = [
    starting::RULES,
    frames::RULES,
    blocks::RULES,
    streams::RULES,
    control::RULES,
    priorities::RULES,
    settings::RULES,
    windows::RULES,
    closing::RULES,
    messages::RULES,
    malformed::RULES,
    compression::RULES,
    tables::RULES,
    endurance::RULES,
];

/// Every rule of HTTP/2, in the order in which findings are told.
pub fn of_http2() -> impl Iterator<Item = &'static Rule> {
    ALL.iter().flat_map(|theme| theme.iter())
}

/// Whether a server does not speak HTTP/2 at all.
pub(crate) fn is_not_spoken(objection: &Objection) -> bool {
    matches!(objection, Objection::Broken(evidence) if evidence.starts_with(NOT_SPOKEN))
}
