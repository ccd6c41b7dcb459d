//! A table whose entries have small dense numbers and names that are never reused.

use crate::Conn;

/// Generations wrap here, which leaves an engine four bits of a 64-bit name for itself. A name would have to be kept
/// over 268 million reuses of its slot to be mistaken for another.
pub(crate) const GENERATIONS: u32 = (1 << 28) - 1;

/// Slots beyond the limit. One that was vacated is not given away before the next batch of events, and so many others may
/// take the place of such in the meantime: more connections than anyone opens at once.
pub(crate) const SPARE_SLOTS: usize = 256;

/// Entries by slot, each under a generation that grows when the slot is vacated.
pub struct Slots<T> {
    entries: Vec<Entry<T>>,
    free: Vec<u32>,
    /// Vacated since the last [`recycle`](Self::recycle): not to be given out before, so that a user's table
    /// indexed by slot stays right until it has seen the whole batch of events.
    vacated: Vec<u32>,
    occupied: usize,
    limit: usize,
}

struct Entry<T> {
    generation: u32,
    value: Option<T>,
}

impl<T> Slots<T> {
    /// An empty table for `limit` entries.
    pub fn new(limit: usize) -> Self {
        Self { entries: Vec::new(), free: Vec::new(), vacated: Vec::new(), occupied: 0, limit }
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.occupied == 0
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.occupied
    }

    /// Whether another entry is allowed now.
    pub fn has_room(&self) -> bool {
        self.occupied < self.limit && self.occupied + self.vacated.len() < self.limit + SPARE_SLOTS
    }

    /// Puts `value` into a slot and returns its name.
    pub fn insert(&mut self, value: T) -> Conn {
        self.occupied += 1;
        if let Some(slot) = self.free.pop() {
            let entry = &mut self.entries[slot as usize];
            entry.value = Some(value);
            return Conn { slot, generation: entry.generation };
        }
        let slot = self.entries.len() as u32;
        self.entries.push(Entry { generation: 0, value: Some(value) });
        Conn { slot, generation: 0 }
    }

    /// The entry of that name.
    pub fn get(&self, conn: Conn) -> Option<&T> {
        self.entries.get(conn.slot()).filter(|e| e.generation == conn.generation)?.value.as_ref()
    }

    /// The entry of that name, to change.
    pub fn get_mut(&mut self, conn: Conn) -> Option<&mut T> {
        self.entries.get_mut(conn.slot()).filter(|e| e.generation == conn.generation)?.value.as_mut()
    }

    /// Vacates the slot; the name is void from now on.
    pub fn remove(&mut self, conn: Conn) -> Option<T> {
        let entry = self.entries.get_mut(conn.slot()).filter(|e| e.generation == conn.generation)?;
        let value = entry.value.take()?;
        entry.generation = (entry.generation + 1) & GENERATIONS;
        self.vacated.push(conn.slot);
        self.occupied -= 1;
        Some(value)
    }

    /// Names of the entries that `wanted` picks.
    pub(crate) fn names(&self, wanted: impl Fn(&T) -> bool) -> Vec<Conn> {
        let name = |(slot, e): (usize, &Entry<T>)| {
            e.value
                .as_ref()
                .filter(|v| wanted(v))
                .map(|_| Conn { slot: slot as u32, generation: e.generation })
        };
        self.entries.iter().enumerate().filter_map(name).collect()
    }

    /// Allows vacated slots to be given out again.
    pub fn recycle(&mut self) {
        self.free.append(&mut self.vacated);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_name_finds_nothing_after_its_slot_was_given_away() {
        let mut slots = Slots::new(4);
        let first = slots.insert("a");
        assert_eq!(slots.remove(first), Some("a"));
        assert_ne!(slots.insert("b").slot(), first.slot(), "not within the same batch");
        slots.recycle();
        let third = slots.insert("c");
        assert_eq!(third.slot(), first.slot());
        assert_eq!(slots.get(first), None);
        assert_eq!(slots.remove(first), None);
        assert_eq!(slots.get(third), Some(&"c"));
        assert_eq!(slots.len(), 2);
    }
}
