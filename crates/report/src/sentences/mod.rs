//! The verdict in sentences, in the words of [`words`](crate::words).

mod cost;
mod imported;
mod latency;
mod protocol;
mod proxy;
mod redline;
mod stack;
mod standings;
pub(crate) mod why;

pub(crate) use standings::leads;

use assay_model::check::Check;
use assay_model::record::Record;
use assay_model::verdict::{CellVerdict, Verdict};

/// The findings of a run, most important first.
pub fn of_run(record: &Record, verdict: &Verdict) -> Vec<String> {
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

/// The findings of one cell, after what has to be said before anything else.
pub(crate) fn of_cell(record: &Record, judged: &CellVerdict, trust: &[Check]) -> Vec<String> {
    let mut sentences = standings::warning(trust);
    sentences.extend(standings::of_cell(record, judged));
    sentences
}

/// The sentence that has to be said before anything else; nothing where the figures may be used.
pub(crate) fn warning(verdict: &Verdict) -> Vec<String> {
    standings::warning(&verdict.trust)
}
