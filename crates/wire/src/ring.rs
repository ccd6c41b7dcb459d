//! A wire of shared memory between two processes, or two threads: no kernel on the way of a frame.
//!
//! Each queue is a pair of single-producer, single-consumer rings. A full ring says "not now", so that nothing is lost.
//! The memory is a file, best under /dev/shm. It is made by whoever comes first and removed by whoever leaves last. When the other
//! end's process ends, however it ends, [`Wire::wait`](crate::Wire::wait) fails as soon as all frames were read; both ends may then open the
//! same path again. An end that is not there yet is waited for in silence: frames keep. Pipes with names beside the file's, for ends
//! that wait for other things as well, come and go with it.
//!
//! Whom it trusts: nobody but the processes of its own user, and these not with its life. A file, or a pipe beside it, that belongs to
//! another user or gives others any right is refused. The process at the other end may write anything anywhere at any time: frames
//! are copied out once before anybody looks at them, indices and lengths are bounded, and a file that is cut short ends the wire
//! instead of the process (`guard`). It can always fall silent, or send nonsense: the wire then ends, or carries it.

mod doorbell;
mod lane;
mod layout;
mod membership;
mod order;
mod receiving;
mod sending;
mod sync;

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use assay_descriptors as descriptors;
use assay_model::units::Nanos;
use rustix::fs::{FileType, MemfdFlags, Mode, OFlags, SealFlags};
use rustix::io::Errno;

use doorbell::{Asleep, unnamed_pipe};
use lane::Lane;
use membership::{Joined, Membership};

use crate::ownership;
use crate::parts::{Assembled, Base, Incoming, Outgoing};
use crate::waiting::{IDLE_WAITS, LIFE_CHECK, spin};
use crate::{End, Facts, Statistics};
pub use receiving::RingReceiver;
pub use sending::RingSender;

/// How long a seat that another has is waited for: a process that noticed its peer's end gives it up within
/// [`LIFE_CHECK`].
const OPEN_TIMEOUT: Duration = Duration::from_secs(3);
/// Between two attempts.
const OPEN_PAUSE: Duration = Duration::from_millis(5);

/// Why a ring cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum RingError {
    /// The file cannot be made.
    #[error(
        "{}: the ring cannot be made: {error}; choose a path under /dev/shm with enough room left (`df /dev/shm`)",
        path.display()
    )]
    Create {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The file is there and cannot be used.
    #[error("{}: the ring cannot be opened: {error}; both ends must run as the same user", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The file is another user's, or open to others.
    #[error(
        "{}: the ring is not ours alone: {error}; both ends must run as the same user, who alone has rights to the file: choose \
         another path, best in a folder of your own, or remove the file",
        path.display()
    )]
    NotOurs {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: io::Error,
    },
    /// Something else has that name.
    #[error("{}: not a ring of this version; choose another path, or remove the file", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The other end has another number of threads.
    #[error(
        "{}: the other end made the ring with {theirs} queues, this one wants {ours}; give both the same number of threads",
        path.display()
    )]
    Queues {
        /// The file.
        path: PathBuf,
        /// Queues of the file.
        theirs: u32,
        /// Queues asked for.
        ours: u16,
    },
    /// The seat is taken.
    #[error(
        "{}: this end of the ring is, or was, another's, and the other end still holds it; end that process, or choose \
         another path",
        path.display()
    )]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// No such queue.
    #[error("queue {queue} of {queues}: a ring has 1 to {most} queues, counted from 0", most = layout::QUEUES)]
    Queue {
        /// The queue asked for.
        queue: u16,
        /// How many there are to be.
        queues: u16,
    },
}

/// One queue of a ring, seen from one end.
pub type Ring = Assembled<RingBase, RingReceiver, RingSender>;

/// Takes the seat at one end of a queue of the ring at `path`, which is made if it is not there; the other end need not
/// be there yet. Both ends must agree on the number of queues. Waits some seconds for a predecessor to leave.
///
/// # Errors
/// The file cannot be made or used, is no ring, has another number of queues, or the seat is another's.
pub fn open(path: &Path, end: End, queue: u16, queues: u16) -> Result<Ring, RingError> {
    if queue >= queues || queues > layout::QUEUES {
        return Err(RingError::Queue { queue, queues });
    }
    let deadline = Instant::now() + OPEN_TIMEOUT;
    loop {
        let reason = match attempt(path, end, queue, queues)? {
            Joined::Yes(membership) => return over(membership, path),
            Joined::NotYet(reason) => reason,
        };
        if Instant::now() >= deadline {
            return Err(reason);
        }
        std::thread::sleep(OPEN_PAUSE);
    }
}

