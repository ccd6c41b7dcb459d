//! Serves one page and its news to browsers on this machine, while something goes on that must not be disturbed.
//!
//! Invariants:
//! * only loopback is listened on, and only a request that names this machine and knows the token is answered (`gate`);
//! * while it is hushed, nothing is accepted, read or sent, and its thread sleeps ([`LivePage::hush`]);
//! * connections, heads and waits have limits; who takes too little gets the newest edition next, never a backlog;
//! * it ends: whoever watches has the last edition first, within a bound.
//!
//! News are server-sent events (HTML Living Standard §9.2): `edition` and `end` hold what has changed on the page, `words` says
//! what goes on.
//!
//! Must not know: what the page shows, what is measured.
#![forbid(unsafe_code)]

mod board;
mod client;
mod gate;
mod server;

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use board::SharedBoard;
use gate::Gate;
use server::Server;

/// Longest wait until all who watch have the last edition.
const LAST_WORDS: Duration = Duration::from_secs(3);
/// Longest wait until what was said before a silence is on its way.
const BEFORE_SILENCE: Duration = Duration::from_millis(20);

/// A state of the page.
#[derive(Clone, Copy, Debug)]
pub struct Edition<'a> {
    /// The page as one HTML document, for a browser that opens it now.
    pub html: &'a str,
    /// What a page that is open needs to show the same.
    pub update: &'a str,
}

/// Why a page cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The port cannot be listened on.
    #[error("cannot serve the live page on port {port}: {source}; another port, or none, lets it be free")]
    Listen {
        /// The port that was asked for.
        port: u16,
        /// Why not.
        source: io::Error,
    },
    /// What the server is made of cannot be had.
    #[error("cannot serve the live page: {0}")]
    Machine(#[from] io::Error),
    /// An answer that cannot be written.
    #[error("cannot write the live page: {0}")]
    Render(#[from] assay_http::render::RenderError),
}

/// A page that is being served; it is no longer once this is dropped.
#[derive(Debug)]
pub struct LivePage {
    address: String,
    board: Arc<SharedBoard>,
    wake: UnixStream,
    thread: Option<JoinHandle<()>>,
}

impl LivePage {
    /// Listens on this port of 127.0.0.1, or on a free one where it is 0. Nobody is answered before the first [`Self::show`].
    ///
    /// # Errors
    /// [`LiveError`] when the port is taken, or when there are no descriptors or threads to be had.
    pub fn begin(port: u16) -> Result<Self, LiveError> {
        let listen = || {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
            listener.set_nonblocking(true)?;
            Ok((listener.local_addr()?, listener))
        };
        let (place, listener) = listen().map_err(|source| LiveError::Listen { port, source })?;
        let (wake, woken) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        woken.set_nonblocking(true)?;
        // 128 bits from a generator that the operating system seeds: guessing is hopeless.
        let token = format!("{:032x}", rand::random::<u128>());
        let address = format!("http://{place}/{token}/");
        let board = Arc::new(SharedBoard::default());
        let server = Server::new(listener, woken, Arc::clone(&board), Gate::new(token));
        let thread = std::thread::Builder::new().name("live-page".to_owned()).spawn(move || server.run())?;
        Ok(Self { address, board, wake, thread: Some(thread) })
    }

    /// Where the page is, token included.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Shows another edition to all who watch, and to those who come.
    ///
    /// # Errors
    /// [`LiveError::Render`].
    pub fn show(&self, edition: &Edition<'_>) -> Result<(), LiveError> {
        self.board.lock().show(edition, "edition")?;
        self.wake();
        Ok(())
    }

    /// Says what goes on.
    pub fn say(&self, words: &str) {
        self.board.lock().say(words);
        self.wake();
    }

    /// Is silent from now on: what was said before is on its way, or waits; when this returns nothing is being sent, and nothing
    /// will be before [`Self::speak`].
    pub fn hush(&self) {
        // The server takes its turns under this lock. It is not woken: it would be for nothing.
        self.board.lock_seen(BEFORE_SILENCE).is_hushed = true;
    }

    /// Is silent no longer.
    pub fn speak(&self) {
        let was_hushed = std::mem::replace(&mut self.board.lock().is_hushed, false);
        if was_hushed {
            self.wake();
        }
    }

    /// Shows the last edition, which needs nobody any more, and ends when all who watch have it, or after three seconds.
    ///
    /// # Errors
    /// [`LiveError::Render`].
    pub fn end(self, last: &Edition<'_>) -> Result<(), LiveError> {
        {
            let mut board = self.board.lock();
            board.show(last, "end")?;
            board.ends = Some(Instant::now() + LAST_WORDS);
        }
        Ok(())
    }

    fn wake(&self) {
        // Where the other end is full it is awake.
        let _ = io::Write::write(&mut (&self.wake), &[1]);
    }
}

impl Drop for LivePage {
    fn drop(&mut self) {
        {
            let mut board = self.board.lock();
            board.is_hushed = false;
            board.ends.get_or_insert_with(Instant::now);
        }
        self.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
