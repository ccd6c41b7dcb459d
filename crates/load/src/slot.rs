//! One of the plan's connections: its state between two events, and the requests in flight on it.

use assay_engine::Conn;
use assay_model::load::ErrorClass;
use assay_model::units::Nanos;

use crate::schedule::Due;

/// A place for a connection, which may be occupied by several one after the other.
pub(crate) struct Slot<L> {
    /// The connection that occupies the slot now.
    pub(crate) conn: Option<Conn>,
    pub(crate) state: State,
    /// Whether it is in the list of those that can take a request.
    pub(crate) listed: bool,
    /// Whether a timer will come up for it, no later than its deadline.
    pub(crate) armed: bool,
    /// Whether this occupant has delivered an answer.
    pub(crate) answered: bool,
    /// Whether this occupant may have been idle for long before this window, and has not delivered an answer since.
    pub(crate) rested: bool,
    /// Whether this occupant's end is in hand, though what came before it may have to be read first: it takes no request.
    pub(crate) ending: bool,
    /// Occupants in a row that have not delivered an answer.
    pub(crate) failures: u8,
    /// Requests issued on this occupant.
    pub(crate) issued: u32,
    /// When the last of them was issued; zero before.
    pub(crate) issued_at: Nanos,
    /// When something must have happened; [`Nanos::MAX`] for never.
    pub(crate) deadline: Nanos,
    /// When connecting began.
    pub(crate) began: Nanos,
    /// What its protocol keeps of it.
    pub(crate) line: L,
}

/// What a slot is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Unoccupied; waits for its turn to connect, or until its deadline to try again.
    Vacant,
    /// The occupant is being connected.
    Connecting,
    /// The occupant is connected, and the protocol not yet agreed on.
    Greeting,
    /// Takes requests.
    Open,
    /// Takes no more requests; some are in flight.
    Closing,
    /// Has nothing to do but to wait for the server to close, so that the server keeps the TIME-WAIT (RFC 9293 §3.6).
    Lingering,
}

/// A request in flight.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flight {
    /// When the model wanted it.
    pub(crate) intended: Nanos,
    /// When the thread noticed that.
    pub(crate) noticed: Nanos,
    /// When it was given to a connection.
    pub(crate) issued: Nanos,
    /// When it was submitted: the same where the engine sends at once.
    pub(crate) sent: Nanos,
    /// When it was sent for the first time, if it was given back since.
    pub(crate) sent_first: Option<Nanos>,
    /// Number of its kind.
    pub(crate) kind: u32,
    /// Number of the request within its kind, from which its placeholders are filled.
    pub(crate) number: u64,
    /// Whether it asks the server to close.
    pub(crate) is_last: bool,
    /// When the first byte of its answer came; zero before.
    pub(crate) first_byte: Nanos,
    /// Whether the engine has handed it over.
    pub(crate) submitted: bool,
    /// Whether it is in flight; else its place is free.
    pub(crate) live: bool,
}

impl Flight {
    pub(crate) fn new(due: Due, issued: Nanos, (kind, number): (u32, u64), is_last: bool) -> Self {
        let Due { intended, noticed, sent_first } = due;
        Self {
            intended,
            noticed,
            issued,
            sent: issued,
            sent_first,
            kind,
            number,
            is_last,
            first_byte: Nanos::ZERO,
            submitted: false,
            live: true,
        }
    }

    /// For how long the generator kept it back: until its thread noticed that it was due, and between its turn on a
    /// connection and the engine's next call. Waiting for a free connection is no part of that.
    #[inline]
    pub(crate) fn client_lag(&self) -> Nanos {
        (self.noticed - self.intended) + (self.sent - self.issued)
    }

    /// For how long it waited for a free connection.
    #[inline]
    pub(crate) fn pool_wait(&self) -> Nanos {
        self.issued - self.noticed
    }
}

/// How a connection was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// The answer was waited for too long.
    TimedOut,
    /// The server reset the connection.
    Reset,
    /// The connection was broken when something was sent.
    SendReset,
    /// All that is in flight fails with this class.
    Of(ErrorClass),
}

