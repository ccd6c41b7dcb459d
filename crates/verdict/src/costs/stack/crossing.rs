//! Where along a workload's number — the size of a body — the one stack overtakes the other.

use std::collections::BTreeMap;

use assay_model::experiment::Cell;
use assay_model::family::Family;
use assay_model::verdict::{Call, Crossing, StackCost};
use assay_model::workload::Workload;

/// One value of the number with what was found there.
struct Step<'c> {
    value: u32,
    cost: &'c StackCost,
}

/// Every crossing, in the order of contenders, families and cells.
pub(crate) fn crossings(costs: &[StackCost], workloads: &[Workload]) -> Vec<Crossing> {
    let family = |cost: &StackCost| -> Option<&Family> {
        workloads.iter().find(|workload| workload.name == cost.cell.workload)?.family.as_ref()
    };
    let mut series: BTreeMap<(&str, Cell), Vec<Step<'_>>> = BTreeMap::new();
    for cost in costs {
        let Some(family) = family(cost) else { continue };
        let cell = Cell { workload: family.name.clone(), ..cost.cell.clone() };
        let steps = series.entry((&cost.contender, cell)).or_default();
        steps.push(Step { value: family.value, cost });
    }
    let parameter = |name: &str| {
        let families = workloads.iter().filter_map(|workload| workload.family.as_ref());
        families.into_iter().find(|family| family.name == name).map(|family| family.parameter.clone())
    };
    let mut found = Vec::new();
    for ((_, cell), mut steps) in series {
        steps.sort_by_key(|step| step.value);
        let parameter = parameter(&cell.workload).unwrap_or_default();
        found.extend(along(&steps).into_iter().filter_map(|passed| crossing(passed, &cell, &parameter)));
    }
    found
}

/// The steps from the last at which one stack is shown to be faster to the first at which the other is; ties between them
/// belong to the way.
fn along<'s, 'c>(steps: &'s [Step<'c>]) -> Vec<&'s [Step<'c>]> {
    let mut passed = Vec::new();
    let mut last: Option<(usize, bool)> = None;
    for (index, step) in steps.iter().enumerate() {
        let Some(user_is_faster) = shown(step.cost) else { continue };
        if let Some((before, _)) = last.filter(|(_, faster)| *faster != user_is_faster) {
            passed.push(&steps[before..=index]);
        }
        last = Some((index, user_is_faster));
    }
    passed
}

/// Whether the user-space stack is shown to be faster or slower; `None` where neither is.
fn shown(cost: &StackCost) -> Option<bool> {
    let ratio = cost.ratio.filter(|_| cost.call == Some(Call::Distinct))?;
    Some(ratio.estimate > 1.0)
}

fn crossing(way: &[Step<'_>], cell: &Cell, parameter: &str) -> Option<Crossing> {
    let (first, last) = (way.first()?, way.last()?);
    Some(Crossing {
        contender: first.cost.contender.clone(),
        family: cell.workload.clone(),
        parameter: parameter.to_owned(),
        connections: cell.connections,
        pipeline: cell.pipeline,
        user: cell.network?,
        kernel: first.cost.kernel,
        user_is_faster_below: shown(first.cost)?,
        after: first.value,
        before: last.value,
        estimate: way.windows(2).find_map(|pair| between(&pair[0], &pair[1])),
    })
}

/// Where a straight line through both passes 1 on logarithmic axes; `None` where it does not between them.
fn between(a: &Step<'_>, b: &Step<'_>) -> Option<f64> {
    let height = |step: &Step<'_>| Some(step.cost.ratio?.estimate.ln());
    let (low, high) = (height(a)?, height(b)?);
    if low * high > 0.0 || low == high {
        return None;
    }
    let place = |step: &Step<'_>| f64::from(step.value.max(1)).ln();
    let way = low / (low - high);
    Some((place(a) + way * (place(b) - place(a))).exp())
}
