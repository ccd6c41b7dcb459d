//! A small server of HTTP/2 that holds against its client all that it can, but for the one rule that it is told to break: it
//! overlooks what that forbids, or objects to what that permits.

mod answers;
mod blocks;
mod connection;
mod requests;
mod streams;
mod windows;

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use connection::{Connection, End};
pub(crate) use requests::AT_EXPECTATION;

use crate::serving::{Life, Listening, Manners, linger, receive};

/// A running server; ends when dropped.
pub(crate) struct Strict {
    pub(crate) address: SocketAddr,
    _listening: Listening,
}

/// What a server that is right makes of what the standard leaves to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// What most do.
    Usual,
    /// Keeps no table of what its clients tell (SETTINGS_HEADER_TABLE_SIZE 0).
    WithoutTable,
    /// Uses all that its clients allow: a large table, and long frames.
    Lavish,
    /// Answers a request by its head, and wants nothing of the body (RFC 9113 §8.1).
    Early,
    /// Takes one stream at once (SETTINGS_MAX_CONCURRENT_STREAMS 1).
    Solitary,
    /// Ends the connection at an answer to a PING that it has not sent, as Node.js does.
    Wary,
    /// Takes ten requests on a connection, and says so (GOAWAY with NO_ERROR).
    Retiring,
}

/// What its connections share.
struct Shared {
    /// The rule that it breaks.
    fault: &'static str,
    manner: Manner,
    life: Arc<Life>,
    requests: AtomicUsize,
    /// Requests that are still to come, and answers that wait for a window.
    waiting: AtomicUsize,
}

impl Strict {
    /// A server that breaks the rule of this name; none where there is no such rule.
    pub(crate) fn start(fault: &'static str) -> Self {
        Self::serving(fault, Manner::Usual)
    }

    /// A server that breaks no rule.
    pub(crate) fn right(manner: Manner) -> Self {
        Self::serving("none", manner)
    }

    fn serving(fault: &'static str, manner: Manner) -> Self {
        let life = Arc::<Life>::default();
        let (requests, waiting) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let shared = Arc::new(Shared { fault, manner, life: Arc::clone(&life), requests, waiting });
        let listening = Listening::start(&life, Manners::AllAtOnce, move |stream| serve(&stream, &shared));
        Self { address: listening.address, _listening: listening }
    }
}

/// Serves one connection until it ends.
fn serve(mut stream: &TcpStream, shared: &Arc<Shared>) {
    if shared.fault == "h2-spoken" {
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        return linger(stream);
    }
    let mut connection = Connection::new(Arc::clone(shared));
    let end = loop {
        let Some(bytes) = receive(stream, &shared.life) else { break connection.hang_up() };
        let taken = connection.take(&bytes);
        if shared.fault == "h2-half-close" && matches!(stream.peek(&mut [0]), Ok(0)) {
            break End::Quiet;
        }
        let _ = stream.write_all(&std::mem::take(&mut connection.out));
        if let Err(end) = taken {
            break end;
        }
    };
    match end {
        End::Quiet => {}
        End::Error(code) => {
            connection.say_why(code);
            let _ = stream.write_all(&connection.out);
            if shared.fault == "h2-error-ends" {
                while receive(stream, &shared.life).is_some() {}
            }
        }
        End::Everything => shared.life.end(),
    }
    linger(stream);
}
