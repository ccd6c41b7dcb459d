//! What has to hold for any bytes, whatever they are: checks that the fuzz targets share.
//!
//! - Nothing panics.
//! - However the bytes are cut, the answer is that for the whole.
//! - What we accept an independent parser (httparse) accepts, with the same length, line and fields. What it accepts
//!   beyond that is a known list of rules of RFC 9112 and RFC 9110 that it does not check.
//!
//! The tests of `crates/http` hold the same on a fixed corpus and its seeded mutants; here the fuzzer looks for more.
#![forbid(unsafe_code)]

pub mod bend;
pub mod told;

use std::fmt::Debug;

use assay_http::{BodyError, BodyReader, Fields, Framing, ParseErrorKind, Scan, Version};

/// More fields than a fuzzer's input of a few KiB can hold is not needed; heads with more are not compared.
const FIELDS_AT_MOST: usize = 512;

/// What both parsers say of a head: length, minor version, start line, fields.
#[derive(Debug, PartialEq)]
pub struct Head {
    /// Bytes up to and with the empty line.
    pub len: usize,
    /// 0 or 1, of HTTP/1.
    pub minor_version: u8,
    /// Method and target, or the status.
    pub line: Vec<Vec<u8>>,
    /// Names and values in order.
    pub fields: Vec<(Vec<u8>, Vec<u8>)>,
}

/// What httparse says.
#[derive(Debug, PartialEq)]
pub enum Theirs {
    /// A whole head.
    Complete(Head),
    /// The parser wants more.
    Partial,
    /// The parser refuses.
    Refused,
    /// The parser has no room for so many fields, so it cannot be asked.
    TooMany,
}

/// Whether httparse may take what we refuse for this reason.
pub fn is_known_to_differ(kind: ParseErrorKind, bytes: &[u8]) -> bool {
    use ParseErrorKind as Kind;
    match kind {
        // It takes LF for CRLF, and an LF as an empty line before a request.
        Kind::BareLf | Kind::BadRequestLine | Kind::TooManyEmptyLines => true,
        // It takes a status line without the space before an absent reason, and codes below 100.
        Kind::BadStatusLine => true,
        // It takes any visible bytes for a target.
        Kind::BadTarget => true,
        // It does not judge what fields mean.
        Kind::BadContentLength | Kind::BadTransferEncoding | Kind::UnknownTransferCoding => true,
        Kind::ConflictingLengths | Kind::TransferEncodingInHttp10 | Kind::ConnectRefused => true,
        Kind::MissingHost | Kind::DuplicateHost | Kind::BadHost | Kind::UnknownExpectation => true,
        // It has no limits.
        Kind::HeadTooLarge | Kind::TargetTooLong => true,
        // It skips empty lines before a status line too; RFC 9112 §2.2 has them before requests only.
        Kind::BadVersion => bytes.starts_with(b"\r") || bytes.starts_with(b"\n"),
        Kind::UnsupportedVersion | Kind::BadFieldName => false,
        Kind::ControlCharacter | Kind::BareCr | Kind::ObsoleteFold => false,
    }
}

/// Compares the two verdicts on the same bytes.
///
/// # Panics
/// When they differ in a way that is not known.
pub fn assert_compatible(bytes: &[u8], ours: &Scan<Head>, theirs: &Theirs) {
    let shown = bytes.escape_ascii();
    match (ours, theirs) {
        (_, Theirs::TooMany) | (Scan::Invalid(_), Theirs::Refused) => {}
        (Scan::Complete(ours), Theirs::Complete(theirs)) => assert_eq!(ours, theirs, "{shown}"),
        (Scan::Complete(_), _) => panic!("we accept and they do not ({theirs:?}): {shown}"),
        (Scan::Partial, Theirs::Complete(_)) => panic!("they have a head and we want more: {shown}"),
        // They may see at once what we see when the line is whole, and the other way round.
        (Scan::Partial, _) => {}
        (Scan::Invalid(error), Theirs::Complete(_)) => {
            assert!(is_known_to_differ(error.kind, bytes), "{error}: {shown}");
        }
        (Scan::Invalid(_), Theirs::Partial) => {}
    }
}

