//! Answers to requests for connections of which nothing is kept: SYN cookies (RFC 4987 §3.6).
//!
//! A handshake has a place of its own while there are places. When these are taken, by honest clients or by a flood of forged
//! requests, the sequence number of the answer says all that would have been kept, and whoever acknowledges it was reached at its
//! address. Forgetting the oldest handshake instead would serve honest clients only while their round trip is shorter than the
//! flood takes to fill all places; this holds at any rate and for any round trip.
//!
//! As in FreeBSD's syncache, 24 bits are a keyed hash (SipHash-2-4) and 8 bits what was agreed, so that window scale and selective
//! acknowledgement survive without timestamps (RFC 7323 §3), which this stack does not use.
//!
//! Limits. An acknowledgement is guessed once in 2^24 attempts, and only within [`LIFETIME`] of a flood. An answer that is lost is
//! not sent again by us, but its request is by its sender; when the acknowledgement is lost, the first data bring it again.

use std::hash::{Hash as _, Hasher as _};

use assay_model::units::Nanos;
use rand::TryRng as _;
use rand::rngs::{SysError, SysRng};
use siphasher::sip::SipHasher24;

use crate::connection::options::Offer;
use crate::connection::sequence::Seq;
use crate::connection::{DEFAULT_SEGMENT_BYTES, LEAST_SEGMENT_BYTES, Segment};
use crate::flow::Flow;

/// How long a number of the clock counts; a cookie is good for one to two of them.
const EPOCH: Nanos = Nanos::from_millis(32_000);
/// How long a cookie may be under way.
const LIFETIME: Nanos = Nanos::from_millis(64_000);
/// Octets of data in a segment, of which the largest is noted that the peer takes; the fourth is as many as our wire carries.
/// IPv4's and IPv6's least (RFC 9293 §3.7.1) are among them.
const SEGMENT_BYTES: [u16; 3] = [LEAST_SEGMENT_BYTES, DEFAULT_SEGMENT_BYTES, 1220];
/// Stands for no window scale; a scale is 14 at most (RFC 7323 §2.3).
const NO_SCALE: u8 = 15;

/// Gives and recognises cookies.
pub(crate) struct Cookies {
    /// With the key, before anything was hashed.
    keyed: SipHasher24,
    /// When the last one was given.
    given_at: Option<Nanos>,
}

impl Cookies {
    /// With a key that nobody else knows.
    ///
    /// # Errors
    /// The system gives no random numbers (getrandom(2)).
    pub(crate) fn new() -> Result<Self, SysError> {
        let keyed = SipHasher24::new_with_keys(SysRng.try_next_u64()?, SysRng.try_next_u64()?);
        Ok(Self { keyed, given_at: None })
    }

    /// The number of our answer to a request, on a wire that carries segments of so many octets.
    pub(crate) fn give(&mut self, flow: &Flow, syn: &Segment<'_>, most: u16, now: Nanos) -> Seq {
        self.given_at = Some(now);
        let settings = noted(&Offer::parse(syn.options), most, epoch(now));
        self.number(flow, syn.sequence, settings, epoch(now))
    }

    /// What the sender of an acknowledgement had offered in its request, if it acknowledges a cookie that is still good.
    pub(crate) fn recall(&self, flow: &Flow, answer: &Segment<'_>, most: u16, now: Nanos) -> Option<Offer> {
        let number = answer.acknowledgement - 1;
        let settings = number.0 as u8;
        let is_of_this_epoch = u64::from(settings >> 7) == epoch(now) & 1;
        let given_in = epoch(now).checked_sub(u64::from(!is_of_this_epoch))?;
        let is_ours = self.number(flow, answer.sequence - 1, settings, given_in) == number;
        is_ours.then(|| told(settings, most))
    }

    /// Whether one may be under way. Where there was no flood, no acknowledgement opens a connection.
    pub(crate) fn may_be_under_way(&self, now: Nanos) -> bool {
        self.given_at.is_some_and(|at| now - at < LIFETIME)
    }

    fn number(&self, flow: &Flow, peers_number: Seq, settings: u8, epoch: u64) -> Seq {
        let mut hasher = self.keyed;
        flow.hash(&mut hasher);
        hasher.write_u32(peers_number.0);
        hasher.write_u64(epoch << 8 | u64::from(settings));
        Seq((hasher.finish() as u32) << 8 | u32::from(settings))
    }
}

