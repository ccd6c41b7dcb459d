//! Asks a server for every rule of HTTP/1.1 or HTTP/2 and of a test type, and says which it keeps.
//!
//! Invariants
//! - A rule is an id, a sentence, where it is written, how much it weighs, and one function over a plain dialogue with
//!   the server; `rules` is the list of them all.
//! - What the standard permits is never held against a server: where an RFC leaves a choice, every choice passes.
//! - Answers are read by the strict parser of `assay-http`, or frame by frame (`peer`); what these refuse is no answer.
//! - A rule is broken only if the server breaks it when it is asked for that rule alone.
//! - Every wait and every rule as a whole has a limit ([`Patience`]); nothing is read from or written to disk.
//!
//! Must not know: who started the server, what is measured, how findings are shown.
//!
//! | where | what |
//! |---|---|
//! | `rules/` | HTTP/1.1, one file per theme |
//! | `http2/` | HTTP/2 and the compression of its heads, one file per theme |
//! | `types/` | the test types of the TechEmpower framework benchmarks and the chat, one file each |
//! | `transport`, `dialogue`, `answer` | bytes out and in, over TLS or not, and what they mean |
//! | `site`, `origin` | a server that has answered plainly, over HTTP/1.1 or HTTP/2 |
//! | `peer/` | a connection of HTTP/2 frame by frame, without a state machine that would mend what is to be broken |
//! | `suite` | asks for many rules at once and again for those that were broken |
#![forbid(unsafe_code)]

mod answer;
mod dialogue;
mod http2;
mod objection;
mod origin;
mod peer;
mod route;
mod rule;
mod rules;
mod site;
mod suite;
mod target;
mod transport;
mod types;

pub use http2::of_http2;
pub use route::{Route, TestType};
pub use rule::{Rule, Tempo};
pub use rules::of_http;
pub use suite::{Pace, ask};
pub use target::{Counts, Ledger, Patience, Planted, Target, TargetError};
