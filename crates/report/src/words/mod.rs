//! The verdict in sentences. A number reads here as it reads in the tables: all of them are written by [`format`](crate::format).

mod cost;
pub(crate) mod energy;
mod evidence;
mod imported;
mod latency;
mod phrases;
mod protocol;
mod proxy;
pub(crate) mod published;
mod redline;
mod remedy;
mod stack;
mod standings;
pub(crate) mod why;
mod written;

pub(crate) use evidence::{bottleneck, disturbed, measured_under_load, restarts_vary};
pub use evidence::{described, evidence, held_in_words, withheld};
pub use phrases::{count_of, place_of_round};
pub use remedy::remedy;
pub(crate) use remedy::remedy_of_disturbance;
pub(crate) use standings::leads;
pub(crate) use written::FINDINGS;
pub use written::in_words;

use assay_model::check::Check;
use assay_model::record::Record;
use assay_model::verdict::{CellVerdict, Verdict};

/// What came of one cell, after what has to be said before anything else.
pub(crate) fn of_cell(record: &Record, judged: &CellVerdict, trust: &[Check]) -> Vec<String> {
    let mut sentences = standings::warning(trust);
    sentences.extend(standings::of_cell(record, judged));
    sentences
}

/// What has to be said before anything else; nothing where the figures may be used.
pub(crate) fn warning(verdict: &Verdict) -> Vec<String> {
    standings::warning(&verdict.trust)
}

/// The findings, most important first.
pub fn sentences(record: &Record, verdict: &Verdict) -> Vec<String> {
    if let Some(imported) = &record.imported {
        return imported::sentences(imported, &verdict.cells);
    }
    let mut sentences = warning(verdict);
    let redlines = redline::sentences(record, &verdict.redlines);
    let (answer, besides) =
        if record.experiment.searches_alone() { (redlines, Vec::new()) } else { (Vec::new(), redlines) };
    sentences.extend(answer);
    // Whoever measures on two stacks, or over two protocols, asks what that changes, before who is the fastest on each.
    sentences.extend(stack::sentences(&verdict.stack_cost, &verdict.crossings));
    sentences.extend(cost::sentences(&verdict.protocol_cost));
    sentences.extend(proxy::sentences(verdict));
    sentences.extend(standings::sentences(record, &verdict.cells, &verdict.trust));
    sentences.extend(latency::sentences(record, &verdict.latency, &verdict.trust));
    sentences.extend(besides);
    sentences.extend(why::sentences(record, &verdict.why));
    sentences.extend(standings::missing(record, &verdict.cells, &verdict.trust));
    sentences
}
