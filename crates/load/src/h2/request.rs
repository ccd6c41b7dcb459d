//! Requests as compressed heads and bodies: of one kind, read once and, where it has placeholders, filled in for each.

use assay_grpc::message;
use assay_h2::field::is_of_connection;
use assay_h2::hpack::{Encoder, Indexing};
use assay_http::Framing;
use assay_http::render::{RequestSpec, request_head};
use assay_model::template::{Draw, Numbers, Template, TextPart};
use assay_model::workload::{BadRequest, RequestKind};

use crate::LoadError;
use crate::writing::Writing;

/// One kind of request.
pub(super) struct Request {
    fields: Vec<Field>,
    body: Option<Template>,
    /// Whether it is a call of gRPC, whose body is a message in its frame and whose head tells no length.
    is_call: bool,
    /// The body of a call that is the same every time.
    framed: Option<Vec<u8>>,
    pub(super) numbers: Numbers,
    /// Whether its head is the same every time.
    pub(super) has_fixed_head: bool,
}

struct Field {
    name: Vec<u8>,
    value: Template,
}

impl Request {
    /// Reads a kind for a server of this scheme and authority; with `is_call` it is one of gRPC.
    pub(super) fn new(
        kind: &RequestKind,
        scheme: &str,
        authority: &str,
        is_call: bool,
    ) -> Result<Self, LoadError> {
        let call = is_call.then(|| kind.call());
        let kind = call.as_ref().unwrap_or(kind);
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
            // Host becomes the authority.
            if name != "host" && !is_of_connection(name.as_bytes()) {
                let value = numbers.read(&text).map_err(|source| bad("path or headers", source))?;
                fields.push(Field { name: name.into_bytes(), value });
            }
        }
        let body = kind.body.as_ref().map(|body| numbers.read(body)).transpose();
        let body = body.map_err(|source| bad("body", source))?;
        let has_fixed_length = is_call || body.as_ref().is_none_or(Template::is_fixed);
        let has_fixed_head = fields.iter().all(|field| field.value.is_fixed()) && has_fixed_length;
        let is_fixed = is_call && body.as_ref().is_some_and(Template::is_fixed);
        let request = Self { fields, body, is_call, framed: None, numbers, has_fixed_head };
        let framed = is_fixed.then(|| {
            let mut framed = Vec::new();
            request.write_body(Draw::default(), &mut framed);
            framed
        });
        Ok(Self { framed, ..request })
    }

    /// Appends the head of one request.
    pub(super) fn write_head(&self, draw: Draw, encoder: &mut Encoder, out: &mut Vec<u8>) {
        let mut value = Vec::new();
        encoder.begin(out);
        for field in &self.fields {
            value.clear();
            field.value.write(&self.numbers, draw, &mut TextPart::new(0, usize::MAX, &mut value));
            let indexing = if field.value.is_fixed() { Indexing::Remember } else { Indexing::Forget };
            encoder.field(&field.name, &value, indexing, out);
        }
        if let Some(body) = self.body.as_ref().filter(|_| !self.is_call) {
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
        match &self.body {
            _ if self.framed.is_some() => out.extend_from_slice(self.framed.as_deref().unwrap_or_default()),
            Some(body) if self.is_call => {
                let mut message = Vec::new();
                Writing::Message.write(body, &self.numbers, draw, &mut message);
                message::frame(&message, out);
            }
            Some(body) => Writing::Plain.write(body, &self.numbers, draw, out),
            None => {}
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
        let request = Request::new(&kind("/a?b", Some("xyz")), "https", "h:1", false).unwrap();
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
        let request =
            Request::new(&kind("/${sequence:98}", Some("${sequence:98}")), "http", "h", false).unwrap();
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
    fn a_call_has_the_fields_of_one_and_a_message_in_its_frame() {
        let fixed = RequestKind { headers: Vec::new(), ..kind("/a.B/C", Some("1: \"hi\"")) };
        let request = Request::new(&fixed, "http", "h", true).unwrap();
        let (mut encoder, mut decoder) = (Encoder::default(), Decoder::new(4096));
        let (head, _) = told(&request, Draw::default(), &mut encoder, &mut decoder);
        let fields = "content-type: application/grpc\nte: trailers\n";
        assert_eq!(head, format!(":method: POST\n:scheme: http\n:authority: h\n:path: /a.B/C\n{fields}"));
        let varied = RequestKind { body: Some("1: \"${sequence:8}\"".into()), ..fixed };
        let varied = Request::new(&varied, "http", "h", true).unwrap();
        assert!(request.has_fixed_head && varied.has_fixed_head, "no head tells a length");
        let body = |request: &Request, number| {
            let mut body = Vec::new();
            request.write_body(Draw { seed: 1, request: number }, &mut body);
            body
        };
        assert_eq!(body(&request, 5), b"\0\0\0\0\x04\x0a\x02hi");
        assert_eq!(body(&varied, 2), b"\0\0\0\0\x04\x0a\x0210");
    }

    #[test]
    fn a_request_that_is_none_is_refused_with_its_place() {
        let refused = Request::new(&kind("/a b", None), "http", "h", false).err().unwrap().to_string();
        assert!(refused.starts_with("request POST /a b: "), "{refused}");
    }
}
