//! A load by one generator, which is this process, or by several, each a process of its own, here or elsewhere.

use std::iter::once;
use std::sync::atomic::AtomicBool;

use assay_load::{LoadPlan, News, Span, WindowOrder};
use assay_model::load::LoadReport;
use assay_model::units::Nanos;

use super::fleet::{self, Crew};
use crate::failure::Failure;

/// Measures the plan's own window.
pub(super) fn once_only(
    plan: &LoadPlan,
    crew: &Crew,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(News),
) -> Result<LoadReport, Failure> {
    if crew.is_alone() {
        return Ok(assay_load::run(plan, stop, tell)?);
    }
    let order = WindowOrder { settle: plan.warmup, length: length(plan), start: None };
    fleet::lead(plan, crew, longest_silence(plan), once(order), stop, tell)
}

/// Measures windows that are asked for one after another, on the same connections. The plan's own is the longest that is expected.
pub(super) fn windows(
    plan: &LoadPlan,
    crew: &Crew,
    orders: impl Iterator<Item = WindowOrder>,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(News),
) -> Result<LoadReport, Failure> {
    if crew.is_alone() {
        return Ok(assay_load::run_windows(plan, orders, stop, tell)?);
    }
    let longest = longest_silence(plan);
    // Windows have lengths of their own.
    let plan = LoadPlan { span: Span::Time(Nanos::MAX), ..plan.clone() };
    fleet::lead(&plan, crew, longest, orders, stop, tell)
}

/// How long nothing is said to a generator while the plan's own window lasts.
fn longest_silence(plan: &LoadPlan) -> Nanos {
    plan.warmup + length(plan)
}

/// The length of the plan's own window, where that is known before.
fn length(plan: &LoadPlan) -> Nanos {
    match plan.span {
        Span::Time(length) => length,
        Span::Requests(_) => Nanos::ZERO,
    }
}
