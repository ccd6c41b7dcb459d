//! Reading one response after the other from a connection's bytes, and judging each
//! (docs/method/validation.md#how-is-an-answer-checked). Bytes in, verdict out; no time, no socket.

use assay_http::{BodyError, BodyReader, Framing, Limits, ParseError, Scan, scan_response, worth_rescan};

use crate::inspection::{Answer, Inspection};
use crate::judge::{HeadFacts, Judge};

const LIMITS: Limits = Limits::DEFAULT;

/// Bytes of a body that are always looked at.
const FIRST_BYTES: u64 = 64;

/// Fewest bytes of a body that are dropped unseen, because that takes an event of its own.
const LEAST_SKIP_BYTES: u64 = 4 * 1024;

/// Where a connection is within a response.
#[derive(Default)]
pub(crate) struct Reader {
    /// The body being read; absent before the head is complete.
    body: Option<BodyReader>,
    /// Bytes of an incomplete head that were scanned in vain.
    seen: u32,
    keeps_alive: bool,
    /// Whether the rest of the body may be dropped unseen.
    waives_rest: bool,
    /// Bytes of it that are being dropped.
    skipping: u64,
    inspection: Inspection,
}

/// How far reading got.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Advance {
    /// Bytes that are dealt with; the response goes on.
    More(usize),
    /// Bytes that are dealt with, where the response ended with them.
    Done { used: usize, answer: Answer, keeps_alive: bool },
}

