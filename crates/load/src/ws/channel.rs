//! One connection: what waits to leave on it, the messages in flight, and what has come of an answer.

use assay_http::{Limits, Scan, scan_response, worth_rescan};
use assay_model::load::ErrorClass;
use assay_ws::{Data, Mask, Opcode, Reader, Side, close, handshake, render};

use super::opening::Opening;
use crate::inspection::{Answer, Inspection};
use crate::judge::Judge;
use crate::protocol::{Breach, End, Line, Loss};

const LIMITS: Limits = Limits::DEFAULT;

/// The longest answer that is taken, far beyond what servers take.
const MESSAGES: assay_ws::Limits = assay_ws::Limits { message_bytes: 1 << 30, frames: 1 << 24 };

/// Memory that a connection keeps for what is to leave.
const KEPT_BYTES: usize = 4 * 1024;

/// Pongs that wait for a server that asks for them and does not take them.
const OWED_BYTES: usize = 1 << 20;

/// A connection over which WebSocket is spoken. Its places are a ring.
pub(crate) struct Channel {
    /// The key of the opening handshake, until that is answered.
    key: Option<String>,
    /// Bytes of an incomplete head that were scanned in vain.
    seen: usize,
    pub(super) reader: Reader,
    /// What waits to be accepted by the engine.
    outgoing: Vec<u8>,
    /// Bytes of it that are.
    sent: usize,
    /// Bytes of pongs that were added to it since it was empty.
    owed: usize,
    /// Where each message that was issued ends in it.
    ends: Vec<usize>,
    /// How many of these are wholly accepted.
    left: usize,
    /// The answer that is coming.
    inspection: Inspection,
    is_inspecting: bool,
    /// Places of the ring; known from the first message on.
    depth: u16,
    /// The place of the oldest message in flight.
    first: u16,
    /// Messages in flight, the unaccepted included.
    in_flight: u16,
    /// The mask of the close frame.
    farewell: Mask,
    /// Our own close frame is among what has left or will.
    has_said_farewell: bool,
    /// The server has said that it ends the connection, with this code if it gave one.
    taken_leave: Option<Option<u16>>,
}

impl Default for Channel {
    fn default() -> Self {
        Self {
            key: None,
            seen: 0,
            reader: Reader::new(Side::Server, MESSAGES),
            outgoing: Vec::new(),
            sent: 0,
            owed: 0,
            ends: Vec::new(),
            left: 0,
            inspection: Inspection::default(),
            is_inspecting: false,
            depth: 0,
            first: 0,
            in_flight: 0,
            farewell: Mask::NONE,
            has_said_farewell: false,
            taken_leave: None,
        }
    }
}

impl Channel {
    /// Prepares the opening handshake.
    pub(super) fn greet(&mut self, opening: &Opening, random: [u8; 16], farewell: Mask) {
        let key = handshake::key(random);
        opening.write(&key, &mut self.outgoing);
        (self.key, self.farewell) = (Some(key), farewell);
    }

    /// Whether the opening handshake is not answered.
    pub(super) fn is_opening(&self) -> bool {
        self.key.is_some()
    }

    /// Whether a message may be issued: all is accepted that was said.
    #[inline]
    pub(super) fn takes_messages(&self) -> bool {
        self.key.is_none() && self.outgoing.is_empty() && self.taken_leave.is_none()
    }

    /// Messages in flight.
    #[inline]
    pub(super) fn count(&self) -> usize {
        self.in_flight as usize
    }

    /// Reads the answer to the opening handshake; returns the bytes dealt with.
    pub(super) fn read_answer(&mut self, input: &[u8]) -> Result<usize, Breach> {
        let Some(key) = &self.key else { return Ok(0) };
        let mut at = 0;
        loop {
            let rest = &input[at..];
            if self.seen > 0 && !worth_rescan(rest, self.seen, &LIMITS) {
                return Ok(at);
            }
            match scan_response(rest, &LIMITS) {
                Scan::Partial => {
                    self.seen = rest.len();
                    return Ok(at);
                }
                Scan::Invalid(error) => return Err(Breach::Declined(error.to_string())),
                Scan::Complete(head) if head.is_interim() => {
                    at += head.len as usize;
                    self.seen = 0;
                }
                Scan::Complete(head) => {
                    let fields = head.fields(rest).map(|field| (field.name, field.value));
                    handshake::check_answer(head.status, fields, key.as_bytes())
                        .map_err(|declined| Breach::Declined(declined.to_string()))?;
                    self.key = None;
                    return Ok(at + head.len as usize);
                }
            }
        }
    }

    /// Takes a message in, which `write` appends to what is to leave; returns its place.
    #[inline]
    pub(super) fn enter(&mut self, depth: u16, write: impl FnOnce(&mut Vec<u8>)) -> u16 {
        self.depth = depth;
        write(&mut self.outgoing);
        self.ends.push(self.outgoing.len());
        self.in_flight += 1;
        self.place(self.in_flight - 1)
    }