fn epoch(now: Nanos) -> u64 {
    now.0 / EPOCH.0
}

/// Two bits for the segment's size, four for the scale, one for selective acknowledgement and one of the epoch.
fn noted(offer: &Offer, most: u16, epoch: u64) -> u8 {
    let theirs = offer.segment_bytes.unwrap_or(DEFAULT_SEGMENT_BYTES);
    let size = if theirs >= most {
        SEGMENT_BYTES.len()
    } else {
        SEGMENT_BYTES.iter().rposition(|&bytes| bytes <= theirs).unwrap_or(0)
    };
    let scale = offer.scale.unwrap_or(NO_SCALE);
    size as u8 | scale << 2 | u8::from(offer.sack) << 6 | (epoch as u8 & 1) << 7
}

fn told(settings: u8, most: u16) -> Offer {
    let size = SEGMENT_BYTES.get(usize::from(settings & 3)).copied().unwrap_or(most);
    let scale = settings >> 2 & 15;
    Offer {
        segment_bytes: Some(size),
        scale: Some(scale).filter(|&scale| scale != NO_SCALE),
        sack: settings >> 6 & 1 == 1,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::connection::options::Written;

    const MOST: u16 = 1460;
    const START: Nanos = Nanos(5 * EPOCH.0 + 1);

    fn flow(port: u16) -> Flow {
        Flow::new("10.77.0.1:80".parse().unwrap(), ([10, 77, 0, 2], port).into())
    }

    fn segment(sequence: u32, acknowledgement: u32, options: &[u8]) -> Segment<'_> {
        let [sequence, acknowledgement] = [sequence, acknowledgement].map(Seq);
        Segment { sequence, acknowledgement, flags: 0, window: 0, options, data: &[] }
    }

    #[test]
    fn a_cookie_is_good_for_one_handshake_and_for_a_while() {
        let mut cookies = Cookies::new().unwrap();
        assert!(!cookies.may_be_under_way(START));
        let number = cookies.give(&flow(7), &segment(100, 0, &[]), MOST, START);
        let recall = |flow: &Flow, sequence, number: Seq, now| {
            cookies.recall(flow, &segment(sequence, number.0, &[]), MOST, now).is_some()
        };
        assert!(recall(&flow(7), 101, number + 1, START));
        assert!(recall(&flow(7), 101, number + 1, START + EPOCH), "its epoch is the last one");
        assert!(!recall(&flow(7), 101, number + 1, START + LIFETIME), "it has expired");
        assert!(!recall(&flow(8), 101, number + 1, START), "another flow");
        assert!(!recall(&flow(7), 102, number + 1, START), "another request");
        assert!((0..32).all(|bit| !recall(&flow(7), 101, Seq((number + 1).0 ^ 1 << bit), START)));
        assert!(cookies.may_be_under_way(START + EPOCH) && !cookies.may_be_under_way(START + LIFETIME));
        let other = Cookies::new().unwrap();
        let answer = segment(101, (number + 1).0, &[]);
        assert_eq!(other.recall(&flow(7), &answer, MOST, START), None, "another key");
    }

    proptest! {
        #[test]
        fn what_was_offered_is_recalled(
            size in prop::option::of(any::<u16>()), scale in prop::option::of(0u8..15), sack in any::<bool>(),
            number in any::<u32>(), later in 0..EPOCH.0,
        ) {
            let offer = Offer { segment_bytes: size, scale, sack };
            let mut cookies = Cookies::new().unwrap();
            let options = Written::offer(&offer);
            let cookie = cookies.give(&flow(7), &segment(number, 0, options.as_slice()), MOST, START);
            let answer = segment(number.wrapping_add(1), (cookie + 1).0, &[]);
            let recalled = cookies.recall(&flow(7), &answer, MOST, START + Nanos(later)).unwrap();
            prop_assert_eq!((recalled.scale, recalled.sack), (scale, sack));
            let (theirs, ours) = (size.unwrap_or(DEFAULT_SEGMENT_BYTES), recalled.segment_bytes.unwrap());
            prop_assert!(ours <= theirs.max(LEAST_SEGMENT_BYTES) && ours <= MOST);
            prop_assert!(theirs < MOST || ours == MOST);
        }
    }
}
