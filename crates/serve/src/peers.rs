//! The connections of a thread and their deadlines.

use assay_engine::Conn;
use assay_engine::wheel::Wheel;
use assay_model::units::Nanos;

use crate::content::Content;
use crate::spoken::Spoken;

/// Resolution of deadlines, which are seconds long.
const TICK: Nanos = Nanos::from_millis(50);

/// One connection.
pub(crate) struct Peer {
    conn: Conn,
    pub(crate) session: Spoken,
    /// The file being sent.
    pub(crate) file: Option<Content>,
    /// A step is owed when the output has drained.
    pub(crate) waits_for_room: bool,
    /// The peer sends no more.
    pub(crate) ended: bool,
    /// Whether remaining bytes are read and dropped before the connection is closed.
    pub(crate) lingers: bool,
}

impl Peer {
    /// The file that a piece is to be sent of; let go of when that is its last piece, for an idle connection holds none.
    pub(crate) fn file_of_piece(&mut self) -> Option<Content> {
        if self.session.is_sending() { self.file.clone() } else { self.file.take() }
    }
}

/// All connections of a thread.
pub(crate) struct Peers {
    /// By [`Conn::slot`].
    table: Vec<Option<Peer>>,
    wheel: Wheel,
    count: usize,
    most: usize,
}

impl Peers {
    pub(crate) fn new(now: Nanos) -> Self {
        Self { table: Vec::new(), wheel: Wheel::new(TICK, now), count: 0, most: 0 }
    }

    /// The most there were at the same time.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// Takes a connection in.
    pub(crate) fn welcome(&mut self, conn: Conn, session: Spoken) {
        let slot = conn.slot();
        if slot >= self.table.len() {
            self.table.resize_with(slot + 1, || None);
        }
        self.arm(conn, session.deadline());
        let peer = Peer { conn, session, file: None, waits_for_room: false, ended: false, lingers: false };
        self.count += usize::from(self.table[slot].replace(peer).is_none());
        self.most = self.most.max(self.count);
    }

    /// The connection of this name; `None` when it is gone, though its slot may be another's by now.
    #[inline]
    pub(crate) fn get(&mut self, conn: Conn) -> Option<&mut Peer> {
        self.table.get_mut(conn.slot())?.as_mut().filter(|peer| peer.conn == conn)
    }

    pub(crate) fn forget(&mut self, conn: Conn) {
        if self.get(conn).is_some() {
            self.table[conn.slot()] = None;
            self.count -= 1;
        }
    }

    /// The names of all.
    pub(crate) fn names(&self) -> Vec<Conn> {
        self.table.iter().flatten().map(|peer| peer.conn).collect()
    }

    /// Sees to it that the connection comes up at `deadline`, though it was to come up later. A deadline that moves back
    /// need not be told.
    pub(crate) fn arm(&mut self, conn: Conn, deadline: Nanos) {
        self.wheel.arm(conn.slot() as u32, deadline);
    }

    /// When the first deadline is due, at the earliest.
    pub(crate) fn next_deadline(&self) -> Nanos {
        self.wheel.next()
    }

    /// The connections whose deadline has passed.
    pub(crate) fn expired(&mut self, now: Nanos) -> Vec<Conn> {
        let mut expired = Vec::new();
        if now < self.wheel.next() {
            return expired;
        }
        let Self { table, wheel, .. } = self;
        wheel.expire(now, |slot| {
            let peer = table.get(slot as usize)?.as_ref()?;
            if peer.session.deadline() <= now {
                expired.push(peer.conn);
            }
            Some(peer.session.deadline())
        });
        expired
    }
}
