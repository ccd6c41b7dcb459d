//! What the stacks did to answer: the counters of the generator's own one, and system calls on either.

use assay_model::experiment::Cell;
use assay_model::load::StackCounts;
use assay_model::record::{Measurement, Record};
use assay_model::verdict::Verdict;
use schemars::JsonSchema;
use serde::Serialize;

/// One contender in one cell on one network, over all windows that are not void.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StackCounters {
    /// Name of the contender.
    pub contender: String,
    /// Which cell; its network is one of the two that were compared.
    #[serde(flatten)]
    pub cell: Cell,
    /// Right answers from the first connection to the last, warm-ups included: what the stack's counters belong to.
    pub answers: u64,
    /// Counters of the generator's own stack; absent where the kernel's worked.
    pub stack: Option<StackCounts>,
    /// System calls of the generator per right answer; absent without an answer.
    pub generator_system_calls: Option<f64>,
    /// System calls on the server's CPUs per right answer, median over rounds; absent where the machine did not tell.
    pub server_system_calls: Option<f64>,
}

/// For every comparison of stacks the counters on both networks, in the verdict's order, each once.
pub(super) fn counters(record: &Record, verdict: &Verdict) -> Vec<StackCounters> {
    let mut all: Vec<StackCounters> = Vec::new();
    for cost in &verdict.stack_cost {
        for cell in [cost.cell.on(Some(cost.kernel)), cost.cell.clone()] {
            let is_told = all.iter().any(|one| one.contender == cost.contender && one.cell == cell);
            if !is_told {
                all.extend(counted(record, verdict, &cost.contender, cell));
            }
        }
    }
    all
}

/// `None` when no window counts.
fn counted(record: &Record, verdict: &Verdict, contender: &str, cell: Cell) -> Option<StackCounters> {
    let runs = record.rounds.iter().flat_map(|round| &round.runs).filter(|run| run.contender == contender);
    let windows: Vec<&Measurement> = runs
        .flat_map(|run| &run.cells)
        .filter(|window| window.cell == cell && window.void_rules().is_empty())
        .collect();
    let judged = verdict.cells.iter().find(|judged| judged.cell == cell);
    let standing = judged.and_then(|judged| judged.standings.iter().find(|one| one.contender == contender));
    let in_windows: u64 = windows.iter().map(|window| window.load.window.ok).sum();
    let calls: u64 = windows.iter().map(|window| window.load.system_calls.total()).sum();
    (!windows.is_empty()).then(|| StackCounters {
        contender: contender.to_owned(),
        answers: windows.iter().map(|window| window.load.books.ok).sum(),
        stack: windows
            .iter()
            .filter_map(|window| window.load.stack.clone())
            .reduce(|one, other| one.plus(&other)),
        generator_system_calls: (in_windows > 0).then(|| calls as f64 / in_windows as f64),
        server_system_calls: standing.and_then(|standing| standing.price.system_calls),
        cell,
    })
}
