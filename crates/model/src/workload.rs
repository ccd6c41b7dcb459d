//! What is asked of a contender, and what counts as an answer.

pub mod family;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::JsonSchema;
use crate::database::{DatabaseKind, kind_or_flag};
use crate::html::Page;
use crate::message::{self, BadMessage};
use crate::shape::{BadShape, Shape};
use crate::template::{BadPlaceholder, Draw, Numbers, is_name, placeholders, with_values};
use family::{Family, Parameter};

/// A mix of requests with their right answers; `workloads/NAME.toml`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Workload {
    /// Unique name, `[a-z0-9-]+`.
    pub name: String,
    /// One sentence for people.
    pub about: String,
    /// What servers need to keep their data in, to answer it; absent when they need nothing.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "kind_or_flag")]
    pub database: Option<DatabaseKind>,
    /// A command for `sh`, run whenever a server has become ready, in the file's folder. It finds the server at `URL` and prints
    /// lines `NAME=value`, each of which gives `${NAME}` in the requests its value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The folder in which that command runs; empty for the current one.
    #[serde(skip)]
    pub folder: PathBuf,
    /// A number that the file leaves open; absent in the workloads that it stands for ([`Workload::expand`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameter: Option<Parameter>,
    /// The file's name and the number, in a workload that is one of several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<Family>,
    /// Whether requests are messages of this kind over WebSockets, which are opened at the path of the first; absent for HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub websocket: Option<MessageKind>,
    /// Whether requests are calls of gRPC: `path` is `/package.Service/Method`, and the bodies of request and answer are messages of
    /// Protocol Buffers, written as `1: "text" 2: 150` (docs/method/grpc.md#how-is-a-message-written).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub grpc: bool,
    /// The kinds of request; one is drawn for every request by weight.
    #[serde(rename = "request")]
    pub requests: Vec<RequestKind>,
}

/// Name of the workload of a request that was typed: whatever is there, as long as it is a 2xx.
pub const OWN_WORKLOAD: &str = "get";

/// What a message is made of (RFC 6455 §5.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    /// UTF-8.
    Text,
    /// Any bytes.
    Binary,
}

impl std::fmt::Display for MessageKind {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::Text => "text",
            Self::Binary => "binary",
        })
    }
}

impl Workload {
    /// Why one of its requests means nothing, whatever its command prints.
    pub fn fault_of(&self, request: &RequestKind) -> Option<BadRequest> {
        let filled = self.before.as_ref().map(|_| {
            let any = request.variables().into_iter().map(|name| (name, "x".to_owned())).collect();
            request.with_values(&any)
        });
        let request = filled.as_ref().unwrap_or(request);
        if self.grpc { request.fault_of_call() } else { request.example().err() }
    }

    /// Requests as they can be asked of a server once: where they are messages of a WebSocket, the opening handshake.
    pub fn probes(&self) -> impl Iterator<Item = RequestKind> {
        let is_socket = self.websocket.is_some();
        self.requests.iter().map(move |kind| if is_socket { kind.opening() } else { kind.clone() })
    }

    /// Names to which its command is to give values.
    pub fn variables(&self) -> BTreeSet<String> {
        self.requests.iter().flat_map(RequestKind::variables).collect()
    }

    /// The workload with what its command printed in its place, and nothing left to be run.
    #[must_use]
    pub fn with_values(&self, values: &BTreeMap<String, String>) -> Self {
        let requests = self.requests.iter().map(|request| request.with_values(values)).collect();
        Self { before: None, requests, ..self.clone() }
    }
}

/// One kind of request. Path, values of header fields and body may have placeholders such as `${random:1..500}`
/// ([`crate::template`]).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequestKind {
    /// How often this kind is drawn, relative to the others.
    #[serde(default = "one")]
    pub weight: u32,
    /// HTTP method.
    #[serde(default = "get")]
    pub method: String,
    /// Request target in origin form (RFC 9112 §3.2.1).
    pub path: String,
    /// Extra header fields, in order. Host and Content-Length are added by the generator.
    #[serde(default, deserialize_with = "pairs")]
    pub headers: Vec<(String, String)>,
    /// Request body, absent for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The right answer; what it leaves open is learnt before the load.
    #[serde(default)]
    pub expect: Expect,
}

