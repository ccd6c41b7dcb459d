//! HTTP/1.1: requests leave one behind the other, and their answers come in the same order (RFC 9112).

mod reader;
mod request;

use assay_model::load::ErrorClass;
use assay_model::template::{Numbers, TextPart};
use assay_model::units::Nanos;

use crate::LoadError;
use crate::inspection::Answer;
use crate::plan::LoadPlan;
use crate::protocol::{Breach, End, Line, Loss, Parcel, Protocol, Received};
use crate::slot::Flight;
use crate::traffic::Traffic;
use reader::{Advance, Malformed, Reader};
use request::{Fixed, Rendered, TRAIN_REQUESTS};

/// Bytes of requests with placeholders that are written for one send at most. A longer one is sent in several parts.
const WRITTEN_BYTES: usize = assay_engine::SEND_QUEUE_BYTES;

/// HTTP/1.1, as one thread speaks it.
pub(crate) struct Http1 {
    requests: Vec<Rendered>,
    /// Requests in flight on one connection at most.
    depth: usize,
    /// Whether any kind has placeholders, so that requests must be written one by one.
    varies: bool,
    written: Vec<u8>,
}

/// A connection over which HTTP/1.1 is spoken. Its places are a ring.
#[derive(Default)]
pub(crate) struct Pipeline {
    reader: Reader,
    /// Places of the ring; known from the first request on.
    depth: u16,
    /// The place of the oldest request in flight.
    first: u16,
    /// Requests in flight, the unaccepted included.
    in_flight: u16,
    /// The last so many of them are not wholly accepted by the engine.
    unaccepted: u16,
    /// Bytes of the first unaccepted one that are.
    accepted_bytes: u32,
    /// Kinds (by number modulo 64) of which a response was parsed strictly on this connection.
    proven: u64,
}

impl Protocol for Http1 {
    type Line = Pipeline;

    const MAY_BAR: bool = false;

    fn new(plan: &LoadPlan) -> Result<Self, LoadError> {
        let render = |kind| Rendered::new(kind, &plan.host);
        let requests: Vec<Rendered> = plan.requests.iter().map(render).collect::<Result<_, _>>()?;
        let varies = requests.iter().any(|rendered| matches!(rendered, Rendered::Varying { .. }));
        Ok(Self { requests, depth: plan.pipeline as usize, varies, written: Vec::new() })
    }

    fn depth(&self) -> usize {
        self.depth
    }

    fn numbers(&self, kind: usize) -> Numbers {
        self.requests[kind].numbers()
    }

    /// Nothing, before all is accepted that was issued. A closed loop waits until half of the pipeline is answered: filled up
    /// after every answer, it would send one request at a time to a server that answers one at a time, and neither side would
    /// profit from pipelining.
    #[inline]
    fn room(&self, line: &Pipeline, is_open: bool) -> usize {
        let takes_below = if is_open { self.depth } else { self.depth / 2 + 1 };
        let takes = line.unaccepted == 0 && (line.in_flight as usize) < takes_below;
        if takes { self.depth - line.in_flight as usize } else { 0 }
    }

    #[inline]
    fn issue(&mut self, line: &mut Pipeline, row: &mut [Flight], flight: Flight, _: &Traffic) -> u16 {
        line.depth = row.len() as u16;
        let place = line.place(line.in_flight);
        row[place as usize] = flight;
        line.in_flight += 1;
        line.unaccepted += 1;
        place
    }

