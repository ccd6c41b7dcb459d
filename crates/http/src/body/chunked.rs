//! The chunked transfer coding (RFC 9112 §7.1), decoded in place and resumable at every byte.

use super::Step;
use crate::chars::{is_field_text, is_token};
use crate::error::BodyError;

/// The sizes beyond which a body is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyLimits {
    /// Longest body in bytes, announced or sent in chunks. Not applied to a body that lasts until the connection closes.
    pub body_bytes: u64,
    /// Longest chunk extensions in bytes, all chunks of a body together.
    pub extension_bytes: u32,
    /// Longest trailer section in bytes.
    pub trailer_bytes: u32,
}

impl BodyLimits {
    /// Bodies of any length, 16 KiB of extensions, 16 KiB of trailers.
    pub const DEFAULT: Self =
        Self { body_bytes: u64::MAX, extension_bytes: 16 << 10, trailer_bytes: 16 << 10 };
}

impl Default for BodyLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What the next byte belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    SizeStart,
    Size {
        digits: u8,
    },
    /// White space between size and semicolon, which RFC 9112 calls bad but asks to accept.
    SizeGap,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    TrailerStart,
    TrailerName,
    TrailerValue,
    TrailerLf,
    EndLf,
    Done,
}

/// Decoder of one chunked body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunked {
    state: State,
    /// The size read so far, then the data bytes left of the chunk.
    left: u64,
    /// What the limits still allow.
    allowed: BodyLimits,
}

impl Chunked {
    pub(crate) fn new(limits: BodyLimits) -> Self {
        Self { state: State::SizeStart, left: 0, allowed: limits }
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.state == State::Done
    }

    /// Bytes that are surely data next.
    pub(crate) fn run_length(&self) -> u64 {
        if self.state == State::Data { self.left } else { 0 }
    }

    /// Passes over `n` bytes of data; `n` is at most [`Self::run_length`].
    pub(crate) fn skip(&mut self, n: u64) {
        self.left -= n;
        if self.left == 0 && self.state == State::Data {
            self.state = State::DataCr;
        }
    }

