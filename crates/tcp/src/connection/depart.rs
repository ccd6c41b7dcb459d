//! The segment that is next (RFC 9293 §3.8), and what changes when it has left.

use assay_model::units::Nanos;

use super::flight::Sent;
use super::options::Written;
use super::recovery::Alarm;
use super::sequence::Seq;
use super::{Connection, Counts, State, flag};

/// A segment that may leave now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SegmentPlan {
    pub(crate) sequence: Seq,
    pub(crate) acknowledgement: Seq,
    /// Of [`flag`].
    pub(crate) flags: u8,
    /// Window as it goes into the header.
    pub(crate) window: u16,
    /// Where its data begins in the outbox.
    offset: usize,
    length: usize,
    /// The end of the window that it tells.
    edge: Seq,
    kind: Kind,
    carries: Carries,
}

/// What a segment is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The segment takes numbers that were not sent before.
    Fresh,
    /// The segment was sent before, and has this place in the flight.
    Again(usize),
    /// A segment that was sent before, as a probe.
    TailLossProbe(usize),
    /// The segment takes no numbers.
    Bare,
    Reset,
}

/// The options that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Carries {
    Nothing,
    Offer,
    Ranges,
}

impl Connection {
    /// The segment that is to leave next, if any may leave now; the same one until [`sent`](Self::sent). All that the wire brought
    /// until `rx_watermark` has arrived here: a timer that ran out later may be answered by what still lies in the wire.
    pub(crate) fn next_segment(
        &mut self,
        now: Nanos,
        rx_watermark: Nanos,
        counts: &mut Counts,
    ) -> Option<SegmentPlan> {
        if self.alarm_at <= rx_watermark {
            self.wake(now, counts);
        }
        if self.state == State::Closed {
            return self.owes_reset.then(|| self.plan(Kind::Reset, self.snd_nxt, flag::RST));
        }
        if self.flight.has_lost()
            && let Some(plan) = self.plan_lost()
        {
            return Some(plan);
        }
        if self.snd_nxt == self.iss || self.has_unsent() {
            let plan = self.plan_first_or_further(now);
            if plan.is_some() {
                return plan;
            }
        }
        if self.owes_tail_loss_probe
            && let Some(plan) = self.plan_tail_loss_probe()
        {
            return Some(plan);
        }
        self.plan_acknowledgement(now)
    }

    /// The data of a segment.
    pub(crate) fn data(&self, plan: &SegmentPlan) -> &[u8] {
        self.outbox.as_slice().get(plan.offset..plan.offset + plan.length).unwrap_or_default()
    }

    /// The options of a segment.
    #[inline]
    pub(crate) fn options(&self, plan: &SegmentPlan) -> Option<Written> {
        match plan.carries {
            Carries::Nothing => None,
            Carries::Offer => Some(Written::offer(&self.offer())),
            Carries::Ranges => Some(Written::ranges(self.inbox.blocks())),
        }
    }

    /// Whether anything waits that takes numbers.
    pub(super) fn has_unsent(&self) -> bool {
        self.is_established() && (self.unsent() > 0 || (self.is_ending && !self.is_fin_sent))
    }

    fn unsent(&self) -> usize {
        (self.outbox_start + self.outbox.len() as u32).beyond(self.snd_nxt) as usize
    }

    /// What was never sent. While nothing is under way: after a pause the congestion window is no longer what it was; and should the
    /// peer's window not admit it, that window is asked for (RFC 9293 §3.8.6.1).
    #[inline]
    fn plan_first_or_further(&mut self, now: Nanos) -> Option<SegmentPlan> {
        let is_first = self.flight.is_empty();
        if is_first && now - self.sent_at > self.timing.rto() {
            self.congestion.on_idle();
        }
        let plan = self.plan_fresh();
        if is_first && plan.is_none() && self.alarm == Alarm::Idle {
            self.set_alarm(now);
        }
        plan
    }

    /// What was lost: the first segment at once (RFC 6675 §5, step 4.3), others as far as the congestion window admits them.
    fn plan_lost(&self) -> Option<SegmentPlan> {
        let (place, sent) = self.flight.first_lost()?;
        let under_way = self.flight.pipe();
        let fits = place == 0 || under_way + sent.octets() <= self.congestion.cwnd;
        fits.then(|| self.plan_again(sent, Kind::Again(place)))
    }

