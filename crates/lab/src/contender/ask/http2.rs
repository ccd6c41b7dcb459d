//! Requests in HTTP/2, one after the other, each on a stream of its own (RFC 9113).

use std::ops::ControlFlow;

use assay_h2::field::is_of_connection;
use assay_h2::frame::{FRAME_BYTES, Kind, MAX_31, flag, write_block, write_head};
use assay_h2::hpack::{Encoder, Indexing};
use assay_h2::{Connection, Event, Limits, Role, Settings};
use assay_http::Framing;
use assay_model::workload::RequestKind;

use super::call::{CallEnd, framed};
use super::input::{Input, Security};
use super::{AskError, MAX_ANSWER_BYTES};
use crate::contender::answer::Response;

/// One end of a connection of HTTP/2.
pub(super) struct Http2 {
    connection: Connection,
    encoder: Encoder,
    scheme: &'static str,
    /// Whether requests are calls of gRPC.
    is_called: bool,
    exchange: Exchange,
}

/// A request and its answer, as far as they have got.
#[derive(Default)]
struct Exchange {
    /// The stream of the request; 0 before the first.
    stream: u32,
    /// Whether a head alone was asked for.
    is_head: bool,
    /// What is left of the request's body, which ends the stream; absent once it has.
    upload: Option<Vec<u8>>,
    /// Bytes of it that the server takes on this stream.
    window: i64,
    /// Whether the final head has come.
    has_head: bool,
    /// How it ended, if it is a call.
    ending: CallEnd,
    /// The length that the answer announced.
    length: Option<u64>,
    answer: Response,
}

impl Http2 {
    /// A connection that is established, on which it was agreed to speak HTTP/2 if anything was (RFC 9113 §3.2, §3.3).
    /// With `is_called` requests are calls of gRPC.
    pub(super) fn new(security: Security<'_>, is_called: bool) -> Result<Self, AskError> {
        let scheme = match security {
            Security::None => "http",
            Security::Tls(Some(b"h2")) => "https",
            Security::Tls(_) => return Err(AskError::NoHttp2("over TLS it does not choose h2 (ALPN)")),
        };
        let ours = Settings { enable_push: false, initial_window: MAX_31, ..Settings::default() };
        let connection = Connection::new(Role::Client, &ours, MAX_31, Limits::DEFAULT);
        Ok(Self { connection, encoder: Encoder::default(), scheme, is_called, exchange: Exchange::default() })
    }

    pub(super) fn send(
        &mut self,
        input: &mut Input,
        authority: &str,
        request: &RequestKind,
    ) -> Result<(), AskError> {
        let call = self.is_called.then(|| request.call());
        let request = call.as_ref().unwrap_or(request);
        let bytes = |body: &String| match self.is_called {
            true => framed(body),
            false => Ok(body.clone().into_bytes()),
        };
        self.exchange = Exchange {
            // RFC 9113 §5.1.1: a client's are odd, and rise.
            stream: if self.exchange.stream == 0 { 1 } else { self.exchange.stream + 2 },
            is_head: request.method == "HEAD",
            upload: request.body.as_ref().map(bytes).transpose()?,
            window: self.connection.theirs().initial_window.into(),
            ..Exchange::default()
        };
        let block = self.block(authority, request);
        write_block(self.exchange.stream, &block, request.body.is_none(), self.connection.out());
        self.flush(input)
    }

    /// The fields of a request, compressed.
    fn block(&mut self, authority: &str, request: &RequestKind) -> Vec<u8> {
        let mut block = Vec::new();
        self.encoder.limit(self.connection.theirs().header_table_bytes as usize);
        self.encoder.begin(&mut block);
        let mut field = |name: &str, value: &str| {
            self.encoder.field(name.as_bytes(), value.as_bytes(), Indexing::Forget, &mut block);
        };
        field(":method", &request.method);
        field(":scheme", self.scheme);
        field(":authority", authority);
        field(":path", &request.path);
        for (name, value) in &request.headers {
            let name = name.to_ascii_lowercase();
            // Host becomes the authority.
            if name != "host" && !is_of_connection(name.as_bytes()) {
                field(&name, value);
            }
        }
        if let Some(body) = request.body.as_ref().filter(|_| !self.is_called) {
            field("content-length", &body.len().to_string());
        }
        block
    }

    pub(super) fn answer(&mut self, input: &mut Input) -> Result<Response, AskError> {
        while self.take(input)?.is_continue() {
            self.flush(input)?;
            if self.exchange.answer.body.len() > MAX_ANSWER_BYTES {
                return Err(invalid(format_args!("its body is larger than {MAX_ANSWER_BYTES} bytes")));
            }
            if !input.more()? {
                return Err(self.cut_short());
            }
        }
        let answer = self.exchange.settled()?;
        if self.is_called { self.exchange.ending.message_of(answer) } else { Ok(answer) }
    }

    /// Sends what waits, and as much of the body as the windows allow.
    fn flush(&mut self, input: &mut Input) -> Result<(), AskError> {
        self.exchange.write_body(&mut self.connection);
        let out = std::mem::take(self.connection.out());
        if out.is_empty() { Ok(()) } else { input.send(&out) }
    }

