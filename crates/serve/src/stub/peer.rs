//! One connection: the responses that wait to leave, in the order in which they do.

use std::collections::VecDeque;

use assay_engine::Conn;
use assay_model::units::Nanos;

use super::reply::Reply;
use super::shape::Bytes;
use super::socket::Socket;
use super::streams::Streams;
use super::upload::Upload;

/// A connection.
pub(super) struct Peer {
    pub(super) conn: Conn,
    pub(super) replies: VecDeque<Reply>,
    /// Answers of HTTP/2 that wait for a window.
    blocked: Vec<Reply>,
    /// A request was taken that is never to be answered, nor is any behind it.
    silent: bool,
    pub(super) spoken: Spoken,
    /// When the agenda is to look at it next; [`Nanos::MAX`] when nothing waits to leave.
    alarm: Nanos,
}

/// What is spoken on it.
pub(super) enum Spoken {
    /// What its first bytes will tell.
    Unknown,
    /// With the request whose body is coming, where one is.
    Http1(Option<Box<Upload>>),
    WebSocket(Box<Socket>),
    Http2(Box<Streams>),
}

impl Peer {
    pub(super) fn new(conn: Conn) -> Self {
        let (replies, blocked) = (VecDeque::new(), Vec::new());
        Self { conn, replies, blocked, silent: false, spoken: Spoken::Unknown, alarm: Nanos::MAX }
    }

    /// Requests that wait for their answers.
    pub(super) fn waiting(&self) -> u64 {
        self.replies.iter().chain(&self.blocked).filter(|reply| reply.is_answer).count() as u64
    }

    /// Whether no request is answered any more.
    pub(super) fn is_silent(&self) -> bool {
        self.silent
    }

    /// A request is never to be answered; nor is any behind it, where answers have an order.
    pub(super) fn ignore(&mut self, stream: Option<u32>) {
        match (&mut self.spoken, stream) {
            (Spoken::Http2(streams), Some(stream)) => streams.ignore(stream),
            _ => self.silent = true,
        }
    }

    /// Puts a reply in its place: behind the others, or over HTTP/2 where its time puts it.
    pub(super) fn enter(&mut self, mut reply: Reply) {
        if !matches!(self.spoken, Spoken::Http2(_)) {
            if let Some(last) = self.replies.back() {
                reply.due = reply.due.max(last.due);
                reply.at = reply.due;
            }
            return self.replies.push_back(reply);
        }
        let begun = usize::from(self.replies.front().is_some_and(Reply::is_not_overtaken));
        let before = self.replies.iter().rposition(|other| other.at <= reply.at);
        self.replies.insert(begun.max(before.map_or(0, |at| at + 1)), reply);
    }

    /// The first reply, if something of it is to leave at `now`. Answers whose windows are closed step aside.
    pub(super) fn ready(&mut self, now: Nanos) -> Option<&mut Reply> {
        while let Spoken::Http2(streams) = &mut self.spoken
            && let Some(reply) = self.replies.front_mut()
            && reply.at <= now
            && reply.needs_frames()
        {
            match reply.frames.as_mut().and_then(|frames| frames.next(&mut streams.connection)) {
                Some(bytes) => (reply.bytes, reply.sent) = (Bytes::whole(bytes.into()), 0),
                None => self.blocked.extend(self.replies.pop_front()),
            }
        }
        self.replies.front_mut().filter(|reply| reply.at <= now)
    }

    /// The first reply goes on at `at`, and others may leave before it where they do not interrupt it.
    pub(super) fn put_off(&mut self, at: Nanos) {
        let Some(mut reply) = self.replies.pop_front() else { return };
        reply.at = at;
        match &self.spoken {
            Spoken::Http2(_) if !reply.is_not_overtaken() => self.enter(reply),
            _ => self.replies.push_front(reply),
        }
    }

    /// Windows have changed, of one stream or of all; who waited for one tries again at `now`.
    pub(super) fn widen(&mut self, stream: Option<u32>, change: i64, now: Nanos) {
        let replies = self.replies.iter_mut().chain(&mut self.blocked);
        for frames in replies.filter_map(|reply| reply.frames.as_mut()) {
            if stream.is_none_or(|id| frames.stream.id == id) {
                frames.stream.window += change;
            }
        }
        for mut reply in std::mem::take(&mut self.blocked) {
            reply.at = now;
            self.enter(reply);
        }
    }

    /// Nobody waits for the answer of a stream; says whether it was still to come. A frame that has begun is sent to its end.
    pub(super) fn give_up(&mut self, stream: u32) -> bool {
        let is_meant = |reply: &Reply| reply.is_answer && reply.is_of(stream);
        let before = self.waiting();
        self.blocked.retain(|reply| !is_meant(reply));
        self.replies.retain_mut(|reply| {
            let (is_meant, goes_on) = (is_meant(reply), reply.is_within_bytes());
            if is_meant {
                (reply.frames, reply.is_answer) = (None, false);
            }
            !is_meant || goes_on
        });
        self.waiting() < before
    }

    /// Whether all is said, on a connection of HTTP/2 whose client has ended it.
    pub(super) fn is_over(&self) -> bool {
        let is_ended =
            matches!(&self.spoken, Spoken::Http2(streams) if streams.is_last && streams.is_empty());
        is_ended && self.replies.is_empty() && self.blocked.is_empty()
    }

    /// When the agenda is to look at it, if it does not know yet.
    pub(super) fn set_alarm(&mut self) -> Option<Nanos> {
        let at = self.replies.front()?.at;
        let is_news = at < self.alarm;
        self.alarm = self.alarm.min(at);
        is_news.then_some(at)
    }

    /// Whether it was to be looked at by now. Where another reply has come first since, the agenda knows an earlier time too.
    pub(super) fn take_alarm(&mut self, now: Nanos) -> bool {
        let rings = self.alarm <= now;
        if rings {
            self.alarm = Nanos::MAX;
        }
        rings
    }
}
