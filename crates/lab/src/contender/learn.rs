//! What a server answers before any load, where nobody said what is right, and what is expected of it under load for that
//! (docs/method/answers.md).
//!
//! What varies at rest varies under load. It is asked on a kept connection and on several at once, because the workers of a
//! server may differ; and again later, because a clock in a body stands still while it is read once.

use std::borrow::Cow;
use std::time::Duration;

use assay_http::Framing;
use assay_model::learnt::{BodyEnd, Held, Learnt};
use assay_model::message;
use assay_model::shape::Shape;
use assay_model::template::{Draw, literal};
use assay_model::workload::{BadRequest, Expect, RequestKind};

use super::answer::{self, Response, media_type};
pub use super::ask::Door;
use super::ask::{AskError, Line};
use crate::names::sha256;

/// Requests on the connection that is kept.
const KEPT: u64 = 2;
/// Connections at once before the first load.
const AT_ONCE: u64 = 4;
/// Requests at once later, when more workers are awake.
const AT_ONCE_LATER: u64 = 16;
/// Longest body that is compared byte by byte, or by its shape.
const MAX_COMPARED_BYTES: u64 = 1 << 20;
/// Most characters of a body that are kept.
const EXCERPT_CHARS: usize = 64;

/// When a server is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// Before the first load.
    First,
    /// After some.
    Later,
}

/// One kind of request of a workload.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Name of the workload.
    pub workload: &'a str,
    /// The number of the request among the workload's, from 0.
    pub number: u32,
    /// The request.
    pub kind: &'a RequestKind,
    /// Longest wait for one answer.
    pub timeout: Duration,
}

/// What was learnt, together with what was known before.
#[derive(Clone, Debug, PartialEq)]
pub struct Lesson {
    /// All that is known now.
    pub learnt: Learnt,
    /// What is expected from now on; absent where that stays as it was, because what came now is not what came before.
    pub expect: Option<Expect>,
}

