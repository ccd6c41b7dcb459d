//! What arrives: bytes in order, ranges beyond a gap, and the window (RFC 9293 §3.8.6).

use assay_engine::RECEIVE_VIEW_BYTES;

use super::bytes::Bytes;
use super::options::SACK_BLOCKS;
use super::sequence::Seq;

/// Ranges beyond gaps that are kept at most; what would make one more is dropped, and sent again by its sender.
const MAX_RANGES: usize = 32;

/// Bytes that arrived. Those beyond a gap already lie where they belong, so that a gap that is filled moves nothing.
#[derive(Debug)]
pub(super) struct Inbox {
    bytes: Bytes,
    /// Bytes that are in order, from the first on.
    ready: usize,
    /// Of these, what the user was shown; it does not count against the window, since only the user can use it up.
    seen: usize,
    /// RCV.NXT.
    pub(super) rcv_nxt: Seq,
    /// Ranges beyond `rcv_nxt` in order; they neither overlap nor touch.
    ranges: Vec<(Seq, Seq)>,
    /// The start of what arrived last beyond a gap: its range is told first (RFC 2018 §4).
    latest: Seq,
    /// The number of the peer's FIN.
    fin: Option<Seq>,
    /// The FIN was reached.
    pub(super) has_ended: bool,
    /// Most bytes that the user was not shown yet.
    limit: u32,
    /// The limit while there is memory.
    usual_limit: u32,
    /// Memory is short.
    is_pressed: bool,
}

/// What a segment's data changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Nothing is new.
    Nothing,
    /// The data lies beyond a gap.
    Beyond,
    /// There are more bytes in order, or the end was reached; a gap was filled or is left behind them.
    GapFilled,
    /// There are more bytes in order, and there is no gap.
    InOrder,
}

impl Inbox {
    pub(super) fn new(limit: u32) -> Self {
        let (rcv_nxt, latest) = (Seq(0), Seq(0));
        let bytes = Bytes::default();
        Self {
            bytes,
            ready: 0,
            seen: 0,
            rcv_nxt,
            ranges: Vec::new(),
            latest,
            fin: None,
            has_ended: false,
            limit,
            usual_limit: limit,
            is_pressed: false,
        }
    }

    /// Takes data that begins at or behind `rcv_nxt` and ends within the window.
    pub(super) fn take(&mut self, start: Seq, data: &[u8]) -> Change {
        if start == self.rcv_nxt && self.ranges.is_empty() {
            self.bytes.push(data);
            self.ready += data.len();
            self.rcv_nxt = self.rcv_nxt + data.len() as u32;
            return Change::InOrder;
        }
        let end = start + data.len() as u32;
        let must_wait = self.is_pressed && start != self.rcv_nxt;
        if data.is_empty() || must_wait || !self.insert(start, end) {
            return Change::Nothing;
        }
        self.bytes.write_at(self.ready + (start - self.rcv_nxt) as usize, data);
        self.latest = start;
        if self.advance() { Change::GapFilled } else { Change::Beyond }
    }

    /// Memory is short, so that nothing beyond a gap is kept and the window is at most this; or it is short no more.
    pub(super) fn press(&mut self, limit: Option<u32>) {
        self.limit = limit.map_or(self.usual_limit, |limit| limit.min(self.usual_limit));
        self.is_pressed = limit.is_some();
        if self.is_pressed && self.has_gap() {
            self.ranges = Vec::new();
            self.bytes.truncate(self.ready);
        }
    }

    /// Drops all that arrived.
    pub(super) fn discard(&mut self) {
        (self.bytes, self.ranges) = (Bytes::default(), Vec::new());
        (self.ready, self.seen) = (0, 0);
    }

    /// Notes where the peer's direction ends. Returns whether all before it is here.
    pub(super) fn end_at(&mut self, fin: Seq) -> bool {
        if *self.fin.get_or_insert(fin) == self.rcv_nxt && !self.has_ended {
            self.has_ended = true;
            self.rcv_nxt = self.rcv_nxt + 1;
            // Nothing can follow; what a confused peer sent beyond is forgotten.
            self.ranges.clear();
        }
        self.has_ended
    }

    /// Where the peer's direction ends, if that is known.
    pub(super) fn end(&self) -> Option<Seq> {
        self.fin
    }

    /// Merges a range with its neighbours. Returns whether it was kept.
    fn insert(&mut self, start: Seq, end: Seq) -> bool {
        let from = self.ranges.partition_point(|range| range.1.is_before(start));
        let until = self.ranges.partition_point(|range| range.0.is_within(end));
        if from == until {
            let has_room = self.ranges.len() < MAX_RANGES;
            if has_room {
                self.ranges.insert(from, (start, end));
            }
            return has_room;
        }
        let merged = (start.min(self.ranges[from].0), end.max(self.ranges[until - 1].1));
        self.ranges.splice(from..until, [merged]);
        true
    }

    /// Moves `rcv_nxt` over what has become contiguous. Returns whether it moved.
    fn advance(&mut self) -> bool {
        let Some(&(start, end)) = self.ranges.first().filter(|range| range.0.is_within(self.rcv_nxt)) else {
            return false;
        };
        debug_assert!(start == self.rcv_nxt, "data is trimmed to what is new");
        self.ready += (end - self.rcv_nxt) as usize;
        self.rcv_nxt = end;
        self.ranges.remove(0);
        true
    }