    /// Decodes up to the second run of data, so that each step has one view of data, and a chunk's end and the next
    /// chunk's size cost no step of their own.
    pub(crate) fn next<'i>(&mut self, input: &'i [u8]) -> Result<Step<'i>, BodyError> {
        let mut at = 0;
        let mut data = &input[..0];
        while let Some(&byte) = input.get(at)
            && !self.is_finished()
        {
            if self.state != State::Data {
                self.state = self.after(byte)?;
                at += 1;
                continue;
            }
            if !data.is_empty() {
                break;
            }
            let available = input.len() - at;
            let run = usize::try_from(self.left).map_or(available, |left| left.min(available));
            data = &input[at..at + run];
            at += run;
            self.skip(run as u64);
        }
        Ok(Step { consumed: at, data, finished: self.is_finished() })
    }

    /// The state after a byte that is not data.
    fn after(&mut self, byte: u8) -> Result<State, BodyError> {
        match (self.state, byte) {
            (State::SizeStart, _) => self.after_digit(byte, 0),
            (State::Size { .. } | State::SizeGap, b';') => self.after_extension_byte(State::Extension),
            (State::Size { .. } | State::SizeGap, b' ' | b'\t') => self.after_extension_byte(State::SizeGap),
            (State::Size { .. } | State::Extension, b'\r') => Ok(State::SizeLf),
            (State::Size { digits }, _) => self.after_digit(byte, digits),
            (State::Extension, _) if is_field_text(byte) => self.after_extension_byte(State::Extension),
            (State::SizeLf, b'\n') => self.after_size(),
            (State::DataCr, b'\r') => Ok(State::DataLf),
            (State::DataLf, b'\n') => Ok(State::SizeStart),
            (State::SizeGap | State::SizeLf, _) => Err(BodyError::BadChunkSize),
            (State::Extension, _) => Err(BodyError::BadChunkExtension),
            (State::DataCr | State::DataLf, _) => Err(BodyError::BadChunkEnd),
            (state, _) => self.after_trailer_byte(state, byte),
        }
    }

    fn after_digit(&mut self, byte: u8, digits: u8) -> Result<State, BodyError> {
        let digit = char::from(byte).to_digit(16).ok_or(BodyError::BadChunkSize)?;
        if digits == 16 {
            return Err(BodyError::ChunkSizeOverflow);
        }
        self.left = self.left << 4 | u64::from(digit);
        Ok(State::Size { digits: digits + 1 })
    }

    fn after_extension_byte(&mut self, next: State) -> Result<State, BodyError> {
        self.allowed.extension_bytes =
            self.allowed.extension_bytes.checked_sub(1).ok_or(BodyError::ExtensionsTooLarge)?;
        Ok(next)
    }

    fn after_size(&mut self) -> Result<State, BodyError> {
        self.allowed.body_bytes =
            self.allowed.body_bytes.checked_sub(self.left).ok_or(BodyError::BodyTooLarge)?;
        Ok(if self.left == 0 { State::TrailerStart } else { State::Data })
    }

    /// Trailer lines obey the rules of field lines; they are checked and dropped (RFC 9112 §7.1.2).
    fn after_trailer_byte(&mut self, state: State, byte: u8) -> Result<State, BodyError> {
        let next = match (state, byte) {
            (State::TrailerStart, b'\r') => return Ok(State::EndLf),
            (State::EndLf, b'\n') => return Ok(State::Done),
            (State::TrailerName, b':') => State::TrailerValue,
            (State::TrailerStart | State::TrailerName, _) if is_token(byte) => State::TrailerName,
            (State::TrailerValue, b'\r') => State::TrailerLf,
            (State::TrailerValue, _) if is_field_text(byte) => State::TrailerValue,
            (State::TrailerLf, b'\n') => State::TrailerStart,
            _ => return Err(BodyError::BadTrailer),
        };
        self.allowed.trailer_bytes =
            self.allowed.trailer_bytes.checked_sub(1).ok_or(BodyError::TrailersTooLarge)?;
        Ok(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: BodyLimits = BodyLimits { body_bytes: 10, extension_bytes: 8, trailer_bytes: 12 };

    /// Feeds `input` in pieces of `piece` bytes; returns the data and the bytes consumed up to the end of the body.
    fn decode(input: &[u8], piece: usize, limits: BodyLimits) -> Result<(Vec<u8>, usize, bool), BodyError> {
        let (mut chunked, mut data, mut total) = (Chunked::new(limits), Vec::new(), 0);
        for piece in input.chunks(piece) {
            let mut at = 0;
            while at < piece.len() && !chunked.is_finished() {
                let step = chunked.next(&piece[at..])?;
                assert!(step.consumed > 0 && step.finished == chunked.is_finished());
                data.extend_from_slice(step.data);
                at += step.consumed;
                total += step.consumed;
            }
        }
        Ok((data, total, chunked.is_finished()))
    }

    /// Decodes whole and in pieces of every size, which must agree.
    fn decoded(input: &str, limits: BodyLimits) -> Result<(String, usize, bool), BodyError> {
        let whole = decode(input.as_bytes(), input.len().max(1), limits);
        for piece in 1..input.len() {
            assert_eq!(decode(input.as_bytes(), piece, limits), whole, "{input:?} in pieces of {piece}");
        }
        whole.map(|(data, total, finished)| (String::from_utf8(data).unwrap(), total, finished))
    }

    #[test]
    fn well_formed_bodies_are_decoded_up_to_their_end() {
        for (input, data) in [
            ("0\r\n\r\n", ""),
            ("5\r\nhello\r\n0\r\n\r\n", "hello"),
            ("5\r\nhello\r\n1\r\n!\r\n000\r\n\r\n", "hello!"),
            ("A\r\n0123456789\r\n0\r\n\r\n", "0123456789"),
            ("a;x=1\r\n0\r\n3456789\r\n0;y=\"z;\"\r\n\r\n", "0\r\n3456789"),
            ("1 \t;x\r\na\r\n0 ;\r\n\r\n", "a"),
            ("1\r\na\r\n0\r\nX-Sum: 1\r\nEmpty:\r\n\r\n", "a"),
            ("0000000000000001\r\na\r\n0\r\n\r\n", "a"),
        ] {
            let followed = format!("{input}HTTP/1.1 200 OK");
            let right = Ok((data.to_string(), input.len(), true));
            assert_eq!(decoded(&followed, BodyLimits::DEFAULT), right, "{input:?}");
            for len in 0..input.len() {
                let part = decoded(&input[..len], BodyLimits::DEFAULT).unwrap();
                assert_eq!((part.1, part.2), (len, false), "{:?}", &input[..len]);
            }
        }
    }

    #[test]
    fn malformed_bodies_are_refused() {
        for (input, error) in [
            ("\r\n", BodyError::BadChunkSize),
            (" 1\r\n", BodyError::BadChunkSize),
            (";x\r\n", BodyError::BadChunkSize),
            ("+1\r\n", BodyError::BadChunkSize),
            ("-1\r\n", BodyError::BadChunkSize),
            ("0x1\r\n", BodyError::BadChunkSize),
            ("1_0\r\n", BodyError::BadChunkSize),
            ("g\r\n", BodyError::BadChunkSize),
            ("1\na", BodyError::BadChunkSize),
            ("1\ra", BodyError::BadChunkSize),
            ("1 \r\na", BodyError::BadChunkSize),
            ("1 2\r\n", BodyError::BadChunkSize),
            ("1;x\na", BodyError::BadChunkExtension),
            ("1;x\0\r\n", BodyError::BadChunkExtension),
            ("1;x\r\r\n", BodyError::BadChunkSize),
            ("00000000000000001\r\n", BodyError::ChunkSizeOverflow),
            ("fffffffffffffffff\r\n", BodyError::ChunkSizeOverflow),
            ("1\r\nab\r\n", BodyError::BadChunkEnd),
            ("1\r\na\n", BodyError::BadChunkEnd),
            ("1\r\na\r0", BodyError::BadChunkEnd),
            ("1\r\na0\r\n", BodyError::BadChunkEnd),
            ("0\r\nX\r\n\r\n", BodyError::BadTrailer),
            ("0\r\nX : y\r\n\r\n", BodyError::BadTrailer),
            ("0\r\n X: y\r\n\r\n", BodyError::BadTrailer),
            ("0\r\nX: y\n\r\n", BodyError::BadTrailer),
            ("0\r\nX: y\r\n\r\r", BodyError::BadTrailer),
            ("0\r\n\n", BodyError::BadTrailer),
            ("0\r\n:\r\n\r\n", BodyError::BadTrailer),
        ] {
            assert_eq!(decoded(input, BodyLimits::DEFAULT), Err(error), "{input:?}");
        }
    }

    #[test]
    fn the_greatest_size_is_taken_and_may_not_be_exceeded_in_sum() {
        let mut chunked = Chunked::new(BodyLimits::DEFAULT);
        assert_eq!(chunked.next(b"fffffffffffffffe\r\n").unwrap().consumed, 18);
        assert_eq!(chunked.run_length(), u64::MAX - 1);
        chunked.skip(u64::MAX - 1);
        assert_eq!(chunked.next(b"\r\n2\r\n"), Err(BodyError::BodyTooLarge));
    }

    #[test]
    fn limits_hold_to_the_byte() {
        assert!(decoded("5\r\nhello\r\n5\r\nworld\r\n0\r\n\r\n", SMALL).is_ok());
        assert_eq!(decoded("5\r\nhello\r\n6\r\n", SMALL), Err(BodyError::BodyTooLarge));
        assert!(decoded("1;abc\r\na\r\n0;def\r\n\r\n", SMALL).is_ok());
        assert_eq!(decoded("1;abc\r\na\r\n0;defg\r\n\r\n", SMALL), Err(BodyError::ExtensionsTooLarge));
        assert!(decoded("0\r\nA: 1\r\nB: 2\r\n\r\n", SMALL).is_ok());
        assert_eq!(decoded("0\r\nA: 1\r\nB: 22\r\n\r\n", SMALL), Err(BodyError::TrailersTooLarge));
    }
}
