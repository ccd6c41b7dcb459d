//! A request, in whatever protocol it came, and what it is answered with.

use std::rc::Rc;

use assay_h2::frame::FRAME_BYTES;
use assay_http::{Method, RequestHead, Version};
use assay_model::units::Nanos;

use super::faults::Fault;
use super::frames::{Frames, Stream};
use super::reply::Reply;
use super::shape::{Bytes, Cut, Shape, Texts};
use super::socket::Message;
use super::{BODY, End};

/// What the stub needs to know of a request.
pub(super) struct Request {
    head_only: bool,
    closes: bool,
    path: Box<[u8]>,
    form: Form,
}

/// In what it came, and its answer goes.
enum Form {
    /// A text of HTTP/1.1.
    Text,
    /// A message in a WebSocket, to be given back.
    Message(Message),
    /// A stream of HTTP/2.
    Stream(Stream),
    /// A call of gRPC, whose message in its frame is to be given back.
    Call(Stream, Box<[u8]>),
}

impl Request {
    pub(super) fn of(head: &RequestHead, bytes: &[u8]) -> Self {
        let path = head.target.of(bytes).into();
        // A client of HTTP/1.0 keeps a connection only if it is told so (RFC 9112 §9.3), which the programmed texts do not.
        let closes = !head.keeps_alive() || head.version == Version::Http10;
        Self { head_only: head.method == Method::Head, closes, path, form: Form::Text }
    }

    pub(super) fn of_message(message: Message) -> Self {
        Self { head_only: false, closes: false, path: Box::default(), form: Form::Message(message) }
    }

    /// The request, which came on a stream.
    pub(super) fn on_stream(self, stream: Stream) -> Self {
        Self { form: Form::Stream(stream), ..self }
    }

    pub(super) fn of_call(path: Box<[u8]>, stream: Stream, framed: Box<[u8]>) -> Self {
        Self { head_only: false, closes: false, path, form: Form::Call(stream, framed) }
    }

    /// The service time that its path asks for.
    pub(super) fn asked_time(&self) -> Option<Nanos> {
        let name = str::from_utf8(self.path.strip_prefix(b"/")?).ok()?;
        // A plain number would be seconds; here it is a status.
        name.parse().ok().filter(|_| name.ends_with('s'))
    }

    /// Stream of the request, where it has one.
    pub(super) fn stream(&self) -> Option<u32> {
        match &self.form {
            Form::Text | Form::Message(_) => None,
            Form::Stream(stream) | Form::Call(stream, _) => Some(stream.id),
        }
    }

    /// What it is answered with, at no time yet.
    pub(super) fn reply(&self, texts: &mut Texts, fault: Fault) -> Reply {
        match &self.form {
            Form::Text => self.text(texts, fault),
            Form::Message(message) => {
                let (bytes, cut, end) = message.echo(fault);
                Reply::new(Bytes::whole(bytes.into()), cut, end, fault)
            }
            Form::Stream(stream) => {
                let shape = self.shape(texts, fault);
                Reply::in_frames(Frames::of_shape(*stream, &shape, fault), shape.cut, fault)
            }
            Form::Call(stream, framed) => {
                let cut = if *self.path == *b"/trickle" { Cut::Everywhere } else { Cut::Nowhere };
                let most = if *self.path == *b"/fragments" { 1 } else { FRAME_BYTES };
                Reply::in_frames(Frames::of_call(*stream, framed, fault, most), cut, fault)
            }
        }
    }

    fn text(&self, texts: &mut Texts, fault: Fault) -> Reply {
        let shape = self.shape(texts, fault);
        let end = match fault {
            Fault::ResetInBody => End::Reset,
            _ if shape.closes || self.closes => End::Close,
            _ => End::Keep,
        };
        Reply::new(shape.bytes, shape.cut, end, fault)
    }

    /// The programmed text, as far as it leaves.
    fn shape(&self, texts: &mut Texts, fault: Fault) -> Shape {
        let whole = |text: &Rc<[u8]>| Shape {
            bytes: Bytes::whole(Rc::clone(text)),
            cut: Cut::Nowhere,
            closes: false,
        };
        match fault {
            Fault::None | Fault::Never => texts.shape(&self.path, self.head_only),
            Fault::WrongByte => whole(&texts.wrong_byte),
            Fault::Status500 => whole(&texts.status_500),
            Fault::ResetInBody => {
                let whole = texts.shape(b"/", false);
                let half = whole.bytes.len - BODY.len() as u64 / 2;
                Shape { bytes: whole.bytes.truncated(half), ..whole }
            }
        }
    }
}
