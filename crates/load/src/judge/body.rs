//! What a body must be, and whether one is.

use assay_http::coding::{CodingError, gunzip};
use assay_model::error_class::ErrorClass;
use assay_model::html::Page;
use assay_model::message;
use assay_model::shape::Shape;
use assay_model::template::{Draw, Numbers, Template};
use assay_model::workload::{BadRequest, Coding, RequestKind};
use serde_json::Value;

use crate::writing::Writing;

/// Longest body that is looked at where only a whole one can be judged; a longer one counts as of wrong length.
pub(crate) const MAX_WHOLE_BYTES: usize = 1 << 20;

/// Different texts of a right body remembered per kind.
const MAX_TEXTS: usize = 16;

/// What a body must be.
pub(crate) enum BodyRule {
    Any,
    Exact(Box<[u8]>),
    Echo(Box<Echo>),
    Json {
        value: Value,
        accepted: Accepted,
    },
    Html {
        page: Page,
        accepted: Accepted,
    },
    Shape(Shape),
    Contains(Box<[u8]>),
    /// Compressed; what it must be is said of what it was before.
    Gzip {
        plain: Box<BodyRule>,
        accepted: Accepted,
    },
}

/// Texts that were found right and need not be read again.
#[derive(Default)]
pub(crate) struct Accepted(Vec<Box<[u8]>>);

/// An exact body that repeats numbers of its request.
pub(crate) struct Echo {
    template: Template,
    numbers: Numbers,
    writing: Writing,
    /// The request that `text` answers.
    draw: Draw,
    text: Vec<u8>,
}

impl BodyRule {
    /// The rule for the answers to one kind of request, which has these numbers.
    pub(super) fn new(kind: &RequestKind, numbers: Numbers) -> Result<Self, BadRequest> {
        let plain = Self::of_plain(kind, numbers)?;
        Ok(match kind.expect.coding {
            None => plain,
            Some(Coding::Gzip) => Self::Gzip { plain: Box::new(plain), accepted: Accepted::default() },
        })
    }

    fn of_plain(kind: &RequestKind, numbers: Numbers) -> Result<Self, BadRequest> {
        let expect = &kind.expect;
        if let Some(json) = &expect.json {
            let value = serde_json::from_str(json).map_err(BadRequest::Json)?;
            return Ok(Self::Json { value, accepted: Accepted::default() });
        }
        if let Some(html) = &expect.html {
            let page = Page::read(html).ok_or(BadRequest::Html)?;
            return Ok(Self::Html { page, accepted: Accepted::default() });
        }
        if let Some(shape) = &expect.shape {
            return Ok(Self::Shape(shape.parse()?));
        }
        if let Some(part) = &expect.contains {
            return Ok(Self::Contains(part.as_bytes().into()));
        }
        let Some(body) = &expect.body else { return Ok(Self::Any) };
        let bad = |source| BadRequest::Placeholder { key: "expect.body", source };
        let template = numbers.read_answer(body).map_err(bad)?;
        let is_fixed = template.is_fixed();
        let (writing, draw) = (Writing::Plain, Draw::default());
        let mut echo = Echo { template, numbers, writing, draw, text: Vec::new() };
        echo.turn_to(Draw::default());
        Ok(if is_fixed { Self::Exact(echo.text.into()) } else { Self::Echo(Box::new(echo)) })
    }

    /// The rule where bodies are messages of Protocol Buffers and the expected one is written as their text.
    pub(super) fn of_messages(self) -> Self {
        match self {
            Self::Exact(written) => {
                let mut bytes = Vec::new();
                // Whether it stands for a message was asked when the plan was checked.
                drop(message::encode(&String::from_utf8_lossy(&written), &mut bytes));
                Self::Exact(bytes.into())
            }
            Self::Echo(echo) => {
                let mut echo = Echo { writing: Writing::Message, ..*echo };
                echo.turn_to(echo.draw);
                Self::Echo(Box::new(echo))
            }
            other => other,
        }
    }

    /// Turns to the answer to this request.
    #[inline]
    pub(crate) fn turn_to(&mut self, draw: Draw) {
        match self {
            Self::Echo(echo) if echo.draw != draw => echo.turn_to(draw),
            Self::Gzip { plain, accepted } if matches!(**plain, Self::Echo(_)) => {
                accepted.0.clear();
                plain.turn_to(draw);
            }
            _ => {}
        }
    }

    /// The exact body, if there is one.
    #[inline]
    pub(super) fn exact(&self) -> Option<&[u8]> {
        match self {
            Self::Exact(body) => Some(body),
            Self::Echo(echo) => Some(&echo.text),
            _ => None,
        }
    }

