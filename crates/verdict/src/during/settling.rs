//! While a run goes on: which pairs are still open, and who must be measured again to settle them.

use std::collections::BTreeSet;

use assay_model::check::Check;
use assay_model::experiment::{Cell, Measure};
use assay_model::offered::Offered;
use assay_model::record::{Entry, Record};
use assay_model::verdict::{Call, Pair, Standing};

use crate::capacity::cell::standings;
use crate::capacity::tables::Tables;
use crate::closed;
use crate::evidence::sample::{Sample, samples};
use crate::evidence::window::{DecodedRecord, Unreadable};
use crate::response::course::Next;
use crate::response::rates::course_in;

/// Where a run that stops when all is settled has got to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settling {
    /// Pairs of contenders, over all cells.
    pub pairs: usize,
    /// Pairs that another round may settle.
    pub open: usize,
    /// Searches for a redline that are not over.
    pub searches: usize,
    /// Names of the contenders in such pairs and searches.
    pub unsettled: BTreeSet<String>,
}

/// Looks at every pair in every cell measured at capacity. The intervals are those of a rule that allows for looking after
/// each round ([`assay_stats::sequential`]), so the answer may decide whether there is another.
///
/// # Errors
/// [`Unreadable`] when a histogram of the record cannot be read.
pub fn settling(record: &Record) -> Result<Settling, Unreadable> {
    let evidence = &DecodedRecord::of(record)?;
    let mut settling = Settling::default();
    for (cell, contender) in searches(record) {
        let course = course_in(evidence, &contender, &cell);
        if course.is_none_or(|course| matches!(course.next(), Next::Window { .. })) {
            settling.searches += 1;
            settling.unsettled.insert(contender);
        }
    }
    if !record.experiment.until_settled {
        return Ok(settling);
    }
    // A capacity that was not asked for is measured only because rates follow from it.
    let asked_for = |cell: &Cell| {
        let names = |measure: &Measure| {
            measure.rates.contains(&Offered::Capacity) && measure.cells().any(|of| of == *cell)
        };
        record.experiment.measures.iter().any(names)
    };
    let tables = Tables::of(evidence);
    for cell in closed(record).into_iter().filter(asked_for) {
        let (_, pairs) = pairs_in(evidence, &tables, &cell);
        settling.pairs += pairs.len();
        for open in pairs.iter().filter(|pair| !pair.settled) {
            settling.open += 1;
            settling.unsettled.extend(open.names.map(str::to_owned));
        }
    }
    Ok(settling)
}

/// Contenders that are told apart from everybody, and in which cells; nobody where there is nobody else.
pub(crate) fn told_apart(evidence: &DecodedRecord<'_>, tables: &Tables<'_>) -> BTreeSet<(String, Cell)> {
    let mut found = BTreeSet::new();
    for cell in closed(evidence.record) {
        let (names, pairs) = pairs_in(evidence, tables, &cell);
        let is_open = |name: &&str| pairs.iter().any(|pair| !pair.settled && pair.names.contains(name));
        let apart = names.into_iter().filter(|name| !pairs.is_empty() && !is_open(name));
        found.extend(apart.map(|name| (name.to_owned(), cell.clone())));
    }
    found
}

/// Two who are compared in a cell.
struct Compared<'r> {
    names: [&'r str; 2],
    settled: bool,
}

/// Contenders that are compared in a cell, and all pairs of them.
fn pairs_in<'r>(
    evidence: &'r DecodedRecord<'_>,
    tables: &Tables<'_>,
    cell: &Cell,
) -> (Vec<&'r str>, Vec<Compared<'r>>) {
    let names = comparable(evidence, tables, cell);
    let pairs = tables.ranking(cell, &names).pairs;
    let precision = evidence.record.experiment.precision;
    let settled = |a: &str, b: &str| {
        let of_both = |pair: &&Pair| [&pair.faster, &pair.slower].iter().all(|name| *name == a || *name == b);
        pairs.iter().find(of_both).is_some_and(|pair| is_settled(pair, precision))
    };
    let later = |index: usize| names[index + 1..].iter().map(move |second| (index, *second));
    let compared = (0..names.len()).flat_map(later).map(|(index, second)| {
        let names = [names[index], second];
        Compared { names, settled: settled(names[0], second) }
    });
    let compared = compared.collect();
    (names, compared)
}

