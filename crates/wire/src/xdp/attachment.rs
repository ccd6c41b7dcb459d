//! The program on an interface, shared by all queues that are used of it: by the threads of this process, and by other
//! processes of ours.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::bpf::{self, Mode};
use super::error::Step;
use super::objects::{self, Program};
use super::{patiently, present};

/// Most queues of an interface.
pub(super) const QUEUES: u32 = 1024;

/// A program that is attached, until this is dropped.
#[derive(Debug)]
pub(super) struct Attachment {
    map: OwnedFd,
    pub(super) mode: Mode,
    _link: OwnedFd,
}

/// A network namespace, by its inode, and an interface in it, by its number.
type Place = (u64, u32);

/// What this process has attached. Threads that use queues of one interface find each other here.
static ATTACHED: Mutex<Option<HashMap<Place, Weak<Attachment>>>> = Mutex::new(None);

impl Attachment {
    /// The program on an interface, attached in the first of `modes` that works if it is not there. That of another process must
    /// be in one of them: its mode stays as long as anybody holds it, and where queues arrive depends on it.
    pub(super) fn to(interface: u32, modes: &[Mode]) -> Result<Arc<Self>, (Step, io::Error)> {
        let namespace = fs::metadata("/proc/thread-self/ns/net").map_err(|e| (Step::Interface, e))?.ino();
        let mut attached = ATTACHED.lock().unwrap_or_else(PoisonError::into_inner);
        let places = attached.get_or_insert_default();
        places.retain(|_, attachment| attachment.strong_count() > 0);
        if let Some(there) = places.get(&(namespace, interface)).and_then(Weak::upgrade) {
            return Ok(there);
        }
        let new = Arc::new(Self::new(interface, modes)?);
        places.insert((namespace, interface), Arc::downgrade(&new));
        Ok(new)
    }

    fn new(interface: u32, modes: &[Mode]) -> Result<Self, (Step, io::Error)> {
        let map = bpf::create_map(QUEUES).map_err(|e| (Step::Program, e))?;
        let program = bpf::load(map.as_fd()).map_err(|e| (Step::Program, e))?;
        // Others come and go meanwhile: whoever is first attaches, the others join, and one of them may be the last that is left.
        let is_passing = |(step, error): &(Step, io::Error)| *step == Step::Join || is_taken(error);
        let attempt = || match attach(program.as_fd(), interface, modes) {
            Ok((link, mode)) => Ok((None, link, mode)),
            Err(error) if is_taken(&error) => match join(program.as_fd(), interface, modes) {
                Ok(Some((map, link, mode))) => Ok((Some(map), link, mode)),
                Ok(None) => Err((Step::Attach, error)),
                Err(error) => Err((Step::Join, error)),
            },
            Err(error) => Err((Step::Attach, error)),
        };
        let (theirs, link, mode) = patiently(attempt, is_passing)?;
        Ok(Self { map: theirs.unwrap_or(map), mode, _link: link })
    }

    /// Lets a queue's frames go to a socket; a socket that is closed leaves the map by itself.
    pub(super) fn deliver(&self, queue: u32, socket: BorrowedFd<'_>) -> io::Result<()> {
        bpf::update_map(self.map.as_fd(), queue, socket)
    }
}

/// Attaches a program in the first mode that works.
fn attach(program: BorrowedFd<'_>, interface: u32, modes: &[Mode]) -> io::Result<(OwnedFd, Mode)> {
    let mut failure = io::Error::from(io::ErrorKind::Unsupported);
    for &mode in modes {
        match bpf::attach(program, interface, mode) {
            Ok(link) => return Ok((link, mode)),
            Err(error) if is_taken(&error) => return Err(error),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

/// Whether a program is there already, in the same mode or another (`dev_xdp_attach` in net/core/dev.c).
fn is_taken(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EBUSY | libc::EEXIST))
}

/// The map and the link of a program like ours that another process has attached: it stays until the last process that has
/// the link lets go. `None` if what is there is not ours, in none of `modes`, or there no more.
fn join(own: BorrowedFd<'_>, interface: u32, modes: &[Mode]) -> io::Result<Option<(OwnedFd, OwnedFd, Mode)>> {
    let Some((number, mode)) = present::program_on(interface)? else { return Ok(None) };
    // From here on it cannot go.
    let Some(link) = objects::link_of(number, interface)? else { return Ok(None) };
    let program = objects::program(number)?;
    let is_ours = Program::of(program.as_fd())?.is_like(&Program::of(own)?);
    if !is_ours || !modes.contains(&mode) {
        return Ok(None);
    }
    Ok(Some((objects::map_of(program.as_fd())?, link, mode)))
}
