//! The protocol of one connection of HTTP/2, without I/O: bytes and time in, frames and decisions out (RFC 9113).
//!
//! What a request means is decided where that is decided for HTTP/1.1: its head is put into those words, and the head of the
//! answer is taken from them. Here are streams, windows and what a client may not do.

mod answering;
mod bodies;
mod call;
pub(crate) mod calls;
pub(crate) mod request;
mod stream;
#[cfg(test)]
mod tests;

use assay_h2::frame::{PREFACE, write_block, write_reset};
use assay_h2::{Code, Connection, ConnectionError, Event, Limits, Role, Settings};
use assay_http::RequestHead;
use assay_model::units::Nanos;

use crate::answer::Answer;
use crate::route::{self, AnswerPlan};
use crate::session::{Context, Expiry, Next, Step};
use crate::site::{Ready, STEP_BYTES, Site};
use request::Malformed;
use stream::{Incoming, Outgoing, Standing, Stream, Streams};

/// Bytes of a request's body that may come before the first of them is dealt with.
const STREAM_WINDOW: u32 = 64 << 10;
/// The window of all streams of a connection.
const CONNECTION_WINDOW: u32 = 1 << 20;
/// Bytes of a step that are left for a frame that an event causes: a prepared answer with its body, a reset, an acknowledgement.
const EVENT_BYTES: usize = 4 << 10;

/// The state of one connection.
pub(crate) struct Http2Session {
    connection: Connection,
    streams: Streams,
    /// When the connection has waited too long for what it waits for.
    pub(crate) deadline: Nanos,
    /// The last request that was answered at once: most are the same again.
    memory: Option<Known>,
    /// Something was asked or sent since the connection was idle.
    busy: bool,
    /// No more streams are taken.
    last: bool,
    lingering: bool,
    /// Answers are written here as for HTTP/1.1.
    scratch: Vec<u8>,
    table: ClientTable,
}

/// The table that the client keeps of our heads, which we never use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClientTable {
    /// A table as large as both sides assume.
    Usual,
    /// Smaller, and our next block has to say so.
    Reduced,
    /// Of no size, as was said.
    Emptied,
}

/// A change of the client's table to no size (RFC 7541 §6.3).
const EMPTIED: u8 = 0x20;

/// A request that was answered with what is rendered once and given often.
struct Known {
    version: u64,
    block: Box<[u8]>,
    ready: Ready,
}

/// Whether these bytes begin a connection of HTTP/2; `None` when that cannot be told yet.
#[inline]
pub(crate) fn is_begun_by(input: &[u8]) -> Option<bool> {
    let n = input.len().min(PREFACE.len());
    match input[..n] == PREFACE[..n] {
        true if n == PREFACE.len() => Some(true),
        true => None,
        false => Some(false),
    }
}

impl Http2Session {
    /// A connection whose client has begun it so.
    pub(crate) fn new(now: Nanos, site: &Site) -> Self {
        let settings = Settings {
            concurrent_streams: site.limits.streams,
            initial_window: STREAM_WINDOW,
            header_list_bytes: site.http_limits.head_bytes,
            ..Settings::default()
        };
        let head_bytes = site.http_limits.head_bytes as usize;
        let limits = Limits {
            block_bytes: head_bytes,
            list_bytes: head_bytes,
            idle_frames: site.limits.idle_frames,
            resets: site.limits.resets,
            ..Limits::DEFAULT
        };
        Self {
            connection: Connection::new(Role::Server, &settings, CONNECTION_WINDOW, limits),
            streams: Streams::default(),
            deadline: now + site.limits.head_time,
            memory: None,
            busy: false,
            last: false,
            lingering: false,
            scratch: Vec::new(),
            table: ClientTable::Usual,
        }
    }

    /// Deals with as much of `input` as it can and appends frames to the context's output, at most [`STEP_BYTES`].
    pub(crate) fn step(&mut self, input: &[u8], cx: &mut Context<'_>) -> Step {
        let (mut consumed, mut is_blocked) = (0, false);
        if self.lingering {
            return Step { consumed: input.len(), piece: None, next: Next::Receive };
        }
        self.flush(cx);
        while !is_blocked {
            if cx.out.len() + cx.site.answer_room + EVENT_BYTES > STEP_BYTES {
                is_blocked = true;
                break;
            }
            match self.connection.read(&input[consumed..]) {
                Ok(None) => break,
                Ok(Some((used, event))) => {
                    consumed += used;
                    if let Err(error) = self.take(event, cx) {
                        return self.refuse(&error, input.len(), cx);
                    }
                    self.flush(cx);
                }
                Err(error) => return self.refuse(&error, input.len(), cx),
            }
        }
        is_blocked |= self.send_bodies(cx);
        let next = self.next(is_blocked, cx);
        Step { consumed, piece: None, next }
    }

