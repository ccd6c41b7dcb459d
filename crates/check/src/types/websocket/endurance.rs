//! What a server has to outlive (RFC 6455 §10.4). That it does, the suite finds out behind every rule.

use assay_ws::{Kind, Opcode};

use super::socket::{Socket, frame};
use crate::objection::{Keeping, Objection};
use crate::site::Site;

/// WebSockets at once.
const MANY: usize = 50;
/// Connections that leave the server alone with half a frame.
const DROPPED: usize = 20;

/// Opens a WebSocket, unless the server is gone altogether, which is told instead.
fn open(site: &Site) -> Result<Socket, Objection> {
    Socket::open(site).or_else(|objection| site.is_alive().and(Err(objection)))
}

/// Bytes announced, and a few of them.
pub(super) fn huge(site: &Site) -> Keeping {
    let head = [&[0x82, 0xff][..], &(1u64 << 62).to_be_bytes(), &[0; 4], b"not all of it"].concat();
    for _ in 0..DROPPED {
        open(site)?.send(&head)?;
    }
    open(site)?.echoes(Kind::Text, b"still there")
}

pub(super) fn many(site: &Site) -> Keeping {
    let mut sockets: Vec<Socket> = (0..MANY).map(|_| Socket::open(site)).collect::<Result<_, _>>()?;
    for (i, socket) in sockets.iter_mut().enumerate() {
        let place = |objection: Objection| objection.on(format!("WebSocket {} of {MANY}", i + 1));
        socket.echoes(Kind::Text, format!("from {i}").as_bytes()).map_err(place)?;
    }
    Ok(())
}

pub(super) fn dropped(site: &Site) -> Keeping {
    let whole = frame(Opcode::Text, true, b"whole");
    for len in (1..whole.len()).cycle().take(DROPPED) {
        open(site)?.send(&whole[..len])?;
    }
    open(site)?.echoes(Kind::Text, b"still there")
}
