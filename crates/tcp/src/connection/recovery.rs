//! Acknowledgements, losses and timers: RFC 6298 (timer), RFC 8985 (RACK and tail-loss probe), and RFC 6582 with a peer that does
//! not acknowledge selectively.

use assay_model::units::Nanos;

use super::flight::Sent;
use super::options::sack_blocks;
use super::sequence::Seq;
use super::{
    Connection, Counts, Failure, KEEP_ALIVE_IDLE, KEEP_ALIVE_INTERVAL, KEEP_ALIVE_TIMEOUT, PERSIST_INTERVAL,
    Segment, State, USER_TIMEOUT, VAIN_QUESTIONS, flag,
};

/// DupThresh: segments beyond a gap, or duplicate acknowledgements, from which on a gap is taken for a loss (RFC 5681 §3.2, RFC 6675
/// §2).
const DUP_THRESH: usize = 3;
/// TLP.max_ack_delay: how long a peer may delay the acknowledgement of a single segment, as it is known of Linux and us (RFC 8985
/// §7.2 leaves it open and names 200 ms at most). A probe that comes too early costs a frame.
const MAX_ACK_DELAY: Nanos = Nanos::from_millis(40);
/// What PTO has beyond two round trips at least: above what the peer's turn and the wheel's tick may take.
const PTO_SLACK: Nanos = Nanos::from_millis(2);

/// What time will bring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alarm {
    /// The peer is asked whether it lives.
    Idle,
    /// The peer's window is asked for.
    Persist,
    /// What others have overtaken is lost (RFC 8985 §6.2).
    Reorder,
    /// The probe timeout has run out: the last segment is sent once more (RFC 8985 §7.3).
    TailLossProbe,
    /// All is lost (RFC 6298 §5).
    Retransmission,
    /// The end of TIME-WAIT.
    TimeWait,
}

/// What an acknowledgement says of what was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// Nothing: somebody may have guessed it, and the rest of its segment is not to be read.
    Guess,
    /// Nothing new.
    Known,
    /// More of it has arrived.
    News,
}

/// Where recovery stands; the number is what was sent last when it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Open,
    /// After a loss that acknowledgements told of.
    Recovery(Seq),
    /// After a timeout.
    Loss(Seq),
}

/// What recovery remembers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Recovery {
    phase: Phase,
    /// Duplicate acknowledgements in a row (RFC 5681 §2).
    dup_acks: u8,
    probed: Option<Probe>,
    /// When what was overtaken is taken for lost; zero when nothing was.
    reorder_at: Nanos,
}

/// A segment that was sent once more as a tail-loss probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Probe {
    end: Seq,
    /// When it was sent first, until that has told of a round trip; `None` when it was sent more often.
    sent_at: Option<Nanos>,
    /// When it was sent once more.
    again_at: Nanos,
}

/// What the peer was asked for an answer's sake alone, its window or whether it lives, since it was last heard. While it answers it is
/// there, however long it keeps its window closed (RFC 9293 §3.8.6.1); and while we were away it was not asked.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Questions {
    number: u8,
    /// When the first of them left.
    since: Nanos,
}

impl Questions {
    /// Takes note that a question leaves.
    pub(super) fn ask(&mut self, now: Nanos) {
        if self.number == 0 {
            self.since = now;
        }
        self.number = self.number.saturating_add(1);
    }

    /// Whether several were not answered, the first for longer than `timeout`.
    fn are_in_vain(&self, now: Nanos, timeout: Nanos) -> bool {
        self.number >= VAIN_QUESTIONS && now - self.since > timeout
    }
}

/// State of RACK (RFC 8985 §5.2, under the same names): the segment sent last of those that arrived.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rack {
    xmit_ts: Nanos,
    end_seq: Seq,
    rtt: Nanos,
    /// RACK.fack: the highest number that was acknowledged, selectively or not.
    fack: Seq,
    has_seen: bool,
    /// RACK.reordering_seen: segments overtook each other, so a gap is given some time.
    reordering_seen: bool,
    /// The round trip of what was acknowledged last and sent only once.
    sample: Option<Nanos>,
}