    #[inline]
    fn parcel<'a>(
        &'a mut self,
        line: &'a mut Pipeline,
        row: &'a [Flight],
        traffic: &'a Traffic,
    ) -> Parcel<'a> {
        if self.varies { Parcel::of(self.write(line, row, traffic)) } else { self.fixed_parcel(line, row) }
    }

    #[inline]
    fn accepted(&mut self, line: &mut Pipeline, row: &[Flight], traffic: &Traffic, mut bytes: usize) {
        while bytes > 0 && line.unaccepted > 0 {
            let flight = &row[line.place(line.in_flight - line.unaccepted) as usize];
            let request = &self.requests[flight.kind as usize];
            let missing = request.len(traffic.draw_of(flight), flight.is_last) - line.accepted_bytes as usize;
            if bytes < missing {
                line.accepted_bytes += bytes as u32;
                return;
            }
            bytes -= missing;
            line.unaccepted -= 1;
            line.accepted_bytes = 0;
        }
    }

    fn unleft(&self, line: &Pipeline, row: &[Flight], traffic: &Traffic, held: u64) -> usize {
        let mut held = held.saturating_sub(line.accepted_bytes.into());
        let mut unleft = line.unaccepted;
        while held > 0 && unleft < line.in_flight {
            unleft += 1;
            let flight = &row[line.place(line.in_flight - unleft) as usize];
            let request = &self.requests[flight.kind as usize];
            held = held.saturating_sub(request.len(traffic.draw_of(flight), flight.is_last) as u64);
        }
        unleft.into()
    }

    #[inline]
    fn receive(
        &mut self,
        line: &mut Pipeline,
        row: &mut [Flight],
        traffic: &mut Traffic,
        input: &[u8],
        now: Nanos,
    ) -> Result<Received, Breach> {
        if line.in_flight == 0 {
            return Err(unasked(input));
        }
        let flight = &mut row[line.first as usize];
        if flight.first_byte == Nanos::ZERO {
            flight.first_byte = now;
        }
        let bit = kind_bit(flight.kind);
        let advance = line.reader.advance(traffic.judge(flight), line.proven & bit != 0, input);
        match advance.map_err(|error| Breach::Malformed(error.to_string()))? {
            Advance::More(used) => Ok(Received::More(used)),
            Advance::Done { used, .. } if line.in_flight == 1 && used < input.len() => {
                Err(Breach::Malformed(Malformed::Trailing.to_string()))
            }
            Advance::Done { used, answer, keeps_alive } => {
                line.proven |= if answer.verdict.is_ok() { bit } else { 0 };
                let (place, is_premature) = (line.first, line.unaccepted == line.in_flight);
                line.pop();
                let end = match is_premature {
                    _ if !keeps_alive => End::Last(answer),
                    true => End::Premature(answer),
                    false => End::Answered(answer),
                };
                Ok(Received::Ended { used, place, end })
            }
        }
    }

    fn end(&mut self, line: &mut Pipeline, row: &[Flight], traffic: &mut Traffic) -> Option<(u16, Answer)> {
        if line.in_flight == 0 {
            return None;
        }
        let place = line.first;
        let answer = line.reader.end(traffic.judge(&row[place as usize]))?;
        line.pop();
        Some((place, answer))
    }
}

impl Http1 {
    /// What is unaccepted, written anew, as far as there is room.
    fn write(&mut self, line: &Pipeline, row: &[Flight], traffic: &Traffic) -> &[u8] {
        self.written.clear();
        let mut out = TextPart::new(line.accepted_bytes as usize, WRITTEN_BYTES, &mut self.written);
        for i in line.in_flight - line.unaccepted..line.in_flight {
            let flight = &row[line.place(i) as usize];
            self.requests[flight.kind as usize].write(traffic.draw_of(flight), flight.is_last, &mut out);
            if out.is_full() {
                break;
            }
        }
        &self.written
    }

    /// The parcel when every request is the same every time: nothing has to be written.
    #[inline]
    fn fixed_parcel(&self, line: &Pipeline, row: &[Flight]) -> Parcel<'_> {
        let mut parcel = Parcel::of(&[]);
        let mut i = line.in_flight - line.unaccepted;
        while i < line.in_flight && !parcel.is_full() {
            let flight = &row[line.place(i) as usize];
            let Some(fixed) = self.fixed(flight.kind) else { break };
            let begun = parcel.is_empty() && line.accepted_bytes > 0;
            let (part, requests) = if begun {
                (&fixed.bytes(flight.is_last)[line.accepted_bytes as usize..], 1)
            } else if flight.is_last {
                (fixed.bytes(true), 1)
            } else {
                fixed.several(line.run_length(row, i))
            };
            parcel.push(part);
            i += requests as u16;
        }
        parcel
    }

    /// The bytes of a kind without placeholders.
    #[inline]
    fn fixed(&self, kind: u32) -> Option<&Fixed> {
        match &self.requests[kind as usize] {
            Rendered::Fixed(fixed) => Some(fixed),
            Rendered::Varying { .. } => None,
        }
    }
}

