//! Handshakes that succeed though nothing is known of them any more: SYN cookies (RFC 4987 §3.6).
//!
//! When a certain number of handshakes have begun since, of honest clients or by a flood of forged requests, one that is still under
//! way is forgotten. So there is always a place for whoever asks now, and its answer is sent again when it is lost. But a flood that
//! is quicker than a round trip would have every honest handshake forgotten; therefore the sequence number of each answer says all
//! that was known, and whoever acknowledges it was reached at its address.
//!
//! As in FreeBSD's syncache, most of the number is a keyed hash (SipHash-2-4), and the rest is what was offered, so that window scale
//! and selective acknowledgement survive without timestamps (RFC 7323 §3), which this stack does not use. The rest is hidden by
//! other bits of the hash: nobody else can guess any bit of the number (RFC 6528 §3).
//!
//! Limits. An acknowledgement is guessed once in 2^24 attempts, and only within [`LIFETIME`] of a handshake that was forgotten.

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
const NO_SCALE: u32 = 15;
/// What is noted is less: two bits for the segment's size, four for the scale, one for selective acknowledgement.
const NOTES: u32 = 1 << 7;

/// Gives and recognises cookies.
pub(crate) struct Cookies {
    /// With the key, before anything was hashed.
    keyed: SipHasher24,
    /// When a handshake was last forgotten.
    forgot_at: Option<Nanos>,
}

impl Cookies {
    /// With a key that nobody else knows.
    ///
    /// # Errors
    /// The system gives no random numbers (getrandom(2)).
    pub(crate) fn new() -> Result<Self, SysError> {
        let keyed = SipHasher24::new_with_keys(SysRng.try_next_u64()?, SysRng.try_next_u64()?);
        Ok(Self { keyed, forgot_at: None })
    }

    /// The number of our answer to a request, on a wire that carries segments of so many octets.
    pub(crate) fn give(&self, flow: &Flow, syn: &Segment<'_>, most: u16, now: Nanos) -> Seq {
        Seq(self.hash(flow, syn.sequence, epoch(now)) ^ noted(&Offer::parse(syn.options), most))
    }

    /// A handshake was forgotten.
    pub(crate) fn forget(&mut self, now: Nanos) {
        self.forgot_at = Some(now);
    }

    /// Whether a handshake may have been forgotten that is still under way. Otherwise no acknowledgement opens a connection.
    pub(crate) fn may_recall(&self, now: Nanos) -> bool {
        self.forgot_at.is_some_and(|at| now - at < LIFETIME)
    }

    /// What the sender of an acknowledgement had offered in its request, if it acknowledges a cookie that is still good.
    pub(crate) fn recall(&self, flow: &Flow, answer: &Segment<'_>, most: u16, now: Nanos) -> Option<Offer> {
        let (number, peers_number) = (answer.acknowledgement - 1, answer.sequence - 1);
        let epochs = [Some(epoch(now)), epoch(now).checked_sub(1)];
        let mut notes =
            epochs.into_iter().flatten().map(|epoch| self.hash(flow, peers_number, epoch) ^ number.0);
        notes.find(|&notes| notes < NOTES).map(|notes| told(notes, most))
    }

    fn hash(&self, flow: &Flow, peers_number: Seq, epoch: u64) -> u32 {
        let mut hasher = self.keyed;
        flow.hash(&mut hasher);
        hasher.write_u32(peers_number.0);
        hasher.write_u64(epoch);
        hasher.finish() as u32
    }
}

fn epoch(now: Nanos) -> u64 {
    now.0 / EPOCH.0
}

fn noted(offer: &Offer, most: u16) -> u32 {
    let theirs = offer.segment_bytes.unwrap_or(DEFAULT_SEGMENT_BYTES);
    let size = if theirs >= most {
        SEGMENT_BYTES.len()
    } else {
        SEGMENT_BYTES.iter().rposition(|&bytes| bytes <= theirs).unwrap_or(0)
    };
    size as u32 | offer.scale.map_or(NO_SCALE, u32::from) << 2 | u32::from(offer.sack) << 6
}

fn told(notes: u32, most: u16) -> Offer {
    let scale = notes >> 2 & 15;
    Offer {
        segment_bytes: Some(SEGMENT_BYTES.get(notes as usize & 3).copied().unwrap_or(most)),
        scale: (scale != NO_SCALE).then_some(scale as u8),
        sack: notes >> 6 == 1,
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
        assert!(!cookies.may_recall(START));
        cookies.forget(START);
        let number = cookies.give(&flow(7), &segment(100, 0, &[]), MOST, START);
        let recall = |flow: &Flow, sequence, number: Seq, now| {
            cookies.recall(flow, &segment(sequence, number.0, &[]), MOST, now).is_some()
        };
        assert!(recall(&flow(7), 101, number + 1, START));
        assert!(recall(&flow(7), 101, number + 1, START + EPOCH), "its epoch is the last one");
        assert!(!recall(&flow(7), 101, number + 1, START + LIFETIME), "it has expired");
        assert!(!recall(&flow(8), 101, number + 1, START), "another flow");
        assert!(!recall(&flow(7), 102, number + 1, START), "another request");
        assert!((7..32).all(|bit| !recall(&flow(7), 101, Seq(number.0 ^ 1 << bit) + 1, START)));
        assert!(cookies.may_recall(START + EPOCH) && !cookies.may_recall(START + LIFETIME));
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
            let cookies = Cookies::new().unwrap();
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
