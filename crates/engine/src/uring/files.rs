//! Files on their way out: moved by the kernel where the connection has a descriptor of its own, else copied.
//!
//! io_uring has no sendfile, and its splice always runs on a worker thread. A direct descriptor has no number that
//! sendfile(2) would take, so a connection that sends a long range is given one (`IORING_OP_FIXED_FD_INSTALL`, Linux 6.8) and
//! keeps it. Where there is none left to give, or the range is short, its bytes are copied into the queue.

use std::os::fd::{AsFd, FromRawFd, OwnedFd};

use io_uring::opcode;
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::net::SendFlags;

use super::Uring;
use super::connection::{Phase, SEND_AT_ONCE, UringConnection};
use super::request::{Request, file, outcome, pack};
use crate::file::FileRange;
use crate::{Conn, Statistics, sockets};

/// A range no longer than this is copied: for so few bytes a system call of its own costs more.
const COPIED_BYTES: u64 = 16 * 1024;

impl Uring {
    /// Queues the parts and the range behind them, unless something waits for room.
    pub(super) fn enqueue_file(&mut self, conn: Conn, parts: &[&[u8]], range: FileRange) -> bool {
        let Some(c) = self.connections.get_mut(conn).filter(|c| c.phase != Phase::Broken) else {
            return true;
        };
        if c.is_full() {
            c.owes_writable = true;
            return false;
        }
        c.provide_queue(&mut self.spare);
        parts.iter().for_each(|part| c.queue.extend_from_slice(part));
        let long = range.len > COPIED_BYTES;
        c.file = Some(range).filter(|range| range.len > 0);
        if long {
            self.provide_descriptor(conn);
            self.transfer(conn);
        }
        if let Some(c) = self.connections.get_mut(conn) {
            c.owes_writable |= c.is_full();
        }
        self.mark_dirty(conn);
        true
    }

    /// Sends the queue and moves the file behind it, as far as there is room, if the connection has a descriptor.
    pub(super) fn transfer(&mut self, conn: Conn) {
        let Some(c) = self.connections.get_mut(conn) else { return };
        if c.file.is_none() || c.descriptor.is_none() || c.blocked || c.phase != Phase::Open {
            return;
        }
        match transfer(c, &mut self.stats) {
            Ok(()) if c.file.is_some() => self.wait_for_room(conn),
            Ok(()) => {}
            Err(error) => self.fail_file(conn, error),
        }
    }

    /// Copies what comes next of the file behind the queue, if the connection has no descriptor.
    pub(super) fn refill(&mut self, conn: Conn) {
        let wants =
            |c: &&mut UringConnection| c.file.is_some() && c.descriptor.is_none() && c.queue_sent == 0;
        let Some(c) = self.connections.get_mut(conn).filter(wants) else { return };
        c.provide_queue(&mut self.spare);
        let Some(range) = &mut c.file else { return };
        let room = SEND_AT_ONCE.saturating_sub(c.queue.len());
        let copied = range.copy_onto(&mut c.queue, room);
        if range.len == 0 {
            c.file = None;
        }
        if let Err(error) = copied {
            self.fail_file(conn, error);
        }
    }

    /// A file that cannot be sent to its end must not look as if it had been: the connection is reset.
    fn fail_file(&mut self, conn: Conn, error: Errno) {
        if let Some(c) = self.connections.get_mut(conn) {
            c.file = None;
            c.queue.clear();
            c.queue_sent = 0;
        }
        self.reset_on_close(conn);
        self.break_off(conn, sockets::send_reason(error));
    }

