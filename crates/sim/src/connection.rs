//! One connection as its engine holds it: what waits to be sent, and what was received and not consumed.

use std::borrow::Cow;
use std::io;
use std::os::unix::fs::FileExt as _;

use assay_engine::{FileRange, RECEIVE_VIEW_BYTES, SEND_QUEUE_BYTES, Statistics};

use crate::network::Net;
use crate::side::SideId;

/// Bytes of a file that are read at once.
const FILE_PIECE_BYTES: u64 = 64 * 1024;

pub(crate) struct Connection {
    pub(crate) side: SideId,
    /// Our request to connect was not answered yet.
    pub(crate) is_connecting: bool,
    /// Bytes received; those before `consumed` are done with.
    view: Vec<u8>,
    consumed: usize,
    /// Bytes to drop, beyond those of the view.
    pub(crate) to_skip: u64,
    /// Bytes accepted that the network had no room for.
    queue: Vec<u8>,
    /// What leaves behind the queue.
    file: Option<FileRange>,
    /// The user is to be told when the queue has drained.
    owes_room: bool,
    /// Our direction ends when the queue has drained.
    ends_when_drained: bool,
    /// Our direction has ended.
    pub(crate) is_over: bool,
    /// The user knows that the peer sends no more, or is about to.
    pub(crate) end_told: bool,
    /// A [`Readable`](assay_engine::Event::Readable) is among the events for the next poll.
    pub(crate) is_announced: bool,
    /// The view is full, so nothing can be received until some of it is consumed.
    pub(crate) is_starved: bool,
    /// Broken; its last event is on the way.
    pub(crate) is_broken: bool,
}

/// What came of letting the queue leave.
pub(crate) enum Drained {
    /// The queue is empty, and the user waits to hear so.
    Yes,
    /// Nothing to tell.
    Quiet,
    /// The file could not be read to its end.
    Broken(io::Error),
}

impl Connection {
    pub(crate) fn new(side: SideId, is_connecting: bool) -> Self {
        Self {
            side,
            is_connecting,
            view: Vec::new(),
            consumed: 0,
            to_skip: 0,
            queue: Vec::new(),
            file: None,
            owes_room: false,
            ends_when_drained: false,
            is_over: false,
            end_told: false,
            is_announced: false,
            is_starved: false,
            is_broken: false,
        }
    }

    pub(crate) fn view(&self) -> &[u8] {
        &self.view[self.consumed..]
    }

    pub(crate) fn consume(&mut self, n: usize) {
        self.consumed = (self.consumed + n).min(self.view.len());
        if self.consumed == self.view.len() {
            self.view.clear();
            self.consumed = 0;
        }
    }

    /// Takes what has arrived into the view, as far as there is room.
    pub(crate) fn receive(&mut self, net: &mut Net, stats: &mut Statistics) {
        stats.receives += 1;
        self.view.drain(..std::mem::take(&mut self.consumed));
        let room = RECEIVE_VIEW_BYTES.saturating_sub(self.view.len());
        stats.received_bytes += net.receive(self.side, Some(&mut self.view), room) as u64;
        self.is_starved = self.view.len() >= RECEIVE_VIEW_BYTES;
    }

    /// Whether all that the peer will ever send was received, and the user is now to be told so.
    pub(crate) fn notes_end(&mut self, net: &mut Net) -> bool {
        let side = net.side(self.side);
        let is_end = side.has_ended && side.inbox.is_empty() && !self.end_told;
        self.end_told |= is_end;
        is_end
    }

    /// Drops the next `n` bytes: those of the view now, the rest as they arrive.
    pub(crate) fn skip(&mut self, n: u64) {
        let held = (self.view().len() as u64).min(n);
        self.consume(held as usize);
        self.to_skip = self.to_skip.saturating_add(n - held);
    }

    /// Drops what has arrived of the bytes to skip.
    pub(crate) fn drop_arrived(&mut self, net: &mut Net, stats: &mut Statistics) {
        while self.to_skip > 0 {
            let most = usize::try_from(self.to_skip).unwrap_or(usize::MAX);
            let dropped = net.receive(self.side, None, most) as u64;
            stats.received_bytes += dropped;
            self.to_skip -= dropped;
            if dropped == 0 {
                return;
            }
        }
    }

