//! A WebSocket that gives messages back, strict but for one fault.

// One of the faults has the same name.
use std::option::Option::None;

use assay_ws::handshake;

use super::Fault::{self, *};

/// The highest payload that a server with [`Fault::ShortPongs`] repeats.
const SHORT_PONG: usize = 100;

/// What is left to do with a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    GoOn,
    End,
    /// Says nothing more, but leaves the connection open.
    Stay,
    /// The whole server ends.
    Die,
}

/// The answer to an opening handshake and whether it opened one; nothing where something else was asked for.
pub(super) fn open(head: &[u8], fault: Fault) -> Option<(Vec<u8>, bool)> {
    let text = String::from_utf8_lossy(head);
    let line = text.lines().next().unwrap_or_default().to_owned();
    let mut words = line.split(' ');
    let (method, path) = (words.next()?, words.next()?);
    if path != "/ws" {
        return None;
    }
    let fields: Vec<(&str, &str)> = text.lines().skip(1).filter_map(|line| line.split_once(": ")).collect();
    let field =
        |name: &str| fields.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| *value);
    let is_asked = match fault {
        FussyCase => {
            fields.contains(&("Upgrade", "websocket")) && fields.contains(&("Connection", "Upgrade"))
        }
        OpensUnasked => field("sec-websocket-key").is_some(),
        _ => {
            let lists = |name, token: &str| {
                field(name)
                    .is_some_and(|value| value.to_ascii_lowercase().split(", ").any(|part| part == token))
            };
            lists("upgrade", "websocket") && lists("connection", "upgrade")
        }
    };
    let is_get = method == "GET" || fault == OpensPosts;
    let is_new = line.ends_with("HTTP/1.1") || fault == OpensHttp10;
    let is_spoken = field("sec-websocket-version") == Some("13");
    let key = field("sec-websocket-key").or((fault == AnyKey).then_some(""));
    let refuse = |status: &str, fields: &str| {
        (format!("HTTP/1.1 {status}\r\n{fields}Content-Length: 0\r\n\r\n").into_bytes(), false)
    };
    Some(match key {
        _ if !is_get => refuse("405 Method Not Allowed", "Allow: GET\r\n"),
        Some(key) if is_asked && is_new && (is_spoken || fault == AnyVersion) => (switched(key, fault), true),
        Some(_) if is_asked && is_new && fault == VersionUntold => refuse("400 Bad Request", ""),
        Some(_) if is_asked && is_new => refuse("426 Upgrade Required", "Sec-WebSocket-Version: 13\r\n"),
        _ => refuse("400 Bad Request", ""),
    })
}

fn switched(key: &str, fault: Fault) -> Vec<u8> {
    let key = if fault == WrongAccept { "another" } else { key };
    let accept = handshake::accept(key.as_bytes());
    let more = match fault {
        ForcesExtension => "Sec-WebSocket-Extensions: permessage-deflate\r\n",
        ForcesProtocol => "Sec-WebSocket-Protocol: chat\r\n",
        _ => "",
    };
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\n{more}\r\n"
    )
    .into_bytes()
}

/// One WebSocket.
pub(super) struct Socket {
    fault: Fault,
    /// The message that was begun, and the opcode with which it was.
    message: Option<(u8, Vec<u8>)>,
    has_ponged: bool,
    /// A pong that waits for the end of a message.
    late: Vec<u8>,
}

/// A frame as it stands, its payload unmasked.
struct Frame {
    first: u8,
    is_masked: bool,
    is_shortest: bool,
    payload: Vec<u8>,
    len: usize,
}

/// The code of a breach.
struct Breach(u16);

impl Socket {
    pub(super) fn new(fault: Fault) -> Self {
        Self { fault, message: None, has_ponged: false, late: Vec::new() }
    }

