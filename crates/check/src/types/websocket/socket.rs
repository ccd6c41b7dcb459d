//! A WebSocket, seen by its client.

use std::time::Instant;

use assay_ws::{Assembly, Event, Kind, Limits, Mask, Opcode, Payload, Reader, Side, handshake, render};

use crate::dialogue::Dialogue;
use crate::objection::{Keeping, Objection, shown};
use crate::route::TestType;
use crate::site::Site;
use crate::types::common;

/// More than any message that is asked for.
const LIMITS: Limits = Limits { message_bytes: 1 << 20, ..Limits::DEFAULT };

/// A connection that has become a WebSocket.
pub(super) struct Socket {
    talk: Dialogue,
    reader: Reader,
    assembly: Assembly,
}

/// What a server says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said {
    Message(Kind, Vec<u8>),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    Close(Option<u16>),
    /// The connection has ended without a word.
    End,
}

/// The fields of an opening handshake as whole lines, with this key.
pub(super) fn fields(key: &str) -> String {
    format!(
        "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n"
    )
}

/// A key that nobody can have prepared for.
pub(super) fn key() -> String {
    handshake::key(rand::random())
}

/// Sends a request with these lines and returns its answer, with the dialogue for the evidence.
pub(super) fn ask(site: &Site, fields: &str) -> Result<(Dialogue, crate::answer::Answer), Objection> {
    let path = &common::route_of(site, TestType::WebSocket)?.path;
    let mut talk = site.open()?;
    talk.send(&site.request_for("GET", path, fields, ""))?;
    let answer = talk.answer()?;
    Ok((talk, answer))
}

/// A frame of a client, with a mask of its own.
pub(super) fn frame(opcode: Opcode, is_final: bool, payload: &[u8]) -> Vec<u8> {
    let (mask, mut bytes) = (Mask::new(rand::random()), Vec::new());
    render::header(opcode, is_final, Some(mask), payload.len() as u64, &mut bytes);
    Payload { masked: payload, mask }.append_to(&mut bytes);
    bytes
}

impl Socket {
    /// Opens a WebSocket.
    pub(super) fn open(site: &Site) -> Result<Self, Objection> {
        let key = key();
        let (talk, answer) = ask(site, &fields(&key))?;
        if let Err(declined) = handshake::check_answer(answer.status(), answer.fields(), key.as_bytes()) {
            return Err(talk.fault(&format!("no WebSocket was opened: {declined}")));
        }
        Ok(Self { talk, reader: Reader::new(Side::Server, LIMITS), assembly: Assembly::default() })
    }

    pub(super) fn send(&mut self, bytes: &[u8]) -> Keeping {
        self.talk.send(bytes)
    }

    /// Sends a whole message.
    pub(super) fn say(&mut self, kind: Kind, payload: &[u8]) -> Keeping {
        self.talk.send(&frame(kind.opcode(), true, payload))
    }

    /// The deadline of an answer that is awaited from now on.
    pub(super) fn deadline(&self) -> Instant {
        Instant::now() + self.talk.patience().answer
    }

    /// What is said next.
    pub(super) fn next(&mut self, deadline: Instant) -> Result<Said, Objection> {
        loop {
            if let Some(said) = self.read()? {
                return Ok(said);
            }
            if self.talk.has_ended() {
                return Ok(Said::End);
            }
            if !self.talk.receive_until(deadline)? {
                return Err(self.talk.missing("frame", self.talk.patience().answer));
            }
        }
    }

    /// What has come, if it is whole.
    fn read(&mut self) -> Result<Option<Said>, Objection> {
        loop {
            let wrong =
                |fault: assay_ws::Fault| self.talk.fault(&format!("it breaks the protocol ({fault})"));
            let step = self.reader.next(self.talk.unread()).map_err(wrong)?;
            let said = match step.event {
                None if step.consumed == 0 => return Ok(None),
                None => None,
                Some(Event::Data(data)) => {
                    let whole = self.assembly.push(&data).map_err(wrong)?;
                    whole.map(|bytes| Said::Message(data.kind, bytes.to_vec()))
                }
                Some(Event::Ping(payload)) => Some(Said::Ping(plain(payload))),
                Some(Event::Pong(payload)) => Some(Said::Pong(plain(payload))),
                Some(Event::Close(code)) => Some(Said::Close(code)),
            };
            let consumed = step.consumed;
            self.talk.pass(consumed);
            if said.is_some() {
                return Ok(said);
            }
        }
    }

