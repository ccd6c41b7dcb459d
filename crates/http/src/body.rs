//! Reading a body incrementally, whatever its framing.

mod chunked;

pub use chunked::BodyLimits;
use chunked::Chunked;

use crate::error::BodyError;

/// How the end of a body is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Framing {
    /// There is no body.
    None,
    /// A body of a known length in bytes.
    Length(u64),
    /// The chunked transfer coding (RFC 9112 §7.1).
    Chunked,
    /// All bytes until the peer closes the connection; responses only.
    UntilClose,
}

/// Decodes one body from input that may be split anywhere. Small and `Copy`: keep it in the connection.
#[derive(Clone, Copy, Debug)]
pub struct BodyReader(State);

#[derive(Clone, Copy, Debug)]
enum State {
    /// Bytes that are left of a body of known length.
    Length(u64),
    Chunked(Chunked),
    UntilClose,
}

/// What one call of [`BodyReader::next`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step<'i> {
    /// Bytes of the input that are dealt with.
    pub consumed: usize,
    /// Decoded data, a view into the consumed part; empty when only framing was consumed.
    pub data: &'i [u8],
    /// Whether the body ended; input behind `consumed` belongs to the next message.
    pub finished: bool,
}

impl BodyReader {
    /// A reader with the default limits on extensions and trailers, and none on the body.
    #[inline]
    pub fn new(framing: Framing) -> Self {
        Self(match framing {
            Framing::None => State::Length(0),
            Framing::Length(length) => State::Length(length),
            Framing::Chunked => State::Chunked(Chunked::new(BodyLimits::DEFAULT)),
            Framing::UntilClose => State::UntilClose,
        })
    }

    /// A reader with limits of one's own.
    ///
    /// # Errors
    /// [`BodyError::BodyTooLarge`] when the announced length is over the limit.
    pub fn with_limits(framing: Framing, limits: BodyLimits) -> Result<Self, BodyError> {
        match framing {
            Framing::Length(length) if length > limits.body_bytes => Err(BodyError::BodyTooLarge),
            Framing::Chunked => Ok(Self(State::Chunked(Chunked::new(limits)))),
            _ => Ok(Self::new(framing)),
        }
    }

    /// Decodes the next part of the body. As long as the body is not finished and the input is not empty, at least
    /// one byte is consumed; call again with what is left until it is used up. An empty input is answered too.
    ///
    /// # Errors
    /// The framing is broken; the connection is of no further use, and neither is the reader.
    #[inline]
    pub fn next<'i>(&mut self, input: &'i [u8]) -> Result<Step<'i>, BodyError> {
        match &mut self.0 {
            State::Length(left) => {
                let run = usize::try_from(*left).map_or(input.len(), |left| left.min(input.len()));
                *left -= run as u64;
                Ok(Step { consumed: run, data: &input[..run], finished: *left == 0 })
            }
            State::Chunked(chunked) => chunked.next(input),
            State::UntilClose => Ok(Step { consumed: input.len(), data: input, finished: false }),
        }
    }

    /// Whether the body ended. A body of length 0 has ended before the first byte.
    #[inline]
    pub fn is_finished(&self) -> bool {
        match &self.0 {
            State::Length(left) => *left == 0,
            State::Chunked(chunked) => chunked.is_finished(),
            State::UntilClose => false,
        }
    }

    /// Bytes that are surely data next: the rest of the length or of the chunk; `u64::MAX` until close. A caller that
    /// need not see them may drop so many unseen (MSG_TRUNC of tcp(7)) and tell by [`Self::skip`].
    #[inline]
    pub fn run_length(&self) -> u64 {
        match &self.0 {
            State::Length(left) => *left,
            State::Chunked(chunked) => chunked.run_length(),
            State::UntilClose => u64::MAX,
        }
    }

    /// Counts `n` bytes of data as read that the caller dropped unseen.
    ///
    /// # Errors
    /// [`BodyError::SkipPastData`] when `n` is more than [`Self::run_length`]; nothing is counted then.
    pub fn skip(&mut self, n: u64) -> Result<(), BodyError> {
        if n > self.run_length() {
            return Err(BodyError::SkipPastData);
        }
        match &mut self.0 {
            State::Length(left) => *left -= n,
            State::Chunked(chunked) => chunked.skip(n),
            State::UntilClose => {}
        }
        Ok(())
    }

    /// Judges the end of the connection: right for a finished body and for one that lasts until close.
    ///
    /// # Errors
    /// [`BodyError::EarlyEof`] when bytes are missing.
    pub fn finish_at_eof(&self) -> Result<(), BodyError> {
        match self.0 {
            State::UntilClose => Ok(()),
            _ if self.is_finished() => Ok(()),
            _ => Err(BodyError::EarlyEof),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_of_more_than_4_gib_is_counted_to_the_last_byte() {
        let length = (5 << 30) + 3;
        let mut reader = BodyReader::new(Framing::Length(length));
        let piece = vec![b'x'; 1 << 20];
        for _ in 0..5 << 10 {
            let step = reader.next(&piece).unwrap();
            assert_eq!((step.consumed, step.data.len(), step.finished), (piece.len(), piece.len(), false));
        }
        assert_eq!(reader.run_length(), 3);
        assert_eq!(reader.finish_at_eof(), Err(BodyError::EarlyEof));
        let last = reader.next(b"xyzHTTP/1.1").unwrap();
        assert_eq!(last, Step { consumed: 3, data: b"xyz", finished: true });
        assert_eq!(reader.finish_at_eof(), Ok(()));
    }

    #[test]
    fn a_body_of_no_length_is_finished_at_once_and_consumes_nothing() {
        for framing in [Framing::None, Framing::Length(0)] {
            let mut reader = BodyReader::new(framing);
            assert!(reader.is_finished());
            assert_eq!(reader.next(b"HTTP"), Ok(Step { consumed: 0, data: b"", finished: true }));
        }
    }

    #[test]
    fn until_close_takes_everything_and_ends_with_the_connection() {
        let mut reader = BodyReader::new(Framing::UntilClose);
        assert_eq!(reader.next(b"abc"), Ok(Step { consumed: 3, data: b"abc", finished: false }));
        assert_eq!(reader.skip(1 << 40), Ok(()));
        assert!(!reader.is_finished());
        assert_eq!(reader.finish_at_eof(), Ok(()));
    }

    #[test]
    fn skipping_counts_like_reading_and_not_past_the_data() {
        let mut reader = BodyReader::new(Framing::Length(10));
        assert_eq!(reader.skip(11), Err(BodyError::SkipPastData));
        assert_eq!(reader.skip(10), Ok(()));
        assert!(reader.is_finished());

        let mut reader = BodyReader::new(Framing::Chunked);
        assert_eq!(reader.skip(1), Err(BodyError::SkipPastData));
        assert_eq!(reader.skip(0), Ok(()));
        assert_eq!(reader.next(b"100000005\r\nab").unwrap().data, b"ab");
        assert_eq!(reader.run_length(), 0x1_0000_0003);
        assert_eq!(reader.skip(0x1_0000_0003), Ok(()));
        assert_eq!(reader.next(b"\r\n0\r\n\r\nX"), Ok(Step { consumed: 7, data: b"", finished: true }));
    }

    #[test]
    fn an_announced_length_over_the_limit_is_refused_before_the_first_byte() {
        let limits = BodyLimits { body_bytes: 10, ..BodyLimits::DEFAULT };
        assert!(BodyReader::with_limits(Framing::Length(10), limits).is_ok());
        assert_eq!(BodyReader::with_limits(Framing::Length(11), limits).err(), Some(BodyError::BodyTooLarge));
    }
}
