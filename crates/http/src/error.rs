//! Why bytes were refused, and the status code a server answers with.

/// A head that is not HTTP/1.1, or more than the limits allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} (at byte {at} of the head)")]
pub struct ParseError {
    /// What is wrong.
    pub kind: ParseErrorKind,
    /// Offset of the first byte that cannot be right, or of the line whose meaning is refused.
    pub at: usize,
}

impl ParseError {
    /// The status code a server answers with before it closes the connection.
    pub fn status(&self) -> u16 {
        self.kind.status()
    }
}

/// What is wrong with a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum ParseErrorKind {
    /// RFC 9112 §4: `HTTP/1.x SP 3DIGIT SP [reason] CRLF`.
    #[error("malformed status line: expected `HTTP/1.x SP 3DIGIT SP [reason] CRLF`")]
    BadStatusLine,
    /// RFC 9112 §3: `method SP target SP version CRLF`, the method being a token.
    #[error("malformed request line: expected `method SP target SP HTTP/1.x CRLF`")]
    BadRequestLine,
    /// RFC 9112 §2.3: `HTTP/` DIGIT `.` DIGIT.
    #[error("malformed protocol version: expected `HTTP/1.0` or `HTTP/1.1`")]
    BadVersion,
    /// A well-formed version other than 1.0 and 1.1.
    #[error("protocol version not supported: only HTTP/1.0 and HTTP/1.1 are")]
    UnsupportedVersion,
    /// RFC 9112 §3.2: not in origin, absolute or (for OPTIONS) asterisk form, or with a byte no URI has.
    #[error("malformed request target")]
    BadTarget,
    /// The target is longer than [`Limits::target_bytes`](crate::Limits::target_bytes).
    #[error("request target longer than the limit `target_bytes`")]
    TargetTooLong,
    /// CONNECT asks for a tunnel, which an origin server does not make.
    #[error("method CONNECT is not implemented")]
    ConnectRefused,
    /// More empty lines before a request line than [`Limits::leading_empty_lines`](crate::Limits::leading_empty_lines).
    #[error("more empty lines before the request line than the limit `leading_empty_lines`")]
    TooManyEmptyLines,
    /// A field name that is empty or not a token, or white space before the colon (RFC 9112 §5.1).
    #[error("malformed field name: expected a token directly followed by a colon")]
    BadFieldName,
    /// A control character in a field value, reason phrase or line (RFC 9110 §5.5).
    #[error("control character in a field value or reason phrase")]
    ControlCharacter,
    /// CR that is not followed by LF (RFC 9112 §2.2).
    #[error("CR without LF")]
    BareCr,
    /// LF that does not follow CR.
    #[error("LF without CR")]
    BareLf,
    /// A line that begins with white space, the folding RFC 9112 §5.2 made obsolete.
    #[error("obsolete line folding, or white space before the first field")]
    ObsoleteFold,
    /// Content-Length that is not a number below 2^64, or a list of differing ones (RFC 9112 §6.3).
    #[error("invalid or contradictory Content-Length")]
    BadContentLength,
    /// Transfer-Encoding that is no list of codings with chunked at most once and last (RFC 9112 §6.1).
    #[error("invalid Transfer-Encoding: chunked must come once, last and without parameters")]
    BadTransferEncoding,
    /// A request whose transfer coding is not chunked alone.
    #[error("transfer coding not implemented: only chunked is")]
    UnknownTransferCoding,
    /// A message with both Transfer-Encoding and Content-Length: the means of request smuggling (RFC 9112 §6.1).
    #[error("both Transfer-Encoding and Content-Length")]
    ConflictingLengths,
    /// Transfer-Encoding in an HTTP/1.0 message, whose framing is faulty by RFC 9112 §6.1.
    #[error("Transfer-Encoding in an HTTP/1.0 message")]
    TransferEncodingInHttp10,
    /// An expectation other than `100-continue` (RFC 9110 §10.1.1).
    #[error("expectation not known: only 100-continue is")]
    UnknownExpectation,
    /// An HTTP/1.1 request without Host (RFC 9112 §3.2).
    #[error("HTTP/1.1 request without a Host field")]
    MissingHost,
    /// More than one Host field.
    #[error("more than one Host field")]
    DuplicateHost,
    /// A Host value that is no `uri-host [":" port]`.
    #[error("malformed Host: expected `host` or `host:port`")]
    BadHost,
    /// The head is longer than [`Limits::head_bytes`](crate::Limits::head_bytes).
    #[error("head longer than the limit `head_bytes`")]
    HeadTooLarge,
}

impl ParseErrorKind {
    /// The status code a server answers with before it closes the connection.
    pub fn status(self) -> u16 {
        match self {
            Self::TargetTooLong => 414,
            Self::UnknownExpectation => 417,
            Self::HeadTooLarge => 431,
            Self::UnknownTransferCoding | Self::ConnectRefused => 501,
            Self::UnsupportedVersion => 505,
            _ => 400,
        }
    }

    pub(crate) fn at(self, at: usize) -> ParseError {
        ParseError { kind: self, at }
    }
}

/// A body that breaks its framing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum BodyError {
    /// RFC 9112 §7.1: a chunk begins with hexadecimal digits, then `;` or CRLF.
    #[error("malformed chunk size: expected hexadecimal digits, then `;` or CRLF")]
    BadChunkSize,
    /// More than sixteen digits, so that 64 bits may not hold the size.
    #[error("chunk size has more than sixteen digits")]
    ChunkSizeOverflow,
    /// A control character in a chunk extension, or CR without LF.
    #[error("malformed chunk extension")]
    BadChunkExtension,
    /// Extensions of the body longer than [`BodyLimits::extension_bytes`](crate::BodyLimits::extension_bytes) together.
    #[error("chunk extensions longer than the limit `extension_bytes`")]
    ExtensionsTooLarge,
    /// The body is longer than [`BodyLimits::body_bytes`](crate::BodyLimits::body_bytes).
    #[error("body longer than the limit `body_bytes`")]
    BodyTooLarge,
    /// Chunk data not followed by CRLF.
    #[error("chunk data is not followed by CRLF")]
    BadChunkEnd,
    /// A trailer line that is no field line.
    #[error("malformed trailer field")]
    BadTrailer,
    /// Trailers longer than [`BodyLimits::trailer_bytes`](crate::BodyLimits::trailer_bytes).
    #[error("trailers longer than the limit `trailer_bytes`")]
    TrailersTooLarge,
    /// The connection ended before the body did.
    #[error("connection closed before the end of the body")]
    EarlyEof,
    /// The caller skipped bytes that are not known to be data.
    #[error("skipped past the bytes known to be data")]
    SkipPastData,
}

impl BodyError {
    /// The status code a server answers with before it closes the connection.
    pub fn status(self) -> u16 {
        match self {
            Self::BodyTooLarge | Self::ExtensionsTooLarge | Self::ChunkSizeOverflow => 413,
            Self::TrailersTooLarge => 431,
            _ => 400,
        }
    }
}
