//! Requests in HTTP/1.1.

use assay_http::render::{RequestSpec, request_head};
use assay_http::{BodyReader, Framing, Limits, ResponseHead, Scan, scan_response};
use assay_model::workload::RequestKind;

use super::input::Input;
use super::{AskError, MAX_ANSWER_BYTES};
use crate::contender::answer::Response;

/// One end of a connection of HTTP/1.1.
#[derive(Default)]
pub(super) struct Http1 {
    /// Whether the last request was for a head alone.
    is_head: bool,
}

impl Http1 {
    pub(super) fn send(
        &mut self,
        input: &mut Input,
        authority: &str,
        request: &RequestKind,
    ) -> Result<(), AskError> {
        self.is_head = request.method == "HEAD";
        input.send(&render(authority, request)?)
    }

    pub(super) fn answer(&mut self, input: &mut Input) -> Result<Response, AskError> {
        let head = read_head(input)?;
        let framing = head.framing(self.is_head);
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        let field = |name| head.field(&input.bytes, name).map(text);
        let answer = Response {
            status: head.status,
            content_type: field("content-type"),
            content_encoding: field("content-encoding"),
            location: field("location"),
            framing: Some(framing),
            ..Response::default()
        };
        input.bytes.drain(..head.len as usize);
        Ok(Response { body: read_body(input, framing)?, ..answer })
    }
}

fn render(authority: &str, request: &RequestKind) -> Result<Vec<u8>, AskError> {
    let fields: Vec<(&str, &str)> =
        request.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let body = request.body.as_deref().unwrap_or_default();
    let framing = request.body.as_ref().map_or(Framing::None, |body| Framing::Length(body.len() as u64));
    let spec = RequestSpec {
        method: &request.method,
        target: &request.path,
        host: authority,
        fields: &fields,
        framing,
    };
    let mut bytes = Vec::new();
    request_head(&spec, &mut bytes).map_err(|error| AskError::Request(error.to_string()))?;
    bytes.extend_from_slice(body.as_bytes());
    Ok(bytes)
}

/// The final head, at the start of the bytes; interim ones (1xx) are taken off.
fn read_head(input: &mut Input) -> Result<ResponseHead, AskError> {
    loop {
        match scan_response(&input.bytes, &Limits::DEFAULT) {
            Scan::Complete(head) if head.is_interim() => {
                input.bytes.drain(..head.len as usize);
            }
            Scan::Complete(head) => return Ok(head),
            Scan::Invalid(error) => return Err(invalid(error)),
            Scan::Partial => {
                if !input.more()? {
                    return Err(invalid("it ended before its head did"));
                }
            }
        }
    }
}

fn read_body(input: &mut Input, framing: Framing) -> Result<Vec<u8>, AskError> {
    let mut reader = BodyReader::new(framing);
    let mut body = Vec::new();
    loop {
        while !input.bytes.is_empty() && !reader.is_finished() {
            let step = reader.next(&input.bytes).map_err(invalid)?;
            body.extend_from_slice(step.data);
            let consumed = step.consumed;
            input.bytes.drain(..consumed);
        }
        if reader.is_finished() {
            return Ok(body);
        }
        if body.len() > MAX_ANSWER_BYTES {
            return Err(invalid(format_args!("its body is larger than {MAX_ANSWER_BYTES} bytes")));
        }
        if !input.more()? {
            return reader.finish_at_eof().map(|()| body).map_err(invalid);
        }
    }
}

fn invalid(problem: impl ToString) -> AskError {
    AskError::Invalid { version: "HTTP/1.1", problem: problem.to_string() }
}
