//! Segments that were sent and not acknowledged: the scoreboard of RFC 2018 and RFC 8985, a list in the order of their numbers.

use std::collections::VecDeque;

use assay_model::units::Nanos;

use super::sequence::Seq;

/// Segments under way at most, whatever they hold; further ones wait.
const MAX_SEGMENTS: usize = 2048;
/// Entries for which an empty list keeps memory.
const KEPT_SEGMENTS: usize = 8;

/// What is known of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The segment may be under way.
    Flying,
    /// The peer has it, beyond a gap.
    Sacked,
    /// The segment is to be sent again.
    Lost,
}

/// A segment that was sent: numbers of SYN, data and FIN.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) start: Seq,
    pub(super) end: Seq,
    /// Segment.xmit_ts: when it was last sent (RFC 8985 §5.1).
    pub(super) xmit_ts: Nanos,
    pub(super) fate: Fate,
    /// Whether the segment was sent more than once: its acknowledgement tells no round-trip time (Karn's algorithm, RFC 6298 §3).
    pub(super) is_retransmitted: bool,
}

impl Sent {
    pub(super) fn octets(&self) -> u32 {
        self.end - self.start
    }
}

/// The list, with sums.
#[derive(Debug, Default)]
pub(super) struct Flight {
    list: VecDeque<Sent>,
    sacked: u32,
    lost: u32,
    /// Octets of all.
    total: u32,
}

impl Flight {
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn is_full(&self) -> bool {
        self.list.len() >= MAX_SEGMENTS
    }

    /// Pipe: octets that are probably in the network (RFC 6675 §4).
    pub(super) fn pipe(&self) -> u32 {
        self.total - self.sacked - self.lost
    }

    pub(super) fn has_lost(&self) -> bool {
        self.lost > 0
    }

    pub(super) fn has_sacked(&self) -> bool {
        self.sacked > 0
    }

    /// Segments that the peer has beyond a gap.
    pub(super) fn sacked_segments(&self) -> usize {
        if self.sacked == 0 { 0 } else { self.list.iter().filter(|sent| sent.fate == Fate::Sacked).count() }
    }

    pub(super) fn push(&mut self, start: Seq, end: Seq, at: Nanos) {
        self.total += end - start;
        self.list.push_back(Sent { start, end, xmit_ts: at, fate: Fate::Flying, is_retransmitted: false });
    }

    /// Drops what `up_to` acknowledges, showing each segment to `see` that the peer had not told of before.
    pub(super) fn acknowledge(&mut self, up_to: Seq, mut see: impl FnMut(&Sent)) {
        while let Some(first) = self.list.front_mut() {
            if !first.start.is_before(up_to) {
                break;
            }
            let octets = up_to.min(first.end) - first.start;
            self.total -= octets;
            match first.fate {
                Fate::Flying => see(first),
                Fate::Sacked => self.sacked -= octets,
                Fate::Lost => {
                    self.lost -= octets;
                    see(first);
                }
            }
            if up_to.is_before(first.end) {
                first.start = up_to;
                break;
            }
            self.list.pop_front();
        }
        if self.list.is_empty() && self.list.capacity() > KEPT_SEGMENTS {
            self.list = VecDeque::new();
        }
    }

    /// Notes that the peer has a range, showing each segment to `see` that is new in it. Returns whether any was.
    pub(super) fn sack(&mut self, start: Seq, end: Seq, mut see: impl FnMut(&Sent)) -> bool {
        let mut is_news = false;
        let from = self.list.partition_point(|sent| sent.start.is_before(start));
        for sent in self.list.range_mut(from..).take_while(|sent| sent.end.is_within(end)) {
            if sent.fate == Fate::Sacked {
                continue;
            }
            if sent.fate == Fate::Lost {
                self.lost -= sent.octets();
            }
            self.sacked += sent.octets();
            sent.fate = Fate::Sacked;
            see(sent);
            is_news = true;
        }
        is_news
    }

