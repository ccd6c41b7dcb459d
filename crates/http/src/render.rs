//! Writing heads: requests for the client, responses for the server, and whole responses prepared for copying.
//!
//! What would change the framing of a message or inject a line is refused, so a rendered head always scans back.

use std::ops::Range;

use crate::body::Framing;
use crate::chars;
use crate::date;
use crate::known::KnownField;
use crate::status;
use crate::target::is_host;

/// The interim response that asks for the body (RFC 9110 §15.2.1).
pub const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// A request to render. Host and framing fields are written from their own members, not from `fields`.
#[derive(Clone, Copy, Debug)]
pub struct RequestSpec<'a> {
    /// The method, a token.
    pub method: &'a str,
    /// The target, already percent-encoded.
    pub target: &'a str,
    /// The value of Host: `host` or `host:port`.
    pub host: &'a str,
    /// Further fields in order.
    pub fields: &'a [(&'a str, &'a str)],
    /// `None` for no body, `Length` (also 0, as POST wants) or `Chunked`.
    pub framing: Framing,
}

/// A response to render. Date and framing fields are written from their own members, not from `fields`.
#[derive(Clone, Copy, Debug)]
pub struct ResponseSpec<'a> {
    /// The status code, 100 to 999.
    pub status: u16,
    /// Further fields in order.
    pub fields: &'a [(&'a str, &'a str)],
    /// `None` for the statuses without a body and only for them; `UntilClose` adds `Connection: close`.
    pub framing: Framing,
    /// The value of Date; it comes first, right behind the status line.
    pub date: Option<[u8; date::LEN]>,
}

/// Why a head cannot be rendered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// Not a token, or CONNECT, whose requests have another form.
    #[error("method {0:?} is not a token that names an ordinary method")]
    BadMethod(String),
    /// Empty, or with a byte that a request target cannot have.
    #[error("request target {0:?} is empty or has a character that must be percent-encoded")]
    BadTarget(String),
    /// Not `host` or `host:port`.
    #[error("{0:?} is not `host` or `host:port`")]
    BadHost(String),
    /// A status code out of range.
    #[error("status code {0} is not between 100 and 999")]
    BadStatus(u16),
    /// A field name that is not a token.
    #[error("field name {0:?} is not a token")]
    BadFieldName(String),
    /// A field value with a control character, CR and LF among them.
    #[error("value of field {0:?} has a control character")]
    BadFieldValue(String),
    /// A field that is written from its own member of the specification.
    #[error("assay writes the field {field} itself; {remedy}", field = .0, remedy = remedy_for_reserved(.0))]
    ReservedField(String),
    /// The framing does not fit the kind of message or its status.
    #[error("{0:?} is no framing for this message")]
    BadFraming(Framing),
}

/// What to do in the place of a field that is written from its own member.
fn remedy_for_reserved(field: &str) -> &'static str {
    match KnownField::recognise(field.as_bytes()) {
        Some(KnownField::Host) => {
            "for a virtual host, write its name in the URL, and lead it to the server with a line in /etc/hosts"
        }
        _ => "leave it out",
    }
}

/// Appends the head of a request to `out`.
///
/// # Errors
/// See [`RenderError`]; `out` is then as it was.
pub fn request_head(spec: &RequestSpec<'_>, out: &mut Vec<u8>) -> Result<(), RenderError> {
    check_method(spec.method)?;
    if spec.target.is_empty() || !spec.target.bytes().all(chars::is_target) {
        return Err(RenderError::BadTarget(spec.target.into()));
    }
    if !is_host(spec.host.as_bytes()) {
        return Err(RenderError::BadHost(spec.host.into()));
    }
    if spec.framing == Framing::UntilClose {
        return Err(RenderError::BadFraming(spec.framing));
    }
    check_fields(spec.fields, KnownField::Host)?;
    for part in [spec.method, " ", spec.target, " HTTP/1.1\r\nHost: ", spec.host, "\r\n"] {
        out.extend_from_slice(part.as_bytes());
    }
    finish(spec.fields, spec.framing, out);
    Ok(())
}

