//! Forms of response, chosen by path, that are right and hard to read:
//!
//! | path | form |
//! |---|---|
//! | `/trickle` | every byte in a segment of its own |
//! | `/split` | in two segments; every such answer is cut at the next of all offsets |
//! | `/fields` | a head of 100 fields |
//! | `/long-head` | a head of just below 64 KiB |
//! | `/chunked` | chunks with extensions, and trailers |
//! | `/interim` | 100 and 103 before the answer |
//! | `/204`, `/304` | no body, though 304 has a length |
//! | `/close` | ended by closing the connection |
//! | `/pattern/N` | N bytes in chunks of the same 64 KiB, N beyond 4 GiB included |
//!
//! Any of them, and any other path, is answered to `HEAD` without its body. Over HTTP/2 the same is said in frames: `/chunked` in
//! several and with trailers, `/long-head` with CONTINUATION, `/close` without a length and without an end of the connection.

use std::rc::Rc;

use super::BODY;

/// Bytes of the block that a long body repeats.
const BLOCK_BYTES: usize = 32 * 1024;
/// Length of the long head: a little less than the 64 KiB that clients commonly allow.
const LONG_HEAD_BYTES: usize = 65_000;

/// How a response leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// In as few segments as it takes.
    Nowhere,
    /// In two segments, the first of so many bytes.
    At(usize),
    /// One byte at a time.
    Everywhere,
}

/// The bytes of a response: a text, and behind it a block over and over.
#[derive(Clone)]
pub(super) struct Bytes {
    pub(super) text: Rc<[u8]>,
    pub(super) block: Rc<[u8]>,
    /// Of all.
    pub(super) len: u64,
}

impl Bytes {
    /// A text, and nothing behind it.
    pub(super) fn whole(text: Rc<[u8]>) -> Self {
        Self { len: text.len() as u64, text, block: Rc::default() }
    }

    /// The bytes from `offset` on, as far as they are at hand in one piece.
    pub(super) fn from(&self, offset: u64) -> &[u8] {
        let text = self.text.len() as u64;
        if offset < text {
            return &self.text[offset as usize..];
        }
        let start = ((offset - text) % self.block.len().max(1) as u64) as usize;
        let piece = &self.block[start..];
        let left = usize::try_from(self.len.saturating_sub(offset)).unwrap_or(usize::MAX);
        &piece[..piece.len().min(left)]
    }

    /// The first `len` of them, which lie in the text.
    pub(super) fn truncated(self, len: u64) -> Self {
        let text = self.text[..len as usize].into();
        Self { text, len, ..self }
    }
}

/// A response that is ready to leave.
pub(super) struct Shape {
    pub(super) bytes: Bytes,
    pub(super) cut: Cut,
    /// Whether its end is the end of the connection.
    pub(super) closes: bool,
}

/// The texts of one thread, made once.
pub(super) struct Texts {
    plain: Rc<[u8]>,
    plain_head: Rc<[u8]>,
    pub(super) wrong_byte: Rc<[u8]>,
    pub(super) status_500: Rc<[u8]>,
    block: Rc<[u8]>,
    /// Answers cut in two so far.
    splits: usize,
}

impl Texts {
    pub(super) fn new() -> Self {
        let plain = with_length("200 OK", "", BODY);
        let mut wrong_byte = plain.clone();
        if let Some(last) = wrong_byte.last_mut() {
            *last ^= 1;
        }
        Self {
            plain_head: plain[..plain.len() - BODY.len()].into(),
            plain: plain.into(),
            wrong_byte: wrong_byte.into(),
            status_500: with_length("500 Internal Server Error", "", BODY).into(),
            block: BODY.bytes().cycle().take(BLOCK_BYTES).collect(),
            splits: 0,
        }
    }

    /// The right answer in the form that `path` asks for.
    pub(super) fn shape(&mut self, path: &[u8], head_only: bool) -> Shape {
        let mut cut = Cut::Nowhere;
        let text = match path {
            b"/trickle" => {
                cut = Cut::Everywhere;
                Rc::clone(&self.plain)
            }
            b"/split" => {
                cut = Cut::At(1 + self.splits % (self.plain.len() - 1));
                self.splits += 1;
                Rc::clone(&self.plain)
            }
            _ if path.starts_with(b"/pattern/") => {
                return self.pattern(&path[b"/pattern/".len()..], head_only);
            }
            _ => special(path).map_or_else(|| Rc::clone(&self.plain), Rc::from),
        };
        let text = match head_only {
            false => text,
            true if Rc::ptr_eq(&text, &self.plain) => Rc::clone(&self.plain_head),
            true => head_of(&text).into(),
        };
        Shape { bytes: Bytes::whole(text), cut, closes: path == b"/close" }
    }

    fn pattern(&self, length: &[u8], head_only: bool) -> Shape {
        let body: u64 = str::from_utf8(length).ok().and_then(|n| n.parse().ok()).unwrap_or(0);
        let text: Rc<[u8]> = format!("HTTP/1.1 200 OK\r\nContent-Length: {body}\r\n\r\n").into_bytes().into();
        let len = text.len() as u64 + if head_only { 0 } else { body };
        Shape { bytes: Bytes { text, block: Rc::clone(&self.block), len }, cut: Cut::Nowhere, closes: false }
    }
}

