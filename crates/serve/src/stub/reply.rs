//! A response that is due or on its way.

use assay_model::units::Nanos;

use super::End;
use super::faults::Fault;
use super::frames::Frames;
use super::shape::{Bytes, Cut};

/// What is sent for a request, or of the connection's own.
pub(super) struct Reply {
    pub(super) arrived: Nanos,
    pub(super) due: Nanos,
    /// When the next segment of it leaves: at first when it is due.
    pub(super) at: Nanos,
    pub(super) bytes: Bytes,
    pub(super) cut: Cut,
    /// Of the bytes.
    pub(super) sent: u64,
    /// What follows the bytes over HTTP/2.
    pub(super) frames: Option<Frames>,
    pub(super) end: End,
    pub(super) fault: Fault,
    /// Whether it answers a request; a pong and a farewell answer none.
    pub(super) is_answer: bool,
}

impl Reply {
    /// A reply of these bytes, at no time yet.
    pub(super) fn new(bytes: Bytes, cut: Cut, end: End, fault: Fault) -> Self {
        let (arrived, due, at) = (Nanos::ZERO, Nanos::ZERO, Nanos::ZERO);
        Self { arrived, due, at, bytes, cut, sent: 0, frames: None, end, fault, is_answer: true }
    }

    /// The answer of a stream, at no time yet.
    pub(super) fn in_frames(frames: Frames, cut: Cut, fault: Fault) -> Self {
        let bytes = Bytes::whole([].into());
        Self { frames: Some(frames), ..Self::new(bytes, cut, End::Keep, fault) }
    }

    /// The reply with the times at which its request arrived and it is due.
    pub(super) fn timed(self, arrived: Nanos, due: Nanos) -> Self {
        Self { arrived, due, at: due, ..self }
    }

    /// What leaves next in one segment.
    pub(super) fn piece(&self) -> &[u8] {
        let rest = self.bytes.from(self.sent);
        let most = match self.cut {
            Cut::Everywhere => 1,
            Cut::At(offset) if self.sent < offset as u64 => offset - self.sent as usize,
            Cut::At(_) | Cut::Nowhere => rest.len(),
        };
        &rest[..most.min(rest.len())]
    }

    /// Whether a part of its bytes has left, behind which only the others may.
    pub(super) fn is_within_bytes(&self) -> bool {
        self.sent > 0 && self.sent < self.bytes.len
    }

    /// Whether nothing may leave before it: what the connection itself says comes first (RFC 9113 §3.4), and frames are not interrupted.
    pub(super) fn is_not_overtaken(&self) -> bool {
        self.is_within_bytes() || !self.is_answer
    }

    /// Whether frames follow, the next of which is still to be written.
    pub(super) fn needs_frames(&self) -> bool {
        self.sent >= self.bytes.len && self.frames.as_ref().is_some_and(|frames| !frames.is_done())
    }

    pub(super) fn is_sent(&self) -> bool {
        self.sent >= self.bytes.len && !self.needs_frames()
    }

    /// Whether it is the answer of this stream.
    pub(super) fn is_of(&self, stream: u32) -> bool {
        self.frames.as_ref().is_some_and(|frames| frames.stream.id == stream)
    }
}
