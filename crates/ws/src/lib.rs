//! WebSocket without I/O (RFC 6455): frames, masks, UTF-8, close codes and the opening handshake; bytes in, bytes out.
//!
//! Invariants:
//! * strict: what RFC 6455 forbids is a [`Fault`] with the close code that belongs to it, never repaired;
//! * left to right: what is found does not depend on how the input was split;
//! * no allocation while frames are read; only an [`Assembly`] puts messages together, in memory that it keeps;
//! * every size has a named limit ([`Limits`]);
//! * no input makes it panic.
//!
//! Must not know: sockets, clocks, the grammar of HTTP (the handshake's fields come as pairs), which message is right.
//!
//! A server gives a text back:
//!
//! ```
//! use assay_ws::{Event, Limits, Mask, Opcode, Reader, Side, render};
//!
//! let mut received = Vec::new();
//! render::masked(Opcode::Text, b"hello", Mask::new([1, 2, 3, 4]), &mut received);
//! let mut reader = Reader::new(Side::Client, Limits::DEFAULT);
//! let step = reader.next(&received)?;
//! let Some(Event::Data(data)) = step.event else { panic!("a whole message") };
//! let mut out = Vec::new();
//! render::header(data.kind.opcode(), true, None, data.payload.len() as u64, &mut out);
//! data.payload.append_to(&mut out);
//! assert_eq!((step.consumed, out.as_slice()), (received.len(), &b"\x81\x05hello"[..]));
//! # Ok::<(), assay_ws::Fault>(())
//! ```
#![forbid(unsafe_code)]

mod assembly;
pub mod close;
mod fault;
mod frame;
pub mod handshake;
mod mask;
mod reader;
pub mod render;
mod utf8;

pub use assembly::Assembly;
pub use fault::Fault;
pub use frame::{CONTROL_BYTES_MAX, Header, Kind, Opcode, Side, scan_header};
pub use mask::{Mask, Payload};
pub use reader::{Data, Event, Limits, Reader, Step};
pub use utf8::Utf8;