    /// Whether anything is expected at all.
    #[inline]
    pub(crate) fn expects_something(&self) -> bool {
        !matches!(self, Self::Any)
    }

    /// Whether `part`, found at `offset` of the body, is right there; always, when that cannot be told from a part.
    #[inline]
    pub(crate) fn fits(&self, offset: u64, part: &[u8]) -> bool {
        let Some(expected) = self.exact() else { return true };
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let end = offset.saturating_add(part.len());
        expected.get(offset..end).is_some_and(|right| right == part)
    }

    /// Whether only a whole body can be judged.
    #[inline]
    pub(crate) fn wants_whole(&self) -> bool {
        matches!(
            self,
            Self::Json { .. } | Self::Html { .. } | Self::Shape(_) | Self::Contains(_) | Self::Gzip { .. }
        )
    }

    /// What is wrong with a whole body, if anything.
    #[inline]
    pub(crate) fn fault_of(&mut self, text: &[u8]) -> Option<ErrorClass> {
        match self {
            Self::Gzip { plain, accepted } => accepted.fault_of_coded(text, plain),
            _ => (!self.accepts(text)).then_some(ErrorClass::WrongBody),
        }
    }

    /// Whether a whole body is right.
    #[inline]
    fn accepts(&mut self, text: &[u8]) -> bool {
        match self {
            Self::Json { value, accepted } => accepted
                .or_judge(text, |text| serde_json::from_slice::<Value>(text).is_ok_and(|v| v == *value)),
            Self::Html { page, accepted } => accepted.or_judge(text, |text| page.is_same(text)),
            Self::Shape(shape) => shape.matches(text),
            Self::Contains(part) => {
                part.is_empty() || text.windows(part.len()).any(|window| window == &**part)
            }
            Self::Any => true,
            Self::Exact(_) | Self::Echo(_) => self.exact().is_some_and(|right| right == text),
            Self::Gzip { .. } => self.fault_of(text).is_none(),
        }
    }
}

impl std::fmt::Display for BodyRule {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Any => out.write_str("any body"),
            Self::Exact(body) => write!(out, "a certain body of {} bytes", body.len()),
            Self::Echo(echo) => write!(out, "a certain body of {} bytes", echo.text.len()),
            Self::Json { .. } => write!(out, "JSON of a certain value, at most {MAX_WHOLE_BYTES} bytes long"),
            Self::Html { .. } => write!(out, "a certain HTML page, at most {MAX_WHOLE_BYTES} bytes long"),
            Self::Shape(_) => write!(out, "JSON of a certain shape, at most {MAX_WHOLE_BYTES} bytes long"),
            Self::Gzip { plain, .. } => write!(out, "compressed with gzip: {plain}"),
            Self::Contains(_) => {
                write!(out, "a body with a certain text, at most {MAX_WHOLE_BYTES} bytes long")
            }
        }
    }
}

impl Echo {
    fn turn_to(&mut self, draw: Draw) {
        self.draw = draw;
        self.text.clear();
        self.writing.write(&self.template, &self.numbers, draw, &mut self.text);
    }
}

impl Accepted {
    /// What is wrong with a compressed body, if anything. One that was right before is right, byte by byte, without being
    /// decompressed again.
    fn fault_of_coded(&mut self, text: &[u8], plain: &mut BodyRule) -> Option<ErrorClass> {
        if self.0.iter().any(|known| **known == *text) {
            return None;
        }
        match gunzip(text, MAX_WHOLE_BYTES) {
            Err(CodingError::Broken(_)) => Some(ErrorClass::BadCoding),
            Err(CodingError::Inflates(_)) => Some(ErrorClass::Inflates),
            Ok(inflated) if !plain.accepts(&inflated) => Some(ErrorClass::WrongBody),
            Ok(_) => {
                self.keep(text);
                None
            }
        }
    }

    fn keep(&mut self, text: &[u8]) {
        if self.0.len() < MAX_TEXTS {
            self.0.push(text.into());
        }
    }

