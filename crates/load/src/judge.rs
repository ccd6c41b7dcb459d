//! What is the right answer to one kind of request, and which heads are known to begin one.

mod body;

use assay_http::{Framing, HeadTemplate, ResponseHead};
use assay_model::load::{Checking, ErrorClass};
use assay_model::template::Numbers;
use assay_model::workload::{BadRequest, Coding, RequestKind};
use chacha20::ChaCha8Rng;
use rand::Rng;

pub(crate) use body::{BodyRule, MAX_WHOLE_BYTES};

/// Different heads remembered per kind; servers have one, some alternate between a few lengths.
const MAX_TEMPLATES: usize = 4;

/// A body of this length or more is large: what it costs to receive and compare it stands out of all other costs.
const LARGE_BODY_BYTES: u64 = 16 * 1024;

/// Under [`Checking::Sampled`], one in so many large bodies is compared to its end at random.
pub(crate) const SAMPLED_ONE_IN: u32 = 16;

/// Judges the answers to one kind of request. Belongs to one thread.
pub(crate) struct Judge {
    status: Option<u16>,
    content_type: Option<String>,
    coding: Option<Coding>,
    body: BodyRule,
    length: Option<[u64; 2]>,
    is_head: bool,
    checking: Checking,
    /// Draws the sample.
    rng: ChaCha8Rng,
    /// Heads that were scanned strictly and found right.
    known: Vec<(HeadTemplate, HeadFacts)>,
}

/// What remains of a head once it is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeadFacts {
    pub(crate) len: usize,
    pub(crate) status: u16,
    pub(crate) framing: Framing,
    pub(crate) keeps_alive: bool,
    /// What is wrong with it.
    pub(crate) fault: Option<ErrorClass>,
}

impl Judge {
    /// A judge who has seen nothing yet, for requests with these numbers; `rng` draws the sample of bodies.
    pub(crate) fn new(
        kind: &RequestKind,
        numbers: Numbers,
        checking: Checking,
        rng: ChaCha8Rng,
    ) -> Result<Self, BadRequest> {
        kind.example()?;
        let is_head = kind.method == "HEAD";
        Ok(Self {
            status: kind.expect.status,
            content_type: kind.expect.content_type.clone(),
            coding: kind.expect.coding,
            body: if is_head { BodyRule::Any } else { BodyRule::new(kind, numbers)? },
            length: kind.expect.length.filter(|_| !is_head),
            is_head,
            checking,
            rng,
            known: Vec::new(),
        })
    }

    /// The judge where bodies are messages of Protocol Buffers.
    pub(crate) fn of_messages(self) -> Self {
        Self { body: self.body.of_messages(), ..self }
    }

    /// What a body must be.
    #[inline]
    pub(crate) fn body(&mut self) -> &mut BodyRule {
        &mut self.body
    }

    /// Whether the rest of this answer's body may be dropped unseen, if its beginning is right. `trusted` says that an
    /// answer to such a request was right before on the same connection.
    #[inline]
    pub(crate) fn waives_rest(&mut self, facts: &HeadFacts, trusted: bool) -> bool {
        match facts.framing {
            Framing::Length(n) if n >= LARGE_BODY_BYTES => {
                facts.fault.is_none() && self.allows_length(n) && self.waives_large(trusted)
            }
            _ => false,
        }
    }

    fn waives_large(&mut self, trusted: bool) -> bool {
        match (&self.body, self.checking) {
            (BodyRule::Any, _) => true,
            (BodyRule::Exact(_) | BodyRule::Echo(_), Checking::Sampled) => {
                trusted && !self.rng.next_u32().is_multiple_of(SAMPLED_ONE_IN)
            }
            _ => false,
        }
    }

    /// The head at the start of `bytes`, if it is one that was found right before.
    #[inline]
    pub(crate) fn recall(&mut self, bytes: &[u8]) -> Option<HeadFacts> {
        self.known.iter_mut().find_map(|(template, facts)| template.matches(bytes).then_some(*facts))
    }

