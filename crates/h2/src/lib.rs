//! HTTP/2 without I/O: frames, compressed heads, settings, windows, and the limits of a connection (RFC 9113, RFC 7541).
//!
//! Invariants
//! - Bytes in, events and bytes out; there is no clock and no socket.
//! - Whatever a peer sends takes a bounded amount of memory and of work ([`Limits`]), each bound with a name.
//! - A header block is always decoded, also that of a stream that is refused: the tables of both ends stay the same.
//! - A frame in and a prepared block out allocate nothing.
//!
//! Must not know: sockets, clocks, what a request is about, who measures whom. The streams are their user's: the load generator
//! has places for requests, the server has responses under way.
#![forbid(unsafe_code)]

mod connection;
mod error;
pub mod field;
pub mod frame;
pub mod hpack;
mod limits;
mod settings;

pub use connection::{Connection, Event, Role};
pub use error::{Code, ConnectionError, Why};
pub use limits::Limits;
pub use settings::Settings;
