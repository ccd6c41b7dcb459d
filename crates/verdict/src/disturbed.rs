//! Whether threads of the generator had to wait for a CPU: one rule with two witnesses. The runner counts the waiting of all
//! threads together, the generator that of its longest-waiting one.

use assay_model::check::{Check, Outcome};
use assay_model::record::Measurement;
use assay_model::rule::Rule;

use super::standing::NOTICEABLE_SHARE;
use super::words::{count_of, percent};
use super::{objection, pass};

const REMEDY: &str = "keep other programs off the generator's CPUs: `assay doctor` shows what they take";

/// What both witnesses say of these windows. The outcome is `Warn` where some objects: single windows become void by
/// [`Measurement::void_rules`]; a caller knows what it means when all are.
pub(crate) fn check(windows: &[&Measurement]) -> Check {
    let worst = windows.iter().map(|window| window.generator_delay_share()).fold(0.0, f64::max);
    let disturbed = windows.iter().filter(|window| is_disturbed(window)).count();
    let evidence = format!("the generator waited for its CPU up to {} of a window", percent(worst));
    if disturbed == 0 {
        return pass(Rule::GeneratorDisturbed, evidence);
    }
    let own = windows.iter().filter_map(|window| own_word(window));
    let own = own.max_by_key(|check| check.outcome).filter(|check| check.outcome != Outcome::Pass);
    let said = own.map_or_else(String::new, |check| format!("; it says itself: {}", check.evidence));
    let void = windows.iter().filter(|window| is_void(window)).count();
    let lost = if void == 0 { String::new() } else { format!(", {void} of which do not count") };
    let evidence =
        format!("{evidence}, noticeably in {disturbed} of {}{lost}{said}", count_of(windows.len(), "window"));
    // Where only the generator objects, it knows better what it waited for (a database on the same CPUs).
    let own_remedy = own.and_then(|check| check.remedy.as_deref()).filter(|_| worst <= NOTICEABLE_SHARE);
    objection(Rule::GeneratorDisturbed, Outcome::Warn, evidence, own_remedy.unwrap_or(REMEDY))
}

/// Whether that alone makes the window void.
pub(crate) fn is_void(window: &Measurement) -> bool {
    window.void_rules().contains(&Rule::GeneratorDisturbed)
}

fn is_disturbed(window: &Measurement) -> bool {
    let objects = |check: &Check| check.outcome != Outcome::Pass;
    window.generator_delay_share() > NOTICEABLE_SHARE || own_word(window).is_some_and(objects)
}

/// What the generator said of it.
fn own_word(window: &Measurement) -> Option<&Check> {
    window.load.checks.iter().find(|check| check.rule == Rule::GeneratorDisturbed)
}
