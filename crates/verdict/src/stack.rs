//! What the stack costs: every contender on the user-space stack against itself on the kernel's, in the same rounds.
//!
//! Stack and wire are two axes. Over AF_XDP the wire is the same kind of cable as the kernel's, and the ratio is that of the
//! stacks; over a ring the wire is another one too, and the ratio is that of both together.

mod crossing;

use assay_model::evidence::Withheld;
use assay_model::network::{Network, Stack, Wire};
use assay_model::verdict::{Call, CellVerdict, Interval, StackCost, Standing};
use assay_stats::ratio::{Ratio, paired_log_ratio};
use assay_stats::tiers;

use super::ranking::equivalence_margin;
use super::{CONFIDENCE, interval, point};

pub(crate) use crossing::crossings;

/// Compares each cell on the user-space stack with the same cell on the kernel's counterpart, where both were measured;
/// `margin` is the smallest difference that is called one.
pub(crate) fn stack_costs(cells: &[CellVerdict], margin: f64) -> Vec<StackCost> {
    cells
        .iter()
        .filter_map(|user| beside_kernel(cells, user))
        .flat_map(|both| compare(&both, margin))
        .collect()
}

/// A cell on two networks.
struct Both<'v> {
    user: &'v CellVerdict,
    kernel: &'v CellVerdict,
    kernel_network: Network,
}

fn beside_kernel<'v>(cells: &'v [CellVerdict], user: &'v CellVerdict) -> Option<Both<'v>> {
    let network = user.cell.network.filter(|network| network.stack() == Stack::User)?;
    let kernel_network = network.kernel_counterpart()?;
    let wanted = user.cell.on(Some(kernel_network));
    let kernel = cells.iter().find(|judged| judged.cell == wanted)?;
    Some(Both { user, kernel, kernel_network })
}

fn compare(both: &Both<'_>, margin: f64) -> Vec<StackCost> {
    let of = |user: &Standing| {
        let kernel = both.kernel.standings.iter().find(|standing| standing.contender == user.contender)?;
        Some(cost(both, user, kernel, margin))
    };
    both.user.standings.iter().filter_map(of).collect()
}

fn cost(both: &Both<'_>, user: &Standing, kernel: &Standing, margin: f64) -> StackCost {
    let is_xdp = both.user.cell.network.is_some_and(|network| matches!(network.wire(), Wire::Xdp(_)));
    let reason = |standing: &Standing, user_space: bool| {
        let because = Box::new(standing.withheld.clone()?);
        Some(Withheld::OnStack { user_space, because })
    };
    let withheld = reason(user, true).or_else(|| reason(kernel, false));
    let compared = if withheld.is_none() { ratio(user, kernel, margin) } else { None };
    StackCost {
        contender: user.contender.clone(),
        cell: both.user.cell.clone(),
        kernel: both.kernel_network,
        same_wire: is_xdp,
        user_per_second: user.throughput_per_second,
        kernel_per_second: kernel.throughput_per_second,
        ratio: compared.map(|(ratio, _)| ratio),
        call: compared.and_then(|(_, call)| call),
        p50_ratio: user.p50_ns.zip(kernel.p50_ns).map(|(user, kernel)| user.estimate / kernel.estimate),
        withheld: withheld.or_else(|| compared.is_none().then_some(Withheld::NoCommonRound)),
    }
}

/// Paired by round: what a round does to both cancels. Of one round there is a ratio and no call.
fn ratio(user: &Standing, kernel: &Standing, margin: f64) -> Option<(Interval, Option<Call>)> {
    let rounds = user.rounds_per_second.iter().zip(&kernel.rounds_per_second);
    let pairs = rounds.filter_map(|(user, kernel)| user.zip(*kernel));
    let (users, kernels): (Vec<f64>, Vec<f64>) = pairs.unzip();
    if let ([user], [kernel]) = (users.as_slice(), kernels.as_slice()) {
        return Some((point(user / kernel), None));
    }
    let ratio = paired_log_ratio(&users, &kernels, CONFIDENCE).ok()?;
    Some((interval(ratio.interval), Some(call(&ratio, margin))))
}

fn call(ratio: &Ratio, margin: f64) -> Call {
    let equivalent = ratio.equivalence_p(equivalence_margin(margin)).is_ok_and(|p| p <= 1.0 - CONFIDENCE);
    match tiers::call(&ratio.interval, margin) {
        tiers::Call::Faster | tiers::Call::Slower => Call::Distinct,
        tiers::Call::Tie if equivalent => Call::Equivalent,
        tiers::Call::Tie => Call::Tie,
    }
}

#[cfg(test)]
mod tests;
