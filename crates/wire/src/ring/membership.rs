//! Members of a ring, one at each end: the file's life and the locks that tell the living from the dead.
//!
//! Every end of every queue is a byte of the file that whoever sits there locks (open file description locks, fcntl(2)).
//! The kernel lets go of a lock with the last descriptor, however its process ends, so that a lock is a sign of life. The
//! file gets its name only when it is complete and its maker's seat is locked, so that a file without locks is one that
//! the dead left behind. Whoever leaves last removes the name, and before it those of the pipes beside it, by which ends are
//! woken: they are made only by who has a seat.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use assay_descriptors as descriptors;
use rustix::fs::{AtFlags, CWD, FallocateFlags, Mode, OFlags};
use rustix::io::Errno;

use super::RingError;
use super::doorbell::{Asleep, Bell, named_pipe};
use super::lane::Board;
use super::layout;
use crate::End;
use crate::memory::Mapping;
use crate::ownership;

/// What is written about a seat.
const NOBODY: u32 = 0;
const PRESENT: u32 = 1;
/// A first end is taken once; a second end goes on with its predecessor's indices.
const LEFT: u32 = 2;

/// A seat at a ring; given up on drop.
#[derive(Debug)]
pub(super) struct Membership {
    file: File,
    path: Option<PathBuf>,
    queues: u16,
    /// By end.
    bells: [Bell; 2],
    pub(super) board: Board,
    pub(super) queue: u16,
    pub(super) end: End,
    /// Whether another sat here before.
    pub(super) is_successor: bool,
}

/// How joining a file went.
pub(super) enum Joined {
    Yes(Membership),
    /// Not now, for this reason.
    NotYet(RingError),
}

