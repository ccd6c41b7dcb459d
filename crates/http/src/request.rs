//! The head of a request, as a strict origin server reads it (RFC 9112 §3, §5, §6).

use crate::body::Framing;
use crate::chars;
use crate::error::ParseErrorKind;
use crate::field::{Field, Fields, scan_section};
use crate::known::{KnownField, KnownFields};
use crate::message::{Message, Transfer};
use crate::scan::{Limits, Scan, Span, Stop, Version, byte, line_end, version, within_limit};
use crate::target;

/// The method of a request, as far as this crate knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// GET
    Get,
    /// HEAD
    Head,
    /// POST
    Post,
    /// PUT
    Put,
    /// PATCH (RFC 5789)
    Patch,
    /// DELETE
    Delete,
    /// OPTIONS
    Options,
    /// TRACE
    Trace,
    /// Any other token: see [`RequestHead::method_name`].
    Other,
}

/// The form of a request target (RFC 9112 §3.2). The authority form belongs to CONNECT, which is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TargetForm {
    /// `/path?query`
    Origin,
    /// `http://host/path?query`
    Absolute,
    /// `*`, with OPTIONS only.
    Asterisk,
}

/// The head of a request. Ranges count from the first byte that was scanned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestHead {
    /// Bytes consumed: empty lines before the request line, the head, and the empty line behind it.
    pub len: u32,
    /// The method; case matters.
    pub method: Method,
    /// The method as it was spelled.
    pub method_name: Span,
    /// The target as it was spelled; [`target::split`](crate::target::split) takes it apart.
    pub target: Span,
    /// The form of the target.
    pub target_form: TargetForm,
    /// The protocol version of the request line.
    pub version: Version,
    /// The value of Host. For a target in absolute form the target's authority rules (RFC 9112 §3.2.2).
    pub host: Option<Span>,
    /// Framing and connection fields.
    pub message: Message,
    /// `Expect: 100-continue` was said in HTTP/1.1: send `100 Continue` before reading the body (RFC 9110 §10.1.1).
    pub expects_continue: bool,
    /// The known fields that there are.
    pub present: KnownFields,
    section: Span,
}

/// Scans the head of a request at the start of `bytes`. An error carries the status code to answer with.
///
/// A body may not have two lengths, its only coding is chunked, and exactly one valid Host is required in HTTP/1.1.
#[inline]
pub fn scan_request(bytes: &[u8], limits: &Limits) -> Scan<RequestHead> {
    within_limit(bytes, limits, |bytes| scan(bytes, limits))
}

fn scan(bytes: &[u8], limits: &Limits) -> Result<RequestHead, Stop> {
    let (mut head, start) = scan_request_line(bytes, skip_empty_lines(bytes, limits)?, limits)?;
    let (end, len) = scan_section(bytes, start, |name, value| {
        KnownField::recognise(name.of(bytes)).map_or(Ok(()), |field| head.note(field, value, bytes))
    })?;
    head.settle().map_err(|kind| kind.at(end))?;
    head.section = Span::new(start, end);
    head.len = len as u32;
    Ok(head)
}

/// Passes over the empty lines that RFC 9112 §2.2 lets a server ignore, so many as the limit says.
#[inline]
fn skip_empty_lines(bytes: &[u8], limits: &Limits) -> Result<usize, Stop> {
    let mut at = 0;
    for _ in 0..limits.leading_empty_lines {
        if byte(bytes, at)? != b'\r' {
            return Ok(at);
        }
        at = line_end(bytes, at)?;
    }
    match byte(bytes, at)? {
        b'\r' => Err(ParseErrorKind::TooManyEmptyLines.at(at).into()),
        _ => Ok(at),
    }
}

#[inline]
fn scan_request_line(bytes: &[u8], at: usize, limits: &Limits) -> Result<(RequestHead, usize), Stop> {
    let (method, method_end) = scan_method(bytes, at)?;
    let target_at = method_end + 1;
    let target_end = scan_target(bytes, target_at, limits)?;
    let target_form =
        classify(method, &bytes[target_at..target_end]).ok_or(ParseErrorKind::BadTarget.at(target_at))?;
    let version = version(bytes, target_end + 1)?;
    let version_end = target_end + 9;
    if !matches!(byte(bytes, version_end)?, b'\r' | b'\n') {
        return Err(ParseErrorKind::BadRequestLine.at(version_end).into());
    }
    let start = line_end(bytes, version_end)?;
    let head = RequestHead {
        len: 0,
        method,
        method_name: Span::new(at, method_end),
        target: Span::new(target_at, target_end),
        target_form,
        version,
        host: None,
        message: Message::default(),
        expects_continue: false,
        present: KnownFields::default(),
        section: Span::default(),
    };
    Ok((head, start))
}

