//! Sets of CPUs in the kernel's list format.
//!
//! The format is that of `cpuset(7)`, "List format": `0-3,8`, with the stride form `0-31:2/4` (of each group
//! of four CPUs the first two) which the kernel also accepts.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

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

impl CpuSet {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
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
}