    /// Judges a head that was scanned strictly from `bytes`, and remembers it if it is right.
    pub(crate) fn examine(&mut self, bytes: &[u8], head: &ResponseHead) -> HeadFacts {
        let facts = HeadFacts {
            len: head.len as usize,
            status: head.status,
            framing: head.framing(self.is_head),
            keeps_alive: head.keeps_alive() && !head.switches_protocols(),
            fault: self.fault_of_head(bytes, head),
        };
        if facts.fault.is_none() && self.recall(bytes).is_none() {
            self.learn(bytes, head, facts);
        }
        facts
    }

    fn fault_of_head(&self, bytes: &[u8], head: &ResponseHead) -> Option<ErrorClass> {
        let content_type = head.content_type.map_or(&b""[..], |span| span.of(bytes));
        let coding = || head.field(bytes, "content-encoding").unwrap_or_default();
        self.fault_of(head.status, content_type, if self.coding.is_some() { coding() } else { b"" })
    }

    /// What is wrong with an answer of this status and with these values of Content-Type and Content-Encoding, which are empty
    /// where there is none.
    pub(crate) fn fault_of(
        &self,
        status: u16,
        content_type: &[u8],
        content_encoding: &[u8],
    ) -> Option<ErrorClass> {
        let right_status = match self.status {
            Some(expected) => status == expected,
            None => (200..300).contains(&status),
        };
        if !right_status {
            // What a proxy says where its upstream gave no answer, or none in time.
            let is_proxys = matches!(status, 502 | 504);
            return Some(if is_proxys { ErrorClass::BadGateway } else { ErrorClass::UnexpectedStatus });
        }
        let is_right = self.has_right_type(content_type) && self.has_right_coding(content_encoding);
        (!is_right).then_some(ErrorClass::WrongHeader)
    }

    fn has_right_type(&self, content_type: &[u8]) -> bool {
        let media_type = content_type.split(|&b| b == b';').next().unwrap_or_default().trim_ascii();
        let expected = self.content_type.as_deref();
        expected.is_none_or(|expected| media_type.eq_ignore_ascii_case(expected.as_bytes()))
    }

    fn has_right_coding(&self, content_encoding: &[u8]) -> bool {
        self.coding.is_none_or(|coding| coding.is_named(content_encoding))
    }

    /// Whether the requests are HEAD, whose answers have no body whatever their heads say.
    #[inline]
    pub(crate) fn is_head(&self) -> bool {
        self.is_head
    }

    fn learn(&mut self, bytes: &[u8], head: &ResponseHead, facts: HeadFacts) {
        // Equal facts are a condition of widening: what is known about the template must hold for all it matches.
        let widened = self.known.iter_mut().any(|(t, known)| *known == facts && t.widen(bytes, head));
        if !widened && self.known.len() < MAX_TEMPLATES {
            self.known.push((HeadTemplate::learn(bytes, head), facts));
        }
    }

    /// Whether a body may have this length.
    #[inline]
    pub(crate) fn allows_length(&self, length: u64) -> bool {
        self.body.exact().is_none_or(|body| body.len() as u64 == length)
            && self.length.is_none_or(|[least, greatest]| (least..=greatest).contains(&length))
    }