/// The right answer to a request. An absent part is not checked; of `body`, `json`, `shape`, `html` and `contains` at
/// most one is present.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Expect {
    /// Status code; absent accepts every 2xx.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Exact body. It may repeat named placeholders of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// A file with the exact body, from the workload's own folder; its name may have the workload's number. Whoever reads the workload puts its text into `body`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_file: Option<String>,
    /// A JSON text; the body must be equal as a JSON value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json: Option<String>,
    /// A file with that text, from the workload's own folder. Whoever reads the workload puts its text into `json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json_file: Option<String>,
    /// What a JSON body must look like, where it varies: `[20 * {"id": 1..10000}]` ([`crate::shape`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<String>,
    /// An HTML page; the body must be the same page, however it is written ([`crate::html`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
    /// A file with that page, from the workload's own folder. Whoever reads the workload puts its text into `html`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub html_file: Option<String>,
    /// Bytes of the body: at least and at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<[u64; 2]>,
    /// Text that the body contains; the body has at most 1 MiB then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
    /// How the body must be coded; what it must be is said of the body before that, but `length` of what is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coding: Option<Coding>,
    /// Media type without parameters, compared without regard to case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
}

/// A content coding (RFC 9110 §8.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Coding {
    /// RFC 1952.
    Gzip,
}

impl Coding {
    /// Whether a value of Content-Encoding names it; `x-gzip` means the same (RFC 9110 §8.4.1.3).
    pub fn is_named(self, value: &[u8]) -> bool {
        let Self::Gzip = self;
        ["gzip", "x-gzip"].iter().any(|name| value.trim_ascii().eq_ignore_ascii_case(name.as_bytes()))
    }
}

impl std::fmt::Display for Coding {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self::Gzip = self;
        out.write_str("gzip")
    }
}

