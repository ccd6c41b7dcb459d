//! Samples as they come, each stack once; no process, file or clock is touched here.

use std::collections::{BTreeSet, HashMap};

/// Most distinct stacks that are kept.
const MAX_STACKS: usize = 1 << 16;
/// From here on a number in a call chain is a mark, and no address (`PERF_CONTEXT_MAX` in linux/perf_event.h).
const FIRST_MARK: u64 = -4095_i64 as u64;
/// What follows is the kernel's, or the program's (`PERF_CONTEXT_KERNEL`, `PERF_CONTEXT_USER`).
const KERNEL: u64 = -128_i64 as u64;
const USER: u64 = -512_i64 as u64;

/// A stack as the kernel tells it, innermost address first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct RawStack {
    /// Its process; 0 for an idle CPU.
    pub(crate) pid: u32,
    /// Its thread.
    pub(crate) tid: u32,
    /// Addresses in the kernel.
    pub(crate) kernel: Vec<u64>,
    /// Addresses in the program.
    pub(crate) user: Vec<u64>,
}

/// All samples of a slice.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    /// How often each stack was seen.
    pub(crate) stacks: HashMap<RawStack, u64>,
    /// Samples that were not kept, here or by the kernel.
    pub(crate) lost: u64,
}

impl RawStack {
    /// Divides the chain of calls of a sample. What a call returns to is behind it, and may belong to the next function: all addresses but
    /// the innermost of each side are moved into the call itself.
    pub(crate) fn of(pid: u32, tid: u32, chain: &[u64]) -> Self {
        let mut stack = Self { pid, tid, ..Self::default() };
        let mut side = None;
        for &address in chain {
            match address {
                KERNEL => side = Some(KERNEL),
                USER => side = Some(USER),
                FIRST_MARK.. => side = None,
                _ => {
                    let addresses = match side {
                        Some(KERNEL) => &mut stack.kernel,
                        Some(_) => &mut stack.user,
                        None => continue,
                    };
                    let moved = if addresses.is_empty() { address } else { address.saturating_sub(1) };
                    addresses.push(moved);
                }
            }
        }
        stack
    }
}

impl Gathered {
    /// Counts a sample.
    pub(crate) fn add(&mut self, stack: RawStack) {
        if let Some(count) = self.stacks.get_mut(&stack) {
            *count += 1;
        } else if self.stacks.len() < MAX_STACKS {
            self.stacks.insert(stack, 1);
        } else {
            self.lost += 1;
        }
    }

    /// All addresses in the kernel.
    pub(crate) fn kernel_addresses(&self) -> BTreeSet<u64> {
        self.stacks.keys().flat_map(|stack| &stack.kernel).copied().collect()
    }

    /// All addresses of a process's own.
    pub(crate) fn user_addresses(&self, pid: u32) -> BTreeSet<u64> {
        let own = self.stacks.keys().filter(|stack| stack.pid == pid);
        own.flat_map(|stack| &stack.user).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_is_divided_at_its_marks_and_calls_are_found_before_their_return() {
        let stack = RawStack::of(7, 8, &[KERNEL, 0xffff_1000, 0xffff_2000, USER, 0x1000, 0x2000]);
        assert_eq!((stack.pid, stack.tid), (7, 8));
        assert_eq!(stack.kernel, [0xffff_1000, 0xffff_1fff]);
        assert_eq!(stack.user, [0x1000, 0x1fff]);
        let guest = FIRST_MARK + 5;
        assert_eq!(RawStack::of(1, 1, &[guest, 0x5, USER, 0x6]).user, [0x6], "what is neither is left out");
    }

    #[test]
    fn equal_stacks_are_one_and_too_many_are_lost() {
        let mut gathered = Gathered::default();
        let of = |address: u64| RawStack::of(1, 1, &[USER, address]);
        (0..3).for_each(|_| gathered.add(of(1)));
        for address in 1..=MAX_STACKS as u64 + 2 {
            gathered.add(of(address));
        }
        assert_eq!((gathered.stacks[&of(1)], gathered.lost), (4, 2));
        assert_eq!(gathered.user_addresses(1).len(), MAX_STACKS);
        assert!(gathered.user_addresses(2).is_empty() && gathered.kernel_addresses().is_empty());
    }
}
