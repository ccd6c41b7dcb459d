//! What is compared with what: `RUN` or `RUN:CONTENDER` on both sides.

use assay_model::record::{Entry, Origin, Record};

use crate::Unreadable;

/// One side of a comparison.
#[derive(Clone, Debug)]
pub struct Side {
    /// The run.
    pub record: Record,
    /// The contender, when one was named.
    pub contender: Option<String>,
}

/// Why it cannot be told what shall be compared.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    /// A name that is no contender of the run.
    #[error("{run} has no contender `{contender}`; it measured {known}")]
    NoSuchContender {
        /// The run.
        run: String,
        /// The name.
        contender: String,
        /// The contenders that the run has.
        known: String,
    },
    /// A run in which nobody was measured.
    #[error("{run} measured nobody, so there is nothing to compare; `assay show {run}` says why")]
    NobodyMeasured {
        /// The run.
        run: String,
    },
    /// Nobody to compare with.
    #[error(
        "{base} measured {of_base}, {new} measured {of_new}: say who is compared with whom, as \
         {base}:CONTENDER {new}:CONTENDER"
    )]
    Ambiguous {
        /// The base's run.
        base: String,
        /// Contenders of the base.
        of_base: String,
        /// The other run.
        new: String,
        /// Contenders of the other run.
        of_new: String,
    },
    /// No cell was measured on both sides.
    #[error(
        "nothing was measured on both sides: a workload (the same requests) at the same connections and load; \
         see `assay show` for both"
    )]
    NothingInCommon,
    /// A histogram of one of the records cannot be read.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// A run of commands in which fewer than two were measured.
    #[error("fewer than two of the commands were measured; see `assay show` for what befell them")]
    NothingToCompare,
}

/// The sides of a run of commands: the first is the base of all others.
///
/// # Errors
/// [`CompareError::NothingToCompare`] when fewer than two of them were measured.
pub fn interleaved(record: &Record) -> Result<(Side, Vec<Side>), CompareError> {
    let commands = measured(record).into_iter().filter(|entry| entry.identity.origin == Origin::Command);
    let mut sides =
        commands.map(|entry| Side { record: record.clone(), contender: Some(entry.identity.name.clone()) });
    match (sides.next(), sides.collect::<Vec<_>>()) {
        (Some(base), news) if !news.is_empty() => Ok((base, news)),
        _ => Err(CompareError::NothingToCompare),
    }
}

/// Names of contenders to compare, base first: the two that were named; in one run, one that was named with all others; in
/// different runs, all that have the same name, or the only ones.
pub(super) fn matched(base: &Side, new: &Side) -> Result<Vec<(String, String)>, CompareError> {
    let (of_base, of_new) = (candidates(base)?, candidates(new)?);
    let ambiguous = || CompareError::Ambiguous {
        base: base.record.id.clone(),
        of_base: of_base.join(", "),
        new: new.record.id.clone(),
        of_new: of_new.join(", "),
    };
    if let ([one], [other]) = (of_base.as_slice(), of_new.as_slice()) {
        return Ok(vec![(one.clone(), other.clone())]);
    }
    let pairs: Vec<(String, String)> = match (of_base.as_slice(), base.record.id == new.record.id) {
        ([one], true) => {
            let others = of_new.iter().filter(|name| *name != one);
            others.map(|name| (one.clone(), name.clone())).collect()
        }
        (_, true) => Vec::new(),
        (_, false) => {
            let in_both = of_base.iter().filter(|name| of_new.contains(name));
            in_both.map(|name| (name.clone(), name.clone())).collect()
        }
    };
    if pairs.is_empty() { Err(ambiguous()) } else { Ok(pairs) }
}

/// The contender that was named, or all that were measured.
fn candidates(side: &Side) -> Result<Vec<String>, CompareError> {
    let known: Vec<String> = measured(&side.record).iter().map(|entry| entry.identity.name.clone()).collect();
    if known.is_empty() {
        return Err(CompareError::NobodyMeasured { run: side.record.id.clone() });
    }
    match &side.contender {
        None => Ok(known),
        Some(name) if known.contains(name) => Ok(vec![name.clone()]),
        Some(name) => Err(CompareError::NoSuchContender {
            run: side.record.id.clone(),
            contender: name.clone(),
            known: known.join(", "),
        }),
    }
}

/// Contenders proper with at least one window: no limit, no A/A control.
fn measured(record: &Record) -> Vec<&Entry> {
    let has_window = |entry: &&Entry| {
        let runs = record.rounds.iter().flat_map(|round| &round.runs);
        runs.filter(|run| run.contender == entry.identity.name).any(|run| !run.cells.is_empty())
    };
    let proper =
        record.contenders.iter().filter(|entry| !entry.identity.is_limit() && entry.control_of.is_none());
    proper.filter(has_window).collect()
}
