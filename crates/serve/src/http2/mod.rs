//! The protocol of one connection of HTTP/2, without I/O: bytes and time in, frames and decisions out (RFC 9113).
//!
//! What a request means is decided where that is decided for HTTP/1.1: its head is put into those words, and the head of the
//! answer is taken from them. Here are streams, windows and what a client may not do.

pub(crate) mod answers;
mod request;
mod stream;
#[cfg(test)]
mod tests;

use assay_h2::frame::{HEAD_BYTES, PREFACE, write_block, write_reset, write_window_update};
use assay_h2::{Code, Connection, ConnectionError, Event, Limits, Role, Settings};
use assay_http::{RequestHead, Scan, scan_request};
use assay_model::units::Nanos;

use crate::answer::Answer;
use crate::route::{self, AnswerPlan};
use crate::session::{Context, Expiry, Next, Phase, Session, Step};
use crate::site::{STEP_BYTES, Site};
use request::{Head, Malformed};
use stream::{Incoming, Outgoing, Purpose, Rest, Sent, Standing, Stream, Streams};

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
}

/// A request that was answered with what is known in advance.
struct Known {
    version: u64,
    block: Box<[u8]>,
    answer: Answer,
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
            Event::Window { stream: 0, .. } => {
                self.deadline = cx.now + cx.site.limits.send_time;
                Ok(())
            }
            Event::Window { stream, increment } => self.widen(stream, increment, cx),
            Event::Settings { window_change } => self.change_windows(window_change),
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
        if let Some(known) = &self.memory
            && end_stream
            && known.version == version
            && *known.block == *block
            && !self.last
        {
            let answer = known.answer;
            cx.site.requests += 1;
            self.answer_known(id, answer, cx);
            return Ok(());
        }
        let head = request::read(&mut self.connection, block)?;
        if self.last || self.streams.open.len() >= cx.site.limits.streams as usize {
            self.reset(id, Code::RefusedStream, cx);
            return Ok(());
        }
        match head {
            Err(Malformed) => self.reset(id, Code::ProtocolError, cx),
            Ok(head) if head.is_too_large => self.answer_refusal(id, Answer::HeadTooLarge, end_stream, cx),
            Ok(head) if end_stream => {
                let known = self.answer_whole(id, &head, cx);
                if let Some(answer) = known.filter(|_| self.connection.table_version() == version) {
                    self.memory = Some(Known { version, block: block.into(), answer });
                }
            }
            Ok(head) => self.begin_body(id, head, cx),
        }
        Ok(())
    }

    /// Answers a request without a body; returns the answer if it is one that is known in advance.
    fn answer_whole(&mut self, id: u32, head: &Head, cx: &mut Context<'_>) -> Option<Answer> {
        if head.length.is_some_and(|length| length > 0) {
            self.reset(id, Code::ProtocolError, cx);
            return None;
        }
        let request = match scan_request(&head.text, &cx.site.http_limits) {
            Scan::Complete(request) => request,
            Scan::Partial => {
                self.reset(id, Code::ProtocolError, cx);
                return None;
            }
            Scan::Invalid(error) => {
                self.answer_refusal(id, Answer::refusal(error.status()), true, cx);
                return None;
            }
        };
        match planned(&request, &head.text, cx.site) {
            AnswerPlan::Answer(answer) if request.method != assay_http::Method::Head => {
                cx.site.requests += 1;
                self.answer_known(id, answer, cx);
                Some(answer)
            }
            _ => {
                self.answer_text(id, &request, &head.text, cx);
                None
            }
        }
    }

    /// Answers what is known in advance.
    #[inline]
    fn answer_known(&mut self, id: u32, answer: Answer, cx: &mut Context<'_>) {
        let Site { blocks, answers, .. } = &mut *cx.site;
        let (head, body) = blocks.get(answer, answers);
        let window = self.connection.send_window().min(i64::from(self.connection.theirs().initial_window));
        write_block(id, head, body.is_empty(), cx.out);
        if body.is_empty() {
            return self.finish(id);
        }
        if (body.len() as i64) <= window && body.len() <= EVENT_BYTES / 2 {
            use assay_h2::frame::{Kind, flag, write_head};
            write_head(Kind::Data, flag::END_STREAM, id, body.len(), cx.out);
            cx.out.extend_from_slice(body);
            self.connection.spend(body.len());
            return self.finish(id);
        }
        let outgoing = Outgoing { bytes: body.to_vec(), ..Outgoing::default() };
        self.open(id, None, outgoing);
    }

    /// Answers a request, and counts it, whose answer is written for HTTP/1.1 first: a file, a length of the pattern, the head of either.
    fn answer_text(&mut self, id: u32, request: &RequestHead, text: &[u8], cx: &mut Context<'_>) {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        let mut inner = Session::new(cx.now, cx.site);
        let file = {
            let mut inside =
                Context { now: cx.now, site: cx.site, out: &mut scratch, find: &mut *cx.find, kept: cx.kept };
            inner.begin(request, text, &mut inside);
            inside.kept.take()
        };
        let mut block = Vec::new();
        match answers::write_head(&scratch, &mut block) {
            None => self.reset(id, Code::InternalError, cx),
            Some(head) => {
                let rest = match inner.phase {
                    Phase::Sending(sending) => {
                        let (source, offset, left) = sending.rest();
                        Some(Rest { source, file, offset, left })
                    }
                    _ => None,
                };
                let bytes = scratch[head.len as usize..].to_vec();
                let outgoing = Outgoing { bytes, rest, ..Outgoing::default() };
                let is_empty = outgoing.ready() == 0;
                // A head is no longer than what an event may cause, but for a redirect that repeats its target.
                write_block(id, &block, is_empty, cx.out);
                if is_empty { self.finish(id) } else { self.open(id, None, outgoing) }
            }
        }
        self.scratch = scratch;
    }

    /// Refuses a request; what may follow of it is not wanted.
    #[cold]
    fn answer_refusal(&mut self, id: u32, answer: Answer, end_stream: bool, cx: &mut Context<'_>) {
        cx.site.refused += 1;
        self.answer_known(id, answer, cx);
        if !end_stream {
            write_reset(id, Code::NoError.number(), cx.out);
            if let Standing::Open(at) = self.streams.find(id) {
                self.close(at);
            }
        }
    }

    /// A request with a body has begun.
    fn begin_body(&mut self, id: u32, head: Head, cx: &mut Context<'_>) {
        let request = match scan_request(&head.text, &cx.site.http_limits) {
            Scan::Complete(request) => request,
            Scan::Partial => return self.reset(id, Code::ProtocolError, cx),
            Scan::Invalid(error) => {
                return self.answer_refusal(id, Answer::refusal(error.status()), false, cx);
            }
        };
        if head.length.is_some_and(|length| length > cx.site.limits.body_bytes) {
            return self.answer_refusal(id, Answer::ContentTooLarge, false, cx);
        }
        let plan = planned(&request, &head.text, cx.site);
        // A body has no meaning there (RFC 9110 §9.3.1), as over HTTP/1.1.
        if plan == AnswerPlan::File {
            return self.answer_refusal(id, Answer::BadRequest, false, cx);
        }
        if head.expects_continue {
            let mut block = Vec::new();
            assay_h2::hpack::write_field(b":status", b"100", &mut block);
            write_block(id, &block, false, cx.out);
        }
        let is_echo = plan == AnswerPlan::Echo;
        let purpose = if is_echo { Purpose::Echo } else { Purpose::Drop(head.text) };
        if is_echo {
            cx.site.requests += 1;
            self.announce_echo(id, head.length, cx);
        }
        let outgoing = Outgoing { is_open: true, ..Outgoing::default() };
        self.open(id, Some(Incoming { received: 0, length: head.length, purpose }), outgoing);
        self.deadline = cx.now + cx.site.limits.body_time;
    }

    /// The head of an echo, which has the length of its request if that was told.
    fn announce_echo(&mut self, id: u32, length: Option<u64>, cx: &mut Context<'_>) {
        let framing = length.map_or(assay_http::Framing::Chunked, assay_http::Framing::Length);
        let mut text = Vec::new();
        let fields = [("Content-Type", "application/octet-stream")];
        let assumed = crate::connection::Persistence::Assumed;
        let mut block = Vec::new();
        if cx.site.append_head(200, &fields, framing, assumed, &mut text).is_ok() {
            answers::write_head(&text, &mut block);
        }
        write_block(id, &block, false, cx.out);
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

    /// A part of a request's body.
    fn take_data(
        &mut self,
        id: u32,
        data: &[u8],
        counted: u32,
        end_stream: bool,
        cx: &mut Context<'_>,
    ) -> Result<(), ConnectionError> {
        let at = match self.streams.find(id) {
            Standing::Open(at) => at,
            Standing::Idle => return Err(broken("DATA on a stream that nobody opened")),
            Standing::Ended | Standing::Skipped => {
                self.connection.release(counted);
                self.reset(id, Code::StreamClosed, cx);
                return Ok(());
            }
        };
        let stream = &mut self.streams.open[at];
        let Some(incoming) = &mut stream.incoming else {
            self.connection.release(counted);
            self.reset(id, Code::StreamClosed, cx);
            return Ok(());
        };
        incoming.received += data.len() as u64;
        if incoming.length.is_some_and(|length| incoming.received > length) {
            self.connection.release(counted);
            self.reset(id, Code::ProtocolError, cx);
            return Ok(());
        }
        if incoming.received > cx.site.limits.body_bytes {
            self.connection.release(counted);
            self.refuse_body(at, cx);
            return Ok(());
        }
        self.deadline = cx.now + cx.site.limits.body_time;
        match incoming.purpose {
            Purpose::Echo => {
                stream.outgoing.bytes.extend_from_slice(data);
                // What was padding is dealt with; the rest when it has been given back.
                let padding = counted - data.len() as u32;
                stream.held += data.len() as u32;
                self.release(at, padding, cx);
                if stream_overflows(&self.streams.open[at]) {
                    self.reset(id, Code::FlowControlError, cx);
                    return Ok(());
                }
            }
            Purpose::Drop(_) => self.release(at, counted, cx),
        }
        if end_stream {
            self.end_body(at, cx);
        }
        Ok(())
    }

    /// So many bytes of a stream's body are dealt with.
    fn release(&mut self, at: usize, counted: u32, cx: &mut Context<'_>) {
        if counted == 0 {
            return;
        }
        self.connection.release(counted);
        let stream = &self.streams.open[at];
        if stream.incoming.is_some() {
            write_window_update(stream.id, counted, cx.out);
        }
    }

    /// A body that is too long: half an echo cannot become a refusal.
    #[cold]
    fn refuse_body(&mut self, at: usize, cx: &mut Context<'_>) {
        let stream = self.close(at);
        match stream.incoming.map(|incoming| incoming.purpose) {
            Some(Purpose::Drop(_)) => self.answer_refusal(stream.id, Answer::ContentTooLarge, false, cx),
            _ => {
                cx.site.refused += 1;
                write_reset(stream.id, Code::EnhanceYourCalm.number(), cx.out);
            }
        }
    }

    /// The body of a request has come whole.
    fn end_body(&mut self, at: usize, cx: &mut Context<'_>) {
        let stream = &mut self.streams.open[at];
        let Some(incoming) = stream.incoming.take() else { return };
        if incoming.length.is_some_and(|length| length != incoming.received) {
            let id = stream.id;
            return self.reset(id, Code::ProtocolError, cx);
        }
        match incoming.purpose {
            Purpose::Echo => stream.outgoing.is_open = false,
            Purpose::Drop(text) => {
                let id = self.close(at).id;
                if let Scan::Complete(request) = scan_request(&text, &cx.site.http_limits) {
                    self.answer_text(id, &request, &text, cx);
                }
            }
        }
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
                self.deadline = cx.now + cx.site.limits.send_time;
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

    /// Sends what the windows allow, a frame of each stream in turn; says whether more could be sent if there was room.
    fn send_bodies(&mut self, cx: &mut Context<'_>) -> bool {
        let mut idle = 0;
        while !self.streams.open.is_empty() && idle < self.streams.open.len() {
            let room = STEP_BYTES.saturating_sub(cx.out.len());
            if room < HEAD_BYTES + 13 {
                return true;
            }
            let at = self.streams.turn % self.streams.open.len();
            let stream = &mut self.streams.open[at];
            match stream.send(&mut self.connection, &cx.site.pattern, room - 13, cx.out) {
                Sent::Some(0) => {
                    idle += 1;
                    self.streams.turn = at + 1;
                    continue;
                }
                Sent::Some(n) => {
                    let given_back = stream.held.min(n as u32);
                    stream.held -= given_back;
                    self.release(at, given_back, cx);
                }
                Sent::All => {
                    let id = stream.id;
                    if stream.incoming.is_some() {
                        write_reset(id, Code::NoError.number(), cx.out);
                    }
                    self.close(at);
                    self.connection.answered();
                }
                Sent::Broken => {
                    let id = stream.id;
                    self.reset(id, Code::InternalError, cx);
                }
            }
            (idle, self.busy) = (0, true);
            self.streams.turn = at + 1;
            self.deadline = cx.now + cx.site.limits.send_time;
        }
        self.flush(cx);
        false
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

/// Whether the client has sent more than its stream's window.
fn stream_overflows(stream: &Stream) -> bool {
    stream.outgoing.ready() > u64::from(STREAM_WINDOW)
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