    /// Answers what has come whole.
    pub(super) fn talk(&mut self, input: &mut Vec<u8>) -> (Vec<u8>, Then) {
        let mut answers: Vec<Vec<u8>> = Vec::new();
        let mut then = Then::GoOn;
        while then == Then::GoOn {
            let frame = match self.frame(input) {
                Ok(Some(frame)) => frame,
                Ok(None) if self.fault == OneRead && !input.is_empty() => {
                    then = Then::End;
                    break;
                }
                Ok(None) => break,
                Err(then) => return (answers.concat(), then),
            };
            input.drain(..frame.len);
            let mut answer = Vec::new();
            then = match self.hear(frame, &mut answer) {
                Ok(then) => then,
                Err(Breach(_)) if self.fault == EndsSilently => Then::End,
                Err(Breach(code)) => {
                    say(0x88, &code.to_be_bytes(), self.fault, &mut answer);
                    Then::End
                }
            };
            answers.push(answer);
        }
        if self.fault == NewestFirst {
            answers.reverse();
        }
        (answers.concat(), then)
    }

    /// The first frame, if it is whole.
    fn frame(&self, input: &[u8]) -> Result<Option<Frame>, Then> {
        let [first, second, ..] = *input else { return Ok(None) };
        let short = usize::from(second & 0x7f);
        let (length, mut at): (u64, usize) = match (short, input.get(2..4), input.get(2..10)) {
            (126, Some(two), _) => (u64::from(u16::from_be_bytes(two.try_into().expect("two"))), 4),
            (127, _, Some(eight)) => (u64::from_be_bytes(eight.try_into().expect("eight")), 10),
            (126 | 127, ..) => return Ok(None),
            (short, ..) => (short as u64, 2),
        };
        let is_shortest = match short {
            126 => length > 125,
            127 => length > 65_535,
            _ => true,
        };
        let length = match self.fault {
            TopBit => length & !(1 << 63),
            DiesOfHuge if length >> 40 > 0 => return Err(Then::Die),
            _ if length >> 63 == 1 => return Err(Then::End),
            _ => length,
        };
        let is_masked = second & 0x80 != 0;
        let mask = if is_masked { input.get(at..at + 4) } else { Some(&[0; 4][..]) };
        let Some(mask) = mask else { return Ok(None) };
        at += if is_masked { 4 } else { 0 };
        let end = usize::try_from(length).ok().and_then(|length| at.checked_add(length));
        let Some(bytes) = end.and_then(|end| input.get(at..end)) else { return Ok(None) };
        let payload = bytes.iter().zip(mask.iter().cycle()).map(|(byte, key)| byte ^ key).collect();
        Ok(Some(Frame { first, is_masked, is_shortest, payload, len: at + bytes.len() }))
    }

    fn hear(&mut self, frame: Frame, out: &mut Vec<u8>) -> Result<Then, Breach> {
        let Frame { first, is_masked, is_shortest, payload, .. } = frame;
        let (is_final, opcode, fault) = (first & 0x80 != 0, first & 0x0f, self.fault);
        let is_wrong = (!is_masked && fault != AnyMask)
            || (first & 0x70 != 0 && fault != AnyBits)
            || (!is_shortest && fault != AnyLength)
            || (opcode & 8 != 0 && payload.len() > 125 && fault != LongControls)
            || (opcode & 8 != 0 && !is_final && fault != FragmentedControls);
        if is_wrong {
            return Err(Breach(1002));
        }
        match opcode {
            0..=2 => return self.hear_message(opcode, is_final, payload, out).map(|()| Then::GoOn),
            8 => return self.hear_close(&payload, out),
            9 => self.hear_ping(&payload, out),
            10 if fault == PongIsBreach => return Err(Breach(1002)),
            10 => {}
            _ if fault == AnyOpcode => say(0x81, &payload, fault, out),
            _ => return Err(Breach(1002)),
        }
        Ok(Then::GoOn)
    }

