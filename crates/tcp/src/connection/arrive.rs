//! What an arriving segment changes (RFC 9293 §3.10.7).

use assay_model::units::Nanos;

use super::receive::Change;
use super::recovery::{Alarm, Told};
use super::{
    CHALLENGE_INTERVAL, Connection, Counts, DELAYED_ACK_TIMEOUT, Failure, Segment, State, TIME_WAIT, Verdict,
    flag,
};

impl Connection {
    /// Takes a segment of this connection.
    pub(crate) fn segment_arrives(
        &mut self,
        segment: &Segment<'_>,
        now: Nanos,
        counts: &mut Counts,
    ) -> Verdict {
        if self.is_predicted(segment) {
            self.take_predicted(segment, now);
            return Verdict::Taken;
        }
        match self.state {
            State::Closed => Verdict::Taken,
            State::SynSent => self.answer_arrives(segment, now),
            _ => self.any_arrives(segment, now, counts),
        }
    }

    /// Header prediction (Jacobson, "4BSD TCP Header Prediction", 1990): whether it is the next segment of a connection on which
    /// nothing is out of the ordinary.
    fn is_predicted(&self, segment: &Segment<'_>) -> bool {
        let ordinary = self.state == State::Established
            && segment.flags & !flag::PSH == flag::ACK
            && segment.sequence == self.inbox.rcv_nxt
            && segment.options.is_empty();
        let is_new = self.snd_una.is_before(segment.acknowledgement) || !segment.data.is_empty();
        let acknowledges = self.snd_una.is_within(segment.acknowledgement)
            && segment.acknowledgement.is_within(self.snd_nxt);
        let fits = segment.data.len() <= (self.rcv_adv - self.inbox.rcv_nxt) as usize;
        let is_quiet = !self.inbox.has_gap() && self.inbox.end().is_none() && self.is_recovery_quiet();
        ordinary && is_new && acknowledges && fits && is_quiet
    }

    fn take_predicted(&mut self, segment: &Segment<'_>, now: Nanos) {
        self.set_snd_wnd(segment);
        if self.snd_una.is_before(segment.acknowledgement) {
            let under_way = self.flight.pipe();
            let octets = self.acknowledge(segment.acknowledgement, now);
            self.congestion.on_acknowledged(octets, under_way);
            self.set_alarm(now);
        } else if self.flight.is_empty() {
            self.note_answer(now);
        }
        if !segment.data.is_empty() {
            self.inbox.take(segment.sequence, segment.data);
            self.owe_acknowledgement(now);
        }
    }

    /// RFC 9293 §3.10.7.3: SYN-SENT.
    fn answer_arrives(&mut self, segment: &Segment<'_>, now: Nanos) -> Verdict {
        let acknowledges_syn = segment.acknowledgement == self.snd_nxt && self.snd_nxt != self.iss;
        if segment.has(flag::ACK) && !acknowledges_syn {
            return if segment.has(flag::RST) { Verdict::Taken } else { Verdict::Strange };
        }
        if segment.has(flag::RST) {
            if segment.has(flag::ACK) {
                self.end(Some(Failure::Reset));
            }
            return Verdict::Taken;
        }
        if !segment.has(flag::SYN) {
            return Verdict::Taken;
        }
        self.take_syn(segment);
        if segment.has(flag::ACK) {
            self.state = State::Established;
            self.acknowledge(segment.acknowledgement, now);
            self.delayed_ack_at = Nanos::ZERO;
        } else {
            // Both opened at once (§3.5, figure 7): our SYN goes out once more, now as an answer.
            self.state = State::SynReceived;
            self.flight.lose_all();
        }
        self.set_alarm(now);
        Verdict::Taken
    }

    /// RFC 9293 §3.10.7.4: all other states.
    fn any_arrives(&mut self, segment: &Segment<'_>, now: Nanos, counts: &mut Counts) -> Verdict {
        if !self.is_acceptable(segment) {
            self.refuse(segment, now);
            return Verdict::Taken;
        }
        if segment.has(flag::RST) {
            self.reset_arrives(segment, now);
            return Verdict::Taken;
        }
        if segment.has(flag::SYN) {
            // RFC 5961 §4.2: whoever lost its state answers with a reset that fits.
            self.challenge(now);
            return Verdict::Taken;
        }
        if !segment.has(flag::ACK) {
            return Verdict::Taken;
        }
        if self.state == State::SynReceived && !self.is_handshake_done(segment, now) {
            return Verdict::Strange;
        }
        let told = self.acknowledgement_arrives(segment, now, counts);
        if told != Told::Guess {
            self.data_arrives(segment, now);
            self.fin_arrives(segment, now);
            self.set_alarm_after(told, now);
        }
        Verdict::Taken
    }

    /// Whether any of it lies in the window that the peer was told of (first check; RFC 9293 §3.4, table 6).
    fn is_acceptable(&self, segment: &Segment<'_>) -> bool {
        let (start, edge) = (self.inbox.rcv_nxt, self.rcv_adv);
        let (first, length) = (segment.sequence, segment.length());
        let is_in_window = start.is_within(first) && first.is_before(edge);
        match (edge.beyond(start), length) {
            (0, 0) => first == start,
            // Acknowledgements, resets and what comes for a window that has closed meanwhile are still read.
            (0, _) => first == start,
            (_, 0) => is_in_window,
            (_, _) => is_in_window || (first.is_before(start) && start.is_before(first + length)),
        }
    }

