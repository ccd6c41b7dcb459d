//! Sending bodies that are not known in advance: sized ones and files, piece by piece.

use std::ops::Range;

use assay_http::Framing;

use super::{Context, Next, Phase, Reply, Session, Turn, Wanted};
use crate::answer::{ANSWER_BYTES, Answer, append_prepared};
use crate::connection::Persistence;
use crate::files::{Lookup, is_shortage};
use crate::route::AnswerPlan;
use crate::site::{MOVED_BYTES, QUEUED_BYTES, STEP_BYTES};
use crate::sized::COPIED_BYTES;
use crate::validators::{FileHead, Found, Selection, select};

/// The rest of a body to send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sending {
    source: Source,
    offset: u64,
    left: u64,
    persistence: Persistence,
}

/// Where the bytes of a body come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Pattern,
    File,
}

/// Bytes to send behind the output buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) source: Source,
    pub(crate) offset: u64,
    pub(crate) len: usize,
}

impl Sending {
    /// What is to be sent: from where, from which offset, how many bytes.
    pub(crate) fn rest(&self) -> (Source, u64, u64) {
        (self.source, self.offset, self.left)
    }
}

impl Session {
    /// Answers with so many bytes of the pattern: at once where they are few.
    #[inline]
    pub(crate) fn answer_sized(&mut self, len: u64, reply: Reply, more: bool, cx: &mut Context<'_>) -> Turn {
        let room = STEP_BYTES.saturating_sub(cx.out.len() + ANSWER_BYTES) as u64;
        let Ok(prepared) = cx.site.sized(len) else { return self.fail(cx) };
        let is_whole = len <= COPIED_BYTES.min(room);
        append_prepared(prepared, reply.head_only || !is_whole, reply.persistence, cx.out);
        match is_whole {
            true => self.finish(reply.persistence, more),
            false => self.send_body(Source::Pattern, 0..len, reply, more),
        }
    }

    /// Answers a request for a file.
    #[cold]
    pub(crate) fn answer_file(
        &mut self,
        wanted: &Wanted<'_>,
        reply: Reply,
        more: bool,
        cx: &mut Context<'_>,
    ) -> Turn {
        let answer = match (cx.find)(wanted) {
            Ok(Lookup::File(found)) => {
                match select(&found, &wanted.conditions, reply.head_only, cx.site.unix_s) {
                    Selection::Failed => Answer::PreconditionFailed,
                    selection => return self.announce_file(&found, &selection, reply, more, cx),
                }
            }
            // To ask for more than we take would be no way to it.
            Ok(Lookup::Folder(target)) if target.len() > cx.site.http_limits.target_bytes as usize => {
                Answer::TargetTooLong
            }
            Ok(Lookup::Folder(target)) => return self.redirect(&target, reply, more, cx),
            Ok(Lookup::NotAcceptable) => Answer::NotAcceptable,
            Ok(Lookup::Absent) => Answer::NotFound,
            Err(error) if is_shortage(&error) => Answer::Overloaded,
            Err(_) => Answer::InternalError,
        };
        self.carry_out(AnswerPlan::Answer(answer), reply, more, cx)
    }

    /// Sends the client to another target of this host, for good.
    fn redirect(&mut self, target: &str, reply: Reply, more: bool, cx: &mut Context<'_>) -> Turn {
        let fields = [("Location", target)];
        match cx.site.append_head(301, &fields, Framing::Length(0), reply.persistence, cx.out) {
            Err(_) => self.fail(cx),
            Ok(()) => self.finish(reply.persistence, more),
        }
    }

    fn announce_file(
        &mut self,
        found: &Found,
        selection: &Selection,
        reply: Reply,
        more: bool,
        cx: &mut Context<'_>,
    ) -> Turn {
        let (status, framing, range) = selection.form(found.len);
        let head = FileHead::new(found, selection);
        match cx.site.append_head(status, &head.fields(), framing, reply.persistence, cx.out) {
            Err(_) => self.fail(cx),
            Ok(()) => self.send_body(Source::File, range, reply, more),
        }
    }

    /// The head is out; its body follows, unless there is none.
    fn send_body(&mut self, source: Source, range: Range<u64>, reply: Reply, more: bool) -> Turn {
        if reply.head_only || range.is_empty() {
            return self.finish(reply.persistence, more);
        }
        let left = range.end - range.start;
        self.phase =
            Phase::Sending(Sending { source, offset: range.start, left, persistence: reply.persistence });
        Turn::go_on(0)
    }

    /// Sends the next piece of a body, as much as the step allows.
    pub(crate) fn send_piece(&mut self, more: bool, cx: &mut Context<'_>) -> Turn {
        let Phase::Sending(sending) = &mut self.phase else { return Turn::go_on(0) };
        let Sending { source, offset, left, persistence } = *sending;
        let room = STEP_BYTES.saturating_sub(cx.out.len()) as u64;
        if left > room && room < QUEUED_BYTES as u64 {
            return Turn::stop(0, Next::Continue);
        }
        let len = left.min(MOVED_BYTES as u64);
        sending.offset += len;
        sending.left -= len;
        let turn = if len == left { self.finish(persistence, more) } else { Turn::go_on(0) };
        // No more than MOVED_BYTES, so it fits every usize.
        let len = len as usize;
        if source == Source::Pattern && left <= COPIED_BYTES {
            cx.out.extend_from_slice(cx.site.pattern.piece(offset, len));
            return turn;
        }
        let piece = Piece { source, offset, len };
        Turn { consumed: 0, piece: Some(piece), next: turn.next.or(Some(Next::Continue)) }
    }
}
