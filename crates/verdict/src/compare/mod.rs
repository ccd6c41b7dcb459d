//! What changed from one contender to another, be it in the same run or in different ones.
//!
//! Pure functions of records. Contenders of one run are compared within its rounds; those of different runs by their means
//! (Welch), with a caveat for everything that differed besides them.

mod caveats;
mod change;
mod series;
mod sides;
mod threshold;

use assay_model::check::{Check, CheckOutcome};
use assay_model::comparison::{
    COMPARISON_SCHEMA, Comparison, Objection, Pairing, Row, RunCheck, Subject, Threshold,
};
use assay_model::design::Design;
use assay_model::evidence::Withheld;
use assay_model::experiment::Cell;
use assay_model::record::Record;
use assay_model::rule::Rule;
use assay_model::verdict::{Call, SelfRatio, Verdict};
use assay_stats::simultaneous::each_of;
use assay_stats::tiers::{LEAST_MARGIN, margin_beyond_bias};

use crate::capacity::duet::{self, Played};
use crate::capacity::tables::Tables;
use crate::doubts::answers;
use crate::doubts::looks::looks;
use crate::{CONFIDENCE, DecodedRecord, Ending, MAX_ERROR_SHARE, judge_evidence};

pub use sides::{CompareError, Side, interleaved};

