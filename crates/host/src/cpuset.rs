//! The CPUs of threads, and pinning of the calling one.

use rustix::process::Pid;
use rustix::thread::{CpuSet as KernelSet, sched_getaffinity, sched_setaffinity};

pub use assay_model::cpuset::{CpuListError, CpuSet, MAX_CPU};

/// The calling thread could not be pinned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PinError {
    /// No CPU was given.
    #[error("cannot pin a thread to an empty set of CPUs")]
    Empty,
    /// The system call cannot name so large a number.
    #[error("cannot pin a thread to CPU {cpu}: this build handles CPUs 0 to {}", KernelSet::MAX_CPU - 1)]
    TooLarge {
        /// The number asked for.
        cpu: u32,
    },
    /// The kernel refused.
    #[error("the kernel refused to pin this thread to CPUs {wanted} ({why}): allowed here are {allowed}")]
    Refused {
        /// The CPUs asked for.
        wanted: CpuSet,
        /// The CPUs that this process may use.
        allowed: CpuSet,
        /// The kernel's reason.
        why: rustix::io::Errno,
    },
    /// The kernel took the call but gave other CPUs, as it does when some of them are offline or outside the
    /// container.
    #[error("asked for CPUs {wanted}, the kernel gave {given}: the others are offline or not allowed here")]
    Narrowed {
        /// The CPUs asked for.
        wanted: CpuSet,
        /// The CPUs that the thread now has.
        given: CpuSet,
    },
}

/// The CPUs that this process may use: its main thread's affinity, so that a container's cpuset and
/// `taskset` are respected. All online CPUs where the kernel does not tell.
pub fn allowed() -> CpuSet {
    match sched_getaffinity(Some(rustix::process::getpid())) {
        Ok(set) => from_kernel(&set),
        // EINVAL: the kernel has more CPUs than the fixed mask of the call; the text form has no such
        // limit.
        Err(_) => allowed_from_status().unwrap_or_else(online),
    }
}

fn allowed_from_status() -> Option<CpuSet> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    crate::text::field(&status, "Cpus_allowed_list")?.parse().ok()
}

fn online() -> CpuSet {
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    (0..u32::try_from(count).unwrap_or(1)).collect()
}

/// The CPUs on which thread `tid` may run, `None` when it is gone.
pub fn of_thread(tid: u32) -> Option<CpuSet> {
    let tid = Pid::from_raw(i32::try_from(tid).ok()?)?;
    sched_getaffinity(Some(tid)).ok().map(|set| from_kernel(&set))
}

/// Pins the calling thread, and every thread and process that it starts from now on, to `cpus`; then asks the
/// kernel what it gave, because `sched_setaffinity(2)` silently drops CPUs that are offline or outside the
/// container.
///
/// # Errors
/// When the set is empty, the kernel refuses, or gives fewer CPUs than asked for (the thread is then pinned
/// to those).
pub fn pin_current_thread(cpus: &CpuSet) -> Result<(), PinError> {
    if cpus.is_empty() {
        return Err(PinError::Empty);
    }
    let refused = |why| PinError::Refused { wanted: cpus.clone(), allowed: allowed(), why };
    sched_setaffinity(None, &to_kernel(cpus)?).map_err(refused)?;
    let given = from_kernel(&sched_getaffinity(None).map_err(refused)?);
    if given == *cpus { Ok(()) } else { Err(PinError::Narrowed { wanted: cpus.clone(), given }) }
}

fn from_kernel(set: &KernelSet) -> CpuSet {
    (0..KernelSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).filter_map(|cpu| u32::try_from(cpu).ok()).collect()
}

fn to_kernel(cpus: &CpuSet) -> Result<KernelSet, PinError> {
    let mut set = KernelSet::new();
    for cpu in cpus {
        match usize::try_from(cpu) {
            Ok(index) if index < KernelSet::MAX_CPU => set.set(index),
            _ => return Err(PinError::TooLarge { cpu }),
        }
    }
    Ok(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(list: &str) -> CpuSet {
        list.parse().expect(list)
    }

    #[test]
    fn a_pinned_thread_is_where_it_was_sent() {
        let ours = allowed();
        let last = ours.iter().last().expect("this process runs somewhere");
        std::thread::spawn(move || {
            let one: CpuSet = [last].into_iter().collect();
            pin_current_thread(&one).expect("an allowed CPU");
            assert_eq!(rustix::thread::sched_getcpu(), last as usize);
            let tid = rustix::thread::gettid().as_raw_nonzero().get() as u32;
            assert_eq!(of_thread(tid), Some(one));
            // The process as a whole keeps its CPUs: only this thread moved.
            assert_eq!(allowed(), ours);
        })
        .join()
        .expect("the pinned thread");
    }

    #[test]
    fn impossible_pins_are_errors() {
        assert_eq!(pin_current_thread(&CpuSet::new()), Err(PinError::Empty));
        assert_eq!(pin_current_thread(&set("5000")), Err(PinError::TooLarge { cpu: 5000 }));
        let ours = allowed();
        let absent = (0..1024).rev().find(|&cpu| !ours.contains(cpu)).expect("not 1024 CPUs");
        std::thread::spawn(move || {
            let error = pin_current_thread(&[absent].into_iter().collect()).expect_err("absent");
            assert!(matches!(error, PinError::Refused { .. }), "{error}");
        })
        .join()
        .expect("the thread");
    }
}
