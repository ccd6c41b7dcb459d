//! One request with a bounded time: how readiness is found out, and the answer before any load.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use assay_host::names;
use assay_http::render::{RequestSpec, request_head};
use assay_http::{BodyReader, Framing, Limits, ResponseHead, Scan, scan_response};
use assay_link::Link;
use assay_model::workload::RequestKind;
use assay_tls::{Client, Stream};
use thiserror::Error;

use super::answer::Answer;

/// Largest answer that is read.
const MAX_ANSWER_BYTES: usize = 64 << 20;

/// Why no complete answer came.
#[derive(Debug, Error)]
pub(crate) enum AskError {
    /// Nobody listens, or not yet.
    #[error("nobody listens at {0}")]
    Refused(String),
    /// The connection could not be made or broke.
    #[error("the connection failed: {0}")]
    Connection(#[from] std::io::Error),
    /// It took too long.
    #[error("no complete answer within {:.1} s", .0.as_secs_f64())]
    Timeout(Duration),
    /// What came was no HTTP/1.1.
    #[error("the answer is no valid HTTP/1.1: {0}")]
    Invalid(String),
    /// The request cannot be written.
    #[error("the request cannot be sent: {0}")]
    Request(String),
}

impl AskError {
    /// Whether somebody answered, though wrongly; otherwise waiting may help.
    pub(crate) fn is_answer(&self) -> bool {
        matches!(self, Self::Invalid(_) | Self::Request(_))
    }
}

/// Sends `request` to a server, on a connection of its own, and reads the answer to its end.
pub(crate) fn ask(door: Door<'_>, request: &RequestKind, timeout: Duration) -> Result<Answer, AskError> {
    let mut line = Line::open(door, timeout)?;
    line.send(request)?;
    line.answer()
}

/// Where a server is asked, and how.
#[derive(Clone, Copy, Debug)]
pub struct Door<'a> {
    /// What leads there.
    pub link: &'a Link,
    /// Its host and port.
    pub authority: &'a str,
    /// How the connection is secured; absent for plain HTTP.
    pub tls: Option<&'a Client>,
}

/// A connection on which one request after the other may be asked.
pub(crate) struct Line<'a> {
    authority: &'a str,
    input: Input,
    /// Whether the last request was for a head alone.
    is_head: bool,
}