    /// Gives the connection a descriptor, as long as there are some to give.
    fn provide_descriptor(&mut self, conn: Conn) {
        let wants = |c: &UringConnection| c.phase == Phase::Open && c.descriptor.is_none();
        if self.descriptors >= self.descriptors_at_most || !self.connections.get(conn).is_some_and(wants) {
            return;
        }
        let descriptor = self.install_descriptor(conn).and_then(|fd| {
            // sendfile(2) waits for room otherwise. Requests of the ring wait in any case.
            rustix::fs::fcntl_setfl(&fd, OFlags::RDWR | OFlags::NONBLOCK)?;
            Ok(fd)
        });
        self.stats.other_calls += 1;
        match descriptor {
            Ok(fd) => {
                self.descriptors += 1;
                if let Some(c) = self.connections.get_mut(conn) {
                    c.descriptor = Some(fd);
                }
            }
            // The kernel is too old, or descriptors have run out: from now on no more than are in use.
            Err(_) => self.descriptors_at_most = self.descriptors,
        }
    }

    /// A descriptor of the connection in the process's own table.
    pub(super) fn install_descriptor(&mut self, conn: Conn) -> Result<OwnedFd, Errno> {
        self.push(opcode::FixedFdInstall::new(file(conn), 0).build(), Request::Install, conn);
        self.flush();
        let ours = |c: &super::Completion| c.data == pack(Request::Install, conn);
        let at = self.completions.iter().position(ours).ok_or(Errno::AGAIN)?;
        installed_descriptor(self.completions.remove(at).result)
    }

    /// Takes the connection's descriptor back.
    pub(super) fn close_descriptor(&mut self, c: &mut UringConnection) {
        if c.descriptor.take().is_some() {
            self.descriptors -= 1;
            self.stats.other_calls += 1;
        }
    }
}

/// The descriptor that an install came to.
pub(super) fn installed_descriptor(result: i32) -> Result<OwnedFd, Errno> {
    let number = outcome(result)?;
    // SAFETY: the kernel has just made this descriptor for us, and nobody else has its number.
    Ok(unsafe { OwnedFd::from_raw_fd(number as i32) })
}

fn transfer(c: &mut UringConnection, stats: &mut Statistics) -> Result<(), Errno> {
    let (Some(socket), Some(range)) = (&c.descriptor, &mut c.file) else { return Ok(()) };
    while c.queue_sent < c.queue.len() {
        // The head leaves in one segment with the file's first bytes.
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT | SendFlags::MORE;
        stats.sends += 1;
        match rustix::net::send(socket.as_fd(), &c.queue[c.queue_sent..], flags) {
            Ok(n) => {
                c.queue_sent += n;
                stats.sent_bytes += n as u64;
            }
            Err(Errno::AGAIN) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    c.queue.clear();
    c.queue_sent = 0;
    range.move_into(socket, stats)?;
    if range.len == 0 {
        c.file = None;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;
    use std::net::{Ipv4Addr, TcpStream};
    use std::sync::Arc;

    use crate::{Config, Engine, Event, FileRange, Uring, clock};
    use assay_model::units::Nanos;

    #[test]
    fn a_long_range_is_copied_when_there_is_no_descriptor_to_give() {
        let Ok(mut engine) = Uring::new(Config { max_connections: 1 }) else {
            return assay_skip::skip("uring", "no io_uring here");
        };
        engine.descriptors_at_most = 0;
        let expected: Vec<u8> = (0..8_000_000u32).map(|i| (i / 7) as u8).collect();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("f"), &expected).unwrap();
        let file = Arc::new(File::open(folder.path().join("f")).unwrap());
        let mut peer = TcpStream::connect(engine.listen((Ipv4Addr::LOCALHOST, 0).into()).unwrap()).unwrap();
        let reader = std::thread::spawn(move || {
            let mut got = Vec::new();
            peer.read_to_end(&mut got).unwrap();
            got
        });
        let deadline = clock::now() + Nanos::from_millis(10_000);
        let mut events = Vec::new();
        while !reader.is_finished()
            && engine.poll(clock::now() + Nanos::from_millis(1), &mut events).unwrap() < deadline
        {
            for &event in &events {
                if let Event::Accepted(conn) = event {
                    let range = FileRange { file: Arc::clone(&file), offset: 0, len: expected.len() as u64 };
                    assert!(engine.send_file(conn, &[], range));
                    engine.shutdown(conn);
                }
            }
        }
        assert!(reader.join().unwrap() == expected);
        assert_eq!(engine.descriptors, 0);
    }
}
