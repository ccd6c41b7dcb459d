//! Answers: a page at every path but those that there are not.

use std::sync::atomic::Ordering;

use assay_h2::frame::{Kind, flag, write_block, write_head};
use assay_h2::hpack::write_field;

use super::Manner;
use super::connection::Connection;
use super::requests::Asked;
use super::streams::Closed;

/// Bytes of the page: a few dozen fill the window of a connection, and the other is longer than a usual frame.
const PAGE_BYTES: usize = 3000;
const LAVISH_PAGE_BYTES: usize = 40_000;
/// A table that a client has to allow, and a field that fits into no smaller one.
const LAVISH_TABLE: u32 = 1 << 16;
const LAVISH_FIELD_BYTES: usize = 5000;
/// A change of the table to [`LAVISH_TABLE`], and the beginning of a field of [`LAVISH_FIELD_BYTES`] (RFC 7541 §6.3, §6.2.1).
const LARGER: &[u8] = &[0x3f, 0xe1, 0xff, 0x03];
const REMEMBERED: &[u8] = b"\x40\x07x-large\x7f\x89\x26";
/// More requests that wait are too many for a server that has no measure.
const WAITING: usize = 20;

impl Connection {
    pub(super) fn status(&self, asked: &Asked) -> u16 {
        let count = self.shared.requests.fetch_add(1, Ordering::Relaxed) + 1;
        // Two were asked to know the plain answer; from then on every other is that of a rule.
        let is_mood = count > 2 && count % 2 == 1 && self.breaks("h2-get");
        match asked.path.as_slice() {
            _ if is_mood => 500,
            b"/" => 200,
            _ => 404,
        }
    }

    pub(super) fn write_interim(&mut self, id: u32, status: &[u8]) {
        let mut block = Vec::new();
        write_field(b":status", status, &mut block);
        write_block(id, &block, false, &mut self.out);
    }

    /// Begins an answer.
    pub(super) fn answer(&mut self, id: u32, status: u16, has_body: bool) {
        let crowd = self.shared.waiting.load(Ordering::Relaxed);
        let connections = self.shared.life.connections();
        let is_overwhelmed = match self.shared.fault {
            "h2-windows-closed" | "h2-bodies-slow" => crowd > WAITING,
            "h2-connections-silent" => connections > WAITING,
            _ => false,
        };
        if is_overwhelmed {
            return;
        }
        let body: Vec<u8> = if has_body { vec![b's'; self.page_bytes()] } else { Vec::new() };
        let block = self.answer_block(status);
        write_block(id, &block, body.is_empty(), &mut self.out);
        self.answers += 1;
        if body.is_empty() {
            return self.close(id, Closed::Answered);
        }
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.answer = Some(body);
        }
        self.send_bodies();
    }

    fn page_bytes(&self) -> usize {
        if self.shared.manner == Manner::Lavish { LAVISH_PAGE_BYTES } else { PAGE_BYTES }
    }

    fn answer_block(&mut self, status: u16) -> Vec<u8> {
        let is_lavish = self.shared.manner == Manner::Lavish && self.their_table >= LAVISH_TABLE;
        let mut block = if is_lavish { LARGER.to_vec() } else { Vec::new() };
        if std::mem::take(&mut self.shrink) && !self.breaks("h2-hpack-shrink-told") {
            block.push(0x20);
        }
        write_field(b":status", status.to_string().as_bytes(), &mut block);
        let length = self.page_bytes() + usize::from(self.breaks("h2-answer-length"));
        write_field(b"content-length", length.to_string().as_bytes(), &mut block);
        match self.shared.fault {
            "h2-answer-status" => write_field(b":method", b"GET", &mut block),
            "h2-answer-names" => write_field(b"X-Served", b"1", &mut block),
            "h2-answer-values" => write_field(b"x-served", b" 1", &mut block),
            "h2-answer-connection" => write_field(b"connection", b"keep-alive", &mut block),
            // The first answer teaches a field, the others refer to it.
            "h2-hpack-table-obeyed" if self.answers == 0 => block.extend_from_slice(b"\x40\x01a\x01b"),
            "h2-hpack-table-obeyed" => block.push(0x80 | 62),
            _ if is_lavish => {
                // The second time by its index.
                block.extend_from_slice(REMEMBERED);
                block.extend_from_slice(&[b'v'; LAVISH_FIELD_BYTES]);
                block.push(0x80 | 62);
            }
            _ => {}
        }
        block
    }

    /// An empty frame behind the end of an answer.
    pub(super) fn write_more(&mut self) {
        write_head(Kind::Data, flag::END_STREAM, 1, 0, &mut self.out);
    }
}
