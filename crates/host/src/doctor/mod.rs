//! Is this machine fit to measure on, what spoils it, and how to mend it.
//!
//! [`Facts`] are read in one place, below any root; what was measured is handed in; every check is a pure function of
//! the two, so a laptop, a cloud machine and a large server are tested as folders of saved files.

mod cpu;
mod facts;
mod finding;
pub mod fix;
mod kernel;
mod limits;
mod measure;
mod network;
mod time;

use assay_model::doctor::{DOCTOR_SCHEMA, Diagnosis, Finding, Fitness};

pub use facts::{Facts, IoUring, Power, Room};
pub use measure::measure;

/// One check: `None` where it does not apply to this machine or cannot be told.
type Check = fn(&Facts) -> Option<Finding>;

/// In the order in which they are told.
const CHECKS: [Check; 35] = [
    cpu::isolation,
    cpu::machine,
    cpu::governor,
    cpu::turbo,
    cpu::power,
    cpu::speed,
    cpu::smt,
    cpu::numa,
    cpu::steal,
    cpu::other_load,
    cpu::pressure,
    cpu::interrupts,
    cpu::mitigations,
    time::clock,
    time::wake_up,
    time::interruptions,
    network::ports,
    network::port_reuse,
    network::accept_queue,
    network::syn_queue,
    network::loopback,
    limits::open_files,
    limits::cpu_quota,
    limits::cpu_set,
    limits::container,
    limits::memory,
    limits::swap,
    limits::huge_pages,
    limits::disk,
    kernel::version,
    kernel::wsl,
    kernel::io_uring,
    kernel::counters,
    kernel::namespaces,
    kernel::hidden_processes,
];

/// What the facts say.
pub fn diagnose(facts: &Facts) -> Diagnosis {
    let findings: Vec<Finding> = CHECKS.iter().filter_map(|check| check(facts)).collect();
    Diagnosis {
        schema: DOCTOR_SCHEMA.to_owned(),
        fitness: Fitness::of(&findings),
        host: facts.host.clone(),
        isolation: facts.isolation.record(),
        measured: facts.measured.clone(),
        findings,
    }
}

#[cfg(test)]
mod tests;
