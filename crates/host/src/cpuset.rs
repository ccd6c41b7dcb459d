//! Sets of CPUs in the kernel's list format, and pinning of the calling thread.
//!
//! The format is that of `cpuset(7)`, "List format": `0-3,8`, with the stride form `0-31:2/4` (of each group
//! of four CPUs the first two) which the kernel also accepts.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use rustix::process::Pid;
use rustix::thread::{CpuSet as KernelSet, sched_getaffinity, sched_setaffinity};

/// The largest CPU number accepted in text. `CONFIG_NR_CPUS` is at most 8192 on any architecture; a larger
/// number is a slip of the finger, and would otherwise be expanded in memory.
pub const MAX_CPU: u32 = 8191;

/// A set of logical CPU numbers, in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CpuSet(BTreeSet<u32>);

/// A text is no list of CPUs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CpuListError {
    /// The text has no CPU in it.
    #[error("the CPU list is empty: write numbers and ranges such as 0-3,8")]
    Empty,
    /// A part between commas is neither a number nor a range.
    #[error("{part:?} in the CPU list {list:?} is neither a number nor a range: write for example 0-3,8")]
    Part {
        /// The part at fault.
        part: String,
        /// The whole list.
        list: String,
    },
    /// A range runs backwards.
    #[error("the range {part:?} in the CPU list {list:?} runs backwards: write the smaller number first")]
    Backwards {
        /// The part at fault.
        part: String,
        /// The whole list.
        list: String,
    },
    /// A number is beyond [`MAX_CPU`].
    #[error("{part:?} in the CPU list {list:?} is beyond CPU {MAX_CPU}, the largest that Linux knows")]
    TooLarge {
        /// The part at fault.
        part: String,
        /// The whole list.
        list: String,
    },
}

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

impl CpuSet {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// The CPUs that this process may use: its main thread's affinity, so that a container's cpuset and
    /// `taskset` are respected. All online CPUs where the kernel does not tell.
    pub fn allowed() -> Self {
        match sched_getaffinity(Some(rustix::process::getpid())) {
            Ok(set) => Self::from_kernel(&set),
            // EINVAL: the kernel has more CPUs than the fixed mask of the call; the text form has no such
            // limit.
            Err(_) => Self::allowed_from_status().unwrap_or_else(Self::online),
        }
    }

    fn allowed_from_status() -> Option<Self> {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        crate::text::field(&status, "Cpus_allowed_list")?.parse().ok()
    }

    fn online() -> Self {
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        (0..u32::try_from(count).unwrap_or(1)).collect()
    }

    /// The CPUs on which thread `tid` may run, `None` when it is gone.
    pub fn of_thread(tid: u32) -> Option<Self> {
        let tid = Pid::from_raw(i32::try_from(tid).ok()?)?;
        sched_getaffinity(Some(tid)).ok().map(|set| Self::from_kernel(&set))
    }

    /// How many CPUs are in the set.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no CPU is in the set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `cpu` is in the set.
    pub fn contains(&self, cpu: u32) -> bool {
        self.0.contains(&cpu)
    }

    /// The smallest CPU number.
    pub fn first(&self) -> Option<u32> {
        self.0.first().copied()
    }

    /// The CPUs, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    /// The CPUs in either set.
    pub fn union(&self, other: &Self) -> Self {
        Self(&self.0 | &other.0)
    }

    /// The CPUs in both sets.
    pub fn intersection(&self, other: &Self) -> Self {
        Self(&self.0 & &other.0)
    }

    /// The CPUs of this set that are not in the other.
    pub fn difference(&self, other: &Self) -> Self {
        Self(&self.0 - &other.0)
    }

    /// Whether every CPU of this set is in the other.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.0.is_subset(&other.0)
    }

    /// Whether the sets share no CPU.
    pub fn is_disjoint(&self, other: &Self) -> bool {
        self.0.is_disjoint(&other.0)
    }

    fn from_kernel(set: &KernelSet) -> Self {
        (0..KernelSet::MAX_CPU)
            .filter(|&cpu| set.is_set(cpu))
            .filter_map(|cpu| u32::try_from(cpu).ok())
            .collect()
    }

    fn to_kernel(&self) -> Result<KernelSet, PinError> {
        let mut set = KernelSet::new();
        for cpu in self.iter() {
            match usize::try_from(cpu) {
                Ok(index) if index < KernelSet::MAX_CPU => set.set(index),
                _ => return Err(PinError::TooLarge { cpu }),
            }
        }
        Ok(set)
    }
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
    let refused = |why| PinError::Refused { wanted: cpus.clone(), allowed: CpuSet::allowed(), why };
    sched_setaffinity(None, &cpus.to_kernel()?).map_err(refused)?;
    let given = CpuSet::from_kernel(&sched_getaffinity(None).map_err(refused)?);
    if given == *cpus { Ok(()) } else { Err(PinError::Narrowed { wanted: cpus.clone(), given }) }
}

impl FromStr for CpuSet {
    type Err = CpuListError;

    fn from_str(list: &str) -> Result<Self, CpuListError> {
        let list = list.trim();
        if list.is_empty() {
            return Err(CpuListError::Empty);
        }
        list.split(',').try_fold(Self::new(), |mut set, part| {
            let (first, last, used, group) = parse_part(part.trim(), list)?;
            set.0.extend((first..=last).filter(|cpu| (cpu - first) % group < used));
            Ok(set)
        })
    }
}