    /// What is said next but pings, each of which is answered.
    fn next_answer(&mut self, deadline: Instant) -> Result<Said, Objection> {
        loop {
            match self.next(deadline)? {
                Said::Ping(payload) => self.send(&frame(Opcode::Pong, true, &payload))?,
                said => return Ok(said),
            }
        }
    }

    /// What is said next but pings, each of which is answered, and pongs; however many there are, they renew no deadline.
    pub(super) fn next_but_pings(&mut self) -> Result<Said, Objection> {
        let deadline = self.deadline();
        loop {
            match self.next_answer(deadline)? {
                Said::Pong(_) => {}
                said => return Ok(said),
            }
        }
    }

    /// Demands that this message comes next.
    pub(super) fn hears(&mut self, kind: Kind, payload: &[u8]) -> Keeping {
        let said = self.next_but_pings()?;
        if matches!(&said, Said::Message(theirs, bytes) if *theirs == kind && bytes == payload) {
            return Ok(());
        }
        Err(self.fault(&format!("{} instead of {}", said.in_words(), message_in_words(kind, payload))))
    }

    /// Says something and demands that it comes back.
    pub(super) fn echoes(&mut self, kind: Kind, payload: &[u8]) -> Keeping {
        self.say(kind, payload)?;
        self.hears(kind, payload)
    }

    /// Demands a pong with this payload, before anything but pings.
    pub(super) fn hears_pong(&mut self, payload: &[u8]) -> Keeping {
        match self.next_answer(self.deadline())? {
            Said::Pong(theirs) if theirs == payload => Ok(()),
            said => Err(self.fault(&format!("{} instead of the pong", said.in_words()))),
        }
    }

    /// Demands that the connection is failed (RFC 6455 §7.1.7): with a close frame or by its end, and that nothing is given back.
    /// Returns the code, if one was said.
    pub(super) fn is_failed(&mut self) -> Result<Option<u16>, Objection> {
        let code = match self.next_answer(self.deadline())? {
            Said::Close(code) => code,
            Said::End => return Ok(None),
            said => return Err(self.fault(&format!("{}, as if nothing were wrong", said.in_words()))),
        };
        // Who fails a connection may wait for the other's close frame before the end.
        self.send(&frame(Opcode::Close, true, code.map(u16::to_be_bytes).as_ref().map_or(&[], |code| code)))?;
        self.ends()?;
        Ok(code)
    }

    /// Demands that the connection ends, and that nothing more comes before.
    pub(super) fn ends(&mut self) -> Keeping {
        self.talk.end()
    }

    pub(super) fn fault(&self, what: &str) -> Objection {
        self.talk.fault(what)
    }
}

impl Said {
    /// In words.
    pub(super) fn in_words(&self) -> String {
        match self {
            Self::Message(kind, bytes) => message_in_words(*kind, bytes),
            Self::Ping(_) => "a ping".to_owned(),
            Self::Pong(_) => "a pong".to_owned(),
            Self::Close(Some(code)) => format!("a close frame with code {code}"),
            Self::Close(None) => "a close frame without a code".to_owned(),
            Self::End => "the end of the connection".to_owned(),
        }
    }
}

fn message_in_words(kind: Kind, bytes: &[u8]) -> String {
    let kind = match kind {
        Kind::Text => "text",
        Kind::Binary => "binary",
    };
    format!("the {kind} message {} ({} bytes)", shown(bytes), bytes.len())
}

fn plain(payload: Payload<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    payload.append_to(&mut bytes);
    bytes
}
