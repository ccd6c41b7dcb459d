//! Bodies, both ways, as windows and limits allow.

use assay_h2::frame::{write_reset, write_window_update};
use assay_h2::hpack::write_field;
use assay_h2::{Code, ConnectionError};
use assay_http::{Framing, Scan, scan_request};

use super::request::Head;
use super::stream::{Incoming, Outgoing, Purpose, Sent, Standing, Stream};
use super::{Http2Session, STREAM_WINDOW, broken, planned};
use crate::answer::Answer;
use crate::blocks;
use crate::connection::Persistence;
use crate::route::AnswerPlan;
use crate::session::Context;
use crate::site::STEP_BYTES;

/// Room in a step below which nothing more of a body is written: for the heads of two frames, trailers, a WINDOW_UPDATE and some
/// bytes.
const LEAST_ROOM: usize = 128;

impl Http2Session {
    /// A request with a body has begun.
    pub(super) fn begin_body(&mut self, id: u32, head: Head, cx: &mut Context<'_>) {
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
            write_field(b":status", b"100", &mut block);
            self.write_head(id, &block, false, cx.out);
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
    pub(super) fn announce_echo(&mut self, id: u32, length: Option<u64>, cx: &mut Context<'_>) {
        let framing = length.map_or(Framing::Chunked, Framing::Length);
        let mut text = Vec::new();
        let fields = [("Content-Type", "application/octet-stream")];
        let assumed = Persistence::Assumed;
        let mut block = Vec::new();
        if cx.site.append_head(200, &fields, framing, assumed, &mut text).is_ok() {
            blocks::write_head(&text, &mut block);
        }
        self.write_head(id, &block, false, cx.out);
    }

    /// A part of a request's body.
    pub(super) fn take_data(
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
        let is_wanted = !matches!(incoming.purpose, Purpose::PassOver);
        if is_wanted && incoming.received > cx.site.limits.body_bytes {
            self.connection.release(counted);
            self.refuse_body(at, cx);
            return Ok(());
        }
        self.deadline = cx.site.limits.grant(self.deadline, data.len(), cx.now);
        match &mut incoming.purpose {
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
            // Its window stays as it is: nothing more is to come.
            Purpose::PassOver => self.connection.release(counted),
            Purpose::Call(call) => {
                call.take(data);
                // Nothing follows the end of a stream, so its window may stay as it is.
                if end_stream { self.connection.release(counted) } else { self.release(at, counted, cx) }
            }
        }
        if end_stream {
            self.end_body(at, cx);
        }
        Ok(())
    }

    /// Takes note that `counted` bytes of a stream's body are dealt with.
    pub(super) fn release(&mut self, at: usize, counted: u32, cx: &mut Context<'_>) {
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
    pub(super) fn refuse_body(&mut self, at: usize, cx: &mut Context<'_>) {
        let stream = self.close(at);
        match stream.incoming.map(|incoming| incoming.purpose) {
            Some(Purpose::Drop(_)) => {
                self.answer_refusal(stream.id, Answer::ContentTooLarge, false, cx);
                self.keep_window(stream.id, stream.window);
            }
            _ => {
                cx.site.refused += 1;
                write_reset(stream.id, Code::EnhanceYourCalm.number(), cx.out);
            }
        }
    }

    /// The body of a request has come whole.
    pub(super) fn end_body(&mut self, at: usize, cx: &mut Context<'_>) {
        let stream = &mut self.streams.open[at];
        let Some(incoming) = stream.incoming.take() else { return };
        if incoming.length.is_some_and(|length| length != incoming.received) {
            let id = stream.id;
            return self.reset(id, Code::ProtocolError, cx);
        }
        match incoming.purpose {
            Purpose::Echo => stream.outgoing.is_open = false,
            Purpose::Call(call) => self.answer_call(at, &call, cx),
            Purpose::PassOver => {}
            Purpose::Drop(text) => {
                let Stream { id, window, .. } = self.close(at);
                if let Scan::Complete(request) = scan_request(&text, &cx.site.http_limits) {
                    self.answer_request(id, &request, &text, cx);
                    self.keep_window(id, window);
                }
            }
        }
    }

    /// What the client has opened while its request came holds for the answer, if that is still under way (RFC 9113 §6.9).
    fn keep_window(&mut self, id: u32, window: i64) {
        if let Standing::Open(at) = self.streams.find(id) {
            self.streams.open[at].window = window;
        }
    }

    /// Sends what the windows allow, a frame of each stream in turn; says whether more could be sent if there was room.
    pub(super) fn send_bodies(&mut self, cx: &mut Context<'_>) -> bool {
        let mut idle = 0;
        while !self.streams.open.is_empty() && idle < self.streams.open.len() {
            let room = STEP_BYTES.saturating_sub(cx.out.len());
            if room < LEAST_ROOM {
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
}

/// Whether the client has sent more than its stream's window.
fn stream_overflows(stream: &Stream) -> bool {
    stream.outgoing.ready() > u64::from(STREAM_WINDOW)
}
