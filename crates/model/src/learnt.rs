//! What a server answered before any load, where nobody said what is right (docs/method/answers.md).

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::shape::Shape;

/// The answers to one kind of request, together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Learnt {
    /// Name of the workload.
    pub workload: String,
    /// The number of the request among the workload's, from 0.
    pub request: u32,
    /// Answers seen.
    pub asked: u32,
    /// Status; absent where it differed from answer to answer, as everything below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Media type without parameters, in lower case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// How the body was coded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_encoding: Option<String>,
    /// Where a redirection led.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// How the body's end was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub framing: Option<BodyEnd>,
    /// The body's hash (SHA-256, hexadecimal).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_sha256: Option<String>,
    /// The hash of the text without what usually varies: each run of letters and digits that has a digit is one sign. Absent for what is
    /// no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern_sha256: Option<String>,
    /// Bytes of the body: least and greatest.
    pub body_bytes: [u64; 2],
    /// What the body looks like, where it was always JSON ([`crate::shape`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<String>,
    /// How the last body began.
    pub excerpt: String,
    /// What answers under load are held against.
    pub held: Held,
}

/// How a body's end is told (RFC 9112 §6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BodyEnd {
    /// There is none.
    None,
    /// By its length.
    Length,
    /// By its last chunk.
    Chunked,
    /// By the connection's end.
    Close,
}

/// What answers are held against beside status and media type, from the weakest to the strongest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Held {
    /// Nothing else: these alone.
    #[default]
    Status,
    /// The body's length, with room to both sides where it varied.
    Length,
    /// The body's shape.
    Shape,
    /// Every byte of the body.
    Body,
}

/// Whether an answer with this status leads elsewhere, to what its Location says (RFC 9110 §15.4).
pub fn is_redirection(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

impl Learnt {
    /// What both saw: whatever differs, varies. The excerpt is the later one's.
    #[must_use]
    pub fn joined(&self, later: &Self) -> Self {
        let [low, high] = self.body_bytes;
        Self {
            asked: self.asked.saturating_add(later.asked),
            status: same(&self.status, &later.status),
            content_type: same(&self.content_type, &later.content_type),
            content_encoding: same(&self.content_encoding, &later.content_encoding),
            location: same(&self.location, &later.location),
            framing: same(&self.framing, &later.framing),
            body_sha256: same(&self.body_sha256, &later.body_sha256),
            pattern_sha256: same(&self.pattern_sha256, &later.pattern_sha256),
            body_bytes: [low.min(later.body_bytes[0]), high.max(later.body_bytes[1])],
            shape: joined_shape(self.shape.as_deref(), later.shape.as_deref()),
            held: self.held.min(later.held),
            ..later.clone()
        }
    }

    /// Lengths of body that are right. One that varied may vary further: a counter gets longer, a list shorter.
    pub fn lengths(&self) -> [u64; 2] {
        let [least, greatest] = self.body_bytes;
        match self.body_sha256 {
            Some(_) => [least, greatest],
            None => [least / 2, greatest.saturating_mul(2).saturating_add(LENGTH_ROOM)],
        }
    }

    /// In what answers differ so much that they are not of one kind; `None` when they are alike. Bodies may differ where they resemble each
    /// other: in their shape, or, where they have none, in their pattern or their length.
    pub fn unlike(&self, other: &Self) -> Option<Unlike> {
        if self.status != other.status {
            Some(Unlike::Status)
        } else if self.content_type != other.content_type {
            Some(Unlike::ContentType)
        } else if self.content_encoding != other.content_encoding {
            Some(Unlike::Coding)
        } else {
            (!self.resembles(other)).then_some(Unlike::Body)
        }
    }

    fn resembles(&self, other: &Self) -> bool {
        let is_same = |one: &Option<String>, other: &Option<String>| one.is_some() && one == other;
        if self.has_same_body(other) || is_same(&self.pattern_sha256, &other.pattern_sha256) {
            return true;
        }
        match (&self.shape, &other.shape) {
            (None, None) => {
                let ([a, b], [c, d]) = (self.similar_lengths(), other.similar_lengths());
                a <= d && c <= b
            }
            (Some(one), Some(other)) => match [one, other].map(|text| text.parse::<Shape>()) {
                [Ok(one), Ok(other)] => one.resembles(&other),
                _ => one == other,
            },
            _ => false,
        }
    }

    /// Lengths that a text of the same kind may have: a page with another word in it is still that page.
    fn similar_lengths(&self) -> [u64; 2] {
        let [least, greatest] = self.lengths();
        [least - least / SIMILAR_PART, greatest.saturating_add(greatest / SIMILAR_PART)]
    }

    /// Whether something varies in what was `later` learnt that is fixed here.
    pub fn varies_less_than(&self, later: &Self) -> bool {
        self.held != later.held || self.shape != later.shape || self.lengths() != later.lengths()
    }

    /// Whether both always had one and the same body.
    fn has_same_body(&self, other: &Self) -> bool {
        self.body_sha256.is_some() && self.body_sha256 == other.body_sha256
    }
}

/// Bytes by which a length that varied may grow besides doubling: a few numbers that get longer.
const LENGTH_ROOM: u64 = 64;

/// The part of a text's length by which another one may differ and be called similar: a twentieth of each.
const SIMILAR_PART: u64 = 20;

/// In what answers differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unlike {
    /// The status.
    Status,
    /// The media type.
    ContentType,
    /// How the body is coded.
    Coding,
    /// The body: its shape, or its length where it has none.
    Body,
}

