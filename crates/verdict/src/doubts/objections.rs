//! What of its windows speaks against a contender: failed requests, and what the generator objected to.

use std::collections::BTreeSet;

use assay_model::check::{Check, CheckOutcome};
use assay_model::evidence::{Evidence, Proportion};
use assay_model::load::ErrorClass;
use assay_model::record::Measurement;
use assay_model::rule::Rule;
use assay_model::units::total;

use crate::MAX_ERROR_SHARE;
use crate::evidence::sample::Sample;

/// Rules of the generator that are judged with the standing, where the server's side and all rounds are known too.
const JUDGED_HERE: [Rule; 4] =
    [Rule::GeneratorSaturated, Rule::Failures, Rule::GeneratorDisturbed, Rule::SendLag];

/// How many of its requests failed, as far as that speaks against it.
pub(crate) fn errors(sample: &Sample<'_>) -> Option<Check> {
    let (failed, all) = sample.measured().fold((0, 0), |(failed, all), window| {
        let own = failures(window);
        (total([failed, own]), total([all, own, window.load.books.ok]))
    });
    if failed == 0 {
        return None;
    }
    let share = failed as f64 / all as f64;
    let seen = sample.measured().flat_map(|window| &window.load.samples).next();
    let evidence = Evidence::Errors {
        failed,
        requests: all,
        example: seen.map(|seen| seen.detail.clone()),
        checked: Vec::new(),
    };
    let outcome = if share > MAX_ERROR_SHARE { CheckOutcome::Void } else { CheckOutcome::Warn };
    Some(Check::objection(Rule::Errors, outcome, evidence))
}

/// Objects to a proxy whose upstream counted fewer requests than it gave right answers: the others it made itself.
pub(crate) fn answered_by_itself(sample: &Sample<'_>) -> Option<Check> {
    let counted = |window: &Measurement| Some((window.load.books.ok, window.upstream.as_ref()?.requests?));
    let counted: Vec<(u64, u64)> = sample.measured().filter_map(counted).collect();
    let answers = total(counted.iter().map(|(right, asked)| right.saturating_sub(*asked)));
    let of = total(counted.iter().map(|(right, _)| *right));
    let share = answers as f64 / of.max(1) as f64;
    let outcome = if share > MAX_ERROR_SHARE { CheckOutcome::Void } else { CheckOutcome::Warn };
    let found = Evidence::AnsweredByItself { answers, of };
    (answers > 0).then(|| Check::objection(Rule::AnsweredByItself, outcome, found))
}

/// In a window whose throughput is void because others had its CPUs, want of an answer says nothing against a server, but a wrong one
/// does. The generator's want of ports never does.
fn failures(window: &Measurement) -> u64 {
    let counts = window.rate_void_rules().is_empty();
    let speaks =
        |class: &ErrorClass| class.is_wrong_answer() || counts && *class != ErrorClass::AddressExhausted;
    total(window.load.books.errors.iter().filter(|(class, _)| speaks(class)).map(|(_, count)| *count))
}

/// What the generator itself said, each rule once with its worst outcome.
pub(crate) fn generator_objections(sample: &Sample<'_>) -> Vec<Check> {
    let objects = |check: &&Check| check.outcome != CheckOutcome::Pass && !JUDGED_HERE.contains(&check.rule);
    let mut found: Vec<Check> = Vec::new();
    for check in sample.measured().flat_map(|window| &window.load.checks).filter(objects) {
        match found.iter_mut().find(|known| known.rule == check.rule) {
            Some(known) if known.outcome >= check.outcome => {}
            Some(known) => *known = check.clone(),
            None => found.push(check.clone()),
        }
    }
    let windows = sample.measured().count();
    for known in &mut found {
        let hit = |window: &&assay_model::record::Measurement| {
            window
                .load
                .checks
                .iter()
                .any(|check| check.rule == known.rule && check.outcome != CheckOutcome::Pass)
        };
        let hits = sample.measured().filter(hit).count();
        known.evidence = Evidence::InWindows {
            worst: Box::new(known.evidence.clone()),
            windows: Proportion::new(hits, windows),
        };
        // A single bad window is no reason to throw the others away; the intervals show it.
        if known.outcome == CheckOutcome::Void && (hits * 2 <= windows || sample.is_limit()) {
            known.outcome = CheckOutcome::Warn;
        }
    }
    found
}

/// The rules for which the throughput of windows of a contender does not count, each once.
pub(crate) fn broken_rules(sample: &Sample<'_>) -> Vec<Rule> {
    let broken: BTreeSet<Rule> = sample.measured().flat_map(Measurement::rate_void_rules).collect();
    let mut rules: Vec<Rule> = broken.into_iter().collect();
    rules.sort_unstable_by_key(|rule| rule.name());
    rules
}