    /// Marks segments under way as lost that `is_lost` picks.
    pub(super) fn lose(&mut self, mut is_lost: impl FnMut(&Sent) -> bool) -> bool {
        let mut has_lost = false;
        for sent in self.list.iter_mut().filter(|sent| sent.fate == Fate::Flying) {
            if is_lost(sent) {
                sent.fate = Fate::Lost;
                self.lost += sent.octets();
                has_lost = true;
            }
        }
        has_lost
    }

    /// Marks the first one as lost, if it is under way.
    pub(super) fn lose_first(&mut self) -> bool {
        let start = self.list.front().map(|sent| sent.start);
        self.lose(|sent| Some(sent.start) == start)
    }

    /// Marks all as lost that the peer does not have; also those that it had, when it has thrown them away (RFC 2018 §8): the first
    /// one would be acknowledged otherwise.
    pub(super) fn lose_all(&mut self) {
        if self.list.front().is_some_and(|sent| sent.fate == Fate::Sacked) {
            self.list.iter_mut().for_each(|sent| sent.fate = Fate::Flying);
            (self.sacked, self.lost) = (0, 0);
        }
        self.lose(|_| true);
    }

    /// The first lost one, with its place.
    pub(super) fn first_lost(&self) -> Option<(usize, Sent)> {
        if self.lost == 0 {
            return None;
        }
        self.list.iter().copied().enumerate().find(|(_, sent)| sent.fate == Fate::Lost)
    }

    /// The last one, with its place.
    pub(super) fn last(&self) -> Option<(usize, Sent)> {
        self.list.back().map(|&sent| (self.list.len() - 1, sent))
    }

    /// The one at this place was sent again. Returns when it was before, if that was the first time.
    pub(super) fn resend(&mut self, place: usize, at: Nanos) -> Option<Nanos> {
        let sent = self.list.get_mut(place)?;
        let first_at = Some(sent.xmit_ts).filter(|_| !sent.is_retransmitted);
        if sent.fate == Fate::Lost {
            self.lost -= sent.octets();
        }
        if sent.fate != Fate::Sacked {
            sent.fate = Fate::Flying;
        }
        (sent.xmit_ts, sent.is_retransmitted) = (at, true);
        first_at
    }

    /// Memory on the heap.
    #[inline]
    pub(super) fn heap_bytes(&self) -> usize {
        self.list.capacity() * size_of::<Sent>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flight(start: u32) -> Flight {
        let mut flight = Flight::default();
        (0..5).for_each(|n| flight.push(Seq(start) + n * 10, Seq(start) + (n + 1) * 10, Nanos(n.into())));
        flight
    }

    #[test]
    fn keeps_its_books_also_where_numbers_wrap() {
        let start = u32::MAX - 14;
        let at = |n: u32| Seq(start) + n;
        let mut flight = flight(start);
        let mut seen = Vec::new();
        assert!(flight.sack(at(20), at(45), |sent| seen.push(sent.start)), "whole segments only");
        assert!(!flight.sack(at(20), at(40), |_| {}), "known already");
        assert_eq!((flight.pipe(), flight.sacked_segments()), (30, 2));
        assert!(flight.lose(|sent| sent.xmit_ts < Nanos(3)));
        assert_eq!((flight.pipe(), flight.first_lost().unwrap().0), (10, 0));
        flight.resend(0, Nanos(9));
        assert_eq!((flight.pipe(), flight.first_lost().unwrap().0), (20, 1));
        flight.acknowledge(at(15), |sent| seen.push(sent.start));
        assert_eq!((flight.pipe(), flight.len()), (10, 4));
        flight.acknowledge(at(50), |sent| seen.push(sent.start));
        assert!(flight.is_empty() && flight.pipe() == 0 && !flight.has_lost() && !flight.has_sacked());
        assert_eq!(seen, [at(20), at(30), at(0), at(10), at(15), at(40)]);
    }

    #[test]
    fn a_peer_may_throw_away_what_it_told_of() {
        let mut flight = flight(0);
        flight.sack(Seq(10), Seq(50), |_| {});
        flight.acknowledge(Seq(10), |_| {});
        flight.lose_all();
        assert_eq!((flight.pipe(), flight.has_sacked()), (0, false));
        assert_eq!(flight.first_lost().unwrap().1.start, Seq(10));
    }
}
