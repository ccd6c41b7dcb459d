//! Connections of the engine beneath, under its names.

use assay_engine::Conn;

use crate::session::Session;

/// What there is of each connection: nothing but its name before it is established.
#[derive(Default)]
pub(crate) struct Table {
    /// By [`Conn::slot`].
    entries: Vec<Option<(Conn, Option<Box<Session>>)>>,
}

impl Table {
    /// Takes a connection in, in the place of any that had its slot.
    pub(crate) fn insert(&mut self, conn: Conn, session: Option<Session>) {
        if conn.slot() >= self.entries.len() {
            self.entries.resize_with(conn.slot() + 1, || None);
        }
        self.entries[conn.slot()] = Some((conn, session.map(Box::new)));
    }

    /// Whether the connection is one of ours, established or not.
    pub(crate) fn knows(&self, conn: Conn) -> bool {
        matches!(self.entries.get(conn.slot()), Some(Some((own, _))) if *own == conn)
    }

    #[inline]
    pub(crate) fn get(&self, conn: Conn) -> Option<&Session> {
        let (own, session) = self.entries.get(conn.slot())?.as_ref()?;
        session.as_deref().filter(|_| *own == conn)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, conn: Conn) -> Option<&mut Session> {
        let (own, session) = self.entries.get_mut(conn.slot())?.as_mut()?;
        session.as_deref_mut().filter(|_| *own == conn)
    }

    /// Forgets a connection; returns whether there was one, and its session if it had come so far.
    pub(crate) fn remove(&mut self, conn: Conn) -> Option<Option<Box<Session>>> {
        let entry = self.entries.get_mut(conn.slot())?;
        entry.take_if(|(own, _)| *own == conn).map(|(_, session)| session)
    }
}
