//! TLS as one more engine, over any other: whoever is generic over [`Engine`](assay_engine::Engine) speaks TLS unchanged.
//!
//! Invariants
//! - [`Tls`] passes the conformance suite of engines; its user is told of a connection when that is secured, not before.
//! - The protocol is rustls's. It does no I/O here: ciphertext comes from the engine beneath and goes back to it.
//! - What is received is decrypted when its user asks for it; what is sent leaves with the next poll at the latest.
//! - An idle connection holds no buffer of ours.
//! - Everything has a limit: what waits to be sent, what was decrypted and not consumed, how long a handshake may take.
//!
//! Must not know: HTTP, what a request is, who measures whom.
//!
//! Who computes is named in `provider` alone. A handshake allocates, and so does each record, within rustls.
#![forbid(unsafe_code)]

mod choice;
mod client;
mod engine;
mod error;
mod fault;
mod identity;
mod incoming;
mod key;
mod made;
mod outgoing;
mod parameters;
mod provider;
mod server;
mod session;
mod sessions;
mod table;

pub use choice::carry_out;
pub use client::{Client, ClientTerms, Stream, Trust};
pub use engine::{HANDSHAKE_TIME, Tls};
pub use error::TlsError;
pub use identity::{Identity, MOST_PEM_BYTES};
pub use made::Made;
pub use server::Server;

/// Application protocols that may be spoken over these connections (ALPN, RFC 7301), the better one first.
const PROTOCOLS: [&[u8]; 2] = [HTTP2, HTTP1];
const HTTP1: &[u8] = b"http/1.1";
const HTTP2: &[u8] = b"h2";

/// What an engine needs to secure connections: as a client, as a server, or as both.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// For connections that it makes; without it, it makes none.
    pub client: Option<Client>,
    /// For connections that it accepts; without it, it listens nowhere.
    pub server: Option<Server>,
}

impl From<Client> for Terms {
    fn from(client: Client) -> Self {
        Self { client: Some(client), server: None }
    }
}

impl From<Server> for Terms {
    fn from(server: Server) -> Self {
        Self { client: None, server: Some(server) }
    }
}