/// Passes over the method; returns the offset of the space behind it.
#[inline]
fn scan_method(bytes: &[u8], at: usize) -> Result<(Method, usize), Stop> {
    let rest = bytes.get(at..).unwrap_or_default();
    if rest.starts_with(b"GET ") {
        return Ok((Method::Get, at + 3));
    }
    let len = rest.iter().position(|&b| !chars::is_token(b)).ok_or(Stop::Partial)?;
    if len == 0 || rest[len] != b' ' {
        return Err(ParseErrorKind::BadRequestLine.at(at + len).into());
    }
    let method = match &rest[..len] {
        b"GET" => Method::Get,
        b"HEAD" => Method::Head,
        b"POST" => Method::Post,
        b"PUT" => Method::Put,
        b"PATCH" => Method::Patch,
        b"DELETE" => Method::Delete,
        b"OPTIONS" => Method::Options,
        b"TRACE" => Method::Trace,
        b"CONNECT" => return Err(ParseErrorKind::ConnectRefused.at(at).into()),
        _ => Method::Other,
    };
    Ok((method, at + len))
}

/// Passes over the target; returns the offset of the space behind it. Looks no further than the limit, so that an
/// over-long target is the same error however much of it has arrived.
#[inline]
fn scan_target(bytes: &[u8], at: usize, limits: &Limits) -> Result<usize, Stop> {
    let rest = bytes.get(at..).unwrap_or_default();
    let window = rest.get(..limits.target_bytes as usize + 1).unwrap_or(rest);
    match window.iter().position(|&b| !chars::is_target(b)) {
        Some(0) => Err(ParseErrorKind::BadTarget.at(at).into()),
        Some(len) if window[len] == b' ' => Ok(at + len),
        // `GET /` CRLF is HTTP/0.9, which has no version.
        Some(len) if matches!(window[len], b'\r' | b'\n') => {
            Err(ParseErrorKind::BadRequestLine.at(at + len).into())
        }
        Some(len) => Err(ParseErrorKind::BadTarget.at(at + len).into()),
        None if window.len() > limits.target_bytes as usize => {
            Err(ParseErrorKind::TargetTooLong.at(at + window.len() - 1).into())
        }
        None => Err(Stop::Partial),
    }
}

/// The form of a target that fits the method, if any.
#[inline]
fn classify(method: Method, target: &[u8]) -> Option<TargetForm> {
    match target {
        [b'/', ..] => Some(TargetForm::Origin),
        b"*" => (method == Method::Options).then_some(TargetForm::Asterisk),
        _ => target::split(target)
            .authority
            .is_some_and(|authority| !authority.is_empty() && target::is_host(authority))
            .then_some(TargetForm::Absolute),
    }
}

impl RequestHead {
    #[inline]
    fn note(&mut self, field: KnownField, value: Span, bytes: &[u8]) -> Result<(), ParseErrorKind> {
        self.present.add(field);
        let text = value.of(bytes);
        match field {
            KnownField::Host if self.host.is_some() => return Err(ParseErrorKind::DuplicateHost),
            KnownField::Host if !target::is_host(text) => return Err(ParseErrorKind::BadHost),
            KnownField::Host => self.host = Some(value),
            KnownField::Expect if self.version == Version::Http11 => self.note_expectations(text)?,
            _ => self.message.note(field, text)?,
        }
        if matches!(self.message.transfer, Transfer::Other | Transfer::OtherThenChunked) {
            return Err(ParseErrorKind::UnknownTransferCoding);
        }
        Ok(())
    }

    /// There is one expectation that has a meaning (RFC 9110 §10.1.1).
    #[cold]
    fn note_expectations(&mut self, text: &[u8]) -> Result<(), ParseErrorKind> {
        for element in chars::list(text).filter(|element| !element.is_empty()) {
            if !element.eq_ignore_ascii_case(b"100-continue") {
                return Err(ParseErrorKind::UnknownExpectation);
            }
            self.expects_continue = true;
        }
        Ok(())
    }

    #[inline]
    fn settle(&self) -> Result<(), ParseErrorKind> {
        self.message.settle(self.version)?;
        if self.version == Version::Http11 && self.host.is_none() {
            return Err(ParseErrorKind::MissingHost);
        }
        Ok(())
    }

