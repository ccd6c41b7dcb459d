//! Requests to the kernel, and the names by which their completions are known.

use io_uring::{opcode, squeue, types};
use rustix::io::Errno;

use crate::Conn;
use crate::slots::GENERATIONS;

/// What a request was for; kept in the topmost bits of its user data.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub(super) enum Request {
    /// A request whose completion means nothing.
    Silent = 0,
    /// A peer connected.
    Accept = 1,
    /// The connection that we asked for was made.
    Connect = 2,
    /// Bytes arrived.
    Receive = 3,
    /// A send did not take everything.
    Send = 4,
    /// There is room to send again.
    Room = 5,
    /// Bytes arrived and were dropped.
    Skip = 6,
    /// The connection has a descriptor of its own.
    Install = 7,
}

/// Request in the top four bits, then the generation, then the slot.
pub(super) fn pack(request: Request, conn: Conn) -> u64 {
    (request as u64) << 60 | u64::from(conn.generation) << 32 | u64::from(conn.slot)
}

pub(super) fn unpack(data: u64) -> (Request, Conn) {
    let request = match data >> 60 {
        1 => Request::Accept,
        2 => Request::Connect,
        3 => Request::Receive,
        4 => Request::Send,
        5 => Request::Room,
        6 => Request::Skip,
        7 => Request::Install,
        _ => Request::Silent,
    };
    (request, Conn { slot: data as u32, generation: (data >> 32) as u32 & GENERATIONS })
}

/// The connection's direct descriptor has the number of its slot.
pub(super) fn file(conn: Conn) -> types::Fixed {
    types::Fixed(conn.slot)
}

/// A send that takes all it can without waiting, and reports back only if that is not all.
pub(super) fn send_entry(conn: Conn, bytes: &[u8]) -> squeue::Entry {
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT | libc::MSG_WAITALL;
    opcode::Send::new(file(conn), bytes.as_ptr(), bytes.len() as u32).flags(flags).build()
}

/// A completion's result: a count, or a negated error number.
pub(super) fn outcome(result: i32) -> Result<u32, Errno> {
    u32::try_from(result).map_err(|_| Errno::from_raw_os_error(-result))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_data_survives_the_round_trip() {
        for request in [
            Request::Silent,
            Request::Accept,
            Request::Connect,
            Request::Receive,
            Request::Send,
            Request::Room,
            Request::Skip,
            Request::Install,
        ] {
            let conn = Conn { slot: u32::MAX - 1, generation: GENERATIONS };
            let (back, name) = unpack(pack(request, conn));
            assert!(back == request && name == conn);
        }
    }
}
