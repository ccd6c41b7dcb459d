//! One connection of the epoll engine: its socket, what waits to be sent, what was received but not consumed.

use std::io::{Error, IoSlice};
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown};

use crate::file::FileRange;
use crate::{SEND_QUEUE_BYTES, Statistics, sockets};

/// Parts of one send that go into one system call.
const PARTS_AT_ONCE: usize = 16;
/// Receives after a skip that take little: who skips once will do so again, right behind the next head.
pub(super) const SHORT_RECEIVES: u8 = 4;
/// Bytes that such a receive takes at most.
const SHORT_RECEIVE_BYTES: usize = 16 * 1024;
/// Bytes that one system call skips at most.
const SKIP_AT_ONCE: u64 = 1 << 30;

pub(super) struct EpollConnection {
    pub(super) socket: OwnedFd,
    /// Bytes accepted from the user that the kernel had no room for.
    queue: Vec<u8>,
    /// How much of `queue` has left.
    queue_sent: usize,
    /// What leaves behind the queue.
    file: Option<FileRange>,
    /// Bytes received, not consumed, and moved out of the engine's buffer to make room for another connection.
    pub(super) stash: Vec<u8>,
    /// Bytes of the stream to drop, beyond those in the view or the stash.
    pub(super) to_skip: u64,
    /// Receives that are to take little: a skip is likely to follow, and what was received by then has been copied.
    pub(super) short_receives: u8,
    /// An [`Event::Readable`](crate::Event::Readable) of it is among those for the next poll.
    pub(super) announced: bool,
    /// `connect` has not finished.
    pub(super) connecting: bool,
    /// The view was full, so that nothing could be received: to be tried again when some was consumed.
    pub(super) starved: bool,
    /// The kernel may hold received bytes: it told so, and no short read has shown otherwise since.
    pub(super) readable: bool,
    /// The peer has ended its direction; what it sent before may still be in the kernel.
    pub(super) peer_ended: bool,
    /// The user knows that it did, or is about to.
    pub(super) eof_told: bool,
    /// Broken; its last event is on the way.
    pub(super) broken: bool,
    /// The user is to be told when the queue has drained.
    owes_writable: bool,
    /// Our direction ends when the queue has drained.
    ends_when_drained: bool,
}

/// What came of letting the queue leave.
pub(super) enum Drained {
    /// The queue is empty, and the user waits to hear so.
    Yes,
    /// Nothing to tell.
    Quiet,
    /// The connection broke.
    Broken(Errno),
}

impl EpollConnection {
    pub(super) fn new(socket: OwnedFd, connecting: bool) -> Self {
        Self {
            socket,
            queue: Vec::new(),
            queue_sent: 0,
            file: None,
            stash: Vec::new(),
            to_skip: 0,
            short_receives: 0,
            announced: false,
            connecting,
            starved: false,
            readable: false,
            peer_ended: false,
            eof_told: false,
            broken: false,
            owes_writable: false,
            ends_when_drained: false,
        }
    }

    /// Bytes that have still to leave, those of the file included.
    pub(super) fn queued(&self) -> u64 {
        let queue = self.queue.len() - self.queue_sent;
        queue as u64 + self.file.as_ref().map_or(0, |range| range.len)
    }

    /// Sends or queues the parts; returns the bytes accepted.
    pub(super) fn send(&mut self, parts: &[&[u8]], stats: &mut Statistics) -> Result<usize, Errno> {
        let total: usize = parts.iter().map(|p| p.len()).sum();
        let more = SendFlags::empty();
        let sent = if self.connecting || self.queued() > 0 { 0 } else { self.send_now(parts, more, stats)? };
        if sent == total {
            return Ok(total);
        }
        self.owes_writable = true;
        // Large parts are not copied: the user keeps them and offers the rest again.
        let room = SEND_QUEUE_BYTES.saturating_sub(self.queue.len() - self.queue_sent);
        if total - sent > room || self.file.is_some() {
            return Ok(sent);
        }
        self.enqueue(parts, sent);
        Ok(total)
    }

    /// Sends the parts and the range behind them, and queues what has no room; refused while something is queued.
    pub(super) fn send_file(
        &mut self,
        parts: &[&[u8]],
        range: FileRange,
        stats: &mut Statistics,
    ) -> Result<bool, Errno> {
        if self.connecting || self.queued() > 0 {
            self.owes_writable = true;
            return Ok(false);
        }
        // The head leaves in one segment with the file's first bytes.
        let sent = self.send_now(parts, SendFlags::MORE, stats)?;
        self.enqueue(parts, sent);
        self.file = Some(range).filter(|range| range.len > 0);
        if self.queue.is_empty() {
            self.move_file(stats)?;
        }
        self.owes_writable = self.queued() > 0;
        Ok(true)
    }

    /// Lets the queue leave as far as the kernel has room.
    pub(super) fn drain(&mut self, stats: &mut Statistics) -> Drained {
        match self.send_queue(stats).and_then(|()| self.move_file(stats)) {
            Ok(()) if self.queued() > 0 => return Drained::Quiet,
            Ok(()) => {}
            Err(error) => return Drained::Broken(error),
        }
        if std::mem::take(&mut self.ends_when_drained) {
            self.end_sending();
        }
        if std::mem::take(&mut self.owes_writable) { Drained::Yes } else { Drained::Quiet }
    }

