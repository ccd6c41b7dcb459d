//! HTTP/2 of the stub: each stream is a request, and so is each call of gRPC.
//!
//! Whatever a path asks for over HTTP/1.1 it asks for here. A call is given its message back, with every byte in a segment of its
//! own at `/trickle`, and in a frame for each byte at `/fragments`.

use assay_h2::frame::{MAX_31, write_block};
use assay_h2::hpack::write_field;
use assay_h2::{Connection, ConnectionError, Event, Limits, Role, Settings};
use assay_http::{Scan, scan_request};

use super::BODY_BYTES;
use super::frames::Stream;
use super::request::Request;
use crate::http2::request::{read, read_trailers};

/// The streams of one connection, as far as their requests are coming.
pub(super) struct Streams {
    pub(super) connection: Connection,
    /// Requests whose bodies have not come whole.
    incoming: Vec<Incoming>,
    /// Streams that are never to be answered.
    silent: Vec<u32>,
    /// The highest that was opened.
    highest: u32,
    /// The client opens no more.
    pub(super) is_last: bool,
}

/// A request whose body is coming.
struct Incoming {
    stream: Stream,
    asked: Asked,
    /// Bytes of body that have come.
    len: u64,
}

/// What is asked for.
enum Asked {
    /// To give this message back, in its frame.
    Call { path: Box<[u8]>, framed: Vec<u8> },
    /// What is programmed, whatever its body holds.
    Answer(Request),
}

impl Incoming {
    fn finish(self) -> Request {
        match self.asked {
            Asked::Call { path, framed } => Request::of_call(path, self.stream, framed.into()),
            Asked::Answer(request) => request.on_stream(self.stream),
        }
    }
}

/// What came on a connection.
pub(super) enum Heard {
    /// Nothing yet.
    More,
    /// Something that wants no answer.
    Passed,
    /// A request that is whole.
    Request(Request),
    /// The windows of answers change by so much: of one stream, or of all.
    Window(Option<u32>, i64),
    /// Nobody waits for the answer of this stream any more.
    GivenUp(u32),
    /// What the stub does not take.
    Refused,
}

impl Streams {
    pub(super) fn new() -> Self {
        let settings = Settings { initial_window: MAX_31, ..Settings::default() };
        Self {
            connection: Connection::new(Role::Server, &settings, MAX_31, Limits::DEFAULT),
            incoming: Vec::new(),
            silent: Vec::new(),
            highest: 0,
            is_last: false,
        }
    }

    /// Reads what comes next; with it, how many bytes are dealt with.
    pub(super) fn hear(&mut self, input: &[u8]) -> (usize, Heard) {
        match self.connection.read(input) {
            Ok(None) => (0, Heard::More),
            Ok(Some((used, event))) => (used, self.take(event).unwrap_or(Heard::Refused)),
            Err(_) => (input.len(), Heard::Refused),
        }
    }

    /// A request is never to be answered.
    pub(super) fn ignore(&mut self, stream: u32) {
        self.silent.push(stream);
    }

    /// Whether neither a request is coming nor one is ignored.
    pub(super) fn is_empty(&self) -> bool {
        self.incoming.is_empty() && self.silent.is_empty()
    }

    fn take(&mut self, event: Event<'_>) -> Result<Heard, ConnectionError> {
        Ok(match event {
            Event::Fields { stream, end_stream, block } => self.take_fields(stream, end_stream, &block)?,
            Event::Data { stream, data, counted, end_stream } => {
                self.connection.release(counted);
                self.take_data(stream, data, end_stream)
            }
            Event::Window { stream: 0, .. } => Heard::Window(None, 0),
            Event::Window { stream, increment } => self.widen(Some(stream), i64::from(increment)),
            Event::Settings { window_change } => self.widen(None, window_change),
            Event::Reset { stream, .. } => {
                self.incoming.retain(|coming| coming.stream.id != stream);
                self.silent.retain(|id| *id != stream);
                Heard::GivenUp(stream)
            }
            Event::GoAway { .. } => {
                self.is_last = true;
                Heard::Passed
            }
            Event::Nothing { .. } => Heard::Passed,
            Event::Spoilt { .. } => Heard::Refused,
        })
    }

    /// The head of a request, or what follows its body.
    fn take_fields(&mut self, id: u32, end_stream: bool, block: &[u8]) -> Result<Heard, ConnectionError> {
        if self.incoming.iter().any(|coming| coming.stream.id == id) {
            let trailers = read_trailers(&mut self.connection, block)?;
            let is_right = trailers.is_ok() && end_stream;
            return Ok(if is_right { self.end(id) } else { Heard::Refused });
        }
        let window = i64::from(self.connection.theirs().initial_window);
        let is_next = id % 2 == 1 && id > self.highest;
        self.highest = self.highest.max(id);
        let Ok(head) = read(&mut self.connection, block)? else { return Ok(Heard::Refused) };
        let Scan::Complete(request) = scan_request(&head.text, &assay_http::Limits::DEFAULT) else {
            return Ok(Heard::Refused);
        };
        if !is_next || head.is_too_large {
            return Ok(Heard::Refused);
        }
        if head.expects_continue && !end_stream {
            self.tell_to_go_on(id);
        }
        let asked = match head.call.is_call {
            true => Asked::Call { path: request.target.of(&head.text).into(), framed: Vec::new() },
            false => Asked::Answer(Request::of(&request, &head.text)),
        };
        self.incoming.push(Incoming { stream: Stream { id, window }, asked, len: 0 });
        Ok(if end_stream { self.end(id) } else { Heard::Passed })
    }

    /// Tells a client that it may send the body (RFC 9110 §10.1.1).
    fn tell_to_go_on(&mut self, id: u32) {
        let mut block = Vec::new();
        write_field(b":status", b"100", &mut block);
        write_block(id, &block, false, self.connection.out());
    }

    fn take_data(&mut self, id: u32, data: &[u8], end_stream: bool) -> Heard {
        // A stream that was given up may still be written to.
        let Some(coming) = self.incoming.iter_mut().find(|coming| coming.stream.id == id) else {
            return Heard::Passed;
        };
        coming.len += data.len() as u64;
        if coming.len > BODY_BYTES {
            return Heard::Refused;
        }
        if let Asked::Call { framed, .. } = &mut coming.asked {
            framed.extend_from_slice(data);
        }
        if end_stream { self.end(id) } else { Heard::Passed }
    }

    /// A request has come whole.
    fn end(&mut self, id: u32) -> Heard {
        match self.incoming.iter().position(|coming| coming.stream.id == id) {
            Some(at) => Heard::Request(self.incoming.remove(at).finish()),
            None => Heard::Passed,
        }
    }

    fn widen(&mut self, stream: Option<u32>, change: i64) -> Heard {
        let widened =
            self.incoming.iter_mut().filter(|coming| stream.is_none_or(|id| coming.stream.id == id));
        widened.for_each(|coming| coming.stream.window += change);
        Heard::Window(stream, change)
    }
}
