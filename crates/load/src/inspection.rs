//! The inspection of one answer: what its head said, how its body fits so far, and the verdict at its end.

use assay_model::load::ErrorClass;

use crate::judge::{Judge, MAX_WHOLE_BYTES};

/// An answer that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Bytes of its body if it is right, what is wrong with it otherwise.
    pub(crate) verdict: Result<u64, ErrorClass>,
    /// Status of the answer; 0 where answers have none.
    pub(crate) status: u16,
    /// Bytes of its body.
    pub(crate) received: u64,
    /// How its body was looked at, if it is right.
    pub(crate) depth: Depth,
}

/// How far a right answer's body was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// To its end.
    Whole,
    /// Only its length and its first bytes.
    Length,
    /// Not at all: nothing is expected of it.
    Unjudged,
}

/// An answer under inspection.
#[derive(Default)]
pub(crate) struct Inspection {
    status: u16,
    fault: Option<ErrorClass>,
    /// What is wrong with the body, as far as it was judged.
    body_fault: Option<ErrorClass>,
    /// Bytes of body so far.
    received: u64,
    /// Whether some were dropped unseen.
    skipped: bool,
    /// A body that can only be judged whole, as far as it has come. Its memory is kept for the next one.
    assembled: Vec<u8>,
}

impl Inspection {
    /// Begins with an answer whose head has this status and, if it is wrong, this fault.
    #[inline]
    pub(crate) fn begin(&mut self, status: u16, fault: Option<ErrorClass>) {
        (self.status, self.fault) = (status, fault);
        (self.body_fault, self.skipped, self.received) = (None, false, 0);
        self.assembled.clear();
    }

    /// Whether the head is wrong.
    #[inline]
    pub(crate) fn has_fault(&self) -> bool {
        self.fault.is_some()
    }

    /// Bytes of body so far.
    #[inline]
    pub(crate) fn received(&self) -> u64 {
        self.received
    }

    /// Whether the body is right so far, as far as that can be told from a part.
    #[inline]
    pub(crate) fn fits(&self) -> bool {
        self.body_fault.is_none()
    }

    /// Whether some of the body was dropped unseen.
    #[inline]
    pub(crate) fn has_skipped(&self) -> bool {
        self.skipped
    }

    /// Counts `n` bytes of the body that have come and that nobody saw.
    pub(crate) fn pass_over(&mut self, n: u64) {
        self.received += n;
        self.skipped = true;
    }

    /// A part of the body has come, with `is_last` to its end.
    #[inline]
    pub(crate) fn take(&mut self, judge: &mut Judge, data: &[u8], is_last: bool) {
        if self.fault.is_none() && judge.body().wants_whole() {
            if is_last && self.received == 0 {
                self.body_fault = judge.body().fault_of(data);
            } else if self.assembled.len() + data.len() <= MAX_WHOLE_BYTES {
                self.assembled.extend_from_slice(data);
            }
        } else if self.body_fault.is_none() && !judge.body().fits(self.received, data) {
            self.body_fault = Some(ErrorClass::WrongBody);
        }
        self.received += data.len() as u64;
    }

    /// The verdict on the answer, which has ended.
    #[inline]
    pub(crate) fn conclude(&mut self, judge: &mut Judge) -> Answer {
        let verdict = match self.fault.or_else(|| self.fault_of_body(judge)) {
            Some(class) => Err(class),
            None => Ok(self.received),
        };
        let depth = match (judge.body().expects_something(), self.skipped) {
            (false, _) => Depth::Unjudged,
            (true, true) => Depth::Length,
            (true, false) => Depth::Whole,
        };
        Answer { verdict, status: self.status, received: self.received, depth }
    }

    #[inline]
    fn fault_of_body(&mut self, judge: &mut Judge) -> Option<ErrorClass> {
        if !judge.allows_length(self.received) {
            return Some(ErrorClass::WrongLength);
        }
        if judge.body().wants_whole() {
            if self.received > MAX_WHOLE_BYTES as u64 {
                return Some(ErrorClass::WrongLength);
            }
            // Either it came in one piece and was judged then, or it was assembled.
            if self.received == 0 || !self.assembled.is_empty() {
                self.body_fault = judge.body().fault_of(&self.assembled);
            }
        }
        self.body_fault
    }
}