/// Whether a ring is there, or could be made.
///
/// # Errors
/// It is not, and no file can be made in its folder; or what is there is not ours.
pub fn check(path: &Path) -> Result<(), RingError> {
    match open_ours(path)? {
        Some(_) => Ok(()),
        None => Membership::unnamed_file(path).map(drop),
    }
}

/// How many queues the ring has; `None` when there is none, or one that the dead left behind.
///
/// # Errors
/// What is there is no ring, or not ours.
pub fn queues(path: &Path) -> Result<Option<u16>, RingError> {
    open_ours(path)?.map_or(Ok(None), |file| Membership::queues(&file, path))
}

/// Removes a ring's file and its pipes if nobody sits at any of its ends.
///
/// # Errors
/// What is there is no ring, or not ours, or cannot be removed.
pub fn sweep(path: &Path) -> Result<(), RingError> {
    open_ours(path)?.map_or(Ok(()), |file| Membership::sweep(&file, path))
}

fn attempt(path: &Path, end: End, queue: u16, queues: u16) -> Result<Joined, RingError> {
    match open_ours(path)? {
        Some(file) => Membership::join(file, path, end, queue, queues),
        None => Ok(match Membership::create(path, end, queue, queues)? {
            Some(membership) => Joined::Yes(membership),
            None => Joined::NotYet(RingError::Busy { path: path.to_owned() }),
        }),
    }
}

/// Opens the file, which nobody but our user may have made or may change; `None` when there is none. What is opened is what is
/// checked, and a pipe or a device of that name does not keep us.
fn open_ours(path: &Path) -> Result<Option<File>, RingError> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let not_ours = |error| RingError::NotOurs { path: path.to_owned(), error };
    match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => {
            ownership::check(&file, FileType::RegularFile).map_err(not_ours)?;
            Ok(Some(File::from(descriptors::keep(file))))
        }
        Err(Errno::NOENT) => Ok(None),
        Err(Errno::LOOP) => Err(not_ours(io::Error::other("it is a symbolic link"))),
        Err(Errno::ACCESS) => Err(not_ours(Errno::ACCESS.into())),
        Err(error) => Err(RingError::Open { path: path.to_owned(), error: error.into() }),
    }
}

/// Two ends of a ring that has no name.
///
/// # Errors
/// There is no memory for it.
pub fn pair() -> Result<(Ring, Ring), RingError> {
    let path = Path::new("memfd:assay-ring");
    let failed = |error| RingError::Create { path: path.to_owned(), error };
    let memory = sealed_memory(layout::file_bytes(1)).map_err(|error| failed(error.into()))?;
    // Locks are between open files, so that the second end opens its own.
    let again = format!("/proc/self/fd/{}", memory.as_raw_fd());
    let again = File::options().read(true).write(true).open(again).map_err(failed)?;
    let pipes = [Arc::new(unnamed_pipe().map_err(failed)?), Arc::new(unnamed_pipe().map_err(failed)?)];
    let first = Membership::unnamed(memory.into(), End::First, pipes.clone()).map_err(failed)?;
    let second = Membership::unnamed(again, End::Second, pipes).map_err(failed)?;
    Ok((over(first, path)?, over(second, path)?))
}

