//! One connection of HTTP/2, seen by a client that may say anything: no state machine stands between a rule and the wire.

pub(crate) mod block;
pub(crate) mod frame;
mod heard;
mod reply;
mod transcript;
mod verdicts;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use assay_h2::Code;
use assay_h2::frame::{HEAD_BYTES, Head, PREFACE};

use crate::dialogue::Dialogue;
use crate::objection::{Keeping, Objection, shown};
use crate::target::Target;
use frame::Frame;
use heard::Reader;
pub(crate) use heard::{Field, Heard, Theirs};
pub(crate) use reply::Reply;
use transcript::{Side, Transcript};

/// A window that no answer fills, and that may be opened further.
const WIDE: u32 = 1 << 30;
/// Most that answers and other frames which are waited for together may take in memory.
const TOGETHER_MAX_BYTES: usize = 64 << 20;
const TOO_LONG_TOGETHER: &str =
    "its answers are longer than 64 MiB together; ask for a path with a shorter one";
/// Settings of a client that takes bodies of any length and no pushes.
pub(crate) const USUAL: &[(u16, u32)] = &[(ENABLE_PUSH, 0), (INITIAL_WINDOW, WIDE)];
/// Bytes of the table on either side until it is told otherwise (RFC 9113 §6.5.2).
pub(crate) const USUAL_TABLE: u32 = 4096;
pub(crate) const TABLE_BYTES: u16 = 1;
pub(crate) const ENABLE_PUSH: u16 = 2;
pub(crate) const INITIAL_WINDOW: u16 = 4;
pub(crate) const FRAME_SIZE: u16 = 5;
/// What is said of a server where a rule is about what comes behind the head of a request.
pub(crate) const EARLY: &str = "it answers before the whole request has come";
/// What an objection says of a server that does not know the protocol.
pub(crate) const NOT_SPOKEN: &str = "it does not speak HTTP/2";

/// One connection.
pub(crate) struct Peer {
    talk: Dialogue,
    reader: Reader,
    transcript: Transcript,
    /// How often it has acknowledged SETTINGS.
    acknowledged: usize,
    /// Streams that it has ended.
    ended: BTreeSet<u32>,
    /// The last stream that it takes, where it has said so without an error.
    last: Option<u32>,
    /// The change of the table's size with which our next field block has to begin.
    table_change: Option<Vec<u8>>,
}

impl Peer {
    /// A connection on which nothing has been said.
    pub(crate) fn connect(target: &Target) -> Result<Self, Objection> {
        let talk = Dialogue::open(target)?;
        match talk.agreed() {
            None | Some(b"h2") => {}
            Some(b"") => {
                return Err(Objection::Broken(format!("{NOT_SPOKEN}: over TLS it chose no protocol (ALPN)")));
            }
            Some(other) => {
                let chosen = shown(other);
                return Err(Objection::Broken(format!("{NOT_SPOKEN}: over TLS it chose {chosen} (ALPN)")));
            }
        }
        Ok(Self {
            talk,
            reader: Reader::new(USUAL_TABLE),
            transcript: Transcript::default(),
            acknowledged: 0,
            ended: BTreeSet::new(),
            last: None,
            table_change: None,
        })
    }

    /// A connection on which both sides have told their settings, and no window limits what the server sends.
    pub(crate) fn open(target: &Target) -> Result<Self, Objection> {
        let mut peer = Self::open_with(target, USUAL)?;
        peer.widen()?;
        Ok(peer)
    }

    /// Opens the connection's window so far that no answer fills it.
    pub(crate) fn widen(&mut self) -> Keeping {
        self.send(&[frame::window_update(0, WIDE)])
    }

    /// A connection whose client takes what these settings say, and no more than 65,535 bytes altogether.
    pub(crate) fn open_with(target: &Target, settings: &[(u16, u32)]) -> Result<Self, Objection> {
        let mut peer = Self::connect(target)?;
        let table = settings.iter().rev().find(|(id, _)| *id == TABLE_BYTES);
        peer.reader = Reader::new(table.map_or(USUAL_TABLE, |(_, bytes)| USUAL_TABLE.min(*bytes)));
        peer.reader.allow(settings);
        peer.send_preface()?;
        peer.send(&[frame::settings(settings)])?;
        peer.settle()?;
        Ok(peer)
    }

    /// Waits for the other side's settings and acknowledges them.
    pub(crate) fn settle(&mut self) -> Keeping {
        let deadline = self.deadline();
        loop {
            match self.hear(deadline)? {
                None => return Err(self.fault(&format!("{NOT_SPOKEN}: it sends no SETTINGS"))),
                Some(Heard::Settings { ack: false }) => return self.acknowledge(),
                Some(Heard::End) => {
                    return Err(
                        self.fault(&format!("{NOT_SPOKEN}: it ended the connection without SETTINGS"))
                    );
                }
                Some(heard) => self.goes_well(&heard)?,
            }
        }
    }