fn same<T: Clone + PartialEq>(one: &Option<T>, other: &Option<T>) -> Option<T> {
    one.clone().filter(|_| one == other)
}

fn joined_shape(one: Option<&str>, other: Option<&str>) -> Option<String> {
    let [one, other] = [one?, other?].map(|text| text.parse::<Shape>().ok());
    Some(one?.joined(other?).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learnt(body: &str, held: Held) -> Learnt {
        Learnt {
            asked: 5,
            status: Some(200),
            content_type: Some("text/plain".to_owned()),
            body_sha256: Some(format!("hash of {body}")),
            body_bytes: [body.len() as u64; 2],
            shape: Shape::of(body.as_bytes()).map(|shape| shape.to_string()),
            excerpt: body.to_owned(),
            held,
            ..Learnt::default()
        }
    }

    #[test]
    fn what_differs_varies() {
        let (one, ten) = (learnt("hits 1", Held::Body), learnt("hits 10", Held::Length));
        assert_eq!(one.joined(&one), Learnt { asked: 10, ..one.clone() });
        let both = one.joined(&ten);
        assert_eq!((both.asked, both.status, both.held), (10, Some(200), Held::Length));
        assert_eq!((both.body_sha256.as_deref(), both.body_bytes), (None, [6, 7]));
        assert_eq!((one.lengths(), both.lengths()), ([6, 6], [3, 78]));
        let rows = learnt("[1]", Held::Body).joined(&learnt("[\"x\"]", Held::Shape));
        assert_eq!(rows.shape.as_deref(), Some("[any * any]"));
        assert_eq!(learnt("[1]", Held::Body).joined(&one).shape, None);
    }

    #[test]
    fn sides_are_unlike_where_no_figure_can_be_compared() {
        let json =
            |body| Learnt { content_type: Some("application/json".to_owned()), ..learnt(body, Held::Body) };
        let rows = json(r#"{"rows":[1,2]}"#);
        assert_eq!(rows.unlike(&json(r#"{"rows":[3]}"#)), None, "of the same shape");
        assert_eq!(rows.unlike(&json(r#"{"error":"down"}"#)), Some(Unlike::Body));
        assert_eq!(rows.unlike(&learnt("database is down", Held::Body)), Some(Unlike::ContentType));
        let down = Learnt { status: Some(204), ..rows.clone() };
        assert_eq!(rows.unlike(&down), Some(Unlike::Status));
        let coded = Learnt { content_encoding: Some("gzip".to_owned()), ..rows.clone() };
        assert_eq!(rows.unlike(&coded), Some(Unlike::Coding));
        let text = learnt("hello", Held::Body);
        assert_eq!(text.unlike(&learnt("HELLO", Held::Body)), None, "of the same length");
        assert_eq!(text.unlike(&learnt("database is down", Held::Body)), Some(Unlike::Body));
        let pid = |body| Learnt { pattern_sha256: Some("pid #".to_owned()), ..learnt(body, Held::Body) };
        assert_eq!(pid("pid 9").unlike(&pid("pid 4294967295")), None, "of the same pattern");
    }
}
