//! Whether threads of the generator had to wait for a CPU: one rule with two witnesses. The runner counts the waiting of all
//! threads together, the generator that of its longest-waiting one.

use assay_model::check::{Check, CheckOutcome};
use assay_model::evidence::{Evidence, Part};
use assay_model::record::Measurement;
use assay_model::rule::Rule;

use super::NOTICEABLE_SHARE;

/// What both witnesses say of these windows. The outcome is `Warn` where some objects: single windows become void by
/// [`Measurement::void_rules`]; a caller knows what it means when all are.
pub(crate) fn check(windows: &[&Measurement]) -> Check {
    let share = windows.iter().map(|window| window.generator_delay_share()).fold(0.0, f64::max);
    let noticeable = windows.iter().filter(|window| is_disturbed(window)).count();
    let own = windows.iter().filter_map(|window| own_word(window));
    let own = own.max_by_key(|check| check.outcome).filter(|check| check.outcome != CheckOutcome::Pass);
    let evidence = Evidence::GeneratorWaited {
        share,
        noticeable: Part::new(noticeable, windows.len()),
        void: windows.iter().filter(|window| is_void(window)).count() as u64,
        own: own.map(|check| Box::new(check.evidence.clone())),
        only_own: own.is_some() && share <= NOTICEABLE_SHARE,
    };
    let outcome = if noticeable == 0 { CheckOutcome::Pass } else { CheckOutcome::Warn };
    Check { rule: Rule::GeneratorDisturbed, outcome, evidence }
}

/// Whether that alone makes the window void.
pub(crate) fn is_void(window: &Measurement) -> bool {
    window.void_rules().contains(&Rule::GeneratorDisturbed)
}

fn is_disturbed(window: &Measurement) -> bool {
    let objects = |check: &Check| check.outcome != CheckOutcome::Pass;
    window.generator_delay_share() > NOTICEABLE_SHARE || own_word(window).is_some_and(objects)
}

/// What the generator said of it.
fn own_word(window: &Measurement) -> Option<&Check> {
    window.load.checks.iter().find(|check| check.rule == Rule::GeneratorDisturbed)
}
