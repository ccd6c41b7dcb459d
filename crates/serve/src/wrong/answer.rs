//! One connection: its requests, and answers with the fault in them.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::PoisonError;
use std::sync::mpsc::channel;

use super::{Fault, Shop};
use crate::stub::BODY;

/// Longest head of a request.
const MOST_HEAD: usize = 8 * 1024;
/// What ends a head.
const END: &[u8] = b"\r\n\r\n";
/// Length of a body that leaves in small pieces, and of a piece.
const LONG_BODY: usize = 4096;
const PIECE: usize = 64;

/// Answers whatever comes until the client ends, or sends what is no request that can be answered here.
///
/// # Errors
/// When the connection fails.
pub(super) fn converse(stream: &TcpStream, shop: &Shop<'_>) -> io::Result<()> {
    let (mut asked, mut bytes) = (Vec::new(), [0; 4096]);
    let length = if shop.fault == Fault::SmallBuffers { LONG_BODY } else { BODY.len() };
    let body: Vec<u8> = BODY.bytes().cycle().take(length).collect();
    // A queue of connections holds answers up where each needs a connection of its own.
    let once = shop.fault == Fault::AcceptQueue;
    let last = if once { "Connection: close\r\n" } else { "" };
    let head =
        format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n{last}\r\n");
    while shop.is_open() && asked.len() <= MOST_HEAD {
        match received(stream, &mut bytes)? {
            Some(0) => return Ok(()),
            Some(n) => asked.extend_from_slice(&bytes[..n]),
            None => continue,
        }
        while let Some(at) = asked.windows(END.len()).position(|four| four == END) {
            if !asked.starts_with(b"GET ") {
                return Ok(());
            }
            asked.drain(..at + END.len());
            answer(stream, shop, head.as_bytes(), &body)?;
            if once {
                return say_goodbye(stream, shop);
            }
        }
    }
    Ok(())
}

/// Ends this side, and waits for the client to end its own: closed with something unread, the connection would be reset, and the answer lost
/// (RFC 9112, section 9.6).
fn say_goodbye(stream: &TcpStream, shop: &Shop<'_>) -> io::Result<()> {
    stream.shutdown(Shutdown::Write)?;
    let mut bytes = [0; 4096];
    while shop.is_open() && received(stream, &mut bytes)? != Some(0) {}
    Ok(())
}

/// How many bytes came, none at the end; nothing where nothing came in time, and nothing else happened.
fn received(mut stream: &TcpStream, bytes: &mut [u8]) -> io::Result<Option<usize>> {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    match stream.read(bytes) {
        Err(error) if matches!(error.kind(), WouldBlock | TimedOut | Interrupted) => Ok(None),
        read => read.map(Some),
    }
}

fn answer(mut stream: &TcpStream, shop: &Shop<'_>, head: &[u8], body: &[u8]) -> io::Result<()> {
    let whole = [head, body].concat();
    match shop.fault {
        Fault::Lock => take_the_till(shop),
        Fault::Collector => drop(shop.world.read().unwrap_or_else(PoisonError::into_inner)),
        Fault::OneThread => wait_at_the_counter(shop),
        Fault::Disk => write_down(shop, head)?,
        Fault::DelayedAcknowledgement => {
            stream.write_all(head)?;
            return stream.write_all(body);
        }
        Fault::SmallBuffers => return whole.chunks(PIECE).try_for_each(|piece| stream.write_all(piece)),
        Fault::RunQueue | Fault::AcceptQueue => {}
    }
    stream.write_all(&whole)
}

/// Takes the lock, for no time. A function of its own, so that it can be named.
#[inline(never)]
fn take_the_till(shop: &Shop<'_>) {
    drop(shop.till.lock().unwrap_or_else(PoisonError::into_inner));
}

fn wait_at_the_counter(shop: &Shop<'_>) {
    let (done, answered) = channel();
    let counter = shop.counter.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if counter.is_some_and(|counter| counter.send(done).is_ok()) {
        // Whoever is asked goes when the server does, and then nobody needs the answer.
        let _ = answered.recv();
    }
}

fn write_down(shop: &Shop<'_>, line: &[u8]) -> io::Result<()> {
    let Some(mut ledger) = shop.ledger.as_ref() else { return Ok(()) };
    ledger.write_all(line)?;
    ledger.sync_data()
}
