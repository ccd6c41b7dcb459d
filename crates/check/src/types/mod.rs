//! The test types of the TechEmpower framework benchmarks, as their verifier judges them, the chat and WebSocket; one file or folder each.
//!
//! A type is a file with a table of rules, one function per rule; what several types have in common is in `common`, what
//! those have in common that answer with rows of a database in `rows`. What was asked of the database, the database tells
//! ([`crate::Ledger`]); where there is none to ask, such rules do not apply.

mod cached;
mod chat;
mod common;
mod db;
mod fortunes;
mod json;
mod plaintext;
mod queries;
mod rows;
mod updates;
mod websocket;

use crate::route::TestType;
use crate::rule::Rule;

impl TestType {
    /// Every rule of the type, in the order in which findings are told.
    pub fn rules(self) -> impl Iterator<Item = &'static Rule> {
        match self {
            Self::Json => json::RULES.iter(),
            Self::Plaintext => plaintext::RULES.iter(),
            Self::Db => db::RULES.iter(),
            Self::Queries => queries::RULES.iter(),
            Self::Fortunes => fortunes::RULES.iter(),
            Self::Updates => updates::RULES.iter(),
            Self::Cached => cached::RULES.iter(),
            Self::Chat => chat::RULES.iter(),
            Self::WebSocket => websocket::RULES.iter(),
        }
    }
}
