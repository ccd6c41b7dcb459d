//! Messages, in one frame and in several (RFC 6455 §5.2 to §5.6).

use assay_ws::{Kind, Opcode};

use super::socket::{Socket, frame};
use crate::objection::Keeping;
use crate::rules::each;
use crate::site::Site;

/// Characters of one to four bytes.
const TEXT: &str = "a ß 計 🦀";
/// Messages in a row.
const MANY: usize = 100;

pub(super) fn text(site: &Site) -> Keeping {
    let mut socket = Socket::open(site)?;
    socket.echoes(Kind::Text, TEXT.as_bytes())?;
    socket.echoes(Kind::Text, b"and another")
}

pub(super) fn binary(site: &Site) -> Keeping {
    let all: Vec<u8> = (0..=255).collect();
    Socket::open(site)?.echoes(Kind::Binary, &all)
}

pub(super) fn empty(site: &Site) -> Keeping {
    let mut socket = Socket::open(site)?;
    socket.echoes(Kind::Text, b"")?;
    socket.echoes(Kind::Binary, b"")
}

pub(super) fn lengths(site: &Site) -> Keeping {
    let mut socket = Socket::open(site)?;
    for length in [1, 125, 126, 127, 65_535, 65_536] {
        let payload: Vec<u8> = (0..length).map(|n: u32| n as u8).collect();
        socket.echoes(Kind::Binary, &payload).map_err(|objection| objection.on(format!("{length} bytes")))?;
    }
    Ok(())
}

/// The reader refuses a mask; it is asked for by name, because nothing else may be wrong.
pub(super) fn unmasked(site: &Site) -> Keeping {
    Socket::open(site)?.echoes(Kind::Text, b"unmasked")
}

pub(super) fn order(site: &Site) -> Keeping {
    let mut socket = Socket::open(site)?;
    let texts: Vec<String> = (0..MANY).map(|n| format!("message {n}")).collect();
    let frames = texts.iter().flat_map(|text| frame(Opcode::Text, true, text.as_bytes()));
    socket.send(&frames.collect::<Vec<u8>>())?;
    texts.iter().try_for_each(|text| socket.hears(Kind::Text, text.as_bytes()))
}

pub(super) fn bytes_apart(site: &Site) -> Keeping {
    let mut socket = Socket::open(site)?;
    for byte in frame(Opcode::Text, true, TEXT.as_bytes()) {
        socket.send(&[byte])?;
        site.pause();
    }
    socket.hears(Kind::Text, TEXT.as_bytes())
}

/// Sends a message in these frames and demands that it comes back as one.
fn in_frames(site: &Site, kind: Kind, parts: &[&[u8]]) -> Keeping {
    let mut socket = Socket::open(site)?;
    for (i, part) in parts.iter().enumerate() {
        let opcode = if i == 0 { kind.opcode() } else { Opcode::Continuation };
        socket.send(&frame(opcode, i + 1 == parts.len(), part))?;
    }
    socket.hears(kind, &parts.concat())
}

pub(super) fn fragments(site: &Site) -> Keeping {
    in_frames(site, Kind::Text, &[b"in ", b"three ", b"frames"])?;
    in_frames(site, Kind::Binary, &[&[0, 255], &[128]])
}

pub(super) fn empty_fragments(site: &Site) -> Keeping {
    in_frames(site, Kind::Text, &[b"", b"text", b"", b"", b"more", b""])?;
    in_frames(site, Kind::Text, &[b"", b""])
}

pub(super) fn cut_character(site: &Site) -> Keeping {
    let bytes = TEXT.as_bytes();
    let cuts = (1..bytes.len()).filter(|&at| !TEXT.is_char_boundary(at));
    each(cuts, |&at| in_frames(site, Kind::Text, &[&bytes[..at], &bytes[at..]]))
}
