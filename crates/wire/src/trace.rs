//! A decorator that writes down every frame, in both directions: wires past the kernel are out of tcpdump's sight.
//!
//! Where ends trust each other's memory, checksums are left out, and a reader that verifies them will complain.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use assay_model::units::Nanos;
use rustix::time::{ClockId, clock_gettime};

use crate::parts::{Assembled, Base, Incoming, Outgoing};
use crate::{Facts, Receiver, Sender, Statistics, pcap};

/// Longest trace; what comes later is not written.
pub const TRACE_BYTES: u64 = 1 << 30;

/// A wire that may write its frames down.
pub type Traced<B, R, S> = Assembled<TracedBase<B>, TracedReceiver<R>, TracedSender<S>>;

/// Where frames are written, if anywhere.
pub type Trace = Option<Arc<Mutex<Pen>>>;

/// Begins a trace in a file, which is replaced; a pipe or a device is written through.
///
/// # Errors
/// The file cannot be written.
pub fn to_file(path: &Path) -> io::Result<Trace> {
    let mut out = BufWriter::new(assay_file::begin(path).map_err(|error| error.source)?);
    pcap::write_header(&mut out)?;
    Ok(Some(Arc::new(Mutex::new(Pen { out, path: path.to_owned(), bytes: 0, failure: None }))))
}

/// Puts the decorator around a wire.
pub fn around<B, R, S>(wire: Assembled<B, R, S>, trace: Trace) -> Traced<B, R, S> {
    Assembled {
        receiver: TracedReceiver { inner: wire.receiver, trace: trace.clone(), is_written: false },
        sender: TracedSender { inner: wire.sender, trace: trace.clone() },
        base: TracedBase { inner: wire.base, trace },
    }
}

/// Writes one file for both directions of a wire.
#[derive(Debug)]
pub struct Pen {
    out: BufWriter<File>,
    path: PathBuf,
    bytes: u64,
    /// Why nothing is written any more.
    failure: Option<io::Error>,
}

impl Pen {
    fn write(&mut self, frame: &[u8]) {
        if self.failure.is_some() || self.bytes + frame.len() as u64 > TRACE_BYTES {
            return;
        }
        match pcap::write_frame(&mut self.out, since_1970(), frame) {
            Ok(bytes) => self.bytes += bytes,
            Err(error) => self.failure = Some(error),
        }
    }

    /// Whether all could be handed to the system; a failure is kept.
    fn flushes(&mut self) -> bool {
        if self.failure.is_none() {
            self.failure = self.out.flush().err();
        }
        self.failure.is_none()
    }

    /// Hands all to the system, so that whoever reads along sees it.
    fn flush(&mut self) -> io::Result<()> {
        match self.failure.take() {
            Some(error) => Err(error),
            None => self.out.flush(),
        }
        .map_err(|error| io::Error::new(error.kind(), format!("trace {}: {error}", self.path.display())))
    }
}

fn since_1970() -> Nanos {
    let time = clock_gettime(ClockId::Realtime);
    Nanos::from_reading(time.tv_sec, time.tv_nsec)
}

fn write(trace: &Trace, frame: &[u8]) {
    if let Some(pen) = trace {
        pen.lock().unwrap_or_else(PoisonError::into_inner).write(frame);
    }
}

/// Writes down what arrives.
#[derive(Debug)]
pub struct TracedReceiver<R> {
    inner: R,
    trace: Trace,
    /// The frame that is shown has been written.
    is_written: bool,
}

impl<R: Receiver> Receiver for TracedReceiver<R> {
    fn peek(&mut self) -> Option<&[u8]> {
        let frame = self.inner.peek()?;
        if !self.is_written {
            self.is_written = true;
            write(&self.trace, frame);
        }
        Some(frame)
    }

    fn release(&mut self) {
        self.is_written = false;
        self.inner.release();
    }
}

impl<R: Incoming> Incoming for TracedReceiver<R> {
    fn is_ready(&mut self) -> bool {
        self.inner.is_ready()
    }

    fn settle(&mut self) {
        self.inner.settle();
    }

    fn is_intact(&self) -> bool {
        self.inner.is_intact()
    }

    fn take_change(&mut self) -> bool {
        self.inner.take_change()
    }

    fn time_to_next(&self) -> Option<Nanos> {
        self.inner.time_to_next()
    }

    fn statistics(&self) -> Statistics {
        self.inner.statistics()
    }
}

/// Writes down what leaves.
#[derive(Debug)]
pub struct TracedSender<S> {
    inner: S,
    trace: Trace,
}

impl<S: Sender> Sender for TracedSender<S> {
    fn room(&mut self) -> bool {
        self.inner.room()
    }

    fn send<R>(&mut self, length: usize, fill: impl FnOnce(&mut [u8]) -> R) -> R {
        let trace = &self.trace;
        self.inner.send(length, |frame| {
            let result = fill(frame);
            write(trace, frame);
            result
        })
    }

    fn flush(&mut self) {
        self.inner.flush();
    }
}

impl<S: Outgoing> Outgoing for TracedSender<S> {
    fn wants_room(&self) -> bool {
        self.inner.wants_room()
    }

    fn room_came(&mut self) -> bool {
        self.inner.room_came()
    }

    fn is_intact(&self) -> bool {
        self.inner.is_intact()
    }

    fn statistics(&self) -> Statistics {
        self.inner.statistics()
    }
}

/// What a traced wire is besides.
#[derive(Debug)]
pub struct TracedBase<B> {
    inner: B,
    trace: Trace,
}

impl<B: Base> Base for TracedBase<B> {
    fn facts(&self) -> Facts {
        self.inner.facts()
    }

    fn wait(
        &mut self,
        receiver: &mut impl Incoming,
        sender: &mut impl Outgoing,
        timeout: Nanos,
    ) -> io::Result<()> {
        if let Some(pen) = &self.trace {
            pen.lock().unwrap_or_else(PoisonError::into_inner).flush()?;
        }
        self.inner.wait(receiver, sender, timeout)
    }

    fn doze(
        &mut self,
        receiver: &mut impl Incoming,
        sender: &mut impl Outgoing,
    ) -> Option<(BorrowedFd<'_>, Nanos)> {
        let flushes = |pen: &Arc<Mutex<Pen>>| pen.lock().unwrap_or_else(PoisonError::into_inner).flushes();
        // Only a wait can tell bad news.
        self.trace.as_ref().is_none_or(flushes).then_some(())?;
        self.inner.doze(receiver, sender)
    }

    fn statistics(&self) -> Statistics {
        self.inner.statistics()
    }
}