    /// Bytes that have still to leave, those of the file included.
    pub(crate) fn queued(&self) -> u64 {
        self.queue.len() as u64 + self.file.as_ref().map_or(0, |range| range.len)
    }

    /// Sends or queues the parts; returns the bytes accepted.
    pub(crate) fn send(&mut self, net: &mut Net, parts: &[&[u8]], stats: &mut Statistics) -> usize {
        let whole = match parts {
            [one] => Cow::Borrowed(*one),
            parts => Cow::Owned(parts.concat()),
        };
        if whole.is_empty() {
            return 0;
        }
        stats.sends += 1;
        let sent = if self.is_connecting || self.queued() > 0 { 0 } else { net.send(self.side, &whole) };
        stats.sent_bytes += sent as u64;
        if sent == whole.len() {
            return sent;
        }
        self.owes_room = true;
        let room = SEND_QUEUE_BYTES.saturating_sub(self.queue.len());
        if whole.len() - sent > room || self.file.is_some() {
            return sent;
        }
        self.queue.extend_from_slice(&whole[sent..]);
        whole.len()
    }

    /// Sends the parts and the range behind them, as far as there is room; refused while something is queued.
    pub(crate) fn send_file(
        &mut self,
        net: &mut Net,
        parts: &[&[u8]],
        range: FileRange,
        stats: &mut Statistics,
    ) -> io::Result<bool> {
        if self.is_connecting || self.queued() > 0 {
            self.owes_room = true;
            return Ok(false);
        }
        self.queue = parts.concat();
        self.file = Some(range).filter(|range| range.len > 0);
        let drained = self.drain(net, stats);
        self.owes_room = self.queued() > 0;
        if let Drained::Broken(error) = drained { Err(error) } else { Ok(true) }
    }

    /// Lets the queue and the file leave as far as there is room.
    pub(crate) fn drain(&mut self, net: &mut Net, stats: &mut Statistics) -> Drained {
        if self.is_connecting {
            return Drained::Quiet;
        }
        while self.queued() > 0 {
            if self.queue.is_empty()
                && let Err(error) = self.read_ahead()
            {
                self.file = None;
                return Drained::Broken(error);
            }
            stats.sends += 1;
            let sent = net.send(self.side, &self.queue);
            stats.sent_bytes += sent as u64;
            self.queue.drain(..sent);
            if !self.queue.is_empty() {
                return Drained::Quiet;
            }
        }
        if std::mem::take(&mut self.ends_when_drained) {
            self.end(net);
        }
        if std::mem::take(&mut self.owes_room) { Drained::Yes } else { Drained::Quiet }
    }

    /// Gives the queue to the network, as a kernel keeps what it has not sent of a closed connection. What was to leave of a file
    /// behind it is lost. Returns the bytes given.
    pub(crate) fn hand_over(&mut self, net: &mut Net) -> usize {
        let queue = if self.is_connecting { Vec::new() } else { std::mem::take(&mut self.queue) };
        net.send_beyond_window(self.side, &queue);
        queue.len()
    }

    /// Ends our direction, after the queue.
    pub(crate) fn shutdown(&mut self, net: &mut Net) {
        if self.queued() > 0 || self.is_connecting {
            self.ends_when_drained = true;
        } else {
            self.end(net);
        }
    }

    fn end(&mut self, net: &mut Net) {
        if !std::mem::replace(&mut self.is_over, true) {
            net.end(self.side);
        }
    }

    /// Moves the next piece of the file into the queue.
    fn read_ahead(&mut self) -> io::Result<()> {
        let Some(range) = &mut self.file else { return Ok(()) };
        let n = range.len.min(FILE_PIECE_BYTES);
        self.queue.resize(n as usize, 0);
        if let Err(error) = range.file.read_exact_at(&mut self.queue, range.offset) {
            self.queue.clear();
            return Err(error);
        }
        range.offset += n;
        range.len -= n;
        self.file.take_if(|range| range.len == 0);
        Ok(())
    }
}