    /// Makes the streams under way the last ones.
    pub(crate) fn make_last(&mut self) {
        if !self.last {
            self.connection.go_away(self.streams.highest, Code::NoError);
        }
        self.last = true;
    }

    pub(crate) fn is_lingering(&self) -> bool {
        self.lingering
    }

    pub(crate) fn linger(&mut self, deadline: Nanos) {
        self.lingering = true;
        self.deadline = deadline;
    }

    /// Decides about a connection whose deadline has passed. `stuck` says that output is waiting for the peer.
    pub(crate) fn expire(&mut self, stuck: bool, cx: &mut Context<'_>) -> Expiry {
        if self.lingering {
            return if stuck { Expiry::Abort } else { Expiry::Close };
        }
        // Somebody opens no window for what was asked for, or sends no more of a body.
        if stuck || !self.streams.open.is_empty() {
            return Expiry::Abort;
        }
        self.connection.go_away(self.streams.highest, Code::NoError);
        self.flush(cx);
        Expiry::Refused
    }

    /// What the connection needs next.
    fn next(&mut self, is_blocked: bool, cx: &mut Context<'_>) -> Next {
        if is_blocked {
            self.deadline = cx.now + cx.site.limits.send_time;
            return Next::Continue;
        }
        if !self.streams.open.is_empty() {
            return Next::Receive;
        }
        if self.last {
            return Next::End { linger: true };
        }
        if std::mem::take(&mut self.busy) {
            self.deadline = cx.now + cx.site.limits.idle;
        }
        Next::Receive
    }

    /// Frames that the connection has written go out with the streams' own.
    #[inline]
    fn flush(&mut self, cx: &mut Context<'_>) {
        if !self.connection.is_flushed() {
            cx.out.append(self.connection.out());
        }
    }

    /// The connection breaks a rule or a limit and is told so.
    #[cold]
    fn refuse(&mut self, error: &ConnectionError, consumed: usize, cx: &mut Context<'_>) -> Step {
        cx.site.refused += 1;
        self.connection.go_away(self.streams.highest, error.code);
        self.flush(cx);
        self.streams.open.clear();
        self.lingering = true;
        Step { consumed, piece: None, next: Next::End { linger: true } }
    }

    #[inline]
    fn take(&mut self, event: Event<'_>, cx: &mut Context<'_>) -> Result<(), ConnectionError> {
        match event {
            Event::Fields { stream, end_stream, block } => self.take_fields(stream, end_stream, &block, cx),
            Event::Data { stream, data, counted, end_stream } => {
                self.take_data(stream, data, counted, end_stream, cx)
            }
            // A window that is opened renews no time: what leaves through it does.
            Event::Window { stream: 0, .. } => Ok(()),
            Event::Window { stream, increment } => self.widen(stream, increment, cx),
            Event::Settings { window_change } => {
                let usual = Settings::default().header_table_bytes;
                if self.table == ClientTable::Usual && self.connection.theirs().header_table_bytes < usual {
                    self.table = ClientTable::Reduced;
                }
                self.change_windows(window_change)
            }
            Event::Reset { stream, .. } => match self.streams.find(stream) {
                Standing::Idle => Err(broken("RST_STREAM on a stream that nobody opened")),
                Standing::Open(at) => {
                    self.close(at);
                    Ok(())
                }
                Standing::Ended | Standing::Skipped => Ok(()),
            },
            Event::Spoilt { stream, code } => {
                self.reset(stream, code, cx);
                Ok(())
            }
            Event::GoAway { .. } => {
                self.last = true;
                Ok(())
            }
            Event::Nothing { .. } => Ok(()),
        }
    }

