//! What a stack does when its connections hold too much memory.

use assay_engine::Reason;
use assay_wire::Wire;
use rustix::io::Errno;

use crate::endpoint::Owner;
use crate::memory::Turn;
use crate::stack::UserStack;

impl<W: Wire> UserStack<W> {
    /// Counts what a connection holds now, and does what has to be done about all of them.
    #[inline]
    pub(crate) fn account(&mut self, index: u32) {
        if self.measure(index) {
            self.balance();
        }
    }

    /// Does what has to be done about the memory of all.
    #[inline]
    pub(crate) fn balance(&mut self) {
        while let Some(turn) = self.memory.turn() {
            if !self.relieve(turn) {
                return;
            }
        }
    }

    /// Counts what a connection holds now; whether that has changed.
    #[inline]
    pub(crate) fn measure(&mut self, index: u32) -> bool {
        let endpoint = &mut self.endpoints[index as usize];
        let now = endpoint.heap_bytes();
        let before = std::mem::replace(&mut endpoint.held_bytes, now);
        self.memory.change(before, now);
        before != now
    }

    /// Whether anything was done. It costs a look at every connection, and a quarter of the limit comes or goes between two
    /// shortages.
    #[cold]
    fn relieve(&mut self, turn: Turn) -> bool {
        match turn {
            Turn::Short => {
                self.stack.memory_shortages += 1;
                self.press_all(true);
                true
            }
            Turn::Ample => {
                self.press_all(false);
                true
            }
            Turn::Over => self.reset_largest(),
        }
    }

    fn press_all(&mut self, is_short: bool) {
        for index in 0..self.endpoints.len() as u32 {
            let endpoint = &mut self.endpoints[index as usize];
            if endpoint.owner == Owner::Nobody {
                continue;
            }
            endpoint.connection.press(is_short);
            self.measure(index);
            // Peers that were held back are to hear it.
            self.touch(index);
        }
    }

    /// Whether there was one.
    fn reset_largest(&mut self) -> bool {
        let largest = (0..self.endpoints.len()).max_by_key(|&n| self.endpoints[n].held_bytes);
        let Some(index) = largest.filter(|&n| self.endpoints[n].held_bytes > 0) else { return false };
        self.stack.memory_resets += 1;
        self.endpoints[index].give_up();
        let index = index as u32;
        self.break_off(index, Reason::Other(Errno::NOBUFS.raw_os_error()));
        self.measure(index);
        self.touch(index);
        true
    }
}
