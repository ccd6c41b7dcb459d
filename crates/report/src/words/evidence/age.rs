//! What was found out about servers as they get older: slow modes and pauses.

use assay_model::evidence::Evidence;
use assay_model::units::Nanos;
use assay_model::verdict::Ages;

use super::super::phrases::counted;
use crate::format;

pub(super) fn slow_mode(change: f64, [low, high]: [f64; 2], [from, to]: [Nanos; 2]) -> String {
    format!(
        "it gets {} with age: from {} to {} under load by {} ({})",
        faster(change),
        time(from),
        time(to),
        format::percent(change.abs()),
        between(low, high)
    )
}

pub(super) fn long_look(change: f64, [low, high]: [f64; 2], [young, late, end]: [Nanos; 3]) -> String {
    format!(
        "it gets {} later: after {} to {} under load by {} ({}) than in its first {}, in which it was measured",
        faster(change),
        time(late),
        time(end),
        format::percent(change.abs()),
        between(low, high),
        time(young)
    )
}

pub(super) fn told(ages: &Ages, could_show: Option<f64>, long_look: Option<Nanos>) -> String {
    let hidden = could_show.map_or_else(
        || "too few lives to tell whether they get faster or slower with age".to_owned(),
        |share| format!("a change of {} over that time would have been seen", format::percent(share)),
    );
    let long = long_look.map_or_else(String::new, |end| {
        format!("; one life of each was looked at for {} under load", time(end))
    });
    let [from, to] = [ages.lived_from_ns, ages.lived_to_ns].map(time);
    format!("servers were {}, {from} to {to} after their start; {hidden}{long}", measured_under_load(ages))
}

/// At which ages something was measured: "measured after 1.5 s to 7 s under load".
pub(crate) fn measured_under_load(ages: &Ages) -> String {
    format!("measured after {} to {} under load", time(ages.loaded_from_ns), time(ages.loaded_to_ns))
}

/// Empty for evidence of another kind.
pub(super) fn pauses(evidence: &Evidence) -> String {
    let Evidence::Pauses { pauses, watched_ns, least_ns, longest_ns, others, others_watched_ns } = evidence
    else {
        return String::new();
    };
    format!(
        "it stood still {} for {} or longer, once for {} at least, in {} under load; the others {} in {}",
        times(*pauses),
        time(*least_ns),
        time(*longest_ns),
        time(*watched_ns),
        times(*others),
        time(*others_watched_ns)
    )
}

fn faster(change: f64) -> &'static str {
    if change > 0.0 { "faster" } else { "slower" }
}

/// The two ends of an interval of a change whose direction was told.
fn between(low: f64, high: f64) -> String {
    let (least, most) = if low.abs() <= high.abs() { (low, high) } else { (high, low) };
    format!("{} to {}", format::percent(least.abs()), format::percent(most.abs()))
}

fn times(n: u64) -> String {
    counted(n, "time")
}

fn time(span: Nanos) -> String {
    format::duration(span.0 as f64)
}