impl Membership {
    /// Makes the file. `None` when there is one already.
    pub(super) fn create(path: &Path, end: End, queue: u16, queues: u16) -> Result<Option<Self>, RingError> {
        let failed = |error: Errno| RingError::Create { path: path.to_owned(), error: error.into() };
        let file = Self::unnamed_file(path)?;
        let bytes = layout::file_bytes(queues);
        // Not a mere length: a page that cannot be had later would kill the process that touches it.
        rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, bytes as u64).map_err(failed)?;
        let failed_with = |error| RingError::Create { path: path.to_owned(), error };
        let board = Self::take_first_seat(&file, end, queue, queues).map_err(failed_with)?;
        let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
        match rustix::fs::linkat(CWD, &unnamed, CWD, path, AtFlags::SYMLINK_FOLLOW) {
            Ok(()) => {}
            Err(Errno::EXIST) => return Ok(None),
            Err(error) => return Err(failed(error)),
        }
        let pipes = named_pipes(path, queue).map_err(|error| {
            // The lock of our seat is our own file's.
            let _ = remove_if_deserted(&file, path, queues);
            failed_with(error)
        })?;
        let path = Some(path.to_owned());
        Ok(Some(Self::seated(file, path, board, (end, queue, queues), pipes, false)))
    }

    /// A file in the folder of `path` that has no name yet, and is gone when nobody gives it one.
    pub(super) fn unnamed_file(path: &Path) -> Result<File, RingError> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let made = rustix::fs::open(folder, flags, Mode::RUSR | Mode::WUSR);
        let failed = |error: Errno| RingError::Create { path: path.to_owned(), error: error.into() };
        made.map(|file| File::from(descriptors::keep(file))).map_err(failed)
    }

    /// Takes a seat at a new file without a name.
    pub(super) fn unnamed(file: File, end: End, pipes: [Arc<OwnedFd>; 2]) -> io::Result<Self> {
        let board = Self::take_first_seat(&file, end, 0, 1)?;
        Ok(Self::seated(file, None, board, (end, 0, 1), pipes, false))
    }

    fn take_first_seat(file: &File, end: End, queue: u16, queues: u16) -> io::Result<Board> {
        let mapping = Arc::new(Mapping::of_shared_file(file.as_fd(), layout::file_bytes(queues))?);
        layout::write_header(&mapping, queues);
        let locked = lock(file, seat_byte(queue, end))?;
        let board = Board::of(&mapping, queue).filter(|_| locked);
        board.ok_or_else(|| io::Error::from(io::ErrorKind::ResourceBusy))
    }

    /// Says that somebody sits here who has the seat's lock.
    fn seated(
        file: File,
        path: Option<PathBuf>,
        board: Board,
        (end, queue, queues): (End, u16, u16),
        pipes: [Arc<OwnedFd>; 2],
        is_successor: bool,
    ) -> Self {
        let seat = &board.control().seats[end.index()];
        seat.sittings.0.fetch_add(1, Ordering::Release);
        seat.presence.0.store(PRESENT, Ordering::Release);
        let [first, second] = pipes;
        let bells = [Bell::new(&board, End::First, first), Bell::new(&board, End::Second, second)];
        Self { file, path, queues, bells, board, queue, end, is_successor }
    }

    /// Takes a seat at a file that another made, and that was found to be [ours](super::open_ours).
    pub(super) fn join(
        file: File,
        path: &Path,
        end: End,
        queue: u16,
        queues: u16,
    ) -> Result<Joined, RingError> {
        let failed = |error| RingError::Open { path: path.to_owned(), error };
        let foreign = || RingError::Foreign { path: path.to_owned() };
        let busy = || Ok(Joined::NotYet(RingError::Busy { path: path.to_owned() }));
        let bytes = file.metadata().map_err(failed)?.len() as usize;
        if !layout::is_file_length(bytes) {
            return Err(foreign());
        }
        let mapping = Arc::new(Mapping::of_shared_file(file.as_fd(), bytes).map_err(failed)?);
        let theirs = layout::queues(&mapping).ok_or_else(foreign)?;
        // Not before it is known to be a ring: nobody's precious file has locks either.
        let theirs_at_most = u16::try_from(theirs).unwrap_or(layout::QUEUES);
        if remove_if_deserted(&file, path, theirs_at_most).map_err(failed)? {
            return busy();
        }
        if theirs != u32::from(queues) {
            return Err(RingError::Queues { path: path.to_owned(), theirs, ours: queues });
        }
        // The name may have gone before we had the lock.
        if !lock(&file, seat_byte(queue, end)).map_err(failed)?
            || file.metadata().map_err(failed)?.nlink() == 0
        {
            return busy();
        }
        let board = Board::of(&mapping, queue).ok_or_else(foreign)?;
        let presence = &board.control().seats[end.index()].presence.0;
        // The lock says that a predecessor is gone. A first end may have no successor: its second end was told that it went.
        let is_new = presence.load(Ordering::Acquire) == NOBODY;
        if !is_new && end == End::First {
            return busy();
        }
        let pipes = named_pipes(path, queue).map_err(failed)?;
        let path = Some(path.to_owned());
        Ok(Joined::Yes(Self::seated(file, path, board, (end, queue, queues), pipes, !is_new)))
    }

    /// How many queues a file has at which somebody sits.
    pub(super) fn queues(file: &File, path: &Path) -> Result<Option<u16>, RingError> {
        let queues = queues_of(file, path)?;
        let is_taken =
            is_locked(file, ALL).map_err(|error| RingError::Open { path: path.to_owned(), error })?;
        Ok(is_taken.then_some(queues))
    }

    /// Removes the names of a file at which nobody sits.
    pub(super) fn sweep(file: &File, path: &Path) -> Result<(), RingError> {
        let queues = queues_of(file, path)?;
        let swept = remove_if_deserted(file, path, queues);
        swept.map(drop).map_err(|error| RingError::Open { path: path.to_owned(), error })
    }

    /// The memory as a file.
    #[cfg(test)]
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// What this end is woken by.
    pub(super) fn bell(&self) -> &Bell {
        &self.bells[self.end.index()]
    }

    /// What wakes the other end.
    pub(super) fn others_bell(&self) -> &Bell {
        &self.bells[self.end.other().index()]
    }

    /// Fails when the program that we are in has ended the file or a pipe.
    pub(super) fn check_descriptors(&self) -> io::Result<()> {
        descriptors::check(self.file.as_fd())?;
        self.bells.iter().try_for_each(|bell| descriptors::check(bell.pipe()))
    }

    /// Whether the other end has said that it left for good: a second end may have a successor.
    pub(super) fn peer_left(&self) -> bool {
        self.end == End::Second && self.presence(self.end.other()) == LEFT
    }

    /// Whether the other end was there and is no more for good, whatever it said.
    pub(super) fn peer_died(&self) -> io::Result<bool> {
        if self.end == End::First {
            return Ok(false);
        }
        match self.presence(self.end.other()) {
            NOBODY => Ok(false),
            PRESENT => Ok(!is_locked(&self.file, seat_byte(self.queue, self.end.other()))?),
            _ => Ok(true),
        }
    }

    fn presence(&self, end: End) -> u32 {
        self.board.control().seats[end.index()].presence.0.load(Ordering::Acquire)
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.board.control().seats[self.end.index()].presence.0.store(LEFT, Ordering::Release);
        self.others_bell().ring(Asleep::ForFrames);
        if !descriptors::holds(self.file.as_fd()) {
            return;
        }
        // What fails here leaves a file without locks, which the next to come removes.
        let _ = unlock(&self.file, seat_byte(self.queue, self.end));
        if let Some(path) = &self.path {
            let _ = remove_if_deserted(&self.file, path, self.queues);
        }
    }
}

