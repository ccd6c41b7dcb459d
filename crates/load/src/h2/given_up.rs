//! Streams that we have reset. The server may have written to them before it learns that, so what comes on them is passed over (RFC
//! 9113 §5.1).

use std::collections::VecDeque;

/// Streams that are remembered one by one.
const MAX_REMEMBERED: usize = 128;

/// The streams of a connection that we have reset.
#[derive(Default)]
pub(super) struct GivenUp {
    /// The newest of these streams.
    ids: VecDeque<u32>,
    /// The highest of those that are not remembered any more: every stream up to it may be one.
    forgotten: u32,
}

impl GivenUp {
    /// Takes note of a stream that we reset.
    pub(super) fn note(&mut self, id: u32) {
        if self.ids.len() == MAX_REMEMBERED
            && let Some(oldest) = self.ids.pop_front()
        {
            self.forgotten = self.forgotten.max(oldest);
        }
        self.ids.push_back(id);
    }

    /// Whether the stream is one of them, or may be.
    pub(super) fn may_have(&self, id: u32) -> bool {
        id <= self.forgotten || self.ids.contains(&id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_many_there_are_each_is_excused_and_what_is_kept_has_a_bound() {
        let mut given_up = GivenUp::default();
        let all = (1..100_000).step_by(4);
        all.clone().for_each(|id| given_up.note(id));
        assert!(all.clone().all(|id| given_up.may_have(id)));
        let excused = all.filter(|id| given_up.may_have(id + 2)).count();
        assert_eq!((given_up.ids.len(), excused), (MAX_REMEMBERED, 25_000 - MAX_REMEMBERED - 1));
    }
}