/// Compares each of `news` with `base`, and the changes with the thresholds.
///
/// # Errors
/// [`CompareError`] when it cannot be told what shall be compared with what, nothing can, or a histogram cannot be read.
pub fn compare(base: &Side, news: &[Side], thresholds: &[Threshold]) -> Result<Comparison, CompareError> {
    let of_base = DecodedRecord::of(&base.record)?;
    let of_news = news.iter().map(|new| DecodedRecord::of(&new.record)).collect::<Result<Vec<_>, _>>()?;
    let base_verdict = judge_evidence(&of_base);
    let judged: Vec<(&Side, &DecodedRecord<'_>, Verdict)> =
        news.iter().zip(&of_news).map(|(new, evidence)| (new, evidence, judge_evidence(evidence))).collect();
    let is_of_base = |new: &Side| new.record.id == base.record.id;
    let tables = news.iter().any(is_of_base).then(|| Tables::of(&of_base));
    let mut planned = Vec::new();
    for (new, evidence, verdict) in &judged {
        let tables = tables.as_ref().filter(|_| is_of_base(new));
        for (one, other) in sides::matched(base, new)? {
            let cells = common_cells(&base.record, &new.record);
            planned.extend(cells.into_iter().map(|cell| Planned {
                cell,
                tables,
                base: Party { evidence: &of_base, verdict: &base_verdict, contender: one.clone() },
                new: Party { evidence, verdict, contender: other.clone() },
            }));
        }
    }
    if planned.is_empty() {
        return Err(CompareError::NothingInCommon);
    }
    let turned = judged.iter().map(|(_, _, verdict)| verdict.margin).fold(base_verdict.margin, f64::max);
    let (control, at_once) = of_control(&planned);
    let margins = Margins { turned, at_once };
    let rows: Vec<Row> = planned.iter().map(|row| judge_row(row, planned.len(), &margins)).collect();
    let differences: Vec<Option<Check>> = planned.iter().map(Planned::difference).collect();
    let alike: Vec<bool> =
        differences.iter().map(|found| !found.as_ref().is_some_and(Check::is_void)).collect();
    let one_run = news.iter().all(is_of_base);
    let comparing = base.record.experiment.comparing.clone().filter(|_| one_run);
    let is_duet = comparing.as_ref().is_some_and(|comparing| comparing.design == Design::Duet);
    let mut caveats = caveats::caveats(base, news, differences.into_iter().flatten());
    caveats.extend(caveats::partial(base, news));
    caveats.extend(caveats::disagreements(&rows));
    caveats.extend(planned.iter().filter_map(caveats::lost_pairs));
    caveats.extend(caveats::without_control(&base.record).filter(|_| one_run));
    let of_turns = || base_verdict.noise_floor.as_ref().map(|floor| floor.ratios.clone()).unwrap_or_default();
    Ok(Comparison {
        schema: COMPARISON_SCHEMA.to_owned(),
        pairing: if one_run { Pairing::Rounds } else { Pairing::Runs },
        control: match (is_duet, &comparing) {
            (true, _) => control,
            (false, Some(_)) => of_turns(),
            (false, None) => Vec::new(),
        },
        comparing,
        confidence: CONFIDENCE,
        margin: margins.of(if is_duet { Design::Duet } else { Design::Alternating }),
        caveats,
        trust: trust((base, &base_verdict), &judged, one_run),
        objections: objections(&planned, one_run),
        findings: threshold::findings(thresholds, &rows, &alike),
        rows,
    })
}

/// How a comparison ended: with a regression when a threshold was crossed beyond the noise; void when one was to be judged and
/// the sides do not answer alike, and with `strict` when anything could not be judged.
pub fn ending(comparison: &Comparison, strict: bool) -> Ending {
    use assay_model::comparison::ThresholdOutcome;
    let any =
        |outcome: ThresholdOutcome| comparison.findings.iter().any(|finding| finding.outcome == outcome);
    let withheld = comparison.rows.iter().any(|row| row.withheld.is_some());
    let unlike = comparison.caveats.iter().any(|check| check.rule == Rule::LikeAnswers && check.is_void());
    if any(ThresholdOutcome::Shown) {
        Ending::Regression
    } else if any(ThresholdOutcome::NotAlike)
        || strict && (withheld || unlike || any(ThresholdOutcome::Unknown))
    {
        Ending::Void
    } else {
        Ending::Fine
    }
}

/// The smallest difference that is called one, by the design that shows it: each has a control of its own.
struct Margins {
    turned: f64,
    at_once: f64,
}

impl Margins {
    fn of(&self, design: Design) -> f64 {
        match design {
            Design::Alternating => self.turned,
            Design::Duet => self.at_once,
        }
    }
}

/// The base's duet with its control in each cell, simultaneous over the cells, and the margin that its bias leaves.
fn of_control(planned: &[Planned<'_>]) -> (Vec<SelfRatio>, f64) {
    let mut cells: Vec<&Planned<'_>> = Vec::new();
    for row in planned {
        if cells.iter().all(|known| known.cell != row.cell) {
            cells.push(row);
        }
    }
    let confidence = each_of(cells.len().max(1), CONFIDENCE);
    let ratio = |row: &&Planned<'_>| {
        let Party { evidence, contender, .. } = &row.base;
        let entries = &evidence.record.contenders;
        let control = entries.iter().find(|entry| entry.control_of.as_ref() == Some(contender))?;
        let played = Played::of(evidence, &row.cell, contender, &control.identity.name);
        let (told, _) = played.ratio(looks(evidence.record), confidence)?;
        Some((row.cell.clone(), told))
    };
    let ratios: Vec<_> = cells.iter().filter_map(ratio).collect();
    let margin = ratios
        .iter()
        .map(|(_, told)| margin_beyond_bias(LEAST_MARGIN, Some(&told.ratio)))
        .fold(LEAST_MARGIN, f64::max);
    let control = ratios.into_iter().map(|(cell, told)| SelfRatio {
        cell,
        ratio: assay_model::verdict::Interval { confidence: CONFIDENCE, ..crate::interval(told.ratio) },
    });
    (control.collect(), margin)
}

/// What passed is told where all come from one run; else only what did not, each once for its run.
fn trust(
    base: (&Side, &Verdict),
    judged: &[(&Side, &DecodedRecord<'_>, Verdict)],
    one_run: bool,
) -> Vec<RunCheck> {
    let mut told: Vec<RunCheck> = Vec::new();
    let news = judged.iter().map(|(side, _, verdict)| (*side, verdict));
    let all = std::iter::once(base).chain(news);
    for (side, check) in all.flat_map(|(side, verdict)| verdict.trust.iter().map(move |check| (side, check)))
    {
        let check = if one_run { check.clone() } else { without_gauge(check.clone()) };
        let check = RunCheck { run: (!one_run).then(|| side.record.id.clone()), check };
        if (one_run || check.check.outcome != CheckOutcome::Pass) && !told.contains(&check) {
            told.push(check);
        }
    }
    told
}

/// A check that claims nothing of the gauge: what that explains is not taken out of the rates of different runs.
fn without_gauge(mut check: Check) -> Check {
    if let assay_model::evidence::Evidence::MachineSpeed { gauge, .. } = &mut check.evidence {
        *gauge = None;
    }
    check
}

/// What speaks against the figures of those who are compared, each once.
fn objections(planned: &[Planned<'_>], one_run: bool) -> Vec<Objection> {
    let mut told: Vec<Objection> = Vec::new();
    for (row, party) in planned.iter().flat_map(|row| [(row, &row.base), (row, &row.new)]) {
        let checks = party.checks(&row.cell).filter(|check| check.outcome != CheckOutcome::Pass);
        for check in checks {
            let Subject { run, contender } = party.subject();
            let run = (!one_run).then_some(run);
            let objection = Objection { run, contender, cell: row.cell.clone(), check: check.clone() };
            if !told.contains(&objection) {
                told.push(objection);
            }
        }
    }
    told
}

/// One contender of a record that was judged.
struct Party<'r> {
    evidence: &'r DecodedRecord<'r>,
    verdict: &'r Verdict,
    contender: String,
}

/// A row before it is judged.
struct Planned<'r> {
    cell: Cell,
    /// The tables of the run, where both are of one.
    tables: Option<&'r Tables<'r>>,
    base: Party<'r>,
    new: Party<'r>,
}

impl Planned<'_> {
    /// How the answers of both sides differ.
    fn difference(&self) -> Option<Check> {
        let [base, new] =
            [&self.base, &self.new].map(|party| (party.evidence.record, party.contender.as_str()));
        answers::difference(base, new, &self.cell.workload)
    }

    /// Whether the verdict of the run that both are of shows them to differ at capacity.
    fn is_shown(&self) -> bool {
        let both = [&self.base.contender, &self.new.contender];
        let of_cell = self.base.verdict.cells.iter().filter(|judged| judged.cell == self.cell);
        of_cell.flat_map(|judged| &judged.pairs).any(|pair| {
            pair.call == Call::Distinct && [&pair.faster, &pair.slower].iter().all(|name| both.contains(name))
        })
    }

    /// The windows in which both were under load; none where they come from different runs.
    fn played(&self) -> Played {
        let Self { cell, base, new, .. } = self;
        match base.evidence.record.id == new.evidence.record.id {
            true => Played::of(base.evidence, cell, &base.contender, &new.contender),
            false => Played::default(),
        }
    }

    /// Why the verdict tells nothing of one of the two.
    fn withheld(&self) -> Option<Withheld> {
        let because = |party: &Party<'_>| {
            let because = Box::new(party.withheld(&self.cell)?);
            Some(Withheld::Of { contender: party.contender.clone(), because })
        };
        match (because(&self.base), because(&self.new)) {
            // What speaks against windows of one at a time does not hide what speaks against all.
            (Some(base), Some(new)) if is_of_turns(&base) => Some(new),
            (base, new) => base.or(new),
        }
    }
}