/// Why nothing was learnt.
#[derive(Debug, thiserror::Error)]
pub enum NothingLearnt {
    /// No answer came.
    #[error("{0}")]
    NoAnswer(String),
    /// The request means nothing.
    #[error(transparent)]
    BadRequest(#[from] BadRequest),
}

/// Asks the server behind `door` and joins what it answers with what is `known` of it.
///
/// # Errors
/// [`NothingLearnt`] when not even the first request is answered, or it means nothing.
pub fn learn(
    door: Door<'_>,
    question: Question<'_>,
    occasion: Occasion,
    known: Option<&Learnt>,
) -> Result<Lesson, NothingLearnt> {
    let kind = question.kind;
    let samples = samples(door, question, occasion)?;
    let example = kind.example()?;
    let is_fixed =
        (&example.path, &example.headers, &example.body) == (&kind.path, &kind.headers, &kind.body);
    let Some(mut fresh) = together(&samples) else {
        return Err(no_answer(AskError::Refused(door.authority.to_owned())));
    };
    (fresh.workload, fresh.request) = (question.workload.to_owned(), question.number);
    if !is_fixed {
        // Other numbers in a request may bring another body, whatever these brought.
        fresh.body_sha256 = None;
    }
    Ok(lesson(fresh, known, &samples, kind.method == "HEAD"))
}

fn no_answer(error: AskError) -> NothingLearnt {
    NothingLearnt::NoAnswer(error.to_string())
}

fn lesson(fresh: Learnt, known: Option<&Learnt>, samples: &[Sample], is_head: bool) -> Lesson {
    if let Some(known) = known.filter(|known| known.unlike(&fresh).is_some()) {
        return Lesson { learnt: known.clone(), expect: None };
    }
    let learnt = known.map_or_else(|| fresh.clone(), |known| known.joined(&fresh));
    let (held, expect) = expectation(&learnt, samples, is_head);
    Lesson { learnt: Learnt { held, ..learnt }, expect: Some(expect) }
}

/// An answer, and what it alone teaches.
struct Sample {
    learnt: Learnt,
    /// The answer, without its body where that is too long to be compared: eighteen of those at once would fill the memory.
    answer: Response,
}

impl Sample {
    fn of(answer: Response) -> Self {
        let learnt = of_one(&answer);
        let is_compared = learnt.body_bytes[1] <= MAX_COMPARED_BYTES;
        let body = if is_compared { answer.body } else { Vec::new() };
        Self { learnt, answer: Response { body, ..answer } }
    }
}

/// All answers to requests of one kind; at least one.
fn samples(
    door: Door<'_>,
    Question { kind, timeout, .. }: Question<'_>,
    occasion: Occasion,
) -> Result<Vec<Sample>, NothingLearnt> {
    let request = |number| kind.example_of(Draw { seed: 0, request: number });
    let open = || Line::open(door, timeout);
    let mut kept = open().map_err(no_answer)?;
    let mut samples = Vec::new();
    for number in 0..KEPT {
        let request = request(number)?;
        match kept.send(&request).and_then(|()| kept.answer()) {
            Ok(answer) => samples.push(Sample::of(answer)),
            Err(error) if number == 0 => return Err(no_answer(error)),
            // It closes after each answer.
            Err(_) => break,
        }
    }
    // A server that deals with one connection at a time waits for the end of this one.
    drop(kept);
    let at_once = if occasion == Occasion::First { AT_ONCE } else { AT_ONCE_LATER };
    let requests = (KEPT..KEPT + at_once).map(request).collect::<Result<Vec<_>, _>>()?;
    let lines: Vec<Line<'_>> = requests
        .iter()
        .map_while(|request| {
            let mut line = open().ok()?;
            line.send(request).ok()?;
            Some(line)
        })
        .collect();
    samples.extend(lines.into_iter().map_while(|mut line| line.answer().ok()).map(Sample::of));
    Ok(samples)
}

/// What answers have in common; `None` for no answers.
fn together(samples: &[Sample]) -> Option<Learnt> {
    samples.iter().map(|sample| sample.learnt.clone()).reduce(|known, later| known.joined(&later))
}

fn of_one(answer: &Response) -> Learnt {
    let length = answer.body.len() as u64;
    let text = std::str::from_utf8(&answer.body).ok();
    Learnt {
        asked: 1,
        status: Some(answer.status),
        content_type: answer.content_type.as_deref().map(|value| media_type(value).to_ascii_lowercase()),
        content_encoding: answer.content_encoding.clone(),
        location: answer.location.clone(),
        framing: answer.framing.map(body_end),
        body_sha256: Some(sha256(&answer.body)),
        pattern_sha256: text.map(|text| sha256(pattern(text).as_bytes())),
        body_bytes: [length; 2],
        shape: Shape::of(&answer.body).filter(|_| !answer.is_message).map(|shape| shape.to_string()),
        excerpt: String::from_utf8_lossy(&answer.body[..answer.body.len().min(4 * EXCERPT_CHARS)])
            .chars()
            .take(EXCERPT_CHARS)
            .collect(),
        ..Learnt::default()
    }
}

fn body_end(framing: Framing) -> BodyEnd {
    match framing {
        Framing::None => BodyEnd::None,
        Framing::Length(_) => BodyEnd::Length,
        Framing::Chunked => BodyEnd::Chunked,
        Framing::UntilClose => BodyEnd::Close,
    }
}

/// The text with one sign for each run of letters and digits that has a digit: numbers, times, identifiers.
fn pattern(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let (run, after) = rest.split_at(if end == 0 { first.len_utf8() } else { end });
        out.push_str(if run.contains(|c: char| c.is_ascii_digit()) { "#" } else { run });
        rest = after;
    }
    out
}

/// The strongest expectation that all answers meet, and what it holds them against.
fn expectation(learnt: &Learnt, samples: &[Sample], is_head: bool) -> (Held, Expect) {
    let base = Expect {
        status: learnt.status.filter(|status| (200..300).contains(status)),
        content_type: learnt.content_type.clone(),
        ..Expect::default()
    };
    let is_met =
        |expect: &Expect| samples.iter().all(|sample| answer::fault(expect, &sample.answer).is_none());
    if is_head || !is_met(&base) {
        return (Held::Status, base);
    }
    if let Some(text) = body(learnt, samples) {
        return (Held::Body, Expect { body: Some(literal(&text)), ..base });
    }
    let shaped = shape(learnt).map(|shape| Expect { shape: Some(shape), ..base.clone() });
    if let Some(expect) = shaped.filter(is_met) {
        return (Held::Shape, expect);
    }
    // The lengths of all are among those that were learnt.
    (Held::Length, Expect { length: Some(learnt.lengths()), ..base })
}

