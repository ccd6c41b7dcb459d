//! The watch of whoever stays until nothing below is left: a guard's over its supervisor, an agent's outer part's over the inner one.

use std::os::fd::BorrowedFd;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, Signal};

use super::ending::Wake;

/// How a watch ended.
pub(super) enum End<S, E> {
    /// The child has ended.
    Child(S),
    /// A look showed that it is to end.
    Seen(E),
    /// The child stands still, as one does that opens a named pipe whose other end nobody opens any more (fifo(7)).
    Unheeded,
}

/// Watches `child` until it has `ended`, which tells how, until `look`, which is asked once in a `tick`, shows something, or until it has
/// taken no notice for as long as `heed` that its `input` has closed. SIGTERM is handed on to it.
pub(super) fn watch<S, E>(
    child: Pid,
    ended: fn(Pid) -> Option<S>,
    input: BorrowedFd<'_>,
    heed: Duration,
    tick: Duration,
    woken: &Receiver<Wake>,
    mut look: impl FnMut() -> Option<E>,
) -> End<S, E> {
    let mut closed: Option<Instant> = None;
    loop {
        match woken.recv_timeout(tick) {
            Ok(Wake::Terminate) => {
                // Not reaped yet, so the number is still the child's.
                let _ = rustix::process::kill_process(child, Signal::TERM);
            }
            Ok(Wake::Child) => {
                if let Some(how) = ended(child) {
                    return End::Child(how);
                }
            }
            Ok(Wake::Kill) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => thread::sleep(tick),
        }
        if let Some(seen) = look() {
            return End::Seen(seen);
        }
        closed = closed.or_else(|| is_closed(input).then(Instant::now));
        if closed.is_some_and(|since| since.elapsed() > heed) {
            return End::Unheeded;
        }
    }
}

/// Whether the other end of a pipe or a socket, which is not read from, will say nothing any more (poll(2)).
fn is_closed(input: BorrowedFd<'_>) -> bool {
    let mut asked = [PollFd::from_borrowed_fd(input, PollFlags::RDHUP)];
    rustix::event::poll(&mut asked, Some(&Timespec::default())).is_ok()
        && asked[0].revents().intersects(PollFlags::HUP | PollFlags::RDHUP)
}

#[cfg(test)]
mod tests {
    use std::net::Shutdown;
    use std::os::fd::AsFd as _;
    use std::os::unix::net::UnixStream;
    use std::process::Command;
    use std::sync::mpsc::channel;

    use super::super::ending::has_ended;
    use super::*;

    #[test]
    fn who_takes_no_notice_of_a_closed_input_is_watched_no_longer() {
        let mut child = Command::new("sleep").arg("1000").spawn().expect("sleep");
        let (_wake, woken) = channel();
        let watch = |input: BorrowedFd<'_>| {
            let mut looks = 0;
            let third = || {
                looks += 1;
                (looks == 3).then_some(())
            };
            let tick = Duration::from_millis(10);
            watch(Pid::from_child(&child), has_ended, input, Duration::ZERO, tick, &woken, third)
        };
        let (pipe, writer) = std::io::pipe().expect("a pipe");
        let (socket, other) = UnixStream::pair().expect("sockets");
        for input in [pipe.as_fd(), socket.as_fd()] {
            assert!(matches!(watch(input), End::Seen(())), "somebody is there");
        }
        drop(writer);
        // As sshd does when its client's input has ended.
        other.shutdown(Shutdown::Write).expect("shut down");
        for input in [pipe.as_fd(), socket.as_fd()] {
            assert!(matches!(watch(input), End::Unheeded));
        }
        child.kill().expect("killed");
        child.wait().expect("ended");
    }
}