/// Whether a request with this method and these fields can be rendered, whatever its target, host and body.
///
/// # Errors
/// As for [`request_head`].
pub fn check_request(method: &str, fields: &[(&str, &str)]) -> Result<(), RenderError> {
    check_method(method)?;
    check_fields(fields, KnownField::Host)
}

fn check_method(method: &str) -> Result<(), RenderError> {
    match chars::is_token_text(method.as_bytes()) && method != "CONNECT" {
        true => Ok(()),
        false => Err(RenderError::BadMethod(method.into())),
    }
}

/// Appends the head of a response to `out`. The version is always HTTP/1.1 (RFC 9110 §2.5).
///
/// # Errors
/// See [`RenderError`]; `out` is then as it was.
pub fn response_head(spec: &ResponseSpec<'_>, out: &mut Vec<u8>) -> Result<(), RenderError> {
    if !(100..=999).contains(&spec.status) {
        return Err(RenderError::BadStatus(spec.status));
    }
    if (spec.framing == Framing::None) != status::is_bodiless(spec.status) {
        return Err(RenderError::BadFraming(spec.framing));
    }
    check_fields(spec.fields, KnownField::Date)?;
    out.extend_from_slice(b"HTTP/1.1 ");
    push_decimal(u64::from(spec.status), out);
    out.push(b' ');
    out.extend_from_slice(status::reason(spec.status).as_bytes());
    out.extend_from_slice(b"\r\n");
    if let Some(date) = &spec.date {
        push_field(b"Date", date, out);
    }
    finish(spec.fields, spec.framing, out);
    Ok(())
}

/// Refuses fields that would inject lines, and those written by the renderer: `reserved` and the framing fields.
fn check_fields(fields: &[(&str, &str)], reserved: KnownField) -> Result<(), RenderError> {
    for &(name, value) in fields {
        if !chars::is_token_text(name.as_bytes()) {
            return Err(RenderError::BadFieldName(name.into()));
        }
        if !value.bytes().all(chars::is_field_text) {
            return Err(RenderError::BadFieldValue(name.into()));
        }
        match KnownField::recognise(name.as_bytes()) {
            Some(KnownField::ContentLength | KnownField::TransferEncoding) => {}
            Some(field) if field == reserved => {}
            _ => continue,
        }
        return Err(RenderError::ReservedField(name.into()));
    }
    Ok(())
}

/// Appends checked fields, the framing and the empty line.
fn finish(fields: &[(&str, &str)], framing: Framing, out: &mut Vec<u8>) {
    for (name, value) in fields {
        push_field(name.as_bytes(), value.as_bytes(), out);
    }
    match framing {
        Framing::None => {}
        Framing::Length(length) => {
            out.extend_from_slice(b"Content-Length: ");
            push_decimal(length, out);
            out.extend_from_slice(b"\r\n");
        }
        Framing::Chunked => push_field(b"Transfer-Encoding", b"chunked", out),
        Framing::UntilClose => push_field(b"Connection", b"close", out),
    }
    out.extend_from_slice(b"\r\n");
}

fn push_field(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    for part in [name, b": ", value, b"\r\n"] {
        out.extend_from_slice(part);
    }
}

fn push_decimal(mut number: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// A response rendered once, head and body: a server copies it and needs to patch no more than the date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedResponse {
    bytes: Vec<u8>,
    head_len: usize,
    date_at: usize,
}

impl PreparedResponse {
    /// Renders a response with Date (1970 until [`Self::set_date`]) and, unless the status has no body, Content-Length.
    ///
    /// # Errors
    /// See [`RenderError`]; a body for a status without one is [`RenderError::BadFraming`].
    pub fn new(status: u16, fields: &[(&str, &str)], body: &[u8]) -> Result<Self, RenderError> {
        let bodiless = status::is_bodiless(status) && body.is_empty();
        let framing = if bodiless { Framing::None } else { Framing::Length(body.len() as u64) };
        let mut response = Self::announcing(status, fields, framing)?;
        response.bytes.extend_from_slice(body);
        Ok(response)
    }

