//! What a server's time is spent on: each stack of a profile belongs to one part (docs/method/profile.md#parts).

mod rules;

use std::collections::BTreeMap;

use assay_model::part::Part;
use assay_model::profile::{Awaited, CallStack, Frame, FrameKind, Owner, Sampled};
use assay_model::units::total;

use rules::{Patterns, RULES, Rules, plain};

/// Begins of functions that are compiled into programs and are not theirs: Rust's and Java's.
const LIBRARIES: [&str; 12] = [
    "std::",
    "<std",
    "core::",
    "<core",
    "alloc::",
    "<alloc",
    "parking_lot",
    "<parking_lot",
    "lock_api::",
    "<lock_api",
    "java.",
    "jdk.",
];

/// Version of the rules by which parts are assigned.
pub fn rules_version() -> u32 {
    RULES.version
}

/// The part of each stack of a profile, in their order.
fn parts_of_stacks(sampled: &Sampled) -> Vec<Part> {
    let named: Vec<Named> = sampled.frames.iter().map(|frame| Named::of(&RULES, frame)).collect();
    let thread = |stack: &CallStack| RULES.thread.part_of(sampled.threads.get(stack.thread as usize)?);
    sampled.stacks.iter().map(|stack| part_of(stack, &named, || thread(stack))).collect()
}

/// Samples of a server in each part, without those that there are none of.
pub fn samples_by_part(sampled: &Sampled) -> BTreeMap<Part, u64> {
    let mut samples = BTreeMap::new();
    for (stack, part) in sampled.stacks.iter().zip(parts_of_stacks(sampled)) {
        if stack.owner == Owner::Server {
            let so_far = samples.entry(part).or_default();
            *so_far = total([*so_far, stack.samples]);
        }
    }
    samples
}

/// The innermost of some functions that is the program's own, and no library's that everybody uses; else the innermost that has a
/// name.
pub fn own_function(callers: &[Frame]) -> Option<String> {
    let is_own = |frame: &&Frame| {
        let symbol = frame.symbol.as_deref().unwrap_or("<std");
        let part = Named::of(&RULES, frame).own;
        matches!(part, Some(Part::Application | Part::Jit))
            && !LIBRARIES.iter().any(|of| symbol.starts_with(of))
    };
    let symbol = |frame: &Frame| frame.symbol.clone();
    let own = callers.iter().find(is_own).and_then(symbol);
    own.or_else(|| callers.iter().find_map(symbol))
}

/// The function of the program that takes a lock, where these calls led to waiting for one that parks its threads; that of the lock
/// itself where its caller is not known.
pub fn function_that_locks(callers: &[Frame]) -> Option<String> {
    let outermost = outermost_of(&RULES.lock, callers)?;
    own_function(&callers[outermost + 1..]).or_else(|| callers[outermost].symbol.clone())
}

/// Whether something that is waited for inside a runtime is a lock.
pub fn is_lock(awaited: &Awaited) -> bool {
    let is_class = awaited.class.as_deref().is_some_and(|class| RULES.runtime_lock.part_of(class).is_some());
    is_class || outermost_of(&RULES.runtime_lock, &awaited.callers).is_some()
}

/// Whether threads wait for work where they wait for something inside a runtime: down to where they began, they are in nothing but the
/// runtime's library and a pool.
pub fn has_no_work(awaited: &Awaited) -> bool {
    let symbol = |frame: &Frame| frame.symbol.clone().unwrap_or_default();
    let is_whole = awaited.callers.last().is_some_and(|began| symbol(began).ends_with(".run"));
    let is_pool = |frame: &Frame| RULES.pool.part_of(&symbol(frame)).is_some();
    is_whole && !is_lock(awaited) && awaited.callers.iter().all(is_pool)
}

/// The place of the outermost of some functions that a pattern fits.
fn outermost_of(patterns: &Patterns, callers: &[Frame]) -> Option<usize> {
    let fits =
        |frame: &Frame| frame.symbol.as_deref().is_some_and(|symbol| patterns.part_of(symbol).is_some());
    callers.iter().rposition(fits)
}

/// What the rules say of a function.
#[derive(Clone, Copy, Debug)]
struct Named {
    is_kernel: bool,
    /// Of a stack in which it stands anywhere.
    within: Option<Part>,
    /// Of a stack in which it is the innermost, or in the kernel the innermost that is assigned.
    own: Option<Part>,
}

impl Named {
    fn of(rules: &Rules, frame: &Frame) -> Self {
        let symbol = frame.symbol.as_deref();
        if frame.kind == FrameKind::Kernel {
            let own = symbol.and_then(|symbol| rules.kernel.part_of(plain(symbol)));
            return Self { is_kernel: true, within: None, own };
        }
        let by_name = symbol.and_then(|symbol| rules.function.part_of(symbol));
        let by_module = || frame.module.as_deref().and_then(|module| rules.module.part_of(module));
        let by_kind = || match frame.kind {
            FrameKind::Native => Some(Part::Application),
            FrameKind::Jit => Some(Part::Jit),
            FrameKind::Kernel | FrameKind::Unknown => None,
        };
        let within = symbol.and_then(|symbol| rules.within.part_of(symbol));
        Self { is_kernel: false, within, own: by_name.or_else(by_module).or_else(by_kind) }
    }
}

fn part_of(stack: &CallStack, named: &[Named], thread: impl Fn() -> Option<Part>) -> Part {
    let functions = || stack.frames.iter().filter_map(|frame| named.get(*frame as usize));
    let part = if functions().next().is_some_and(|innermost| innermost.is_kernel) {
        functions().take_while(|function| function.is_kernel).find_map(|function| function.own)
    } else {
        let within = || functions().find_map(|function| function.within);
        let own = || functions().next().and_then(|innermost| innermost.own);
        thread().or_else(within).or_else(own)
    };
    part.unwrap_or(Part::Unassigned)
}

#[cfg(test)]
mod tests;
