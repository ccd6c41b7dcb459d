//! The A/A pair: one contender takes part a second time, started independently under another name, so that every run shows
//! how far equals seem to differ on this machine on this day (docs/method/rounds.md#the-aa-control).

use std::collections::BTreeMap;

use assay_model::record::Entry;
use assay_model::units::Nanos;

use crate::plan::RunPlan;
use crate::schedule::choice;
use crate::subject::{Launch, Subject};

/// What follows the name of the contender in that of its A/A control.
const MARK: char = '′';

/// A second part for one of those who are ready, with its entry; `entries` belong to the plan's subjects.
///
/// The seed chooses among the contenders that assay starts itself: whoever were chosen by hand — the fastest, or the limit,
/// whose generator is busier than with any other — would stand for itself only. Where it is known what they take to start, it chooses
/// among the quicker half, because a control is started and gets warm in each round. Servers that are running already are not
/// restarted, and the limit is not what is compared, so these come next.
pub(crate) fn control(
    plan: &RunPlan,
    entries: &[Entry],
    startups: &BTreeMap<usize, Nanos>,
) -> Option<(Subject, Entry)> {
    let ready: Vec<usize> = (0..plan.subjects.len())
        .filter(|&index| entries[index].not_run.is_none() && !plan.cells_of(&plan.subjects[index]).is_empty())
        .collect();
    // Where all live at once, no two can have the same port; where ports keep some apart, one more does no harm.
    let at_once = plan.takes_turns() && plan.live_at_once();
    let ready: Vec<usize> =
        ready.into_iter().filter(|&index| !at_once || plan.subjects[index].fixed_port().is_none()).collect();
    let of = |wanted: fn(&Subject) -> bool| -> Vec<usize> {
        ready.iter().copied().filter(|&index| wanted(&plan.subjects[index])).collect()
    };
    let started = of(|subject| !subject.is_limit() && matches!(subject.launch, Launch::Process(_)));
    let started = quicker_half(started, startups);
    let running = of(|subject| !subject.is_limit());
    // In a comparison it is the base that must not differ from itself.
    let base = plan.experiment.comparing.as_ref().map(|comparing| &comparing.base);
    let named: Vec<usize> =
        ready.iter().copied().filter(|&index| Some(&plan.subjects[index].identity.name) == base).collect();
    let eligible = [named, started, running, ready.clone()].into_iter().find(|group| !group.is_empty())?;
    let original = eligible[choice(plan.seed, eligible.len())];
    let name = format!("{}{MARK}", plan.subjects[original].identity.name);
    let mut subject = plan.subjects[original].clone();
    subject.identity.name.clone_from(&name);
    let control_of = Some(entries[original].identity.name.clone());
    let mut entry = Entry { control_of, conformance: None, ..entries[original].clone() };
    entry.identity.name = name;
    Some((subject, entry))
}

/// The half that takes least to start; all of them where that is not known of each.
fn quicker_half(subjects: Vec<usize>, startups: &BTreeMap<usize, Nanos>) -> Vec<usize> {
    let known = subjects.iter().map(|subject| Some((*startups.get(subject)?, *subject)));
    let Some(mut known) = known.collect::<Option<Vec<(Nanos, usize)>>>() else { return subjects };
    known.sort_unstable();
    let half = known.len().div_ceil(2);
    let mut quicker: Vec<usize> = known.into_iter().take(half).map(|(_, subject)| subject).collect();
    quicker.sort_unstable();
    quicker
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_is_one_of_those_who_start_soon() {
        let startups = |ms: &[u64]| (0..).zip(ms).map(|(of, ms)| (of, Nanos::from_millis(*ms))).collect();
        assert_eq!(quicker_half(vec![0, 1, 2, 3, 4], &startups(&[20, 1300, 15, 200, 380])), [0, 2, 3]);
        assert_eq!(quicker_half(vec![0, 1], &startups(&[900, 30])), [1]);
        assert_eq!(quicker_half(vec![1], &startups(&[5, 900])), [1]);
        assert_eq!(quicker_half(vec![0, 1, 2], &startups(&[20, 1300])), [0, 1, 2], "one was not asked");
        assert!(quicker_half(Vec::new(), &startups(&[])).is_empty());
    }
}
