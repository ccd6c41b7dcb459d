//! What the stack costs: every contender on the user-space stack against itself on the kernel's, in the same rounds.
//!
//! Stack and wire are two axes. Over AF_XDP the wire is the same kind of cable as the kernel's, and the ratio is that of the
//! stacks; over a ring the wire is another one too, and the ratio is that of both together.

mod crossing;

use assay_model::evidence::Withheld;
use assay_model::network::{Network, Stack, Wire};
use assay_model::verdict::{CellVerdict, StackCost, Standing};

use crate::capacity::self_ratio::{self, Bar};

pub(crate) use crossing::crossings;

/// Compares each cell on the user-space stack with the same cell on the kernel's counterpart, where both were measured;
/// by `bar` the two are called different.
pub(crate) fn stack_costs(cells: &[CellVerdict], bar: Bar) -> Vec<StackCost> {
    cells.iter().filter_map(|user| beside_kernel(cells, user)).flat_map(|both| compare(&both, bar)).collect()
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

fn compare(both: &Both<'_>, bar: Bar) -> Vec<StackCost> {
    let of = |user: &Standing| {
        let kernel = both.kernel.standings.iter().find(|standing| standing.contender == user.contender)?;
        Some(cost(both, user, kernel, bar))
    };
    both.user.standings.iter().filter_map(of).collect()
}

fn cost(both: &Both<'_>, user: &Standing, kernel: &Standing, bar: Bar) -> StackCost {
    let is_xdp = both.user.cell.network.is_some_and(|network| matches!(network.wire(), Wire::Xdp(_)));
    let reason = |standing: &Standing, user_space: bool| {
        let because = Box::new(standing.withheld.clone()?);
        Some(Withheld::OnStack { user_space, because })
    };
    let withheld = reason(user, true).or_else(|| reason(kernel, false));
    let compared = if withheld.is_none() { self_ratio::ratio(user, kernel, bar) } else { None };
    StackCost {
        contender: user.contender.clone(),
        cell: both.user.cell.clone(),
        kernel: both.kernel_network,
        same_wire: is_xdp,
        user_per_second: user.throughput_per_second,
        kernel_per_second: kernel.throughput_per_second,
        ratio: compared.map(|(ratio, _)| ratio),
        call: compared.and_then(|(_, call)| call),
        p50_ratio: self_ratio::p50_ratio(user, kernel),
        withheld: withheld.or_else(|| compared.is_none().then_some(Withheld::NoCommonRound)),
    }
}

#[cfg(test)]
mod tests;
