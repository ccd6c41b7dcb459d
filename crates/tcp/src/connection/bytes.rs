//! A queue of bytes in one piece, whose memory follows what it holds.

/// Memory that an empty queue keeps: enough for messages of ordinary requests, so that these cost no allocation.
const KEPT_BYTES: usize = 1024;

/// Bytes in order: added behind, dropped in front.
#[derive(Debug, Default)]
pub(crate) struct Bytes {
    store: Vec<u8>,
    start: usize,
}

impl Bytes {
    /// How many it holds.
    pub(crate) fn len(&self) -> usize {
        self.store.len() - self.start
    }

    /// Whether it holds none.
    pub(crate) fn is_empty(&self) -> bool {
        self.store.len() == self.start
    }

    /// All bytes.
    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.store[self.start..]
    }

    /// Memory that it takes.
    #[inline]
    pub(crate) fn capacity(&self) -> usize {
        self.store.capacity()
    }

    /// Adds bytes behind.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.move_to_front(bytes.len());
        self.store.extend_from_slice(bytes);
    }

    /// Adds at most `most` bytes behind, which `fill` writes and counts.
    ///
    /// # Errors
    /// Those of `fill`; nothing is added then.
    pub(crate) fn push_with<E>(
        &mut self,
        most: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<usize, E> {
        self.move_to_front(most);
        let end = self.store.len();
        self.store.resize(end + most, 0);
        let filled = fill(&mut self.store[end..]);
        self.store.truncate(end + filled.as_ref().map_or(0, |&n| n.min(most)));
        filled
    }

    /// Writes bytes at an offset, with a gap of zeros before them where they lie beyond the end.
    pub(crate) fn write_at(&mut self, offset: usize, bytes: &[u8]) {
        let end = offset + bytes.len();
        if end > self.len() {
            self.move_to_front(end - self.len());
            self.store.resize(self.start + end, 0);
        }
        self.store[self.start + offset..self.start + end].copy_from_slice(bytes);
    }

    /// Drops the first `n`.
    pub(crate) fn drop_front(&mut self, n: usize) {
        self.start = (self.start + n).min(self.store.len());
        if self.start < self.store.len() {
            return;
        }
        self.start = 0;
        if self.store.capacity() > KEPT_BYTES {
            self.store = Vec::new();
        } else {
            self.store.clear();
        }
    }

    /// Keeps the first `n`, and no memory for more.
    pub(crate) fn truncate(&mut self, n: usize) {
        self.store.truncate(self.start + n);
        self.store.drain(..self.start);
        self.start = 0;
        self.store.shrink_to(KEPT_BYTES);
    }

    /// Uses the room in front when that saves growing and is at least what has to be moved: each byte moves once or so.
    fn move_to_front(&mut self, more: usize) {
        let must_grow = self.store.len() + more > self.store.capacity();
        if must_grow && self.start >= self.len() {
            self.store.drain(..self.start);
            self.start = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn is_a_queue(steps in prop::collection::vec((0usize..3000, 0usize..3000, 0usize..100), 1..50)) {
            let (mut bytes, mut model) = (Bytes::default(), Vec::new());
            for (added, dropped, gap) in steps {
                let block: Vec<u8> = (0..added).map(|i| (i + gap) as u8).collect();
                if gap > 50 {
                    bytes.write_at(model.len() + gap, &block);
                    model.resize(model.len() + gap, 0);
                } else {
                    bytes.push(&block);
                }
                model.extend(&block);
                let dropped = dropped.min(model.len());
                bytes.drop_front(dropped);
                model.drain(..dropped);
                prop_assert_eq!(bytes.as_slice(), &model[..]);
                prop_assert!(!bytes.is_empty() || bytes.capacity() <= KEPT_BYTES);
            }
        }
    }
}
