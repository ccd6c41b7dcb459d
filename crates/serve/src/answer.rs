//! The answers that are known before the request comes: rendered once, copied with the date of the second.

use assay_http::date;
use assay_http::render::{PreparedResponse, RenderError};
use serde::Serialize;

use crate::connection::Persistence;

/// An answer known in advance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Hello,
    Plaintext,
    Json,
    Byte,
    /// To `OPTIONS *`.
    ServerOptions,
    /// To OPTIONS on a resource that can be read.
    GetOptions,
    /// To OPTIONS on what takes a body.
    PostOptions,
    /// To OPTIONS on what can be read with a body or without one.
    SizedOptions,
    BadRequest,
    NotFound,
    /// Another method on a resource that can be read.
    GetOnly,
    /// Another method on what takes a body.
    PostOnly,
    /// Another method on what can be read with a body or without one.
    SizedOnly,
    NotAcceptable,
    RequestTimeout,
    PreconditionFailed,
    ContentTooLarge,
    TargetTooLong,
    ExpectationFailed,
    HeadTooLarge,
    InternalError,
    NotImplemented,
    /// Out of descriptors or memory.
    Overloaded,
    VersionNotSupported,
}

/// Status, media type, another field (Name: value) and the body of each answer, in the order of [`Answer`].
const TEXTS: [(Answer, u16, &str, &str, &str); 24] = [
    (Answer::Hello, 200, TEXT, "", "hello"),
    (Answer::Plaintext, 200, TEXT, "", "Hello, World!"),
    (Answer::Json, 200, "application/json", "", ""),
    (Answer::Byte, 200, TEXT, "", "!"),
    (Answer::ServerOptions, 204, "", "Allow: GET, HEAD, POST, OPTIONS", ""),
    (Answer::GetOptions, 204, "", "Allow: GET, HEAD, OPTIONS", ""),
    (Answer::PostOptions, 204, "", "Allow: POST, OPTIONS", ""),
    (Answer::SizedOptions, 204, "", "Allow: GET, HEAD, POST, OPTIONS", ""),
    (Answer::BadRequest, 400, TEXT, "", "400 the request is malformed\n"),
    (Answer::NotFound, 404, TEXT, "", "404 there is nothing at this path\n"),
    (Answer::GetOnly, 405, TEXT, "Allow: GET, HEAD, OPTIONS", "405 this path takes GET and HEAD\n"),
    (Answer::PostOnly, 405, TEXT, "Allow: POST, OPTIONS", "405 this path takes POST\n"),
    (
        Answer::SizedOnly,
        405,
        TEXT,
        "Allow: GET, HEAD, POST, OPTIONS",
        "405 this path takes GET, HEAD and POST\n",
    ),
    (
        Answer::NotAcceptable,
        406,
        TEXT,
        "Vary: Accept-Encoding",
        "406 the file is not there in a coding you take\n",
    ),
    (Answer::RequestTimeout, 408, TEXT, "", "408 the request took too long to arrive\n"),
    (Answer::PreconditionFailed, 412, TEXT, "", "412 the file is not the one you expected\n"),
    (Answer::ContentTooLarge, 413, TEXT, "", "413 the body is larger than this server takes\n"),
    (Answer::TargetTooLong, 414, TEXT, "", "414 the target is longer than this server takes\n"),
    (Answer::ExpectationFailed, 417, TEXT, "", "417 this server knows no expectation but 100-continue\n"),
    (Answer::HeadTooLarge, 431, TEXT, "", "431 the head is larger than this server takes\n"),
    (Answer::InternalError, 500, TEXT, "", "500 the file could not be read\n"),
    (Answer::NotImplemented, 501, TEXT, "", "501 this method or coding is not implemented\n"),
    (Answer::Overloaded, 503, TEXT, "Retry-After: 1", "503 the server is short of descriptors or memory\n"),
    (Answer::VersionNotSupported, 505, TEXT, "", "505 this server speaks HTTP/1.0 and HTTP/1.1\n"),
];

const TEXT: &str = "text/plain";

/// Bytes that a prepared answer, or any other head this crate renders, has at most.
pub(crate) const ANSWER_BYTES: usize = 1024;

