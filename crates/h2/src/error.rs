//! What went wrong on a connection or a stream (RFC 9113 §5.4, §7).

use crate::hpack::HpackError;

/// The code of a GOAWAY or RST_STREAM (RFC 9113 §7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of RFC 9113 §7")]
pub enum Code {
    NoError,
    ProtocolError,
    InternalError,
    FlowControlError,
    SettingsTimeout,
    StreamClosed,
    FrameSizeError,
    RefusedStream,
    Cancel,
    CompressionError,
    ConnectError,
    EnhanceYourCalm,
    InadequateSecurity,
    Http11Required,
    /// A code that is not known.
    Unknown(u32),
}

/// Names by number, from 0 on.
const CODES: [(Code, &str); 14] = [
    (Code::NoError, "NO_ERROR"),
    (Code::ProtocolError, "PROTOCOL_ERROR"),
    (Code::InternalError, "INTERNAL_ERROR"),
    (Code::FlowControlError, "FLOW_CONTROL_ERROR"),
    (Code::SettingsTimeout, "SETTINGS_TIMEOUT"),
    (Code::StreamClosed, "STREAM_CLOSED"),
    (Code::FrameSizeError, "FRAME_SIZE_ERROR"),
    (Code::RefusedStream, "REFUSED_STREAM"),
    (Code::Cancel, "CANCEL"),
    (Code::CompressionError, "COMPRESSION_ERROR"),
    (Code::ConnectError, "CONNECT_ERROR"),
    (Code::EnhanceYourCalm, "ENHANCE_YOUR_CALM"),
    (Code::InadequateSecurity, "INADEQUATE_SECURITY"),
    (Code::Http11Required, "HTTP_1_1_REQUIRED"),
];

impl Code {
    /// The code with this number.
    pub fn of(number: u32) -> Self {
        CODES.get(number as usize).map_or(Self::Unknown(number), |(code, _)| *code)
    }

    /// Its number.
    pub fn number(self) -> u32 {
        match self {
            Self::Unknown(number) => number,
            known => CODES.iter().position(|(code, _)| *code == known).unwrap_or(0) as u32,
        }
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match CODES.iter().find(|(code, _)| code == self) {
            Some((_, name)) => out.write_str(name),
            None => write!(out, "error {:#x}", self.number()),
        }
    }
}

/// A peer broke a rule or a limit, so the connection ends (RFC 9113 §5.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why} ({code})")]
pub struct ConnectionError {
    /// The code of the GOAWAY that ends it.
    pub code: Code,
    /// The rule or the limit that was broken.
    pub why: Why,
}

/// What a peer did wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// A rule of the protocol was broken.
    #[error("{0}")]
    Rule(&'static str),
    /// A header block cannot be decoded.
    #[error("{0}")]
    Block(HpackError),
    /// A limit was exceeded.
    #[error("the peer exceeded the limit `{0}`")]
    Limit(&'static str),
}

/// A rule that was broken.
pub(crate) fn broken(code: Code, why: &'static str) -> ConnectionError {
    ConnectionError { code, why: Why::Rule(why) }
}

/// A limit that was exceeded.
pub(crate) fn exceeded(limit: &'static str) -> ConnectionError {
    ConnectionError { code: Code::EnhanceYourCalm, why: Why::Limit(limit) }
}

impl From<HpackError> for ConnectionError {
    fn from(error: HpackError) -> Self {
        Self { code: Code::CompressionError, why: Why::Block(error) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_has_its_number() {
        for number in 0..20 {
            assert_eq!(Code::of(number).number(), number);
        }
        assert_eq!((Code::RefusedStream.number(), Code::Http11Required.number()), (7, 13));
        assert_eq!(Code::of(8).to_string(), "CANCEL");
    }
}
