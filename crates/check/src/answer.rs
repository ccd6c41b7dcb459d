//! What came back, read strictly; bytes in, answers out.

use assay_http::{BodyReader, Framing, Limits, ResponseHead, Scan, scan_response};

/// A complete answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) head: ResponseHead,
    pub(crate) body: Vec<u8>,
    bytes: Vec<u8>,
    framing: Framing,
}

/// What can be made of the bytes received so far.
pub(crate) enum Reading {
    /// An answer, and how many bytes it took.
    Whole(Box<Answer>, usize),
    /// The beginning of one.
    Partial,
    /// Nothing that begins like this is an answer; why.
    Invalid(String),
}

impl Answer {
    /// Reads the answer at the start of `bytes`; `to_head` when HEAD was asked, `ended` when no more bytes will come.
    pub(crate) fn read(bytes: &[u8], to_head: bool, ended: bool) -> Reading {
        let head = match scan_response(bytes, &Limits::DEFAULT) {
            Scan::Complete(head) => head,
            Scan::Invalid(error) => return Reading::Invalid(error.to_string()),
            Scan::Partial if ended => return Reading::Invalid("it ends before its head does".to_owned()),
            Scan::Partial => return Reading::Partial,
        };
        let framing = head.framing(to_head);
        let head_len = head.len as usize;
        match read_body(&bytes[head_len..], framing, ended) {
            Err(error) => Reading::Invalid(error.to_string()),
            Ok(None) => Reading::Partial,
            Ok(Some((body, len))) => {
                let answer = Self { head, body, bytes: bytes[..head_len].to_vec(), framing };
                Reading::Whole(Box::new(answer), head_len + len)
            }
        }
    }

    pub(crate) fn status(&self) -> u16 {
        self.head.status
    }

    /// Whether it says that the request was not served.
    pub(crate) fn is_refusal(&self) -> bool {
        self.status() >= 400
    }

    pub(crate) fn ends_with_connection(&self) -> bool {
        self.framing == Framing::UntilClose
    }

    /// Whether more may come behind it on its connection.
    pub(crate) fn is_last(&self) -> bool {
        self.ends_with_connection() || !self.head.keeps_alive()
    }

    /// Every field, as name and value.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.head.fields(&self.bytes).map(|field| (field.name, field.value))
    }

    /// The value of a field as text; bytes that are no UTF-8 are replaced.
    pub(crate) fn field(&self, name: &str) -> Option<String> {
        self.head.field(&self.bytes, name).map(|value| String::from_utf8_lossy(value).into_owned())
    }
}

/// The body with its length on the wire; `None` when it is not whole yet.
fn read_body(
    bytes: &[u8],
    framing: Framing,
    ended: bool,
) -> Result<Option<(Vec<u8>, usize)>, assay_http::BodyError> {
    let mut reader = BodyReader::new(framing);
    let (mut body, mut at) = (Vec::new(), 0);
    while !reader.is_finished() && at < bytes.len() {
        let step = reader.next(&bytes[at..])?;
        body.extend_from_slice(step.data);
        at += step.consumed;
    }
    if reader.is_finished() {
        return Ok(Some((body, at)));
    }
    if !ended {
        return Ok(None);
    }
    reader.finish_at_eof().map(|()| Some((body, at)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, to_head: bool, ended: bool) -> Result<Option<(u16, String, usize)>, String> {
        match Answer::read(text.as_bytes(), to_head, ended) {
            Reading::Whole(answer, len) => {
                Ok(Some((answer.status(), String::from_utf8_lossy(&answer.body).into_owned(), len)))
            }
            Reading::Partial => Ok(None),
            Reading::Invalid(why) => Err(why),
        }
    }

    #[test]
    fn answers_end_where_their_framing_says() {
        let two = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1 404 \r\n\r\n";
        assert_eq!(read(two, false, false), Ok(Some((200, "hi".into(), 40))));
        assert_eq!(read(two, true, false), Ok(Some((200, String::new(), 38))));
        assert_eq!(read(&two[..39], false, false), Ok(None));
        assert!(read(&two[..39], false, true).is_err());
        assert_eq!(read("HTTP/1.1 200 OK\r\n\r\nall", false, false), Ok(None));
        assert_eq!(read("HTTP/1.1 200 OK\r\n\r\nall", false, true), Ok(Some((200, "all".into(), 22))));
        assert!(read("<html>", false, false).is_err());
        assert!(read("HTTP/1.1 2", false, true).is_err());
    }
}
