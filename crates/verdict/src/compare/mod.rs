//! What changed from one contender to another, be it in the same run or in different ones.
//!
//! Pure functions of records. Contenders of one run are compared within its rounds; those of different runs by their means
//! (Welch), with a caveat for everything that differed besides them.

mod caveats;
mod change;
mod series;
mod sides;
mod threshold;

use assay_model::comparison::{COMPARISON_SCHEMA, Comparison, Pairing, Row, Subject, Threshold};
use assay_model::experiment::Cell;
use assay_model::record::Record;
use assay_model::verdict::Verdict;

use crate::{CONFIDENCE, Ending, Evidence, judge_evidence};

pub use sides::{CompareError, Side, interleaved};

/// Compares each of `news` with `base`, and the changes with the thresholds.
///
/// # Errors
/// [`CompareError`] when it cannot be told what shall be compared with what, nothing can, or a histogram cannot be read.
pub fn compare(base: &Side, news: &[Side], thresholds: &[Threshold]) -> Result<Comparison, CompareError> {
    let of_base = Evidence::of(&base.record)?;
    let of_news = news.iter().map(|new| Evidence::of(&new.record)).collect::<Result<Vec<_>, _>>()?;
    let base_verdict = judge_evidence(&of_base);
    let judged: Vec<(&Side, &Evidence<'_>, Verdict)> =
        news.iter().zip(&of_news).map(|(new, evidence)| (new, evidence, judge_evidence(evidence))).collect();
    let mut planned = Vec::new();
    for (new, evidence, verdict) in &judged {
        for (one, other) in sides::matched(base, new)? {
            let cells = common_cells(&base.record, &new.record);
            planned.extend(cells.into_iter().map(|cell| Planned {
                cell,
                base: Party { evidence: &of_base, verdict: &base_verdict, contender: one.clone() },
                new: Party { evidence, verdict, contender: other.clone() },
            }));
        }
    }
    if planned.is_empty() {
        return Err(CompareError::NothingInCommon);
    }
    let margin = judged.iter().map(|(_, _, verdict)| verdict.margin).fold(base_verdict.margin, f64::max);
    let rows: Vec<Row> = planned.iter().map(|row| judge_row(row, planned.len(), margin)).collect();
    let one_run = news.iter().all(|new| new.record.id == base.record.id);
    Ok(Comparison {
        schema: COMPARISON_SCHEMA.to_owned(),
        pairing: if one_run { Pairing::Rounds } else { Pairing::Runs },
        confidence: CONFIDENCE,
        margin,
        caveats: caveats::caveats(base, news),
        findings: threshold::findings(thresholds, &rows),
        rows,
    })
}

/// How a comparison ended: with a regression when a threshold was crossed beyond the noise; with `strict`, void when
/// something that was to be judged could not be.
pub fn ending(comparison: &Comparison, strict: bool) -> Ending {
    use assay_model::comparison::Crossing;
    let any = |outcome: Crossing| comparison.findings.iter().any(|finding| finding.outcome == outcome);
    let withheld = comparison.rows.iter().any(|row| row.withheld.is_some());
    if any(Crossing::Shown) {
        Ending::Regression
    } else if strict && (withheld || any(Crossing::Unknown)) {
        Ending::Void
    } else {
        Ending::Fine
    }
}

/// One contender of a record that was judged.
struct Party<'r> {
    evidence: &'r Evidence<'r>,
    verdict: &'r Verdict,
    contender: String,
}

/// A row before it is judged.
struct Planned<'r> {
    cell: Cell,
    base: Party<'r>,
    new: Party<'r>,
}

impl Party<'_> {
    fn subject(&self) -> Subject {
        Subject { run: self.evidence.record.id.clone(), contender: self.contender.clone() }
    }

    /// Why the verdict tells nothing of it in a cell.
    fn withheld(&self, cell: &Cell) -> Option<String> {
        let closed = self.verdict.cells.iter().filter(|verdict| verdict.cell == *cell);
        let closed = closed.flat_map(|verdict| &verdict.standings).map(|s| (&s.contender, &s.withheld));
        let open = self.verdict.latency.iter().filter(|verdict| verdict.cell == *cell);
        let open = open.flat_map(|verdict| &verdict.standings).map(|s| (&s.contender, &s.withheld));
        let mut told = closed.chain(open).filter(|(contender, _)| **contender == self.contender);
        told.find_map(|(_, withheld)| withheld.clone())
    }
}

/// Cells that both measured with the same requests. A redline is searched, not measured, and has no windows to compare; of
/// a number of requests the end says more than the rate.
fn common_cells(base: &Record, new: &Record) -> Vec<Cell> {
    let workload = |record: &Record, name: &str| record.workloads.iter().find(|w| w.name == name).cloned();
    let cells = new.experiment.cells();
    let common = |cell: &Cell| {
        cells.contains(cell)
            && (cell.offered.is_capacity() || cell.offered.is_rate())
            && workload(base, &cell.workload) == workload(new, &cell.workload)
    };
    base.experiment.cells().into_iter().filter(common).collect()
}

fn judge_row(row: &Planned<'_>, rows: usize, margin: f64) -> Row {
    let because =
        |party: &Party<'_>| party.withheld(&row.cell).map(|reason| format!("{}: {reason}", party.contender));
    let withheld = because(&row.base).or_else(|| because(&row.new));
    let changes = if withheld.is_none() { change::changes(row, rows, margin) } else { Vec::new() };
    let nothing = || changes.is_empty().then(|| "not measured on both sides".to_owned());
    Row {
        cell: row.cell.clone(),
        base: row.base.subject(),
        new: row.new.subject(),
        withheld: withheld.or_else(nothing),
        changes,
    }
}

#[cfg(test)]
mod tests;
