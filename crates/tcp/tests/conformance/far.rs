//! Plain blocking connections on an engine of their own, which a thread keeps going.

use std::collections::HashMap;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Weak};
use std::time::Duration;

use crate::conformance::Peer;
use assay_engine::{Conn, Engine, Event};
use assay_model::units::Nanos;

/// Longest wait for a byte, as the tests' own.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two looks at the wire, so that others can have the engine.
const PAUSE: Duration = Duration::from_micros(50);

/// An engine whose connections block.
pub(crate) struct Far<E> {
    state: Mutex<State<E>>,
    news: Condvar,
}

struct State<E> {
    engine: E,
    ends: HashMap<Conn, End>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Ended,
    Reset,
}

impl<E: Engine + Send + 'static> Far<E> {
    pub(crate) fn new(engine: E) -> Arc<Self> {
        let state = Mutex::new(State { engine, ends: HashMap::new() });
        let far = Arc::new(Self { state, news: Condvar::new() });
        let weak = Arc::downgrade(&far);
        std::thread::spawn(move || keep_going(&weak));
        far
    }

    pub(crate) fn engine(&self) -> impl std::ops::DerefMut<Target = E> {
        Engaged(self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, State<E>> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Tries until there is a result.
    fn wait<T>(&self, mut attempt: impl FnMut(&mut State<E>) -> Option<Result<T>>) -> Result<T> {
        let mut state = self.lock();
        loop {
            if let Some(result) = attempt(&mut state) {
                state.turn();
                return result;
            }
            let (next, waited) = self.news.wait_timeout(state, PATIENCE).unwrap();
            if waited.timed_out() {
                return Err(ErrorKind::TimedOut.into());
            }
            state = next;
        }
    }
}

struct Engaged<'f, E>(MutexGuard<'f, State<E>>);

impl<E> std::ops::Deref for Engaged<'_, E> {
    type Target = E;

    fn deref(&self) -> &E {
        &self.0.engine
    }
}

impl<E> std::ops::DerefMut for Engaged<'_, E> {
    fn deref_mut(&mut self) -> &mut E {
        &mut self.0.engine
    }
}

fn keep_going<E: Engine + Send + 'static>(far: &Weak<Far<E>>) {
    while let Some(far) = far.upgrade() {
        if far.lock().turn() {
            far.news.notify_all();
        }
        drop(far);
        std::thread::sleep(PAUSE);
    }
}

impl<E: Engine> State<E> {
    /// Lets the engine do what there is to do; returns whether something happened.
    fn turn(&mut self) -> bool {
        let mut events = Vec::new();
        // The near end may be gone already: so are all connections then.
        let _ = self.engine.poll(Nanos::ZERO, &mut events);
        for &event in &events {
            match event {
                Event::Eof(conn) => drop(self.ends.entry(conn).or_insert(End::Ended)),
                Event::Closed(conn, _) => drop(self.ends.insert(conn, End::Reset)),
                _ => {}
            }
        }
        !events.is_empty()
    }
}

/// A connection of the far end; the last one to hold it closes it.
pub(crate) struct FarPeer<E: Engine + Send + 'static> {
    far: Arc<Far<E>>,
    conn: Conn,
    holders: Arc<()>,
}

impl<E: Engine + Send + 'static> FarPeer<E> {
    pub(crate) fn connect(far: Arc<Far<E>>, address: SocketAddr) -> Self {
        let conn = {
            let mut state = far.lock();
            let conn = state.engine.connect(address, None).unwrap();
            state.turn();
            conn
        };
        Self { far, conn, holders: Arc::new(()) }
    }
}

impl<E: Engine + Send + 'static> Peer for FarPeer<E> {
    fn ends(&self) -> (SocketAddr, SocketAddr) {
        self.far.wait(|state| state.engine.addresses(self.conn).map(Ok)).unwrap()
    }

    fn finish(&mut self) {
        let mut state = self.far.lock();
        state.engine.shutdown(self.conn);
        state.turn();
    }

    fn reset(self) {
        let mut state = self.far.lock();
        state.engine.abort(self.conn);
        state.turn();
    }

    fn another(&self) -> Self {
        Self { far: Arc::clone(&self.far), conn: self.conn, holders: Arc::clone(&self.holders) }
    }
}

impl<E: Engine + Send + 'static> Read for FarPeer<E> {
    fn read(&mut self, sink: &mut [u8]) -> Result<usize> {
        self.far.wait(|state| {
            let view = state.engine.receive(self.conn);
            let n = view.len().min(sink.len());
            sink[..n].copy_from_slice(&view[..n]);
            state.engine.consume(self.conn, n);
            match state.ends.get(&self.conn) {
                _ if n > 0 => Some(Ok(n)),
                None => None,
                Some(End::Ended) => Some(Ok(0)),
                Some(End::Reset) => Some(Err(Error::from(ErrorKind::ConnectionReset))),
            }
        })
    }
}

impl<E: Engine + Send + 'static> Write for FarPeer<E> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.far.wait(|state| {
            if state.ends.get(&self.conn) == Some(&End::Reset) {
                return Some(Err(Error::from(ErrorKind::BrokenPipe)));
            }
            let n = state.engine.send(self.conn, &[bytes]);
            (n > 0 || bytes.is_empty()).then_some(Ok(n))
        })
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

impl<E: Engine + Send + 'static> Drop for FarPeer<E> {
    fn drop(&mut self) {
        if Arc::strong_count(&self.holders) == 1 {
            let mut state = self.far.lock();
            state.engine.close(self.conn);
            state.turn();
        }
    }
}