impl<'a> Line<'a> {
    /// Connects; `timeout` is for this and for each answer.
    pub(crate) fn open(door: Door<'a>, timeout: Duration) -> Result<Self, AskError> {
        let Door { link, authority, tls } = door;
        let socket = connect(link, authority, timeout)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(timeout))?;
        socket.set_write_timeout(Some(timeout))?;
        let stream = match tls {
            None => Transport::Plain(socket),
            Some(client) => Transport::Secured(Box::new(client.secured_stream(socket)?)),
        };
        let input = Input { stream, bytes: Vec::new(), deadline: Instant::now() + timeout, timeout };
        Ok(Self { authority, input, is_head: false })
    }

    /// Sends a request, whose answer is due within the timeout from now.
    pub(crate) fn send(&mut self, request: &RequestKind) -> Result<(), AskError> {
        let bytes = render(self.authority, request)?;
        self.is_head = request.method == "HEAD";
        self.input.deadline = Instant::now() + self.input.timeout;
        Ok(self.input.stream.both().write_all(&bytes)?)
    }

    /// Reads the answer to its end.
    pub(crate) fn answer(&mut self) -> Result<Answer, AskError> {
        let head = self.input.head()?;
        let framing = head.framing(self.is_head);
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        let field = |name| head.field(&self.input.bytes, name).map(text);
        let answer = Answer {
            status: head.status,
            content_type: field("content-type"),
            content_encoding: field("content-encoding"),
            location: field("location"),
            framing: Some(framing),
            body: Vec::new(),
        };
        self.input.bytes.drain(..head.len as usize);
        Ok(Answer { body: self.input.body(framing)?, ..answer })
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

fn connect(link: &Link, authority: &str, timeout: Duration) -> Result<TcpStream, AskError> {
    let addresses = names::resolve(authority)?;
    let mut last = AskError::Refused(authority.to_owned());
    for address in addresses {
        match link.connect(&address, timeout) {
            Ok(stream) => return Ok(stream),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {}
            Err(error) if error.kind() == std::io::ErrorKind::TimedOut => last = AskError::Timeout(timeout),
            Err(error) => last = error.into(),
        }
    }
    Err(last)
}

/// A connection, plain or secured.
enum Transport {
    Plain(TcpStream),
    Secured(Box<Stream>),
}

/// What can be read and written.
trait Both: Read + Write {}
impl<T: Read + Write> Both for T {}

impl Transport {
    fn both(&mut self) -> &mut dyn Both {
        match self {
            Self::Plain(stream) => stream,
            Self::Secured(stream) => stream,
        }
    }

    fn socket(&self) -> &TcpStream {
        match self {
            Self::Plain(stream) => stream,
            Self::Secured(stream) => &stream.sock,
        }
    }
}

/// Bytes as they arrive, until the deadline.
struct Input {
    stream: Transport,
    bytes: Vec<u8>,
    deadline: Instant,
    timeout: Duration,
}

impl Input {
    /// The final head, at the start of the bytes; interim ones (1xx) are taken off.
    fn head(&mut self) -> Result<ResponseHead, AskError> {
        loop {
            match scan_response(&self.bytes, &Limits::DEFAULT) {
                Scan::Complete(head) if head.is_interim() => {
                    self.bytes.drain(..head.len as usize);
                }
                Scan::Complete(head) => return Ok(head),
                Scan::Invalid(error) => return Err(AskError::Invalid(error.to_string())),
                Scan::Partial => {
                    if !self.more()? {
                        return Err(AskError::Invalid("it ended before its head did".to_owned()));
                    }
                }
            }
        }
    }

    fn body(&mut self, framing: Framing) -> Result<Vec<u8>, AskError> {
        let invalid = |error: assay_http::BodyError| AskError::Invalid(error.to_string());
        let mut reader = BodyReader::new(framing);
        let mut body = Vec::new();
        loop {
            while !self.bytes.is_empty() && !reader.is_finished() {
                let step = reader.next(&self.bytes).map_err(invalid)?;
                body.extend_from_slice(step.data);
                let consumed = step.consumed;
                self.bytes.drain(..consumed);
            }
            if reader.is_finished() {
                return Ok(body);
            }
            if body.len() > MAX_ANSWER_BYTES {
                return Err(AskError::Invalid(format!("its body is larger than {MAX_ANSWER_BYTES} bytes")));
            }
            if !self.more()? {
                return reader.finish_at_eof().map(|()| body).map_err(invalid);
            }
        }
    }

    /// Reads once; false at the end of input.
    fn more(&mut self) -> Result<bool, AskError> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(AskError::Timeout(self.timeout));
        }
        self.stream.socket().set_read_timeout(Some(left))?;
        let mut buffer = [0; 16 << 10];
        match self.stream.both().read(&mut buffer) {
            Ok(read) => {
                self.bytes.extend_from_slice(&buffer[..read]);
                Ok(read > 0)
            }
            Err(error)
                if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) =>
            {
                Err(AskError::Timeout(self.timeout))
            }
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn request() -> RequestKind {
        toml::from_str("path = \"/x\"\nheaders = [[\"Accept\", \"a/b\"]]\nexpect = {}").expect("request")
    }

    fn asked(authority: &str, timeout: Duration) -> Result<Answer, AskError> {
        ask(Door { link: &Link::loopback(), authority, tls: None }, &request(), timeout)
    }

    /// Answers one connection with `pieces`, one write each, after a request was read; returns the request.
    fn answering(pieces: &'static [&'static str]) -> (Result<Answer, AskError>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("listener");
        let authority = listener.local_addr().expect("address").to_string();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("connection");
            let mut request = Vec::new();
            let mut byte = [0];
            while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).expect("request") == 1 {
                request.push(byte[0]);
            }
            for piece in pieces {
                stream.write_all(piece.as_bytes()).expect("answer");
                stream.flush().expect("answer");
            }
            String::from_utf8(request).expect("text")
        });
        let answer = asked(&authority, Duration::from_secs(10));
        let request = server.join().expect("server").replace(&authority, "HOST");
        (answer, request)
    }

    #[test]
    fn every_framing() {
        for pieces in [
            &["HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhel", "lo"][..],
            &[
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r",
                "\nllo\r\n0\r\n\r\n",
            ],
            &["HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n", "hel", "lo"],
            &[
                "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello",
            ],
        ] {
            let (answer, request) = answering(pieces);
            let answer = answer.expect("answer");
            let wanted = Answer {
                status: 200,
                content_type: Some("text/plain".into()),
                body: b"hello".to_vec(),
                ..Answer::default()
            };
            assert_eq!(Answer { framing: None, ..answer }, wanted);
            assert_eq!(request, "GET /x HTTP/1.1\r\nHost: HOST\r\nAccept: a/b\r\n\r\n");
        }
    }

    #[test]
    fn what_is_no_answer() {
        for pieces in [
            &["garbage\r\n\r\n"][..],
            &["HTTP/1.1 200 OK\r\n"],
            &["HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"],
        ] {
            let error = answering(pieces).0.expect_err("no answer");
            assert!(matches!(error, AskError::Invalid(_)), "{error}");
        }
        let free =
            TcpListener::bind("127.0.0.1:0").expect("listener").local_addr().expect("address").to_string();
        assert!(matches!(asked(&free, Duration::from_secs(1)), Err(AskError::Refused(_))));
    }

    #[test]
    fn a_silent_server_times_out() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("listener");
        let authority = listener.local_addr().expect("address").to_string();
        let error = asked(&authority, Duration::from_millis(50)).expect_err("silence");
        assert!(matches!(error, AskError::Timeout(_)), "{error}");
    }
}
