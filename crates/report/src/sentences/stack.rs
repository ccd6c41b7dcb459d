//! The cost of the stack in sentences, which name both axes on both sides.

use assay_model::experiment::Cell;
use assay_model::verdict::{Call, Crossing, Interval, StackCost};

use super::cost::{self, Cost, Sides};
use crate::format;
use crate::words::count_of;

/// A sentence for each contender on each user-space network, then the crossings.
pub(super) fn sentences(costs: &[StackCost], crossings: &[Crossing]) -> Vec<String> {
    let mut sentences = cost::sentences(costs);
    sentences.extend(crossings.iter().map(passing));
    sentences
}

impl Cost for StackCost {
    fn is_beside(&self, other: &Self) -> bool {
        (&self.contender, self.cell.network) == (&other.contender, other.cell.network)
    }

    fn contender(&self) -> &str {
        &self.contender
    }

    fn cell(&self) -> &Cell {
        &self.cell
    }

    fn ratio(&self) -> Option<Interval> {
        self.ratio
    }

    fn call(&self) -> Option<Call> {
        self.call
    }

    fn sides(&self) -> Option<Sides> {
        let (user, kernel) = (self.cell.network?.in_words(), self.kernel.in_words());
        let note = if self.same_wire { "the same kind of wire" } else { "another stack and another wire" };
        Some(Sides { with: format!("With {user}"), without: format!("with {kernel}"), note })
    }
}

fn passing(crossing: &Crossing) -> String {
    let Crossing { family, parameter, after, before, .. } = crossing;
    let (user, kernel) = (crossing.user.in_words(), crossing.kernel.in_words());
    let (first, second) = if crossing.user_is_faster_below { (user, kernel) } else { (kernel, user) };
    let about = crossing.estimate.map_or_else(String::new, |value| {
        format!("; equal at about {}", format::count(value.round() as u64))
    });
    format!(
        "{} on {family} at {}: {first} is faster up to {parameter} = {after}, {second} from {before} on{about}.",
        crossing.contender,
        count_of(crossing.connections as usize, "connection"),
    )
}
