//! Streams and the frames of their requests.

use assay_h2::Code::{self, *};
use assay_h2::frame::{Head, flag};

use super::connection::{Block, Connection, End, Taken};

/// Bytes and frames of a field block that it takes.
const BLOCK_BYTES: usize = 64 << 10;
const BLOCK_FRAMES: usize = 1000;

/// A stream under way.
pub(super) struct Stream {
    /// Whether its request is still to come.
    pub(super) is_open: bool,
    pub(super) window: i64,
    /// What is left of the body of its answer.
    pub(super) answer: Option<Vec<u8>>,
    /// The status of the answer that it will get when its request has come whole.
    pub(super) status: u16,
    /// The length that was told.
    pub(super) length: Option<u64>,
    received: u64,
    frames: usize,
}

/// How a stream has ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Closed {
    Answered,
    ByClient,
    ByUs,
}

impl Stream {
    pub(super) fn new(window: i64, end_stream: bool) -> Self {
        Self { is_open: !end_stream, window, answer: None, status: 200, length: None, received: 0, frames: 0 }
    }
}

impl Connection {
    pub(super) fn take_data(&mut self, head: &Head, payload: &[u8]) -> Taken {
        let id = head.stream;
        if id == 0 && self.breaks("h2-error-silences") {
            self.say_why(ProtocolError);
            return Ok(());
        }
        if self.wrong(id == 0, &["h2-data-on-zero"], ProtocolError)? {
            return Ok(());
        }
        self.right(head.len == assay_h2::frame::FRAME_BYTES, "h2-data-longest")?;
        let padded = head.has(flag::PADDED);
        let Some(bytes) = self.unpadded(padded, payload, "h2-data-padding-too-long")? else { return Ok(()) };
        self.right(padded && !bytes.is_empty(), "h2-data-padded")?;
        self.right(padded && bytes.is_empty(), "h2-data-padding-alone")?;
        self.right(head.len == 0 && !head.has(flag::END_STREAM), "h2-data-empty")?;
        if self.late(id, ["h2-closed-data", "h2-reset-data", "h2-idle-data", "h2-half-closed-data"])? {
            return Ok(());
        }
        let first_open = self.streams.iter().find(|(_, stream)| stream.is_open).map(|(id, _)| *id);
        self.right(first_open.is_some_and(|first| first != id), "h2-streams-interleaved")?;
        let Some(stream) = self.streams.get_mut(&id) else { return Ok(()) };
        stream.received += bytes.len() as u64;
        stream.frames += 1;
        let many = stream.frames > 10;
        self.right(many, "h2-data-parts")?;
        self.give_back(id, head.len);
        if head.has(flag::END_STREAM) { self.end_request(id, "") } else { self.check_length_so_far(id) }
    }

    fn check_length_so_far(&mut self, id: u32) -> Taken {
        let Some(stream) = self.streams.get(&id) else { return Ok(()) };
        let is_wrong = stream.length.is_some_and(|length| stream.received > length);
        if is_wrong && !self.breaks("h2-length-of-parts") { self.reset(id, ProtocolError) } else { Ok(()) }
    }

    /// The request has come whole, perhaps with trailers, of which a rule may speak.
    pub(super) fn end_request(&mut self, id: u32, trailers: &str) -> Taken {
        let Some(stream) = self.streams.get_mut(&id) else { return Ok(()) };
        stream.is_open = false;
        let (received, frames, status) = (stream.received, stream.frames, stream.status);
        let rule = match stream.length {
            Some(told) if told < received && frames > 1 => "h2-length-of-parts",
            Some(told) if told < received => "h2-length-too-short",
            Some(told) if told > received && !trailers.is_empty() => "h2-length-before-trailers",
            Some(told) if told > received && frames == 0 => "h2-length-without-body",
            Some(told) if told > received => "h2-length-too-long",
            _ => "",
        };
        if !rule.is_empty() && !self.breaks(rule) {
            return self.reset(id, ProtocolError);
        }
        if !trailers.is_empty()
            && (self.breaks("h2-trailers") || (frames == 0 && self.breaks("h2-trailers-alone")))
        {
            return self.reset(id, ProtocolError);
        }
        if self.streams.get(&id).is_some_and(|stream| stream.answer.is_none()) {
            self.answer(id, status, true);
        }
        Ok(())
    }

