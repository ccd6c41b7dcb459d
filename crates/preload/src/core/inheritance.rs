//! What connections have from the socket that listened for them: options that were set on it (socket(7), tcp(7)).

use std::os::fd::RawFd;
use std::sync::Arc;

use assay_engine::Engine;

use super::{Core, Object};

/// The longest value of an option here: two long numbers.
pub(crate) const VALUE_BYTES: usize = 16;

/// An option of a socket, as setsockopt(2) takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SocketOption {
    pub(crate) level: i32,
    pub(crate) name: i32,
    pub(crate) value: [u8; VALUE_BYTES],
    pub(crate) bytes: usize,
}

/// The options that a listener's connections have from it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Inheritance {
    pub(crate) options: Vec<SocketOption>,
    /// Closing them is to reset them, by one of these options.
    pub(crate) resets: bool,
}

impl<E: Engine> Core<E> {
    /// Notes what a listener's connections have from it, from now on.
    pub(crate) fn bequeath(&mut self, fd: RawFd, inheritance: Inheritance) {
        if let Some(Object::Listener(id)) = self.object(fd)
            && let Some(listener) = self.listeners.get_mut(id)
        {
            listener.inheritance = (inheritance != Inheritance::default()).then(|| Arc::new(inheritance));
        }
    }

    /// What a connection has from its listener and the kernel's socket in its place has not been told.
    pub(crate) fn untold(&self, fd: RawFd) -> Option<&Inheritance> {
        match self.object(fd)? {
            Object::Stream(id) => self.streams.get(id)?.untold.as_deref(),
            Object::Listener(_) | Object::Set(_) => None,
        }
    }

    /// Takes what the kernel's socket in a connection's place has not been told, and is about to be.
    pub(crate) fn take_untold(&mut self, fd: RawFd) -> Option<Arc<Inheritance>> {
        match self.object(fd)? {
            Object::Stream(id) => self.streams.get_mut(id)?.untold.take(),
            Object::Listener(_) | Object::Set(_) => None,
        }
    }
}