    /// Answers a ping.
    ///
    /// # Errors
    /// The server does not take what it asks for.
    pub(super) fn pong(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), Breach> {
        let before = self.outgoing.len();
        write(&mut self.outgoing);
        self.owed += self.outgoing.len() - before;
        if self.owed > OWED_BYTES {
            let why = "the server does not take the pongs that it asks for, a mebibyte of them";
            return Err(Breach::Malformed(why.to_owned()));
        }
        Ok(())
    }

    /// What is to leave.
    #[inline]
    pub(super) fn unsent(&self) -> &[u8] {
        &self.outgoing[self.sent..]
    }

    /// Takes note that the engine has accepted `bytes` of what is unsent.
    #[inline]
    pub(super) fn accepted(&mut self, bytes: usize) {
        self.sent += bytes;
        while self.ends.get(self.left).is_some_and(|&end| end <= self.sent) {
            self.left += 1;
        }
        if self.sent == self.outgoing.len() {
            self.outgoing.clear();
            self.outgoing.shrink_to(KEPT_BYTES);
            self.ends.clear();
            (self.sent, self.left, self.owed) = (0, 0, 0);
        }
    }

    /// The server ends the connection, which is answered in kind (RFC 6455 §5.5.1).
    pub(super) fn take_leave(&mut self, code: Option<u16>) {
        self.taken_leave = Some(code);
        self.say_farewell(code);
    }

    fn say_farewell(&mut self, code: Option<u16>) {
        if std::mem::replace(&mut self.has_said_farewell, true) {
            return;
        }
        let code = code.map(u16::to_be_bytes);
        let payload = code.as_ref().map_or(&[][..], |code| code);
        render::masked(Opcode::Close, payload, self.farewell, &mut self.outgoing);
    }

    /// The place of the oldest message in flight.
    pub(super) fn oldest_place(&self) -> Option<u16> {
        (self.in_flight > 0).then_some(self.first)
    }

    /// Looks at a part of an answer; the verdict comes with its end.
    #[inline]
    pub(super) fn inspect(
        &mut self,
        data: &Data<'_>,
        fault: Option<ErrorClass>,
        judge: &mut Judge,
    ) -> Option<Answer> {
        if data.is_first {
            self.inspection.begin(0, fault);
            self.is_inspecting = true;
        }
        // A server masks nothing, so its bytes are as they came.
        self.inspection.take(judge, data.payload.masked, data.is_last);
        data.is_last.then(|| self.inspection.conclude(judge))
    }

    /// The oldest message in flight has been answered.
    #[inline]
    pub(super) fn end_one(&mut self, answer: Answer) -> End {
        let is_premature = self.unaccepted() == self.in_flight;
        self.is_inspecting = false;
        self.first = self.place(1);
        self.in_flight -= 1;
        if is_premature { End::Premature(answer) } else { End::Answered(answer) }
    }

    /// The last so many in flight are not wholly accepted by the engine.
    fn unaccepted(&self) -> u16 {
        (self.ends.len() - self.left) as u16
    }

    /// The place of message number `i` in flight, the oldest being 0.
    #[inline]
    fn place(&self, i: u16) -> u16 {
        let at = self.first + i;
        if at >= self.depth { at - self.depth } else { at }
    }
}

impl Line for Channel {
    fn begin_anew(&mut self) {
        let mut outgoing = std::mem::take(&mut self.outgoing);
        outgoing.clear();
        *self = Self { outgoing, ..Self::default() };
    }

    #[inline]
    fn in_flight(&self) -> usize {
        self.in_flight as usize
    }

    #[inline]
    fn oldest(&mut self) -> Option<u16> {
        self.oldest_place()
    }

    #[inline]
    fn has_unsent(&self) -> bool {
        !self.outgoing.is_empty()
    }

    #[inline]
    fn is_closing(&self) -> bool {
        self.taken_leave.is_some()
    }

    fn is_greeting(&self) -> bool {
        self.is_opening()
    }

    fn last_words(&self) -> Option<String> {
        self.taken_leave.map(|code| match code {
            Some(code) => format!("the server sent a close frame with code {code}"),
            None => "the server sent a close frame without a code".to_owned(),
        })
    }

    fn finish(&mut self) {
        self.say_farewell(Some(close::NORMAL));
    }

    fn class_of(&self, place: u16, loss: Loss) -> ErrorClass {
        let i = (place + self.depth - self.first) % self.depth.max(1);
        let is_in_answer = i == 0 && self.is_inspecting;
        match loss {
            Loss::Of(class) => class,
            Loss::TimedOut if is_in_answer => ErrorClass::BodyTimeout,
            Loss::TimedOut => ErrorClass::HeadTimeout,
            Loss::Reset | Loss::SendReset if is_in_answer => ErrorClass::ResetInBody,
            Loss::SendReset => ErrorClass::SendReset,
            Loss::Reset if i >= self.in_flight - self.unaccepted() => ErrorClass::SendReset,
            Loss::Reset => ErrorClass::ResetBeforeHead,
        }
    }
}
