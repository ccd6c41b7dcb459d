//! A measurement by the calling thread alone, on an engine that is there already.

use assay_engine::Engine;
use assay_model::load::{GeneratorMemory, LoadReport};
use assay_model::units::Nanos;

use crate::LoadError;
use crate::order::Order;
use crate::plan::LoadPlan;
use crate::report::{self, Window};
use crate::run::unreachable;
use crate::seconds::{Second, Seconds};
use crate::signals::Signals;
use crate::thread::ThreadPlace;
use crate::usage::ThreadUsage;

/// Carries out the plan on the calling thread, in the engine's time: the thread is not pinned, nothing but the engine's clocks
/// is read, and the same engine gives the same report. Of the plan's CPUs and of its stack, whose names the report bears, none
/// is used. `tell` is called with each second, at the end, if the plan asks for them.
///
/// # Errors
/// As for [`run`](crate::run).
pub fn run_on<E: Engine>(
    plan: &LoadPlan,
    engine: E,
    mut tell: impl FnMut(Second),
) -> Result<LoadReport, LoadError> {
    plan.check()?;
    let plan = &LoadPlan { cpus: plan.cpus[..1].to_vec(), ..plan.clone() };
    let (signals, mut seconds) = (Signals::new(1), Seconds::new(1));
    let order = Order { settle: plan.warmup, span: plan.span, start: None };
    let usage = ThreadUsage::of_cpu_time;
    let mut window = Window { start: Nanos::ZERO, settle: order.settle, outcomes: Vec::new() };
    ThreadPlace { plan, signals: &signals, thread: 0, usage, alone: Some(order) }.measure(
        engine,
        &mut |outcome| {
            window.outcomes.push(outcome);
            false
        },
    )?;
    window.start = signals.start().unwrap_or_default();
    if window.outcomes.iter().all(|outcome| outcome.statistics.connected == 0) {
        return Err(unreachable(plan, &window));
    }
    signals.take_parts().into_iter().for_each(|part| seconds.add(part.number, part.second));
    while let Some(second) = seconds.next(true) {
        tell(second);
    }
    report::assemble(plan, GeneratorMemory::default(), &[window])
}
