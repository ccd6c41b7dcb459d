//! What all connections of a thread share: limits, prepared answers, the date, counters.

use assay_engine::{EngineError, SEND_QUEUE_BYTES};
use assay_http::Framing;
use assay_http::date;
use assay_http::render::{PreparedResponse, RenderError, ResponseSpec, response_head};
use assay_model::units::Nanos;

use crate::answer::{ANSWER_BYTES, Answer, Answers};
use crate::blocks::Blocks;
use crate::config::{Limits, ServeError};
use crate::connection::Persistence;
use crate::pattern::Pattern;
use crate::route::Files;
use crate::sized::SizedAnswers;

/// Bytes that one step of a session produces at most: so many an engine always takes when nothing is queued.
pub(crate) const STEP_BYTES: usize = SEND_QUEUE_BYTES;
/// A piece no longer than this leaves through the engine's queue. A step that has less room left ends before a longer body.
pub(crate) const QUEUED_BYTES: usize = 16 * 1024;
/// A longer piece is moved by the kernel and at most so long. A peer has [`Limits::send_time`] to take one, so that it needs
/// no more than about 9 kB/s by default, and other connections wait no longer than it takes to queue one.
///
/// [`Limits::send_time`]: crate::Limits::send_time
pub(crate) const MOVED_BYTES: usize = 256 * 1024;

const SECOND: u64 = 1_000_000_000;

/// An answer that is rendered once and given often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ready {
    /// An answer that is known in advance.
    Answer(Answer),
    /// A body of so many bytes of the pattern; only its head is ready where it is long.
    Sized(u64),
}

/// What all sessions of a thread share.
pub(crate) struct Site {
    pub(crate) limits: Limits,
    pub(crate) http_limits: assay_http::Limits,
    /// What is looked up in the folder of static files.
    pub(crate) files: Files,
    /// Bytes that an answer without a body of its own has at most: more than that must be free in a step for it.
    pub(crate) answer_room: usize,
    pub(crate) answers: Answers,
    /// The answers as HTTP/2 sends them.
    pub(crate) blocks: Blocks,
    pub(crate) pattern: Pattern,
    /// Heads of answers that consist of it.
    pub(crate) sized: SizedAnswers,
    /// Requests whose head was whole and valid.
    pub(crate) requests: u64,
    /// Messages of WebSockets that were given back.
    pub(crate) messages: u64,
    /// Requests and messages refused for their form, size or slowness.
    pub(crate) refused: u64,
    date: [u8; date::LEN],
    /// The monotonic time at which the date's second is over.
    date_ends: Nanos,
    /// The wall clock's second.
    pub(crate) unix_s: u64,
}

impl Site {
    /// What sessions share, with no date yet: see [`set_wall_clock`](Self::set_wall_clock).
    ///
    /// # Errors
    /// [`ServeError::Defect`] when a prepared answer cannot be rendered; [`ServeError::Engine`] when no descriptor is left.
    pub(crate) fn new(limits: Limits, files: Files) -> Result<Self, ServeError> {
        let http_limits = limits.http();
        Ok(Self {
            limits,
            http_limits,
            files,
            // A redirect to a folder repeats the target.
            answer_room: match files {
                Files::Nowhere => ANSWER_BYTES,
                Files::Everywhere | Files::BelowRoot => ANSWER_BYTES + http_limits.target_bytes as usize,
            },
            answers: Answers::new().map_err(|error| ServeError::Defect(error.to_string()))?,
            blocks: Blocks::default(),
            pattern: Pattern::new(QUEUED_BYTES, MOVED_BYTES).map_err(no_memfd)?,
            sized: SizedAnswers::default(),
            requests: 0,
            messages: 0,
            refused: 0,
            date: date::format(0),
            date_ends: Nanos::ZERO,
            unix_s: 0,
        })
    }

    /// Whether the second of the date is over, so that the wall clock should be read.
    #[inline]
    pub(crate) fn date_is_stale(&self, now: Nanos) -> bool {
        now >= self.date_ends
    }

    /// Sets the date. `since_epoch` is the wall clock's time since 1970, read at the monotonic time `now`.
    pub(crate) fn set_wall_clock(&mut self, now: Nanos, since_epoch: Nanos) {
        self.unix_s = since_epoch.0 / SECOND;
        self.date_ends = now + Nanos(SECOND - since_epoch.0 % SECOND);
        self.date = date::format(self.unix_s);
        self.answers.set_date(&self.date);
        self.blocks.forget();
        self.sized.set_date(&self.date);
    }

    /// The answer with a body of so many bytes; the head alone where they are many.
    #[inline]
    pub(crate) fn sized(&mut self, len: u64) -> Result<&PreparedResponse, RenderError> {
        self.sized.get(len, &self.pattern, &self.date)
    }

    /// Head and body of an answer as HTTP/2 sends them; no body where that is long.
    #[inline]
    pub(crate) fn block(&mut self, ready: Ready) -> Result<(&[u8], &[u8]), RenderError> {
        match ready {
            Ready::Answer(answer) => Ok(self.blocks.get(answer, &self.answers)),
            Ready::Sized(len) => self.sized.block(len, &self.pattern, &self.date),
        }
    }

    /// Appends a head that is not known in advance. `fields` come behind Server; empty ones are left out.
    pub(crate) fn append_head(
        &self,
        status: u16,
        fields: &[(&str, &str)],
        framing: Framing,
        persistence: Persistence,
        out: &mut Vec<u8>,
    ) -> Result<(), RenderError> {
        const MOST: usize = 10;
        let mut all = [("Server", "assay"); MOST];
        let told = persistence.field_value().map(|value| ("Connection", value));
        let sent = fields.iter().copied().filter(|(_, value)| !value.is_empty()).chain(told);
        let mut count = 1;
        for (place, field) in all[1..].iter_mut().zip(sent) {
            *place = field;
            count += 1;
        }
        debug_assert!(1 + fields.len() + usize::from(told.is_some()) <= MOST);
        let before = out.len();
        let spec = ResponseSpec { status, fields: &all[..count], framing, date: Some(self.date) };
        response_head(&spec, out)?;
        debug_assert!(out.len() - before <= self.answer_room);
        Ok(())
    }
}

fn no_memfd(source: std::io::Error) -> ServeError {
    EngineError::System { call: "memfd_create".to_owned(), source }.into()
}
