//! The head of a response, as a strict client reads it (RFC 9112 §4 to §6).

use crate::body::Framing;
use crate::error::ParseErrorKind;
use crate::field::{Fields, scan_section};
use crate::known::KnownField;
use crate::message::{Message, Transfer};
use crate::scan::{Limits, Scan, Span, Stop, Version, byte, text_line, version, within_limit};
use crate::status;

/// The head of a response. Ranges count from the first byte that was scanned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseHead {
    /// Bytes consumed, the empty line included.
    pub len: u32,
    /// The protocol version of the status line.
    pub version: Version,
    /// The status code, 100 to 999.
    pub status: u16,
    /// The reason phrase, often empty.
    pub reason: Span,
    /// Framing and connection fields.
    pub message: Message,
    /// The value of Date (the last, should there be several).
    pub date: Option<Span>,
    /// The value of Content-Type.
    pub content_type: Option<Span>,
    /// The value of Server.
    pub server: Option<Span>,
    section: Span,
}

/// Scans the head of a response at the start of `bytes`.
///
/// Stricter than most clients: the space after the status code is required even before an empty reason, a body may not
/// have two lengths, and chunked must be the last coding. `Connection` is read only for `close` and `keep-alive`.
#[inline]
pub fn scan_response(bytes: &[u8], limits: &Limits) -> Scan<ResponseHead> {
    within_limit(bytes, limits, scan)
}

fn scan(bytes: &[u8]) -> Result<ResponseHead, Stop> {
    let version = version(bytes, 0)?;
    let status = status_code(bytes, 8)?;
    let (reason_end, start) = text_line(bytes, 13)?;
    let mut head = ResponseHead {
        len: 0,
        version,
        status,
        reason: Span::new(13, reason_end),
        message: Message::default(),
        date: None,
        content_type: None,
        server: None,
        section: Span::default(),
    };
    let (end, len) = scan_section(bytes, start, |name, value| {
        KnownField::recognise(name.of(bytes)).map_or(Ok(()), |field| head.note(field, value, bytes))
    })?;
    head.message.settle(version).map_err(|kind| kind.at(end))?;
    head.section = Span::new(start, end);
    head.len = len as u32;
    Ok(head)
}

/// Passes over ` 3DIGIT SP` at `at`.
#[inline]
fn status_code(bytes: &[u8], at: usize) -> Result<u16, Stop> {
    let mut code = 0;
    for i in at..at + 5 {
        let byte = byte(bytes, i)?;
        let fits = match i - at {
            0 | 4 => byte == b' ',
            1 => matches!(byte, b'1'..=b'9'),
            _ => byte.is_ascii_digit(),
        };
        if !fits {
            return Err(ParseErrorKind::BadStatusLine.at(i).into());
        }
        if byte != b' ' {
            code = code * 10 + u16::from(byte - b'0');
        }
    }
    Ok(code)
}

impl ResponseHead {
    #[inline]
    fn note(&mut self, field: KnownField, value: Span, bytes: &[u8]) -> Result<(), ParseErrorKind> {
        match field {
            KnownField::Date => self.date = Some(value),
            KnownField::ContentType => self.content_type = Some(value),
            KnownField::Server => self.server = Some(value),
            _ => self.message.note(field, value.of(bytes))?,
        }
        Ok(())
    }

    /// How the body ends (RFC 9112 §6.3). A 1xx, 204 or 304 response and every answer to HEAD has none, whatever
    /// its fields say.
    #[inline]
    pub fn framing(&self, request_was_head: bool) -> Framing {
        if request_was_head || status::is_bodiless(self.status) {
            return Framing::None;
        }
        match (self.message.transfer, self.message.content_length) {
            (Transfer::Chunked | Transfer::OtherThenChunked, _) => Framing::Chunked,
            (Transfer::Absent, Some(length)) => Framing::Length(length),
            _ => Framing::UntilClose,
        }
    }

    /// Whether the server will take another request on the connection. Independent of the framing: a body that ends
    /// with the connection ([`Framing::UntilClose`]) ends it in any case.
    #[inline]
    pub fn keeps_alive(&self) -> bool {
        self.message.keeps_alive(self.version)
    }

    /// Whether this is an interim answer (1xx but 101): the final one follows behind its `len` bytes.
    #[inline]
    pub fn is_interim(&self) -> bool {
        matches!(self.status, 100..=199) && !self.switches_protocols()
    }

    /// Whether the connection speaks another protocol behind this head (101).
    #[inline]
    pub fn switches_protocols(&self) -> bool {
        self.status == 101
    }

