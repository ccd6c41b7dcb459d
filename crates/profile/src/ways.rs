//! The calls that led to waits, as the kernel told them: kept while the load lasts, and given names when it is over.

use std::collections::HashMap;

use crate::calls::{Wait, Way};

/// Most waits whose way is kept.
const MAX_WAITS: usize = 1 << 18;
/// Most chains of calls by which they came.
const MAX_CHAINS: usize = 1 << 12;

/// A wait, and how a thread came to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entered<T> {
    pub(crate) time_ns: u64,
    pub(crate) tid: u32,
    pub(crate) wait: Wait,
    /// The word at the top of the thread's stack, where it was told.
    pub(crate) top: Option<u64>,
    /// The chain of calls that led there.
    pub(crate) chain: T,
}

/// The waits of a slice, each chain of calls once.
#[derive(Debug, Default)]
pub(crate) struct Ways {
    chains: HashMap<Way, usize>,
    entered: Vec<Entered<usize>>,
}

impl Ways {
    /// Keeps a wait. What finds no room is not kept: it is one among many alike.
    pub(crate) fn add(&mut self, entered: Entered<Way>) {
        let Entered { time_ns, tid, wait, top, chain } = entered;
        let next = self.chains.len();
        let has_room = next < MAX_CHAINS || self.chains.contains_key(&chain);
        if has_room && self.entered.len() < MAX_WAITS {
            let chain = *self.chains.entry(chain).or_insert(next);
            self.entered.push(Entered { time_ns, tid, wait, top, chain });
        }
    }

    /// Shows each, in the order in which they came.
    pub(crate) fn each(&self, mut see: impl FnMut(Entered<&Way>)) {
        let mut chains: Vec<(&Way, usize)> =
            self.chains.iter().map(|(chain, number)| (chain, *number)).collect();
        chains.sort_unstable_by_key(|(_, number)| *number);
        for Entered { time_ns, tid, wait, top, chain } in &self.entered {
            if let Some((chain, _)) = chains.get(*chain) {
                see(Entered { time_ns: *time_ns, tid: *tid, wait: *wait, top: *top, chain });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(time_ns: u64, chain: Way) -> Entered<Way> {
        Entered { time_ns, tid: 11, wait: Wait::Parked, top: Some(time_ns), chain }
    }

    #[test]
    fn each_wait_keeps_its_chain_and_what_lay_on_its_stack() {
        let (one, other) = ((1, vec![5, 6]), (1, vec![7]));
        let all = [wait(10, one.clone()), wait(20, other), wait(30, one)];
        let mut ways = Ways::default();
        all.iter().for_each(|wait| ways.add(wait.clone()));
        let mut seen = Vec::new();
        ways.each(|Entered { time_ns, tid, wait, top, chain }| {
            seen.push(Entered { time_ns, tid, wait, top, chain: chain.clone() });
        });
        assert_eq!(seen, all);
        assert_eq!(ways.chains.len(), 2);
    }

    #[test]
    fn more_than_there_is_room_for_are_left_out() {
        let mut ways = Ways::default();
        (0..MAX_CHAINS as u64 + 3).for_each(|address| ways.add(wait(address, (1, vec![address]))));
        assert_eq!(ways.entered.len(), MAX_CHAINS);
        ways.add(wait(1, (1, vec![0])));
        assert_eq!(ways.entered.len(), MAX_CHAINS + 1, "one of a chain that is known");
    }
}
