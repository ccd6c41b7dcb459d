//! HTTP/2: many requests in flight on a connection, each a stream of its own, answered in any order (RFC 9113).
//!
//! Flow control never limits what is received: windows are as large as they can be, and are opened again long before they are
//! used up. A stream that the server says it has not looked at is given back and sent once more on a new connection.

mod call;
mod given_up;
mod head;
mod request;
mod stream;
#[cfg(test)]
mod tests;

use assay_engine::Security;
use assay_h2::frame::{FRAME_BYTES, Kind, MAX_31, flag, write_block, write_head};
use assay_h2::hpack::Encoder;
use assay_h2::{Connection, Limits, Role, Settings};
use assay_model::load::ErrorClass;
use assay_model::template::Numbers;
use assay_model::units::Nanos;

use crate::LoadError;
use crate::inspection::Answer;
use crate::plan::LoadPlan;
use crate::protocol::{Breach, Line, Loss, Parcel, Protocol, Received};
use crate::slot::Flight;
use crate::traffic::Traffic;
use request::Request;
use stream::{Scene, Streams};

/// Streams at most before the server has said how many it takes: the least that RFC 9113 §6.5.2 recommends it to take.
const UNTOLD_STREAMS: usize = 100;

/// Bytes that wait for the engine beyond which no more of a body is written.
const QUEUED_BYTES: usize = assay_engine::SEND_QUEUE_BYTES;

/// What is said of a server that speaks something else.
const ANSWERS_IN_HTTP1: &str = "the server answers in HTTP/1.1, and HTTP/2 was asked for";
const ANSWERS_IN_TLS: &str = "the server answers in TLS, and none was asked for: write https:// in the URL";

/// How an alert of TLS begins (RFC 8446 §5.1).
const TLS_ALERT: &[u8] = &[21, 3];

/// HTTP/2, as one thread speaks it.
pub(crate) struct Http2 {
    requests: Vec<Request>,
    /// Streams of one connection at most.
    depth: usize,
    /// Whether requests are calls of gRPC.
    calls: bool,
    /// What we take: nothing pushed, and bodies as fast as they come.
    settings: Settings,
}

/// A connection over which HTTP/2 is spoken.
#[derive(Default)]
pub(crate) struct Multiplex {
    /// Absent before it is established.
    wire: Option<Box<Wire>>,
}

/// A connection in both directions, and its streams.
struct Wire {
    connection: Connection,
    encoder: Encoder,
    streams: Streams,
    /// Heads as they are sent, by kind, each with the version of the table that it was made with.
    blocks: Vec<(u64, Vec<u8>)>,
    /// Bytes of what waits to be sent that the engine has accepted.
    accepted: usize,
    /// Bodies that are not wholly written.
    uploads: Vec<Upload>,
}

/// The rest of a request's body.
struct Upload {
    stream: u32,
    body: Vec<u8>,
    at: usize,
}

impl Protocol for Http2 {
    type Line = Multiplex;

    fn new(plan: &LoadPlan) -> Result<Self, LoadError> {
        let scheme = if plan.tls.is_some() { "https" } else { "http" };
        let read = |kind| Request::new(kind, scheme, &plan.host, plan.grpc);
        let requests = plan.requests.iter().map(read).collect::<Result<_, _>>()?;
        let settings = Settings { enable_push: false, initial_window: MAX_31, ..Settings::default() };
        Ok(Self { requests, depth: plan.pipeline as usize, calls: plan.grpc, settings })
    }

    fn depth(&self) -> usize {
        self.depth
    }

    fn numbers(&self, kind: usize) -> Numbers {
        self.requests[kind].numbers.clone()
    }

    /// RFC 9113 §3.2: over TLS it must have been agreed on.
    fn accepts(security: Option<&Security>) -> bool {
        security.is_none_or(|security| security.parameters.protocol == Some("h2"))
    }

    fn open(&mut self, line: &mut Multiplex) {
        line.wire = Some(Box::new(Wire {
            connection: Connection::new(Role::Client, &self.settings, MAX_31, Limits::DEFAULT),
            encoder: Encoder::default(),
            streams: Streams::new(self.depth, self.calls),
            blocks: vec![(u64::MAX, Vec::new()); self.requests.len()],
            accepted: 0,
            uploads: Vec::new(),
        }));
    }