impl Rack {
    /// A segment arrived there (RFC 8985 §6.2, steps 1 to 3).
    fn update(&mut self, sent: &Sent, now: Nanos, min_rtt: Nanos) {
        let rtt = Nanos((now - sent.xmit_ts).0.max(1));
        if sent.is_retransmitted {
            if rtt < min_rtt {
                return; // It was the first copy that arrived.
            }
        } else {
            self.reordering_seen |= self.has_seen && sent.end.is_before(self.fack);
            self.sample = Some(rtt);
        }
        self.fack = if self.has_seen { self.fack.max(sent.end) } else { sent.end };
        if !self.has_seen || self.was_sent_before(sent) {
            (self.xmit_ts, self.end_seq, self.rtt) = (sent.xmit_ts, sent.end, rtt);
        }
        self.has_seen = true;
    }

    /// RACK_sent_after(sent, RACK): whether `sent` left after it (RFC 8985 §6.2, step 2).
    fn was_sent_before(&self, sent: &Sent) -> bool {
        self.xmit_ts < sent.xmit_ts || (self.xmit_ts == sent.xmit_ts && self.end_seq.is_before(sent.end))
    }
}

/// Whether a segment names something beyond its acknowledgement. A range below that says that it came twice (RFC 2883).
fn tells_of_gap(segment: &Segment<'_>) -> bool {
    sack_blocks(segment.options).any(|(_, end)| segment.acknowledgement.is_before(end))
}

impl Connection {
    /// Whether acknowledgements need no thought.
    pub(super) fn is_recovery_quiet(&self) -> bool {
        let is_open = self.recovery.phase == Phase::Open && self.recovery.probed.is_none();
        is_open && !self.flight.has_sacked() && !self.flight.has_lost()
    }

    /// Fifth check of RFC 9293 §3.10.7.4.
    pub(super) fn acknowledgement_arrives(
        &mut self,
        segment: &Segment<'_>,
        now: Nanos,
        counts: &mut Counts,
    ) -> Told {
        let ack = segment.acknowledgement;
        // RFC 5961 §5.2: numbers far behind, or never sent, may be guesses.
        if self.snd_nxt.is_before(ack) || ack.is_before(self.snd_una - self.max_snd_wnd) {
            self.challenge(now);
            return Told::Guess;
        }
        let pipe = self.flight.pipe();
        let is_told_more = self.sack_permitted && self.note_ranges(segment, now);
        let says_the_same = self.says_the_same(segment);
        let is_duplicate = says_the_same && !self.flight.is_empty();
        self.recovery.dup_acks = if is_duplicate { self.recovery.dup_acks.saturating_add(1) } else { 0 };
        let octets = if self.snd_una.is_before(ack) { self.acknowledge(ack, now) } else { 0 };
        if self.flight.is_empty() {
            self.note_answer(now);
        }
        self.update_snd_wnd(segment);
        self.judge_tail_loss_probe(ack, says_the_same && !tells_of_gap(segment), pipe);
        self.recover(octets, is_told_more, pipe, now, counts);
        self.end_acknowledged(now);
        if octets > 0 || is_told_more { Told::News } else { Told::Known }
    }

    /// Whether it acknowledges the same again and does nothing else: while something is under way, a duplicate (RFC 5681 §2).
    fn says_the_same(&self, segment: &Segment<'_>) -> bool {
        segment.acknowledgement == self.snd_una
            && segment.data.is_empty()
            && !segment.has(flag::FIN)
            && u32::from(segment.window) << self.snd_wind_shift == self.snd_wnd
    }

    /// Notes what arrived beyond a gap. Returns whether that was news.
    fn note_ranges(&mut self, segment: &Segment<'_>, now: Nanos) -> bool {
        if segment.options.is_empty() {
            return false;
        }
        let (rack, min_rtt) = (&mut self.rack, self.timing.min_rtt);
        let mut is_news = false;
        for (start, end) in sack_blocks(segment.options) {
            let is_possible = segment.acknowledgement.is_within(start) && end.is_within(self.snd_nxt);
            if is_possible && start.is_before(end) {
                is_news |= self.flight.sack(start, end, |sent| rack.update(sent, now, min_rtt));
            }
        }
        is_news
    }