    /// What is not acceptable is answered, so that an end that is behind learns where we are; but not what two ends might answer
    /// each other for ever.
    fn refuse(&mut self, segment: &Segment<'_>, now: Nanos) {
        if segment.has(flag::RST) {
            return;
        }
        if self.state == State::SynReceived && segment.has(flag::SYN) && !segment.has(flag::ACK) {
            // Our answer was lost: here it is again.
            self.flight.lose_all();
        } else if segment.length() > 0 && !segment.has(flag::SYN) {
            // A SYN is anybody's guess (RFC 5961 §4.2), and its answer is rationed (§7).
            self.delayed_ack_at = Nanos::ZERO;
        } else {
            self.challenge(now);
        }
        if self.state == State::TimeWait && segment.has(flag::FIN) {
            self.alarm_at = now + TIME_WAIT;
        }
    }

    /// RFC 5961 §3.2: a reset has to hit the next number; one elsewhere in the window may be a guess.
    fn reset_arrives(&mut self, segment: &Segment<'_>, now: Nanos) {
        if segment.sequence == self.inbox.rcv_nxt {
            let is_over = matches!(self.state, State::TimeWait | State::Closing | State::LastAck);
            self.end(Some(Failure::Reset).filter(|_| !is_over));
        } else {
            self.challenge(now);
        }
    }

    /// Answers with an acknowledgement, at most once in [`CHALLENGE_INTERVAL`].
    pub(super) fn challenge(&mut self, now: Nanos) {
        if now - self.challenged_at >= CHALLENGE_INTERVAL || self.challenged_at == Nanos::ZERO {
            (self.challenged_at, self.delayed_ack_at) = (now, Nanos::ZERO);
        }
    }

    /// SYN-RECEIVED ends with the acknowledgement of our SYN.
    fn is_handshake_done(&mut self, segment: &Segment<'_>, now: Nanos) -> bool {
        let ack = segment.acknowledgement;
        let is_done = self.snd_una.is_before(ack) && ack.is_within(self.snd_nxt);
        if is_done {
            self.state = State::Established;
            self.set_snd_wnd(segment);
            self.note_answer(now);
        }
        is_done
    }

    /// Seventh check: data, trimmed to what is new and fits.
    fn data_arrives(&mut self, segment: &Segment<'_>, now: Nanos) {
        let can_receive = matches!(self.state, State::Established | State::FinWait1 | State::FinWait2);
        let skipped = self.inbox.rcv_nxt.beyond(segment.sequence) as usize;
        if segment.data.is_empty() || !can_receive {
            return;
        }
        let end = self.inbox.end().map_or(self.rcv_adv, |fin| fin.min(self.rcv_adv));
        let fits = (end.beyond(segment.sequence) as usize).min(segment.data.len());
        let change = match segment.data.get(skipped..fits).filter(|data| !data.is_empty()) {
            Some(data) => self.inbox.take(segment.sequence + skipped as u32, data),
            None => Change::Nothing,
        };
        if change == Change::InOrder {
            self.owe_acknowledgement(now);
        } else {
            // RFC 5681 §4.2: at once, so that the sender finds out.
            let is_another = self.delayed_ack_at == Nanos::ZERO && !self.sack_permitted;
            self.extra_dup_acks = self.extra_dup_acks.saturating_add(u8::from(is_another));
            self.delayed_ack_at = Nanos::ZERO;
        }
    }

    /// RFC 9293 §3.8.6.3 and RFC 5681 §4.2: within a short time, and for every second full segment at once.
    fn owe_acknowledgement(&mut self, now: Nanos) {
        if self.inbox.rcv_nxt - self.last_ack_sent >= 2 * u32::from(self.own_segment_bytes) {
            self.delayed_ack_at = Nanos::ZERO;
        } else if self.delayed_ack_at == Nanos::MAX {
            self.delayed_ack_at = now + DELAYED_ACK_TIMEOUT;
        }
    }

    /// Eighth check: the end of the peer's direction.
    fn fin_arrives(&mut self, segment: &Segment<'_>, now: Nanos) {
        let had_ended = self.inbox.has_ended;
        let has_fin = segment.has(flag::FIN);
        let fin = segment.sequence + segment.data.len() as u32;
        let has_ended = match self.inbox.end() {
            // A gap before it may just have been filled.
            Some(known) => self.inbox.end_at(known),
            None if has_fin && !fin.is_before(self.inbox.rcv_nxt) => self.inbox.end_at(fin),
            None => false,
        };
        if has_fin {
            self.delayed_ack_at = Nanos::ZERO;
        }
        if !has_ended || had_ended {
            return;
        }
        self.delayed_ack_at = Nanos::ZERO;
        match self.state {
            State::Established => self.state = State::CloseWait,
            State::FinWait1 => self.state = State::Closing,
            State::FinWait2 => self.wait_out(now),
            _ => {}
        }
    }

    /// TIME-WAIT begins.
    pub(super) fn wait_out(&mut self, now: Nanos) {
        self.state = State::TimeWait;
        (self.alarm, self.alarm_at) = (Alarm::TimeWait, now + TIME_WAIT);
    }
}
