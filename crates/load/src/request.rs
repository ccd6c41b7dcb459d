//! Requests as bytes, rendered once per kind.

use assay_http::Framing;
use assay_http::render::{RequestSpec, request_head};
use assay_model::workload::RequestKind;

use crate::LoadError;

/// Requests of one kind kept side by side, so that a pipelined run of them is one contiguous send.
pub(crate) const TRAIN_REQUESTS: usize = 16;

/// No train is longer than this unless a single request is.
const TRAIN_BYTES: usize = 16 * 1024;

/// One kind of request, ready to send.
#[derive(Clone, Debug)]
pub(crate) struct Rendered {
    /// The request, over and over.
    train: Vec<u8>,
    /// The same request saying `Connection: close`.
    last: Vec<u8>,
    len: usize,
}

impl Rendered {
    /// Renders a kind for the given value of Host.
    pub(crate) fn new(kind: &RequestKind, host: &str) -> Result<Self, LoadError> {
        let one = render(kind, host, false)?;
        let last = render(kind, host, true)?;
        let cars = (TRAIN_BYTES / one.len()).clamp(1, TRAIN_REQUESTS);
        Ok(Self { len: one.len(), train: one.repeat(cars), last })
    }

    /// Bytes of one request.
    #[inline]
    pub(crate) fn one(&self) -> &[u8] {
        &self.train[..self.len]
    }

    /// Bytes of `n` requests in a row, or of as many as are kept, with their number.
    #[inline]
    pub(crate) fn several(&self, n: usize) -> (&[u8], usize) {
        let n = n.min(self.train.len() / self.len);
        (&self.train[..n * self.len], n)
    }

    /// Bytes of a request that asks the server to close.
    pub(crate) fn last(&self) -> &[u8] {
        &self.last
    }
}

fn render(kind: &RequestKind, host: &str, close: bool) -> Result<Vec<u8>, LoadError> {
    let mut fields: Vec<(&str, &str)> = kind.headers.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    if close {
        fields.push(("Connection", "close"));
    }
    let framing = kind.body.as_ref().map_or(Framing::None, |body| Framing::Length(body.len() as u64));
    let spec = RequestSpec { method: &kind.method, target: &kind.path, host, fields: &fields, framing };
    let mut bytes = Vec::new();
    request_head(&spec, &mut bytes).map_err(|source| LoadError::Request {
        method: kind.method.clone(),
        path: kind.path.clone(),
        source,
    })?;
    bytes.extend_from_slice(kind.body.as_deref().unwrap_or_default().as_bytes());
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::workload::Expect;

    fn kind(body: Option<String>) -> RequestKind {
        let expect = Expect { status: None, body: None, json: None, content_type: None };
        let headers = vec![("Accept".to_owned(), "text/plain".to_owned())];
        RequestKind { weight: 1, method: "POST".into(), path: "/a?b".into(), headers, body, expect }
    }

    #[test]
    fn a_request_is_rendered_with_host_fields_length_and_body() {
        let rendered = Rendered::new(&kind(Some("xyz".into())), "h:1").unwrap();
        let one = "POST /a?b HTTP/1.1\r\nHost: h:1\r\nAccept: text/plain\r\nContent-Length: 3\r\n\r\nxyz";
        assert_eq!(rendered.one(), one.as_bytes());
        assert_eq!(rendered.several(3), (one.repeat(3).as_bytes(), 3));
        assert_eq!(rendered.several(99).1, TRAIN_REQUESTS);
        assert!(String::from_utf8_lossy(rendered.last()).contains("\r\nConnection: close\r\n"));
    }

    #[test]
    fn a_long_request_travels_alone() {
        let rendered = Rendered::new(&kind(Some("x".repeat(TRAIN_BYTES))), "h").unwrap();
        assert_eq!(rendered.several(2), (rendered.one(), 1));
    }

    #[test]
    fn a_request_that_is_not_http_is_refused_with_its_place() {
        let bad = RequestKind { path: "/a b".into(), ..kind(None) };
        assert!(Rendered::new(&bad, "h").unwrap_err().to_string().starts_with("request POST /a b: "));
    }
}