    /// Takes all frames that have arrived; it breaks off when the answer has ended.
    fn take(&mut self, input: &mut Input) -> Result<ControlFlow<()>, AskError> {
        let mut used = 0;
        let flow = loop {
            match self.connection.read(&input.bytes[used..]) {
                Ok(None) => break ControlFlow::Continue(()),
                Ok(Some((bytes, event))) => {
                    used += bytes;
                    if self.exchange.take(event, &mut self.connection)?.is_break() {
                        break ControlFlow::Break(());
                    }
                }
                Err(_) if !self.connection.has_begun() && input.bytes.starts_with(b"HTTP/1.") => {
                    return Err(AskError::NoHttp2("it answers in HTTP/1.1"));
                }
                Err(error) => return Err(invalid(error)),
            }
        };
        input.bytes.drain(..used);
        Ok(flow)
    }

    /// What it means that the server has ended the connection before its answer.
    fn cut_short(&self) -> AskError {
        match self.connection.has_begun() {
            true => invalid("the connection ended before the answer did"),
            false => AskError::NoHttp2("it ends a connection that begins so"),
        }
    }
}

impl Exchange {
    /// Takes what a frame came to; it breaks off when the answer has ended.
    fn take(&mut self, event: Event<'_>, connection: &mut Connection) -> Result<ControlFlow<()>, AskError> {
        let is_over = match event {
            Event::Fields { stream, end_stream, block } => {
                self.take_fields(stream == self.stream, &block, connection)?;
                end_stream && stream == self.stream
            }
            Event::Data { stream, data, counted, end_stream } => {
                connection.release(counted);
                if stream == self.stream {
                    self.answer.body.extend_from_slice(data);
                }
                end_stream && stream == self.stream
            }
            Event::Reset { stream, code } if stream == self.stream => {
                return Err(invalid(format_args!("the server resets the stream ({code})")));
            }
            Event::Spoilt { stream, code } if stream == self.stream => {
                return Err(invalid(format_args!("a frame spoils the stream ({code})")));
            }
            // What was not looked at has no answer (RFC 9113 §6.8).
            Event::GoAway { last, code } if last < self.stream => {
                return Err(invalid(format_args!("the server goes away before it answers ({code})")));
            }
            Event::Window { stream, increment } if stream == self.stream => {
                self.window += i64::from(increment);
                false
            }
            Event::Settings { window_change } => {
                self.window += window_change;
                false
            }
            _ => false,
        };
        Ok(if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    /// Decodes a block, which keeps the tables of both ends alike, and keeps what an answer needs of it: of the final head, not of
    /// interim ones (1xx) and trailers.
    fn take_fields(
        &mut self,
        is_ours: bool,
        block: &[u8],
        connection: &mut Connection,
    ) -> Result<(), AskError> {
        let (mut status, mut answer, mut length) = (None, Response::default(), None);
        let fits = connection.decode(block, |name, value| {
            let text = || String::from_utf8_lossy(value).into_owned();
            if is_ours {
                self.ending.note(name, value);
            }
            match name {
                b":status" => status = text().parse().ok(),
                b"content-type" => answer.content_type = Some(text()),
                b"content-encoding" => answer.content_encoding = Some(text()),
                b"location" => answer.location = Some(text()),
                b"content-length" => length = text().parse().ok(),
                _ => {}
            }
        });
        if !fits.map_err(invalid)? {
            return Err(invalid("its head is too long"));
        }
        match status {
            _ if !is_ours || self.has_head => {}
            None => return Err(invalid("a head without :status")),
            Some(100..=199) => {}
            Some(status) => {
                (self.has_head, self.length) = (true, length);
                self.answer = Response { status, framing: length.map(Framing::Length), ..answer };
            }
        }
        Ok(())
    }

    /// Writes as much of the request's body as the windows allow.
    fn write_body(&mut self, connection: &mut Connection) {
        while let Some(rest) = &mut self.upload {
            let window = connection.send_window().min(self.window).max(0) as usize;
            let n = rest.len().min(window).min(FRAME_BYTES);
            if n == 0 && !rest.is_empty() {
                return;
            }
            let is_last = n == rest.len();
            let flags = if is_last { flag::END_STREAM } else { 0 };
            write_head(Kind::Data, flags, self.stream, n, connection.out());
            connection.out().extend(rest.drain(..n));
            connection.spend(n);
            self.window -= n as i64;
            if is_last {
                self.upload = None;
            }
        }
    }

    /// The whole answer, whose length is as announced (RFC 9113 §8.1.1).
    fn settled(&mut self) -> Result<Response, AskError> {
        if !self.has_head {
            return Err(invalid("it ended before its head did"));
        }
        let answer = std::mem::take(&mut self.answer);
        let got = answer.body.len() as u64;
        match self.length.filter(|_| !self.is_head && answer.status != 304) {
            Some(length) if length != got => {
                Err(invalid(format_args!("a body of {got} bytes under a content-length of {length}")))
            }
            _ => Ok(answer),
        }
    }
}

fn invalid(problem: impl ToString) -> AskError {
    AskError::Invalid { version: "HTTP/2", problem: problem.to_string() }
}
