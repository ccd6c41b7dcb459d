//! What breaks a WebSocket connection, and the code with which it is closed.

use crate::close;

/// Why a connection must be failed (RFC 6455 §7.1.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Fault {
    /// RSV1 to RSV3 belong to extensions, and none was agreed on.
    #[error("a reserved bit is set though no extension was agreed on")]
    ReservedBit,
    /// An opcode that the standard gives no meaning.
    #[error("the opcode {0:#x} is reserved")]
    ReservedOpcode(u8),
    /// A client's frame without a mask.
    #[error("a frame of the client is not masked")]
    Unmasked,
    /// A server's frame with a mask.
    #[error("a frame of the server is masked")]
    Masked,
    /// A length that has a shorter form, or one beyond 2^63.
    #[error("a payload's length is not written in its shortest form")]
    BadLength,
    /// A control frame that is not whole.
    #[error("a control frame is fragmented")]
    FragmentedControl,
    /// A control frame of more than 125 bytes.
    #[error("a control frame has more than 125 bytes")]
    LongControl,
    /// A continuation of nothing.
    #[error("a continuation frame continues no message")]
    NothingToContinue,
    /// A new message inside another.
    #[error("a message begins inside another")]
    Interleaved,
    /// A close frame whose code is cut short.
    #[error("a close frame has one byte of a code")]
    ShortClose,
    /// A close code that must not be sent.
    #[error("the close code {0} must not be sent")]
    BadCloseCode(u16),
    /// A text, or the reason of a close frame, that is not UTF-8.
    #[error("a text is not UTF-8")]
    NotUtf8,
    /// A message beyond [`Limits::message_bytes`](crate::Limits::message_bytes).
    #[error("a message is longer than what is taken")]
    MessageTooLong,
    /// A message beyond [`Limits::frames`](crate::Limits::frames).
    #[error("a message has more frames than what is taken")]
    TooManyFrames,
}

impl Fault {
    /// The code with which the connection is closed (RFC 6455 §7.4.1).
    pub fn close_code(self) -> u16 {
        match self {
            Self::NotUtf8 => close::INVALID_DATA,
            Self::MessageTooLong => close::TOO_BIG,
            Self::TooManyFrames => close::POLICY,
            _ => close::PROTOCOL_ERROR,
        }
    }
}
