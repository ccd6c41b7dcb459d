//! What there is to be told, newest only: a page, what has changed on it, and what goes on.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use assay_http::date;
use assay_http::render::{PreparedResponse, RenderError};

use crate::Edition;

/// Besides its length. The page may be framed by nobody and tells nobody where it is from; nothing is kept.
const FIELDS: [(&str, &str); 8] = [
    ("Content-Type", "text/html; charset=utf-8"),
    ("Cache-Control", "no-store"),
    ("Referrer-Policy", "no-referrer"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Content-Security-Policy", "frame-ancestors 'none'"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Connection", "close"),
];

/// What there is to be told.
#[derive(Debug, Default)]
pub(crate) struct Board {
    /// Absent before the first edition.
    pub(crate) page: Option<PreparedResponse>,
    pub(crate) edition: News,
    pub(crate) words: News,
    /// Whether nothing may be sent.
    pub(crate) is_hushed: bool,
    /// Whether there is something that the server has not yet seen.
    pub(crate) is_new: bool,
    /// When serving ends at the latest; absent while it goes on.
    pub(crate) ends: Option<Instant>,
}

/// The newest of its kind, and how many there were.
#[derive(Debug, Default)]
pub(crate) struct News {
    pub(crate) number: u64,
    pub(crate) event: Vec<u8>,
}

impl Board {
    /// Whether nobody is answered now.
    pub(crate) fn is_silent(&self) -> bool {
        self.is_hushed || self.page.is_none()
    }

    /// Puts another edition in the place of the last.
    pub(crate) fn show(&mut self, edition: &Edition<'_>, kind: &str) -> Result<(), RenderError> {
        self.page = Some(response(edition.html)?);
        self.edition = News { number: self.edition.number + 1, event: event(kind, edition.update) };
        self.is_new = true;
        Ok(())
    }

    /// Says something else than before.
    pub(crate) fn say(&mut self, words: &str) {
        self.words = News { number: self.words.number + 1, event: event("words", words) };
        self.is_new = true;
    }
}

/// A board that two threads share.
#[derive(Debug, Default)]
pub(crate) struct SharedBoard {
    board: Mutex<Board>,
    seen: Condvar,
}

impl SharedBoard {
    /// Holds the board; a thread that panicked with it left a whole one.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says that the server has seen what is new.
    pub(crate) fn tell_seen(&self) {
        self.seen.notify_all();
    }

    /// Holds the board once the server has seen what is new, or after `most`.
    pub(crate) fn lock_seen(&self, most: Duration) -> MutexGuard<'_, Board> {
        let waited =
            self.seen.wait_timeout_while(self.lock(), most, |board| board.is_new && !board.is_silent());
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

fn response(html: &str) -> Result<PreparedResponse, RenderError> {
    let mut response = PreparedResponse::new(200, &FIELDS, html.as_bytes())?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    response.set_date(&date::format(now.as_secs()));
    Ok(response)
}

/// An event as it is sent: a line break within the text begins another line of it.
fn event(kind: &str, text: &str) -> Vec<u8> {
    let lines: String = text.split(['\n', '\r']).map(|line| format!("data: {line}\n")).collect();
    format!("event: {kind}\n{lines}\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_cannot_begin_an_event_of_its_own() {
        let told = String::from_utf8(event("words", "one\n\nevent: end\r\ndata: x")).expect("text");
        assert_eq!(told, "event: words\ndata: one\ndata: \ndata: event: end\ndata: \ndata: data: x\n\n");
    }
}
