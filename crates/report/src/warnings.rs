//! What speaks against figures: checks that did not pass, gathered by rule, each with the places that it concerns.

pub(crate) mod disturbed;
mod places;

use std::cmp::Reverse;

use assay_model::JsonSchema;
use assay_model::check::{Check, CheckOutcome};
use assay_model::experiment::Cell;
use assay_model::rule::Rule;
use assay_model::verdict::Verdict;
use serde::Serialize;

use crate::words;

pub use places::NotePlace;
use places::{add_place, told_first};
pub(crate) use places::{places_in_short, places_in_words};

/// A rule that was broken, once, with everything it concerns.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Warning {
    /// Stable name of the rule.
    #[schemars(with = "String")]
    pub rule: Rule,
    /// Other rules that tell of the same disturbance, where they are told together.
    #[serde(skip)]
    pub(crate) also: Vec<Rule>,
    /// How bad it is, at its worst.
    pub outcome: CheckOutcome,
    /// The run, where several are told of.
    #[serde(skip)]
    pub(crate) run: Option<String>,
    /// What was seen at its worst place, in a sentence with its figures.
    pub evidence: String,
    /// What to do about it.
    pub remedy: Option<String>,
    /// Contender and cell of each place; empty when it concerns the whole run.
    pub places: Vec<NotePlace>,
}

/// A check that may not have passed, of a whole run or of a contender in a cell.
pub(crate) struct Doubt<'c> {
    /// The run, where several are told of.
    pub(crate) run: Option<&'c str>,
    pub(crate) check: &'c Check,
    pub(crate) place: Option<(&'c str, &'c Cell)>,
}

/// A check that did not pass, at its worst in its run, with every place that it concerns; in no words yet.
#[derive(Clone)]
pub(crate) struct Broken<'c> {
    pub(crate) run: Option<&'c str>,
    pub(crate) check: &'c Check,
    pub(crate) places: Vec<NotePlace>,
}

impl Warning {
    /// One rule in its own words.
    pub(crate) fn of(broken: Broken<'_>) -> Self {
        let Broken { run, check, places } = broken;
        let (run, rule, outcome) = (run.map(str::to_owned), check.rule, check.outcome);
        let (evidence, remedy) = (words::evidence(check), words::remedy(check));
        Self { rule, also: Vec::new(), outcome, run, evidence, remedy, places }
    }

    /// With the place of its figures in the sentence where those of other places differ, for a reader who is told of one place only.
    fn naming_its_place(mut self) -> Self {
        if let Some(others) = self.places.iter().position(|place| place.has_other_figures) {
            let whose = match self.places.first().filter(|_| others > 0) {
                Some(told) => places_in_words(std::slice::from_ref(told)),
                None => "in the whole run".to_owned(),
            };
            self.evidence = format!("{whose}: {}", self.evidence);
        }
        self
    }

    /// What is written before it: whether the number is void or stands with a caveat.
    pub(crate) fn label(&self) -> &'static str {
        if self.outcome == CheckOutcome::Void { "Void" } else { "Warning" }
    }

    /// What is told of it, with its remedy behind, where one is known.
    pub(crate) fn with_remedy(&self, told: &str) -> String {
        words::with_remedy(told, self.remedy.as_deref())
    }

    /// What it is about, in a word or two, and in which run where there are several.
    pub(crate) fn about(&self) -> String {
        let rule = self.rule.name().replace('-', " ");
        let about = if self.also.is_empty() { &*rule } else { "disturbed" };
        self.run.as_ref().map_or_else(|| about.to_owned(), |run| format!("{about} in {run}"))
    }
}

/// Rules that tell what servers did. No quieter machine mends it, so among equally grave ones they come first.
const OF_SERVERS: [Rule; 10] = [
    Rule::AnsweredByItself,
    Rule::Answers,
    Rule::Errors,
    Rule::FailedRuns,
    Rule::Failures,
    Rule::LikeAnswers,
    Rule::RunningServer,
    Rule::ServerEnded,
    Rule::TlsOtherwise,
    Rule::UnsolicitedBytes,
];

