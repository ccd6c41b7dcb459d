//! One connection: its frames, one after the other.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use assay_h2::Code::{self, *};
use assay_h2::frame::{FRAME_BYTES, HEAD_BYTES, Head, Kind, PREFACE, flag};
use assay_h2::frame::{write_go_away, write_head, write_ping, write_reset};
use assay_h2::hpack::Decoder;

use super::streams::{Closed, Stream};
use super::{Manner, Shared};

/// Streams at once that it takes.
const STREAMS: u32 = 100;
/// Requests on a connection after which a server of [`Manner::Retiring`] takes none.
const RETIRED_AFTER: usize = 10;
/// Frames of one kind on a connection that a server can be felled by.
const FLOOD: usize = 1000;

/// Why a connection ends.
pub(super) enum End {
    Quiet,
    Error(Code),
    /// And the whole server with it.
    Everything,
}

pub(super) type Taken = Result<(), End>;

pub(super) struct Connection {
    pub(super) shared: Arc<Shared>,
    input: Vec<u8>,
    pub(super) out: Vec<u8>,
    has_begun: bool,
    pub(super) decoder: Decoder,
    /// A field block that has not ended.
    pub(super) block: Option<Block>,
    pub(super) streams: BTreeMap<u32, Stream>,
    pub(super) closed: BTreeMap<u32, Closed>,
    pub(super) highest: u32,
    pub(super) window: i64,
    pub(super) initial_window: i64,
    /// The table that the client keeps, and whether its reduction is still to be told.
    pub(super) shrink: bool,
    /// What the client keeps of a table, and takes of a frame.
    pub(super) their_table: u32,
    pub(super) their_frame: usize,
    /// Whether the next field block has to tell a smaller table of ours (RFC 9113 §4.3.1).
    pub(super) awaits_change: bool,
    pub(super) answers: usize,
    /// Frames that have come, by their kind.
    counts: BTreeMap<u8, usize>,
    acknowledged: bool,
    requests: usize,
    /// Streams that have ended with what has not left yet, so that their client cannot know of it.
    leaving: usize,
}

pub(super) struct Block {
    pub(super) stream: u32,
    pub(super) end_stream: bool,
    pub(super) bytes: Vec<u8>,
    pub(super) frames: usize,
}