    /// Something new is acknowledged. Returns how many numbers.
    pub(super) fn acknowledge(&mut self, ack: Seq, now: Nanos) -> u32 {
        let (rack, min_rtt) = (&mut self.rack, self.timing.min_rtt);
        self.flight.acknowledge(ack, |sent| rack.update(sent, now, min_rtt));
        if let Some(sample) = self.rack.sample.take().or_else(|| self.round_trip_of_probed(ack, now)) {
            self.timing.measure(sample);
        }
        if self.snd_una == self.iss {
            // A request that had to be sent again says nothing of the wire: a full backlog drops it.
            self.timing.backoff = 0;
        }
        self.note_answer(now);
        self.owes_tail_loss_probe = false;
        let octets = ack - self.snd_una;
        self.snd_una = ack;
        let data = (ack.beyond(self.outbox_start) as usize).min(self.outbox.len());
        self.outbox.drop_front(data);
        self.outbox_start = self.outbox_start + data as u32;
        octets
    }

    /// The peer has acknowledged something, or was heard while nothing was under way.
    #[inline]
    pub(super) fn note_answer(&mut self, now: Nanos) {
        (self.progress, self.questions.number) = (now, 0);
    }

    /// How long what a probe repeated has taken. Whether its first copy is acknowledged or the probe, nobody says (Karn's algorithm,
    /// RFC 6298 §3), but without any measurement a peer that has become slow would be probed for ever. When the acknowledgement follows
    /// the probe as soon as usual, it is the probe's, because the first copy was lost; later, the peer is slow.
    fn round_trip_of_probed(&mut self, ack: Seq, now: Nanos) -> Option<Nanos> {
        let probe = self.recovery.probed.as_mut().filter(|probe| probe.end.is_within(ack))?;
        let sent_at = probe.sent_at.take()?;
        (now - probe.again_at > self.timing.long_round_trip()).then(|| now - sent_at)
    }

    /// The window that the segment names.
    pub(super) fn set_snd_wnd(&mut self, segment: &Segment<'_>) {
        self.snd_wnd = u32::from(segment.window) << self.snd_wind_shift;
        self.max_snd_wnd = self.max_snd_wnd.max(self.snd_wnd);
        self.snd_wl = (segment.sequence, segment.acknowledgement);
    }

    /// RFC 9293 §3.10.7.4: not by a segment that others have overtaken.
    fn update_snd_wnd(&mut self, segment: &Segment<'_>) {
        let (sequence, ack) = self.snd_wl;
        let is_newer = sequence.is_before(segment.sequence)
            || (sequence == segment.sequence && ack.is_within(segment.acknowledgement));
        if is_newer && !segment.acknowledgement.is_before(self.snd_una) {
            self.set_snd_wnd(segment);
        }
    }

    /// RFC 8985 §7.4: whether a probe mended a loss that nobody else noticed; the network is then as full as after any other. Where
    /// both copies arrived, the probe's own answer `says_the_same` again, which may be when nothing is under way any more.
    fn judge_tail_loss_probe(&mut self, ack: Seq, says_the_same: bool, pipe: u32) {
        let Some(Probe { end, .. }) = self.recovery.probed else { return };
        if end.is_before(ack) {
            self.recovery.probed = None;
            if self.recovery.phase == Phase::Open {
                self.congestion.on_loss(pipe);
            }
        } else if end == ack && says_the_same {
            self.recovery.probed = None;
        }
    }

    fn recover(&mut self, octets: u32, is_told_more: bool, pipe: u32, now: Nanos, counts: &mut Counts) {
        if let Phase::Recovery(end) | Phase::Loss(end) = self.recovery.phase
            && end.is_within(self.snd_una)
        {
            self.recovery.phase = Phase::Open;
        }
        let is_open = self.recovery.phase == Phase::Open;
        let has_lost = if self.sack_permitted {
            let is_doubtful = self.flight.has_sacked() || !is_open;
            is_doubtful && (is_told_more || octets > 0) && self.detect_losses(now)
        } else {
            let is_third = usize::from(self.recovery.dup_acks) == DUP_THRESH;
            let is_partial = octets > 0 && matches!(self.recovery.phase, Phase::Recovery(_));
            (is_third || is_partial) && self.flight.lose_first()
        };
        if has_lost {
            self.begin_recovery(pipe, counts);
        }
        if octets > 0 && !matches!(self.recovery.phase, Phase::Recovery(_)) {
            self.congestion.on_acknowledged(octets, pipe);
        }
    }

