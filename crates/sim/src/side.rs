//! One side of a connection, as a kernel would hold it.

use std::collections::VecDeque;
use std::net::SocketAddr;

use assay_engine::Conn;
use assay_model::units::Nanos;

/// Number of a side; none is used twice, so one that is gone is never mistaken for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SideId(pub(crate) usize);

/// One side of a connection.
pub(crate) struct Side {
    /// The engine that it belongs to.
    pub(crate) end: usize,
    /// Name of the connection there; none while it waits to be accepted.
    pub(crate) conn: Option<Conn>,
    /// The other side, once the request to connect has arrived there.
    pub(crate) peer: Option<SideId>,
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    /// Bytes that arrived and were not received.
    pub(crate) inbox: VecDeque<u8>,
    /// Bytes sent that the other side has not received.
    pub(crate) under_way: usize,
    /// When the last of what was sent arrives.
    pub(crate) last_arrival: Nanos,
    /// The other side sends no more, and all it sent has arrived.
    pub(crate) has_ended: bool,
    /// Broken by the other side or by the network.
    pub(crate) is_reset: bool,
    /// Our user has let go of it.
    pub(crate) is_gone: bool,
    /// Our user waits for room.
    pub(crate) wants_room: bool,
    /// What its engine is to be told.
    pub(crate) news: News,
    /// Whether it is listed among those with news.
    pub(crate) is_listed: bool,
}

/// What has happened to a side since its engine looked last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct News {
    pub(crate) connected: bool,
    pub(crate) refused: bool,
    pub(crate) bytes: bool,
    pub(crate) room: bool,
    pub(crate) ended: bool,
    pub(crate) reset: bool,
}

impl Side {
    pub(crate) fn new(end: usize, local: SocketAddr, remote: SocketAddr) -> Self {
        Self {
            end,
            conn: None,
            peer: None,
            local,
            remote,
            inbox: VecDeque::new(),
            under_way: 0,
            last_arrival: Nanos::ZERO,
            has_ended: false,
            is_reset: false,
            is_gone: false,
            wants_room: false,
            news: News::default(),
            is_listed: false,
        }
    }
}
