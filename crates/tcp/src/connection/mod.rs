//! One TCP connection (RFC 9293) without I/O: segments and time in, segments out. It reads no clock, knows no address, and
//! answers nothing by itself: it is asked.
//!
//! Invariants
//! - Memory follows what is under way: an idle connection holds little more than itself, and nothing grows beyond the limits of its
//!   [`Shape`] and the bounds of the lists, whatever its peer sends.
//! - What [`next_segment`](Connection::next_segment) plans has not happened until [`sent`](Connection::sent) says so: a full wire loses
//!   nothing.
//! - After each call [`due`](Connection::due) is the time at which it has to be asked again, whether its peer is heard or not.
//!
//! | where | what |
//! |---|---|
//! | `arrive` | what a segment changes (RFC 9293 §3.10.7), with the short way for the segments of a healthy connection |
//! | `depart` | which segment is next (§3.8), and what its leaving changes |
//! | `recovery` | acknowledgements, losses, timers (RFC 6298, RFC 8985) |
//! | `receive`, `flight` | bytes that arrived, segments under way |
//! | `timing`, `congestion` | round-trip time, congestion window |
//! | `sequence`, `options`, `bytes` | numbers, options, a queue of bytes |

mod arrive;
pub(crate) mod bytes;
mod congestion;
mod depart;
mod flight;
pub(crate) mod options;
mod receive;
mod recovery;
pub(crate) mod sequence;
#[cfg(test)]
mod tests;
mod timing;

use assay_model::units::Nanos;

use bytes::Bytes;
use congestion::Congestion;
pub(crate) use depart::SegmentPlan;
use flight::Flight;
use options::Offer;
use receive::Inbox;
use recovery::{Alarm, Questions, Rack, Recovery};
use sequence::Seq;
use timing::Timing;

/// How long a connection that ended first keeps its place (RFC 9293 §3.6.1 asks for two lifetimes of a segment; networks that we are
/// on are a few hops wide).
const TIME_WAIT: Nanos = Nanos::from_millis(10_000);
/// How long what was sent may stay without any acknowledgement (the user timeout of RFC 5482; RFC 9293 §3.8.3 asks for 100 s at
/// least, Linux tries for 924 s).
const USER_TIMEOUT: Nanos = Nanos::from_millis(120_000);
/// How long a silent connection is left alone before it is asked whether it lives (RFC 9293 §3.8.4). Its two hours suit connections
/// that nobody watches; ours belong to a run, and a peer that was killed without a word must not hold its place until the end.
const KEEP_ALIVE_IDLE: Nanos = Nanos::from_millis(120_000);
/// Between two such questions.
const KEEP_ALIVE_INTERVAL: Nanos = Nanos::from_millis(10_000);
/// How long an answer is waited for, from the first of them on.
const KEEP_ALIVE_TIMEOUT: Nanos = Nanos::from_millis(60_000);
/// Longest time between two questions for a closed window. They grow rarer (RFC 9293 §3.8.6.1), but several have to be in vain within
/// [`USER_TIMEOUT`] before a peer is given up; BSD has 60 s.
const PERSIST_INTERVAL: Nanos = Nanos::from_millis(30_000);
/// Questions in vain that tell of a peer that is gone: RFC 1122 §4.2.3.6 forbids to conclude it from any specific one, which may be lost.
const VAIN_QUESTIONS: u8 = 3;
/// Longest delay of an acknowledgement (RFC 9293 §3.8.6.3: 500 ms at most; Linux has 40 ms).
const DELAYED_ACK_TIMEOUT: Nanos = Nanos::from_millis(40);
/// Between two answers to what may be an attacker's (RFC 5961 §7), and to what both ends may answer for ever.
const CHALLENGE_INTERVAL: Nanos = Nanos::from_millis(100);
/// Octets of data in a segment to a peer that names none: IPv4's (RFC 9293 §3.7.1).
pub(crate) const DEFAULT_SEGMENT_BYTES: u16 = 536;
/// Fewer are not believed: each octet would cost a frame.
pub(crate) const LEAST_SEGMENT_BYTES: u16 = 64;

/// Flags of a segment (RFC 9293 §3.1).
pub(crate) mod flag {
    pub(crate) const FIN: u8 = 0x01;
    pub(crate) const SYN: u8 = 0x02;
    pub(crate) const RST: u8 = 0x04;
    pub(crate) const PSH: u8 = 0x08;
    pub(crate) const ACK: u8 = 0x10;