    /// A request, or the trailers of one.
    #[inline]
    fn take_fields(
        &mut self,
        id: u32,
        end_stream: bool,
        block: &[u8],
        cx: &mut Context<'_>,
    ) -> Result<(), ConnectionError> {
        match self.streams.find(id) {
            Standing::Idle if id % 2 == 1 => {}
            Standing::Open(at) => return self.take_trailers(at, end_stream, block, cx),
            Standing::Ended => return Err(closed("HEADERS on a stream that has ended")),
            Standing::Idle | Standing::Skipped => {
                return Err(broken("a stream with an even number, or one below another that was opened"));
            }
        }
        self.streams.highest = id;
        self.busy = true;
        let version = self.connection.table_version();
        let is_refused = self.last || self.streams.open.len() >= cx.site.limits.streams as usize;
        if let Some(known) = &self.memory
            && end_stream
            && known.version == version
            && *known.block == *block
            && !is_refused
        {
            let ready = known.ready;
            cx.site.requests += 1;
            self.answer_ready(id, ready, cx);
            return Ok(());
        }
        let head = request::read(&mut self.connection, block)?;
        if is_refused {
            self.reset(id, Code::RefusedStream, cx);
            return Ok(());
        }
        match head {
            Err(Malformed) => self.reset(id, Code::ProtocolError, cx),
            Ok(head) if head.is_too_large => self.answer_refusal(id, Answer::HeadTooLarge, end_stream, cx),
            Ok(head) if head.call.is_call => self.begin_call(id, &head, end_stream, cx),
            Ok(head) if end_stream => {
                let ready = self.answer_whole(id, &head, cx);
                if let Some(ready) = ready.filter(|_| self.connection.table_version() == version) {
                    self.memory = Some(Known { version, block: block.into(), ready });
                }
            }
            Ok(head) => self.begin_body(id, head, cx),
        }
        Ok(())
    }

    fn take_trailers(
        &mut self,
        at: usize,
        end_stream: bool,
        block: &[u8],
        cx: &mut Context<'_>,
    ) -> Result<(), ConnectionError> {
        let trailers = request::read_trailers(&mut self.connection, block)?;
        let stream = &self.streams.open[at];
        match (trailers, &stream.incoming) {
            (_, None) => self.reset(stream.id, Code::StreamClosed, cx),
            (Ok(()), Some(_)) if end_stream => self.end_body(at, cx),
            _ => self.reset(stream.id, Code::ProtocolError, cx),
        }
        Ok(())
    }

    fn widen(&mut self, id: u32, increment: u32, cx: &mut Context<'_>) -> Result<(), ConnectionError> {
        match self.streams.find(id) {
            Standing::Idle => return Err(broken("WINDOW_UPDATE on a stream that nobody opened")),
            Standing::Ended | Standing::Skipped => {}
            Standing::Open(at) => {
                let stream = &mut self.streams.open[at];
                stream.window += i64::from(increment);
                if stream.window > i64::from(assay_h2::frame::MAX_31) {
                    self.reset(id, Code::FlowControlError, cx);
                }
            }
        }
        Ok(())
    }

    fn change_windows(&mut self, change: i64) -> Result<(), ConnectionError> {
        for stream in &mut self.streams.open {
            stream.window += change;
            if stream.window > i64::from(assay_h2::frame::MAX_31) {
                let why = assay_h2::Why::Rule("a stream's window is above 2^31-1");
                return Err(ConnectionError { code: Code::FlowControlError, why });
            }
        }
        Ok(())
    }

    /// Appends a head. Where the client has made its table smaller the first one says so (RFC 7541 §4.2).
    #[inline]
    fn write_head(&mut self, id: u32, block: &[u8], end_stream: bool, out: &mut Vec<u8>) {
        if self.table == ClientTable::Reduced {
            self.table = ClientTable::Emptied;
            return write_block(id, &[&[EMPTIED][..], block].concat(), end_stream, out);
        }
        write_block(id, block, end_stream, out);
    }

    fn open(&mut self, id: u32, incoming: Option<Incoming>, outgoing: Outgoing) {
        let window = i64::from(self.connection.theirs().initial_window);
        let at = self.streams.open.partition_point(|stream| stream.id < id);
        self.streams.open.insert(at, Stream { id, incoming, outgoing, window, held: 0 });
    }

    /// A stream was answered with its head, or with one frame behind it.
    #[inline]
    fn finish(&mut self, id: u32) {
        self.streams.note_ended(id);
        self.connection.answered();
    }

    /// Ends a stream out of turn.
    #[cold]
    fn reset(&mut self, id: u32, code: Code, cx: &mut Context<'_>) {
        write_reset(id, code.number(), cx.out);
        match self.streams.find(id) {
            Standing::Open(at) => drop(self.close(at)),
            Standing::Skipped => self.streams.note_ended(id),
            Standing::Ended | Standing::Idle => {}
        }
    }

    /// The stream at this place ends; what of its body was not given back counts as dealt with.
    fn close(&mut self, at: usize) -> Stream {
        let stream = self.streams.close(at);
        self.connection.release(stream.held);
        stream
    }
}

fn planned(request: &RequestHead, text: &[u8], site: &Site) -> AnswerPlan {
    route::plan(request.method, request.target_form, request.target.of(text), site.files)
}

fn broken(why: &'static str) -> ConnectionError {
    ConnectionError { code: Code::ProtocolError, why: assay_h2::Why::Rule(why) }
}

fn closed(why: &'static str) -> ConnectionError {
    ConnectionError { code: Code::StreamClosed, why: assay_h2::Why::Rule(why) }
}
