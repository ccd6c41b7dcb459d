//! Memory that the connections of a stack hold together: what arrived and was not read, what was sent and not acknowledged.
//!
//! Each connection has bounds of its own, but many at their bounds are more than a machine may have, and a peer needs one octet at
//! a window's far end to have a whole window held. So there is a limit for all, and an order in which things are given up:
//! 1. From three quarters of it on memory is short. What lies beyond a gap is dropped and nothing beyond a gap is kept, as its sender
//!    has it still (RFC 2018 §8); windows shrink to two segments; requests for connections are dropped.
//! 2. Beyond the limit, the connection that holds most is reset, and so on. Whoever asks little is served.
//!
//! Memory is short until less than half of the limit is held, so that nothing changes to and fro with every segment.

/// The machine's memory is this many times what the connections of one process may hold, unless it is told otherwise; about what
/// Linux allows itself (`tcp_mem`, tcp(7)).
const SHARE_OF_THE_MACHINE: usize = 8;

/// What is held, and how much may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    limit: usize,
    held: usize,
    most: usize,
    is_short: bool,
}

/// What has to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// A shortage begins.
    Short,
    /// The shortage is over.
    Ample,
    /// More is held than may be.
    Over,
}

impl Memory {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, held: 0, most: 0, is_short: false }
    }

    /// One connection holds something else than before.
    #[inline]
    pub(crate) fn change(&mut self, before: usize, now: usize) {
        self.held = self.held + now - before;
        self.most = self.most.max(self.held);
    }

    /// What has to be done next; each turn is told once, and [`Turn::Over`] as long as it holds.
    #[inline]
    pub(crate) fn turn(&mut self) -> Option<Turn> {
        let (is_much, is_little) = (self.held > self.limit - self.limit / 4, self.held < self.limit / 2);
        if !self.is_short && is_much {
            self.is_short = true;
            Some(Turn::Short)
        } else if self.is_short && is_little {
            self.is_short = false;
            Some(Turn::Ample)
        } else {
            (self.held > self.limit).then_some(Turn::Over)
        }
    }

    pub(crate) fn is_short(&self) -> bool {
        self.is_short
    }

    /// Bytes held now, and the most that ever were.
    pub(crate) fn held(&self) -> [usize; 2] {
        [self.held, self.most]
    }
}

/// Bytes that the connections of a process may hold unless it is told otherwise (sysinfo(2)).
pub(crate) fn usual_limit() -> usize {
    let machine = rustix::system::sysinfo();
    let bytes = (machine.totalram as usize).saturating_mul(machine.mem_unit as usize);
    bytes / SHARE_OF_THE_MACHINE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortage_begins_at_three_quarters_and_ends_at_a_half() {
        let mut memory = Memory::new(1000);
        let mut held = 0;
        let steps = [(750, None), (751, Some(Turn::Short)), (1000, None), (1001, Some(Turn::Over))];
        let back =
            [(900, None), (500, None), (499, Some(Turn::Ample)), (750, None), (1001, Some(Turn::Short))];
        for (now, turn) in steps.into_iter().chain(back) {
            memory.change(std::mem::replace(&mut held, now), now);
            assert_eq!(memory.turn(), turn, "{now}");
        }
        assert_eq!(memory.turn(), Some(Turn::Over), "a shortage comes first");
        assert_eq!(memory.held(), [1001, 1001]);
    }

    #[test]
    fn a_machine_has_more_than_the_usual_limit() {
        assert!(usual_limit() > 1 << 20);
    }
}
