//! The cost of the stack in sentences, which name both axes on both sides.

use assay_model::network::Network;
use assay_model::verdict::{Call, Crossing, StackCost};

use super::phrases::{count_of, plus_minus};
use crate::format;

/// A sentence for each contender on each user-space network, then the crossings.
pub(super) fn sentences(costs: &[StackCost], crossings: &[Crossing]) -> Vec<String> {
    let mut told: Vec<(&str, Option<Network>)> = Vec::new();
    let mut sentences = Vec::new();
    for cost in costs {
        let key = (cost.contender.as_str(), cost.cell.network);
        if told.contains(&key) {
            continue;
        }
        told.push(key);
        let own = costs.iter().filter(|other| (other.contender.as_str(), other.cell.network) == key);
        sentences.extend(comparison(&own.collect::<Vec<_>>()));
    }
    sentences.extend(crossings.iter().map(passing));
    sentences
}

/// One contender on one pair of networks: its only cell, or the least and the greatest ratio of all.
fn comparison(costs: &[&StackCost]) -> Option<String> {
    let ratio = |cost: &StackCost| cost.ratio.map_or(f64::NAN, |ratio| ratio.estimate);
    // One round alone has a ratio and no interval: it stands in the table and is no finding.
    let has_interval = |cost: &&StackCost| cost.ratio.is_some_and(|ratio| ratio.low < ratio.high);
    let mut known: Vec<&StackCost> = costs.iter().copied().filter(has_interval).collect();
    known.sort_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    let (least, greatest) = (known.first()?, known.last()?);
    let name = &least.contender;
    let (user, kernel) = (least.cell.network?.in_words(), least.kernel.in_words());
    let wires = if least.same_wire { "the same kind of wire" } else { "another stack and another wire" };
    let times = |cost: &StackCost| cost.ratio.map_or_else(String::new, |ratio| plus_minus(&ratio));
    let place = |cost: &StackCost| {
        let connections = count_of(cost.cell.connections as usize, "connection");
        format!("{} at {connections}", cost.cell.workload)
    };
    if known.len() == 1 {
        let tie = if least.call == Some(Call::Distinct) { "" } else { "; not shown to differ" };
        let (times, place) = (times(least), place(least));
        return Some(format!(
            "With {user} {name} serves {times} times what it serves with {kernel} ({place}; {wires}{tie})."
        ));
    }
    Some(format!(
        "With {user} {name} serves from {} times ({}) to {} times ({}) what it serves with {kernel} ({wires}).",
        times(least),
        place(least),
        times(greatest),
        place(greatest)
    ))
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
