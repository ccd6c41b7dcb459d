//! WebSocket: messages leave one behind the other, and their answers come in the same order (RFC 6455).
//!
//! Before the first comes the opening handshake, which is no request: only when it has been answered, a connection counts as
//! made. Pings are answered as they come.

mod channel;
mod message;
mod opening;
#[cfg(test)]
mod tests;

use assay_model::load::ErrorClass;
use assay_model::template::Numbers;
use assay_model::units::Nanos;
use assay_model::workload::MessageKind;
use assay_ws::{Event, Kind, Mask, Opcode, render};
use chacha20::ChaCha8Rng;
use rand::{Rng, SeedableRng};

use crate::LoadError;
use crate::inspection::Answer;
use crate::plan::LoadPlan;
use crate::protocol::{Breach, Parcel, Protocol, Received};
use crate::slot::Flight;
use crate::traffic::Traffic;
pub(crate) use channel::Channel;
use message::Message;
use opening::Opening;

/// The random stream of masks and keys, far from those of mix and arrivals.
const STREAM: u64 = 1 << 32;

/// WebSocket, as one thread speaks it.
pub(crate) struct WebSocket {
    opening: Opening,
    messages: Vec<Message>,
    kind: Kind,
    /// Messages in flight on one connection at most.
    depth: usize,
    /// A new mask for each frame (RFC 6455 §5.3), and a new key for each connection.
    random: ChaCha8Rng,
}

impl Protocol for WebSocket {
    type Line = Channel;

    const MALFORMED: ErrorClass = ErrorClass::BadFrame;

    fn new(plan: &LoadPlan) -> Result<Self, LoadError> {
        let messages = plan.requests.iter().map(Message::new).collect::<Result<_, _>>()?;
        let mut random = ChaCha8Rng::seed_from_u64(plan.seed);
        random.set_stream(STREAM);
        let kind = match plan.websocket {
            Some(MessageKind::Binary) => Kind::Binary,
            Some(MessageKind::Text) | None => Kind::Text,
        };
        Ok(Self { opening: Opening::new(plan)?, messages, kind, depth: plan.pipeline as usize, random })
    }

    fn depth(&self) -> usize {
        self.depth
    }

    fn numbers(&self, kind: usize) -> Numbers {
        self.messages[kind].numbers().clone()
    }

    fn open(&mut self, line: &mut Channel) {
        let mut key = [0; 16];
        self.random.fill_bytes(&mut key);
        let farewell = self.mask();
        line.greet(&self.opening, key, farewell);
    }

    /// Nothing, before all is accepted that was issued. A closed loop waits until half of the messages are answered, as in a
    /// pipeline of HTTP/1.1.
    #[inline]
    fn room(&self, line: &Channel, is_open: bool) -> usize {
        let takes_below = if is_open { self.depth } else { self.depth / 2 + 1 };
        if line.takes_messages() && line.count() < takes_below { self.depth - line.count() } else { 0 }
    }

    #[inline]
    fn issue(&mut self, line: &mut Channel, row: &mut [Flight], flight: Flight, traffic: &Traffic) -> u16 {
        let mask = self.mask();
        let message = &self.messages[flight.kind as usize];
        let place = line.enter(row.len() as u16, |out| {
            message.write(traffic.draw_of(&flight), self.kind.opcode(), mask, out);
        });
        row[place as usize] = flight;
        place
    }

    #[inline]
    fn parcel<'a>(&'a mut self, line: &'a mut Channel, _: &'a [Flight], _: &'a Traffic) -> Parcel<'a> {
        Parcel::of(line.unsent())
    }

    #[inline]
    fn accepted(&mut self, line: &mut Channel, _: &[Flight], _: &Traffic, bytes: usize) {
        line.accepted(bytes);
    }

    fn receive(
        &mut self,
        line: &mut Channel,
        row: &mut [Flight],
        traffic: &mut Traffic,
        input: &[u8],
        now: Nanos,
    ) -> Result<Received, Breach> {
        let mut used = if line.is_opening() { line.read_answer(input)? } else { 0 };
        while !line.is_opening() {
            let broken = |fault: assay_ws::Fault| Breach::Malformed(fault.to_string());
            let step = line.reader.next(&input[used..]).map_err(broken)?;
            used += step.consumed;
            match step.event {
                None if step.consumed == 0 || used == input.len() => break,
                None | Some(Event::Pong(_)) => {}
                Some(Event::Ping(payload)) => {
                    let mask = self.mask();
                    line.pong(|out| {
                        render::header(Opcode::Pong, true, Some(mask), payload.len() as u64, out);
                        let start = out.len();
                        payload.append_to(out);
                        mask.apply(&mut out[start..]);
                    })?;
                }
                Some(Event::Close(code)) => line.take_leave(code),
                Some(Event::Data(data)) => {
                    let Some(place) = line.oldest_place() else {
                        return Err(Breach::Malformed("a message came that none of ours asked for".into()));
                    };
                    let flight = &mut row[place as usize];
                    if flight.first_byte == Nanos::ZERO {
                        flight.first_byte = now;
                    }
                    let fault = (data.kind != self.kind).then_some(ErrorClass::WrongKind);
                    if let Some(answer) = line.inspect(&data, fault, traffic.judge(flight)) {
                        return Ok(Received::Ended { used, place, end: line.end_one(answer) });
                    }
                }
            }
        }
        Ok(Received::More(used))
    }

    fn end(&mut self, _: &mut Channel, _: &[Flight], _: &mut Traffic) -> Option<(u16, Answer)> {
        None
    }
}

impl WebSocket {
    #[inline]
    fn mask(&mut self) -> Mask {
        Mask::new(self.random.next_u32().to_ne_bytes())
    }
}