/// Every redline to be found: a cell and the name of a contender that still takes part.
fn searches(record: &Record) -> Vec<(Cell, String)> {
    let is_search = |cell: &Cell| cell.offered.is_search();
    let cells: Vec<Cell> = record.experiment.cells().into_iter().filter(is_search).collect();
    let proper = record
        .contenders
        .iter()
        .filter(|entry| !entry.identity.is_limit() && !is_control(entry) && entry.not_run.is_none());
    proper.flat_map(|entry| cells.iter().map(|cell| (cell.clone(), entry.identity.name.clone()))).collect()
}

/// Names of the contenders of which another round may tell something: neither given up nor void for what they answered.
fn comparable<'r>(evidence: &'r DecodedRecord<'_>, tables: &Tables<'_>, cell: &Cell) -> Vec<&'r str> {
    let all = samples(evidence, cell);
    let standings = standings(evidence, tables, cell, &all);
    let hopeless = |standing: &Standing| standing.checks.iter().any(Check::is_void);
    let promising = |(sample, standing): &(Sample<'_>, Standing)| {
        !sample.is_limit() && sample.entry.not_run.is_none() && !hopeless(standing)
    };
    all.into_iter()
        .zip(standings)
        .filter(promising)
        .map(|(sample, _)| sample.entry.identity.name.as_str())
        .collect()
}

/// Whether a pair is shown to differ, shown not to, or known as precisely as was asked for.
fn is_settled(pair: &Pair, precision: Option<f64>) -> bool {
    let half_width = (pair.ratio.high / pair.ratio.low).sqrt() - 1.0;
    pair.call != Call::Tie || precision.is_some_and(|goal| half_width <= goal)
}

fn is_control(entry: &Entry) -> bool {
    entry.control_of.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    const A: [f64; 6] = [1000.0, 1010.0, 995.0, 1004.0, 998.0, 1007.0];

    fn settled(record: &Record) -> Settling {
        settling(record).expect("readable")
    }

    fn going_on(series: &[(&str, &[f64])]) -> Record {
        let mut record = testing::record(series);
        record.experiment.until_settled = true;
        record.experiment.rounds = 20;
        record
    }

    #[test]
    fn only_those_of_open_pairs_are_unsettled() {
        let (near, far) = (A.map(|rate| rate * 1.012 + (rate - 1000.0)), A.map(|rate| rate * 2.0));
        let record = going_on(&[("limit", &far), ("a", &A), ("near", &near), ("far", &far)]);
        let settling = settled(&record);
        assert_eq!((settling.pairs, settling.open), (3, 1));
        assert_eq!(settling.unsettled.iter().collect::<Vec<_>>(), ["a", "near"]);
    }

    #[test]
    fn a_precision_that_was_asked_for_settles_a_pair() {
        let near = A.map(|rate| rate * 1.012 + (rate - 1000.0));
        let mut record = going_on(&[("a", &A), ("near", &near)]);
        assert_eq!(settled(&record).open, 1);
        record.experiment.precision = Some(0.2);
        assert_eq!(settled(&record).open, 0);
    }

    #[test]
    fn two_rounds_settle_no_tie_and_one_says_nothing() {
        assert_eq!(settled(&going_on(&[("a", &A[..2]), ("b", &[1001.0, 1010.0])])).open, 1);
        assert_eq!(settled(&going_on(&[("a", &A[..1]), ("b", &[2000.0])])).open, 1);
        assert_eq!(settled(&going_on(&[("a", &A)])).pairs, 0);
    }
}