    /// All field lines in order. `bytes` is the slice that was scanned.
    pub fn fields<'b>(&self, bytes: &'b [u8]) -> Fields<'b> {
        Fields::new(bytes, self.section)
    }

    /// The value of the first field of this name, in any case. `bytes` is the slice that was scanned.
    pub fn field<'b>(&self, bytes: &'b [u8], name: &str) -> Option<&'b [u8]> {
        self.fields(bytes).find(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ParseErrorKind as Kind;

    fn scanned(text: &str) -> Result<ResponseHead, Kind> {
        match scan_response(text.as_bytes(), &Limits::DEFAULT) {
            Scan::Complete(head) => Ok(head),
            Scan::Invalid(error) => Err(error.kind),
            Scan::Partial => panic!("partial: {text:?}"),
        }
    }

    /// Scans the field lines behind a valid status line.
    fn with_fields(fields: &str) -> Result<ResponseHead, Kind> {
        scanned(&format!("HTTP/1.1 200 OK\r\n{fields}\r\n"))
    }

    fn framing(fields: &str) -> Result<Framing, Kind> {
        with_fields(fields).map(|head| head.framing(false))
    }

    #[test]
    fn a_whole_head_is_told_apart() {
        let text = "HTTP/1.0 404 Not Here\r\nDate: d\r\nserver:\t s 1 \t\r\nContent-Type:text/html\r\nX:\r\n\r\nbody";
        let head = scanned(text).unwrap();
        let of = |span: Span| std::str::from_utf8(span.of(text.as_bytes())).unwrap();
        assert_eq!((head.version, head.status, of(head.reason)), (Version::Http10, 404, "Not Here"));
        assert_eq!(head.len as usize, text.len() - 4);
        assert_eq!(
            [head.date, head.server, head.content_type].map(|s| of(s.unwrap())),
            ["d", "s 1", "text/html"]
        );
        let fields: Vec<_> = head.fields(text.as_bytes()).map(|field| (field.name, field.value)).collect();
        let right = [("Date", "d"), ("server", "s 1"), ("Content-Type", "text/html"), ("X", "")];
        assert_eq!(fields, right.map(|(name, value)| (name.as_bytes(), value.as_bytes())));
        assert_eq!(head.field(text.as_bytes(), "SERVER"), Some(&b"s 1"[..]));
        assert_eq!(head.field(text.as_bytes(), "Age"), None);
    }

    #[test]
    fn the_status_line_is_strict() {
        for (line, status) in
            [("HTTP/1.1 200 ", 200), ("HTTP/1.0 999 a\tb \u{e9}", 999), ("HTTP/1.1 100 x", 100)]
        {
            assert_eq!(scanned(&format!("{line}\r\n\r\n")).map(|head| head.status), Ok(status), "{line}");
        }
        for (line, kind) in [
            ("HTTP/1.1 200\r\n", Kind::BadStatusLine),
            ("HTTP/1.1  200 OK\r\n", Kind::BadStatusLine),
            ("HTTP/1.1\t200 OK\r\n", Kind::BadStatusLine),
            ("HTTP/1.1 20 OK\r\n", Kind::BadStatusLine),
            ("HTTP/1.1 2000 OK\r\n", Kind::BadStatusLine),
            ("HTTP/1.1 099 OK\r\n", Kind::BadStatusLine),
            ("HTTP/1.1 2x0 OK\r\n", Kind::BadStatusLine),
            ("HTTP/1.11 200 OK\r\n", Kind::BadStatusLine),
            ("HTTP/1.2 200 OK\r\n", Kind::UnsupportedVersion),
            ("HTTP/2.0 200 OK\r\n", Kind::UnsupportedVersion),
            ("http/1.1 200 OK\r\n", Kind::BadVersion),
            ("\r\nHTTP/1.1 200 OK\r\n", Kind::BadVersion),
            ("ICY 200 OK\r\n", Kind::BadVersion),
            ("HTTP/1.1 200 O\0K\r\n", Kind::ControlCharacter),
            ("HTTP/1.1 200 O\rK\r\n", Kind::BareCr),
            ("HTTP/1.1 200 OK\n", Kind::BareLf),
        ] {
            assert_eq!(scanned(&format!("{line}\r\n")).err(), Some(kind), "{line:?}");
        }
    }

    #[test]
    fn field_lines_are_strict() {
        for (fields, kind) in [
            ("A : b\r\n", Kind::BadFieldName),
            ("A\t: b\r\n", Kind::BadFieldName),
            (": b\r\n", Kind::BadFieldName),
            ("A\r\n", Kind::BadFieldName),
            ("A b\r\n", Kind::BadFieldName),
            ("\u{e9}: b\r\n", Kind::BadFieldName),
            ("A\0: b\r\n", Kind::BadFieldName),
            (" A: b\r\n", Kind::ObsoleteFold),
            ("A: b\r\n c\r\n", Kind::ObsoleteFold),
            ("A: b\r\n\tc\r\n", Kind::ObsoleteFold),
            ("A: b\n", Kind::BareLf),
            ("A: b\r\nB\n", Kind::BareLf),
            ("A: b\r\n\n", Kind::BareLf),
            ("A: b\rc\r\n", Kind::BareCr),
            ("A: b\r\r\n", Kind::BareCr),
            ("A: b\r\n\rc", Kind::BareCr),
            ("A: b\0c\r\n", Kind::ControlCharacter),
            ("A: \u{7f}\r\n", Kind::ControlCharacter),
            ("A: \u{b}\r\n", Kind::ControlCharacter),
        ] {
            assert_eq!(with_fields(fields).err(), Some(kind), "{fields:?}");
        }
        assert!(with_fields("!#$%&'*+-.^_`|~09azAZ: \u{e9}\t\"(\r\n").is_ok());
    }

    #[test]
    fn content_length_is_one_number() {
        for (fields, length) in [
            ("Content-Length: 0\r\n", 0),
            ("content-length:007\r\n", 7),
            ("Content-Length: 18446744073709551615\r\n", u64::MAX),
            ("Content-Length: 5, 5\r\n", 5),
            ("Content-Length: 5\r\nContent-Length: 5 ,\t05\r\n", 5),
        ] {
            assert_eq!(framing(fields), Ok(Framing::Length(length)), "{fields}");
        }
        for value in [
            "",
            "+5",
            "-5",
            "5 5",
            "5,",
            "5,6",
            "5;",
            "0x5",
            "5.0",
            "18446744073709551616",
            "99999999999999999999",
            "\u{b2}",
        ] {
            let fields = format!("Content-Length: {value}\r\n");
            assert_eq!(framing(&fields), Err(Kind::BadContentLength), "{value}");
        }
        assert_eq!(framing("Content-Length: 5\r\nContent-Length: 6\r\n"), Err(Kind::BadContentLength));
    }

    #[test]
    fn chunked_comes_once_and_last_and_alone_with_its_length() {
        for (fields, right) in [
            ("Transfer-Encoding: chunked\r\n", Framing::Chunked),
            ("Transfer-Encoding: \tCHUNKED \r\n", Framing::Chunked),
            ("Transfer-Encoding: gzip , chunked\r\n", Framing::Chunked),
            ("Transfer-Encoding: x; q=1\r\nTransfer-Encoding: chunked\r\n", Framing::Chunked),
            ("Transfer-Encoding: gzip\r\n", Framing::UntilClose),
        ] {
            assert_eq!(framing(fields), Ok(right), "{fields}");
        }
        for value in [
            "",
            "chunked, gzip",
            "chunked, chunked",
            "chunked,",
            ",chunked",
            "chunked;q=1",
            "chunked x",
            "\"x\"",
        ] {
            let fields = format!("Transfer-Encoding: {value}\r\n");
            assert_eq!(framing(&fields), Err(Kind::BadTransferEncoding), "{value}");
        }
        for fields in [
            "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
            "Transfer-Encoding: gzip\r\nContent-Length: 5\r\n",
        ] {
            assert_eq!(framing(fields), Err(Kind::ConflictingLengths), "{fields}");
        }
        let http10 = scanned("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        assert_eq!(http10.err(), Some(Kind::TransferEncodingInHttp10));
    }

    #[test]
    fn some_responses_have_no_body_whatever_their_fields_say() {
        for status in [100, 101, 103, 199, 204, 304] {
            let head = scanned(&format!("HTTP/1.1 {status} \r\nContent-Length: 5\r\n\r\n")).unwrap();
            assert_eq!(head.framing(false), Framing::None, "{status}");
            assert_eq!(head.is_interim(), status < 200 && status != 101);
            assert_eq!(head.switches_protocols(), status == 101);
        }
        assert_eq!(with_fields("Transfer-Encoding: chunked\r\n").unwrap().framing(true), Framing::None);
        assert_eq!(framing(""), Ok(Framing::UntilClose));
    }

    #[test]
    fn the_connection_is_kept_by_version_and_options() {
        for (version, fields, kept) in [
            ("1.1", "", true),
            ("1.0", "", false),
            ("1.1", "Connection: close\r\n", false),
            ("1.1", "Connection: Keep-Alive, CLOSE\r\n", false),
            ("1.1", "Connection: x\r\nConnection: ,,close\r\n", false),
            ("1.1", "Connection: closed, close-x\r\n", true),
            ("1.0", "Connection: keep-alive\r\n", true),
            ("1.0", "Connection: keep-alive\r\nConnection: close\r\n", false),
        ] {
            let head = scanned(&format!("HTTP/{version} 200 OK\r\n{fields}\r\n")).unwrap();
            assert_eq!(head.keeps_alive(), kept, "{version} {fields}");
        }
    }

    #[test]
    fn the_limit_holds_to_the_byte() {
        let text = b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n";
        let scan =
            |len: usize, head_bytes| scan_response(&text[..len], &Limits { head_bytes, ..Limits::DEFAULT });
        let len = text.len() as u32;
        assert!(matches!(scan(text.len(), len), Scan::Complete(_)));
        assert_eq!(scan(text.len() - 1, len), Scan::Partial);
        let too_large = Scan::Invalid(Kind::HeadTooLarge.at(text.len() - 1));
        assert_eq!(scan(text.len(), len - 1), too_large);
        assert_eq!(scan(text.len() - 1, len - 1), too_large);
    }
}
