//! Rules that tell of one and the same disturbance, told as one: what others took of the CPUs.

use assay_model::check::Check;
use assay_model::evidence::Evidence;
use assay_model::rule::Rule;

use super::{Broken, Warning};
use crate::words;

/// The rules that tell who had the CPUs instead, each by another counter, in the order in which they are told.
const OF_OTHERS: [Rule; 4] = [Rule::Steal, Rule::OtherPrograms, Rule::Pressure, Rule::GeneratorDisturbed];

/// Warnings, worst first; the rules that tell what others took of the CPUs in a run are one of them, as grave as the gravest.
pub(crate) fn folded(broken: Vec<Broken<'_>>) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (at, one) in broken.iter().enumerate() {
        let disturbed = |other: &&Broken<'_>| is_of_others(other.check) && other.run == one.run;
        let alike: Vec<&Broken<'_>> = broken.iter().filter(disturbed).collect();
        if !is_of_others(one.check) || alike.len() < 2 {
            warnings.push(Warning::of(one.clone()));
        } else if !broken[..at].iter().any(|earlier| disturbed(&earlier)) {
            // The gravest of them stands here, so all are in order.
            warnings.push(in_one(&alike));
        }
    }
    warnings
}

/// Several rules as one. At least one of them speaks of the whole run, so no places are named.
fn in_one(disturbed: &[&Broken<'_>]) -> Warning {
    let mut checks: Vec<&Check> = disturbed.iter().map(|broken| broken.check).collect();
    checks.sort_by_key(|check| OF_OTHERS.iter().position(|rule| *rule == check.rule));
    let gravest = checks.iter().max_by_key(|check| check.outcome).map_or(checks[0], |check| *check);
    let also = checks.iter().map(|check| check.rule).filter(|rule| *rule != gravest.rule);
    Warning {
        rule: gravest.rule,
        also: also.collect(),
        outcome: gravest.outcome,
        run: disturbed.first().and_then(|broken| broken.run).map(str::to_owned),
        evidence: words::disturbed(&checks),
        remedy: Some(words::remedy_of_disturbance(&checks)),
        places: Vec::new(),
    }
}

/// Whether it tells what others took; what the database and the upstream of this very run take has a remedy of its own.
fn is_of_others(check: &Check) -> bool {
    OF_OTHERS.contains(&check.rule) && !is_of_our_making(&check.evidence)
}

fn is_of_our_making(evidence: &Evidence) -> bool {
    match evidence {
        Evidence::ThreadWaited { beside_database, beside_upstream, .. } => {
            *beside_database || *beside_upstream
        }
        Evidence::GeneratorWaited { own: Some(own), .. } => is_of_our_making(own),
        Evidence::InWindows { worst, .. } => is_of_our_making(worst),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use assay_model::check::CheckOutcome;
    use assay_model::evidence::Proportion;

    use super::*;

    fn taken(rule: Rule, outcome: CheckOutcome, turns: usize) -> Check {
        let evidence = Evidence::Taken {
            share: 0.67,
            void: Proportion::new(6, 6),
            turns: Some(Proportion::new(turns, 66)),
        };
        Check::objection(rule, outcome, evidence)
    }

    fn waited(own: Option<Evidence>) -> Check {
        let evidence = Evidence::GeneratorWaited {
            share: 0.43,
            noticeable: Proportion::new(6, 6),
            void: 2,
            turns: Some(Proportion::new(60, 66)),
            own: own.map(Box::new),
            only_own: false,
            beside_server: None,
        };
        Check::objection(Rule::GeneratorDisturbed, CheckOutcome::Warn, evidence)
    }

    fn told(checks: &[Check]) -> Vec<Warning> {
        folded(checks.iter().map(|check| Broken { run: None, check, places: Vec::new() }).collect())
    }

    #[test]
    fn what_others_took_is_told_in_one_sentence_as_grave_as_the_gravest() {
        let pressure =
            Check::objection(Rule::Pressure, CheckOutcome::Warn, Evidence::Pressure { share: 0.39 });
        let build = Check::objection(Rule::WarmUp, CheckOutcome::Warn, Evidence::RightAnswers { ok: 7 });
        let others = taken(Rule::OtherPrograms, CheckOutcome::Void, 66);
        // Worst first, as they are gathered.
        let told = told(&[others, waited(None), build, pressure]);
        let rules: Vec<Rule> = told.iter().map(|warning| warning.rule).collect();
        assert_eq!(rules, [Rule::OtherPrograms, Rule::WarmUp]);
        assert_eq!(told[0].also, [Rule::Pressure, Rule::GeneratorDisturbed]);
        assert_eq!(told[0].outcome, CheckOutcome::Void);
        assert_eq!(
            told[0].evidence,
            "other programs used up to 67 % of the server's CPUs, tasks of others waited for a CPU 39 % of the time in half of \
             the windows and the generator waited for its CPU up to 43 % of a window; 66 of 66 turns do not count, nor do the \
             percentiles of 6 of 6 windows"
        );
        let remedy = |told: &[Warning]| told[0].remedy.clone().unwrap_or_default();
        assert!(remedy(&told).starts_with("stop the other programs"), "{}", remedy(&told));
    }

    #[test]
    fn losses_to_different_rules_are_a_least_number_and_a_hypervisor_has_its_own_remedy() {
        let told = told(&[waited(None), taken(Rule::Steal, CheckOutcome::Warn, 12)]);
        assert_eq!(told.len(), 1);
        let evidence = &told[0].evidence;
        assert!(
            evidence.ends_with(
                "; at least 60 of 66 turns do not count, nor do the percentiles of 6 of 6 windows"
            )
        );
        assert!(
            evidence.starts_with("a hypervisor took up to 67 % of a window's CPU time and the gen"),
            "{evidence}"
        );
        assert!(told[0].remedy.as_deref().is_some_and(|remedy| remedy.contains("not shared")));
    }

    #[test]
    fn what_tells_of_something_else_stays_by_itself() {
        let beside = Evidence::ThreadWaited {
            waiting_share: 0.2,
            involuntary_switches: 9,
            beside_database: true,
            beside_upstream: false,
            beside_server: None,
        };
        let others = taken(Rule::OtherPrograms, CheckOutcome::Warn, 1);
        let told = told(&[waited(Some(beside)), others]);
        assert!(told.len() == 2 && told.iter().all(|warning| warning.also.is_empty()), "{told:?}");
        assert!(told.iter().any(|warning| warning.evidence.contains("it says itself")), "{told:?}");
    }
}