/// However early the bytes end, the answer is `Partial` until it is the answer for the whole. Tries the cut and the ends
/// of all lines.
///
/// # Panics
/// When a prefix has another answer.
pub fn assert_cuts_agree<T: PartialEq + Debug>(bytes: &[u8], cut: usize, scan: impl Fn(&[u8]) -> Scan<T>) {
    let whole = scan(bytes);
    let lines = bytes.iter().enumerate().filter(|(_, byte)| matches!(byte, b'\r' | b'\n')).map(|(at, _)| at);
    for at in lines.take(64).chain([cut.min(bytes.len())]) {
        let part = scan(&bytes[..at]);
        assert!(
            part == Scan::Partial || part == whole,
            "at {at} of {}: {part:?}, {whole:?}",
            bytes.escape_ascii()
        );
    }
}

/// Our head in the common form.
pub fn common(len: u32, version: Version, line: Vec<Vec<u8>>, fields: Fields<'_>) -> Head {
    Head {
        len: len as usize,
        minor_version: u8::from(version == Version::Http11),
        line,
        fields: fields.map(|field| (field.name.to_vec(), field.value.to_vec())).collect(),
    }
}

/// What httparse makes of a request.
pub fn their_request(bytes: &[u8]) -> Theirs {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_AT_MOST];
    let mut request = httparse::Request::new(&mut fields);
    let parsed = request.parse(bytes);
    let line = [request.method, request.path].map(|part| part.unwrap_or_default().as_bytes().to_vec());
    theirs(parsed, request.version, line.to_vec(), request.headers)
}

/// What httparse makes of a response.
pub fn their_response(bytes: &[u8]) -> Theirs {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_AT_MOST];
    let mut response = httparse::Response::new(&mut fields);
    let parsed = response.parse(bytes);
    let line = response.code.unwrap_or_default().to_string().into_bytes();
    theirs(parsed, response.version, vec![line], response.headers)
}

fn theirs(
    parsed: httparse::Result<usize>,
    version: Option<u8>,
    line: Vec<Vec<u8>>,
    fields: &[httparse::Header<'_>],
) -> Theirs {
    match parsed {
        Ok(httparse::Status::Complete(len)) => Theirs::Complete(Head {
            len,
            minor_version: version.unwrap_or_default(),
            line,
            fields: fields.iter().map(|f| (f.name.as_bytes().to_vec(), f.value.to_vec())).collect(),
        }),
        Ok(httparse::Status::Partial) => Theirs::Partial,
        Err(httparse::Error::TooManyHeaders) => Theirs::TooMany,
        Err(_) => Theirs::Refused,
    }
}

/// What reading a body gave.
#[derive(Debug, PartialEq, Eq)]
pub struct Read {
    /// The content.
    pub data: Vec<u8>,
    /// Bytes of the input that it took.
    pub consumed: usize,
    /// What the end of the connection there would mean.
    pub at_eof: Result<(), BodyError>,
}

/// Reads a body that arrives in these pieces.
///
/// # Errors
/// What the reader says.
///
/// # Panics
/// When the reader makes no progress, or takes more than it was given.
pub fn read_body(framing: Framing, pieces: &[&[u8]]) -> Result<Read, BodyError> {
    let mut reader = BodyReader::new(framing);
    let (mut data, mut consumed) = (Vec::new(), 0);
    for piece in pieces {
        let mut rest = *piece;
        while !rest.is_empty() && !reader.is_finished() {
            let step = reader.next(rest)?;
            assert!(step.consumed > 0 && step.data.len() <= step.consumed);
            data.extend_from_slice(step.data);
            consumed += step.consumed;
            rest = &rest[step.consumed..];
        }
    }
    Ok(Read { data, consumed, at_eof: reader.finish_at_eof() })
}

/// A chunked body by httparse's reading of chunk sizes and of fields; `None` when it is malformed or not whole.
pub fn their_chunked(mut bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
    let total = bytes.len();
    let mut data = Vec::new();
    loop {
        let httparse::Status::Complete((start, size)) = httparse::parse_chunk_size(bytes).ok()? else {
            return None;
        };
        bytes = &bytes[start..];
        if size == 0 {
            let mut fields = [httparse::EMPTY_HEADER; FIELDS_AT_MOST];
            let httparse::Status::Complete((length, _)) = httparse::parse_headers(bytes, &mut fields).ok()?
            else {
                return None;
            };
            return Some((data, total - bytes.len() + length));
        }
        let size = usize::try_from(size).ok()?;
        data.extend_from_slice(bytes.get(..size)?);
        bytes = bytes.get(size..)?.strip_prefix(b"\r\n")?;
    }
}
