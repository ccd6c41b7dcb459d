//! Flow control, both ways.

use assay_h2::Code::*;
use assay_h2::frame::{FRAME_BYTES, Head, Kind, flag, write_head, write_reset, write_window_update};

use super::Manner;
use super::connection::{Connection, Taken};
use super::streams::Closed;

const MAX: i64 = i32::MAX as i64;

impl Connection {
    pub(super) fn change_windows(&mut self, value: i64) -> Taken {
        let change = value - self.initial_window;
        self.initial_window = value;
        let (keeps, clamps) = (self.breaks("h2-window-grown"), self.breaks("h2-window-negative"));
        let mut is_wrong = false;
        for stream in self.streams.values_mut().filter(|_| !keeps) {
            stream.window += change;
            is_wrong |= stream.window > MAX;
            if clamps {
                stream.window = stream.window.max(0);
            }
        }
        self.wrong(is_wrong, &["h2-window-overflow-by-settings"], FlowControlError)?;
        self.send_bodies();
        Ok(())
    }

    pub(super) fn take_window_update(&mut self, head: &Head, payload: &[u8]) -> Taken {
        let id = head.stream;
        self.wrong(head.len < 4, &["h2-window-short"], FrameSizeError)?;
        self.wrong(head.len > 4, &["h2-window-long"], FrameSizeError)?;
        let Ok(bytes) = <[u8; 4]>::try_from(payload) else { return Ok(()) };
        self.right(bytes[0] & 0x80 != 0, "h2-reserved-bit-window")?;
        let increment = i64::from(u32::from_be_bytes(bytes) & i32::MAX as u32);
        self.right(id == 0 && increment == 100, "h2-window-update")?;
        if id == 0 {
            self.wrong(increment == 0, &["h2-window-zero-increment"], ProtocolError)?;
            self.window += increment;
            if self.wrong(self.window > MAX, &["h2-window-overflow"], FlowControlError)? {
                self.window = MAX;
            }
            self.send_bodies();
            return Ok(());
        }
        if increment == 0 {
            if self.breaks("h2-window-zero-increment-on-stream") {
                return Ok(());
            }
            return self.reset(id, ProtocolError);
        }
        self.widen(id, increment)
    }

    fn widen(&mut self, id: u32, increment: i64) -> Taken {
        if self.closed.contains_key(&id) {
            return self.right(true, "h2-closed-window");
        }
        let Some(stream) = self.streams.get_mut(&id) else {
            return self.wrong(true, &["h2-idle-window"], ProtocolError).map(drop);
        };
        let is_open = stream.is_open;
        stream.window += increment;
        let overflows = stream.window > MAX;
        self.right(is_open && increment == 100, "h2-window-update-on-stream")?;
        self.right(!is_open && increment > 100, "h2-half-closed-window")?;
        if increment == 1 && self.breaks("h2-window-opened") {
            return Ok(());
        }
        if overflows && !self.breaks("h2-window-overflow-on-stream") {
            return self.reset(id, FlowControlError);
        }
        self.send_bodies();
        Ok(())
    }

    /// Sends what the windows allow.
    pub(super) fn send_bodies(&mut self) {
        let ids: Vec<u32> = self.streams.keys().copied().collect();
        for id in ids {
            while self.send_part(id) {}
        }
    }

    /// Sends one frame of a body; says whether another could follow.
    fn send_part(&mut self, id: u32) -> bool {
        let fault = self.shared.fault;
        let Some(stream) = self.streams.get_mut(&id) else { return false };
        let Some(answer) = &mut stream.answer else { return false };
        let allowed = match (fault, stream.window) {
            ("h2-window-closed", 0) | ("h2-window-of-one", 1) => MAX,
            (_, window) => window,
        };
        let connection = if fault == "h2-window-of-connection" { MAX } else { self.window };
        let longest = if self.shared.manner == Manner::Lavish { self.their_frame } else { FRAME_BYTES };
        let n = allowed.min(connection).clamp(0, longest as i64) as usize;
        let n = n.min(answer.len());
        if n == 0 {
            return false;
        }
        let (is_last, is_early) = (n == answer.len(), stream.is_open);
        write_head(Kind::Data, if is_last { flag::END_STREAM } else { 0 }, id, n, &mut self.out);
        self.out.extend(answer.drain(..n));
        stream.window -= n as i64;
        self.window -= n as i64;
        if is_last && is_early {
            write_reset(id, NoError.number(), &mut self.out);
            self.close(id, Closed::ByUs);
        } else if is_last {
            self.close(id, Closed::Answered);
        }
        !is_last
    }

    /// Lets the client send as many bytes more.
    pub(super) fn give_back(&mut self, id: u32, bytes: usize) {
        if bytes == 0 || self.breaks("h2-window-given-back") {
            return;
        }
        write_window_update(0, bytes as u32, &mut self.out);
        write_window_update(id, bytes as u32, &mut self.out);
    }
}
