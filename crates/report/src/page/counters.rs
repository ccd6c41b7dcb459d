//! What it took to answer on the user-space stack: each end's system calls, and what its own stack counted.

use assay_model::JsonSchema;
use assay_model::experiment::Cell;
use assay_model::load::StackCounts;
use assay_model::record::{Measurement, Record};
use assay_model::verdict::{StackCost, Verdict};
use serde::Serialize;

/// One contender in one cell on the user-space stack, over all windows that are not void.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StackCounters {
    /// Name of the contender.
    pub contender: String,
    /// The cell.
    #[serde(flatten)]
    pub cell: Cell,
    /// The contender's end.
    pub server: EndCounters,
    /// The generator's end.
    pub generator: EndCounters,
}

/// One end of the wire.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EndCounters {
    /// System calls per right answer. Of the server those on its CPUs, median over rounds; absent where the machine did not
    /// tell. Of the generator those of its engines; absent without an answer.
    pub system_calls: Option<f64>,
    /// System calls on the network of the kernel's stack that this one is compared with.
    pub kernel_system_calls: Option<f64>,
    /// What its own stack counted; absent where it told nothing, as somebody else's.
    pub stack: Option<ToldCounts>,
}

/// The counters of a stack and the work they belong to, over the windows that it told of.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ToldCounts {
    /// Right answers from the first connection to the last, warm-ups included.
    pub answers: u64,
    /// What was counted meanwhile.
    pub counts: StackCounts,
}

/// For every comparison of stacks what was counted on the user-space one, in the verdict's order.
pub(super) fn counters(record: &Record, verdict: &Verdict) -> Vec<StackCounters> {
    verdict.stack_cost.iter().filter_map(|cost| counted(record, verdict, cost)).collect()
}

/// `None` when no window on the user-space stack counts.
fn counted(record: &Record, verdict: &Verdict, cost: &StackCost) -> Option<StackCounters> {
    let StackCost { contender, cell, .. } = cost;
    let on_kernel = cell.on(Some(cost.kernel));
    let [user, kernel] = [cell, &on_kernel].map(|cell| windows(record, contender, cell));
    let [user_price, kernel_price] =
        [cell, &on_kernel].map(|cell| server_system_calls(verdict, contender, cell));
    (!user.is_empty()).then(|| StackCounters {
        contender: contender.clone(),
        cell: cell.clone(),
        server: EndCounters {
            system_calls: user_price,
            kernel_system_calls: kernel_price,
            stack: told(&user, |window| window.server_stack.as_ref()),
        },
        generator: EndCounters {
            system_calls: generator_system_calls(&user),
            kernel_system_calls: generator_system_calls(&kernel),
            stack: told(&user, |window| window.load.stack.as_ref()),
        },
    })
}

/// The windows that count.
fn windows<'r>(record: &'r Record, contender: &str, cell: &Cell) -> Vec<&'r Measurement> {
    let runs = record.rounds.iter().flat_map(|round| &round.runs).filter(|run| run.contender == contender);
    let there = runs.flat_map(|run| &run.cells).filter(|window| window.cell == *cell);
    there.filter(|window| window.void_rules().is_empty()).collect()
}

fn server_system_calls(verdict: &Verdict, contender: &str, cell: &Cell) -> Option<f64> {
    let judged = verdict.cells.iter().find(|judged| judged.cell == *cell)?;
    let standing = judged.standings.iter().find(|standing| standing.contender == contender)?;
    standing.price.system_calls
}

fn generator_system_calls(windows: &[&Measurement]) -> Option<f64> {
    let answers: u64 = windows.iter().map(|window| window.load.window.ok).sum();
    let calls: u64 = windows.iter().map(|window| window.load.system_calls.total()).sum();
    (answers > 0).then(|| calls as f64 / answers as f64)
}

/// The sum over the windows for which an end tells something, with the answers of these alone.
fn told(windows: &[&Measurement], of: fn(&Measurement) -> Option<&StackCounts>) -> Option<ToldCounts> {
    let told = windows.iter().filter_map(|window| {
        of(window).map(|counts| ToldCounts { answers: window.load.books.ok, counts: counts.clone() })
    });
    told.reduce(|one, other| ToldCounts {
        answers: one.answers + other.answers,
        counts: one.counts.plus(&other.counts),
    })
}
