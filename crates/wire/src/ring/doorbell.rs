//! How an end sleeps, and how the other wakes it: by a futex in the shared memory (futex(2)), or, when it waits for other things
//! too, by a pipe that poll(2) can wait for (fifo(7)).
//!
//! A system call is made only for an end that sleeps. That is Dekker's problem: one stores an index and then loads the
//! doorbell, the other stores the doorbell and then loads the index; at least one must see the other's store. Release and
//! Acquire do not order a store before a later load, so that both put a sequentially consistent fence between the two
//! (C++20 [atomics.fences], which Rust's model follows; futex(2) compares the word once more within the kernel).
//!
//! Both ends hold a pipe open in both directions, so that neither is ever told that the other is gone (`SIGPIPE`). A byte that
//! comes after its sleeper woke for another reason ends the next sleep early, which sleeps may.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use assay_descriptors as descriptors;
use assay_model::units::Nanos;
use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::thread::futex;

use super::lane::Board;
use super::order;
use crate::End;
use crate::ownership;

/// What an end is asleep for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Asleep {
    /// Frames that arrive.
    ForFrames = 1,
    /// Frames that arrive, or room for frames to send.
    ForRoom = 2,
}

/// Added to what an end is asleep for when its pipe is to wake it.
const BY_PIPE: u32 = 4;

/// What wakes one of the ends of a queue.
#[derive(Clone, Debug)]
pub(super) struct Bell {
    board: Board,
    end: End,
    pipe: Arc<OwnedFd>,
}

impl Bell {
    pub(super) fn new(board: &Board, end: End, pipe: Arc<OwnedFd>) -> Self {
        Self { board: board.clone(), end, pipe }
    }

    fn word(&self) -> &AtomicU32 {
        &self.board.control().seats[self.end.index()].doorbell.0
    }

    /// Sleeps until the bell is rung or `timeout` is over, unless `ready` says that there is no need. Whether a ring ended
    /// the sleep; `None` if there was none.
    pub(super) fn sleep(
        &self,
        reason: Asleep,
        timeout: Nanos,
        ready: impl FnOnce() -> bool,
    ) -> io::Result<Option<bool>> {
        let word = self.word();
        if !order::lie_down(word, reason as u32, ready) {
            return Ok(None);
        }
        let timeout = futex::Timespec {
            tv_sec: (timeout.0 / 1_000_000_000) as i64,
            tv_nsec: (timeout.0 % 1_000_000_000) as i64,
        };
        // Not FUTEX_PRIVATE: the word is found by its file, as another process maps it elsewhere.
        let is_rung = match futex::wait(word, futex::Flags::empty(), reason as u32, Some(&timeout)) {
            // EAGAIN: rung before we slept; EINTR: a signal, and waits may end early.
            Ok(()) | Err(Errno::AGAIN | Errno::INTR) => true,
            Err(Errno::TIMEDOUT) => false,
            Err(error) => return Err(error.into()),
        };
        order::get_up(word);
        Ok(Some(is_rung))
    }

    /// Says that its end is about to wait for [`pipe`](Self::pipe) to be readable; whether it may, as `ready` says that there is
    /// nothing to do.
    pub(super) fn arm(&self, reason: Asleep, ready: impl FnOnce() -> bool) -> bool {
        // What is left of the last time. An empty pipe says EAGAIN, a full one is read up by and by.
        if descriptors::holds(self.pipe()) {
            let _ = rustix::io::read(&*self.pipe, &mut [0_u8; 64][..]);
        }
        order::lie_down(self.word(), reason as u32 | BY_PIPE, ready)
    }

    /// What can be read when the bell was rung for an end that had [armed](Self::arm) it.
    pub(super) fn pipe(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }

    /// Wakes who sleeps by the pipe, if that is still there: the program that we are in may have put a file at its number.
    fn wake(&self) {
        if descriptors::holds(self.pipe()) {
            let _ = rustix::io::write(&*self.pipe, &[0]);
        }
    }

    /// Wakes whoever sleeps for `what`, after an index was published. Whether that took a system call.
    pub(super) fn ring(&self, what: Asleep) -> bool {
        let word = self.word();
        let wakes = |asleep: u32| [Asleep::ForRoom as u32, what as u32].contains(&(asleep & !BY_PIPE));
        // Neither call can fail so that its sleeper would not wake: the word is mapped, and a pipe without room is readable.
        match order::rouse(word, wakes) {
            None => return false,
            Some(asleep) if asleep & BY_PIPE != 0 => self.wake(),
            Some(_) => drop(futex::wake(word, futex::Flags::empty(), 1)),
        }
        true
    }
}

/// The pipe of a named ring's end, which is made if it is not there.
pub(super) fn named_pipe(path: &Path) -> io::Result<OwnedFd> {
    match rustix::fs::mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let pipe = rustix::fs::open(path, flags, Mode::empty())?;
    ownership::check(&pipe, FileType::Fifo).map_err(|error| {
        io::Error::new(error.kind(), format!("the pipe beside it, {}: {error}", path.display()))
    })?;
    Ok(descriptors::keep(pipe))
}

/// A pipe without a name.
pub(super) fn unnamed_pipe() -> io::Result<OwnedFd> {
    let (reader, _writer) = pipe_with(PipeFlags::CLOEXEC)?;
    let again = format!("/proc/self/fd/{}", reader.as_raw_fd());
    Ok(rustix::fs::open(again, OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?)
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_pipe_has_both_directions_and_nothing_else_is_taken_for_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("pipe");
        let [one, other] = [(); 2].map(|()| named_pipe(&path).expect("a pipe"));
        for (writer, reader) in [(&one, &other), (&other, &one)] {
            assert_eq!(rustix::io::write(writer, b"x"), Ok(1));
            assert_eq!(rustix::io::read(reader, &mut [0_u8; 8][..]), Ok(1));
            assert_eq!(rustix::io::read(reader, &mut [0_u8; 8][..]), Err(Errno::AGAIN));
        }
        let file = folder.path().join("file");
        std::fs::write(&file, "").expect("a file");
        assert!(named_pipe(&file).is_err());
        std::fs::set_permissions(&path, Permissions::from_mode(0o622)).expect("a new mode");
        let error = named_pipe(&path).expect_err("others may write").to_string();
        assert!(error.contains("0622") && error.contains("pipe"), "{error}");
    }
}
