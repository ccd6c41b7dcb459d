//! What several rules say of one disturbance, in one sentence.

use assay_model::check::Check;
use assay_model::evidence::{Evidence, Proportion};

use super::super::phrases::all_of;
use super::{generator, machine, sentence};

/// A sentence, without its full stop, on who had the CPUs instead, as each of the rules tells it, and what does not count for that.
pub(crate) fn disturbed(checks: &[&Check]) -> String {
    let clauses: Vec<String> = checks.iter().map(|check| clause(check, &check.evidence)).collect();
    let lost = lost(checks).map_or_else(String::new, |lost| format!("; {lost}"));
    format!("{}{lost}", all_of(&clauses))
}

/// What one rule found, without what it costs.
fn clause(check: &Check, evidence: &Evidence) -> String {
    match evidence {
        Evidence::Taken { share, .. } => machine::taken_by(check, *share),
        Evidence::GeneratorWaited { own: Some(own), only_own: true, .. } => clause(check, own),
        Evidence::GeneratorWaited { share, .. } => generator::waited_at_most(*share),
        Evidence::ThreadWaited { waiting_share, .. } => generator::thread_waited(*waiting_share),
        Evidence::InWindows { worst, .. } => clause(check, worst),
        other => sentence(check, other),
    }
}

/// What does not count for all of them together. They may void different windows: then it is no less than for the one that voids
/// most.
fn lost(checks: &[&Check]) -> Option<String> {
    let losses: Vec<(Proportion, Option<Proportion>)> =
        checks.iter().filter_map(|check| loss(&check.evidence)).collect();
    let windows = losses.iter().map(|(windows, _)| *windows).max_by_key(|windows| windows.hits)?;
    let turns = losses.iter().filter_map(|(_, turns)| *turns).max_by_key(|turns| turns.hits);
    let lost = machine::lost(windows, turns)?;
    let of_several = losses.iter().filter(|(windows, turns)| hits(*windows, *turns) > 0).count() > 1;
    let is_all = turns.map_or(windows.hits == windows.of, |turns| turns.hits == turns.of);
    Some(if of_several && !is_all { format!("at least {lost}") } else { lost })
}

/// Windows and turns that do not count for one rule.
fn loss(evidence: &Evidence) -> Option<(Proportion, Option<Proportion>)> {
    match evidence {
        Evidence::Taken { void, turns, .. } => Some((*void, *turns)),
        Evidence::GeneratorWaited { noticeable, void, turns, .. } => {
            Some((Proportion { hits: *void, of: noticeable.of }, *turns))
        }
        _ => None,
    }
}

fn hits(windows: Proportion, turns: Option<Proportion>) -> u64 {
    windows.hits + turns.map_or(0, |turns| turns.hits)
}
