//! One of the plan's connections: its state between two events, and the requests in flight on it.

use assay_engine::Conn;
use assay_model::units::Nanos;

use crate::reader::Reader;
use crate::schedule::Due;

/// A place for a connection, which may be occupied by several one after the other.
pub(crate) struct Slot {
    /// Its present occupant.
    pub(crate) conn: Option<Conn>,
    pub(crate) state: State,
    /// Whether it is in the list of those that can take a request.
    pub(crate) listed: bool,
    /// Whether a timer will come up for it, no later than its deadline.
    pub(crate) armed: bool,
    /// Whether this occupant has delivered an answer.
    pub(crate) answered: bool,
    /// Occupants in a row that have not.
    pub(crate) failures: u8,
    /// Where its flights begin in its part of the ring.
    first: u16,
    /// Requests in flight, the unaccepted included.
    pub(crate) in_flight: u16,
    /// The last so many of them are not wholly accepted by the engine.
    pub(crate) unaccepted: u16,
    /// Bytes of the first unaccepted one that are.
    pub(crate) accepted_bytes: u32,
    /// Requests issued on this occupant.
    pub(crate) issued: u32,
    /// Kinds (by number modulo 64) of which a response was parsed strictly on this occupant.
    pub(crate) proven: u64,
    /// When something must have happened; [`Nanos::MAX`] for never.
    pub(crate) deadline: Nanos,
    /// When connecting began.
    pub(crate) began: Nanos,
    /// When the first byte of the response being read came; zero before.
    pub(crate) first_byte: Nanos,
    pub(crate) reader: Reader,
}

/// What a slot is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Unoccupied; waits for its turn to connect, or until its deadline to try again.
    Vacant,
    /// The occupant is being connected.
    Connecting,
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
    /// Number of its kind.
    pub(crate) kind: u32,
    /// Its number within its kind, from which its placeholders are filled.
    pub(crate) number: u64,
    /// Whether it asks the server to close.
    pub(crate) is_last: bool,
    /// Whether the engine has handed it over.
    pub(crate) submitted: bool,
}

impl Flight {
    pub(crate) fn new(due: Due, issued: Nanos, (kind, number): (u32, u64), is_last: bool) -> Self {
        let Due { intended, noticed } = due;
        Self { intended, noticed, issued, sent: issued, kind, number, is_last, submitted: false }
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

impl Slot {
    pub(crate) fn new() -> Self {
        Self {
            conn: None,
            state: State::Vacant,
            listed: false,
            armed: false,
            answered: false,
            failures: 0,
            first: 0,
            in_flight: 0,
            unaccepted: 0,
            accepted_bytes: 0,
            issued: 0,
            proven: 0,
            deadline: Nanos::MAX,
            began: Nanos::ZERO,
            first_byte: Nanos::ZERO,
            reader: Reader::new(),
        }
    }

    /// Whether its connection is established.
    pub(crate) fn is_connected(&self) -> bool {
        matches!(self.state, State::Open | State::Closing | State::Lingering)
    }

    /// Makes room for the next occupant; what is remembered is only whether to hurry.
    pub(crate) fn vacate(&mut self) {
        let failures = if self.answered { 0 } else { self.failures.saturating_add(1) };
        let mut reader = std::mem::replace(&mut self.reader, Reader::new());
        reader.reset();
        *self = Self { listed: self.listed, armed: self.armed, failures, reader, ..Self::new() };
    }
}

/// The requests in flight of all slots: a ring of `depth` for each, in one piece of memory.
pub(crate) struct Flights {
    ring: Vec<Flight>,
    depth: usize,
}

impl Flights {
    pub(crate) fn new(slots: usize, depth: usize) -> Self {
        Self { ring: vec![Flight::default(); slots * depth], depth }
    }

    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// The flight number `i` of slot `index`, the oldest being 0.
    #[inline]
    pub(crate) fn get(&self, index: usize, slot: &Slot, i: u16) -> &Flight {
        &self.ring[index * self.depth + self.position(slot, i)]
    }

    /// Adds a flight that no byte has left of.
    #[inline]
    pub(crate) fn push(&mut self, index: usize, slot: &mut Slot, flight: Flight) {
        let at = index * self.depth + self.position(slot, slot.in_flight);
        self.ring[at] = flight;
        slot.in_flight += 1;
        slot.unaccepted += 1;
    }

    /// The youngest flights of a slot that the engine has not handed over until now have left `at` this moment; tells of each when
    /// it was thought to have left.
    #[inline]
    pub(crate) fn submitted(&mut self, index: usize, slot: &Slot, at: Nanos, mut moved: impl FnMut(Nanos)) {
        for i in (0..slot.in_flight).rev() {
            let place = index * self.depth + self.position(slot, i);
            let flight = &mut self.ring[place];
            if flight.submitted {
                return;
            }
            flight.submitted = true;
            moved(flight.sent);
            flight.sent = at;
        }
    }

    /// Removes the oldest flight.
    #[inline]
    pub(crate) fn pop(&mut self, slot: &mut Slot) {
        slot.first = self.position(slot, 1) as u16;
        slot.in_flight -= 1;
    }

    #[inline]
    fn position(&self, slot: &Slot, i: u16) -> usize {
        let at = slot.first as usize + i as usize;
        if at >= self.depth { at - self.depth } else { at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hot_state_of_a_connection_is_small() {
        let bytes = size_of::<Slot>() + size_of::<Flight>();
        assert!(bytes <= 256, "{bytes} bytes");
    }

    #[test]
    fn flights_leave_in_the_order_they_came_and_slots_do_not_mix() {
        let (mut flights, mut slots) = (Flights::new(2, 3), [Slot::new(), Slot::new()]);
        let due = Due { intended: Nanos(1), noticed: Nanos(2) };
        let (mut pushed, mut popped) = ([0u32; 2], [0u32; 2]);
        for step in 0..100usize {
            let index = step % 2;
            let slot = &mut slots[index];
            if slot.in_flight < 3 {
                flights.push(
                    index,
                    slot,
                    Flight::new(due, Nanos(3), (pushed[index] * 2 + index as u32, 0), false),
                );
                pushed[index] += 1;
            }
            if step % 3 > 0 {
                assert_eq!(flights.get(index, slot, 0).kind, popped[index] * 2 + index as u32);
                flights.pop(slot);
                popped[index] += 1;
            }
        }
        assert!(popped[0] > 20 && popped[1] > 20);
    }

    #[test]
    fn failures_are_counted_until_an_answer() {
        let mut slot = Slot::new();
        slot.vacate();
        slot.vacate();
        assert_eq!(slot.failures, 2);
        slot.answered = true;
        slot.vacate();
        assert_eq!((slot.failures, slot.answered), (0, false));
    }
}