    /// Acknowledges the other side's settings. Where its table is smaller than it was until then, our next field block has to say
    /// so at its beginning (RFC 9113 §4.3.1).
    fn acknowledge(&mut self) -> Keeping {
        self.send(&[frame::settings_ack()])?;
        let table = self.theirs().table;
        self.table_change = (table < USUAL_TABLE).then(|| block::resize(table.into()));
        Ok(())
    }

    /// Tells other settings: what they allow, the server may do from now on.
    pub(crate) fn tell(&mut self, settings: &[(u16, u32)]) -> Keeping {
        self.reader.allow(settings);
        self.send(&[frame::settings(settings)])
    }

    pub(crate) fn send_preface(&mut self) -> Keeping {
        self.send_bytes(PREFACE, "the preface")
    }

    pub(crate) fn send(&mut self, frames: &[Frame]) -> Keeping {
        let mut bytes = Vec::new();
        for frame in frames {
            let frame = self.fitted(frame);
            self.transcript.add(Side::Client, frame.in_words());
            bytes.extend_from_slice(frame.bytes());
        }
        self.write(&bytes)
    }

    /// The frame as it is to be sent: the first that has some of a field block begins with what that has to begin with.
    pub(crate) fn fitted<'f>(&mut self, frame: &'f Frame) -> Cow<'f, Frame> {
        let changed = self.table_change.as_ref().and_then(|change| frame.with_before_block(change));
        changed.map_or(Cow::Borrowed(frame), |frame| {
            self.table_change = None;
            Cow::Owned(frame)
        })
    }

    /// Sends what may be no frame.
    pub(crate) fn send_bytes(&mut self, bytes: &[u8], words: &str) -> Keeping {
        self.transcript.add(Side::Client, words.to_owned());
        self.write(bytes)
    }

    fn write(&mut self, bytes: &[u8]) -> Keeping {
        self.talk.write(bytes).map_err(|objection| objection.with(|why| self.fault(why)))
    }

    /// Says that nothing more will be sent.
    pub(crate) fn finish_sending(&mut self) {
        self.talk.finish_sending();
    }

    /// What the server takes.
    pub(crate) fn theirs(&self) -> Theirs {
        self.reader.theirs()
    }

    /// How often it has acknowledged SETTINGS.
    pub(crate) fn acknowledged(&self) -> usize {
        self.acknowledged
    }

    /// The last stream that it takes, where it has retired the connection before this one was opened (RFC 9113 §6.8).
    pub(crate) fn retired_before(&self, stream: u32) -> Option<u32> {
        self.last.filter(|last| *last < stream)
    }

    /// The deadline of an answer that is awaited from now on.
    pub(crate) fn deadline(&self) -> Instant {
        Instant::now() + self.talk.patience().answer
    }

    /// What is said next; nothing when the deadline passes before.
    pub(crate) fn hear(&mut self, deadline: Instant) -> Result<Option<Heard>, Objection> {
        loop {
            if let Some(heard) = self.read()? {
                return Ok(Some(heard));
            }
            if self.talk.has_ended() {
                self.transcript.add(Side::Server, "the end of the connection".to_owned());
                return Ok(Some(Heard::End));
            }
            let received = self.talk.receive_until(deadline);
            let too_much = |_: &str| self.fault("it sends more than it may");
            if !received.map_err(|objection| objection.with(too_much))? {
                return Ok(None);
            }
        }
    }

    /// What is said next; an objection that this is missing when the deadline passes before.
    pub(crate) fn must_hear(&mut self, deadline: Instant, what: &str) -> Result<Heard, Objection> {
        self.hear(deadline)?.ok_or_else(|| self.fault(&format!("no {what} in time")))
    }

    /// The frame that has come, if it is there whole.
    fn read(&mut self) -> Result<Option<Heard>, Objection> {
        let unread = self.talk.unread();
        if unread.starts_with(b"HTTP/1") && !self.transcript.has_heard(Side::Server) {
            let line = unread.split(|byte| *byte == b'\r').next().unwrap_or_default();
            return Err(self.fault(&format!("{NOT_SPOKEN}: it answers {}", shown(line))));
        }
        let Some(head) = Head::read(unread) else { return Ok(None) };
        if let Err(why) = self.reader.check(&head) {
            return Err(self.breach(&why));
        }
        let Some(payload) = unread.get(HEAD_BYTES..HEAD_BYTES + head.len).map(<[u8]>::to_vec) else {
            return Ok(None);
        };
        self.talk.pass(HEAD_BYTES + head.len);
        self.transcript.add(Side::Server, frame::in_words(&head, &payload));
        let heard = self.reader.read(&head, &payload).map_err(|why| self.breach(&why))?;
        self.acknowledged += usize::from(heard == Heard::Settings { ack: true });
        match heard {
            Heard::Fields { stream, end_stream: true, .. } | Heard::Data { stream, end_stream: true, .. } => {
                self.ended.insert(stream);
            }
            Heard::GoAway { last, code: Code::NoError } => self.last = Some(last),
            _ => {}
        }
        Ok(Some(heard))
    }

    /// Whole answers on these streams.
    pub(crate) fn replies(&mut self, streams: &[u32]) -> Result<Vec<Reply>, Objection> {
        let mut replies: BTreeMap<u32, Reply> =
            streams.iter().map(|stream| (*stream, Reply::default())).collect();
        let (deadline, mut bytes) = (self.deadline(), 0);
        while replies.values().any(|reply| !reply.is_whole) {
            let heard = self.must_hear(deadline, "whole answer")?;
            let of = heard.stream();
            match replies.get_mut(&of) {
                // What follows an answer is no part of it: a server that wants no more of a request's body resets the stream.
                Some(reply) if reply.is_whole && matches!(heard, Heard::Reset { .. }) => {}
                Some(reply) => {
                    bytes += heard.bytes();
                    if bytes > TOGETHER_MAX_BYTES {
                        return Err(Objection::not_applicable(TOO_LONG_TOGETHER));
                    }
                    self.take(heard, of, reply)?;
                }
                None if of == 0 => self.take(heard, 0, &mut Reply::default())?,
                None => {}
            }
        }
        Ok(replies.into_values().collect())
    }

    /// The whole answer on this stream.
    pub(crate) fn reply(&mut self, stream: u32) -> Result<Reply, Objection> {
        let mut replies = self.replies(&[stream])?;
        replies.pop().ok_or_else(|| self.fault("no answer"))
    }

    /// The head of the final answer on this stream, whose body may still be to come.
    pub(crate) fn head(&mut self, stream: u32) -> Result<Reply, Objection> {
        let (deadline, mut reply) = (self.deadline(), Reply::default());
        while reply.status == 0 {
            let heard = self.must_hear(deadline, "head of an answer")?;
            self.take(heard, stream, &mut reply)?;
        }
        Ok(reply)
    }

    /// The body of the answer whose head has come on this stream.
    pub(crate) fn body(&mut self, stream: u32) -> Result<Vec<u8>, Objection> {
        let (deadline, mut reply) = (self.deadline(), Reply { status: 200, ..Reply::default() });
        while !reply.is_whole {
            let heard = self.must_hear(deadline, "whole body")?;
            self.take(heard, stream, &mut reply)?;
        }
        Ok(reply.body)
    }

    /// Adds a frame to the answer on this stream if it is of that.
    fn take(&self, heard: Heard, stream: u32, reply: &mut Reply) -> Keeping {
        match &heard {
            Heard::Fields { stream: theirs, .. } | Heard::Data { stream: theirs, .. } => {
                match *theirs == stream {
                    true => reply.take(heard).map_err(|why| self.fault(&why)),
                    false => Ok(()),
                }
            }
            Heard::Reset { stream: theirs, code } if *theirs == stream => {
                Err(self.fault(&format!("it reset stream {stream} ({code})")))
            }
            Heard::End => Err(self.fault("it ended the connection without a whole answer")),
            other => self.goes_well(other),
        }
    }

    /// Demands that the server still answers a PING, and returns what it said on streams before; it had time to say all that
    /// is caused by what was sent before, for it reads in order.
    pub(crate) fn goes_on(&mut self) -> Result<Vec<Heard>, Objection> {
        let opaque: [u8; 8] = rand::random();
        self.send(&[frame::ping(opaque)])?;
        let (deadline, mut before, mut bytes) = (self.deadline(), Vec::new(), 0);
        loop {
            match self.must_hear(deadline, "answer to a PING")? {
                Heard::Ping { ack: true, opaque: theirs } if theirs == opaque => return Ok(before),
                Heard::End => return Err(self.fault("it ended the connection")),
                heard => {
                    self.goes_well(&heard)?;
                    bytes += heard.bytes();
                    self.demand(bytes <= TOGETHER_MAX_BYTES, "it sends without end, and answers no PING")?;
                    before.push(heard);
                }
            }
        }
    }

    /// Objects to a connection that the server ends for a reason.
    fn goes_well(&self, heard: &Heard) -> Keeping {
        match heard {
            Heard::GoAway { code, .. } if *code != Code::NoError => {
                Err(self.fault(&format!("it ends the connection with {code}")))
            }
            _ => Ok(()),
        }
    }

    /// Until when a server has to react to what is wrong.
    fn reaction_deadline(&self) -> Instant {
        Instant::now() + self.talk.patience().end
    }

    /// Lets the other side see what was sent so far apart from what comes.
    pub(crate) fn pause(&self) {
        std::thread::sleep(self.talk.patience().piece);
    }

    /// How long a connection may take to end.
    pub(crate) fn end_patience(&self) -> Duration {
        self.talk.patience().end
    }

    fn breach(&self, why: &str) -> Objection {
        self.fault(&format!("it breaks the protocol: {why}"))
    }

    /// An objection with what was said.
    pub(crate) fn fault(&self, what: &str) -> Objection {
        Objection::Broken(format!("{what}{}", self.transcript))
    }

    /// An objection unless something holds.
    pub(crate) fn demand(&self, holds: bool, otherwise: &str) -> Keeping {
        if holds { Ok(()) } else { Err(self.fault(otherwise)) }
    }
}
