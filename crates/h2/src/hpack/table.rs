//! The dynamic table (RFC 7541 §2.3.2, §4).

use std::collections::VecDeque;

use super::static_table::STATIC;

/// What an entry counts for beside its name and value (RFC 7541 §4.1).
const ENTRY_BYTES: usize = 32;

/// The dynamic table of one direction of a connection, and behind it the static one.
#[derive(Debug)]
pub(super) struct Table {
    /// The youngest first.
    entries: VecDeque<Entry>,
    size: usize,
    max: usize,
    /// Changes with every change of what an index means.
    version: u64,
}

#[derive(Debug)]
struct Entry {
    /// The name, and behind it the value.
    text: Box<[u8]>,
    name_len: usize,
}

impl Table {
    pub(super) fn new(max: usize) -> Self {
        Self { entries: VecDeque::new(), size: 0, max, version: 0 }
    }

    pub(super) fn version(&self) -> u64 {
        self.version
    }

    pub(super) fn max(&self) -> usize {
        self.max
    }

    /// The field with this index.
    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<(&[u8], &[u8])> {
        if let Some((name, value)) = STATIC.get(index.checked_sub(1)?) {
            return Some((name.as_bytes(), value.as_bytes()));
        }
        let entry = self.entries.get(index - 1 - STATIC.len())?;
        Some(entry.text.split_at(entry.name_len))
    }

    /// The index of the field, if there is one; else that of one with its name, if there is one.
    pub(super) fn find(&self, name: &[u8], value: &[u8]) -> (Option<usize>, Option<usize>) {
        let mut named = None;
        for (at, entry) in self.entries.iter().enumerate() {
            let (its_name, its_value) = entry.text.split_at(entry.name_len);
            if its_name == name {
                let index = at + 1 + STATIC.len();
                if its_value == value {
                    return (Some(index), Some(index));
                }
                named = named.or(Some(index));
            }
        }
        (None, named)
    }

    /// Adds a field as the youngest; the oldest make room. One that is larger than the table empties it.
    pub(super) fn insert(&mut self, name: &[u8], value: &[u8]) {
        self.version += 1;
        let bytes = name.len() + value.len() + ENTRY_BYTES;
        self.shrink_to(self.max.saturating_sub(bytes));
        if bytes <= self.max {
            self.size += bytes;
            let text = [name, value].concat().into_boxed_slice();
            self.entries.push_front(Entry { text, name_len: name.len() });
        }
    }

    /// Changes how large it may become.
    pub(super) fn resize(&mut self, max: usize) {
        self.version += 1;
        self.max = max;
        self.shrink_to(max);
    }

    fn shrink_to(&mut self, most: usize) {
        while self.size > most {
            let Some(entry) = self.entries.pop_back() else { return };
            self.size -= entry.text.len() + ENTRY_BYTES;
        }
    }

    #[cfg(test)]
    pub(super) fn size(&self) -> usize {
        self.size
    }
}