/// Whether only windows of one at a time are the reason, which says nothing against those of two at once.
fn is_of_turns(withheld: &Withheld) -> bool {
    match withheld {
        Withheld::Of { because, .. } => is_of_turns(because),
        Withheld::AllVoid { .. } | Withheld::FewWindows { .. } => true,
        _ => false,
    }
}

impl Party<'_> {
    fn subject(&self) -> Subject {
        Subject { run: self.evidence.record.id.clone(), contender: self.contender.clone() }
    }

    /// Why the verdict tells nothing of it in a cell.
    fn withheld(&self, cell: &Cell) -> Option<Withheld> {
        let closed = self.verdict.cells.iter().filter(|verdict| verdict.cell == *cell);
        let closed = closed.flat_map(|verdict| &verdict.standings).map(|s| (&s.contender, &s.withheld));
        let open = self.verdict.latency.iter().filter(|verdict| verdict.cell == *cell);
        let open = open.flat_map(|verdict| &verdict.standings).map(|s| (&s.contender, &s.withheld));
        let mut told = closed.chain(open).filter(|(contender, _)| **contender == self.contender);
        match told.find_map(|(_, withheld)| withheld.clone()) {
            Some(of_turns) if is_of_turns(&of_turns) => self.failed_at_once(cell).or(Some(of_turns)),
            told => told.or_else(|| self.failed_at_once(cell)),
        }
    }

    /// Whether it failed too often while another was under load beside it.
    fn failed_at_once(&self, cell: &Cell) -> Option<Withheld> {
        let server_runs = self.evidence.server_runs(&self.contender, cell).into_iter().flatten();
        let share = duet::failed_share(
            server_runs.filter_map(|server_run| server_run.window(cell)).map(|window| window.measured),
        );
        (share > MAX_ERROR_SHARE).then_some(Withheld::FailedAtOnce { share })
    }

    /// The verdict's checks of it in a cell.
    fn checks(&self, cell: &Cell) -> impl Iterator<Item = &Check> {
        let closed = self.verdict.cells.iter().filter(move |verdict| verdict.cell == *cell);
        let closed = closed.flat_map(|verdict| &verdict.standings).map(|s| (&s.contender, &s.checks));
        let open = self.verdict.latency.iter().filter(move |verdict| verdict.cell == *cell);
        let open = open.flat_map(|verdict| &verdict.standings).map(|s| (&s.contender, &s.checks));
        let told = closed.chain(open).filter(|(contender, _)| **contender == self.contender);
        told.flat_map(|(_, checks)| checks)
    }
}

/// Cells that both measured with the same requests. A redline is searched, not measured, and has no windows to compare; of
/// a number of requests the end says more than the rate.
fn common_cells(base: &Record, new: &Record) -> Vec<Cell> {
    let requests = |record: &Record, name: &str| {
        record
            .workloads
            .iter()
            .find(|workload| workload.name == name)
            .map(|workload| workload.requests.clone())
    };
    let cells = new.experiment.cells();
    let common = |cell: &Cell| {
        cells.contains(cell)
            && (cell.offered.is_capacity() || cell.offered.is_rate())
            && requests(base, &cell.workload) == requests(new, &cell.workload)
    };
    base.experiment.cells().into_iter().filter(common).collect()
}

fn judge_row(row: &Planned<'_>, rows: usize, margins: &Margins) -> Row {
    let withheld = row.withheld();
    let of_turns = withheld.as_ref().is_some_and(is_of_turns);
    let changes = match (&withheld, of_turns) {
        (None, _) => change::changes(row, rows, margins),
        (Some(_), true) => change::of_duet_alone(row, rows, margins).into_iter().collect(),
        (Some(_), false) => Vec::new(),
    };
    let nothing = || withheld.unwrap_or(Withheld::NotOnBothSides);
    Row {
        cell: row.cell.clone(),
        base: row.base.subject(),
        new: row.new.subject(),
        withheld: changes.is_empty().then(nothing),
        changes,
    }
}

#[cfg(test)]
mod tests;
