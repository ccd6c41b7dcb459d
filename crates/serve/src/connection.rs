//! Whether a connection outlives its response, and what the response says of it (RFC 9112 §9.3).

use assay_http::{RequestHead, Version};

/// What follows a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Persistence {
    /// The connection stays open, as HTTP/1.1 assumes: nothing is said.
    Assumed,
    /// The connection stays open, which a client of HTTP/1.0 must be told.
    Told,
    /// The connection ends.
    Close,
}

impl Persistence {
    /// What the client wants.
    #[inline]
    pub(crate) fn wanted(head: &RequestHead) -> Self {
        match (head.keeps_alive(), head.version) {
            (false, _) => Self::Close,
            (true, Version::Http11) => Self::Assumed,
            (true, Version::Http10) => Self::Told,
        }
    }

    /// The value of the field Connection, if there is to be one.
    pub(crate) fn field_value(self) -> Option<&'static str> {
        match self {
            Self::Assumed => None,
            Self::Told => Some("keep-alive"),
            Self::Close => Some("close"),
        }
    }
}
