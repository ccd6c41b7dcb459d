//! What things are called, what checks found, and what to do about it. A number reads here as it reads in the tables: all of them
//! are written by [`format`](crate::format).

mod conformance;
pub(crate) mod energy;
mod evidence;
mod margin;
mod network;
pub(crate) mod phrases;
pub(crate) mod published;
mod remedy;
mod terms;
mod written;

pub(crate) use conformance::{broken_rules, changed_rules};
pub(crate) use evidence::{ALONE, bottleneck, disturbed, measured_under_load, restarts_vary};
pub use evidence::{described, evidence, held_in_words, withheld};
pub(crate) use margin::{differences_of_a_typical_pair, margin_in_words, margin_of_all};
pub(crate) use network::{link_in_words, network_in_words};
pub use phrases::{count_of, place_of_round};
pub(crate) use phrases::{counted, with_remedy};
pub use remedy::remedy;
pub(crate) use remedy::remedy_of_disturbance;
pub(crate) use terms::{limit_in_words, redline_end_in_words, rules_text, stage_in_words, state_in_words};
pub(crate) use written::FINDINGS;
pub use written::in_words;