/// Every check that did not pass, worst first, one entry per rule; sentences tell of whom they are where that is not plain.
pub(crate) fn warnings(verdict: &Verdict) -> Vec<Warning> {
    broken(verdict).into_iter().map(Warning::of).map(Warning::naming_its_place).collect()
}

/// Every check that did not pass, worst first, one entry per rule.
pub(crate) fn broken(verdict: &Verdict) -> Vec<Broken<'_>> {
    let placed = verdict.judged().flat_map(|judged| {
        let place = Some((judged.contender, judged.cell));
        judged.checks.iter().map(move |check| Doubt { run: None, check, place })
    });
    let whole = verdict.trust.iter().map(|check| Doubt { run: None, check, place: None });
    broken_of(whole.chain(placed))
}

/// What did not pass, worst first, one entry per rule and run.
pub(crate) fn broken_of<'c>(doubts: impl Iterator<Item = Doubt<'c>>) -> Vec<Broken<'c>> {
    let mut broken: Vec<Broken<'c>> = Vec::new();
    for doubt in doubts.filter(|doubt| doubt.check.outcome != CheckOutcome::Pass) {
        gather(&mut broken, doubt);
    }
    broken.iter_mut().for_each(|broken| told_first(&mut broken.places));
    broken.sort_by_key(|broken| (Reverse(broken.check.outcome), !OF_SERVERS.contains(&broken.check.rule)));
    broken
}

fn gather<'c>(all: &mut Vec<Broken<'c>>, Doubt { run, check, place }: Doubt<'c>) {
    let is_it = |broken: &Broken<'_>| broken.run == run && broken.check.rule == check.rule;
    let index = all.iter().position(is_it).unwrap_or_else(|| {
        all.push(Broken { run, check, places: Vec::new() });
        all.len() - 1
    });
    let broken = &mut all[index];
    if check.outcome > broken.check.outcome {
        broken.check = check;
        for mut earlier in std::mem::take(&mut broken.places) {
            earlier.has_other_figures = true;
            add_place(&mut broken.places, earlier);
        }
    }
    let Some((contender, cell)) = place else { return };
    let has_other_figures = check != broken.check;
    add_place(&mut broken.places, NotePlace { has_other_figures, ..NotePlace::of(contender, cell) });
}

#[cfg(test)]
mod tests {
    use assay_model::evidence::Evidence;

    use super::*;

    #[test]
    fn nobody_is_told_of_with_the_figures_of_another() {
        let alike = [100.0, 101.0];
        let record = assay_verdict::testing::record(&[("a", &alike), ("b", &alike), ("c", &alike)]);
        let mut verdict = assay_verdict::judge(&record).expect("readable");
        let errors = |failed, outcome| {
            let evidence = Evidence::Errors { failed, requests: 100, example: None, checked: Vec::new() };
            vec![Check::objection(Rule::Errors, outcome, evidence)]
        };
        verdict.trust.clear();
        for standing in &mut verdict.cells[0].standings {
            let is_first = standing.contender == "a";
            standing.checks =
                if is_first { errors(1, CheckOutcome::Warn) } else { errors(50, CheckOutcome::Void) };
        }
        let told = |verdict: &Verdict| {
            let warning = warnings(verdict).remove(0);
            (warning.evidence, places_in_words(&warning.places))
        };
        let cell = verdict.cells[0].cell.clone();
        let at = format!("({} at {})", cell.workload, cell.connections);
        let (evidence, places) = told(&verdict);
        assert!(evidence.starts_with(&format!("b {at}: 50 of 100 requests failed")), "{evidence}");
        assert_eq!(places, format!("b, c {at}; with other figures: a {at}"));
        let own = words::evidence(broken(&verdict)[0].check);
        assert!(own.starts_with("50 of 100"), "a list of places beside it tells whose it is: {own}");
        verdict.trust = errors(101, CheckOutcome::Void);
        let (evidence, places) = told(&verdict);
        assert!(evidence.starts_with("in the whole run: 101 of 100"), "{evidence}");
        assert_eq!(places, format!("with other figures: a, b, c {at}"));
    }
}