    /// Whether something waits beyond a gap.
    pub(super) fn has_gap(&self) -> bool {
        !self.ranges.is_empty()
    }

    /// Ranges to be told to the peer, the latest first (RFC 2018 §4).
    pub(super) fn blocks(&self) -> impl Iterator<Item = (Seq, Seq)> {
        let is_latest =
            |range: &&(Seq, Seq)| range.0.is_within(self.latest) && self.latest.is_before(range.1);
        let first = self.ranges.iter().find(is_latest);
        let others = self.ranges.iter().filter(move |range| !is_latest(range));
        first.into_iter().chain(others).take(SACK_BLOCKS).copied()
    }

    /// Bytes that the peer may send from `rcv_nxt` on.
    pub(super) fn room(&self) -> u32 {
        self.limit.saturating_sub((self.ready - self.seen) as u32)
    }

    /// Most bytes that the window can have.
    pub(super) fn limit(&self) -> u32 {
        self.limit
    }

    /// Bytes that the user was not shown.
    pub(super) fn unseen(&self) -> usize {
        self.ready - self.seen
    }

    /// What the user may see.
    pub(super) fn view(&self) -> &[u8] {
        &self.bytes.as_slice()[..self.ready.min(RECEIVE_VIEW_BYTES)]
    }

    /// Counts what the user is shown as seen. Returns how many bytes were not seen before.
    pub(super) fn show(&mut self) -> usize {
        let shown = self.ready.min(RECEIVE_VIEW_BYTES);
        let fresh = shown.saturating_sub(self.seen);
        self.seen = self.seen.max(shown);
        fresh
    }

    /// Drops the first `n` bytes in order, fewer if there are fewer. Returns how many it dropped, and how many of these nobody had
    /// seen.
    pub(super) fn consume(&mut self, n: usize) -> (usize, usize) {
        let dropped = n.min(self.ready);
        let unseen = dropped.saturating_sub(self.seen);
        self.bytes.drop_front(dropped);
        self.ready -= dropped;
        self.seen -= dropped - unseen;
        (dropped, unseen)
    }

    /// Memory on the heap.
    #[inline]
    pub(super) fn heap_bytes(&self) -> usize {
        self.bytes.capacity() + self.ranges.capacity() * size_of::<(Seq, Seq)>()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn inbox(next: u32) -> Inbox {
        Inbox { rcv_nxt: Seq(next), ..Inbox::new(1000) }
    }

    #[test]
    fn puts_what_is_out_of_order_in_order_also_where_numbers_wrap() {
        let start = u32::MAX - 4;
        let at = |n: u32| Seq(start) + n;
        let mut inbox = inbox(start);
        assert_eq!(inbox.take(at(4), b"56"), Change::Beyond);
        assert_eq!(inbox.take(at(8), b"9"), Change::Beyond);
        assert_eq!(inbox.blocks().collect::<Vec<_>>(), [(at(8), at(9)), (at(4), at(6))], "the latest first");
        assert!(inbox.view().is_empty() && inbox.has_gap());
        assert!(!inbox.end_at(at(9)));
        assert_eq!(inbox.take(at(0), b"1234"), Change::GapFilled);
        assert_eq!(inbox.view(), b"123456");
        assert_eq!(inbox.take(at(6), b"789"), Change::GapFilled);
        assert_eq!((inbox.view(), inbox.has_gap()), (&b"123456789"[..], false));
        assert!(inbox.end_at(at(9)) && inbox.rcv_nxt == at(10));
    }

    #[test]
    fn what_was_shown_leaves_the_window_open() {
        let mut inbox = inbox(0);
        inbox.take(Seq(0), &[1; 600]);
        assert_eq!((inbox.room(), inbox.unseen()), (400, 600));
        assert_eq!((inbox.show(), inbox.show(), inbox.room()), (600, 0, 1000));
        inbox.take(Seq(600), &[2; 10]);
        assert_eq!(inbox.consume(605), (605, 5));
        assert_eq!((inbox.view(), inbox.room()), (&[2; 5][..], 995));
    }

    proptest! {
        #[test]
        fn any_pieces_in_any_order_make_the_whole(
            pieces in prop::collection::vec((0usize..900, 1usize..100), 1..200), start in any::<u32>(),
        ) {
            let whole: Vec<u8> = (0..1000).map(|i| (i * 7 % 251) as u8).collect();
            let mut inbox = inbox(start);
            for (offset, length) in pieces {
                let done = (inbox.rcv_nxt - Seq(start)) as usize;
                let (from, to) = (offset.max(done), offset + length);
                if from < to {
                    inbox.take(Seq(start) + from as u32, &whole[from..to]);
                }
                prop_assert!(inbox.ranges.len() <= MAX_RANGES);
                let ready = (inbox.rcv_nxt - Seq(start)) as usize;
                prop_assert_eq!(inbox.view(), &whole[..ready]);
            }
        }
    }
}
