//! The seam between the load and what is spoken: a protocol makes bytes of requests and answers of bytes, without I/O.
//! What is due, how long it took, whether it is right and where it is booked is the same for all of them.

use assay_engine::Security;
use assay_model::load::ErrorClass;
use assay_model::template::Numbers;
use assay_model::units::Nanos;

use crate::LoadError;
use crate::inspection::Answer;
use crate::plan::LoadPlan;
use crate::slot::Flight;
pub(crate) use crate::slot::{Line, Loss};
use crate::traffic::Traffic;

/// Parts of one send; the engines take as many at once.
pub(crate) const PARTS: usize = 16;

/// A protocol, as one thread speaks it on all its connections.
///
/// A connection has a fixed number of places for requests in flight. `row` is always its places, in which a protocol finds the
/// flights that it was given; it alone says which place a request takes, and which request has ended.
pub(crate) trait Protocol: Sized {
    /// What is kept of one connection.
    type Line: Line;

    /// The class of what cannot be understood.
    const MALFORMED: ErrorClass = ErrorClass::Parse;

    /// Whether a connection on which nothing is in flight may still take no request.
    const MAY_BAR: bool = true;

    /// Renders the plan's requests.
    ///
    /// # Errors
    /// A request that cannot be rendered is named.
    fn new(plan: &LoadPlan) -> Result<Self, LoadError>;

    /// Places that a connection has for requests in flight.
    fn depth(&self) -> usize;

    /// The numbers of a kind's placeholders, by which its answers are judged.
    fn numbers(&self, kind: usize) -> Numbers;

    /// Whether it can be spoken on a connection that was secured like this, or not at all.
    fn accepts(_security: Option<&Security>) -> bool {
        true
    }

    /// The connection is established: prepares what is said before the first request.
    fn open(&mut self, _line: &mut Self::Line) {}

    /// How many more requests the connection takes now; under an open model (`is_open`) as soon as there is room for one.
    fn room(&self, line: &Self::Line, is_open: bool) -> usize;

    /// Requests that the connection takes in flight at most: its places, or fewer where the server has said so.
    fn limit(&self, _line: &Self::Line) -> usize {
        self.depth()
    }

    /// Takes a request in, for which there is room; returns its place.
    fn issue(&mut self, line: &mut Self::Line, row: &mut [Flight], flight: Flight, traffic: &Traffic) -> u16;

    /// What has not been accepted by the engine, as far as it fits one send.
    fn parcel<'a>(
        &'a mut self,
        line: &'a mut Self::Line,
        row: &'a [Flight],
        traffic: &'a Traffic,
    ) -> Parcel<'a>;

    /// The engine has accepted so many bytes of the parcel.
    fn accepted(&mut self, line: &mut Self::Line, row: &[Flight], traffic: &Traffic, bytes: usize);

    /// How many of the requests in flight, the last ones, have not wholly left while the engine holds so many of the bytes that it has
    /// accepted. None where that cannot be told, as other bytes leave among theirs.
    fn unleft(&self, _line: &Self::Line, _row: &[Flight], _traffic: &Traffic, _held: u64) -> usize {
        0
    }

    /// Reads on until something has happened to a request or nothing more can be told; `input` is what was not dealt with
    /// before, and what came since. Is called without input where the line [has news](Line::has_news).
    ///
    /// # Errors
    /// The connection is of no further use.
    fn receive(
        &mut self,
        line: &mut Self::Line,
        row: &mut [Flight],
        traffic: &mut Traffic,
        input: &[u8],
        now: Nanos,
    ) -> Result<Received, Breach>;

    /// The server has ended the connection: the answer that ends with it, and its place, if there is one.
    fn end(&mut self, line: &mut Self::Line, row: &[Flight], traffic: &mut Traffic) -> Option<(u16, Answer)>;
}

/// How far receiving got.
#[derive(Debug)]
pub(crate) enum Received {
    /// Bytes that are dealt with, where no request has ended.
    More(usize),
    /// Bytes that are dealt with, where a request has ended with them.
    Ended { used: usize, place: u16, end: End },
}

/// How a request has ended.
#[derive(Debug)]
pub(crate) enum End {
    /// With an answer.
    Answered(Answer),
    /// With the last answer of its connection: what was asked behind it, the server has not looked at (RFC 9112 §9.6).
    Last(Answer),
    /// With an answer, though the request has not left: what is left of it would be taken for another.
    Premature(Answer),
    /// With what is no answer, for this reason; other requests of the connection are not concerned.
    Malformed(&'static str),
    /// With an answer that is wrong in a way that its protocol alone can tell, in words.
    Wrong(ErrorClass, String),
    /// Without an answer, for this reason in words.
    Failed(ErrorClass, String),
    /// The server has not looked at it: it is to be sent once more.
    Returned,
}

/// Why a connection is of no further use.
#[derive(Debug)]
pub(crate) enum Breach {
    /// What came cannot be understood, or no request asked for it: whatever is in flight is lost with it.
    Malformed(String),
    /// The server says that it ends the connection because no request came on it.
    Idle,
    /// The server does not speak the protocol on this connection.
    Declined(String),
}

/// Bytes that are to leave on a connection.
pub(crate) struct Parcel<'a> {
    parts: [&'a [u8]; PARTS],
    len: usize,
    pub(crate) bytes: usize,
}

impl<'a> Parcel<'a> {
    /// A parcel of one part, or of none if that is empty.
    pub(crate) fn of(part: &'a [u8]) -> Self {
        let mut parcel = Self { parts: [&[]; PARTS], len: 0, bytes: 0 };
        if !part.is_empty() {
            parcel.push(part);
        }
        parcel
    }

    /// Whether it has as many parts as one send takes.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.len == PARTS
    }

    /// Whether it has no part.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    pub(crate) fn push(&mut self, part: &'a [u8]) {
        self.parts[self.len] = part;
        self.len += 1;
        self.bytes += part.len();
    }

    pub(crate) fn parts(&self) -> &[&'a [u8]] {
        &self.parts[..self.len]
    }
}