    fn plan_tail_loss_probe(&self) -> Option<SegmentPlan> {
        let (place, sent) = self.flight.last()?;
        Some(self.plan_again(sent, Kind::TailLossProbe(place)))
    }

    /// A segment that was sent before.
    fn plan_again(&self, sent: Sent, kind: Kind) -> SegmentPlan {
        if sent.start == self.iss {
            return self.plan_syn(kind);
        }
        let end = self.outbox_start + self.outbox.len() as u32;
        let has_fin = end.is_before(sent.end);
        let flags = flag::PSH | if has_fin { flag::FIN } else { 0 };
        let length = (sent.octets() - u32::from(has_fin)) as usize;
        self.plan_data(kind, sent.start, length, flags)
    }

    pub(super) fn plan_syn(&self, kind: Kind) -> SegmentPlan {
        let window = self.inbox.room().min(u16::MAX.into());
        SegmentPlan {
            window: window as u16,
            edge: self.inbox.rcv_nxt + window,
            carries: Carries::Offer,
            ..self.plan(kind, self.iss, flag::SYN)
        }
    }

    /// What waits and was never sent, as far as the peer's window and the congestion window admit it, without silly windows (RFC 9293
    /// §3.8.6.2.1). It does not wait for acknowledgements: Nagle's algorithm is off, as with TCP_NODELAY.
    #[inline]
    fn plan_fresh(&self) -> Option<SegmentPlan> {
        if self.snd_nxt == self.iss {
            return Some(self.plan_syn(Kind::Fresh));
        }
        if self.flight.is_full() {
            return None;
        }
        let unsent = self.unsent();
        let usable = (self.snd_una + self.snd_wnd).beyond(self.snd_nxt) as usize;
        let allowed = self.congestion.cwnd.saturating_sub(self.flight.pipe()) as usize;
        let full = usize::from(self.segment_bytes);
        let length = unsent.min(full).min(usable).min(allowed);
        let is_last = length == unsent;
        let has_fin = is_last && self.is_ending && usable > length;
        let is_silly = !is_last && length < full && length < self.max_snd_wnd as usize / 2;
        if is_silly || (length == 0 && !has_fin) {
            return None;
        }
        let flags = if is_last { flag::PSH } else { 0 } | if has_fin { flag::FIN } else { 0 };
        Some(self.plan_data(Kind::Fresh, self.snd_nxt, length, flags))
    }

    /// A segment of `length` octets of the outbox.
    #[inline]
    fn plan_data(&self, kind: Kind, sequence: Seq, length: usize, flags: u8) -> SegmentPlan {
        let plan = self.plan(kind, sequence, flags);
        // Ranges go with data only where they fit beside it.
        let has_room = length + Written::MOST_BYTES <= self.segment_bytes.into();
        let carries = if has_room { plan.carries } else { Carries::Nothing };
        SegmentPlan { offset: sequence.beyond(self.outbox_start) as usize, length, carries, ..plan }
    }

    /// An acknowledgement that is due, news of our window, or a question (RFC 9293 §3.8.4: an old number, which the peer answers).
    fn plan_acknowledgement(&self, now: Nanos) -> Option<SegmentPlan> {
        let is_due = self.delayed_ack_at <= now || self.owes_probe || self.has_window_news();
        if !is_due || self.state == State::SynSent {
            return None;
        }
        let sequence = if self.owes_probe { self.snd_nxt - 1 } else { self.snd_nxt };
        Some(self.plan(Kind::Bare, sequence, 0))
    }

    #[inline]
    fn plan(&self, kind: Kind, sequence: Seq, flags: u8) -> SegmentPlan {
        let next = self.inbox.rcv_nxt;
        let window = (self.edge().beyond(next) >> self.rcv_wind_shift).min(u16::MAX.into());
        let has_ranges = self.inbox.has_gap() && self.sack_permitted;
        SegmentPlan {
            sequence,
            acknowledgement: next,
            flags: flags | if self.state == State::SynSent { 0 } else { flag::ACK },
            window: window as u16,
            offset: 0,
            length: 0,
            edge: next + (window << self.rcv_wind_shift),
            kind,
            carries: if has_ranges { Carries::Ranges } else { Carries::Nothing },
        }
    }

