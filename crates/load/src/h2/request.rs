//! Requests as compressed heads and bodies: of one kind, read once and, where it has placeholders, filled in for each.

use assay_h2::hpack::{Encoder, Indexing};
use assay_http::Framing;
use assay_http::render::{RequestSpec, request_head};
use assay_model::template::{Draw, Numbers, Part, Template};
use assay_model::workload::{BadRequest, RequestKind};

use crate::LoadError;

/// Fields that belong to a connection of HTTP/1.1 and must not be sent (RFC 9113 §8.2.2); Host becomes the authority.
const LEFT_OUT: [&str; 6] =
    ["connection", "host", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];

/// One kind of request.
pub(super) struct Request {
    fields: Vec<Field>,
    body: Option<Template>,
    pub(super) numbers: Numbers,
    /// Whether its head is the same every time.
    pub(super) has_fixed_head: bool,
}

struct Field {
    name: Vec<u8>,
    value: Template,
}

impl Request {
    /// Reads a kind for a server of this scheme and authority.
    pub(super) fn new(kind: &RequestKind, scheme: &str, authority: &str) -> Result<Self, LoadError> {
        check(kind, authority)?;
        let bad = |key, source| LoadError::BadRequest {
            path: kind.path.clone(),
            source: BadRequest::Placeholder { key, source },
        };
        let mut numbers = Numbers::default();
        let mut fields = Vec::new();
        let of_request = [(":method", &*kind.method), (":scheme", scheme), (":authority", authority)];
        let path = [(":path", kind.path.clone())];
        let texts = of_request.map(|(name, text)| (name, assay_model::template::literal(text)));
        let headers = kind.headers.iter().map(|(name, value)| (name.as_str(), value.clone()));
        for (name, text) in texts.into_iter().chain(path).chain(headers) {
            let name = name.to_ascii_lowercase();
            if !LEFT_OUT.contains(&name.as_str()) {
                let value = numbers.read(&text).map_err(|source| bad("path or headers", source))?;
                fields.push(Field { name: name.into_bytes(), value });
            }
        }
        let body = kind.body.as_ref().map(|body| numbers.read(body)).transpose();
        let body = body.map_err(|source| bad("body", source))?;
        let is_fixed = |body: &Template| body.is_fixed();
        let has_fixed_head =
            fields.iter().all(|field| field.value.is_fixed()) && body.as_ref().is_none_or(is_fixed);
        Ok(Self { fields, body, numbers, has_fixed_head })
    }

    /// Appends the head of one request.
    pub(super) fn write_head(&self, draw: Draw, encoder: &mut Encoder, out: &mut Vec<u8>) {
        let mut value = Vec::new();
        encoder.begin(out);
        for field in &self.fields {
            value.clear();
            field.value.write(&self.numbers, draw, &mut Part::new(0, usize::MAX, &mut value));
            let indexing = if field.value.is_fixed() { Indexing::Remember } else { Indexing::Forget };
            encoder.field(&field.name, &value, indexing, out);
        }
        if let Some(body) = &self.body {
            let length = body.len(&self.numbers, draw).to_string();
            let indexing = if body.is_fixed() { Indexing::Remember } else { Indexing::Forget };
            encoder.field(b"content-length", length.as_bytes(), indexing, out);
        }
    }

    /// Whether it has a body.
    #[inline]
    pub(super) fn has_body(&self) -> bool {
        self.body.is_some()
    }

    /// Appends the body of one request.
    pub(super) fn write_body(&self, draw: Draw, out: &mut Vec<u8>) {
        if let Some(body) = &self.body {
            body.write(&self.numbers, draw, &mut Part::new(0, usize::MAX, out));
        }
    }
}

/// Whether the request could be one of HTTP/1.1: what is a method, a target and a field does not depend on the version.
fn check(kind: &RequestKind, host: &str) -> Result<(), LoadError> {
    let fields: Vec<(&str, &str)> = kind.headers.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    let framing = if kind.body.is_some() { Framing::Length(0) } else { Framing::None };
    let spec = RequestSpec { method: &kind.method, target: &kind.path, host, fields: &fields, framing };
    request_head(&spec, &mut Vec::new()).map_err(|source| LoadError::Request {
        method: kind.method.clone(),
        path: kind.path.clone(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_h2::hpack::Decoder;
    use assay_model::workload::Expect;

    fn kind(path: &str, body: Option<&str>) -> RequestKind {
        let headers = vec![("Accept".into(), "text/plain".into()), ("Connection".into(), "close".into())];
        let (body, expect) = (body.map(str::to_owned), Expect::default());
        RequestKind { weight: 1, method: "POST".into(), path: path.into(), headers, body, expect }
    }

    fn told(request: &Request, draw: Draw, encoder: &mut Encoder, decoder: &mut Decoder) -> (String, usize) {
        let (mut block, mut text) = (Vec::new(), String::new());
        request.write_head(draw, encoder, &mut block);
        let tell = |name: &[u8], value: &[u8]| {
            text += &format!("{}: {}\n", String::from_utf8_lossy(name), String::from_utf8_lossy(value));
        };
        decoder.decode(&block, usize::MAX, tell).unwrap();
        (text, block.len())
    }

    #[test]
    fn a_head_has_its_pseudo_fields_first_and_costs_a_few_bytes_from_the_second_time_on() {
        let request = Request::new(&kind("/a?b", Some("xyz")), "https", "h:1").unwrap();
        let (mut encoder, mut decoder) = (Encoder::default(), Decoder::new(4096));
        let (first, long) = told(&request, Draw::default(), &mut encoder, &mut decoder);
        let lines = ":method: POST\n:scheme: https\n:authority: h:1\n:path: /a?b\naccept: text/plain\ncontent-length: 3\n";
        assert_eq!(first, lines);
        let (again, short) = told(&request, Draw::default(), &mut encoder, &mut decoder);
        assert_eq!((again, short), (first, 6));
        assert!(long > 20 && request.has_fixed_head && request.has_body());
    }

    #[test]
    fn placeholders_are_filled_in_for_each_and_leave_the_table_alone() {
        let request = Request::new(&kind("/${sequence:98}", Some("${sequence:98}")), "http", "h").unwrap();
        let (mut encoder, mut decoder) = (Encoder::default(), Decoder::new(4096));
        assert!(!request.has_fixed_head);
        for (number, length) in [(0, 2), (1, 2), (2, 3)] {
            let draw = Draw { seed: 1, request: number };
            let (text, _) = told(&request, draw, &mut encoder, &mut decoder);
            let id = 98 + number;
            assert!(text.contains(&format!(":path: /{id}\n")), "{text}");
            assert!(text.ends_with(&format!("content-length: {length}\n")), "{text}");
            let mut body = Vec::new();
            request.write_body(draw, &mut body);
            assert_eq!(body, id.to_string().as_bytes());
        }
    }

    #[test]
    fn a_request_that_is_none_is_refused_with_its_place() {
        let refused = Request::new(&kind("/a b", None), "http", "h").err().unwrap().to_string();
        assert!(refused.starts_with("request POST /a b: "), "{refused}");
    }
}
