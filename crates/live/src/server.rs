//! The thread that serves: one loop over all connections, which sleeps in poll(2).

use std::io::Read as _;
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::board::SharedBoard;
use crate::client::Client;
use crate::gate::Gate;

/// Most connections at once; more wait in the kernel's queue until one is over.
const MOST_CLIENTS: usize = 32;

/// What serves a page.
#[derive(Debug)]
pub(crate) struct Server {
    listener: TcpListener,
    woken: UnixStream,
    board: Arc<SharedBoard>,
    gate: Gate,
    clients: Vec<Client>,
}

impl Server {
    pub(crate) fn new(listener: TcpListener, woken: UnixStream, board: Arc<SharedBoard>, gate: Gate) -> Self {
        Self { listener, woken, board, gate, clients: Vec::new() }
    }

    /// Serves until the board says that this ends.
    pub(crate) fn run(mut self) {
        while self.turn() {
            self.wait();
        }
    }

    /// Does what can be done without waiting, under the board's lock; `false` when all is over.
    fn turn(&mut self) -> bool {
        self.forget_wakes();
        let shared = Arc::clone(&self.board);
        let mut board = shared.lock();
        if board.is_silent() {
            return board.ends.is_none();
        }
        let now = Instant::now();
        self.accept(now);
        self.clients.retain_mut(|client| client.turn(&self.gate, &board, now));
        board.is_new = false;
        shared.tell_seen();
        let is_told = || self.clients.iter().all(|client| client.has_all(&board));
        !board.ends.is_some_and(|ends| now >= ends || is_told())
    }

    fn forget_wakes(&self) {
        let mut wakes = [0; 64];
        while (&self.woken).read(&mut wakes).is_ok_and(|length| length > 0) {}
    }

    fn accept(&mut self, now: Instant) {
        while self.clients.len() < MOST_CLIENTS {
            let Ok((stream, _)) = self.listener.accept() else { return };
            if stream.set_nonblocking(true).is_ok() {
                self.clients.push(Client::new(stream, now));
            }
        }
    }

    /// Sleeps until there is something to do; while it is silent, until it is woken.
    fn wait(&self) {
        let (is_silent, ends) = {
            let board = self.board.lock();
            (board.is_silent(), board.ends)
        };
        let mut files = vec![PollFd::new(&self.woken, PollFlags::IN)];
        if !is_silent {
            if self.clients.len() < MOST_CLIENTS {
                files.push(PollFd::new(&self.listener, PollFlags::IN));
            }
            files.extend(self.clients.iter().map(|client| PollFd::new(client, interest(client))));
        }
        let deadlines = self.clients.iter().filter_map(Client::until).chain(ends);
        let until = deadlines.min().filter(|_| !is_silent);
        // Interrupted or not, the next turn sees what there is.
        let _ = poll(&mut files, until.and_then(time_until).as_ref());
    }
}

fn interest(client: &Client) -> PollFlags {
    if client.is_sending() { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN }
}

/// At least a millisecond, so that a deadline that is not quite reached is no reason to spin.
fn time_until(until: Instant) -> Option<Timespec> {
    let left = until.saturating_duration_since(Instant::now()).max(std::time::Duration::from_millis(1));
    Timespec::try_from(left).ok()
}
