//! The closing handshake (RFC 6455 §5.5.1 and §7).

use assay_ws::{Opcode, close};

use super::socket::{Said, Socket, frame};
use crate::objection::{Keeping, Objection};
use crate::rules::each;
use crate::site::Site;

/// Closes with this payload, and returns the code of the close frame that must come.
fn close(site: &Site, payload: &[u8]) -> Result<(Socket, Option<u16>), Objection> {
    let mut socket = Socket::open(site)?;
    socket.send(&frame(Opcode::Close, true, payload))?;
    match socket.next_but_pings()? {
        Said::Close(code) => Ok((socket, code)),
        said => Err(socket.fault(&format!("{} instead of a close frame", said.in_words()))),
    }
}

/// Demands that the end is an ordinary one.
fn is_ordinary(site: &Site, payload: &[u8]) -> Keeping {
    match close(site, payload)? {
        (socket, Some(close::PROTOCOL_ERROR | close::INVALID_DATA | close::POLICY)) => {
            Err(socket.fault("it takes an ordinary close frame for a fault"))
        }
        _ => Ok(()),
    }
}

pub(super) fn answered(site: &Site) -> Keeping {
    is_ordinary(site, &close::NORMAL.to_be_bytes())
}

pub(super) fn empty(site: &Site) -> Keeping {
    is_ordinary(site, b"")
}

pub(super) fn reason(site: &Site) -> Keeping {
    let mut payload = close::GOING_AWAY.to_be_bytes().to_vec();
    payload.extend_from_slice("auf Wiedersehen, 計測".as_bytes());
    is_ordinary(site, &payload)
}

pub(super) fn codes(site: &Site) -> Keeping {
    each([3000u16, 3999, 4000, 4999], |code| is_ordinary(site, &code.to_be_bytes()))
}

pub(super) fn repeated(site: &Site) -> Keeping {
    each([close::NORMAL, close::GOING_AWAY, 4321], |code| match close(site, &code.to_be_bytes())? {
        (_, Some(theirs)) if theirs == *code => Ok(()),
        (socket, _) => Err(socket.fault("its close frame has another code")),
    })
}

pub(super) fn last(site: &Site) -> Keeping {
    let mut socket = Socket::open(site)?;
    let close = frame(Opcode::Close, true, &close::NORMAL.to_be_bytes());
    socket.send(
        &[close, frame(Opcode::Text, true, b"too late"), frame(Opcode::Ping, true, b"too late")].concat(),
    )?;
    match socket.next_but_pings()? {
        Said::Close(_) => socket.ends(),
        // The bytes that it does not read may reset the connection before its close frame has been read.
        Said::End => Ok(()),
        said => Err(socket.fault(&format!("{} instead of a close frame", said.in_words()))),
    }
}

pub(super) fn ends(site: &Site) -> Keeping {
    let (mut socket, _) = close(site, &close::NORMAL.to_be_bytes())?;
    socket.ends()
}