/// The queues of a file that is a ring.
fn queues_of(file: &File, path: &Path) -> Result<u16, RingError> {
    let failed = |error| RingError::Open { path: path.to_owned(), error };
    let foreign = || RingError::Foreign { path: path.to_owned() };
    let bytes = file.metadata().map_err(failed)?.len() as usize;
    if !layout::is_file_length(bytes) {
        return Err(foreign());
    }
    let mapping = Mapping::of_shared_file(file.as_fd(), bytes).map_err(failed)?;
    layout::queues(&mapping).and_then(|queues| u16::try_from(queues).ok()).ok_or_else(foreign)
}

/// The pipes of a queue's ends, beside the ring's file.
fn named_pipes(path: &Path, queue: u16) -> io::Result<[Arc<OwnedFd>; 2]> {
    let pipe = |end| named_pipe(&pipe_path(path, queue, end)).map(Arc::new);
    Ok([pipe(End::First)?, pipe(End::Second)?])
}

fn pipe_path(path: &Path, queue: u16, end: End) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{queue}.{}", if end == End::First { "first" } else { "second" }));
    name.into()
}

/// Removes the names of the file and its pipes if nobody sits at any of its ends. Whether it did.
fn remove_if_deserted(file: &File, path: &Path, queues: u16) -> io::Result<bool> {
    if !lock(file, ALL)? {
        return Ok(false);
    }
    // With all seats locked nobody can come; the name may meanwhile be another file's.
    let same = |other: std::fs::Metadata| file.metadata().is_ok_and(|ours| ours.ino() == other.ino());
    if std::fs::symlink_metadata(path).is_ok_and(same) {
        // The ring's own name goes last: while it is there nobody makes another ring with pipes of these names.
        for (queue, end) in (0..queues).flat_map(|queue| [(queue, End::First), (queue, End::Second)]) {
            let pipe = pipe_path(path, queue, end);
            // A queue that nobody used has none.
            if std::fs::symlink_metadata(&pipe).is_ok_and(|found| ownership::is_our_pipe(&found)) {
                let _ = std::fs::remove_file(pipe);
            }
        }
        std::fs::remove_file(path)?;
    }
    unlock(file, ALL)?;
    Ok(true)
}

/// A range of bytes: first and length.
type Range = (i64, i64);
/// The whole file, whatever its length.
const ALL: Range = (0, 0);

fn seat_byte(queue: u16, end: End) -> Range {
    (i64::from(queue) * 2 + end.index() as i64, 1)
}

/// Locks a range for this open file; whether nobody else had it.
fn lock(file: &File, range: Range) -> io::Result<bool> {
    match control(file, libc::F_OFD_SETLK, libc::F_WRLCK, range) {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => Ok(false),
        Err(error) => Err(error),
    }
}

fn unlock(file: &File, range: Range) -> io::Result<()> {
    control(file, libc::F_OFD_SETLK, libc::F_UNLCK, range).map(drop)
}

/// Whether somebody else has locked a range.
fn is_locked(file: &File, range: Range) -> io::Result<bool> {
    Ok(control(file, libc::F_OFD_GETLK, libc::F_WRLCK, range)? != libc::F_UNLCK)
}

/// What the kernel says of the lock's kind.
fn control(file: &File, command: i32, kind: i32, (start, length): Range) -> io::Result<i32> {
    // SAFETY: a structure of integers, for which zero is valid; some systems pad it.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock.l_start = start;
    lock.l_len = length;
    // SAFETY: an open descriptor, and a structure that the kernel reads and writes during the call.
    match unsafe { libc::fcntl(file.as_raw_fd(), command, &raw mut lock) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(lock.l_type.into()),
    }
}