    /// The right answer's `class` of property, in words.
    pub(crate) fn expectation(&self, class: ErrorClass) -> String {
        match class {
            ErrorClass::UnexpectedStatus | ErrorClass::BadGateway => match self.status {
                Some(status) => format!("status {status}"),
                None => "a status from 200 to 299".to_owned(),
            },
            ErrorClass::WrongHeader => {
                let coded = self.coding.map_or_else(String::new, |coding| format!(", coded with {coding}"));
                format!("content type {}{coded}", self.content_type.as_deref().unwrap_or("of any kind"))
            }
            ErrorClass::WrongKind => "a message of the kind that was sent".to_owned(),
            ErrorClass::WrongLength => match self.length {
                Some([least, greatest]) => format!("a body of {least} to {greatest} bytes"),
                None => self.body.to_string(),
            },
            _ => self.body.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_http::{Limits, Scan, scan_response};
    use assay_model::workload::Expect;
    use rand::SeedableRng;

    fn judge(expect: Expect) -> Judge {
        let (method, path) = ("GET".into(), "/".into());
        let kind = RequestKind { weight: 1, method, path, headers: Vec::new(), body: None, expect };
        Judge::new(&kind, Numbers::default(), Checking::Full, ChaCha8Rng::seed_from_u64(0)).unwrap()
    }

    fn examine(judge: &mut Judge, head: &str) -> HeadFacts {
        match scan_response(head.as_bytes(), &Limits::DEFAULT) {
            Scan::Complete(parsed) => judge.examine(head.as_bytes(), &parsed),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn status_and_content_type_are_judged() {
        let mut any = judge(Expect::default());
        let head =
            |status: u16, fields: &str| format!("HTTP/1.1 {status} X\r\n{fields}Content-Length: 0\r\n\r\n");
        assert_eq!(examine(&mut any, &head(204, "")).fault, None);
        assert_eq!(examine(&mut any, &head(302, "")).fault, Some(ErrorClass::UnexpectedStatus));
        let mut strict =
            judge(Expect { status: Some(302), content_type: Some("Text/Plain".into()), ..Expect::default() });
        assert_eq!(examine(&mut strict, &head(200, "")).fault, Some(ErrorClass::UnexpectedStatus));
        assert_eq!(examine(&mut strict, &head(302, "")).fault, Some(ErrorClass::WrongHeader));
        let field = "Content-Type: text/plain ; charset=utf-8\r\n";
        assert_eq!(examine(&mut strict, &head(302, field)).fault, None);
    }

    #[test]
    fn only_right_heads_are_remembered() {
        let mut judge = judge(Expect::default());
        let (bad, good) = ("HTTP/1.1 500 \r\n\r\n", "HTTP/1.1 200 \r\nContent-Length: 3\r\n\r\n");
        examine(&mut judge, bad);
        assert_eq!(judge.recall(bad.as_bytes()), None);
        let facts = examine(&mut judge, good);
        assert_eq!(judge.recall(format!("{good}abc").as_bytes()), Some(facts));
        assert_eq!(facts.framing, Framing::Length(3));
    }

    #[test]
    fn heads_that_keep_changing_do_not_fill_the_memory() {
        let mut judge = judge(Expect::default());
        for n in 0..100 {
            let padding = "x".repeat(n);
            examine(&mut judge, &format!("HTTP/1.1 200 OK\r\nX-Pad: {padding}\r\nContent-Length: 0\r\n\r\n"));
        }
        assert_eq!(judge.known.len(), MAX_TEMPLATES);
    }

    #[test]
    fn only_large_bodies_of_known_length_are_waived_and_one_in_sixteen_is_not() {
        let facts = |length| HeadFacts {
            len: 0,
            status: 200,
            framing: Framing::Length(length),
            keeps_alive: true,
            fault: None,
        };
        let large = "x".repeat(LARGE_BODY_BYTES as usize);
        let sampled = |body: &str| Judge {
            checking: Checking::Sampled,
            ..judge(Expect { body: Some(body.into()), ..Expect::default() })
        };
        let mut judge = sampled(&large);
        let n = (0..16_000).filter(|_| judge.waives_rest(&facts(LARGE_BODY_BYTES), true)).count();
        // 15,000 ± 4 σ of a binomial count.
        assert!(n.abs_diff(15_000) < 4 * 31, "{n}");
        assert!((0..100).all(|_| !judge.waives_rest(&facts(LARGE_BODY_BYTES), false)), "the first ones");
        assert!((0..100).all(|_| !judge.waives_rest(&facts(LARGE_BODY_BYTES + 1), true)), "a wrong length");
        let chunked = HeadFacts { framing: Framing::Chunked, ..facts(0) };
        assert!((0..100).all(|_| !judge.waives_rest(&chunked, true)), "an unknown length");
        assert!((0..100).all(|_| !sampled("small").waives_rest(&facts(5), true)));
        judge.checking = Checking::Full;
        assert!((0..100).all(|_| !judge.waives_rest(&facts(LARGE_BODY_BYTES), true)), "full");
    }

    #[test]
    fn a_length_is_that_of_the_exact_body_or_within_its_limits() {
        let length = judge(Expect { length: Some([2, 3]), ..Expect::default() });
        assert_eq!([1, 2, 3, 4].map(|n| length.allows_length(n)), [false, true, true, false]);
        let exact = judge(Expect { body: Some("ab".into()), ..Expect::default() });
        assert_eq!([1, 2, 3].map(|n| exact.allows_length(n)), [false, true, false]);
        assert!(judge(Expect::default()).allows_length(u64::MAX));
    }
}