    /// A loss was noticed: the congestion window is halved once for all that is under way.
    fn begin_recovery(&mut self, pipe: u32, counts: &mut Counts) {
        if self.recovery.phase == Phase::Open {
            self.recovery.phase = Phase::Recovery(self.snd_nxt);
            self.recovery.probed = None;
            self.congestion.on_loss(pipe);
            counts.recoveries += 1;
        }
    }

    /// RFC 8985 §6.2, step 5: lost is what left before something that arrived, and longer ago than its round trip and some time for
    /// overtaking: Segment.xmit_ts + RACK.rtt + RACK.reo_wnd. Returns whether anything was.
    fn detect_losses(&mut self, now: Nanos) -> bool {
        let reo_wnd = self.reo_wnd();
        let rack = self.rack;
        let mut latest = Nanos::ZERO;
        let has_lost = self.flight.lose(|sent| {
            let deadline = sent.xmit_ts + rack.rtt + reo_wnd;
            if rack.was_sent_before(sent) {
                return false;
            }
            if deadline > now {
                latest = latest.max(deadline);
            }
            deadline <= now
        });
        self.recovery.reorder_at = latest;
        has_lost
    }

    /// RACK.reo_wnd = min(min_RTT / 4, SRTT) where segments overtake each other, or as long as too few have done so to tell; else 0
    /// (RFC 8985 §6.2, step 4, without its adaptation by DSACK).
    fn reo_wnd(&self) -> Nanos {
        let is_urgent = self.recovery.phase != Phase::Open || self.flight.sacked_segments() >= DUP_THRESH;
        if !self.rack.reordering_seen && is_urgent {
            return Nanos::ZERO;
        }
        Nanos(self.timing.min_rtt.0 / 4).min(self.timing.srtt)
    }

    /// What the acknowledgement of our FIN changes.
    fn end_acknowledged(&mut self, now: Nanos) {
        if !self.is_fin_sent || self.snd_una != self.snd_nxt {
            return;
        }
        match self.state {
            State::FinWait1 => self.state = State::FinWait2,
            State::Closing => self.wait_out(now),
            State::LastAck => self.end(None),
            _ => {}
        }
    }

    /// Chooses what time is to bring next after a segment that `told` so much. A timer that waits for an acknowledgement begins anew
    /// only with news (RFC 6298 §5.3, RFC 8985 §7.2), or a peer that goes on sending would hold it up for ever.
    pub(super) fn set_alarm_after(&mut self, told: Told, now: Nanos) {
        let (before, before_at) = (self.alarm, self.alarm_at);
        self.set_alarm(now);
        let is_waiting = matches!(self.alarm, Alarm::Retransmission | Alarm::TailLossProbe);
        if told == Told::Known && is_waiting && self.alarm == before {
            self.alarm_at = before_at;
        }
    }

    /// Chooses what time is to bring next.
    pub(super) fn set_alarm(&mut self, now: Nanos) {
        if matches!(self.state, State::TimeWait | State::Closed) {
            return;
        }
        (self.alarm, self.alarm_at) = if self.flight.is_empty() {
            if !self.has_unsent() {
                (Alarm::Idle, self.progress + KEEP_ALIVE_IDLE)
            } else if self.alarm == Alarm::Persist {
                return;
            } else {
                (Alarm::Persist, now + self.timing.rto())
            }
        } else if self.recovery.reorder_at > Nanos::ZERO {
            (Alarm::Reorder, self.recovery.reorder_at)
        } else if self.can_probe_tail() {
            (Alarm::TailLossProbe, now + self.pto())
        } else {
            (Alarm::Retransmission, now + self.timing.rto())
        };
    }

    /// RFC 8985 §7.3: one probe for a flight without known losses.
    fn can_probe_tail(&self) -> bool {
        self.sack_permitted && !self.is_lossless && self.is_established() && self.is_recovery_quiet()
    }