/// Why a kind of request means nothing.
#[derive(Debug, thiserror::Error)]
pub enum BadRequest {
    /// A placeholder cannot be understood.
    #[error("{key}: placeholder {source}")]
    Placeholder {
        /// The part of the request that has it.
        key: &'static str,
        /// What is wrong with it.
        source: BadPlaceholder,
    },
    /// The expected JSON is none.
    #[error("expect.json is not JSON: {0}")]
    Json(serde_json::Error),
    /// The expected shape is none.
    #[error("expect.shape, {0}")]
    Shape(#[from] BadShape),
    /// The expected page is none.
    #[error("expect.html: a tag or comment has no end")]
    Html,
    /// Two rules for the same body.
    #[error("expect: body, json, shape, html, their files and contains exclude each other; keep one")]
    TwoBodies,
    /// A text of a message of Protocol Buffers that stands for none.
    #[error("{key}, at {source}")]
    Message {
        /// The part of the call that has it.
        key: &'static str,
        /// Where, and what is wrong with it.
        source: BadMessage,
    },
    /// A rule for what is no text.
    #[error("expect.{0} is for texts: the answer to a call is a message; write expect.body")]
    NotOfMessages(&'static str),
    /// A length that nothing has.
    #[error("expect.length: {0} to {1} bytes is no range; write [least, greatest]")]
    Length(u64, u64),
}

/// What the request of every call of gRPC says.
const CALL_FIELDS: [(&str, &str); 2] = [("content-type", "application/grpc"), ("te", "trailers")];

impl RequestKind {
    /// A GET of `path`, to which any 2xx is right.
    pub fn get(path: &str) -> Self {
        let (method, expect) = (get(), Expect::default());
        Self { weight: one(), method, path: path.to_owned(), headers: Vec::new(), body: None, expect }
    }

    /// The opening handshake of a WebSocket at its path, with the key of RFC 6455 §1.3.
    pub fn opening(&self) -> Self {
        let fields = [
            ("Upgrade", "websocket"),
            ("Connection", "Upgrade"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ];
        let fields = fields.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let headers = self.headers.iter().cloned().chain(fields).collect();
        let expect = Expect { status: Some(101), ..Expect::default() };
        Self { headers, expect, ..Self::get(&self.path) }
    }

    /// The request of a call of gRPC at its path: with the fields of one, where it does not say them itself.
    #[must_use]
    pub fn call(&self) -> Self {
        let is_said = |name: &str| self.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        let fields = CALL_FIELDS.into_iter().filter(|(name, _)| !is_said(name));
        let fields = fields.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let headers = fields.chain(self.headers.iter().cloned()).collect();
        let body = Some(self.body.clone().unwrap_or_default());
        Self { method: "POST".to_owned(), headers, body, ..self.clone() }
    }

    /// Why it means nothing as a call of gRPC, whose bodies are messages.
    pub fn fault_of_call(&self) -> Option<BadRequest> {
        let example = match self.example() {
            Ok(example) => example,
            Err(fault) => return Some(fault),
        };
        let expect = &example.expect;
        let of_texts = [
            ("json", expect.json.is_some()),
            ("html", expect.html.is_some()),
            ("shape", expect.shape.is_some()),
            ("coding", expect.coding.is_some()),
        ];
        if let Some((key, _)) = of_texts.into_iter().find(|(_, is_there)| *is_there) {
            return Some(BadRequest::NotOfMessages(key));
        }
        let texts = [("body", &example.body), ("expect.body", &expect.body)];
        texts.into_iter().find_map(|(key, text)| {
            let source = message::encode(text.as_ref()?, &mut Vec::new()).err()?;
            Some(BadRequest::Message { key, source })
        })
    }

    /// Names in its placeholders that stand for none of its own numbers.
    fn variables(&self) -> BTreeSet<String> {
        let headers = self.headers.iter().map(|(_, value)| value);
        let texts = std::iter::once(&self.path).chain(headers).chain(&self.body).chain(&self.expect.body);
        let all: Vec<&str> = texts.flat_map(|text| placeholders(text)).collect();
        let own: BTreeSet<&str> = all.iter().filter_map(|all| Some(all.split_once('=')?.0)).collect();
        let open = all.into_iter().filter(|name| is_name(name) && !own.contains(name));
        open.map(str::to_owned).collect()
    }

    fn with_values(&self, values: &BTreeMap<String, String>) -> Self {
        let open = self.variables();
        let value_of = |name: &str| values.get(name).filter(|_| open.contains(name)).cloned();
        let set = |text: &String| with_values(text, value_of);
        Self {
            path: set(&self.path),
            headers: self.headers.iter().map(|(name, value)| (name.clone(), set(value))).collect(),
            body: self.body.as_ref().map(set),
            expect: Expect { body: self.expect.body.as_ref().map(set), ..self.expect.clone() },
            ..self.clone()
        }
    }

    /// The first request of this kind with its right answer: without placeholders.
    ///
    /// # Errors
    /// See [`BadRequest`]; all that it names is checked here.
    pub fn example(&self) -> Result<Self, BadRequest> {
        self.example_of(Draw::default())
    }

    /// Any request of this kind with its right answer: without placeholders.
    ///
    /// # Errors
    /// As for [`Self::example`].
    pub fn example_of(&self, draw: Draw) -> Result<Self, BadRequest> {
        self.expect.check()?;
        let mut numbers = Numbers::default();
        let mut read = |key, text: &str| -> Result<String, BadRequest> {
            let template = numbers.read(text).map_err(|source| BadRequest::Placeholder { key, source })?;
            Ok(template.text(&numbers, draw))
        };
        let path = read("path", &self.path)?;
        let field = |(name, value): &(String, String)| Ok((name.clone(), read("headers", value)?));
        let headers = self.headers.iter().map(field).collect::<Result<_, BadRequest>>()?;
        let body = self.body.as_ref().map(|body| read("body", body)).transpose()?;
        let answer = |text: &String| -> Result<String, BadRequest> {
            let bad = |source| BadRequest::Placeholder { key: "expect.body", source };
            Ok(numbers.read_answer(text).map_err(bad)?.text(&numbers, draw))
        };
        let expected = self.expect.body.as_ref().map(answer).transpose()?;
        let expect = Expect { body: expected, ..self.expect.clone() };
        Ok(Self { path, headers, body, expect, method: self.method.clone(), weight: self.weight })
    }
}

impl Expect {
    /// Whether it says nothing at all, so that any answer with a 2xx would do.
    pub fn is_silent(&self) -> bool {
        *self == Self::default()
    }

    fn check(&self) -> Result<(), BadRequest> {
        let rules = [
            &self.body,
            &self.body_file,
            &self.json,
            &self.json_file,
            &self.shape,
            &self.html,
            &self.html_file,
            &self.contains,
        ];
        if rules.into_iter().flatten().count() > 1 {
            return Err(BadRequest::TwoBodies);
        }
        if let Some(json) = &self.json {
            serde_json::from_str::<serde_json::Value>(json).map_err(BadRequest::Json)?;
        }
        if let Some(shape) = &self.shape {
            shape.parse::<Shape>()?;
        }
        if self.html.as_ref().is_some_and(|html| Page::read(html).is_none()) {
            return Err(BadRequest::Html);
        }
        match self.length {
            Some([least, greatest]) if least > greatest => Err(BadRequest::Length(least, greatest)),
            _ => Ok(()),
        }
    }
}

/// A name with its value, and nothing more: a tuple would be taken from a longer list without a word.
struct Pair(String, String);

impl<'de> Deserialize<'de> for Pair {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_seq(OfPair)
    }
}

struct OfPair;

impl<'de> Visitor<'de> for OfPair {
    type Value = Pair;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a name and a value")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Pair, A::Error> {
        let mut parts: Vec<String> = Vec::new();
        while let Some(part) = list.next_element()? {
            parts.push(part);
        }
        let number = parts.len();
        let pair = <[String; 2]>::try_from(parts).map(|[name, value]| Pair(name, value));
        pair.map_err(|_| A::Error::invalid_length(number, &self))
    }
}

/// Pairs of a name and a value.
fn pairs<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<(String, String)>, D::Error> {
    let pairs: Vec<Pair> = Vec::deserialize(input)?;
    Ok(pairs.into_iter().map(|Pair(name, value)| (name, value)).collect())
}

fn one() -> u32 {
    1
}

fn get() -> String {
    "GET".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(expect: Expect) -> RequestKind {
        let headers = vec![("X-Id".into(), "${id}".into())];
        let (method, path) = ("PUT".into(), "/${id=random:5..5}/${sequence}".into());
        RequestKind { weight: 1, method, path, headers, body: Some("$${${id}".into()), expect }
    }

    #[test]
    fn an_example_has_no_placeholders() {
        let example =
            kind(Expect { body: Some("id ${id}".into()), ..Expect::default() }).example().expect("good");
        assert_eq!((example.path.as_str(), example.headers[0].1.as_str()), ("/5/1", "5"));
        assert_eq!((example.body.as_deref(), example.expect.body.as_deref()), (Some("${5"), Some("id 5")));
    }

    #[test]
    fn what_a_command_prints_fills_the_names_that_are_no_numbers_of_the_request() {
        let mut request = kind(Expect { body: Some("${id} of ${user}".into()), ..Expect::default() });
        request.headers.push(("Authorization".into(), "Bearer ${token}".into()));
        let workload =
            Workload { before: Some("login".into()), requests: vec![request], ..Workload::default() };
        assert!(workload.variables().iter().eq(["token", "user"]));
        assert!(workload.fault_of(&workload.requests[0]).is_none());
        let values = [("token", "t${x}"), ("user", "you"), ("id", "9"), ("other", "o")];
        let values = values.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let filled = workload.with_values(&values);
        let example = filled.requests[0].example().expect("filled");
        assert_eq!((example.headers[1].1.as_str(), example.path.as_str()), ("Bearer t${x}", "/5/1"));
        assert_eq!((example.expect.body.as_deref(), filled.before), (Some("5 of you"), None));
        let alone = Workload { before: None, ..workload };
        let fault = alone.fault_of(&alone.requests[0]).expect("nobody prints it").to_string();
        assert!(fault.contains("`${token}`") && fault.contains("--before"), "{fault}");
    }

    #[test]
    fn a_call_is_of_messages() {
        let call = |body: &str, expect| RequestKind {
            body: Some(body.into()),
            expect,
            ..RequestKind::get("/a.B/C")
        };
        let fault = |kind: RequestKind| {
            let calls = Workload { grpc: true, ..Workload::default() };
            calls.fault_of(&kind).map(|fault| fault.to_string()).unwrap_or_default()
        };
        let right = Expect { body: Some("1: ${n}".into()), ..Expect::default() };
        assert_eq!(fault(call("1: ${n=sequence}", right)), "");
        assert!(
            fault(call("1: \"a", Expect::default())).starts_with("body, at byte 3: a text without its end")
        );
        let wrong = Expect { body: Some("x".into()), ..Expect::default() };
        assert!(fault(call("", wrong)).starts_with("expect.body, at byte 0"));
        let json = Expect { json: Some("1".into()), ..Expect::default() };
        assert!(fault(call("", json)).starts_with("expect.json is for texts"));
        let named = vec![("Content-Type".to_owned(), "application/grpc+proto".to_owned())];
        let own = RequestKind { headers: named.clone(), ..call("", Expect::default()) }.call();
        assert_eq!((own.method.as_str(), own.headers.len()), ("POST", 2));
        assert_eq!(own.headers[1], named[0]);
    }

    #[test]
    fn what_means_nothing_is_named() {
        let any = Expect::default;
        let text = |text: &str| Some(text.to_owned());
        for (expect, words) in [
            (Expect { body: text("${other}"), ..any() }, "expect.body: placeholder `${other}`"),
            (Expect { json: text("{"), ..any() }, "expect.json is not JSON"),
            (Expect { shape: text("[2 x]"), ..any() }, "expect.shape, at byte 3"),
            (Expect { body: text("1"), shape: text("1"), ..any() }, "exclude each other"),
            (Expect { html: text("<p"), ..any() }, "a tag or comment has no end"),
            (Expect { length: Some([2, 1]), ..any() }, "2 to 1 bytes"),
        ] {
            let error = kind(expect).example().expect_err(words).to_string();
            assert!(error.contains(words), "{error}");
        }
        let bad = RequestKind { path: "/${x}".into(), ..kind(any()) };
        assert!(bad.example().expect_err("bad").to_string().starts_with("path: placeholder `${x}`"));
    }
}
