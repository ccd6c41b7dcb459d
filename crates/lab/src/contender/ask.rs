//! One request with a bounded time, over the protocol that the load will be in: how readiness is found out, and the answer before
//! any load.

mod call;
mod http1;
mod http2;
mod input;

use std::net::TcpStream;
use std::time::Duration;

use assay_host::names;
use assay_link::Link;
use assay_model::protocol::Protocol;
use assay_model::workload::RequestKind;
use assay_tls::Client;
use thiserror::Error;

use super::answer::Response;
use http1::Http1;
use http2::Http2;
use input::Input;

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
    /// The answer took too long.
    #[error("no complete answer within {:.1} s", .0.as_secs_f64())]
    Timeout(Duration),
    /// A signal came meanwhile (signal(7): a socket with a time limit is interrupted even by those that nobody catches).
    #[error("stopped before a complete answer came")]
    Interrupted,
    /// What came breaks the rules of what was spoken.
    #[error("the answer is no valid {version}: {problem}")]
    Invalid {
        /// `HTTP/1.1` or `HTTP/2`.
        version: &'static str,
        /// The rule that it breaks.
        problem: String,
    },
    /// HTTP/2 was asked for, and something else came.
    #[error("it speaks no HTTP/2: {0}")]
    NoHttp2(&'static str),
    /// A call of gRPC ended with another status than OK.
    #[error("the call ended with status {0}")]
    Call(String),
    /// The request cannot be written.
    #[error("the request cannot be sent: {0}")]
    Request(String),
}

impl AskError {
    /// Whether somebody answered, though wrongly; otherwise waiting may help.
    pub(crate) fn is_answer(&self) -> bool {
        matches!(self, Self::Invalid { .. } | Self::NoHttp2(_) | Self::Call(_) | Self::Request(_))
    }
}

/// Sends `request` to a server, on a connection of its own, and reads the answer to its end.
pub(crate) fn ask(door: Door<'_>, request: &RequestKind, timeout: Duration) -> Result<Response, AskError> {
    let mut line = Line::open(door, timeout)?;
    line.send(request)?;
    line.answer()
}

/// Where a server is asked, and how.
#[derive(Clone, Copy, Debug)]
pub struct Door<'a> {
    /// What leads there.
    pub link: &'a Link,
    /// Host and port of the server.
    pub authority: &'a str,
    /// How the connection is secured; absent where it is not.
    pub tls: Option<&'a Client>,
    /// What is spoken; a WebSocket is asked for in HTTP/1.1.
    pub protocol: Protocol,
}

/// A connection on which one request after the other may be asked.
pub(crate) struct Line<'a> {
    authority: &'a str,
    input: Input,
    spoken: Spoken,
}

enum Spoken {
    Http1(Http1),
    Http2(Box<Http2>),
}

impl<'a> Line<'a> {
    /// Connects; `timeout` is for this and for each answer.
    pub(crate) fn open(door: Door<'a>, timeout: Duration) -> Result<Self, AskError> {
        let socket = connect(door.link, door.authority, timeout)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(timeout))?;
        socket.set_write_timeout(Some(timeout))?;
        let (input, spoken) = if door.protocol.is_http2() {
            let client = door.tls.map(Client::with_http2);
            let input = Input::new(socket, client.as_ref(), timeout)?;
            let http2 = Http2::new(input.security(), door.protocol.is_grpc())?;
            (input, Spoken::Http2(Box::new(http2)))
        } else {
            (Input::new(socket, door.tls, timeout)?, Spoken::Http1(Http1::default()))
        };
        Ok(Self { authority: door.authority, input, spoken })
    }

    /// Sends a request, whose answer is due within the timeout from now.
    pub(crate) fn send(&mut self, request: &RequestKind) -> Result<(), AskError> {
        self.input.begin();
        match &mut self.spoken {
            Spoken::Http1(http1) => http1.send(&mut self.input, self.authority, request),
            Spoken::Http2(http2) => http2.send(&mut self.input, self.authority, request),
        }
    }

    /// Reads the answer to its end.
    pub(crate) fn answer(&mut self) -> Result<Response, AskError> {
        match &mut self.spoken {
            Spoken::Http1(http1) => http1.answer(&mut self.input),
            Spoken::Http2(http2) => http2.answer(&mut self.input),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    fn request() -> RequestKind {
        toml::from_str("path = \"/x\"\nheaders = [[\"Accept\", \"a/b\"]]\nexpect = {}").expect("request")
    }

    fn asked(authority: &str, timeout: Duration) -> Result<Response, AskError> {
        asked_over(Protocol::H1, authority, timeout)
    }

    fn asked_over(protocol: Protocol, authority: &str, timeout: Duration) -> Result<Response, AskError> {
        ask(Door { link: &Link::loopback(), authority, tls: None, protocol }, &request(), timeout)
    }

    /// Answers one connection with `pieces`, one write each, after a request was read; returns the request.
    fn answering(pieces: &'static [&'static str]) -> (Result<Response, AskError>, String) {
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
            let wanted = Response {
                status: 200,
                content_type: Some("text/plain".into()),
                body: b"hello".to_vec(),
                ..Response::default()
            };
            assert_eq!(Response { framing: None, ..answer }, wanted);
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
            assert!(matches!(error, AskError::Invalid { version: "HTTP/1.1", .. }), "{error}");
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

    #[test]
    fn a_server_of_http1_alone_is_told_as_such() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("listener");
        let authority = listener.local_addr().expect("address").to_string();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("connection");
            let mut preface = [0; 24];
            stream.read_exact(&mut preface).expect("preface");
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").expect("answer");
            // The rest of what was sent is read, so that the end is none by reset.
            let _ = stream.read_to_end(&mut Vec::new());
        });
        let error = asked_over(Protocol::H2c, &authority, Duration::from_secs(10)).expect_err("no HTTP/2");
        assert!(matches!(error, AskError::NoHttp2(_)) && error.is_answer(), "{error}");
        server.join().expect("server");
    }
}