    /// The end of the window to tell: it never moves back, and forward only by steps that are worth a segment (RFC 9293
    /// §3.8.6.2.2).
    #[inline]
    fn edge(&self) -> Seq {
        let edge = self.inbox.rcv_nxt + self.inbox.room();
        let step = (self.inbox.limit() / 2).min(self.own_segment_bytes.into());
        if edge.beyond(self.rcv_adv) >= step { edge } else { self.rcv_adv }
    }

    /// Whether the peer should hear that it may send more: by half of the largest window, or after it had no room for a full segment.
    fn has_window_news(&self) -> bool {
        let grown = self.edge().beyond(self.rcv_adv);
        let is_starved = self.rcv_adv.beyond(self.inbox.rcv_nxt) < self.own_segment_bytes.into();
        grown > 0
            && self.is_established()
            && !self.inbox.has_ended
            && (is_starved || grown >= self.inbox.limit() / 2)
    }

    /// Whether nothing else can be to send right behind a segment that told our window. Never wrong when it says so; when not, ask
    /// [`next_segment`](Self::next_segment).
    #[inline]
    pub(crate) fn has_told_all(&self) -> bool {
        let owes = self.owes_probe || self.owes_tail_loss_probe || self.delayed_ack_at < Nanos::MAX;
        self.state == State::Established
            && !self.is_ending
            && !owes
            && !self.flight.has_lost()
            && self.unsent() == 0
    }

    /// The planned segment has left.
    pub(crate) fn sent(&mut self, plan: &SegmentPlan, now: Nanos, counts: &mut Counts) {
        self.sent_at = now;
        if plan.flags & flag::ACK != 0 {
            self.last_ack_sent = self.inbox.rcv_nxt;
            self.rcv_adv = self.rcv_adv.max(plan.edge);
            if plan.carries == Carries::Ranges || !self.inbox.has_gap() {
                self.delayed_ack_at = Nanos::MAX;
            }
        }
        match plan.kind {
            Kind::Reset => self.owes_reset = false,
            Kind::Bare => {
                if std::mem::take(&mut self.owes_probe) {
                    self.questions.ask(now);
                }
                let is_last = self.extra_dup_acks == 0;
                self.delayed_ack_at = if is_last { Nanos::MAX } else { Nanos::ZERO };
                self.extra_dup_acks -= u8::from(!is_last);
            }
            Kind::Fresh => self.sent_fresh(plan, now),
            Kind::Again(place) | Kind::TailLossProbe(place) => {
                counts.retransmitted += 1;
                let sent_at = self.flight.resend(place, now);
                if matches!(plan.kind, Kind::TailLossProbe(_)) {
                    self.note_tail_loss_probe(plan.end(), sent_at, now, counts);
                }
            }
        }
    }

    fn sent_fresh(&mut self, plan: &SegmentPlan, now: Nanos) {
        if self.flight.is_empty() {
            self.progress = now;
        }
        if self.alarm == Alarm::Persist {
            self.timing.backoff = 0;
        }
        self.snd_nxt = plan.end();
        self.flight.push(plan.sequence, self.snd_nxt, now);
        if plan.flags & flag::FIN != 0 {
            self.is_fin_sent = true;
            self.state = match self.state {
                State::CloseWait => State::LastAck,
                _ => State::FinWait1,
            };
        }
        // A timer that runs goes on (RFC 6298 §5.1); only the wait for a probe begins anew (RFC 8985 §7.2).
        if matches!(self.alarm, Alarm::Idle | Alarm::Persist | Alarm::TailLossProbe) {
            self.set_alarm(now);
        }
    }
}

impl SegmentPlan {
    /// The number behind those that it takes.
    fn end(&self) -> Seq {
        let has = |flag| u32::from(self.flags & flag != 0);
        self.sequence + self.length as u32 + has(flag::SYN) + has(flag::FIN)
    }
}