/// One part of a list as (first, last, used, group): of each `group` CPUs from `first` to `last` the first
/// `used` are meant.
fn parse_part(part: &str, list: &str) -> Result<(u32, u32, u32, u32), CpuListError> {
    let bad = || CpuListError::Part { part: part.into(), list: list.into() };
    let number = |text: &str| -> Result<u32, CpuListError> {
        // `u32::from_str` would let a plus sign through.
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(bad());
        }
        text.parse::<u32>()
            .ok()
            .filter(|&cpu| cpu <= MAX_CPU)
            .ok_or_else(|| CpuListError::TooLarge { part: part.into(), list: list.into() })
    };
    let (range, stride) = part.split_once(':').map_or((part, None), |(range, stride)| (range, Some(stride)));
    let (used, group) = match stride.map(|stride| stride.split_once('/').ok_or_else(bad)).transpose()? {
        Some((used, group)) => (number(used)?, number(group)?),
        None => (1, 1),
    };
    let (first, last) = match range.split_once('-') {
        Some((first, last)) => (number(first)?, number(last)?),
        None => (number(range)?, number(range)?),
    };
    if used == 0 || used > group {
        return Err(bad());
    }
    if first > last {
        return Err(CpuListError::Backwards { part: part.into(), list: list.into() });
    }
    Ok((first, last, used, group))
}

impl fmt::Display for CpuSet {
    /// The kernel's list format, shortest form: `0-3,8`. The empty set prints as nothing, as in the kernel's
    /// files.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        let mut rest = self.iter().peekable();
        while let Some(first) = rest.next() {
            let mut last = first;
            while let Some(next) = rest.next_if_eq(&(last + 1)) {
                last = next;
            }
            let comma = if text.is_empty() { "" } else { "," };
            text += &if first == last { format!("{comma}{first}") } else { format!("{comma}{first}-{last}") };
        }
        out.pad(&text)
    }
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Self {
        Self(cpus.into_iter().collect())
    }
}

impl Extend<u32> for CpuSet {
    fn extend<I: IntoIterator<Item = u32>>(&mut self, cpus: I) {
        self.0.extend(cpus);
    }
}

impl<'a> IntoIterator for &'a CpuSet {
    type Item = u32;
    type IntoIter = std::iter::Copied<std::collections::btree_set::Iter<'a, u32>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(list: &str) -> CpuSet {
        list.parse().expect(list)
    }

    #[test]
    fn reads_and_prints_the_kernel_list_format() {
        for (list, len, printed) in [
            ("0", 1, "0"),
            ("0-3,8", 5, "0-3,8"),
            (" 0-1\n", 2, "0-1"),
            ("3,1,2", 3, "1-3"),
            ("0-31:2/4", 16, "0-1,4-5,8-9,12-13,16-17,20-21,24-25,28-29"),
            ("0-63,128-191", 128, "0-63,128-191"),
            ("7-7", 1, "7"),
        ] {
            assert_eq!(set(list).len(), len, "{list}");
            assert_eq!(set(list).to_string(), printed, "{list}");
            assert_eq!(set(printed), set(list));
        }
    }

    #[test]
    fn refuses_what_is_no_list_and_says_which_part() {
        for bad in ["a", "1,,2", "1-", "-1", "+1", "0-3:1", "0-3:0/2", "0-3:3/2", "1;2", "0x1"] {
            let error = bad.parse::<CpuSet>().expect_err(bad);
            assert!(matches!(error, CpuListError::Part { .. }), "{bad}: {error}");
        }
        assert_eq!(" ".parse::<CpuSet>(), Err(CpuListError::Empty));
        assert!(matches!("3-1".parse::<CpuSet>(), Err(CpuListError::Backwards { .. })));
        assert!(matches!("0-99999999999".parse::<CpuSet>(), Err(CpuListError::TooLarge { .. })));
        let message = "0,x-2".parse::<CpuSet>().expect_err("x").to_string();
        assert!(message.contains("\"x-2\"") && message.contains("\"0,x-2\""), "{message}");
    }

    #[test]
    fn set_algebra() {
        let (left, right) = (set("0-3"), set("2-5"));
        assert_eq!(left.union(&right), set("0-5"));
        assert_eq!(left.intersection(&right), set("2-3"));
        assert_eq!(left.difference(&right), set("0-1"));
        assert!(set("2").is_subset(&left) && !right.is_subset(&left));
        assert!(left.is_disjoint(&set("8")) && !left.is_disjoint(&right));
        assert!(left.contains(3) && !left.contains(4));
        assert_eq!(CpuSet::new().to_string(), "");
    }

    #[test]
    fn a_pinned_thread_is_where_it_was_sent() {
        let allowed = CpuSet::allowed();
        let last = allowed.iter().last().expect("this process runs somewhere");
        std::thread::spawn(move || {
            let one: CpuSet = [last].into_iter().collect();
            pin_current_thread(&one).expect("an allowed CPU");
            assert_eq!(rustix::thread::sched_getcpu(), last as usize);
            let tid = rustix::thread::gettid().as_raw_nonzero().get() as u32;
            assert_eq!(CpuSet::of_thread(tid), Some(one));
            // The process as a whole keeps its CPUs: only this thread moved.
            assert_eq!(CpuSet::allowed(), allowed);
        })
        .join()
        .expect("the pinned thread");
    }

    #[test]
    fn impossible_pins_are_errors() {
        assert_eq!(pin_current_thread(&CpuSet::new()), Err(PinError::Empty));
        assert_eq!(pin_current_thread(&set("5000")), Err(PinError::TooLarge { cpu: 5000 }));
        let allowed = CpuSet::allowed();
        let absent = (0..1024).rev().find(|&cpu| !allowed.contains(cpu)).expect("not 1024 CPUs");
        std::thread::spawn(move || {
            let error = pin_current_thread(&[absent].into_iter().collect()).expect_err("absent");
            assert!(matches!(error, PinError::Refused { .. }), "{error}");
        })
        .join()
        .expect("the thread");
    }
}
