//! What may be said of figures that somebody else measured: what they are, and that nobody can tell how sure they are.

use std::collections::BTreeMap;

use assay_model::check::{Check, CheckOutcome};
use assay_model::evidence::{Bottleneck, Evidence, Withheld};
use assay_model::experiment::Cell;
use assay_model::imported::Imported;
use assay_model::rule::Rule;
use assay_model::units::total;
use assay_model::verdict::{CellVerdict, LimitedBy, Price, Standing, Verdict};

use crate::capacity::cell::fastest_first;
use crate::evidence::sample::{Sample, samples};
use crate::evidence::window::DecodedRecord;
use crate::{closed, point};

/// The figures as they are: no interval, no tier, no pair, no share of a limit.
pub(super) fn judge(evidence: &DecodedRecord<'_>, imported: &Imported) -> Verdict {
    let record = evidence.record;
    let cells: Vec<CellVerdict> = closed(record).iter().map(|cell| judge_cell(evidence, cell)).collect();
    Verdict { trust: trust(imported), rounds: 1, cells, ..Verdict::default() }
}

fn trust(imported: &Imported) -> Vec<Check> {
    let origin = Evidence::Imported { origin: imported.clone() };
    vec![
        Check::objection(Rule::Imported, CheckOutcome::Warn, origin),
        Check::objection(Rule::SingleRun, CheckOutcome::Warn, Evidence::SingleRun),
    ]
}

fn judge_cell(evidence: &DecodedRecord<'_>, cell: &Cell) -> CellVerdict {
    let mut standings: Vec<Standing> = samples(evidence, cell).iter().map(standing).collect();
    standings.sort_by(fastest_first);
    CellVerdict { cell: cell.clone(), standings, pairs: Vec::new(), margin: 0.0, detectable: None }
}

fn standing(sample: &Sample<'_>) -> Standing {
    let rates = sample.rates();
    let rate = rates.iter().flatten().next().copied();
    Standing {
        contender: sample.entry.identity.name.clone(),
        throughput_per_second: rate.map(point),
        trimmed_mean_per_second: None,
        rounds_per_second: rates,
        share_of_limit: None,
        tier: None,
        letters: String::new(),
        p50_ns: None,
        p99_ns: None,
        cpu_per_request_ns: None,
        price_per_million: None,
        energy: None,
        server_busy_share: None,
        generator_busy_share: None,
        memory_bytes: None,
        startup_ns: None,
        conformance: sample.entry.conformance.as_ref().map(|found| found.score()),
        failed: sample.failed_of().0,
        limited_by: LimitedBy::Unknown,
        limit_evidence: Bottleneck::SourceSilent,
        headroom: None,
        price: Price::default(),
        ages: None,
        checks: errors(sample).into_iter().collect(),
        withheld: rate.is_none().then_some(Withheld::SourceSilent),
    }
}

fn errors(sample: &Sample<'_>) -> Option<Check> {
    let mut errors = BTreeMap::new();
    for (class, count) in sample.measured().flat_map(|window| &window.load.books.errors) {
        let so_far = errors.entry(*class).or_default();
        *so_far = total([*so_far, *count]);
    }
    let told = !errors.is_empty();
    told.then(|| Check::objection(Rule::Errors, CheckOutcome::Warn, Evidence::SourceErrors { errors }))
}