    fn hear_message(
        &mut self,
        opcode: u8,
        is_final: bool,
        payload: Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<(), Breach> {
        let fault = self.fault;
        let (kind, mut bytes) = match (opcode, self.message.take()) {
            (0, None) if fault == ContinuesNothing => (1, Vec::new()),
            (0, None) => return Err(Breach(1002)),
            (0, Some(message)) => message,
            (_, Some(_)) if fault != Interleaves => return Err(Breach(1002)),
            (kind, _) => (kind, Vec::new()),
        };
        let is_end =
            is_final || fault == FramesAreMessages || (fault == EmptyFrameEnds && payload.is_empty());
        if kind == 1 && fault == FramesAreTexts && std::str::from_utf8(&payload).is_err() {
            return Err(Breach(1007));
        }
        bytes.extend_from_slice(&payload);
        if !is_end {
            self.message = Some((kind, bytes));
            return Ok(());
        }
        if kind == 1 && fault != AnyText && std::str::from_utf8(&bytes).is_err() {
            return Err(Breach(1007));
        }
        match fault {
            TextsAreBinary => say(0x82, &bytes, fault, out),
            BinaryIsText if kind == 2 => say(0x81, b"bytes", fault, out),
            DropsEmpty if bytes.is_empty() => {}
            SixteenBits => say(0x80 | kind, &bytes[..bytes.len() & 0xffff], fault, out),
            _ => say(0x80 | kind, &bytes, fault, out),
        }
        out.append(&mut self.late);
        Ok(())
    }

    fn hear_ping(&mut self, payload: &[u8], out: &mut Vec<u8>) {
        let is_first = !std::mem::replace(&mut self.has_ponged, true);
        match self.fault {
            NoPongs => {}
            ShortPongs => say(0x8a, &payload[..payload.len().min(SHORT_PONG)], self.fault, out),
            FirstPongOnly if !is_first => {}
            PongsLate if self.message.is_some() => say(0x8a, payload, self.fault, &mut self.late),
            _ => say(0x8a, payload, self.fault, out),
        }
    }

    fn hear_close(&self, payload: &[u8], out: &mut Vec<u8>) -> Result<Then, Breach> {
        let fault = self.fault;
        let code = payload.first_chunk::<2>().map(|code| u16::from_be_bytes(*code));
        let is_ordinary = code.is_none_or(|code| matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999));
        let is_breach = (!is_ordinary && fault != RepeatsAnyCode)
            || (payload.len() == 1 && fault != ShortCloses)
            || (payload.is_empty() && fault == NoEmptyCloses)
            || (payload.len() > 2 && fault == NoReasons)
            || (code.is_some_and(|code| code >= 3000) && fault == RegisteredCodes);
        if is_breach {
            return Err(Breach(1002));
        }
        match (fault, code) {
            (NoCloses, _) => {}
            (AlwaysNormal | ShortCloses, _) => say(0x88, &1000u16.to_be_bytes(), fault, out),
            (_, None) => say(0x88, b"", fault, out),
            (_, Some(code)) => say(0x88, &code.to_be_bytes(), fault, out),
        }
        if fault == TalksAfterClose {
            say(0x81, b"one more thing", fault, out);
        }
        Ok(if fault == StaysOpen { Then::Stay } else { Then::End })
    }
}

/// Appends a frame.
fn say(first: u8, payload: &[u8], fault: Fault, out: &mut Vec<u8>) {
    let masked = if fault == MasksAnswers { 0x80 } else { 0 };
    out.push(first);
    match payload.len() {
        short @ 0..=125 => out.push(masked | short as u8),
        two @ 126..=65_535 => {
            out.push(masked | 126);
            out.extend_from_slice(&(two as u16).to_be_bytes());
        }
        eight => {
            out.push(masked | 127);
            out.extend_from_slice(&(eight as u64).to_be_bytes());
        }
    }
    if fault == MasksAnswers {
        out.extend_from_slice(&[0; 4]);
    }
    out.extend_from_slice(payload);
}
