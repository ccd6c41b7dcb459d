//! A call of gRPC: the service `assay.Echo`, which gives a text back or greets (workloads/echo.proto). Bytes in, an answer or a
//! status out.

use assay_grpc::message::{self, PREFIX_BYTES};
use assay_grpc::{Code, Fault, Reader, Status, fields};

/// The only field of a message.
const TEXT: u32 = 1;

/// A call whose message is coming.
#[derive(Debug)]
pub(super) struct Call {
    /// What is called, or why nothing is.
    procedure: Result<Procedure, Status>,
    reader: Reader,
    message: Vec<u8>,
}

/// What can be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Procedure {
    /// Gives the text back.
    Say,
    /// Greets by the name, or the world.
    Hello,
}

/// What the head of a call says beside what heads say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallFields {
    /// Whether the body is of gRPC.
    pub(crate) is_call: bool,
    /// Whether the client's messages are compressed.
    pub(super) is_coded: bool,
    /// Whether its deadline is none.
    pub(super) has_bad_timeout: bool,
}

impl CallFields {
    /// Takes note of a field.
    #[inline]
    pub(super) fn note(&mut self, name: &[u8], value: &[u8]) {
        match name {
            b"content-type" => self.is_call = message::is_media_type(value),
            b"grpc-encoding" => self.is_coded = value != b"identity",
            b"grpc-timeout" => self.has_bad_timeout = assay_grpc::timeout::read(value).is_none(),
            _ => {}
        }
    }
}

impl Call {
    pub(super) fn new(path: &[u8], fields: CallFields, most: u32) -> Self {
        let procedure = match path {
            _ if fields.has_bad_timeout => Err(Status::new(Code::Internal, "grpc-timeout is no time")),
            _ if fields.is_coded => Err(unimplemented("messages are taken as they are: identity")),
            b"/assay.Echo/Say" => Ok(Procedure::Say),
            b"/assay.Echo/Hello" => Ok(Procedure::Hello),
            _ => Err(unimplemented("there is assay.Echo, with Say and Hello")),
        };
        Self { procedure, reader: Reader::new(most), message: Vec::new() }
    }

    /// A part of the body. What follows a fault is dropped.
    pub(super) fn take(&mut self, data: &[u8]) {
        let mut rest = data;
        while self.procedure.is_ok() && !rest.is_empty() {
            match self.reader.next(rest) {
                Ok(step) => {
                    self.message.extend_from_slice(step.part);
                    rest = &rest[step.consumed..];
                }
                Err(fault) => self.procedure = Err(status_of(fault)),
            }
        }
    }

    /// The answer when the body has come whole, in its frame.
    pub(super) fn answer(&self) -> Result<Vec<u8>, Status> {
        let procedure = self.procedure.clone()?;
        self.reader.finish().map_err(status_of)?;
        let text = fields::text(&self.message, TEXT)
            .map_err(|error| Status::new(Code::Internal, error.to_string()))?;
        Ok(answer(procedure, text))
    }
}

/// The answer to a text, in its frame.
fn answer(procedure: Procedure, text: &str) -> Vec<u8> {
    let mut reply = Vec::with_capacity(text.len() + 16);
    match (procedure, text) {
        (Procedure::Say, text) => fields::write_text(TEXT, text, &mut reply),
        (Procedure::Hello, "") => fields::write_text(TEXT, "Hello, World!", &mut reply),
        (Procedure::Hello, name) => fields::write_text(TEXT, &format!("Hello, {name}!"), &mut reply),
    }
    let mut framed = Vec::with_capacity(PREFIX_BYTES + reply.len());
    message::frame(&reply, &mut framed);
    framed
}

/// What a body is answered with that is not one message (doc/statuscodes.md of gRPC).
pub(super) fn status_of(fault: Fault) -> Status {
    let code = match fault {
        Fault::Missing | Fault::Behind => Code::Unimplemented,
        Fault::TooLong { .. } => Code::ResourceExhausted,
        Fault::Compressed | Fault::Flag(_) | Fault::Short(_) => Code::Internal,
    };
    Status::new(code, fault.to_string())
}

fn unimplemented(words: &str) -> Status {
    Status::new(Code::Unimplemented, words)
}