    #[inline]
    fn room(&self, line: &Multiplex, _: bool) -> usize {
        line.wire.as_ref().map_or(0, |wire| wire.room(self.depth))
    }

    fn limit(&self, line: &Multiplex) -> usize {
        line.wire.as_ref().map_or(self.depth, |wire| wire.limit(self.depth))
    }

    #[inline]
    fn issue(&mut self, line: &mut Multiplex, row: &mut [Flight], flight: Flight, traffic: &Traffic) -> u16 {
        let Some(wire) = &mut line.wire else { return 0 };
        let request = &self.requests[flight.kind as usize];
        let window = wire.connection.theirs().initial_window;
        let (stream, place) = wire.streams.open(window, !request.has_body());
        row[place as usize] = flight;
        let draw = traffic.draw_of(&flight);
        wire.write_head(stream, flight.kind, request, draw);
        if request.has_body() {
            let mut body = Vec::new();
            request.write_body(draw, &mut body);
            wire.uploads.push(Upload { stream, body, at: 0 });
            wire.write_bodies();
        }
        place
    }

    #[inline]
    fn parcel<'a>(&'a mut self, line: &'a mut Multiplex, _: &'a [Flight], _: &'a Traffic) -> Parcel<'a> {
        let Some(wire) = &mut line.wire else { return Parcel::of(&[]) };
        Parcel::of(&wire.connection.out()[wire.accepted..])
    }

    #[inline]
    fn accepted(&mut self, line: &mut Multiplex, _: &[Flight], _: &Traffic, bytes: usize) {
        let Some(wire) = &mut line.wire else { return };
        wire.accepted += bytes;
        if wire.accepted == wire.connection.out().len() {
            wire.connection.out().clear();
            wire.accepted = 0;
            wire.write_bodies();
        }
    }

    #[inline]
    fn receive(
        &mut self,
        line: &mut Multiplex,
        row: &mut [Flight],
        traffic: &mut Traffic,
        input: &[u8],
        now: Nanos,
    ) -> Result<Received, Breach> {
        let Some(wire) = &mut line.wire else { return Ok(Received::More(input.len())) };
        if let Some((place, end)) = wire.streams.next_ended() {
            return Ok(Received::Ended { used: 0, place, end });
        }
        // A refusal in TLS is shorter than the head of a frame.
        if !wire.connection.has_begun() && input.starts_with(TLS_ALERT) {
            return Err(Breach::Malformed(ANSWERS_IN_TLS.to_owned()));
        }
        let mut used = 0;
        loop {
            match wire.connection.read(&input[used..]) {
                Ok(None) => return Ok(Received::More(used)),
                Ok(Some((bytes, event))) => {
                    used += bytes;
                    let Wire { connection, encoder, streams, .. } = &mut **wire;
                    let mut scene = Scene { connection, encoder, row, traffic, now };
                    streams.take(event, &mut scene).map_err(|error| Breach::Malformed(error.to_string()))?;
                    wire.write_bodies();
                    if let Some((place, end)) = wire.streams.next_ended() {
                        return Ok(Received::Ended { used, place, end });
                    }
                }
                Err(_) if !wire.connection.has_begun() && input.starts_with(b"HTTP/1.") => {
                    return Err(Breach::Malformed(ANSWERS_IN_HTTP1.to_owned()));
                }
                Err(error) => return Err(Breach::Malformed(error.to_string())),
            }
        }
    }

    fn end(&mut self, _: &mut Multiplex, _: &[Flight], _: &mut Traffic) -> Option<(u16, Answer)> {
        None
    }
}

impl Wire {
    /// How many more streams may be opened. Nothing is, before all is accepted that was written.
    #[inline]
    fn room(&self, depth: usize) -> usize {
        if self.has_unsent() || self.streams.is_closing() {
            return 0;
        }
        self.limit(depth).saturating_sub(self.streams.len())
    }

