//! The protocol of one connection, without I/O: bytes and time in, responses and decisions out (RFC 9112).
//!
//! Whoever owns the connection calls [`Session::step`] with everything received and not yet consumed, whenever
//! bytes arrived or the output has drained, and obeys [`Step::next`].

mod sending;
mod socket;
#[cfg(test)]
mod tests;
mod upload;

use std::cell::Cell;
use std::io;

use assay_http::{Framing, KnownField, Method, RequestHead, Scan, scan_request, worth_rescan};
use assay_model::units::Nanos;
use assay_ws::close;

use sending::Sending;
pub(crate) use sending::{Piece, Source};
use socket::Socket;
use upload::{Upload, append_sum};

use crate::answer::Answer;
use crate::coding::Accepted;
use crate::connection::Persistence;
use crate::content::Content;
use crate::files::Lookup;
use crate::route::{self, AnswerPlan};
use crate::site::{STEP_BYTES, Site};
use crate::validators::{Conditions, Found};

/// The state of one connection.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) phase: Phase,
    /// When the connection has waited too long for what it waits for.
    pub(crate) deadline: Nanos,
    /// The server is stopping: the response under way is the last.
    pub(crate) last: bool,
}

/// What the connection is busy with.
#[derive(Debug)]
pub(crate) enum Phase {
    /// Between requests, or inside a head of which `seen` bytes were looked at in vain.
    Head { seen: u32 },
    /// Reading the body of a request.
    Upload(Upload),
    /// Sending a body that is not in the output buffer.
    Sending(Sending),
    /// Giving back what is said in a WebSocket.
    Socket(Box<Socket>),
    /// The last response is out: dropping what still arrives until the peer closes.
    Lingering,
}

/// What one step came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// Bytes of the input that are dealt with.
    pub(crate) consumed: usize,
    /// What to send behind the output buffer. The two together are at most [`STEP_BYTES`] long, unless the piece is one
    /// that the kernel moves.
    pub(crate) piece: Option<Piece>,
    pub(crate) next: Next,
}

/// What the connection needs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// More bytes.
    Receive,
    /// Another step as soon as the output has left.
    Continue,
    /// To be closed once the output has left.
    End {
        /// The peer may still be sending and must be listened to, lest its unread bytes reset the connection before
        /// it has read the response (RFC 9112 §9.6).
        linger: bool,
    },
}

/// What a step works with.
pub(crate) struct Context<'c> {
    /// The time at which the bytes arrived.
    pub(crate) now: Nanos,
    pub(crate) site: &'c mut Site,
    /// Responses are appended here; the caller empties it when it has sent it.
    pub(crate) out: &'c mut Vec<u8>,
    /// Finds the file that is wanted, and keeps it in `kept` for the pieces to come.
    pub(crate) find: &'c mut dyn FnMut(&Wanted<'_>) -> io::Result<Lookup<Found>>,
    /// The bytes of the file that was found last.
    pub(crate) kept: &'c Cell<Option<Content>>,
}

/// A file as a request asks for it.
pub(crate) struct Wanted<'i> {
    pub(crate) target: &'i [u8],
    pub(crate) accepted: Accepted,
    pub(crate) conditions: Conditions<'i>,
}

impl<'i> Wanted<'i> {
    fn of(head: &RequestHead, input: &'i [u8]) -> Self {
        Self {
            target: head.target.of(input),
            accepted: Accepted::of(head.all_known(input, KnownField::AcceptEncoding)),
            conditions: Conditions::of(head, input),
        }
    }
}

/// What a request wants of the form of its response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reply {
    pub(crate) head_only: bool,
    pub(crate) persistence: Persistence,
}

/// What came of a connection whose time is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expiry {
    /// Nothing was owed to the peer: close.
    Close,
    /// The output holds a refusal: send it, then linger.
    Refused,
    /// The peer does not take what it asked for: reset.
    Abort,
}

/// Progress within a step; `next` ends the step.
pub(crate) struct Turn {
    pub(crate) consumed: usize,
    pub(crate) piece: Option<Piece>,
    pub(crate) next: Option<Next>,
}