    /// How the body ends; a request without a length has none (RFC 9112 §6.3).
    #[inline]
    pub fn framing(&self) -> Framing {
        match (self.message.transfer, self.message.content_length) {
            (Transfer::Absent, None) => Framing::None,
            (Transfer::Absent, Some(length)) => Framing::Length(length),
            _ => Framing::Chunked,
        }
    }

    /// Whether the client wants the connection to stay open behind the answer.
    #[inline]
    pub fn keeps_alive(&self) -> bool {
        self.message.keeps_alive(self.version)
    }

    /// All field lines in order. `bytes` is the slice that was scanned.
    pub fn fields<'b>(&self, bytes: &'b [u8]) -> Fields<'b> {
        Fields::new(bytes, self.section)
    }

    /// The value of the first field of this name, in any case. `bytes` is the slice that was scanned.
    pub fn field<'b>(&self, bytes: &'b [u8], name: &str) -> Option<&'b [u8]> {
        self.fields(bytes).find(name)
    }

    /// The value of the first such field. Costs one bit test when there is none.
    #[inline]
    pub fn known<'b>(&self, bytes: &'b [u8], field: KnownField) -> Option<&'b [u8]> {
        self.present.has(field).then(|| self.field(bytes, field.name())).flatten()
    }

    /// The values of all such fields in order: the parts of one list, if it is one (RFC 9110 §5.3). Costs one bit test
    /// when there is none.
    #[inline]
    pub fn all_known<'b>(
        &self,
        bytes: &'b [u8],
        field: KnownField,
    ) -> impl Iterator<Item = &'b [u8]> + use<'b> {
        let fields = self.present.has(field).then(|| self.fields(bytes));
        let named = move |line: &Field<'_>| line.name.eq_ignore_ascii_case(field.name().as_bytes());
        fields.into_iter().flatten().filter(named).map(|line| line.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ParseErrorKind as Kind;

    fn scanned(text: &str) -> Result<RequestHead, Kind> {
        match scan_request(text.as_bytes(), &Limits::DEFAULT) {
            Scan::Complete(head) => Ok(head),
            Scan::Invalid(error) => Err(error.kind),
            Scan::Partial => panic!("partial: {text:?}"),
        }
    }

    /// Scans a request line followed by a valid Host.
    fn line(text: &str) -> Result<RequestHead, Kind> {
        scanned(&format!("{text}\r\nHost: h\r\n\r\n"))
    }

    /// Scans field lines behind a valid request line and Host.
    fn with_fields(fields: &str) -> Result<RequestHead, Kind> {
        scanned(&format!("POST / HTTP/1.1\r\nHost: h\r\n{fields}\r\n"))
    }

    #[test]
    fn a_whole_head_is_told_apart() {
        let text = "PUT /a?b HTTP/1.1\r\nHost: h:1\r\nRange: bytes=0-\r\nIf-None-Match: \"x\"\r\n\
            Content-Length: 3\r\nExpect: 100-continue\r\n\r\nabc";
        let (head, bytes) = (scanned(text).unwrap(), text.as_bytes());
        assert_eq!(
            (head.method, head.target_form, head.version),
            (Method::Put, TargetForm::Origin, Version::Http11)
        );
        assert_eq!((head.method_name.of(bytes), head.target.of(bytes)), (&b"PUT"[..], &b"/a?b"[..]));
        assert_eq!(head.host.map(|host| host.of(bytes)), Some(&b"h:1"[..]));
        assert_eq!((head.len as usize, head.framing()), (text.len() - 3, Framing::Length(3)));
        assert!(head.expects_continue && head.keeps_alive());
        assert_eq!(head.known(bytes, KnownField::Range), Some(&b"bytes=0-"[..]));
        assert_eq!(head.known(bytes, KnownField::IfNoneMatch), Some(&b"\"x\""[..]));
        assert_eq!(head.known(bytes, KnownField::IfRange), None);
        assert_eq!(head.field(bytes, "expect"), Some(&b"100-continue"[..]));
        assert_eq!(head.fields(bytes).count(), 5);
    }

    #[test]
    fn a_list_in_several_lines_is_found_whole() {
        let text = "GET / HTTP/1.1\r\nHost: h\r\nIf-Match: a\r\nX: y\r\nif-match: b\r\n\r\n";
        let (head, bytes) = (scanned(text).unwrap(), text.as_bytes());
        assert!(head.all_known(bytes, KnownField::IfMatch).eq([b"a", b"b"]));
        assert_eq!(head.all_known(bytes, KnownField::IfNoneMatch).count(), 0);
    }

    #[test]
    fn methods_and_target_forms_are_told_apart() {
        for (text, method, form) in [
            ("GET / HTTP/1.1", Method::Get, TargetForm::Origin),
            ("HEAD /%41|[] HTTP/1.1", Method::Head, TargetForm::Origin),
            ("POST //x HTTP/1.1", Method::Post, TargetForm::Origin),
            ("PATCH /?? HTTP/1.1", Method::Patch, TargetForm::Origin),
            ("DELETE /a:b@c HTTP/1.1", Method::Delete, TargetForm::Origin),
            ("TRACE / HTTP/1.1", Method::Trace, TargetForm::Origin),
            ("OPTIONS * HTTP/1.1", Method::Options, TargetForm::Asterisk),
            ("OPTIONS /* HTTP/1.1", Method::Options, TargetForm::Origin),
            ("GETS / HTTP/1.1", Method::Other, TargetForm::Origin),
            ("get / HTTP/1.1", Method::Other, TargetForm::Origin),
            ("GET http://a.b:80/c HTTP/1.1", Method::Get, TargetForm::Absolute),
            ("GET HTTPS://a HTTP/1.1", Method::Get, TargetForm::Absolute),
        ] {
            let head = line(text).unwrap();
            assert_eq!((head.method, head.target_form), (method, form), "{text}");
        }
    }

    #[test]
    fn the_request_line_is_strict() {
        for (text, kind) in [
            (" GET / HTTP/1.1", Kind::BadRequestLine),
            ("G\u{e9}T / HTTP/1.1", Kind::BadRequestLine),
            ("GET\t/ HTTP/1.1", Kind::BadRequestLine),
            ("GET", Kind::BadRequestLine),
            ("GET  / HTTP/1.1", Kind::BadTarget),
            ("GET /a b HTTP/1.1", Kind::BadVersion),
            ("GET /  HTTP/1.1", Kind::BadVersion),
            ("GET / HTTP/1.1 ", Kind::BadRequestLine),
            ("GET / HTTP/1.12", Kind::BadRequestLine),
            ("GET /", Kind::BadRequestLine),
            ("GET / ", Kind::BadVersion),
            ("GET / http/1.1", Kind::BadVersion),
            ("GET / HTTP/1", Kind::BadVersion),
            ("GET / HTTP/2.0", Kind::UnsupportedVersion),
            ("GET / HTTP/1.2", Kind::UnsupportedVersion),
            ("GET * HTTP/1.1", Kind::BadTarget),
            ("GET a HTTP/1.1", Kind::BadTarget),
            ("GET ?a HTTP/1.1", Kind::BadTarget),
            ("GET /a#b HTTP/1.1", Kind::BadTarget),
            ("GET /\u{e9} HTTP/1.1", Kind::BadTarget),
            ("GET /\0 HTTP/1.1", Kind::BadTarget),
            ("GET /\"<>\\ HTTP/1.1", Kind::BadTarget),
            ("GET ftp://h/ HTTP/1.1", Kind::BadTarget),
            ("GET http:///a HTTP/1.1", Kind::BadTarget),
            ("GET http://u@h/ HTTP/1.1", Kind::BadTarget),
            ("CONNECT h:1 HTTP/1.1", Kind::ConnectRefused),
        ] {
            assert_eq!(line(text).err(), Some(kind), "{text:?}");
        }
        assert_eq!(scanned("GET / HTTP/1.1\nHost: h\r\n\r\n").err(), Some(Kind::BareLf));
        assert_eq!(scanned("GET / HTTP/1.1\rHost: h\r\n\r\n").err(), Some(Kind::BareCr));
    }

    #[test]
    fn exactly_one_valid_host_is_needed_but_in_http_1_0() {
        for (text, kind) in [
            ("GET / HTTP/1.1\r\n\r\n", Kind::MissingHost),
            ("GET http://h/ HTTP/1.1\r\n\r\n", Kind::MissingHost),
            ("GET / HTTP/1.1\r\nHost: h\r\nhost: h\r\n\r\n", Kind::DuplicateHost),
            ("GET / HTTP/1.0\r\nHost: h\r\nhost: h\r\n\r\n", Kind::DuplicateHost),
            ("GET / HTTP/1.1\r\nHost: h, h/\r\n\r\n", Kind::BadHost),
            ("GET / HTTP/1.1\r\nHost: u@h\r\n\r\n", Kind::BadHost),
        ] {
            assert_eq!(scanned(text).err(), Some(kind), "{text:?}");
        }
        assert!(scanned("GET / HTTP/1.0\r\n\r\n").is_ok_and(|head| !head.keeps_alive()));
        assert!(scanned("GET / HTTP/1.1\r\nHost:\r\n\r\n").is_ok());
    }

    #[test]
    fn what_smuggles_requests_is_refused() {
        for (fields, kind) in [
            ("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n", Kind::ConflictingLengths),
            ("Transfer-Encoding: chunked\r\nContent-Length: 1\r\n", Kind::ConflictingLengths),
            ("Content-Length: 1\r\nContent-Length: 2\r\n", Kind::BadContentLength),
            ("Content-Length: 1, 2\r\n", Kind::BadContentLength),
            ("Content-Length: +1\r\n", Kind::BadContentLength),
            ("Content-Length : 1\r\n", Kind::BadFieldName),
            ("Transfer-Encoding : chunked\r\n", Kind::BadFieldName),
            ("Transfer-Encoding: chunked\r\n x\r\n", Kind::ObsoleteFold),
            ("Transfer-Encoding:\u{b}chunked\r\n", Kind::ControlCharacter),
            ("Transfer-Encoding: chunked, chunked\r\n", Kind::BadTransferEncoding),
            ("Transfer-Encoding: chunked, identity\r\n", Kind::BadTransferEncoding),
            ("Transfer-Encoding: identity\r\n", Kind::UnknownTransferCoding),
            ("Transfer-Encoding: xchunked\r\n", Kind::UnknownTransferCoding),
            ("Transfer-Encoding: gzip, chunked\r\n", Kind::UnknownTransferCoding),
            ("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", Kind::UnknownTransferCoding),
        ] {
            assert_eq!(with_fields(fields).err(), Some(kind), "{fields:?}");
        }
        let http10 = scanned("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n");
        assert_eq!(http10.err(), Some(Kind::TransferEncodingInHttp10));
        assert_eq!(
            with_fields("Transfer-Encoding: Chunked\r\n").map(|head| head.framing()),
            Ok(Framing::Chunked)
        );
        assert_eq!(with_fields("").map(|head| head.framing()), Ok(Framing::None));
    }

    #[test]
    fn expect_counts_in_http_1_1_only() {
        assert!(with_fields("Expect: 100-Continue\r\n").is_ok_and(|head| head.expects_continue));
        assert!(with_fields("Expect: ,\r\n").is_ok_and(|head| !head.expects_continue));
        for unknown in ["x", "100-continue, x", "100-continue; a=b"] {
            let refused = with_fields(&format!("Expect: {unknown}\r\n"));
            assert_eq!(
                refused.err().map(|kind| (kind, kind.status())),
                Some((Kind::UnknownExpectation, 417))
            );
        }
        assert!(scanned("GET / HTTP/1.0\r\nExpect: x\r\n\r\n").is_ok());
        let http10 = scanned("POST / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n");
        assert!(http10.is_ok_and(|head| !head.expects_continue));
    }

    #[test]
    fn a_few_empty_lines_before_the_request_are_skipped() {
        let text = |lines| format!("{}GET / HTTP/1.0\r\n\r\n", "\r\n".repeat(lines));
        let head = scanned(&text(4)).unwrap();
        assert_eq!((head.len as usize, head.target), (text(4).len(), Span { start: 12, end: 13 }));
        assert_eq!(scanned(&text(5)).err(), Some(Kind::TooManyEmptyLines));
        assert_eq!(scanned("\nGET / HTTP/1.0\r\n\r\n").err(), Some(Kind::BadRequestLine));
        assert_eq!(scanned("\rGET / HTTP/1.0\r\n\r\n").err(), Some(Kind::BareCr));
    }

    #[test]
    fn limits_hold_to_the_byte_and_have_their_own_status() {
        let limits = Limits { target_bytes: 10, head_bytes: 60, ..Limits::DEFAULT };
        let scan = |text: &str| match scan_request(text.as_bytes(), &limits) {
            Scan::Invalid(error) => error.status(),
            Scan::Complete(_) => 200,
            Scan::Partial => 0,
        };
        let request = |target: usize, value: usize| {
            format!("GET /{} HTTP/1.1\r\nHost: h\r\nA: {}\r\n\r\n", "x".repeat(target - 1), "y".repeat(value))
        };
        let spare = 60 - request(10, 0).len();
        assert_eq!(scan(&request(10, spare)), 200);
        assert_eq!(scan(&request(10, spare + 1)), 431);
        assert_eq!(scan(&request(11, 0)), 414);
        assert_eq!(scan("GET /xxxxxxxxx"), 0);
        assert_eq!(scan("GET /xxxxxxxxxx"), 414);
        for (kind, status) in
            [(Kind::UnsupportedVersion, 505), (Kind::UnknownTransferCoding, 501), (Kind::BadHost, 400)]
        {
            assert_eq!(kind.status(), status);
        }
    }
}
