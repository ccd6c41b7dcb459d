//! What every scan has in common: its outcome, its limits, byte ranges, lines and versions.

use crate::chars;
use crate::error::{ParseError, ParseErrorKind};

/// The outcome of scanning bytes for a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scan<T> {
    /// A whole head; its `len` bytes are consumed.
    Complete(T),
    /// A valid beginning: scan again with more bytes.
    Partial,
    /// No continuation of these bytes is a head.
    Invalid(ParseError),
}

/// The sizes beyond which a head is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest head in bytes, start line to empty line; a longer one is [`ParseErrorKind::HeadTooLarge`] (431).
    /// The number of fields has no limit of its own.
    pub head_bytes: u32,
    /// Longest request target in bytes; a longer one is [`ParseErrorKind::TargetTooLong`] (414).
    /// RFC 9112 §3 recommends at least 8000.
    pub target_bytes: u32,
    /// Most empty lines skipped before a request line (RFC 9112 §2.2 asks for at least one).
    pub leading_empty_lines: u32,
}

impl Limits {
    /// 64 KiB of head, 8 KiB of target, four empty lines.
    pub const DEFAULT: Self = Self { head_bytes: 64 << 10, target_bytes: 8 << 10, leading_empty_lines: 4 };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// A byte range of the slice that was scanned, half open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    pub(crate) fn new(start: usize, end: usize) -> Self {
        // Heads are cut to `Limits::head_bytes`, a u32, before they are scanned: nothing is lost.
        Self { start: start as u32, end: end as u32 }
    }

    /// The bytes of the range; empty when `bytes` is not the slice that was scanned but a shorter one.
    #[inline]
    pub fn of(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    /// Length in bytes.
    pub fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// Whether the range is empty.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }
}

/// The protocol version of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    /// HTTP/1.0: the connection closes after the message unless `keep-alive` is said.
    Http10,
    /// HTTP/1.1: the connection stays open unless `close` is said.
    Http11,
}

/// Whether scanning again can change a `Partial` answer: a line end has arrived since `seen` bytes, or the limit is
/// reached. Spares the work of rescanning a long line that trickles in byte by byte; an error in that line is then found
/// when the line ends.
pub fn worth_rescan(bytes: &[u8], seen: usize, limits: &Limits) -> bool {
    bytes.len() >= limits.head_bytes as usize || bytes.get(seen..).is_some_and(|new| new.contains(&b'\n'))
}

/// Why a scan stopped before the end of a head.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stop {
    Partial,
    Invalid(ParseError),
}

impl From<ParseError> for Stop {
    fn from(error: ParseError) -> Self {
        Self::Invalid(error)
    }
}

/// Runs `scan` over at most `limits.head_bytes` bytes. Cutting first makes the answer the same however the input was
/// split: an over-long head is found at the same byte, and only if nothing before that byte was wrong.
#[inline]
pub(crate) fn within_limit<T>(
    bytes: &[u8],
    limits: &Limits,
    scan: impl FnOnce(&[u8]) -> Result<T, Stop>,
) -> Scan<T> {
    let limit = limits.head_bytes as usize;
    match scan(bytes.get(..limit).unwrap_or(bytes)) {
        Ok(head) => Scan::Complete(head),
        Err(Stop::Invalid(error)) => Scan::Invalid(error),
        Err(Stop::Partial) if bytes.len() >= limit => Scan::Invalid(ParseErrorKind::HeadTooLarge.at(limit)),
        Err(Stop::Partial) => Scan::Partial,
    }
}

/// The byte at `at`, or `Partial` at the end of the input.
#[inline]
pub(crate) fn byte(bytes: &[u8], at: usize) -> Result<u8, Stop> {
    bytes.get(at).copied().ok_or(Stop::Partial)
}

/// Passes over text without control characters and its CRLF. Returns the end of the text and the start of the next line.
#[inline]
pub(crate) fn text_line(bytes: &[u8], at: usize) -> Result<(usize, usize), Stop> {
    let end = chars::find_control(bytes, at).ok_or(Stop::Partial)?;
    Ok((end, line_end(bytes, end)?))
}

/// Passes over CRLF at `at`; any other byte there is the fitting error.
#[inline]
pub(crate) fn line_end(bytes: &[u8], at: usize) -> Result<usize, Stop> {
    match byte(bytes, at)? {
        b'\r' if byte(bytes, at + 1)? == b'\n' => Ok(at + 2),
        b'\r' => Err(ParseErrorKind::BareCr.at(at).into()),
        b'\n' => Err(ParseErrorKind::BareLf.at(at).into()),
        _ => Err(ParseErrorKind::ControlCharacter.at(at).into()),
    }
}

/// Passes over `HTTP/1.0` or `HTTP/1.1` at `at`. A prefix of one is `Partial`.
#[inline]
pub(crate) fn version(bytes: &[u8], at: usize) -> Result<Version, Stop> {
    const NAME: &[u8] = b"HTTP/";
    let rest = bytes.get(at..).unwrap_or_default();
    match rest.first_chunk::<8>() {
        Some(b"HTTP/1.1") => return Ok(Version::Http11),
        Some(b"HTTP/1.0") => return Ok(Version::Http10),
        _ => {}
    }
    let fits = |i: usize, b: u8| match i {
        0..=4 => b == NAME[i],
        6 => b == b'.',
        _ => b.is_ascii_digit(),
    };
    match rest.iter().take(8).enumerate().find(|&(i, &b)| !fits(i, b)) {
        Some((i, _)) => Err(ParseErrorKind::BadVersion.at(at + i).into()),
        None if rest.len() < 8 => Err(Stop::Partial),
        None => Err(ParseErrorKind::UnsupportedVersion.at(at).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rescanning_is_worth_it_after_a_new_line_end_or_at_the_limit() {
        let limits = Limits { head_bytes: 12, ..Limits::DEFAULT };
        assert!(!worth_rescan(b"GET / HT", 4, &limits));
        assert!(worth_rescan(b"GET /\r\nA", 4, &limits));
        assert!(!worth_rescan(b"GET /\r\nA", 7, &limits));
        assert!(worth_rescan(b"GET /\r\nA: bcd", 7, &limits));
        assert!(!worth_rescan(b"", 1, &limits));
    }

    #[test]
    fn a_span_of_other_bytes_is_empty_not_a_panic() {
        assert_eq!(Span::new(2, 4).of(b"abcd"), b"cd");
        assert_eq!(Span::new(2, 4).of(b"abc"), b"");
    }
}