impl Turn {
    #[inline]
    pub(crate) fn go_on(consumed: usize) -> Self {
        Self { consumed, piece: None, next: None }
    }

    #[inline]
    pub(crate) fn stop(consumed: usize, next: Next) -> Self {
        Self { consumed, piece: None, next: Some(next) }
    }

    /// The turn with `consumed` bytes dealt with in all.
    #[inline]
    pub(crate) fn after(self, consumed: usize) -> Self {
        Self { consumed, ..self }
    }
}

impl Session {
    /// A connection accepted at `now`.
    pub(crate) fn new(now: Nanos, site: &Site) -> Self {
        Self { phase: Phase::Head { seen: 0 }, deadline: now + site.limits.idle, last: false }
    }

    /// Deals with as much of `input` as it can and appends responses to the context's output. `input` is all that was
    /// received and not consumed; it may be empty.
    #[inline]
    pub(crate) fn step(&mut self, input: &[u8], cx: &mut Context<'_>) -> Step {
        let mut consumed = 0;
        let mut requests_left = cx.site.limits.pipeline.max(1);
        loop {
            let rest = &input[consumed..];
            let turn = match &self.phase {
                Phase::Head { .. } if requests_left == 0 && !rest.is_empty() => Turn::stop(0, Next::Continue),
                Phase::Head { seen } => {
                    requests_left = requests_left.saturating_sub(1);
                    self.read_head(*seen, rest, cx)
                }
                Phase::Upload(_) => self.read_body(rest, cx),
                Phase::Sending(_) => self.send_piece(!rest.is_empty(), cx),
                Phase::Socket(_) => self.talk(rest, cx),
                Phase::Lingering => Turn::stop(rest.len(), Next::Receive),
            };
            consumed += turn.consumed;
            if let Some(next) = turn.next {
                if next == Next::Continue {
                    self.deadline = cx.now + cx.site.limits.send_time;
                }
                return Step { consumed, piece: turn.piece, next };
            }
        }
    }

    /// Makes the response under way the last one; the next step ends an idle connection.
    pub(crate) fn make_last(&mut self) {
        self.last = true;
    }

    /// Whether the last response is out.
    pub(crate) fn is_lingering(&self) -> bool {
        matches!(self.phase, Phase::Lingering)
    }

    /// Whether a body is being sent.
    pub(crate) fn is_sending(&self) -> bool {
        matches!(self.phase, Phase::Sending(_))
    }

    /// Listens for no more requests; waits until `deadline` for the peer to close.
    pub(crate) fn linger(&mut self, deadline: Nanos) {
        self.phase = Phase::Lingering;
        self.deadline = deadline;
    }

    /// Decides about a connection whose deadline has passed. `stuck` says that output is waiting for the peer.
    pub(crate) fn expire(&mut self, stuck: bool, cx: &mut Context<'_>) -> Expiry {
        match &self.phase {
            _ if stuck => Expiry::Abort,
            Phase::Sending(_) => Expiry::Abort,
            Phase::Upload(upload) if upload.has_answered() => Expiry::Abort,
            Phase::Head { seen: 0 } | Phase::Lingering => Expiry::Close,
            Phase::Head { .. } | Phase::Upload(_) => {
                self.refuse(Answer::RequestTimeout, false, cx);
                Expiry::Refused
            }
            Phase::Socket(_) => {
                self.say_farewell(Some(close::GOING_AWAY), true, cx);
                Expiry::Refused
            }
        }
    }

    #[inline]
    fn read_head(&mut self, seen: u32, input: &[u8], cx: &mut Context<'_>) -> Turn {
        if input.is_empty() {
            return self.rest(cx);
        }
        if cx.out.len() + cx.site.answer_room > STEP_BYTES {
            return Turn::stop(0, Next::Continue);
        }
        // A view holds less than 4 GiB: `assay_engine::RECEIVE_VIEW_BYTES`.
        let partial = Phase::Head { seen: input.len() as u32 };
        if seen > 0 && !worth_rescan(input, seen as usize, &cx.site.http_limits) {
            self.phase = partial;
            return Turn::stop(0, Next::Receive);
        }
        match scan_request(input, &cx.site.http_limits) {
            Scan::Complete(head) => self.begin(&head, input, cx),
            Scan::Partial => {
                if seen == 0 {
                    self.deadline = cx.now + cx.site.limits.head_time;
                }
                self.phase = partial;
                Turn::stop(0, Next::Receive)
            }
            Scan::Invalid(error) => {
                self.refuse(Answer::refusal(error.status()), false, cx).after(input.len())
            }
        }
    }

