//! The program on an interface, shared by all queues that this process uses of it.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::bpf::{self, Mode};
use super::error::Step;
use super::patiently;

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
    /// The program on an interface, attached in the first of `modes` that works if it is not there.
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
        let mut failure = io::Error::from(io::ErrorKind::Unsupported);
        for &mode in modes {
            match patiently(|| bpf::attach(program.as_fd(), interface, mode)) {
                Ok(link) => return Ok(Self { map, mode, _link: link }),
                Err(error) => failure = error,
            }
        }
        Err((Step::Attach, failure))
    }

    /// Lets a queue's frames go to a socket; a socket that is closed leaves the map by itself.
    pub(super) fn deliver(&self, queue: u32, socket: BorrowedFd<'_>) -> io::Result<()> {
        bpf::update_map(self.map.as_fd(), queue, socket)
    }
}