/// What a protocol keeps of one connection.
pub(crate) trait Line: Default {
    /// Prepares for another connection. Memory may be kept.
    fn begin_anew(&mut self);

    /// Requests in flight.
    fn in_flight(&self) -> usize;

    /// The request in flight that was issued first.
    fn oldest(&mut self) -> Option<u16>;

    /// Whether something waits to be accepted by the engine.
    fn has_unsent(&self) -> bool;

    /// Whether the connection cannot be used before the server has answered what was [said first](crate::protocol::Protocol::open).
    fn is_greeting(&self) -> bool {
        false
    }

    /// Why the server has ended the connection, if it said so.
    fn last_words(&self) -> Option<String> {
        None
    }

    /// Whether the connection takes no more requests, by the server's will, though some in flight may still be answered.
    fn is_closing(&self) -> bool {
        false
    }

    /// Gives up the request at a place, if the connection can go on without it; says whether it can.
    fn cancel(&mut self, _place: u16) -> bool {
        false
    }

    /// The connection is given up, and the last so many of its requests have not wholly left.
    fn give_up_unleft(&mut self, _requests: usize) {}

    /// All is answered that will be asked: prepares what is said at last.
    fn finish(&mut self) {}

    /// Whether something has happened that was not told, for which no more bytes are needed.
    fn has_news(&self) -> bool {
        false
    }

    /// How many of the bytes that come next are to be dropped unseen, if any; then [`skipped`](Self::skipped) must follow
    /// before any other byte.
    fn skip(&mut self) -> Option<u64> {
        None
    }

    /// Whether bytes are being dropped.
    fn is_skipping(&self) -> bool {
        false
    }

    /// All bytes that were to be dropped have been.
    fn skipped(&mut self) {}

    /// The class of the request at a place when its connection is lost in this way.
    fn class_of(&self, place: u16, loss: Loss) -> ErrorClass;
}

impl<L: Line> Slot<L> {
    pub(crate) fn new() -> Self {
        Self {
            conn: None,
            state: State::Vacant,
            listed: false,
            armed: false,
            answered: false,
            rested: false,
            ending: false,
            failures: 0,
            issued: 0,
            issued_at: Nanos::ZERO,
            deadline: Nanos::MAX,
            began: Nanos::ZERO,
            line: L::default(),
        }
    }

    /// Whether its connection is established.
    pub(crate) fn is_connected(&self) -> bool {
        matches!(self.state, State::Open | State::Closing | State::Lingering)
    }

    /// Makes room for the next occupant; what is remembered is only whether to hurry.
    pub(crate) fn vacate(&mut self) {
        let failures = if self.answered { 0 } else { self.failures.saturating_add(1) };
        let mut line = std::mem::take(&mut self.line);
        line.begin_anew();
        *self = Self { listed: self.listed, armed: self.armed, failures, line, ..Self::new() };
    }
}

/// The requests in flight of all slots: a row of `depth` places for each, in one piece of memory.
pub(crate) struct Flights {
    places: Vec<Flight>,
    depth: usize,
}

impl Flights {
    pub(crate) fn new(slots: usize, depth: usize) -> Self {
        Self { places: vec![Flight::default(); slots * depth], depth }
    }

    /// The places of a slot.
    #[inline]
    pub(crate) fn row(&mut self, index: u32) -> &mut [Flight] {
        let from = index as usize * self.depth;
        &mut self.places[from..from + self.depth]
    }

    /// The flights of all slots.
    pub(crate) fn live(&self) -> impl Iterator<Item = &Flight> {
        self.places.iter().filter(|flight| flight.live)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::h1::Pipeline;

    #[test]
    fn the_hot_state_of_a_connection_is_small() {
        let bytes = size_of::<Slot<Pipeline>>() + size_of::<Flight>();
        assert!(bytes <= 256, "{bytes} bytes");
    }

    #[test]
    fn failures_are_counted_until_an_answer() {
        let mut slot = Slot::<Pipeline>::new();
        slot.vacate();
        slot.vacate();
        assert_eq!(slot.failures, 2);
        slot.answered = true;
        slot.vacate();
        assert_eq!((slot.failures, slot.answered), (0, false));
    }
}
