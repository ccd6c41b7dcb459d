//! How a call ended (github.com/grpc/grpc/blob/master/doc/statuscodes.md).

use std::fmt;

use percent_encoding::{AsciiSet, CONTROLS, percent_decode, utf8_percent_encode};

/// What a message of a status is escaped for: all but the space and the printable signs, of which `%` is the escape itself.
const ESCAPED: &AsciiSet = &CONTROLS.add(b'%');

/// Bytes of a status's message that are kept.
const MOST_BYTES: usize = 256;

/// Why a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of the specification")]
pub enum Code {
    Ok,
    Cancelled,
    Unknown,
    InvalidArgument,
    DeadlineExceeded,
    NotFound,
    AlreadyExists,
    PermissionDenied,
    ResourceExhausted,
    FailedPrecondition,
    Aborted,
    OutOfRange,
    Unimplemented,
    Internal,
    Unavailable,
    DataLoss,
    Unauthenticated,
    /// A number that has no name.
    Other(u32),
}

/// Code and name of each status, in the order of their numbers.
const NAMES: [(Code, &str); 17] = [
    (Code::Ok, "OK"),
    (Code::Cancelled, "CANCELLED"),
    (Code::Unknown, "UNKNOWN"),
    (Code::InvalidArgument, "INVALID_ARGUMENT"),
    (Code::DeadlineExceeded, "DEADLINE_EXCEEDED"),
    (Code::NotFound, "NOT_FOUND"),
    (Code::AlreadyExists, "ALREADY_EXISTS"),
    (Code::PermissionDenied, "PERMISSION_DENIED"),
    (Code::ResourceExhausted, "RESOURCE_EXHAUSTED"),
    (Code::FailedPrecondition, "FAILED_PRECONDITION"),
    (Code::Aborted, "ABORTED"),
    (Code::OutOfRange, "OUT_OF_RANGE"),
    (Code::Unimplemented, "UNIMPLEMENTED"),
    (Code::Internal, "INTERNAL"),
    (Code::Unavailable, "UNAVAILABLE"),
    (Code::DataLoss, "DATA_LOSS"),
    (Code::Unauthenticated, "UNAUTHENTICATED"),
];

impl Code {
    /// The code with this number.
    pub fn of(number: u32) -> Self {
        NAMES.get(number as usize).map_or(Self::Other(number), |(code, _)| *code)
    }

    /// The code that a value of `grpc-status` tells: a number without a sign.
    pub fn read(value: &[u8]) -> Option<Self> {
        if value == b"0" {
            return Some(Self::Ok);
        }
        let is_number = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
        let text = std::str::from_utf8(value).ok().filter(|_| is_number)?;
        text.parse().ok().map(Self::of)
    }

    /// Its number.
    pub fn number(self) -> u32 {
        match self {
            Self::Other(number) => number,
            named => NAMES.iter().position(|(code, _)| *code == named).unwrap_or_default() as u32,
        }
    }
}

impl fmt::Display for Code {
    /// Number and name: `12 UNIMPLEMENTED`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.number();
        match NAMES.get(number as usize) {
            Some((_, name)) => write!(out, "{number} {name}"),
            None => write!(out, "{number}"),
        }
    }
}

/// How a call ended, in the server's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The reason, as a code.
    pub code: Code,
    /// What the server says of it; empty where it says nothing.
    pub message: String,
}

impl Status {
    /// A status in words of ours.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// The status that values of `grpc-status` and `grpc-message` tell; `None` when the first one is no number. What is no
    /// valid escape in the message stands for itself, as the specification asks, and a long one is cut.
    pub fn read(code: &[u8], message: &[u8]) -> Option<Self> {
        let code = Code::read(code)?;
        let decoded: Vec<u8> = percent_decode(message).take(MOST_BYTES).collect();
        Some(Self { code, message: String::from_utf8_lossy(&decoded).into_owned() })
    }

    /// The message as it is sent.
    pub fn encoded_message(&self) -> String {
        utf8_percent_encode(&self.message, ESCAPED).to_string()
    }
}

impl fmt::Display for Status {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.code)?;
        if self.message.is_empty() { Ok(()) } else { write!(out, ": {}", self.message) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_and_names_belong_together() {
        for number in 0..20 {
            assert_eq!(Code::of(number).number(), number);
            assert_eq!(Code::read(number.to_string().as_bytes()), Some(Code::of(number)));
        }
        assert_eq!(Code::of(12), Code::Unimplemented);
        assert_eq!((Code::of(16), Code::of(17)), (Code::Unauthenticated, Code::Other(17)));
        for bad in ["", "-1", "+1", "OK", "1 ", "4294967296"] {
            assert_eq!(Code::read(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn a_message_that_is_badly_escaped_is_told_as_it_stands() {
        let told = |message: &str| Status::read(b"5", message.as_bytes()).expect("a status").to_string();
        assert_eq!(told("no%20such%E2%82%AC"), "5 NOT_FOUND: no such€");
        assert_eq!(told("100% wrong %zz"), "5 NOT_FOUND: 100% wrong %zz");
        assert_eq!((told(""), told(&"x".repeat(1000)).len()), ("5 NOT_FOUND".to_owned(), 13 + MOST_BYTES));
    }

    proptest! {
        #[test]
        fn a_message_comes_back_as_it_was(message in "\\PC{0,40}") {
            let status = Status::new(Code::Aborted, message);
            let encoded = status.encoded_message();
            prop_assert!(encoded.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
            prop_assert_eq!(Status::read(b"10", encoded.as_bytes()), Some(status));
        }
    }
}