    /// Whether a segment with these asks for a connection.
    #[inline]
    pub(crate) fn is_request(flags: u8) -> bool {
        flags & (SYN | ACK | RST) == SYN
    }
}

/// A segment that arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment<'f> {
    pub(crate) sequence: Seq,
    pub(crate) acknowledgement: Seq,
    /// Of [`flag`].
    pub(crate) flags: u8,
    /// Window as it stands in the header.
    pub(crate) window: u16,
    pub(crate) options: &'f [u8],
    pub(crate) data: &'f [u8],
}

impl Segment<'_> {
    fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Numbers that it takes.
    pub(crate) fn length(&self) -> u32 {
        self.data.len() as u32 + u32::from(self.has(flag::SYN)) + u32::from(self.has(flag::FIN))
    }
}

/// RFC 9293 §3.3.2. LISTEN is a listener's, and a connection that was not opened is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait,
    Closed,
}

/// Why a connection is closed that did not end in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// By the peer.
    Reset,
    /// The peer was not heard for too long.
    TimedOut,
}

/// What a segment that arrived asks of its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Verdict {
    /// The segment was taken, and nothing else is to be done.
    Taken,
    /// The segment is none of this connection: answer it with a reset (RFC 9293 §3.5.2).
    Strange,
}

/// What a connection is made for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Octets of data in a segment that the wire carries.
    pub(crate) segment_bytes: u16,
    /// Most octets that wait for our user: the largest window.
    pub(crate) receive_bytes: u32,
    /// Most octets that wait for the peer.
    pub(crate) send_bytes: u32,
    /// No frame is ever lost.
    pub(crate) is_lossless: bool,
}

/// What happened on all connections of a stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Segments sent again, for whatever reason.
    pub(crate) retransmitted: u64,
    /// Retransmission timers that ran out, but for those of requests for a connection.
    pub(crate) timeouts: u64,
    /// Tail loss probes (RFC 8985 §7).
    pub(crate) tail_loss_probes: u64,
    /// Losses that acknowledgements told of, by windows.
    pub(crate) recoveries: u64,
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Connection {
    state: State,
    failure: Option<Failure>,
    /// Whether we opened the connection (RFC 9293 §3.10.7.4, second check, asks).
    is_active: bool,
    /// Our direction ends behind what the outbox holds.
    is_ending: bool,
    is_fin_sent: bool,
    /// A reset has to leave.
    owes_reset: bool,
    /// A segment has to leave that the peer answers (RFC 9293 §3.8.6.1, §3.8.4).
    owes_probe: bool,
    /// The last segment has to leave once more (RFC 8985 §7.3).
    owes_tail_loss_probe: bool,
    /// Whether both sides have sent the SACK-permitted option (RFC 2018 §2).
    sack_permitted: bool,
    /// Duplicate acknowledgements owed beyond one: a peer without SACK counts them (RFC 5681 §3.2).
    extra_dup_acks: u8,
    /// Rcv.Wind.Shift and Snd.Wind.Shift (RFC 7323 §2.2).
    rcv_wind_shift: u8,
    snd_wind_shift: u8,
    is_lossless: bool,
    /// Octets of data in a segment to the peer.
    segment_bytes: u16,
    /// Octets of data in a segment of the peer's.
    own_segment_bytes: u16,
    send_bytes: u32,
    /// ISS, the initial send sequence number (RFC 9293 §3.3.1).
    iss: Seq,
    /// SND.UNA: the oldest number that is not acknowledged.
    snd_una: Seq,
    /// SND.NXT: the next number to be sent.
    snd_nxt: Seq,
    /// The number of the outbox's first octet.
    outbox_start: Seq,
    /// What the user sent and the peer has not acknowledged.
    outbox: Bytes,
    flight: Flight,
    /// SND.WND, and the largest that there was (MAX.SND.WND of RFC 5961 §5.2).
    snd_wnd: u32,
    max_snd_wnd: u32,
    /// SND.WL1 and SND.WL2.
    snd_wl: (Seq, Seq),
    inbox: Inbox,
    /// The right edge of the window that was advertised, RCV.NXT + RCV.WND; it never moves back (RFC 9293 §3.8.6).
    rcv_adv: Seq,
    /// Last.ACK.sent (RFC 7323 §4.3): the last number that was acknowledged.
    last_ack_sent: Seq,
    /// When a delayed acknowledgement has to leave; [`Nanos::MAX`] when none is owed.
    delayed_ack_at: Nanos,
    alarm: Alarm,
    alarm_at: Nanos,
    /// When the peer last acknowledged something, or answered while nothing was under way.
    progress: Nanos,
    questions: Questions,
    /// When a segment last left, to know an idle connection by.
    sent_at: Nanos,
    challenged_at: Nanos,
    timing: Timing,
    congestion: Congestion,
    rack: Rack,
    recovery: Recovery,
}

