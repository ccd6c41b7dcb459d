//! Requests as bytes: of one kind, rendered once and, where it has placeholders, filled in for each.

use assay_http::Framing;
use assay_http::render::{RenderError, RequestSpec, request_head};
use assay_model::template::{Draw, Numbers, Template, TextPart, digits};
use assay_model::workload::{BadRequest, RequestKind};

use crate::LoadError;

/// Requests of one kind kept side by side, so that a pipelined run of them is one contiguous send.
pub(crate) const TRAIN_REQUESTS: usize = 16;

/// No train is longer than this unless a single request is.
const TRAIN_BYTES: usize = 16 * 1024;

/// One kind of request, ready to send.
#[derive(Clone, Debug)]
pub(crate) enum Rendered {
    Fixed(Fixed),
    Varying { numbers: Numbers, ordinary: Varying, last: Varying },
}

/// A request that is the same every time.
#[derive(Clone, Debug)]
pub(crate) struct Fixed {
    /// The request, over and over.
    train: Vec<u8>,
    /// The request saying `Connection: close`.
    last: Vec<u8>,
    len: usize,
}

/// A request with placeholders.
#[derive(Clone, Debug)]
pub(crate) struct Varying {
    /// With a body, it ends where its length is to stand.
    head: Template,
    body: Option<Template>,
}

impl Rendered {
    /// Renders a kind for the given value of Host.
    pub(crate) fn new(kind: &RequestKind, host: &str) -> Result<Self, LoadError> {
        let mut numbers = Numbers::default();
        let ordinary = Varying::new(kind, host, false, &mut numbers)?;
        // The numbers' order is that of the request itself, so the same text reads to the same numbers.
        let last = Varying::new(kind, host, true, &mut Numbers::default())?;
        if !ordinary.is_fixed() {
            return Ok(Self::Varying { numbers, ordinary, last });
        }
        let text = |form: &Varying| {
            let mut bytes = Vec::new();
            form.write(&numbers, Draw::default(), &mut TextPart::new(0, usize::MAX, &mut bytes));
            bytes
        };
        let one = text(&ordinary);
        let cars = (TRAIN_BYTES / one.len()).clamp(1, TRAIN_REQUESTS);
        Ok(Self::Fixed(Fixed { len: one.len(), train: one.repeat(cars), last: text(&last) }))
    }

    /// Bytes of one request.
    #[inline]
    pub(crate) fn len(&self, draw: Draw, is_last: bool) -> usize {
        match self {
            Self::Fixed(fixed) => fixed.bytes(is_last).len(),
            Self::Varying { numbers, last, .. } if is_last => last.len(numbers, draw),
            Self::Varying { numbers, ordinary, .. } => ordinary.len(numbers, draw),
        }
    }

    /// Writes one request.
    #[inline]
    pub(crate) fn write(&self, draw: Draw, is_last: bool, out: &mut TextPart<'_>) {
        match self {
            Self::Fixed(fixed) => out.push(fixed.bytes(is_last)),
            Self::Varying { numbers, last, .. } if is_last => last.write(numbers, draw, out),
            Self::Varying { numbers, ordinary, .. } => ordinary.write(numbers, draw, out),
        }
    }

    /// The numbers of its placeholders.
    pub(crate) fn numbers(&self) -> Numbers {
        match self {
            Self::Fixed(_) => Numbers::default(),
            Self::Varying { numbers, .. } => numbers.clone(),
        }
    }
}

impl Fixed {
    /// One request.
    #[inline]
    pub(crate) fn bytes(&self, is_last: bool) -> &[u8] {
        if is_last { &self.last } else { &self.train[..self.len] }
    }

    /// `n` ordinary requests in a row, or as many as are kept, with their number.
    #[inline]
    pub(crate) fn several(&self, n: usize) -> (&[u8], usize) {
        let n = n.min(self.train.len() / self.len);
        (&self.train[..n * self.len], n)
    }
}

impl Varying {
    fn new(kind: &RequestKind, host: &str, close: bool, numbers: &mut Numbers) -> Result<Self, LoadError> {
        let unusable =
            |source| LoadError::Request { method: kind.method.clone(), path: kind.path.clone(), source };
        let bad = |key, source| LoadError::BadRequest {
            path: kind.path.clone(),
            source: BadRequest::Placeholder { key, source },
        };
        let head = head(kind, host, close).map_err(unusable)?;
        let head = numbers.read(&head).map_err(|source| bad("path or headers", source))?;
        let body = kind.body.as_ref().map(|body| numbers.read(body)).transpose();
        Ok(Self { head, body: body.map_err(|source| bad("body", source))? })
    }

    fn is_fixed(&self) -> bool {
        self.head.is_fixed() && self.body.as_ref().is_none_or(Template::is_fixed)
    }

    #[inline]
    fn len(&self, numbers: &Numbers, draw: Draw) -> usize {
        let body = self.body.as_ref().map_or(0, |body| {
            let len = body.len(numbers, draw);
            digits(len as u64) + END_OF_HEAD.len() + len
        });
        self.head.len(numbers, draw) + body
    }

