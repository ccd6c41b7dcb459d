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
    let length = match plan.span {
        Span::Time(length) => length,
        Span::Requests(_) => Nanos::ZERO,
    };
    let order = WindowOrder { settle: plan.warmup, length, start: None };
    fleet::lead(plan, crew, once(order), stop, tell)
}

/// Measures windows that are asked for one after another, on the same connections.
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
    // Windows have lengths of their own.
    let plan = LoadPlan { span: Span::Time(Nanos::MAX), ..plan.clone() };
    fleet::lead(&plan, crew, orders, stop, tell)
}
