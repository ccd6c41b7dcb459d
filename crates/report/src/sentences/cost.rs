//! What something costs a contender in sentences: its rate with it, over its own without.

use assay_model::experiment::Cell;
use assay_model::verdict::{Call, Interval};

use crate::words::phrases::plus_minus;

/// A contender compared with itself at one place.
pub(super) trait Cost {
    /// Whether both speak of the same contender and of the same thing that costs.
    fn is_beside(&self, other: &Self) -> bool;
    /// The contender's name.
    fn contender(&self) -> &str;
    /// The cell with what costs.
    fn cell(&self) -> &Cell;
    /// The rate with it over the rate without.
    fn ratio(&self) -> Option<Interval>;
    /// Whether the ratio is shown to differ from 1.
    fn call(&self) -> Option<Call>;
    /// The names of both sides; none where the cell lacks what would name them.
    fn sides(&self) -> Option<Sides>;
}

/// How both sides are spoken of.
pub(super) struct Sides {
    /// At the beginning of a sentence: `Over h1+tls`.
    pub with: String,
    /// In its midst: `over h1`.
    pub without: String,
    /// What else is to be known; may be empty.
    pub note: &'static str,
}

/// A sentence for each contender and each thing that costs it.
pub(super) fn sentences<C: Cost>(costs: &[C]) -> Vec<String> {
    let is_first = |at: usize| !costs[..at].iter().any(|before| before.is_beside(&costs[at]));
    let firsts = (0..costs.len()).filter(|&at| is_first(at)).map(|at| &costs[at]);
    firsts.filter_map(|first| comparison(costs.iter().filter(|cost| cost.is_beside(first)))).collect()
}

/// One contender's only cell, or the least and the greatest ratio of all.
fn comparison<'c, C: Cost + 'c>(costs: impl Iterator<Item = &'c C>) -> Option<String> {
    // One round alone has a ratio and no interval: it stands in the table and is no finding.
    let with_interval = |cost: &'c C| Some((cost, cost.ratio().filter(|ratio| ratio.low < ratio.high)?));
    let mut known: Vec<(&C, Interval)> = costs.filter_map(with_interval).collect();
    known.sort_by(|(_, a), (_, b)| a.estimate.total_cmp(&b.estimate));
    let ((least, low), (greatest, high)) = (known.first()?, known.last()?);
    let (name, Sides { with, without, .. }) = (least.contender(), least.sides()?);
    let (at_least, at_most) = (plus_minus(low), plus_minus(high));
    let first = format!("{with} {name} serves {at_least} times what it serves {without} ({})", place(*least));
    let and = match known.len() {
        1 => return Some(format!("{first}.")),
        2 => "and",
        _ => "and up to",
    };
    Some(format!("{first} {and} {at_most} times ({}).", place(*greatest)))
}

/// Where a contender was compared with itself, with what else is to be known.
fn place<C: Cost>(cost: &C) -> String {
    let at = format!("{} at {}", cost.cell().workload, cost.cell().connections_in_words());
    let note = cost.sides().map_or("", |sides| sides.note);
    let tie = if cost.call() == Some(Call::Distinct) { "" } else { "not shown to differ" };
    [&*at, note, tie].into_iter().filter(|part| !part.is_empty()).collect::<Vec<&str>>().join("; ")
}