    /// Whether a text is right. One that is will be known from then on, so that each is read once.
    fn or_judge(&mut self, text: &[u8], judge: impl Fn(&[u8]) -> bool) -> bool {
        if self.0.iter().any(|known| **known == *text) {
            return true;
        }
        let right = judge(text);
        if right {
            self.keep(text);
        }
        right
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::workload::Expect;

    fn rule(path: &str, expect: Expect) -> BodyRule {
        let (method, path) = ("GET".into(), path.into());
        let kind = RequestKind { weight: 1, method, path, headers: Vec::new(), body: None, expect };
        let mut numbers = Numbers::default();
        numbers.read(&kind.path).unwrap();
        BodyRule::new(&kind, numbers).unwrap()
    }

    fn exact(body: &str) -> Expect {
        Expect { body: Some(body.into()), ..Expect::default() }
    }

    #[test]
    fn json_is_compared_as_a_value_and_each_text_parsed_once() {
        let mut json = rule("/", Expect { json: Some(r#"{"a":1,"b":[true]}"#.into()), ..Expect::default() });
        assert!(json.accepts(br#"{ "b": [true], "a": 1 }"#));
        for wrong in [&br#"{"a":1,"b":[false]}"#[..], b"", b"{", br#"{"a":1}"#] {
            assert!(!json.accepts(wrong));
        }
        for n in 0..100 {
            assert!(json.accepts(format!(r#"{{"a":1,"b":[true]{}}}"#, " ".repeat(n)).as_bytes()));
        }
        assert!(matches!(&json, BodyRule::Json { accepted, .. } if accepted.0.len() == MAX_TEXTS));
    }

    #[test]
    fn a_page_is_compared_as_a_reader_sees_it_and_each_text_read_once() {
        let mut html = rule("/", Expect { html: Some("<p>a &amp; b</p>".into()), ..Expect::default() });
        assert!(!html.accepts(b"<p>\na</p>") && html.wants_whole());
        for n in 0..100 {
            assert!(html.accepts(format!("{}<P>a &#38; b</p>", " ".repeat(n)).as_bytes()));
        }
        assert!(matches!(&html, BodyRule::Html { accepted, .. } if accepted.0.len() == MAX_TEXTS));
        assert!(!html.accepts(b"<p>a <b></p>"));
    }

    #[test]
    fn parts_of_an_exact_body_fit_in_their_place_only() {
        let hello = rule("/", exact("hello"));
        assert!(hello.fits(0, b"hello") && hello.fits(2, b"ll") && hello.fits(5, b""));
        assert!(!hello.fits(0, b"hellp") && !hello.fits(3, b"loo") && !hello.fits(u64::MAX, b"h"));
    }

    #[test]
    fn shapes_and_texts_are_judged_whole() {
        let mut shape = rule("/", Expect { shape: Some("{\"id\": 1..9}".into()), ..Expect::default() });
        assert!(shape.accepts(br#"{"id":9}"#) && !shape.accepts(br#"{"id":10}"#) && shape.wants_whole());
        let containing = |text: &str| rule("/", Expect { contains: Some(text.into()), ..Expect::default() });
        let mut contains = containing("rm");
        assert!(contains.accepts(b"form") && !contains.accepts(b"from") && !contains.accepts(b""));
        assert!(containing("").accepts(b"x") && containing("").accepts(b""));
    }

    fn gzip(plain: &[u8]) -> Vec<u8> {
        use std::io::Write;
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(plain).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_compressed_body_is_judged_by_what_it_was_before() {
        let coding = Some(Coding::Gzip);
        let mut json = rule("/", Expect { json: Some("[1]".into()), coding, ..Expect::default() });
        assert!(json.wants_whole() && json.exact().is_none());
        for _ in 0..2 {
            assert_eq!(json.fault_of(&gzip(b" [1]")), None);
        }
        assert_eq!(json.fault_of(&gzip(b"[2]")), Some(ErrorClass::WrongBody));
        assert_eq!(json.fault_of(b"[1]"), Some(ErrorClass::BadCoding));
        assert_eq!(json.fault_of(&gzip(&vec![b' '; MAX_WHOLE_BYTES + 1])), Some(ErrorClass::Inflates));
        let mut any = rule("/", Expect { coding, ..Expect::default() });
        assert_eq!((any.fault_of(&gzip(b"x")), any.fault_of(b"")), (None, Some(ErrorClass::BadCoding)));
        let mut hello = rule("/", Expect { coding, ..exact("hello") });
        assert_eq!(
            (hello.fault_of(&gzip(b"hello")), hello.fault_of(&gzip(b"hell"))),
            (None, Some(ErrorClass::WrongBody))
        );
    }

    #[test]
    fn an_answer_that_repeats_its_request_is_judged_by_it() {
        let mut echo = rule("/${sequence}", exact("id ${sequence}"));
        for (request, right) in [(0, "id 1"), (9, "id 10"), (9, "id 10"), (0, "id 1")] {
            echo.turn_to(Draw { seed: 0, request });
            assert!(echo.fits(0, right.as_bytes()) && echo.exact() == Some(right.as_bytes()));
            assert!(!echo.fits(0, b"id 2"));
        }
    }
}
