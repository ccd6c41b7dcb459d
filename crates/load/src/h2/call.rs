//! The answer to a call of gRPC: one message in its frame, and a status in the trailers, which decides
//! (docs/method/grpc.md#when-is-an-answer-right).

use assay_grpc::message::is_media_type;
use assay_grpc::{Code, Fault, Reader, Status};
use assay_model::load::ErrorClass;

use crate::inspection::Inspection;
use crate::judge::Judge;
use crate::protocol::End;

/// Bytes of a content type that are repeated.
const SHOWN_BYTES: usize = 64;

/// An answer to a call, as far as it has come.
pub(super) struct Call {
    reader: Reader,
    /// What is wrong with the body so far.
    fault: Option<Fault>,
    content_type: Vec<u8>,
    /// Whether that is of gRPC.
    has_type: bool,
    /// The values of `grpc-status` and `grpc-message`.
    status: Option<Vec<u8>>,
    words: Vec<u8>,
    /// Bytes of body that have come.
    received: u64,
}

impl Default for Call {
    fn default() -> Self {
        Self {
            // A message is looked at in parts, so there is no length that would be too much.
            reader: Reader::new(u32::MAX),
            fault: None,
            content_type: Vec::new(),
            has_type: false,
            status: None,
            words: Vec::new(),
            received: 0,
        }
    }
}

impl Call {
    /// Another call takes this one's place.
    #[inline]
    pub(super) fn begin_anew(&mut self) {
        self.reader.begin_anew();
        (self.fault, self.has_type, self.status, self.received) = (None, false, None, 0);
        self.words.clear();
        self.content_type.clear();
    }

    /// The head is one that was read before and found to be [usual](Self::is_usual).
    #[inline]
    pub(super) fn recall(&mut self) {
        self.has_type = true;
    }

    /// Whether the head says nothing but that the body is of gRPC.
    pub(super) fn is_usual(&self) -> bool {
        self.has_type && self.status.is_none()
    }

    /// More follows the head: a status in it decides nothing, for that of the trailers does.
    #[inline]
    pub(super) fn forget_status(&mut self) {
        self.status = None;
        self.words.clear();
    }

    /// A field of the head or of the trailers; in an answer without a body they are one.
    #[inline]
    pub(super) fn note(&mut self, name: &[u8], value: &[u8]) {
        match name {
            b"content-type" => {
                self.has_type = is_media_type(value);
                self.content_type = value[..value.len().min(SHOWN_BYTES)].to_vec();
            }
            b"grpc-status" => self.status = Some(value.to_vec()),
            b"grpc-message" => self.words = value.to_vec(),
            _ => {}
        }
    }

    /// A part of the body.
    #[inline]
    pub(super) fn take(&mut self, data: &[u8], inspection: &mut Inspection, judge: &mut Judge) {
        self.received += data.len() as u64;
        let mut rest = data;
        while self.fault.is_none() {
            match self.reader.next(rest) {
                Ok(step) => {
                    if step.is_last || !step.part.is_empty() {
                        inspection.take(judge, step.part, step.is_last);
                    }
                    rest = &rest[step.consumed..];
                    if rest.is_empty() {
                        return;
                    }
                }
                Err(fault) => self.fault = Some(fault),
            }
        }
    }

    /// Bytes of body that have come.
    pub(super) fn received(&self) -> u64 {
        self.received
    }

    /// How the call ended, of which nothing more comes.
    #[inline]
    pub(super) fn end(&self, inspection: &mut Inspection, judge: &mut Judge) -> End {
        if inspection.has_fault() {
            return End::Answered(inspection.conclude(judge));
        }
        match self.fault_of_answer() {
            Some((class, words)) => End::Wrong(class, words),
            None => End::Answered(inspection.conclude(judge)),
        }
    }

    /// How it ended when the server has reset its stream with this code.
    #[cold]
    pub(super) fn reset(&self, code: assay_h2::Code) -> End {
        let behind = match (self.reader.finish(), self.received) {
            (Ok(()), _) => "behind its message, without a status",
            (Err(_), 0) => "without a message",
            (Err(_), _) => "in the middle of its message",
        };
        End::Wrong(ErrorClass::StreamReset, format!("the server reset the call with {code} {behind}"))
    }

    fn fault_of_answer(&self) -> Option<(ErrorClass, String)> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if !self.has_type {
            let told = format!("expected content type application/grpc, got `{}`", text(&self.content_type));
            return Some((ErrorClass::WrongHeader, told));
        }
        let Some(value) = &self.status else {
            return Some((ErrorClass::RpcNoStatus, "the answer ended without grpc-status".to_owned()));
        };
        match Status::read(value, &self.words) {
            None => Some((ErrorClass::RpcNoStatus, format!("grpc-status is `{}`, no number", text(value)))),
            Some(Status { code: Code::Ok, .. }) => {
                let fault = self.fault.or_else(|| self.reader.finish().err())?;
                Some((class_of(fault), format!("status 0 OK, but {fault}")))
            }
            Some(status) => Some((ErrorClass::RpcStatus, format!("expected status 0 OK, got {status}"))),
        }
    }
}

fn class_of(fault: Fault) -> ErrorClass {
    match fault {
        Fault::Missing => ErrorClass::RpcNoMessage,
        Fault::Compressed => ErrorClass::RpcCompressed,
        Fault::Flag(_) | Fault::TooLong { .. } | Fault::Short(_) | Fault::Behind => ErrorClass::RpcBadFrame,
    }
}