    /// Nothing has arrived of another request.
    #[inline]
    fn rest(&mut self, cx: &Context<'_>) -> Turn {
        if self.last {
            self.phase = Phase::Lingering;
            return Turn::stop(0, Next::End { linger: false });
        }
        self.deadline = cx.now + cx.site.limits.idle;
        Turn::stop(0, Next::Receive)
    }

    /// Answers a request whose head has come, or begins to read its body.
    #[inline]
    pub(crate) fn begin(&mut self, head: &RequestHead, input: &[u8], cx: &mut Context<'_>) -> Turn {
        cx.site.requests += 1;
        let persistence = if self.last { Persistence::Close } else { Persistence::wanted(head) };
        let reply = Reply { head_only: head.method == Method::Head, persistence };
        let target = head.target.of(input);
        let plan = route::plan(head.method, head.target_form, target, cx.site.files);
        let consumed = head.len as usize;
        let more = input.len() > consumed;
        let turn = match (head.framing(), plan) {
            (Framing::None | Framing::Length(0), AnswerPlan::File) => {
                self.answer_file(&Wanted::of(head, input), reply, more, cx)
            }
            (Framing::None | Framing::Length(0), AnswerPlan::Socket) => {
                self.upgrade(head, input, reply, more, cx)
            }
            (Framing::None | Framing::Length(0), plan) => self.carry_out(plan, reply, more, cx),
            (framing, plan) => self.begin_upload(head.expects_continue, framing, plan, reply, cx),
        };
        turn.after(consumed)
    }

    /// Answers a request that has been read to its end. `more` says whether input is left behind it.
    #[inline]
    pub(crate) fn carry_out(
        &mut self,
        plan: AnswerPlan,
        reply: Reply,
        more: bool,
        cx: &mut Context<'_>,
    ) -> Turn {
        match plan {
            AnswerPlan::Answer(answer) => {
                cx.site.answers.append(answer, reply.head_only, reply.persistence, cx.out);
                self.finish(reply.persistence, more)
            }
            AnswerPlan::Sized(len) => self.answer_sized(len, reply, more, cx),
            AnswerPlan::Sum => match append_sum(0, 0, reply.persistence, cx) {
                Ok(()) => self.finish(reply.persistence, more),
                Err(_) => self.fail(cx),
            },
            // An echo of nothing. Files and sockets need the head and are answered by `begin`.
            AnswerPlan::Echo | AnswerPlan::File | AnswerPlan::Socket => self.answer_sized(0, reply, more, cx),
        }
    }

    /// The response is out: on to the next request, or to the end.
    #[inline]
    pub(crate) fn finish(&mut self, persistence: Persistence, more: bool) -> Turn {
        if persistence == Persistence::Close {
            self.phase = Phase::Lingering;
            // A client that did not ask for the end may have sent more that has not arrived yet.
            return Turn::stop(0, Next::End { linger: more || self.last });
        }
        self.phase = Phase::Head { seen: 0 };
        Turn::go_on(0)
    }

    /// Appends a refusal, after which nothing of the peer is believed any more.
    #[cold]
    pub(crate) fn refuse(&mut self, answer: Answer, head_only: bool, cx: &mut Context<'_>) -> Turn {
        cx.site.refused += 1;
        cx.site.answers.append(answer, head_only, Persistence::Close, cx.out);
        self.phase = Phase::Lingering;
        Turn::stop(0, Next::End { linger: true })
    }

    /// A head could not be rendered, which is a defect; the peer is told so.
    #[cold]
    pub(crate) fn fail(&mut self, cx: &mut Context<'_>) -> Turn {
        self.refuse(Answer::InternalError, false, cx)
    }
}
