//! Where an agent's words go.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use super::message::{Announcement, Answer, frame};

/// Where an agent's words go; whoever answers has a clone.
#[derive(Clone)]
pub(super) struct Voice(Arc<Mutex<dyn Write + Send>>);

impl Voice {
    /// Tells through `to`.
    pub(super) fn new(to: impl Write + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(to)))
    }

    /// Tells something. If nobody hears it any more, the end of input is about to say so.
    pub(super) fn tell(&self, told: &Announcement, body: Vec<u8>) {
        let bytes = frame(told, body).or_else(|error| {
            let Announcement::Answer { to, .. } = told else { return Err(error) };
            let answer = Answer::Refused { problem: error.to_string() };
            frame(&Announcement::Answer { to: *to, answer }, Vec::new())
        });
        let mut out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = bytes.map(|bytes| out.write_all(&bytes).and_then(|()| out.flush()));
    }
}
