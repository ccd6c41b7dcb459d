//! Answers: those that are known in advance, and those that are written for HTTP/1.1 first.

use assay_h2::Code;
use assay_h2::frame::{Kind, flag, write_head, write_reset};
use assay_http::{Method, RequestHead, Scan, scan_request};

use super::request::Head;
use super::stream::{Incoming, Outgoing, Rest, Standing};
use super::{EVENT_BYTES, Http2Session, planned};
use crate::answer::Answer;
use crate::blocks;
use crate::route::AnswerPlan;
use crate::session::{Context, Phase, Session, Source};
use crate::site::Ready;

impl Http2Session {
    /// Answers a request without a body; returns the answer if it is one that is ready.
    pub(super) fn answer_whole(&mut self, id: u32, head: &Head, cx: &mut Context<'_>) -> Option<Ready> {
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
        self.answer_request(id, &request, &head.text, cx)
    }

    /// Answers a request that has been read to its end, and counts it; returns the answer if it is one that is ready.
    pub(super) fn answer_request(
        &mut self,
        id: u32,
        request: &RequestHead,
        text: &[u8],
        cx: &mut Context<'_>,
    ) -> Option<Ready> {
        let ready = match planned(request, text, cx.site) {
            _ if request.method == Method::Head => None,
            AnswerPlan::Answer(answer) => Some(Ready::Answer(answer)),
            AnswerPlan::Sized(len) => Some(Ready::Sized(len)),
            _ => None,
        };
        match ready {
            Some(ready) => {
                cx.site.requests += 1;
                self.answer_ready(id, ready, cx);
            }
            None => self.answer_text(id, request, text, cx),
        }
        ready
    }

    /// Gives an answer that is rendered once and given often.
    #[inline]
    pub(super) fn answer_ready(&mut self, id: u32, ready: Ready, cx: &mut Context<'_>) {
        let Ok((head, body)) = cx.site.block(ready) else {
            return self.reset(id, Code::InternalError, cx);
        };
        if let Ready::Sized(len) = ready
            && body.len() as u64 != len
        {
            self.write_head(id, head, false, cx.out);
            let rest = Some(Rest { source: Source::Pattern, file: None, offset: 0, left: len });
            return self.open(id, None, Outgoing { rest, ..Outgoing::default() });
        }
        let window = self.connection.send_window().min(i64::from(self.connection.theirs().initial_window));
        self.write_head(id, head, body.is_empty(), cx.out);
        if body.is_empty() {
            return self.finish(id);
        }
        if (body.len() as i64) <= window && body.len() <= EVENT_BYTES / 2 {
            write_head(Kind::Data, flag::END_STREAM, id, body.len(), cx.out);
            cx.out.extend_from_slice(body);
            self.connection.spend(body.len());
            return self.finish(id);
        }
        let outgoing = Outgoing { bytes: body.to_vec(), ..Outgoing::default() };
        self.open(id, None, outgoing);
    }

    /// Answers a request, and counts it, whose answer is written for HTTP/1.1 first: a file, or a head alone.
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
        match blocks::write_head(&scratch, &mut block) {
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
                self.write_head(id, &block, is_empty, cx.out);
                if is_empty { self.finish(id) } else { self.open(id, None, outgoing) }
            }
        }
        self.scratch = scratch;
    }

    /// Refuses a request; what may follow of it is not wanted, which a reset says behind the whole answer (RFC 9113 §8.1).
    #[cold]
    pub(super) fn answer_refusal(&mut self, id: u32, answer: Answer, end_stream: bool, cx: &mut Context<'_>) {
        cx.site.refused += 1;
        self.answer_ready(id, Ready::Answer(answer), cx);
        if end_stream {
            return;
        }
        match self.streams.find(id) {
            // A part of the answer waits for a window.
            Standing::Open(at) => self.streams.open[at].incoming = Some(Incoming::UNWANTED),
            _ => write_reset(id, Code::NoError.number(), cx.out),
        }
    }
}
