//! What is the right answer to one kind of request, and which heads are known to begin one.

use assay_http::{Framing, HeadTemplate, ResponseHead};
use assay_model::load::ErrorClass;
use assay_model::workload::RequestKind;
use serde_json::Value;

use crate::LoadError;

/// Different heads remembered per kind; servers have one, some alternate between a few lengths.
const MAX_TEMPLATES: usize = 4;

/// Different texts of a right JSON body remembered per kind.
const MAX_JSON_TEXTS: usize = 16;

/// Longest JSON body that is looked at; a longer one counts as of wrong length.
pub(crate) const MAX_JSON_BYTES: usize = 1 << 20;

/// Judges the answers to one kind of request. Belongs to one thread.
pub(crate) struct Judge {
    status: Option<u16>,
    content_type: Option<String>,
    body: BodyRule,
    is_head: bool,
    /// Heads that were scanned strictly and found right.
    known: Vec<(HeadTemplate, HeadFacts)>,
}

/// What a body must be.
enum BodyRule {
    Any,
    Exact(Box<[u8]>),
    Json { value: Value, accepted: Vec<Box<[u8]>> },
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
    /// A judge who has seen nothing yet.
    pub(crate) fn new(kind: &RequestKind) -> Result<Self, LoadError> {
        let is_head = kind.method == "HEAD";
        let expect = &kind.expect;
        let body = match (&expect.json, &expect.body) {
            _ if is_head => BodyRule::Any,
            (Some(json), _) => {
                let fault = |source| LoadError::ExpectedJson { path: kind.path.clone(), source };
                BodyRule::Json { value: serde_json::from_str(json).map_err(fault)?, accepted: Vec::new() }
            }
            (None, Some(body)) => BodyRule::Exact(body.as_bytes().into()),
            (None, None) => BodyRule::Any,
        };
        let content_type = expect.content_type.clone();
        Ok(Self { status: expect.status, content_type, body, is_head, known: Vec::new() })
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
            fault: self.fault_of(bytes, head),
        };
        if facts.fault.is_none() && self.recall(bytes).is_none() {
            self.learn(bytes, head, facts);
        }
        facts
    }

    fn fault_of(&self, bytes: &[u8], head: &ResponseHead) -> Option<ErrorClass> {
        let right_status = match self.status {
            Some(status) => head.status == status,
            None => (200..300).contains(&head.status),
        };
        if !right_status {
            return Some(ErrorClass::UnexpectedStatus);
        }
        let expected = self.content_type.as_deref()?;
        let value = head.content_type.map_or(&b""[..], |span| span.of(bytes));
        let media_type = value.split(|&b| b == b';').next().unwrap_or_default().trim_ascii();
        (!media_type.eq_ignore_ascii_case(expected.as_bytes())).then_some(ErrorClass::WrongHeader)
    }

    fn learn(&mut self, bytes: &[u8], head: &ResponseHead, facts: HeadFacts) {
        // Equal facts are a condition of widening: what is known about the template must hold for all it matches.
        let widened = self.known.iter_mut().any(|(t, known)| *known == facts && t.widen(bytes, head));
        if !widened && self.known.len() < MAX_TEMPLATES {
            self.known.push((HeadTemplate::learn(bytes, head), facts));
        }
    }

    /// Whether `part`, found at `offset` of the body, is right there; always, when that cannot be told from a part.
    #[inline]
    pub(crate) fn fits(&self, offset: u64, part: &[u8]) -> bool {
        match &self.body {
            BodyRule::Exact(expected) => {
                let offset = usize::try_from(offset).unwrap_or(usize::MAX);
                let end = offset.saturating_add(part.len());
                expected.get(offset..end).is_some_and(|right| right == part)
            }
            BodyRule::Any | BodyRule::Json { .. } => true,
        }
    }

    /// Whether only a whole body can be judged.
    #[inline]
    pub(crate) fn wants_whole_body(&self) -> bool {
        matches!(self.body, BodyRule::Json { .. })
    }

    /// Whether a whole body equals the expected JSON as a value. A text that does is remembered, so that each text is
    /// parsed once.
    pub(crate) fn accepts_json(&mut self, text: &[u8]) -> bool {
        let BodyRule::Json { value, accepted } = &mut self.body else { return true };
        if accepted.iter().any(|known| **known == *text) {
            return true;
        }
        let equal = serde_json::from_slice::<Value>(text).is_ok_and(|found| found == *value);
        if equal && accepted.len() < MAX_JSON_TEXTS {
            accepted.push(text.into());
        }
        equal
    }

    /// The length that an exact body must have.
    #[inline]
    pub(crate) fn body_len(&self) -> Option<u64> {
        match &self.body {
            BodyRule::Exact(expected) => Some(expected.len() as u64),
            BodyRule::Any | BodyRule::Json { .. } => None,
        }
    }

    /// The right answer's `class` of property, in words.
    pub(crate) fn expectation(&self, class: ErrorClass) -> String {
        match class {
            ErrorClass::UnexpectedStatus => match self.status {
                Some(status) => format!("status {status}"),
                None => "a status from 200 to 299".to_owned(),
            },
            ErrorClass::WrongHeader => {
                format!("content type {}", self.content_type.as_deref().unwrap_or("of any kind"))
            }
            _ => match &self.body {
                BodyRule::Any => "any body".to_owned(),
                BodyRule::Exact(body) => format!("a certain body of {} bytes", body.len()),
                BodyRule::Json { .. } => {
                    format!("JSON of a certain value, at most {MAX_JSON_BYTES} bytes long")
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_http::{Limits, Scan, scan_response};
    use assay_model::workload::Expect;

    fn judge(expect: Expect) -> Judge {
        let (method, path) = ("GET".into(), "/".into());
        Judge::new(&RequestKind { weight: 1, method, path, headers: Vec::new(), body: None, expect }).unwrap()
    }

    const ANY: Expect = Expect { status: None, body: None, json: None, content_type: None };

    fn examine(judge: &mut Judge, head: &str) -> HeadFacts {
        match scan_response(head.as_bytes(), &Limits::DEFAULT) {
            Scan::Complete(parsed) => judge.examine(head.as_bytes(), &parsed),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn status_and_content_type_are_judged() {
        let mut any = judge(ANY);
        let head =
            |status: u16, fields: &str| format!("HTTP/1.1 {status} X\r\n{fields}Content-Length: 0\r\n\r\n");
        assert_eq!(examine(&mut any, &head(204, "")).fault, None);
        assert_eq!(examine(&mut any, &head(302, "")).fault, Some(ErrorClass::UnexpectedStatus));
        let mut strict = judge(Expect { status: Some(302), content_type: Some("Text/Plain".into()), ..ANY });
        assert_eq!(examine(&mut strict, &head(200, "")).fault, Some(ErrorClass::UnexpectedStatus));
        assert_eq!(examine(&mut strict, &head(302, "")).fault, Some(ErrorClass::WrongHeader));
        let field = "Content-Type: text/plain ; charset=utf-8\r\n";
        assert_eq!(examine(&mut strict, &head(302, field)).fault, None);
    }

    #[test]
    fn only_right_heads_are_remembered() {
        let mut judge = judge(ANY);
        let (bad, good) = ("HTTP/1.1 500 \r\n\r\n", "HTTP/1.1 200 \r\nContent-Length: 3\r\n\r\n");
        examine(&mut judge, bad);
        assert_eq!(judge.recall(bad.as_bytes()), None);
        let facts = examine(&mut judge, good);
        assert_eq!(judge.recall(format!("{good}abc").as_bytes()), Some(facts));
        assert_eq!(facts.framing, Framing::Length(3));
    }

    #[test]
    fn heads_that_keep_changing_do_not_fill_the_memory() {
        let mut judge = judge(ANY);
        for n in 0..100 {
            let padding = "x".repeat(n);
            examine(&mut judge, &format!("HTTP/1.1 200 OK\r\nX-Pad: {padding}\r\nContent-Length: 0\r\n\r\n"));
        }
        assert_eq!(judge.known.len(), MAX_TEMPLATES);
    }

    #[test]
    fn json_is_compared_as_a_value_and_each_text_parsed_once() {
        let mut judge = judge(Expect { json: Some(r#"{"a":1,"b":[true]}"#.into()), ..ANY });
        assert!(judge.accepts_json(br#"{ "b": [true], "a": 1 }"#));
        for wrong in [&br#"{"a":1,"b":[false]}"#[..], b"", b"{", br#"{"a":1}"#] {
            assert!(!judge.accepts_json(wrong));
        }
        for n in 0..100 {
            assert!(judge.accepts_json(format!(r#"{{"a":1,"b":[true]{}}}"#, " ".repeat(n)).as_bytes()));
        }
        assert!(matches!(&judge.body, BodyRule::Json { accepted, .. } if accepted.len() == MAX_JSON_TEXTS));
    }

    #[test]
    fn parts_of_an_exact_body_fit_in_their_place_only() {
        let judge = judge(Expect { body: Some("hello".into()), ..ANY });
        assert!(judge.fits(0, b"hello") && judge.fits(2, b"ll") && judge.fits(5, b""));
        assert!(!judge.fits(0, b"hellp") && !judge.fits(3, b"loo") && !judge.fits(u64::MAX, b"h"));
    }
}
