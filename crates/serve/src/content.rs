//! The bytes of a file, in memory or on disk.

use std::fs::File;
use std::io;
use std::sync::Arc;

use assay_engine::{Conn, Engine, FileRange};

use crate::files::read_piece;
use crate::site::QUEUED_BYTES;

/// Files no longer than this are held in memory: 4 MiB on each thread at most.
pub(crate) const SHORT_BYTES: u64 = QUEUED_BYTES as u64;

/// The bytes of a file that was found.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// A short file, as it was when it was looked up.
    Memory(Arc<[u8]>),
    /// A long one.
    Open(Arc<File>),
}

impl Content {
    /// Sends `head` and the `len` bytes that begin at `offset`; says whether there are such bytes. Nothing of the
    /// connection is queued, so all of it is accepted.
    pub(crate) fn send(
        self,
        engine: &mut impl Engine,
        conn: Conn,
        head: &[u8],
        offset: u64,
        len: usize,
    ) -> bool {
        match self {
            Self::Memory(bytes) => {
                // A file in memory is not longer than a usize can say.
                let piece = bytes.get(offset as usize..).and_then(|rest| rest.get(..len));
                piece.is_some_and(|piece| engine.send(conn, &[head, piece]) == head.len() + len)
            }
            Self::Open(file) => engine.send_file(conn, &[head], FileRange { file, offset, len: len as u64 }),
        }
    }

    /// The bytes of a file of this length.
    pub(crate) fn of(file: File, len: u64) -> io::Result<Self> {
        if len > SHORT_BYTES {
            return Ok(Self::Open(Arc::new(file)));
        }
        let mut bytes = vec![0; len as usize];
        read_piece(&file, 0, &mut bytes)?;
        Ok(Self::Memory(bytes.into()))
    }
}
