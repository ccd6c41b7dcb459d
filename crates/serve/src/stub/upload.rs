//! Bodies of requests over HTTP/1.1: they are read to their end, and nothing of them is kept.

use assay_http::{BodyError, BodyLimits, BodyReader, Framing};

use super::BODY_BYTES;
use super::request::Request;

/// A request whose body is still coming.
pub(super) struct Upload {
    request: Request,
    body: BodyReader,
}

impl Upload {
    /// Begins to read a body.
    ///
    /// # Errors
    /// It is longer than any that is taken.
    pub(super) fn new(request: Request, framing: Framing) -> Result<Self, BodyError> {
        let limits = BodyLimits { body_bytes: BODY_BYTES, ..BodyLimits::DEFAULT };
        Ok(Self { request, body: BodyReader::with_limits(framing, limits)? })
    }

    /// Reads what has come; says how many bytes of it are of the body.
    ///
    /// # Errors
    /// It is no body, or a longer one than any that is taken.
    pub(super) fn take(&mut self, input: &[u8]) -> Result<usize, BodyError> {
        let mut read = 0;
        while read < input.len() && !self.body.is_finished() {
            read += self.body.next(&input[read..])?.consumed;
        }
        Ok(read)
    }

    /// The request, once its body has come whole; else it goes on.
    pub(super) fn finish(self: Box<Self>) -> Result<Request, Box<Self>> {
        if self.body.is_finished() { Ok(self.request) } else { Err(self) }
    }
}