    /// Renders a head alone, as [`Self::new`] does, whose body is sent otherwise.
    ///
    /// # Errors
    /// See [`RenderError`].
    pub fn announcing(status: u16, fields: &[(&str, &str)], framing: Framing) -> Result<Self, RenderError> {
        let mut bytes = Vec::new();
        response_head(&ResponseSpec { status, fields, framing, date: Some(date::format(0)) }, &mut bytes)?;
        let date_at = "HTTP/1.1 200 ".len() + status::reason(status).len() + "\r\nDate: ".len();
        Ok(Self { head_len: bytes.len(), bytes, date_at })
    }

    /// Sets the date that is copied from now on; once a second is enough.
    pub fn set_date(&mut self, date: &[u8; date::LEN]) {
        let range = self.date_range();
        self.bytes[range].copy_from_slice(date);
    }

    /// Where the value of Date lies in [`Self::bytes`].
    fn date_range(&self) -> Range<usize> {
        self.date_at..self.date_at + date::LEN
    }

    /// Head and body.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The head alone: the answer to HEAD.
    pub fn head(&self) -> &[u8] {
        &self.bytes[..self.head_len]
    }

    /// The body alone.
    pub fn body(&self) -> &[u8] {
        &self.bytes[self.head_len..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::{Limits, Scan};
    use crate::{scan_request, scan_response};

    const GET: RequestSpec<'_> =
        RequestSpec { method: "GET", target: "/a?b", host: "h:80", fields: &[], framing: Framing::None };

    fn request(spec: &RequestSpec<'_>) -> Result<String, RenderError> {
        let mut out = Vec::new();
        let result = request_head(spec, &mut out).map(|()| String::from_utf8(out.clone()).unwrap());
        assert!(result.is_ok() || out.is_empty());
        result
    }

    fn response(status: u16, fields: &[(&str, &str)], framing: Framing) -> Result<String, RenderError> {
        let mut out = Vec::new();
        let result = response_head(&ResponseSpec { status, fields, framing, date: None }, &mut out);
        assert!(result.is_ok() || out.is_empty());
        result.map(|()| String::from_utf8(out).unwrap())
    }

    #[test]
    fn a_request_is_written_in_order_and_scans_back() {
        assert_eq!(request(&GET).unwrap(), "GET /a?b HTTP/1.1\r\nHost: h:80\r\n\r\n");
        let post =
            RequestSpec { method: "POST", fields: &[("Accept", "*/*")], framing: Framing::Length(12), ..GET };
        let text = request(&post).unwrap();
        assert_eq!(text, "POST /a?b HTTP/1.1\r\nHost: h:80\r\nAccept: */*\r\nContent-Length: 12\r\n\r\n");
        match scan_request(text.as_bytes(), &Limits::DEFAULT) {
            Scan::Complete(head) => assert_eq!(head.framing(), Framing::Length(12)),
            other => panic!("{other:?}"),
        }
        let chunked = request(&RequestSpec { framing: Framing::Chunked, ..post }).unwrap();
        assert!(chunked.ends_with("Transfer-Encoding: chunked\r\n\r\n"));
    }

    #[test]
    fn what_would_inject_a_line_or_change_the_framing_is_refused() {
        for evil in ["a\r\nb", "a\nb", "a\rb", "a\0b"] {
            assert!(matches!(request(&RequestSpec { method: evil, ..GET }), Err(RenderError::BadMethod(_))));
            assert!(matches!(request(&RequestSpec { target: evil, ..GET }), Err(RenderError::BadTarget(_))));
            assert!(matches!(request(&RequestSpec { host: evil, ..GET }), Err(RenderError::BadHost(_))));
            for (fields, right) in [
                ([(evil, "v")], RenderError::BadFieldName(evil.into())),
                ([("N", evil)], RenderError::BadFieldValue("N".into())),
            ] {
                assert_eq!(request(&RequestSpec { fields: &fields, ..GET }), Err(right.clone()));
                assert_eq!(response(200, &fields, Framing::Length(0)), Err(right));
            }
        }
        for name in ["content-length", "Transfer-Encoding", "HOST"] {
            let fields = [(name, "1")];
            assert_eq!(
                request(&RequestSpec { fields: &fields, ..GET }),
                Err(RenderError::ReservedField(name.into()))
            );
        }
        let told = |name: &str| RenderError::ReservedField(name.into()).to_string();
        assert!(told("host").contains("write its name in the URL"), "{}", told("host"));
        assert_eq!(told("Content-Length"), "assay writes the field Content-Length itself; leave it out");
        for (method, target) in
            [("", "/"), ("G T", "/"), ("CONNECT", "h:1"), ("GET", ""), ("GET", "/ "), ("GET", "/#")]
        {
            assert!(request(&RequestSpec { method, target, ..GET }).is_err(), "{method} {target}");
        }
        assert_eq!(check_request("GET", &[("Accept", "*/*")]), Ok(()));
        assert_eq!(check_request("CONNECT", &[]), Err(RenderError::BadMethod("CONNECT".into())));
        assert_eq!(check_request("GET", &[("Host", "a")]), Err(RenderError::ReservedField("Host".into())));
        let until_close = request(&RequestSpec { framing: Framing::UntilClose, ..GET });
        assert_eq!(until_close, Err(RenderError::BadFraming(Framing::UntilClose)));
    }

    #[test]
    fn a_response_has_the_framing_its_status_allows() {
        let text =
            response(200, &[("Server", "assay")], Framing::Length(18_446_744_073_709_551_615)).unwrap();
        assert_eq!(text, "HTTP/1.1 200 OK\r\nServer: assay\r\nContent-Length: 18446744073709551615\r\n\r\n");
        assert_eq!(
            response(299, &[], Framing::Length(0)).unwrap(),
            "HTTP/1.1 299 \r\nContent-Length: 0\r\n\r\n"
        );
        assert_eq!(response(304, &[], Framing::None).unwrap(), "HTTP/1.1 304 Not Modified\r\n\r\n");
        let close = response(200, &[], Framing::UntilClose).unwrap();
        assert_eq!(close, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
        for (status, framing) in [(200, Framing::None), (204, Framing::Length(0)), (304, Framing::Chunked)] {
            assert_eq!(response(status, &[], framing), Err(RenderError::BadFraming(framing)));
        }
        assert_eq!(response(99, &[], Framing::Length(0)), Err(RenderError::BadStatus(99)));
        assert_eq!(response(1000, &[], Framing::Length(0)), Err(RenderError::BadStatus(1000)));
        assert!(matches!(
            response(200, &[("Date", "x")], Framing::Chunked),
            Err(RenderError::ReservedField(_))
        ));
    }

    #[test]
    fn a_prepared_response_scans_back_with_the_date_that_was_set() {
        for (status, body) in [(200, &b"hello"[..]), (404, b""), (299, b"x"), (204, b"")] {
            let mut prepared = PreparedResponse::new(status, &[("Server", "assay")], body).unwrap();
            let date = date::format(784_111_777);
            prepared.set_date(&date);
            assert_eq!(prepared.bytes()[prepared.date_range()], date);
            let Scan::Complete(head) = scan_response(prepared.bytes(), &Limits::DEFAULT) else {
                panic!("{status}")
            };
            assert_eq!(head.date.map(|span| span.of(prepared.bytes())), Some(&date[..]));
            assert_eq!((head.status, head.len as usize), (status, prepared.head().len()));
            let length = if status == 204 { Framing::None } else { Framing::Length(body.len() as u64) };
            assert_eq!(head.framing(false), length);
            assert_eq!(prepared.body(), body);
        }
        assert!(PreparedResponse::new(204, &[], b"x").is_err());
    }
}
