//! What makes an exchange over HTTP/2 a call of gRPC: a message in its frame each way, and a status that says how it ended.

use assay_grpc::message::{self, is_media_type};
use assay_grpc::{Code, Reader, Status};
use assay_model::message::encode;

use super::{AskError, MAX_ANSWER_BYTES};
use crate::contender::answer::Response;

/// How a call ended, as the head or the trailers tell.
#[derive(Default)]
pub(super) struct CallEnd {
    status: Option<Vec<u8>>,
    words: Vec<u8>,
}

impl CallEnd {
    /// Takes note of a field.
    pub(super) fn note(&mut self, name: &[u8], value: &[u8]) {
        match name {
            b"grpc-status" => self.status = Some(value.to_vec()),
            b"grpc-message" => self.words = value.to_vec(),
            _ => {}
        }
    }

    /// The answer with its message for a body. What is no answer of HTTP but a refusal stays as it is.
    pub(super) fn message_of(&self, answer: Response) -> Result<Response, AskError> {
        if answer.status != 200 {
            return Ok(answer);
        }
        let media_type = answer.content_type.as_deref().unwrap_or_default();
        if !is_media_type(media_type.as_bytes()) {
            return Err(invalid(format_args!("its content type is `{media_type}`")));
        }
        let value = self.status.as_deref().ok_or_else(|| invalid("it ends without grpc-status"))?;
        let status =
            Status::read(value, &self.words).ok_or_else(|| invalid("its grpc-status is no number"))?;
        if status.code != Code::Ok {
            return Err(AskError::Call(status.to_string()));
        }
        let body = message_in(&answer.body).map_err(invalid)?;
        Ok(Response { body, content_type: None, is_message: true, ..answer })
    }
}

/// The message in a body.
fn message_in(body: &[u8]) -> Result<Vec<u8>, assay_grpc::Fault> {
    // No more than fits 32 bits.
    let mut reader = Reader::new(MAX_ANSWER_BYTES as u32);
    let (mut message, mut rest) = (Vec::new(), body);
    while !rest.is_empty() {
        let step = reader.next(rest)?;
        message.extend_from_slice(step.part);
        rest = &rest[step.consumed..];
    }
    reader.finish().map(|()| message)
}

/// The body of a call whose message has this text.
pub(super) fn framed(text: &str) -> Result<Vec<u8>, AskError> {
    let (mut message, mut framed) = (Vec::new(), Vec::new());
    encode(text, &mut message).map_err(|error| AskError::Request(error.to_string()))?;
    message::frame(&message, &mut framed);
    Ok(framed)
}

fn invalid(problem: impl ToString) -> AskError {
    AskError::Invalid { version: "gRPC", problem: problem.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(status: Option<&str>, body: &[u8]) -> Result<Response, String> {
        let mut ending = CallEnd::default();
        if let Some(status) = status {
            ending.note(b"grpc-status", status.as_bytes());
            ending.note(b"grpc-message", b"no%20such");
        }
        let content_type = Some("application/grpc+proto".to_owned());
        let answer = Response { status: 200, content_type, body: body.to_vec(), ..Response::default() };
        ending.message_of(answer).map_err(|error| error.to_string())
    }

    #[test]
    fn a_call_is_answered_by_its_message_if_its_status_is_ok() {
        let body = framed("1: \"ok\"").expect("a message");
        assert_eq!(answered(Some("0"), &body).expect("right").body, b"\x0a\x02ok");
        let why = |status, body: &[u8]| answered(status, body).expect_err("wrong");
        assert!(why(Some("5"), &body).contains("status 5 NOT_FOUND: no such"));
        assert!(why(None, &body).contains("without grpc-status"));
        assert!(why(Some("0"), b"").contains("no message"));
        assert!(why(Some("0"), &body[..7]).contains("the body ends 2 bytes"));
        assert!(framed("1: ").is_err());
    }
}