    /// PTO = SRTT + max(SRTT, 4 · RTTVAR), and TLP.max_ack_delay with one segment in flight; RTO at most. RFC 8985 §7.2 has 2 · SRTT
    /// without the variation.
    fn pto(&self) -> Nanos {
        let timeout = self.timing.rto();
        // Ten thousand connections may be new to a program that answers one after the other.
        if !self.timing.has_data_sample {
            return timeout;
        }
        let delay = if self.flight.len() == 1 { MAX_ACK_DELAY } else { PTO_SLACK };
        (self.timing.long_round_trip() + delay).min(timeout)
    }

    /// Does what has come due.
    pub(super) fn wake(&mut self, now: Nanos, counts: &mut Counts) {
        if self.is_given_up(now) {
            return self.time_out();
        }
        match self.alarm {
            Alarm::Idle => {
                self.owes_probe = self.is_established();
                self.alarm_at = now + KEEP_ALIVE_INTERVAL;
            }
            Alarm::Persist => {
                self.owes_probe = true;
                self.timing.back_off(false);
                self.alarm_at = now + self.timing.rto().min(PERSIST_INTERVAL);
            }
            Alarm::Reorder => {
                let pipe = self.flight.pipe();
                self.recovery.reorder_at = Nanos::ZERO;
                if self.detect_losses(now) {
                    self.begin_recovery(pipe, counts);
                }
                self.set_alarm(now);
            }
            Alarm::TailLossProbe => {
                self.owes_tail_loss_probe = true;
                (self.alarm, self.alarm_at) = (Alarm::Retransmission, now + self.timing.rto());
            }
            Alarm::Retransmission => self.lose_all(now, counts),
            Alarm::TimeWait => self.end(None),
        }
    }

    /// Whether nothing is to be expected of the peer any more. Time alone does not tell: a program that computes, or is stopped, does not
    /// run its stack, and comes back to a peer that was asked nothing, or whose answer was lost with nobody to ask again.
    fn is_given_up(&self, now: Nanos) -> bool {
        let silence = now - self.progress;
        match self.alarm {
            Alarm::Idle if self.is_established() => self.questions.are_in_vain(now, KEEP_ALIVE_TIMEOUT),
            // What opens it could not even leave.
            Alarm::Idle => silence > KEEP_ALIVE_IDLE + KEEP_ALIVE_TIMEOUT,
            Alarm::Persist => self.questions.are_in_vain(now, USER_TIMEOUT),
            Alarm::Retransmission => silence > USER_TIMEOUT && matches!(self.recovery.phase, Phase::Loss(_)),
            Alarm::Reorder | Alarm::TailLossProbe | Alarm::TimeWait => false,
        }
    }

    /// RFC 6298 §5.4 to 5.6. A request for a connection that is not answered says nothing of the wire: a full backlog drops it. Nor
    /// does a handshake say how much the network bears, except that one segment is enough to begin with (RFC 5681 §3.1).
    fn lose_all(&mut self, now: Nanos, counts: &mut Counts) {
        let is_request = self.state == State::SynSent;
        counts.timeouts += u64::from(!is_request);
        let is_first = self.is_established() && !matches!(self.recovery.phase, Phase::Loss(_));
        self.congestion.on_timeout(self.flight.pipe(), is_first);
        self.flight.lose_all();
        self.recovery = Recovery { phase: Phase::Loss(self.snd_nxt), ..Recovery::default() };
        self.timing.back_off(is_request);
        (self.alarm, self.alarm_at) = (Alarm::Retransmission, now + self.timing.rto());
    }

    fn time_out(&mut self) {
        self.owes_reset = self.is_established();
        self.end(Some(Failure::TimedOut));
    }

    /// The last segment has left once more.
    pub(super) fn note_tail_loss_probe(
        &mut self,
        end: Seq,
        sent_at: Option<Nanos>,
        now: Nanos,
        counts: &mut Counts,
    ) {
        self.owes_tail_loss_probe = false;
        self.recovery.probed = Some(Probe { end, sent_at, again_at: now });
        counts.tail_loss_probes += 1;
    }
}