    #[inline]
    fn write(&self, numbers: &Numbers, draw: Draw, out: &mut TextPart<'_>) {
        self.head.write(numbers, draw, out);
        if let Some(body) = &self.body {
            out.push_decimal(body.len(numbers, draw) as u64, 1);
            out.push(END_OF_HEAD.as_bytes());
            body.write(numbers, draw, out);
        }
    }
}

const END_OF_HEAD: &str = "\r\n\r\n";

/// The head with its placeholders, all of whose characters may stand in a target and in a field's value. That of a request
/// with a body ends before the value of Content-Length.
fn head(kind: &RequestKind, host: &str, close: bool) -> Result<String, RenderError> {
    let mut fields: Vec<(&str, &str)> = kind.headers.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    if close {
        fields.push(("Connection", "close"));
    }
    let framing = if kind.body.is_some() { Framing::Length(0) } else { Framing::None };
    let spec = RequestSpec { method: &kind.method, target: &kind.path, host, fields: &fields, framing };
    let mut bytes = Vec::new();
    request_head(&spec, &mut bytes)?;
    if kind.body.is_some() {
        // The renderer writes the framing last, as its own tests promise.
        bytes.truncate(bytes.len() - END_OF_HEAD.len() - "0".len());
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::workload::Expect;

    fn kind(body: Option<String>) -> RequestKind {
        let headers = vec![("Accept".to_owned(), "text/plain".to_owned())];
        let expect = Expect::default();
        RequestKind { weight: 1, method: "POST".into(), path: "/a?b".into(), headers, body, expect }
    }

    fn fixed(kind: &RequestKind) -> Fixed {
        match Rendered::new(kind, "h:1").unwrap() {
            Rendered::Fixed(fixed) => fixed,
            Rendered::Varying { .. } => panic!("it has no placeholder"),
        }
    }

    fn text(rendered: &Rendered, request: u64, is_last: bool) -> String {
        let draw = Draw { seed: 3, request };
        let mut bytes = Vec::new();
        rendered.write(draw, is_last, &mut TextPart::new(0, usize::MAX, &mut bytes));
        assert_eq!(bytes.len(), rendered.len(draw, is_last));
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_request_is_rendered_with_host_fields_length_and_body() {
        let rendered = fixed(&kind(Some("xyz".into())));
        let one = "POST /a?b HTTP/1.1\r\nHost: h:1\r\nAccept: text/plain\r\nContent-Length: 3\r\n\r\nxyz";
        assert_eq!(rendered.bytes(false), one.as_bytes());
        assert_eq!(rendered.several(3), (one.repeat(3).as_bytes(), 3));
        assert_eq!(rendered.several(99).1, TRAIN_REQUESTS);
        assert!(String::from_utf8_lossy(rendered.bytes(true)).contains("\r\nConnection: close\r\n"));
    }

    #[test]
    fn a_long_request_travels_alone() {
        let rendered = fixed(&kind(Some("x".repeat(TRAIN_BYTES))));
        assert_eq!(rendered.several(2), (rendered.bytes(false), 1));
    }

    #[test]
    fn a_request_with_placeholders_is_whole_every_time() {
        let path = "/items/${sequence:98}?q=${n=random:1..1000}".into();
        let headers = vec![("X-N".into(), "${n}".into())];
        let body = Some(r#"{"id":${sequence:98}}"#.into());
        let rendered = Rendered::new(&RequestKind { path, headers, ..kind(body) }, "h").unwrap();
        for (request, is_last) in [(0, false), (2, false), (3, true)] {
            let (id, text) = (98 + request, text(&rendered, request, is_last));
            let n = text.split("?q=").nth(1).unwrap().split(' ').next().unwrap();
            let close = if is_last { "Connection: close\r\n" } else { "" };
            let (body, length) = (format!(r#"{{"id":{id}}}"#), if id < 100 { 9 } else { 10 });
            assert_eq!(
                text,
                format!(
                    "POST /items/{id}?q={n} HTTP/1.1\r\nHost: h\r\nX-N: {n}\r\n{close}Content-Length: {length}\r\n\r\n{body}"
                )
            );
        }
    }

    #[test]
    fn an_escaped_placeholder_is_sent_as_it_is() {
        let rendered = fixed(&RequestKind { path: "/$${x}".into(), ..kind(None) });
        assert!(rendered.bytes(false).starts_with(b"POST /${x} HTTP/1.1\r\n"));
    }

    #[test]
    fn a_request_that_is_not_http_is_refused_with_its_place() {
        let bad = RequestKind { path: "/a b".into(), ..kind(None) };
        assert!(Rendered::new(&bad, "h").unwrap_err().to_string().starts_with("request POST /a b: "));
        let bad = RequestKind { path: "/${a}".into(), ..kind(None) };
        let text = Rendered::new(&bad, "h").unwrap_err().to_string();
        assert!(text.starts_with("request /${a}: path or headers: placeholder `${a}`"), "{text}");
    }
}