fn special(path: &[u8]) -> Option<Vec<u8>> {
    Some(match path {
        b"/fields" => {
            let fields: String = (0..98).map(|n| format!("X-Field-{n}: {n}\r\n")).collect();
            with_length("200 OK", &fields, BODY)
        }
        b"/long-head" => {
            let padding = LONG_HEAD_BYTES - with_length("200 OK", "X-Long: \r\n", "").len();
            with_length("200 OK", &format!("X-Long: {}\r\n", "x".repeat(padding)), BODY)
        }
        b"/chunked" => chunked(),
        b"/interim" => {
            let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
            [interim.as_bytes(), &with_length("200 OK", "", BODY)].concat()
        }
        b"/204" => b"HTTP/1.1 204 No Content\r\n\r\n".to_vec(),
        b"/304" => {
            format!("HTTP/1.1 304 Not Modified\r\nContent-Length: {}\r\n\r\n", BODY.len()).into_bytes()
        }
        b"/close" => format!("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{BODY}").into_bytes(),
        _ => return None,
    })
}

/// What follows the chunks.
pub(super) const TRAILERS: [(&str, &str); 2] = [("X-Sum", "1"), ("X-Other", "a b")];

/// RFC 9112 §7.1: extensions with and without value, quoted too; a size with leading zeros; trailers.
fn chunked() -> Vec<u8> {
    let (first, rest) = BODY.split_at(1);
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n";
    let trailers: String = TRAILERS.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let chunks = format!("1;a;b=c\r\n{first}\r\n000{:X} ; q=\"x;y\"\r\n{rest}\r\n", rest.len());
    format!("{head}{chunks}0;last\r\n{trailers}\r\n").into_bytes()
}

fn with_length(status: &str, fields: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Type: text/plain\r\n{fields}Content-Length: {length}\r\n\r\n{body}")
        .into_bytes()
}

/// Everything before the final body: the last head included.
fn head_of(text: &[u8]) -> &[u8] {
    let is_interim = |at: usize| text[at..].starts_with(b"\r\n\r\nHTTP/1.1 ");
    let end = (0..text.len()).find(|&at| text[at..].starts_with(b"\r\n\r\n") && !is_interim(at));
    &text[..end.map_or(text.len(), |at| at + 4)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_http::{BodyReader, Limits, Scan, scan_response};

    fn whole(bytes: &Bytes) -> Vec<u8> {
        let mut all = Vec::new();
        while (all.len() as u64) < bytes.len {
            all.extend_from_slice(bytes.from(all.len() as u64));
        }
        all
    }

    /// The body that the strict parser finds in the final response.
    fn body(mut bytes: &[u8]) -> Vec<u8> {
        loop {
            let Scan::Complete(head) = scan_response(bytes, &Limits::DEFAULT) else { panic!("no head") };
            bytes = &bytes[head.len as usize..];
            if !head.is_interim() {
                let mut reader = BodyReader::new(head.framing(false));
                let mut body = Vec::new();
                while !reader.is_finished() && !bytes.is_empty() {
                    let step = reader.next(bytes).unwrap();
                    body.extend_from_slice(step.data);
                    bytes = &bytes[step.consumed..];
                }
                assert!(bytes.is_empty() && reader.finish_at_eof().is_ok());
                return body;
            }
        }
    }

    #[test]
    fn every_form_holds_the_right_body() {
        let mut texts = Texts::new();
        for path in ["/", "/trickle", "/split", "/fields", "/long-head", "/chunked", "/interim", "/close"] {
            let bytes = whole(&texts.shape(path.as_bytes(), false).bytes);
            assert_eq!(body(&bytes), BODY.as_bytes(), "{path}");
            let head = whole(&texts.shape(path.as_bytes(), true).bytes);
            assert!(head.ends_with(b"\r\n\r\n") && bytes.starts_with(&head), "{path}");
            assert!(!head.ends_with(b"Link: </a>\r\n\r\n"), "the head of the answer, not an interim one");
        }
        for path in ["/204", "/304"] {
            assert_eq!(body(&whole(&texts.shape(path.as_bytes(), false).bytes)), b"");
        }
        let long = special(b"/long-head").unwrap().len();
        assert!((LONG_HEAD_BYTES..64 << 10).contains(&long), "{long}");
    }

    #[test]
    fn a_long_body_repeats_its_block() {
        let shape = Texts::new().shape(b"/pattern/100000", false);
        let right: Vec<u8> = BODY.bytes().cycle().take(BLOCK_BYTES).cycle().take(100_000).collect();
        assert_eq!(body(&whole(&shape.bytes)), right);
    }

    #[test]
    fn the_cut_moves_through_all_offsets() {
        let mut texts = Texts::new();
        let len = texts.plain.len();
        let cuts: Vec<Cut> = (0..len).map(|_| texts.shape(b"/split", false).cut).collect();
        assert_eq!((cuts[0], cuts[len - 2], cuts[len - 1]), (Cut::At(1), Cut::At(len - 1), Cut::At(1)));
    }
}