    /// Streams that may be open at once.
    #[inline]
    fn limit(&self, depth: usize) -> usize {
        let taken = match self.connection.has_begun() {
            true => self.connection.theirs().concurrent_streams as usize,
            false => UNTOLD_STREAMS,
        };
        depth.min(taken)
    }

    #[inline]
    fn has_unsent(&self) -> bool {
        !self.connection.is_flushed()
    }

    /// Writes the head of a request. One that is the same every time is made once for each state of the table, which changes
    /// no more when all kinds have been sent.
    #[inline]
    fn write_head(&mut self, stream: u32, kind: u32, request: &Request, draw: assay_model::template::Draw) {
        let (version, block) = &mut self.blocks[kind as usize];
        if !request.has_fixed_head || *version != self.encoder.version() {
            block.clear();
            let before = self.encoder.version();
            request.write_head(draw, &mut self.encoder, block);
            // One that has changed the table is written otherwise the next time.
            *version = if self.encoder.version() == before { before } else { u64::MAX };
        }
        write_block(stream, block, !request.has_body(), self.connection.out());
    }

    /// Writes as much of the bodies as the windows allow.
    #[inline]
    fn write_bodies(&mut self) {
        if self.uploads.is_empty() {
            return;
        }
        let Self { connection, streams, uploads, .. } = self;
        uploads.retain_mut(|upload| {
            let Some(stream) = streams.get(upload.stream) else { return false };
            while connection.out().len() < QUEUED_BYTES {
                let rest = &upload.body[upload.at..];
                let window = connection.send_window().min(stream.send_window).max(0) as usize;
                let n = rest.len().min(window).min(FRAME_BYTES);
                if n == 0 && !rest.is_empty() {
                    return true;
                }
                let is_last = n == rest.len();
                let end = if is_last { flag::END_STREAM } else { 0 };
                write_head(Kind::Data, end, upload.stream, n, connection.out());
                connection.out().extend_from_slice(&rest[..n]);
                connection.spend(n);
                stream.send_window -= n as i64;
                upload.at += n;
                if is_last {
                    stream.is_sent = true;
                    return false;
                }
            }
            true
        });
    }
}

impl Line for Multiplex {
    fn begin_anew(&mut self) {
        self.wire = None;
    }

    #[inline]
    fn in_flight(&self) -> usize {
        self.wire.as_ref().map_or(0, |wire| wire.streams.in_flight())
    }

    #[inline]
    fn oldest(&mut self) -> Option<u16> {
        self.wire.as_ref()?.streams.oldest()
    }

    #[inline]
    fn has_unsent(&self) -> bool {
        self.wire.as_ref().is_some_and(|wire| wire.has_unsent())
    }

    #[inline]
    fn is_closing(&self) -> bool {
        self.wire.as_ref().is_some_and(|wire| wire.streams.is_closing())
    }

    fn finish(&mut self) {
        if let Some(wire) = &mut self.wire {
            wire.connection.go_away(0, assay_h2::Code::NoError);
        }
    }

    #[inline]
    fn has_news(&self) -> bool {
        self.wire.as_ref().is_some_and(|wire| wire.streams.has_ended())
    }

    fn cancel(&mut self, place: u16) -> bool {
        self.wire.as_mut().is_some_and(|wire| wire.streams.cancel(place, &mut wire.connection))
    }

    fn class_of(&self, place: u16, loss: Loss) -> ErrorClass {
        let stream = self.wire.as_ref().and_then(|wire| wire.streams.at(place));
        let is_in_body = stream.is_some_and(|stream| stream.is_in_body());
        let is_sent = stream.is_none_or(|stream| stream.is_sent) && !self.has_unsent();
        match loss {
            Loss::Of(class) => class,
            Loss::TimedOut if is_in_body => ErrorClass::BodyTimeout,
            Loss::TimedOut if stream.is_some_and(|stream| !stream.is_sent) => ErrorClass::SendTimeout,
            Loss::TimedOut => ErrorClass::HeadTimeout,
            Loss::Reset | Loss::SendReset if is_in_body => ErrorClass::ResetInBody,
            Loss::Reset if is_sent => ErrorClass::ResetBeforeHead,
            Loss::Reset | Loss::SendReset => ErrorClass::SendReset,
        }
    }
}