impl Pipeline {
    /// The place of flight number `i`, the oldest being 0.
    #[inline]
    fn place(&self, i: u16) -> u16 {
        let at = self.first + i;
        if at >= self.depth { at - self.depth } else { at }
    }

    /// The oldest flight has ended.
    #[inline]
    fn pop(&mut self) {
        self.first = self.place(1);
        self.in_flight -= 1;
        self.unaccepted = self.unaccepted.min(self.in_flight);
    }

    /// How many flights from number `i` on have the same bytes, as far as a train is long.
    #[inline]
    fn run_length(&self, row: &[Flight], i: u16) -> usize {
        let kind = row[self.place(i) as usize].kind;
        let same = |&j: &u16| {
            let flight = &row[self.place(j) as usize];
            flight.kind == kind && !flight.is_last
        };
        (i..self.in_flight).take(TRAIN_REQUESTS).take_while(same).count()
    }
}

impl Line for Pipeline {
    fn begin_anew(&mut self) {
        let mut reader = std::mem::take(&mut self.reader);
        reader.reset();
        *self = Self { reader, ..Self::default() };
    }

    #[inline]
    fn in_flight(&self) -> usize {
        self.in_flight as usize
    }

    #[inline]
    fn oldest(&mut self) -> Option<u16> {
        (self.in_flight > 0).then_some(self.first)
    }

    #[inline]
    fn has_unsent(&self) -> bool {
        self.unaccepted > 0
    }

    fn give_up_unleft(&mut self, requests: usize) {
        self.unaccepted = self.unaccepted.max(requests as u16);
    }

    #[inline]
    fn has_news(&self) -> bool {
        self.reader.has_ended()
    }

    #[inline]
    fn skip(&mut self) -> Option<u64> {
        self.reader.skip()
    }

    #[inline]
    fn is_skipping(&self) -> bool {
        self.reader.is_skipping()
    }

    fn skipped(&mut self) {
        self.reader.skipped();
    }

    fn class_of(&self, place: u16, loss: Loss) -> ErrorClass {
        let i = (place + self.depth - self.first) % self.depth.max(1);
        let is_in_body = i == 0 && self.reader.is_in_body();
        match loss {
            Loss::Of(class) => class,
            Loss::TimedOut if is_in_body => ErrorClass::BodyTimeout,
            Loss::TimedOut if i >= self.in_flight - self.unaccepted => ErrorClass::SendTimeout,
            Loss::TimedOut => ErrorClass::HeadTimeout,
            Loss::Reset | Loss::SendReset if is_in_body => ErrorClass::ResetInBody,
            Loss::SendReset => ErrorClass::SendReset,
            Loss::Reset if i >= self.in_flight - self.unaccepted => ErrorClass::SendReset,
            Loss::Reset => ErrorClass::ResetBeforeHead,
        }
    }
}

/// What bytes are that came on a connection with nothing in flight: a server may say, unasked, that nothing came for too long (RFC
/// 9110 §15.5.9), and ends the connection then.
#[cold]
fn unasked(input: &[u8]) -> Breach {
    let tells_of_idleness =
        |version: &[u8]| input.strip_prefix(version).is_some_and(|rest| rest.starts_with(b" 408 "));
    if tells_of_idleness(b"HTTP/1.1") || tells_of_idleness(b"HTTP/1.0") {
        return Breach::Idle;
    }
    Breach::Malformed(Malformed::Unsolicited.to_string())
}

/// Kinds beyond 64 share bits: then a first response may be recognised by its template without having been parsed once on
/// this very connection.
fn kind_bit(kind: u32) -> u64 {
    1 << (kind % 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Due;

    #[test]
    fn flights_leave_in_the_order_they_came() {
        let due = Due::new(Nanos(1), Nanos(2));
        let (mut line, mut row) = (Pipeline { depth: 3, ..Pipeline::default() }, [Flight::default(); 3]);
        let (mut pushed, mut popped) = (0u32, 0u32);
        for step in 0..100 {
            if line.in_flight < 3 {
                row[line.place(line.in_flight) as usize] = Flight::new(due, Nanos(3), (pushed, 0), false);
                line.in_flight += 1;
                pushed += 1;
            }
            if step % 3 > 0 {
                assert_eq!(row[line.first as usize].kind, popped);
                line.pop();
                popped += 1;
            }
        }
        assert!(popped > 40);
    }
}