/// Memory whose size nobody can change any more (F_ADD_SEALS, fcntl(2)).
fn sealed_memory(bytes: usize) -> Result<OwnedFd, Errno> {
    let memory = rustix::fs::memfd_create("assay-ring", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    rustix::fs::ftruncate(&memory, bytes as u64)?;
    rustix::fs::fcntl_add_seals(&memory, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    Ok(memory)
}

fn over(membership: Membership, path: &Path) -> Result<Ring, RingError> {
    let Membership { board, queue, end, is_successor, .. } = &membership;
    let lane =
        |from| Lane::of(board, *queue, from).ok_or_else(|| RingError::Foreign { path: path.to_owned() });
    Ok(Ring {
        receiver: RingReceiver::new(lane(end.other())?, membership.others_bell().clone(), *is_successor),
        sender: RingSender::new(lane(*end)?, membership.others_bell().clone()),
        base: RingBase { idle_waits: 0, system_calls: 0, membership, is_robbed: false },
    })
}

/// A place at one end of a ring.
#[derive(Debug)]
pub struct RingBase {
    idle_waits: u32,
    system_calls: u64,
    membership: Membership,
    /// The program that we are in has ended a descriptor of ours.
    is_robbed: bool,
}

impl RingBase {
    /// Whether there is something to do: frames, or room after there was none, or bad news.
    fn is_ready(&self, receiver: &mut impl Incoming, sender: &mut impl Outgoing) -> bool {
        let something = receiver.is_ready() || sender.room_came();
        something || !self.is_intact(receiver, sender) || self.membership.peer_left()
    }

    fn is_intact(&self, receiver: &impl Incoming, sender: &impl Outgoing) -> bool {
        receiver.is_intact() && sender.is_intact() && !self.membership.board.is_cut() && !self.is_robbed
    }

    /// Fails when the other end wrote what no end writes, or left and no frame of it is left.
    fn tell(&mut self, receiver: &mut impl Incoming, sender: &mut impl Outgoing) -> io::Result<()> {
        self.idle_waits = 0;
        if self.is_robbed {
            self.membership.check_descriptors()?;
        }
        if !self.is_intact(receiver, sender) {
            // A file that is cut short reads as zeros, which may be wrong indices too.
            let text = if self.membership.board.is_cut() {
                "another process has cut the ring's file short"
            } else {
                "the process at the ring's other end wrote an index that cannot be"
            };
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        if self.membership.peer_left() && !receiver.is_ready() {
            return Err(gone());
        }
        Ok(())
    }

    fn sleep(
        &mut self,
        receiver: &mut impl Incoming,
        sender: &mut impl Outgoing,
        timeout: Nanos,
    ) -> io::Result<()> {
        let bell = self.membership.bell();
        let slept =
            bell.sleep(reason(sender), timeout.min(LIFE_CHECK), || self.is_ready(receiver, sender))?;
        self.system_calls += u64::from(slept.is_some());
        match slept {
            Some(false) => self.check_life(receiver),
            _ => Ok(()),
        }
    }

    /// Fails when the other end was there and is no more, and no frame of it is left.
    fn check_life(&mut self, receiver: &mut impl Incoming) -> io::Result<()> {
        self.idle_waits = 0;
        self.system_calls += 1;
        self.membership.check_descriptors()?;
        if self.membership.peer_died()? && !receiver.is_ready() {
            return Err(gone());
        }
        Ok(())
    }
}

fn reason(sender: &impl Outgoing) -> Asleep {
    if sender.wants_room() { Asleep::ForRoom } else { Asleep::ForFrames }
}

fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the process at the ring's other end has gone")
}

impl Base for RingBase {
    fn facts(&self) -> Facts {
        let mtu = layout::FRAME_BYTES - crate::ETHERNET_HEADER_BYTES;
        Facts { mtu, lossless: true, trusted: true, waiting: layout::SLOTS as usize }
    }

    fn wait(
        &mut self,
        receiver: &mut impl Incoming,
        sender: &mut impl Outgoing,
        timeout: Nanos,
    ) -> io::Result<()> {
        if spin(timeout, || self.is_ready(receiver, sender)) {
            return self.tell(receiver, sender);
        }
        if timeout > Nanos::ZERO {
            self.sleep(receiver, sender, timeout)?;
            return self.tell(receiver, sender);
        }
        self.idle_waits += 1;
        if self.idle_waits >= IDLE_WAITS { self.check_life(receiver) } else { Ok(()) }
    }

    fn doze(
        &mut self,
        receiver: &mut impl Incoming,
        sender: &mut impl Outgoing,
    ) -> Option<(BorrowedFd<'_>, Nanos)> {
        self.system_calls += if self.membership.end == End::Second { 2 } else { 1 };
        self.is_robbed = self.membership.check_descriptors().is_err();
        let is_well = self.is_intact(receiver, sender) && !self.membership.peer_died().ok()?;
        let bell = self.membership.bell();
        let may_sleep = is_well && bell.arm(reason(sender), || self.is_ready(receiver, sender));
        let at_most = match self.membership.end {
            _ if !may_sleep => Nanos::ZERO,
            End::First => Nanos::MAX,
            End::Second => LIFE_CHECK,
        };
        // Only a wait can tell bad news.
        is_well.then(|| (bell.pipe(), at_most))
    }

    fn statistics(&self) -> Statistics {
        Statistics { system_calls: self.system_calls, ..Statistics::default() }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::layout::{Control, SLOTS, control_offset, slots_offset};
    use super::*;
    use crate::memory::Mapping;
    use crate::{Receiver as _, Sender as _, Wire as _};
    use std::os::fd::AsFd as _;
    use std::sync::atomic::AtomicU16;

    /// An honest end, a dishonest one, and the memory in the hands of the dishonest.
    fn crime_scene() -> (Ring, Ring, Mapping) {
        let (honest, other) = pair().expect("a ring");
        let bytes = layout::file_bytes(1);
        let memory = Mapping::of_file(other.base.membership.file().as_fd(), 0, bytes).expect("mapped");
        (honest, other, memory)
    }

    fn send(ring: &mut Ring, bytes: &[u8]) {
        assert!(ring.sender.room());
        ring.sender.send(bytes.len(), |frame| frame.copy_from_slice(bytes));
        ring.sender.flush();
    }

    #[test]
    fn indices_that_cannot_be_break_the_wire_and_nothing_else() {
        for lie in [SLOTS + 1, u32::MAX - SLOTS, u32::MAX / 2] {
            let (mut honest, _other, memory) = crime_scene();
            let control: &Control = memory.at(control_offset(0)).expect("control");
            control.directions[End::Second.index()].tail.0.store(lie, Ordering::Release);
            assert!(honest.receiver.peek().is_none());
            assert_eq!(honest.wait(Nanos::ZERO).expect_err("broken").kind(), io::ErrorKind::InvalidData);

            let (mut honest, _other, memory) = crime_scene();
            let control: &Control = memory.at(control_offset(0)).expect("control");
            (0..SLOTS).for_each(|_| send(&mut honest, &[0; 64]));
            control.directions[End::First.index()].head.0.store(lie.wrapping_add(SLOTS), Ordering::Release);
            assert!(!honest.sender.room());
            assert_eq!(honest.wait(Nanos::ZERO).expect_err("broken").kind(), io::ErrorKind::InvalidData);
        }
    }

    #[test]
    fn frames_of_a_length_that_cannot_be_are_dropped() {
        let (mut honest, mut other, memory) = crime_scene();
        for lie in [0_u16, 13, layout::FRAME_BYTES as u16 + 1, u16::MAX] {
            let index = other.statistics().sent_frames as usize % SLOTS as usize;
            send(&mut other, &[1; 64]);
            let slot = slots_offset(0, End::Second) + index * layout::STRIDE_BYTES;
            let length = memory.range(slot, 2).expect("a slot").cast::<AtomicU16>();
            // SAFETY: within the mapping and aligned.
            unsafe { length.as_ref() }.store(lie, Ordering::Release);
            send(&mut other, &[2; 64]);
            assert_eq!(honest.receiver.peek(), Some(&[2; 64][..]), "{lie}");
            honest.receiver.release();
        }
        assert_eq!(honest.statistics().dropped_frames, 4);
        assert_eq!(honest.statistics().received_frames, 4);
    }

    #[test]
    fn what_does_not_fit_is_counted_and_not_sent() {
        let (mut first, mut second) = pair().expect("a ring");
        let written = first.sender.send(layout::FRAME_BYTES + 1, |frame| frame.len());
        assert_eq!(written, layout::FRAME_BYTES + 1);
        (0..SLOTS).for_each(|_| send(&mut first, &[0; 64]));
        first.sender.send(64, |frame| frame.fill(1));
        assert_eq!(first.statistics().dropped_frames, 2);
        while let Some(frame) = second.receiver.peek() {
            assert_eq!(frame, [0; 64]);
            second.receiver.release();
        }
        assert_eq!(second.statistics().received_frames, u64::from(SLOTS));
    }

    #[test]
    fn indices_wrap() {
        let (mut first, mut second) = pair().expect("a ring");
        let start = u32::MAX - 3;
        (first.sender.tail, first.sender.published, first.sender.head) = (start, start, start);
        (second.receiver.tail, second.receiver.published, second.receiver.head) = (start, start, start);
        let directions = &first.base.membership.board.control().directions;
        directions[0].head.0.store(start, Ordering::Release);
        directions[0].tail.0.store(start, Ordering::Release);
        for number in 0..10 {
            send(&mut first, &[number; 64]);
            assert_eq!(second.receiver.peek(), Some(&[number; 64][..]));
            second.receiver.release();
            assert_eq!(second.receiver.peek(), None);
        }
        (0..SLOTS).for_each(|_| send(&mut first, &[0; 64]));
        assert!(!first.sender.room());
    }
}
