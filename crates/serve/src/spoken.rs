//! What is spoken on a connection: what was agreed on over TLS, else what its first bytes are.

use assay_model::units::Nanos;

use crate::http2::{self, Http2Session};
use crate::session::{Context, Expiry, Next, Session, Step};
use crate::site::Site;

/// The protocol of one connection.
pub(crate) enum Spoken {
    /// HTTP/1.1, or nothing yet.
    Http1 {
        session: Session,
        /// Nothing has come that would tell.
        is_open: bool,
    },
    /// HTTP/2, agreed on over TLS or begun by prior knowledge (RFC 9113 §3.3).
    Http2(Box<Http2Session>),
}

impl Spoken {
    /// A connection accepted at `now`, on which this protocol was agreed on if it is secured (ALPN).
    pub(crate) fn new(now: Nanos, agreed: Option<&str>, site: &Site) -> Self {
        match agreed {
            Some("h2") => Self::Http2(Box::new(Http2Session::new(now, site))),
            _ => Self::Http1 { session: Session::new(now, site), is_open: true },
        }
    }

    /// When the connection has waited too long for what it waits for.
    #[inline]
    pub(crate) fn deadline(&self) -> Nanos {
        match self {
            Self::Http1 { session, .. } => session.deadline,
            Self::Http2(session) => session.deadline,
        }
    }

    /// Deals with as much of `input` as it can and appends what is to be sent to the context's output.
    #[inline]
    pub(crate) fn step(&mut self, input: &[u8], cx: &mut Context<'_>) -> Step {
        if let Self::Http1 { session, is_open: is_open @ true } = self
            && !input.is_empty()
        {
            match http2::is_begun_by(input) {
                Some(false) => *is_open = false,
                Some(true) => *self = Self::Http2(Box::new(Http2Session::new(cx.now, cx.site))),
                None => {
                    session.deadline = session.deadline.min(cx.now + cx.site.limits.head_time);
                    return Step { consumed: 0, piece: None, next: Next::Receive };
                }
            }
        }
        match self {
            Self::Http1 { session, .. } => session.step(input, cx),
            Self::Http2(session) => session.step(input, cx),
        }
    }

    /// Makes the answers under way the last ones.
    pub(crate) fn make_last(&mut self) {
        match self {
            Self::Http1 { session, .. } => session.make_last(),
            Self::Http2(session) => session.make_last(),
        }
    }

    /// Whether the last answer is out.
    pub(crate) fn is_lingering(&self) -> bool {
        match self {
            Self::Http1 { session, .. } => session.is_lingering(),
            Self::Http2(session) => session.is_lingering(),
        }
    }

    /// Whether a body is being sent whose bytes are not in the output.
    pub(crate) fn is_sending(&self) -> bool {
        matches!(self, Self::Http1 { session, .. } if session.is_sending())
    }

    /// Listens for no more requests; waits until `deadline` for the peer to close.
    pub(crate) fn linger(&mut self, deadline: Nanos) {
        match self {
            Self::Http1 { session, .. } => session.linger(deadline),
            Self::Http2(session) => session.linger(deadline),
        }
    }

    /// Decides about a connection whose deadline has passed. `stuck` says that output is waiting for the peer.
    pub(crate) fn expire(&mut self, stuck: bool, cx: &mut Context<'_>) -> Expiry {
        match self {
            Self::Http1 { session, .. } => session.expire(stuck, cx),
            Self::Http2(session) => session.expire(stuck, cx),
        }
    }
}
