//! HTTP/1.1 without I/O: scan a response, parse a request, render either; bytes in, bytes out.
//!
//! Invariants:
//! * strict: what RFC 9110 and RFC 9112 call invalid is refused, never repaired (the exceptions are listed where they are made);
//! * left to right: the answer for a prefix is `Partial` or the answer for the whole, so it does not matter how input is split;
//! * no allocation, no copy and no hash map while scanning; a head is a few byte ranges over the caller's buffer;
//! * every size has a named limit ([`Limits`], [`BodyLimits`]);
//! * no input makes it panic;
//! * what is compressed is decompressed on request alone, and within a bound ([`coding`]).
//!
//! Must not know: sockets, clocks, which answer is right, what is measured.
//!
//! A client renders a request, scans the response and reads the body by its framing:
//!
//! ```
//! use assay_http::{BodyReader, Limits, Scan, scan_response};
//!
//! let received = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
//! let Scan::Complete(head) = scan_response(received, &Limits::DEFAULT) else { panic!("a whole head") };
//! let mut body = BodyReader::new(head.framing(false));
//! let step = body.next(&received[head.len as usize..])?;
//! assert_eq!((step.data, step.finished), (&b"hello"[..], true));
//! # Ok::<(), assay_http::BodyError>(())
//! ```
//!
//! A server scans a request, skips its body in the same way, and copies a response it has prepared:
//!
//! ```
//! use assay_http::{Limits, Scan, date, render::PreparedResponse, scan_request};
//!
//! let mut hello = PreparedResponse::new(200, &[("Content-Type", "text/plain")], b"hello")?;
//! hello.set_date(&date::format(784_111_777)); // once a second
//! let mut out = Vec::new();
//! match scan_request(b"GET /hello HTTP/1.1\r\nHost: h\r\n\r\n", &Limits::DEFAULT) {
//!     Scan::Complete(_) => out.extend_from_slice(hello.bytes()),
//!     Scan::Partial => {} // read more
//!     Scan::Invalid(error) => {
//!         let refusal = PreparedResponse::new(error.status(), &[("Connection", "close")], b"")?;
//!         out.extend_from_slice(refusal.bytes());
//!     }
//! }
//! assert!(out.starts_with(b"HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"));
//! # Ok::<(), assay_http::render::RenderError>(())
//! ```
//!
//! It must not know of sockets, clocks, files, threads, or any other crate of assay.
#![forbid(unsafe_code)]

mod body;
mod chars;
pub mod coding;
pub mod date;
mod error;
mod field;
mod known;
mod message;
pub mod render;
mod request;
mod response;
mod scan;
pub mod status;
pub mod target;
mod template;

pub use body::{BodyLimits, BodyReader, Framing, Step};
pub use error::{BodyError, ParseError, ParseErrorKind};
pub use field::{Field, Fields};
pub use known::{KnownField, KnownFields};
pub use message::{Message, Transfer, decimal};
pub use request::{Method, RequestHead, TargetForm, scan_request};
pub use response::{ResponseHead, scan_response};
pub use scan::{Limits, Scan, Span, Version, worth_rescan};
pub use template::HeadTemplate;