    /// Sends the queue as far as the kernel has room.
    fn send_queue(&mut self, stats: &mut Statistics) -> Result<(), Errno> {
        let more = if self.file.is_some() { SendFlags::MORE } else { SendFlags::empty() };
        while self.queue_sent < self.queue.len() {
            stats.sends += 1;
            let rest = &self.queue[self.queue_sent..];
            match rustix::net::send(sockets::intact(&self.socket)?, rest, SendFlags::NOSIGNAL | more) {
                Ok(n) => {
                    self.queue_sent += n;
                    stats.sent_bytes += n as u64;
                }
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        self.queue = Vec::new();
        self.queue_sent = 0;
        Ok(())
    }

    /// Moves the file, once the queue before it has left. One that cannot be sent to its end must not look as if it had
    /// been: the connection will be reset.
    fn move_file(&mut self, stats: &mut Statistics) -> Result<(), Errno> {
        let Some(range) = self.file.as_mut().filter(|_| self.queue.is_empty()) else { return Ok(()) };
        let moved = sockets::intact(&self.socket).and_then(|socket| range.move_into(socket, stats));
        if range.len == 0 || moved.is_err() {
            self.file = None;
        }
        moved.inspect_err(|_| sockets::reset_on_close(&self.socket))
    }

    /// Ends our direction, after the queue.
    pub(super) fn shutdown(&mut self) {
        if self.queued() > 0 || self.connecting {
            self.ends_when_drained = true;
        } else {
            self.end_sending();
        }
    }

    /// Receives once into `space`; returns how many bytes came. Keeps the books on what the kernel may still hold.
    pub(super) fn receive(&mut self, space: &mut [u8], stats: &mut Statistics) -> Result<usize, Errno> {
        let most = if self.short_receives > 0 { SHORT_RECEIVE_BYTES } else { space.len() };
        self.short_receives = self.short_receives.saturating_sub(1);
        let room = most.min(space.len());
        let space = &mut space[..room];
        stats.receives += 1;
        match rustix::net::recv(sockets::intact(&self.socket)?, space, RecvFlags::empty()) {
            Ok((_, n)) => {
                // A stream socket that fills less than the space was emptied (epoll(7), edge-triggered use).
                self.readable = n == room;
                self.peer_ended |= n == 0;
                stats.received_bytes += n as u64;
                Ok(n)
            }
            Err(Errno::AGAIN) => {
                self.readable = false;
                Ok(0)
            }
            Err(Errno::INTR) => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Lets the kernel drop what it holds of the bytes to skip. Keeps the books like [`receive`](Self::receive).
    pub(super) fn drop_arrived(&mut self, stats: &mut Statistics) -> Result<(), Errno> {
        while self.to_skip > 0 && self.readable {
            let wanted = self.to_skip.min(SKIP_AT_ONCE);
            stats.receives += 1;
            match drop_received(sockets::intact(&self.socket)?, wanted as usize) {
                Ok(n) => {
                    self.to_skip -= n as u64;
                    self.readable = n as u64 == wanted;
                    self.peer_ended |= n == 0;
                    stats.received_bytes += n as u64;
                }
                Err(Errno::AGAIN) => self.readable = false,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Whether the user has now seen everything the peer will ever send, and was not told.
    pub(super) fn is_at_unannounced_end(&self) -> bool {
        self.peer_ended && !self.readable && !self.eof_told
    }

    /// Sends until the kernel has no room, which it tells when it has some again; returns the bytes that left.
    fn send_now(&mut self, parts: &[&[u8]], more: SendFlags, stats: &mut Statistics) -> Result<usize, Errno> {
        let mut sent = 0;
        for group in parts.chunks(PARTS_AT_ONCE) {
            let whole: usize = group.iter().map(|p| p.len()).sum();
            stats.sends += 1;
            let n = match self.send_group(group, more) {
                Ok(n) => n,
                Err(Errno::AGAIN | Errno::INTR) => 0,
                Err(error) => return Err(error),
            };
            stats.sent_bytes += n as u64;
            sent += n;
            if n < whole {
                break;
            }
        }
        Ok(sent)
    }

    fn send_group(&self, parts: &[&[u8]], more: SendFlags) -> Result<usize, Errno> {
        let flags = SendFlags::NOSIGNAL | more;
        let socket = sockets::intact(&self.socket)?;
        if let [one] = parts {
            return rustix::net::send(socket, one, flags);
        }
        let mut slices = [IoSlice::new(&[]); PARTS_AT_ONCE];
        for (slice, part) in slices.iter_mut().zip(parts) {
            *slice = IoSlice::new(part);
        }
        let mut no_control = SendAncillaryBuffer::default();
        rustix::net::sendmsg(socket, &slices[..parts.len()], &mut no_control, flags)
    }

    fn enqueue(&mut self, parts: &[&[u8]], mut skip: usize) {
        for part in parts {
            let from = skip.min(part.len());
            self.queue.extend_from_slice(&part[from..]);
            skip -= from;
        }
    }

    fn end_sending(&mut self) {
        // A connection that is gone has no direction left to end.
        let _ =
            sockets::intact(&self.socket).and_then(|socket| rustix::net::shutdown(socket, Shutdown::Write));
    }
}

/// Drops up to `n` bytes that have arrived, without touching memory (tcp(7), MSG_TRUNC); returns how many.
fn drop_received(socket: &OwnedFd, n: usize) -> Result<usize, Errno> {
    // SAFETY: with MSG_TRUNC a TCP socket writes nothing to the buffer, so it may be null.
    let dropped = unsafe { libc::recv(socket.as_raw_fd(), std::ptr::null_mut(), n, libc::MSG_TRUNC) };
    usize::try_from(dropped).map_err(|_| Errno::from_io_error(&Error::last_os_error()).unwrap_or(Errno::IO))
}