impl Connection {
    /// A connection that begins with our SYN (RFC 9293 §3.10.1, active OPEN).
    pub(crate) fn open(shape: &Shape, iss: Seq, now: Nanos) -> Self {
        let scale = (0..=14).find(|&scale| shape.receive_bytes >> scale <= u16::MAX.into()).unwrap_or(14);
        Self {
            state: State::SynSent,
            failure: None,
            is_active: true,
            is_ending: false,
            is_fin_sent: false,
            owes_reset: false,
            owes_probe: false,
            owes_tail_loss_probe: false,
            sack_permitted: true,
            extra_dup_acks: 0,
            rcv_wind_shift: scale,
            snd_wind_shift: 0,
            is_lossless: shape.is_lossless,
            segment_bytes: shape.segment_bytes.min(DEFAULT_SEGMENT_BYTES),
            own_segment_bytes: shape.segment_bytes,
            send_bytes: shape.send_bytes,
            iss,
            snd_una: iss,
            snd_nxt: iss,
            outbox_start: iss + 1,
            outbox: Bytes::default(),
            flight: Flight::default(),
            snd_wnd: 0,
            max_snd_wnd: 0,
            snd_wl: (Seq(0), Seq(0)),
            inbox: Inbox::new(shape.receive_bytes),
            rcv_adv: Seq(0),
            last_ack_sent: Seq(0),
            delayed_ack_at: Nanos::MAX,
            alarm: Alarm::Idle,
            alarm_at: now + KEEP_ALIVE_IDLE,
            progress: now,
            questions: Questions::default(),
            sent_at: now,
            challenged_at: Nanos::ZERO,
            timing: Timing::new(shape.is_lossless),
            congestion: Congestion::new(shape.segment_bytes.into(), shape.is_lossless),
            rack: Rack::default(),
            recovery: Recovery::default(),
        }
    }

    /// A connection that begins with the peer's SYN (RFC 9293 §3.10.7.2).
    pub(crate) fn accept(shape: &Shape, iss: Seq, syn: &Segment<'_>, now: Nanos) -> Self {
        let mut connection = Self::open(shape, iss, now);
        connection.is_active = false;
        connection.state = State::SynReceived;
        connection.take_syn(syn);
        connection
    }

    /// A connection whose answer to the peer's SYN left some time ago, and of which nothing was kept (RFC 4987 §3.6): the segment that acknowledges
    /// it is to follow.
    pub(crate) fn recall(shape: &Shape, iss: Seq, syn: &Segment<'_>, now: Nanos) -> Self {
        let mut connection = Self::accept(shape, iss, syn, now);
        let plan = connection.plan_syn(depart::Kind::Fresh);
        connection.sent(&plan, now, &mut Counts::default());
        // When it left is not known, so that no round trip can be measured by it (Karn's algorithm, RFC 6298 §3).
        connection.flight.resend(0, now);
        connection
    }

    pub(crate) fn state(&self) -> State {
        self.state
    }