/// The body that all had, where it can be written down; a message always can.
fn body<'a>(learnt: &Learnt, samples: &'a [Sample]) -> Option<Cow<'a, str>> {
    learnt.body_sha256.as_ref().filter(|_| learnt.body_bytes[1] <= MAX_COMPARED_BYTES)?;
    match &samples.last()?.answer {
        Response { is_message: true, body, .. } => Some(message::literal(body).into()),
        Response { body, .. } => std::str::from_utf8(body).ok().map(Cow::Borrowed),
    }
}

/// The shape, where it demands anything and no body becomes too long to be looked at.
fn shape(learnt: &Learnt) -> Option<String> {
    let shape = learnt.shape.as_ref().filter(|_| learnt.lengths()[1] <= MAX_COMPARED_BYTES)?;
    shape.parse::<Shape>().ok().filter(|shape| !shape.is_any())?;
    Some(shape.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(body: &str) -> Response {
        let content_type = Some("Text/Plain; charset=utf-8".to_owned());
        Response { status: 200, content_type, body: body.as_bytes().to_vec(), ..Response::default() }
    }

    fn of(bodies: &[&str], known: Option<&Learnt>) -> Lesson {
        let samples: Vec<Sample> = bodies.iter().map(|body| Sample::of(answer(body))).collect();
        lesson(together(&samples).expect("answers"), known, &samples, false)
    }

    #[test]
    fn what_is_always_the_same_is_expected_to_the_last_byte_and_what_varies_by_its_shape() {
        let lesson = of(&["a ${b}"; 3], None);
        assert_eq!((lesson.learnt.held, lesson.learnt.asked), (Held::Body, 3));
        let expect = lesson.expect.expect("expectation");
        assert_eq!((expect.status, expect.content_type.as_deref()), (Some(200), Some("text/plain")));
        assert_eq!(expect.body.as_deref(), Some("a $${b}"));
        let counter = of(&[r#"{"n":1}"#, r#"{"n":2}"#], None);
        assert_eq!(counter.learnt.held, Held::Shape);
        assert_eq!(counter.expect.expect("expectation").shape.as_deref(), Some(r#"{"n": number}"#));
        let text = of(&["hits 9", "hits 10"], None);
        assert_eq!(
            (text.learnt.held, text.expect.expect("expectation").length),
            (Held::Length, Some([3, 78]))
        );
    }

    #[test]
    fn what_no_expectation_fits_is_held_against_less() {
        let image = Response { body: b"\x89PNG\xff".to_vec(), ..answer("") };
        let (held, expect) = expectation(&of_one(&image), &[Sample::of(image)], false);
        assert_eq!((held, expect.length), (Held::Length, Some([5, 5])));
        let twice = of(&[r#"{"a":1,"a":2}"#, r#"{"a":3,"a":4}"#], None);
        assert_eq!(twice.learnt.held, Held::Length, "a key that stands there twice has no shape");
        let head = answer("");
        assert_eq!(expectation(&of_one(&head), &[Sample::of(head)], true).0, Held::Status);
        let missing = Response { status: 404, ..answer("no") };
        let (held, expect) = expectation(&of_one(&missing), &[Sample::of(missing)], false);
        assert_eq!((held, expect.status), (Held::Status, None), "only a 2xx is right");
    }

    #[test]
    fn a_body_too_long_to_be_compared_is_not_kept_and_held_against_its_length() {
        let long = usize::try_from(MAX_COMPARED_BYTES).expect("fits") + 1;
        let samples = [long, long + 9].map(|length| Sample::of(answer(&"x".repeat(length))));
        assert!(samples.iter().all(|sample| sample.answer.body.is_empty()));
        let (held, expect) = expectation(&together(&samples).expect("answers"), &samples, false);
        let length = expect.length.expect("lengths");
        assert_eq!(held, Held::Length);
        assert!(length[0] <= long as u64 && length[1] >= long as u64 + 9, "{length:?}");
    }

    #[test]
    fn what_comes_later_loosens_what_is_expected_only_if_it_is_alike() {
        let first = of(&["at 14:03"; 2], None).learnt;
        let later = of(&["at 14:04"; 2], Some(&first));
        assert_eq!((later.learnt.held, later.learnt.asked), (Held::Length, 4));
        let down = of(&["the database is down"; 2], Some(&first));
        assert_eq!(down, Lesson { learnt: first, expect: None });
    }

    #[test]
    fn a_pattern_is_without_numbers_times_and_identifiers() {
        assert_eq!(pattern("pid 42, 14:03:59Z, id 3f-a9b é!"), "pid #, #:#:#, id #-# é!");
        assert_eq!(pattern(""), "");
    }
}