    /// Whether a frame comes for a stream that takes none, and is overlooked or objected to. The rules are those of a stream
    /// that was answered, reset by the client, never opened, and that is answered.
    fn late(&mut self, id: u32, rules: [&str; 4]) -> Result<bool, End> {
        let [answered, reset, idle, half_closed] = rules;
        match (self.streams.get(&id), self.closed.get(&id)) {
            (Some(stream), _) if stream.is_open => Ok(false),
            (Some(_), _) => self.spoil(id, half_closed),
            (None, Some(Closed::Answered)) => self.spoil(id, answered),
            (None, Some(Closed::ByClient)) => self.spoil(id, reset),
            (None, Some(Closed::ByUs)) => Ok(true),
            (None, None) => self.wrong(true, &[idle], ProtocolError),
        }
    }

    fn spoil(&mut self, id: u32, rule: &str) -> Result<bool, End> {
        if !self.breaks(rule) {
            let how = self.closed.get(&id).copied();
            self.reset(id, StreamClosed)?;
            self.closed.insert(id, how.unwrap_or(Closed::ByUs));
        }
        Ok(true)
    }

    /// A payload without its padding; nothing where that is wrong and overlooked.
    fn unpadded<'p>(&self, padded: bool, payload: &'p [u8], rule: &str) -> Result<Option<&'p [u8]>, End> {
        if !padded {
            return Ok(Some(payload));
        }
        let within = || {
            let (padding, rest) = payload.split_first()?;
            rest.get(..rest.len().checked_sub(usize::from(*padding))?)
        };
        let bytes = within();
        self.wrong(bytes.is_none(), &[rule], ProtocolError)?;
        Ok(bytes)
    }

    pub(super) fn take_headers(&mut self, head: &Head, payload: &[u8]) -> Taken {
        if self.wrong(head.stream == 0, &["h2-headers-on-zero"], ProtocolError)? {
            return Ok(());
        }
        let (padded, prioritised) = (head.has(flag::PADDED), head.has(flag::PRIORITY));
        let Some(mut block) = self.unpadded(padded, payload, "h2-headers-padding-too-long")? else {
            return Ok(());
        };
        self.right(padded, "h2-headers-padded")?;
        self.right(padded && payload[0] == 255, "h2-headers-padded-most")?;
        if prioritised {
            self.right(!padded, "h2-headers-priority")?;
            self.right(padded, "h2-headers-priority-padded")?;
            if self.wrong(block.len() < 5, &["h2-headers-priority-cut"], FrameSizeError)? {
                return Ok(());
            }
            let on = u32::from_be_bytes([block[0], block[1], block[2], block[3]]);
            self.wrong(on == head.stream, &["h2-headers-priority-of-itself"], ProtocolError)?;
            block = &block[5..];
        }
        let is_whole = head.has(flag::END_HEADERS);
        self.right(!is_whole, "h2-continuation")?;
        self.right(!is_whole && block.is_empty(), "h2-continuation-all")?;
        let forgets = !is_whole && self.breaks("h2-headers-end-behind-continuation");
        let end_stream = head.has(flag::END_STREAM) && !forgets;
        let block = Block { stream: head.stream, end_stream, bytes: block.to_vec(), frames: 0 };
        if is_whole {
            return self.take_block(&block);
        }
        self.block = Some(block);
        Ok(())
    }

    pub(super) fn take_continuation(&mut self, head: &Head, payload: &[u8]) -> Taken {
        let Some(mut block) = self.block.take() else { return Ok(()) };
        block.bytes.extend_from_slice(payload);
        block.frames += 1;
        let is_whole = head.has(flag::END_HEADERS);
        self.right(block.frames > 1, "h2-continuations")?;
        self.right(payload.is_empty(), "h2-continuation-empty")?;
        self.right(block.bytes.len() > 20_000, "h2-headers-long")?;
        let is_flood = block.frames > BLOCK_FRAMES || block.bytes.len() > BLOCK_BYTES;
        let overlooked = self.wrong(is_flood, &["h2-continuation-flood", "h2-head-huge"], EnhanceYourCalm)?;
        match is_whole {
            true if overlooked => Ok(()),
            true => self.take_block(&block),
            false => {
                self.block = Some(block);
                Ok(())
            }
        }
    }

    /// A request, or the trailers of one.
    fn take_block(&mut self, block: &Block) -> Taken {
        let id = block.stream;
        if self.streams.get(&id).is_some_and(|stream| stream.is_open) {
            return self.take_trailers(block);
        }
        let is_known = self.streams.contains_key(&id) || self.closed.contains_key(&id);
        if self.closed.get(&id) == Some(&Closed::ByUs) {
            // What it tells counts in the table all the same (RFC 9113 §4.3).
            return self.decode(&block.bytes).map(drop);
        }
        if is_known {
            let rules = ["h2-closed-headers", "h2-reset-headers", "", "h2-half-closed-headers"];
            return self.late(id, rules).map(drop);
        }
        self.take_request(block)
    }

    pub(super) fn take_reset(&mut self, head: &Head, payload: &[u8]) -> Taken {
        let id = head.stream;
        if self.wrong(id == 0, &["h2-reset-on-zero"], ProtocolError)? {
            return Ok(());
        }
        self.wrong(head.len < 4, &["h2-reset-short"], FrameSizeError)?;
        self.wrong(head.len > 4, &["h2-reset-long"], FrameSizeError)?;
        let Ok(code) = <[u8; 4]>::try_from(payload) else { return Ok(()) };
        let is_known = !matches!(Code::of(u32::from_be_bytes(code)), Code::Unknown(_));
        self.right(!is_known, "h2-reset-code")?;
        self.right(self.closed.contains_key(&id), "h2-closed-reset")?;
        if self.closed.contains_key(&id) {
            return Ok(());
        }
        let Some(stream) = self.streams.get(&id) else {
            return self.wrong(true, &["h2-idle-reset"], ProtocolError).map(drop);
        };
        if !stream.is_open && self.breaks("h2-half-closed-reset") {
            return Ok(());
        }
        self.right(true, "h2-reset-of-request")?;
        if self.breaks("h2-hpack-remembers-reset") {
            self.decoder = assay_h2::hpack::Decoder::new(4096);
        }
        self.close(id, Closed::ByClient);
        Ok(())
    }

    pub(super) fn take_priority(&mut self, head: &Head, payload: &[u8]) -> Taken {
        let id = head.stream;
        if self.wrong(id == 0, &["h2-priority-on-zero"], ProtocolError)? {
            return Ok(());
        }
        let Ok([a, b, c, d, weight]) = <[u8; 5]>::try_from(payload) else {
            let rule = if head.len < 5 { "h2-priority-short" } else { "h2-priority-long" };
            return if self.breaks(rule) { Ok(()) } else { self.reset(id, FrameSizeError) };
        };
        let on = u32::from_be_bytes([a, b, c, d]);
        self.right(weight == 0, "h2-priority-least")?;
        self.right(weight == 255, "h2-priority-most")?;
        self.right(on == 99, "h2-priority-dependent")?;
        self.right(on >> 31 == 1, "h2-priority-exclusive")?;
        self.right(id == 99, "h2-priority-idle")?;
        self.right(self.closed.get(&id) == Some(&Closed::Answered), "h2-closed-priority")?;
        self.right(self.closed.get(&id) == Some(&Closed::ByClient), "h2-reset-priority")?;
        let is_half_closed = self.streams.get(&id).is_some_and(|stream| !stream.is_open);
        self.right(is_half_closed, "h2-half-closed-priority")?;
        if self.breaks("h2-stream-priority-before") {
            self.highest = self.highest.max(id);
        }
        if on == id && !self.breaks("h2-priority-of-itself") {
            return self.reset(id, ProtocolError);
        }
        Ok(())
    }
}
