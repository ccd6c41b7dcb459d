//! A TCP stack in user space as an event engine, over a packet wire, one stack per thread.
//!
//! Invariants
//! - A frame costs the same however many connections there are: it is handed to the one that its addresses name, and only
//!   those are asked that may have something to send.
//! - A full wire is waited for: a segment stays in its connection until there is room. Nothing is dropped for want of it but
//!   answers to frames of no connection, beyond a bound.
//! - Everything is bounded, and each bound has a name: connections, handshakes under way, the backlog, orphans, TIME-WAIT,
//!   bytes and segments of each connection in both directions, and the memory of all. It follows what is held, not the bounds.
//! - Forged requests keep nobody out: a handshake that is forgotten for want of room succeeds all the same.
//! - What is sent again is counted, with its reason: on a lossless wire a retransmission timer that ran out is a fault.
//!
//! Must not know: HTTP, who is client or server, which wire it is, who is measured.
//!
//! | where | what |
//! |---|---|
//! | `stack`, `traffic`, `engine` | the turn; what passes between wire and connections; what users ask |
//! | `rx_watermark` | until when all that came has been processed |
//! | `connection/` | TCP itself: segments and time in, segments out, no I/O |
//! | `endpoint` | a connection of a user's, with what it has no room for |
//! | `frame`, `template`, `checksum` | segments in frames: read, written |
//! | `neighbours`, `device` | hardware addresses; what is not TCP, which smoltcp answers |
//! | `table`, `flow`, `ports`, `listeners` | which connection a segment belongs to; ports; who accepts |
//! | `requests`, `handshakes`, `cookies` | who asks for a connection; which handshake is the oldest; those that are forgotten |
//! | `memory`, `shortage` | what all connections hold together; what is given up when that is too much |
//!
//! TCP's independent judges are Linux's stack (`tests/kernel`) and smoltcp's (`tests/conformance/smoltcp.rs`), with and without loss.
//! Routers are not used: a peer is on a network of ours, or it is unreachable.
#![forbid(unsafe_code)]

mod address;
mod checksum;
mod choice;
mod config;
mod connection;
mod cookies;
mod device;
mod endpoint;
mod engine;
mod flow;
mod frame;
mod handshakes;
mod listeners;
mod memory;
mod neighbours;
mod ports;
mod requests;
mod rx_watermark;
mod shortage;
mod stack;
mod table;
mod template;
#[cfg(test)]
mod tests;
mod traffic;

pub use address::{BadCidr, Cidr, hardware_for};
pub use choice::{Link, Make, Stack, Work};
pub use config::{Config, MAX_ADDRESSES, SetupError};
pub use stack::UserStack;