/// The bytes are not HTTP/1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Malformed {
    #[error("{0}")]
    Head(#[from] ParseError),
    #[error("{0}")]
    Body(#[from] BodyError),
    #[error("bytes that belong to no response follow the response")]
    Trailing,
    #[error("bytes came while no request was in flight")]
    Unsolicited,
}

impl Reader {
    /// Prepares for the first response of a connection.
    pub(crate) fn reset(&mut self) {
        let inspection = std::mem::take(&mut self.inspection);
        *self = Self { inspection, ..Self::default() };
    }

    /// Whether a head has been read and its body has not ended.
    pub(crate) fn is_in_body(&self) -> bool {
        self.body.is_some()
    }

    /// Reads on; `input` is what was not dealt with before, and what came since. With `trusted`, a head that equals one
    /// found right before is not scanned again.
    ///
    /// # Errors
    /// The connection is of no further use.
    #[inline]
    pub(crate) fn advance(
        &mut self,
        judge: &mut Judge,
        trusted: bool,
        input: &[u8],
    ) -> Result<Advance, Malformed> {
        if self.body.is_some() {
            return self.read_body(judge, input, 0);
        }
        if trusted && let Some(facts) = judge.recall(input) {
            let waives_rest = judge.waives_rest(&facts, true);
            self.begin_body(facts, waives_rest);
            return self.read_body(judge, input, facts.len);
        }
        match self.scan_head(judge, input)? {
            (at, true) => self.read_body(judge, input, at),
            (at, false) => Ok(Advance::More(at)),
        }
    }

    /// The connection ended: the answer, if that is how it ends.
    pub(crate) fn end(&mut self, judge: &mut Judge) -> Option<Answer> {
        let complete = self.body.as_ref().is_some_and(|body| body.finish_at_eof().is_ok());
        complete.then(|| self.conclude(judge))
    }

    /// Passes over interim heads and, when it is complete, the final one. Returns the bytes passed and whether it was.
    fn scan_head(&mut self, judge: &mut Judge, input: &[u8]) -> Result<(usize, bool), Malformed> {
        let mut at = 0;
        loop {
            let rest = &input[at..];
            if self.seen > 0 && !worth_rescan(rest, self.seen as usize, &LIMITS) {
                return Ok((at, false));
            }
            match scan_response(rest, &LIMITS) {
                Scan::Partial => {
                    // Less than `LIMITS.head_bytes`, or the scan had not ended so.
                    self.seen = rest.len() as u32;
                    return Ok((at, false));
                }
                Scan::Invalid(error) => return Err(error.into()),
                Scan::Complete(head) => {
                    at += head.len as usize;
                    self.seen = 0;
                    if !head.is_interim() {
                        let facts = judge.examine(rest, &head);
                        let waives_rest = judge.waives_rest(&facts, false);
                        self.begin_body(facts, waives_rest);
                        return Ok((at, true));
                    }
                }
            }
        }
    }

    #[inline]
    fn begin_body(&mut self, facts: HeadFacts, waives_rest: bool) {
        self.body = Some(BodyReader::new(facts.framing));
        self.seen = 0;
        self.keeps_alive = facts.keeps_alive && facts.framing != Framing::UntilClose;
        self.waives_rest = waives_rest;
        self.inspection.begin(facts.status, facts.fault);
    }

    /// How many of the bytes that come next are to be dropped unseen, if any; then [`skipped`](Self::skipped) must follow
    /// before any other byte.
    #[inline]
    pub(crate) fn skip(&mut self) -> Option<u64> {
        if !self.is_waived() {
            return None;
        }
        let rest = self.body.as_ref().map_or(0, BodyReader::run_length);
        self.skipping = if rest < LEAST_SKIP_BYTES { 0 } else { rest };
        (self.skipping > 0).then_some(rest)
    }

    /// Whether what comes next of the body need not be looked at.
    #[inline]
    fn is_waived(&self) -> bool {
        self.waives_rest && self.inspection.fits() && self.inspection.received() >= FIRST_BYTES
    }

    /// Whether bytes are being dropped.
    #[inline]
    pub(crate) fn is_skipping(&self) -> bool {
        self.skipping > 0
    }

    /// All bytes that were to be dropped have been.
    pub(crate) fn skipped(&mut self) {
        let n = std::mem::take(&mut self.skipping);
        self.pass_over(n);
    }

    /// Counts up to `n` bytes of the body as come, though nobody saw them; returns how many.
    fn pass_over(&mut self, n: u64) -> u64 {
        let Some(body) = &mut self.body else { return 0 };
        let n = n.min(body.run_length());
        // It is no more than the run length, so it is not refused.
        let passed = if body.skip(n).is_ok() { n } else { 0 };
        self.inspection.pass_over(passed);
        passed
    }

    /// Whether the response has ended, though its end has not been told.
    #[inline]
    pub(crate) fn has_ended(&self) -> bool {
        self.inspection.has_skipped() && self.body.as_ref().is_some_and(BodyReader::is_finished)
    }

    #[inline]
    fn read_body(&mut self, judge: &mut Judge, input: &[u8], mut at: usize) -> Result<Advance, Malformed> {
        loop {
            let waived = self.is_waived();
            let Some(body) = &mut self.body else { break };
            if body.is_finished() {
                let (answer, keeps_alive) = (self.conclude(judge), self.keeps_alive);
                return Ok(Advance::Done { used: at, answer, keeps_alive });
            }
            if at == input.len() {
                break;
            }
            if waived {
                at += self.pass_over((input.len() - at) as u64) as usize;
                continue;
            }
            let first = if self.waives_rest { FIRST_BYTES as usize } else { usize::MAX };
            let step = body.next(&input[at..input.len().min(at.saturating_add(first))])?;
            at += step.consumed;
            self.inspection.take(judge, step.data, step.finished);
        }
        Ok(Advance::More(at))
    }

    /// Judges the response and prepares for the next one.
    #[inline]
    fn conclude(&mut self, judge: &mut Judge) -> Answer {
        self.body = None;
        self.inspection.conclude(judge)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspection::Depth;
    use crate::judge::MAX_WHOLE_BYTES;
    use assay_model::load::{Checking, ErrorClass};
    use assay_model::template::Numbers;
    use assay_model::workload::{Expect, RequestKind};
    use chacha20::ChaCha8Rng;
    use rand::SeedableRng;

    fn judge(method: &str, expect: Expect) -> Judge {
        let (method, path) = (method.into(), "/".into());
        let kind = RequestKind { weight: 1, method, path, headers: Vec::new(), body: None, expect };
        Judge::new(&kind, Numbers::default(), Checking::Full, ChaCha8Rng::seed_from_u64(0)).unwrap()
    }

    fn hello() -> Judge {
        judge("GET", Expect { body: Some("hello".into()), ..Expect::default() })
    }

    /// Feeds `bytes` in pieces of `piece`, keeping what was not dealt with, and ends the connection.
    fn read(judge: &mut Judge, bytes: &[u8], piece: usize, trusted: bool) -> Result<Vec<Answer>, Malformed> {
        let (mut reader, mut answers, mut kept) = (Reader::default(), Vec::new(), Vec::new());
        for piece in bytes.chunks(piece) {
            kept.extend_from_slice(piece);
            while !kept.is_empty() {
                match reader.advance(judge, trusted, &kept)? {
                    Advance::More(n) => {
                        kept.drain(..n);
                        break;
                    }
                    Advance::Done { used, answer, .. } => {
                        kept.drain(..used);
                        answers.push(answer);
                    }
                }
            }
        }
        answers.extend(reader.end(judge));
        Ok(answers)
    }

    fn verdicts(judge: &mut Judge, bytes: &[u8]) -> Vec<Result<u64, ErrorClass>> {
        let answer = |judge: &mut Judge, piece, trusted| -> Vec<_> {
            read(judge, bytes, piece, trusted).unwrap().into_iter().map(|a| a.verdict).collect()
        };
        let whole = answer(judge, bytes.len(), false);
        for piece in 1..bytes.len() {
            assert_eq!(answer(judge, piece, false), whole, "in pieces of {piece}");
            assert_eq!(answer(judge, piece, true), whole, "trusted, in pieces of {piece}");
        }
        whole
    }

    #[test]
    fn every_framing_is_judged_alike_however_it_is_split() {
        let length = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nT: v\r\n\r\n";
        let close = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello";
        let interim =
            b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        for bytes in [&length[..], chunked, close, interim] {
            assert_eq!(verdicts(&mut hello(), bytes), [Ok(5)]);
        }
        assert_eq!(verdicts(&mut hello(), &[&length[..], chunked, interim, length].concat()), [Ok(5); 4]);
    }

    #[test]
    fn wrong_answers_are_told_apart() {
        let answer = |status: u16, body: &str| {
            format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
        };
        for (bytes, class) in [
            (answer(500, "hello"), ErrorClass::UnexpectedStatus),
            (answer(502, "hello"), ErrorClass::BadGateway),
            (answer(504, "hello"), ErrorClass::BadGateway),
            (answer(200, "hellO"), ErrorClass::WrongBody),
            (answer(200, "hello!"), ErrorClass::WrongLength),
            (answer(200, ""), ErrorClass::WrongLength),
            (b"HTTP/1.1 101 Up\r\nConnection: upgrade\r\n\r\n".to_vec(), ErrorClass::UnexpectedStatus),
        ] {
            assert_eq!(verdicts(&mut hello(), &bytes), [Err(class)]);
        }
    }

    #[test]
    fn json_is_judged_whole_or_assembled() {
        let mut judge = judge("GET", Expect { json: Some("[1,2]".into()), ..Expect::default() });
        let length = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n[1, 2]";
        let chunked =
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[1\r\n3\r\n,2]\r\n0\r\n\r\n";
        assert_eq!(verdicts(&mut judge, &[&length[..], chunked].concat()), [Ok(6), Ok(5)]);
        for wrong in [&b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n[2,1]"[..], b"HTTP/1.1 204 N\r\n\r\n"] {
            assert_eq!(verdicts(&mut judge, wrong), [Err(ErrorClass::WrongBody)]);
        }
        let long = format!("[1,2{}]", " ".repeat(MAX_WHOLE_BYTES));
        let bytes = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{long}", long.len());
        let answers = read(&mut judge, bytes.as_bytes(), 1 << 17, false).unwrap();
        assert_eq!(answers[0].verdict, Err(ErrorClass::WrongLength));
    }

    #[test]
    fn head_and_bodiless_statuses_end_with_their_head() {
        let mut head = judge("HEAD", Expect { body: Some("hello".into()), ..Expect::default() });
        let bytes =
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
        assert_eq!(verdicts(&mut head, bytes), [Ok(0), Ok(0)]);
        let mut get = judge("GET", Expect { status: Some(304), ..Expect::default() });
        assert_eq!(verdicts(&mut get, b"HTTP/1.1 304 N\r\nContent-Length: 5\r\n\r\n"), [Ok(0)]);
    }

    #[test]
    fn a_response_cut_short_is_no_answer() {
        for cut in ["", "HTTP/1.1 200 OK\r\nConte", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell"] {
            assert_eq!(read(&mut hello(), cut.as_bytes(), 100, false), Ok(Vec::new()));
        }
    }

    #[test]
    fn what_is_not_http_is_malformed() {
        for garbage in ["SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.1 200 OK\nContent-Length: 5\n\n"] {
            assert!(matches!(read(&mut hello(), garbage.as_bytes(), 100, false), Err(Malformed::Head(_))));
        }
        let chunk = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nhello";
        assert!(matches!(read(&mut hello(), chunk, 100, false), Err(Malformed::Body(_))));
    }

    #[test]
    fn connection_close_is_noticed() {
        for (fields, keeps) in
            [("Content-Length: 5\r\n", true), ("Content-Length: 5\r\nConnection: close\r\n", false)]
        {
            let bytes = format!("HTTP/1.1 200 OK\r\n{fields}\r\nhello");
            let read = Reader::default().advance(&mut hello(), false, bytes.as_bytes());
            assert!(
                matches!(read, Ok(Advance::Done { keeps_alive, .. }) if keeps_alive == keeps),
                "{read:?}"
            );
        }
    }

    #[test]
    fn the_rest_of_an_unjudged_body_is_dropped_and_counted() {
        let mut judge = judge("GET", Expect::default());
        let mut reader = Reader::default();
        let length = 100_000;
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
        let begin = [head.as_bytes(), &[b'x'; FIRST_BYTES as usize - 1]].concat();
        assert_eq!(reader.advance(&mut judge, false, &begin), Ok(Advance::More(begin.len())));
        assert_eq!(reader.skip(), None, "the first bytes have not all come");
        assert_eq!(reader.advance(&mut judge, false, b"xy"), Ok(Advance::More(2)));
        assert_eq!(reader.skip(), Some(length - FIRST_BYTES - 1));
        assert!(reader.is_skipping() && !reader.has_ended() && reader.is_in_body());
        assert!(reader.end(&mut judge).is_none(), "a connection that ends now is cut short");
        reader.skipped();
        assert!(!reader.is_skipping() && reader.has_ended());
        let Ok(Advance::Done { used: 0, answer, .. }) = reader.advance(&mut judge, false, b"") else {
            panic!("not done")
        };
        assert_eq!((answer.verdict, answer.depth), (Ok(length), Depth::Unjudged));
        assert!(!reader.has_ended());
    }
}