impl Answer {
    /// The refusal with this status.
    pub(crate) fn refusal(status: u16) -> Self {
        let found = TEXTS.iter().find(|text| text.1 == status && status >= 400);
        found.map_or(Self::BadRequest, |text| text.0)
    }

    /// Whether the request is refused.
    pub(crate) fn is_error(self) -> bool {
        TEXTS[self as usize].1 >= 400
    }
}

/// The object that `/json` serialises anew for every request.
#[derive(Serialize)]
struct Greeting<'a> {
    message: &'a str,
}

fn append_greeting(out: &mut Vec<u8>) {
    // Writing to a vector cannot fail, and a struct with one string is always JSON.
    let _ = serde_json::to_writer(out, &Greeting { message: "Hello, World!" });
}

/// All answers, rendered.
pub(crate) struct Answers(Vec<PreparedResponse>);

impl Answers {
    /// Renders the answers; the date is to be set before the first is used.
    pub(crate) fn new() -> Result<Self, RenderError> {
        TEXTS
            .iter()
            .map(|&(answer, status, media_type, other, body)| {
                let other = other.split_once(": ").unwrap_or_default();
                let fields = [("Server", "assay"), ("Content-Type", media_type), other];
                let fields: Vec<_> = fields.into_iter().filter(|(_, value)| !value.is_empty()).collect();
                let mut bytes = body.as_bytes().to_vec();
                if answer == Answer::Json {
                    append_greeting(&mut bytes);
                }
                PreparedResponse::new(status, &fields, &bytes)
            })
            .collect::<Result<_, _>>()
            .map(Self)
    }

    pub(crate) fn set_date(&mut self, date: &[u8; date::LEN]) {
        for prepared in &mut self.0 {
            prepared.set_date(date);
        }
    }

    /// Appends an answer to `out`; the head alone if the request was HEAD.
    #[inline]
    pub(crate) fn append(
        &self,
        answer: Answer,
        head_only: bool,
        persistence: Persistence,
        out: &mut Vec<u8>,
    ) {
        let prepared = &self.0[answer as usize];
        if answer != Answer::Json {
            return append_prepared(prepared, head_only, persistence, out);
        }
        append_head(prepared, persistence, out);
        if !head_only {
            append_greeting(out);
        }
    }
}

/// Appends what is prepared; the head alone if the request was HEAD.
#[inline]
pub(crate) fn append_prepared(
    prepared: &PreparedResponse,
    head_only: bool,
    persistence: Persistence,
    out: &mut Vec<u8>,
) {
    if persistence == Persistence::Assumed && !head_only {
        out.extend_from_slice(prepared.bytes());
        return;
    }
    append_head(prepared, persistence, out);
    if !head_only {
        out.extend_from_slice(prepared.body());
    }
}

#[inline]
fn append_head(prepared: &PreparedResponse, persistence: Persistence, out: &mut Vec<u8>) {
    let head = prepared.head();
    match persistence.field_value() {
        None => out.extend_from_slice(head),
        Some(value) => {
            let empty_line = head.len() - b"\r\n".len();
            for part in [&head[..empty_line], b"Connection: ", value.as_bytes(), b"\r\n\r\n"] {
                out.extend_from_slice(part);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_names_and_every_answer_is_short() {
        let answers = Answers::new().unwrap();
        for (index, text) in TEXTS.iter().enumerate() {
            assert_eq!(text.0 as usize, index);
            assert!(answers.0[index].bytes().len() + "Connection: keep-alive\r\n".len() <= ANSWER_BYTES);
        }
    }

    #[test]
    fn refusals_are_found_by_their_status() {
        assert_eq!(Answer::refusal(431), Answer::HeadTooLarge);
        assert_eq!(Answer::refusal(505), Answer::VersionNotSupported);
        assert_eq!(Answer::refusal(200), Answer::BadRequest, "never a success");
    }

    #[test]
    fn the_length_announced_for_json_is_the_length_written() {
        let mut out = Vec::new();
        Answers::new().unwrap().append(Answer::Json, false, Persistence::Close, &mut out);
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("Content-Length: 27\r\n") && text.contains("Connection: close\r\n\r\n"));
        assert!(text.ends_with("\r\n\r\n{\"message\":\"Hello, World!\"}"));
    }
}