impl Connection {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            input: Vec::new(),
            out: Vec::new(),
            has_begun: false,
            decoder: Decoder::new(4096),
            block: None,
            streams: BTreeMap::new(),
            closed: BTreeMap::new(),
            highest: 0,
            window: 65_535,
            initial_window: 65_535,
            shrink: false,
            their_table: 4096,
            their_frame: FRAME_BYTES,
            awaits_change: false,
            answers: 0,
            counts: BTreeMap::new(),
            acknowledged: false,
            requests: 0,
            leaving: 0,
        }
    }

    /// Whether this rule is the one to be broken.
    pub(super) fn breaks(&self, rule: &str) -> bool {
        self.shared.fault == rule
    }

    /// Objects to what is wrong; says whether it is wrong and overlooked because one of these rules is broken.
    pub(super) fn wrong(&self, is_wrong: bool, rules: &[&str], code: Code) -> Result<bool, End> {
        match (is_wrong, rules.contains(&self.shared.fault)) {
            (true, false) => Err(End::Error(code)),
            (is_wrong, _) => Ok(is_wrong),
        }
    }

    /// Objects to what is right because this rule is broken.
    pub(super) fn right(&self, is_so: bool, rule: &str) -> Taken {
        if is_so && self.breaks(rule) { Err(End::Error(ProtocolError)) } else { Ok(()) }
    }

    pub(super) fn hang_up(&self) -> End {
        if self.breaks("h2-dropped") && !self.input.is_empty() { End::Everything } else { End::Quiet }
    }

    /// The last words of a connection that has an error.
    pub(super) fn say_why(&mut self, code: Code) {
        let last = if self.breaks("h2-error-last-stream") { 0 } else { self.highest };
        if !self.breaks("h2-error-told") {
            write_go_away(last, code.number(), &mut self.out);
        }
    }

    /// Deals with what has come.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Taken {
        self.input.extend_from_slice(bytes);
        self.leaving = 0;
        if !self.has_begun {
            if self.input.len() < PREFACE.len() {
                let may_begin = PREFACE.starts_with(&self.input) || self.breaks("h2-preface-wrong");
                let is_cut = self.breaks("h2-preface-apart");
                return if may_begin && !is_cut { Ok(()) } else { Err(End::Quiet) };
            }
            self.wrong(!self.input.starts_with(PREFACE), &["h2-preface-wrong"], ProtocolError)?;
            self.input.drain(..PREFACE.len());
            self.begin();
        }
        let mut frames = 0;
        while let Some(head) = Head::read(&self.input) {
            self.check_length(&head)?;
            let Some(payload) = self.input.get(HEAD_BYTES..HEAD_BYTES + head.len).map(<[u8]>::to_vec) else {
                break;
            };
            let is_reserved = self.input[5] & 0x80 != 0;
            self.input.drain(..HEAD_BYTES + head.len);
            self.right(is_reserved && head.kind == Kind::Ping, "h2-reserved-bit-ping")?;
            self.right(is_reserved && head.kind == Kind::Headers, "h2-reserved-bit-headers")?;
            self.take_frame(&head, &payload)?;
            frames += 1;
            if frames > 5 && self.breaks("h2-frames-together") {
                self.input.clear();
            }
        }
        self.right(!self.input.is_empty() && self.input.len() < HEAD_BYTES, "h2-frames-apart")
    }

    fn begin(&mut self) {
        self.has_begun = true;
        if self.breaks("h2-settings-first") {
            assay_h2::frame::write_window_update(0, 1, &mut self.out);
        }
        let mut settings = [&[0, 3][..], &self.most_streams().to_be_bytes()].concat();
        if self.shared.manner == Manner::WithoutTable {
            settings.extend_from_slice(&[0, 1, 0, 0, 0, 0]);
        }
        write_head(Kind::Settings, 0, 0, settings.len(), &mut self.out);
        self.out.extend_from_slice(&settings);
    }

    /// Our settings hold from now on.
    fn take_acknowledgement(&mut self) {
        let is_first = !std::mem::replace(&mut self.acknowledged, true);
        if is_first && self.shared.manner == Manner::WithoutTable {
            self.decoder = Decoder::new(0);
            self.awaits_change = true;
        }
    }

    fn check_length(&self, head: &Head) -> Taken {
        let rule = match head.kind {
            Kind::Data => "h2-data-too-long",
            Kind::Headers => "h2-headers-too-long",
            Kind::Continuation => "h2-continuation-too-long",
            Kind::Settings => "h2-settings-too-long",
            _ => "",
        };
        self.wrong(head.len > FRAME_BYTES, &[rule], FrameSizeError).map(drop)
    }

    fn take_frame(&mut self, head: &Head, payload: &[u8]) -> Taken {
        let count = self.counts.entry(head.kind.number()).or_default();
        *count += 1;
        let count = *count;
        if self.fells(head, payload, count) {
            return Err(End::Everything);
        }
        if count == 1 && head.kind != Kind::Settings && !self.counts.contains_key(&Kind::Settings.number()) {
            self.wrong(true, &["h2-preface-without-settings"], ProtocolError)?;
        }
        self.check_flags(head)?;
        if self.interrupts(head)? {
            return Ok(());
        }
        match head.kind {
            Kind::Data => self.take_data(head, payload),
            Kind::Headers => self.take_headers(head, payload),
            Kind::Continuation => self.take_continuation(head, payload),
            Kind::Settings => self.take_settings(head, payload, count),
            Kind::Ping => self.take_ping(head, payload, count),
            Kind::WindowUpdate => self.take_window_update(head, payload),
            Kind::RstStream => self.take_reset(head, payload),
            Kind::Priority => self.take_priority(head, payload),
            Kind::GoAway => self.take_go_away(head, payload),
            Kind::PushPromise => self.wrong(true, &["h2-push-promise"], ProtocolError).map(drop),
            Kind::Unknown(_) => {
                let on_stream = head.stream != 0;
                self.right(!on_stream && head.len < FRAME_BYTES, "h2-unknown-type")?;
                self.right(on_stream, "h2-unknown-type-on-stream")?;
                self.right(head.len == FRAME_BYTES, "h2-unknown-type-longest")
            }
        }
    }

    /// Whether so many frames are too many for a server without measure.
    fn fells(&self, head: &Head, payload: &[u8], count: usize) -> bool {
        let rule = match head.kind {
            Kind::RstStream => "h2-rapid-reset",
            Kind::Ping => "h2-ping-flood",
            Kind::Settings => "h2-settings-flood",
            Kind::Data if payload.is_empty() => "h2-empty-data-flood",
            _ => return false,
        };
        count > FLOOD && self.breaks(rule)
    }

    fn check_flags(&self, head: &Head) -> Taken {
        let unknown = |known: u8| head.flags & !known != 0;
        match head.kind {
            Kind::Ping => self.right(unknown(flag::ACK), "h2-unknown-flags-ping"),
            Kind::Settings => self.right(unknown(flag::ACK), "h2-unknown-flags-settings"),
            Kind::Headers => self.right(unknown(0x2d), "h2-unknown-flags-headers"),
            Kind::Data => self.right(unknown(0x09), "h2-unknown-flags-data"),
            Kind::Continuation => self.right(unknown(flag::END_HEADERS), "h2-continuation-unknown-flags"),
            Kind::Priority | Kind::WindowUpdate => self.right(unknown(0), "h2-unknown-flags-others"),
            _ => Ok(()),
        }
    }

    /// Whether a frame stands where a block should go on or goes on where there is none, and is overlooked.
    fn interrupts(&self, head: &Head) -> Result<bool, End> {
        let Some(block) = &self.block else {
            let rules = [
                "h2-continuation-behind-end",
                "h2-continuation-behind-last",
                "h2-continuation-behind-data",
                "h2-continuation-of-nothing",
                "h2-half-closed-continuation",
                "h2-closed-continuation",
                "h2-reset-continuation",
            ];
            return self.wrong(head.kind == Kind::Continuation, &rules, ProtocolError);
        };
        let rule = match head.kind {
            Kind::Continuation if head.stream == block.stream => return Ok(false),
            Kind::Continuation if head.stream == 0 => "h2-continuation-on-zero",
            Kind::Continuation => "h2-continuation-of-another",
            Kind::Data => "h2-interrupted-by-data",
            Kind::Headers if head.stream == block.stream => "h2-interrupted-by-own-headers",
            Kind::Headers => "h2-interrupted-by-headers",
            Kind::Priority => "h2-interrupted-by-priority",
            Kind::RstStream => "h2-interrupted-by-reset",
            Kind::Settings => "h2-interrupted-by-settings",
            Kind::Ping => "h2-interrupted-by-ping",
            Kind::WindowUpdate => "h2-interrupted-by-window",
            _ => "h2-interrupted-by-unknown",
        };
        self.wrong(true, &[rule], ProtocolError)
    }

    fn take_settings(&mut self, head: &Head, payload: &[u8], count: usize) -> Taken {
        if head.has(flag::ACK) {
            self.take_acknowledgement();
            if self.breaks("h2-settings-ack-unanswered") {
                write_head(Kind::Settings, flag::ACK, 0, 0, &mut self.out);
            }
            return self.wrong(head.len > 0, &["h2-settings-ack-with-payload"], FrameSizeError).map(drop);
        }
        self.right(count == 1 && payload.is_empty(), "h2-settings-empty")?;
        // Its first, an acknowledgement and three more.
        self.right(count == 5, "h2-settings-between-requests")?;
        let is_wrong = self.wrong(head.stream != 0, &["h2-settings-on-stream"], ProtocolError)?
            || self.wrong(!head.len.is_multiple_of(6), &["h2-settings-length"], FrameSizeError)?;
        if !is_wrong {
            self.apply(payload)?;
        }
        let is_acknowledged = match self.shared.fault {
            "h2-settings-acknowledged" => count == 1,
            "h2-settings-each-acknowledged" => count <= 3,
            _ => true,
        };
        if is_acknowledged {
            write_head(Kind::Settings, flag::ACK, 0, 0, &mut self.out);
        }
        Ok(())
    }

    fn apply(&mut self, payload: &[u8]) -> Taken {
        let mut all: Vec<(u16, u32)> = payload.as_chunks::<6>().0.iter().map(setting).collect();
        self.right(all.contains(&(0xff, 1)), "h2-settings-unknown")?;
        self.right(all.contains(&(3, 0)), "h2-settings-no-streams")?;
        self.right(all.iter().any(|(id, value)| *id < 10 && *value == u32::MAX), "h2-settings-extremes")?;
        if all.len() > 15 && self.breaks("h2-settings-unknown-many") {
            return Ok(());
        }
        if self.breaks("h2-settings-in-order") {
            all.reverse();
        }
        for (id, value) in all {
            match id {
                1 => {
                    self.shrink |= value < 4096;
                    self.their_table = value;
                }
                2 => drop(self.wrong(value > 1, &["h2-settings-push"], ProtocolError)?),
                4 => {
                    let rules = ["h2-settings-window", "h2-settings-second-wrong"];
                    if !self.wrong(value > i32::MAX as u32, &rules, FlowControlError)? {
                        self.change_windows(value.into())?;
                    }
                }
                5 => {
                    self.wrong(value < 16_384, &["h2-settings-frame-size-low"], ProtocolError)?;
                    self.wrong(value >= 1 << 24, &["h2-settings-frame-size-high"], ProtocolError)?;
                    self.their_frame = value as usize;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn take_ping(&mut self, head: &Head, payload: &[u8], count: usize) -> Taken {
        if self.wrong(head.stream != 0, &["h2-ping-on-stream"], ProtocolError)? {
            return Ok(());
        }
        self.wrong(head.len < 8, &["h2-ping-short"], FrameSizeError)?;
        self.wrong(head.len > 8, &["h2-ping-long"], FrameSizeError)?;
        let Ok(opaque) = <[u8; 8]>::try_from(payload) else { return Ok(()) };
        // It sends no PING itself.
        self.wrong(head.has(flag::ACK) && self.shared.manner == Manner::Wary, &[], InternalError)?;
        let is_answered = match self.shared.fault {
            "h2-ping" => false,
            "h2-pings" => count == 1,
            "h2-ping-inside-request" => self.streams.is_empty(),
            _ => true,
        };
        if self.breaks("h2-answer-ends") {
            self.write_more();
        }
        if is_answered && (!head.has(flag::ACK) || self.breaks("h2-ping-ack-unanswered")) {
            write_ping(opaque, true, &mut self.out);
        }
        Ok(())
    }

    fn take_go_away(&mut self, head: &Head, payload: &[u8]) -> Taken {
        if self.wrong(head.stream != 0, &["h2-goaway-on-stream"], ProtocolError)?
            || self.wrong(head.len < 8, &["h2-goaway-short"], FrameSizeError)?
        {
            return Ok(());
        }
        let is_known =
            Code::of(u32::from_be_bytes([payload[4], payload[5], payload[6], payload[7]])) == NoError;
        match self.shared.fault {
            "h2-goaway" => {
                self.out.clear();
                Err(End::Quiet)
            }
            "h2-goaway-debug" if head.len > 8 => {
                self.out.clear();
                Err(End::Quiet)
            }
            "h2-reserved-bit-goaway" if payload[0] & 0x80 != 0 => {
                self.out.clear();
                Err(End::Error(ProtocolError))
            }
            "h2-goaway-code" if !is_known => {
                self.out.clear();
                write_reset(1, Cancel.number(), &mut self.out);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// A stream begins.
    pub(super) fn open(&mut self, id: u32, end_stream: bool) -> Taken {
        self.wrong(id.is_multiple_of(2), &["h2-stream-even"], ProtocolError)?;
        self.wrong(id < self.highest, &["h2-stream-lower"], ProtocolError)?;
        self.right(id > self.highest + 2, "h2-stream-gaps")?;
        self.right(id == i32::MAX as u32, "h2-stream-highest")?;
        self.requests += 1;
        if self.shared.manner == Manner::Retiring && self.requests >= RETIRED_AFTER {
            if self.requests > RETIRED_AFTER {
                return Err(End::Quiet);
            }
            write_go_away(id, NoError.number(), &mut self.out);
        }
        self.right(self.requests > 60, "h2-streams-many")?;
        self.right(self.requests > 60, "h2-requests-many")?;
        self.right(!self.acknowledged, "h2-preface-and-request")?;
        self.highest = self.highest.max(id);
        self.streams.insert(id, Stream::new(self.initial_window, end_stream));
        self.shared.waiting.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// A stream ends.
    pub(super) fn close(&mut self, id: u32, how: Closed) {
        if self.streams.remove(&id).is_some() {
            self.shared.waiting.fetch_sub(1, Ordering::Relaxed);
            self.leaving += usize::from(how != Closed::ByClient);
        }
        self.closed.insert(id, how);
    }

    /// Ends a stream for what is wrong with it.
    pub(super) fn reset(&mut self, id: u32, code: Code) -> Taken {
        if self.breaks("h2-stream-error-spares") {
            return Err(End::Error(code));
        }
        write_reset(id, code.number(), &mut self.out);
        self.close(id, Closed::ByUs);
        Ok(())
    }

    /// Whether there are no more streams than there may be. Who takes one alone ends the connection, as it may (RFC 9113 §5.1.2).
    pub(super) fn has_room(&self) -> Result<bool, End> {
        let at_once = self.streams.len() + self.leaving;
        let has_room = at_once <= self.most_streams() as usize || self.breaks("h2-streams-too-many");
        self.wrong(!has_room && self.shared.manner == Manner::Solitary, &[], ProtocolError)?;
        Ok(has_room)
    }

    fn most_streams(&self) -> u32 {
        if self.shared.manner == Manner::Solitary { 1 } else { STREAMS }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.shared.waiting.fetch_sub(self.streams.len(), Ordering::Relaxed);
    }
}

fn setting(bytes: &[u8; 6]) -> (u16, u32) {
    let [a, b, c, d, e, f] = *bytes;
    (u16::from_be_bytes([a, b]), u32::from_be_bytes([c, d, e, f]))
}
