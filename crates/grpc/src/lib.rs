//! gRPC without I/O: the frame of a message, statuses, deadlines, and the fields of a message; bytes in, bytes out
//! (gRPC over HTTP2, github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md).
//!
//! Invariants:
//! * a call has one message each way, and what is found in it does not depend on how the input was split;
//! * no allocation while a message is read;
//! * every size has a limit that its user names;
//! * no input makes it panic.
//!
//! Must not know: sockets, clocks, frames of HTTP/2, which message is right.
//!
//! A client frames a message, and a server reads it:
//!
//! ```
//! use assay_grpc::{Reader, fields, message};
//!
//! let (mut message, mut sent) = (Vec::new(), Vec::new());
//! fields::write_text(1, "hello", &mut message);
//! message::frame(&message, &mut sent);
//! let mut reader = Reader::new(1024);
//! let step = reader.next(&sent)?;
//! assert!(step.is_last && step.part == b"\x0a\x05hello");
//! reader.finish()?;
//! # Ok::<(), assay_grpc::Fault>(())
//! ```
#![forbid(unsafe_code)]

pub mod fields;
pub mod message;
mod reader;
mod status;
pub mod timeout;
mod varint;

pub use reader::{Fault, Reader, Step};
pub use status::{Code, Status};