    /// Why it is closed; `None` while it is not, and when it ended in order.
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.failure
    }

    /// Whether the handshake is over.
    pub(crate) fn is_established(&self) -> bool {
        !matches!(self.state, State::SynSent | State::SynReceived)
    }

    /// Whether nothing of it will be sent any more.
    pub(crate) fn is_over(&self) -> bool {
        self.state == State::Closed && !self.owes_reset
    }

    /// The peer has ended its direction, and all that it sent is here.
    pub(crate) fn peer_has_ended(&self) -> bool {
        self.inbox.has_ended
    }

    /// When it has to be asked again; [`Nanos::MAX`] when only its peer or its user can change anything.
    pub(crate) fn due(&self) -> Nanos {
        self.alarm_at.min(self.delayed_ack_at)
    }

    /// Takes bytes to send as far as there is room; returns how many.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> usize {
        let taken = bytes.len().min(self.send_room());
        self.outbox.push(&bytes[..taken]);
        taken
    }

    /// Takes at most `most` bytes to send, which `fill` writes where they stay.
    ///
    /// # Errors
    /// Those of `fill`.
    pub(crate) fn send_with<E>(
        &mut self,
        most: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<usize, E> {
        let most = most.min(self.send_room());
        if most == 0 { Ok(0) } else { self.outbox.push_with(most, fill) }
    }

    fn send_room(&self) -> usize {
        let can_send =
            matches!(self.state, State::SynSent | State::SynReceived | State::Established | State::CloseWait)
                && !self.is_ending;
        if can_send { (self.send_bytes as usize).saturating_sub(self.outbox.len()) } else { 0 }
    }

    /// Bytes in order that the user was not shown.
    pub(crate) fn unseen(&self) -> usize {
        self.inbox.unseen()
    }

    /// Counts all that the user can see as seen; returns how much of it is new.
    pub(crate) fn show(&mut self) -> usize {
        self.inbox.show()
    }

    /// Bytes in order, the user's to read.
    pub(crate) fn view(&self) -> &[u8] {
        self.inbox.view()
    }

    /// Drops the first `n` bytes in order. Returns how many there were, and how many of them nobody had seen.
    pub(crate) fn consume(&mut self, n: usize) -> (usize, usize) {
        self.inbox.consume(n)
    }

    /// Ends our direction behind what was sent (RFC 9293 §3.10.4).
    pub(crate) fn close(&mut self) {
        self.is_ending = true;
        if self.state == State::SynSent {
            self.end(None);
        }
    }

    /// Ends it at once, with a reset if the peer knows of it (RFC 9293 §3.10.5).
    pub(crate) fn abort(&mut self) {
        self.owes_reset |= !matches!(self.state, State::SynSent | State::TimeWait | State::Closed);
        self.end(None);
    }

    /// Nothing but a reset is sent any more; what arrived can be read.
    fn end(&mut self, failure: Option<Failure>) {
        self.state = State::Closed;
        self.failure = self.failure.or(failure);
        (self.outbox, self.flight) = (Bytes::default(), Flight::default());
        (self.alarm_at, self.delayed_ack_at) = (Nanos::MAX, Nanos::MAX);
        (self.owes_probe, self.owes_tail_loss_probe) = (false, false);
    }

    /// Forgets everything; nothing is sent any more.
    pub(crate) fn vacate(&mut self) {
        self.end(None);
        self.owes_reset = false;
        self.inbox = Inbox::new(0);
    }

    /// While memory is short nothing beyond a gap is kept, and its window is two segments.
    pub(crate) fn press(&mut self, is_short: bool) {
        self.inbox.press(is_short.then(|| 2 * u32::from(self.own_segment_bytes)));
    }

    /// Drops what arrived.
    pub(crate) fn discard(&mut self) {
        self.inbox.discard();
    }

    /// Memory on the heap.
    #[inline]
    pub(crate) fn heap_bytes(&self) -> usize {
        self.outbox.capacity() + self.flight.heap_bytes() + self.inbox.heap_bytes()
    }

    /// What we offer in a SYN: all of it in our own, in an answer what the peer offers too.
    fn offer(&self) -> Offer {
        let scale = Some(self.rcv_wind_shift).filter(|_| self.is_active || self.rcv_wind_shift > 0);
        Offer { segment_bytes: Some(self.own_segment_bytes), scale, sack: self.sack_permitted }
    }

    /// Takes the peer's number and options from its SYN.
    fn take_syn(&mut self, syn: &Segment<'_>) {
        let offer = Offer::parse(syn.options);
        match offer.scale {
            Some(scale) => self.snd_wind_shift = scale,
            None => (self.rcv_wind_shift, self.snd_wind_shift) = (0, 0),
        }
        self.sack_permitted = offer.sack;
        let theirs = offer.segment_bytes.unwrap_or(DEFAULT_SEGMENT_BYTES).max(LEAST_SEGMENT_BYTES);
        self.segment_bytes = self.own_segment_bytes.min(theirs);
        self.congestion.set_segment_bytes(self.segment_bytes.into());
        self.inbox.rcv_nxt = syn.sequence + 1;
        (self.last_ack_sent, self.rcv_adv) = (syn.sequence, syn.sequence + 1);
        // The window of a SYN is never scaled (RFC 7323 §2.2).
        self.snd_wnd = syn.window.into();
        self.max_snd_wnd = self.snd_wnd;
        self.snd_wl = (syn.sequence, syn.acknowledgement);
    }
}
