//! Messages that the integration tests split, mutate and compare with an independent parser.

use assay_http::{BodyError, BodyReader, Framing};

/// Requests, valid and not.
pub(crate) const REQUESTS: &[&[u8]] = &[
    b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"\r\n\r\nGET /a%20b/c?d=e&f=%41 HTTP/1.1\r\nHost: [::1]:8080\r\nAccept-Encoding: gzip, br\r\nX:\t y \r\n\r\n",
    b"POST /upload HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nhello",
    b"POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nX: y\r\n\r\nGET / HTTP/1.1\r\n",
    b"HEAD http://a.b:80/x HTTP/1.1\r\nhost: a.b:80\r\nConnection: close, x\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n",
    b"GET /old HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    b"PURGE /x HTTP/1.1\r\nHost: h\r\nRange: bytes=0-99\r\nIf-None-Match: \"abc\", W/\"d\"\r\nIf-Range: x\r\n\r\n",
    b"GET /plaintext HTTP/1.1\r\nHost: h\r\nUser-Agent: \xc3\xa9\xff\r\n\r\nGET /plaintext HTTP/1.1\r\nHost: h\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nabc",
    b"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
    b"GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
    b"GET / HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: h\r\nA: b\r\n c\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: h\r\nA : b\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: h\r\nA: b\0\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: h\r\nA: b\rc\r\n\r\n",
    b"GET / HTTP/1.1\nHost: h\n\n",
    b"GET / HTTP/3.0\r\nHost: h\r\n\r\n",
    b"GET /a#b HTTP/1.1\r\nHost: h\r\n\r\n",
    b"CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\n\r\n",
    b"GET /\r\n\r\n",
];

/// Responses with what follows them, valid and not.
pub(crate) const RESPONSES: &[&[u8]] = &[
    b"HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nServer: x\r\nContent-Type: text/plain\r\n\
      Content-Length: 13\r\n\r\nHello, World!HTTP/1.1 200 OK\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=\"y z\"\r\n world\r\n0\r\nA: b\r\nC:\r\n\r\nHTTP",
    b"HTTP/1.1 200 \r\nTransfer-Encoding: gzip, chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
    b"HTTP/1.0 200 OK\r\n\r\neverything until the end",
    b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nokHTTP",
    b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n",
    b"HTTP/1.1 304 Not Modified\r\nContent-Length: 100\r\nETag: \"x\"\r\n\r\nHTTP/1.1",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 200 OK\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 3, 3\r\nContent-Length: 3\r\n\r\nabc",
    b"HTTP/1.1 200 OK\r\nX: \t \r\nY:z\t\r\n\xc3: a\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 3, 4\r\n\r\nabc",
    b"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\nabc",
    b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloX\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000000\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\nx\n0\n\n",
    b"HTTP/1.1 200\r\n\r\n",
    b"HTTP/1.1 200 OK\nContent-Length: 0\n\n",
    b"HTTP/1.1 200 OK\r\n Folded: x\r\n\r\n",
    b"HTTP/2 200\r\n\r\n",
    b"SSH-2.0-OpenSSH_9.2\r\n",
];

/// What reading a body gave.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) data: Vec<u8>,
    pub(crate) consumed: usize,
    pub(crate) at_eof: Result<(), BodyError>,
}

/// Reads a body that arrives in the given pieces, then the end of the connection.
pub(crate) fn read_body<'p>(
    framing: Framing,
    pieces: impl IntoIterator<Item = &'p [u8]>,
) -> Result<Read, BodyError> {
    let mut reader = BodyReader::new(framing);
    let (mut data, mut consumed) = (Vec::new(), 0);
    for mut piece in pieces {
        while !piece.is_empty() && !reader.is_finished() {
            let step = reader.next(piece)?;
            assert!(step.consumed > 0, "no progress");
            assert_eq!(step.finished, reader.is_finished());
            data.extend_from_slice(step.data);
            consumed += step.consumed;
            piece = &piece[step.consumed..];
        }
    }
    Ok(Read { data, consumed, at_eof: reader.finish_at_eof() })
}
