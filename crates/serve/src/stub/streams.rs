//! HTTP/2 of the stub: each stream is a request, and so is each call of gRPC.
//!
//! Whatever a path asks for over HTTP/1.1 it asks for here. A call is given its message back, with every byte in a segment of its
//! own at `/trickle`, and in a frame for each byte at `/fragments`.

use assay_h2::frame::MAX_31;
use assay_h2::{Connection, ConnectionError, Event, Limits, Role, Settings};
use assay_http::{Scan, scan_request};

use super::frames::Stream;
use super::request::Request;
use crate::http2::request::{read, read_trailers};

/// Longest message of a call that is taken, in its frame.
const MESSAGE_BYTES: usize = 16 << 20;

/// The streams of one connection, as far as their requests are coming.
pub(super) struct Streams {
    pub(super) connection: Connection,
    /// Calls whose messages have not come whole.
    calls: Vec<Incoming>,
    /// Streams that are never to be answered.
    silent: Vec<u32>,
    /// The highest that was opened.
    highest: u32,
    /// The client opens no more.
    pub(super) is_last: bool,
}

struct Incoming {
    stream: Stream,
    path: Box<[u8]>,
    framed: Vec<u8>,
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
            calls: Vec::new(),
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
        self.calls.is_empty() && self.silent.is_empty()
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
                self.calls.retain(|call| call.stream.id != stream);
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

    /// The head of a request, or what follows a message.
    fn take_fields(&mut self, id: u32, end_stream: bool, block: &[u8]) -> Result<Heard, ConnectionError> {
        if self.calls.iter().any(|call| call.stream.id == id) {
            let trailers = read_trailers(&mut self.connection, block)?;
            let is_right = trailers.is_ok() && end_stream;
            return Ok(if is_right { self.end_call(id) } else { Heard::Refused });
        }
        let window = i64::from(self.connection.theirs().initial_window);
        let is_next = id % 2 == 1 && id > self.highest;
        self.highest = self.highest.max(id);
        let Ok(head) = read(&mut self.connection, block)? else { return Ok(Heard::Refused) };
        let Scan::Complete(request) = scan_request(&head.text, &assay_http::Limits::DEFAULT) else {
            return Ok(Heard::Refused);
        };
        let stream = Stream { id, window };
        Ok(match head.call.is_call {
            _ if !is_next || head.is_too_large => Heard::Refused,
            true => {
                let path = request.target.of(&head.text).into();
                self.calls.push(Incoming { stream, path, framed: Vec::new() });
                if end_stream { self.end_call(id) } else { Heard::Passed }
            }
            // As over HTTP/1.1 no body is taken.
            false if end_stream => Heard::Request(Request::on_stream(&request, &head.text, stream)),
            false => Heard::Refused,
        })
    }

    fn take_data(&mut self, id: u32, data: &[u8], end_stream: bool) -> Heard {
        // A stream that was given up may still be written to.
        let Some(call) = self.calls.iter_mut().find(|call| call.stream.id == id) else {
            return Heard::Passed;
        };
        call.framed.extend_from_slice(data);
        match call.framed.len() {
            len if len > MESSAGE_BYTES => Heard::Refused,
            _ if end_stream => self.end_call(id),
            _ => Heard::Passed,
        }
    }

    /// The message of a call has come whole.
    fn end_call(&mut self, id: u32) -> Heard {
        let Some(at) = self.calls.iter().position(|call| call.stream.id == id) else { return Heard::Passed };
        let Incoming { stream, path, framed } = self.calls.remove(at);
        Heard::Request(Request::of_call(path, stream, framed.into()))
    }

    fn widen(&mut self, stream: Option<u32>, change: i64) -> Heard {
        let widened = self.calls.iter_mut().filter(|call| stream.is_none_or(|id| call.stream.id == id));
        widened.for_each(|call| call.stream.window += change);
        Heard::Window(stream, change)
    }
}
