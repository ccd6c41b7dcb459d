//! Calls of gRPC as they come and leave: each on its stream, with a head, a message and trailers.

use std::sync::LazyLock;

use assay_grpc::{Fault, Status, message};
use assay_h2::Code as ResetCode;
use assay_h2::frame::{Kind, write_block, write_head};
use assay_h2::hpack::write_field;
use assay_http::{Method, RequestHead, Scan, scan_request};

use super::call::{Call, status_of};
use super::request::Head;
use super::stream::{Incoming, Outgoing, Purpose};
use super::{EVENT_BYTES, Http2Session};
use crate::answer::Answer;
use crate::session::Context;

impl Http2Session {
    /// A call has begun; with `end_stream` nothing follows its head.
    pub(super) fn begin_call(&mut self, id: u32, head: &Head, end_stream: bool, cx: &mut Context<'_>) {
        let request = match scan_request(&head.text, &cx.site.http_limits) {
            Scan::Complete(request) => request,
            Scan::Partial => return self.reset(id, ResetCode::ProtocolError, cx),
            Scan::Invalid(error) => {
                return self.answer_refusal(id, Answer::refusal(error.status()), end_stream, cx);
            }
        };
        if request.method != Method::Post {
            return self.answer_refusal(id, Answer::PostOnly, end_stream, cx);
        }
        cx.site.requests += 1;
        let call = self.call(&request, head, cx);
        if end_stream {
            let status = call.answer().err().unwrap_or_else(|| status_of(Fault::Missing));
            self.write_head(id, &only_trailers(&status), true, cx.out);
            return self.finish(id);
        }
        let outgoing = Outgoing { is_open: true, ..Outgoing::default() };
        let purpose = Purpose::Call(Box::new(call));
        self.open(id, Some(Incoming { received: 0, length: head.length, purpose }), outgoing);
        self.deadline = cx.now + cx.site.limits.body_time;
    }

    fn call(&self, request: &RequestHead, head: &Head, cx: &Context<'_>) -> Call {
        let most = u32::try_from(cx.site.limits.message_bytes).unwrap_or(u32::MAX);
        Call::new(request.target.of(&head.text), head.call, most)
    }

    /// The message of the call at this place has come whole, or what was sent in its place.
    pub(super) fn answer_call(&mut self, at: usize, call: &Call, cx: &mut Context<'_>) {
        let stream = &self.streams.open[at];
        let (id, window) = (stream.id, stream.window.min(self.connection.send_window()));
        let framed = match call.answer() {
            Ok(framed) => framed,
            Err(status) => {
                self.write_head(id, &only_trailers(&status), true, cx.out);
                self.close(at);
                return self.connection.answered();
            }
        };
        self.write_head(id, head(), false, cx.out);
        if framed.len() as i64 > window || framed.len() > EVENT_BYTES / 2 {
            self.streams.open[at].outgoing =
                Outgoing { bytes: framed, trailers: trailers(), ..Outgoing::default() };
            return;
        }
        write_head(Kind::Data, 0, id, framed.len(), cx.out);
        cx.out.extend_from_slice(&framed);
        self.connection.spend(framed.len());
        write_block(id, trailers(), true, cx.out);
        self.close(at);
        self.connection.answered();
    }
}

/// The head of an answer.
pub(crate) fn head() -> &'static [u8] {
    static BLOCK: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let mut block = Vec::new();
        write_field(b":status", b"200", &mut block);
        write_field(b"content-type", message::MEDIA_TYPE.as_bytes(), &mut block);
        block
    });
    &BLOCK
}

/// What follows a message.
pub(crate) fn trailers() -> &'static [u8] {
    static BLOCK: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let mut block = Vec::new();
        write_field(b"grpc-status", b"0", &mut block);
        block
    });
    &BLOCK
}

/// An answer without a message: head and trailers in one.
pub(crate) fn only_trailers(status: &Status) -> Vec<u8> {
    let mut block = head().to_vec();
    write_field(b"grpc-status", status.code.number().to_string().as_bytes(), &mut block);
    write_field(b"grpc-message", status.encoded_message().as_bytes(), &mut block);
    block
}
