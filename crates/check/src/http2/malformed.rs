//! Requests that are malformed: who takes them lets others be misled behind it (RFC 9113 §8.1.1, §10.3).

use assay_model::conformance::Severity::{Must, Should};

use super::demands::{refuses, refuses_field, refuses_rest, refuses_when};
use super::messages::OF_CONNECTION;
use crate::objection::Keeping;
use crate::origin::{Fields, Origin, request};
use crate::peer::block;
use crate::peer::frame::{END_HEADERS, END_STREAM, Frame, data, headers};
use crate::rule::Rule;
use crate::rules::each;

pub(super) const RULES: &[Rule] = &[
    Rule::of_http2(
        "h2-name-uppercase",
        Must,
        "RFC 9113 §8.2.1",
        "A field whose name has a capital letter is malformed.",
        |origin| refuses_field(origin, "X-Upper", "1"),
    ),
    Rule::of_http2(
        "h2-name-space",
        Must,
        "RFC 9113 §8.2.1",
        "A field whose name has a space or a control character is malformed.",
        |origin| each(["x y", "x ", "x\ty", "x\0y", "x\r\ny"], |name| refuses_field(origin, name, "1")),
    ),
    Rule::of_http2(
        "h2-name-colon",
        Must,
        "RFC 9113 §8.2.1",
        "A field whose name has a colon inside is malformed.",
        |origin| refuses_field(origin, "x:y", "1"),
    ),
    Rule::of_http2(
        "h2-name-not-ascii",
        Must,
        "RFC 9113 §8.2.1",
        "A field whose name has a byte above 0x7e is malformed.",
        |origin| each(["x\u{7f}", "x\u{fc}"], |name| refuses_field(origin, name, "1")),
    ),
    Rule::of_http2(
        "h2-name-empty",
        Must,
        "RFC 9110 §5.6.2",
        "A field without a name is malformed.",
        |origin| refuses_field(origin, "", "1"),
    ),
    Rule::of_http2("h2-value-nul", Must, "RFC 9113 §8.2.1", "A value with NUL is malformed.", |origin| {
        refuses_field(origin, "x-value", "a\0b")
    }),
    Rule::of_http2("h2-value-cr", Must, "RFC 9113 §8.2.1", "A value with CR is malformed.", |origin| {
        refuses_field(origin, "x-value", "a\rb")
    }),
    Rule::of_http2("h2-value-lf", Must, "RFC 9113 §8.2.1", "A value with LF is malformed.", |origin| {
        each(["a\nb", "a\r\nx-more: 1"], |value| refuses_field(origin, "x-value", value))
    }),
    Rule::of_http2(
        "h2-value-space",
        Must,
        "RFC 9113 §8.2.1",
        "A value that begins or ends with a space or a tab is malformed.",
        |origin| each([" a", "a ", "\ta", "a\t"], |value| refuses_field(origin, "x-value", value)),
    ),
    Rule::of_http2(
        "h2-field-connection",
        Must,
        "RFC 9113 §8.2.2",
        "A request with `connection` is malformed.",
        |origin| refuses_field(origin, OF_CONNECTION[0], "close"),
    ),
    Rule::of_http2(
        "h2-field-proxy-connection",
        Must,
        "RFC 9113 §8.2.2",
        "A request with `proxy-connection` is malformed.",
        |origin| refuses_field(origin, OF_CONNECTION[1], "keep-alive"),
    ),
    Rule::of_http2(
        "h2-field-keep-alive",
        Must,
        "RFC 9113 §8.2.2",
        "A request with `keep-alive` is malformed.",
        |origin| refuses_field(origin, OF_CONNECTION[2], "timeout=5"),
    ),
    Rule::of_http2(
        "h2-field-transfer-encoding",
        Must,
        "RFC 9113 §8.2.2",
        "A request with `transfer-encoding` is malformed.",
        |origin| refuses_field(origin, OF_CONNECTION[3], "chunked"),
    ),
    Rule::of_http2(
        "h2-field-upgrade",
        Must,
        "RFC 9113 §8.2.2",
        "A request with `upgrade` is malformed.",
        |origin| refuses_field(origin, OF_CONNECTION[4], "h2c"),
    ),
    Rule::of_http2(
        "h2-field-te",
        Must,
        "RFC 9113 §8.2.2",
        "A request with `te` other than `trailers` is malformed.",
        |origin| refuses_field(origin, "te", "trailers, deflate;q=0.5"),
    ),
    Rule::of_http2(
        "h2-pseudo-unknown",
        Must,
        "RFC 9113 §8.3",
        "A request with an unknown pseudo-header field is malformed.",
        |origin| refuses_when(origin, |fields| insert(fields, ":test", "ok")),
    ),
    Rule::of_http2(
        "h2-pseudo-of-answers",
        Must,
        "RFC 9113 §8.3",
        "A request with `:status` is malformed.",
        |origin| refuses_when(origin, |fields| insert(fields, ":status", "200")),
    ),
    Rule::of_http2(
        "h2-pseudo-in-trailers",
        Must,
        "RFC 9113 §8.3",
        "Trailers with a pseudo-header field are malformed.",
        |origin| refuses_trailers(origin, ":method", "POST"),
    ),
    Rule::of_http2(
        "h2-pseudo-behind-field",
        Must,
        "RFC 9113 §8.3",
        "A pseudo-header field behind another field makes a request malformed.",
        |origin| refuses_when(origin, |fields| fields.insert(3, ("x-test".to_owned(), "ok".to_owned()))),
    ),
    Rule::of_http2(
        "h2-method-missing",
        Must,
        "RFC 9113 §8.3.1",
        "A request without `:method` is malformed.",
        |origin| refuses_when(origin, |fields| fields.retain(|(name, _)| name != ":method")),
    ),
    Rule::of_http2(
        "h2-scheme-missing",
        Must,
        "RFC 9113 §8.3.1",
        "A request without `:scheme` is malformed.",
        |origin| refuses_when(origin, |fields| fields.retain(|(name, _)| name != ":scheme")),
    ),
    Rule::of_http2(
        "h2-path-missing",
        Must,
        "RFC 9113 §8.3.1",
        "A request without `:path` is malformed.",
        |origin| refuses_when(origin, |fields| fields.retain(|(name, _)| name != ":path")),
    ),
    Rule::of_http2(
        "h2-path-empty",
        Must,
        "RFC 9113 §8.3.1",
        "A request whose `:path` is empty is malformed.",
        |origin| refuses_when(origin, |fields| fields[2].1.clear()),
    ),
    Rule::of_http2(
        "h2-path-relative",
        Must,
        "RFC 9113 §8.3.1",
        "A `:path` that does not begin with a slash is malformed.",
        |origin| refuses_when(origin, |fields| fields[2].1.insert(0, 'x')),
    ),
    Rule::of_http2(
        "h2-path-space",
        Must,
        "RFC 9113 §8.3.1",
        "A `:path` with a space, as would make two lines of one in HTTP/1.1, is malformed.",
        |origin| {
            each([" HTTP/1.1\r\nx: y", "\r\nx: y", " x"], |more| {
                refuses_when(origin, |fields| fields[2].1.push_str(more))
            })
        },
    ),
    Rule::of_http2(
        "h2-authority-space",
        Must,
        "RFC 9113 §8.3.1",
        "An `:authority` with a space or the end of a line, as would add a field in HTTP/1.1, is malformed.",
        |origin| {
            each(["\r\nx: y", "\nx: y", " x"], |more| {
                refuses_when(origin, |fields| fields[3].1.push_str(more))
            })
        },
    ),
    Rule::of_http2(
        "h2-method-empty",
        Must,
        "RFC 9113 §8.3.1",
        "A request whose `:method` is empty or no token is malformed.",
        |origin| {
            each(["", "GE T", "GET / HTTP/1.1\r\nx:"], |method| {
                refuses_when(origin, |fields| fields[0].1 = (*method).to_owned())
            })
        },
    ),
    Rule::of_http2(
        "h2-method-twice",
        Must,
        "RFC 9113 §8.3",
        "A request with `:method` twice is malformed.",
        |origin| twice(origin, 0),
    ),
    Rule::of_http2(
        "h2-scheme-twice",
        Must,
        "RFC 9113 §8.3",
        "A request with `:scheme` twice is malformed.",
        |origin| twice(origin, 1),
    ),
    Rule::of_http2(
        "h2-path-twice",
        Must,
        "RFC 9113 §8.3",
        "A request with `:path` twice is malformed.",
        |origin| twice(origin, 2),
    ),
    Rule::of_http2(
        "h2-authority-twice",
        Must,
        "RFC 9113 §8.3",
        "A request with `:authority` twice is malformed.",
        |origin| twice(origin, 3),
    ),
    Rule::of_http2(
        "h2-host-differs",
        Should,
        "RFC 9113 §8.3.1",
        "A request whose `host` is another than `:authority` is malformed.",
        |origin| refuses_field(origin, "host", "another.example"),
    ),
    Rule::of_http2(
        "h2-length-too-short",
        Must,
        "RFC 9113 §8.1.1",
        "A body longer than `content-length` makes a request malformed.",
        |origin| refuses_body(origin, "1", &[data(1, END_STREAM, b"test")]),
    ),
    Rule::of_http2(
        "h2-length-too-long",
        Must,
        "RFC 9113 §8.1.1",
        "A body shorter than `content-length` makes a request malformed.",
        |origin| refuses_body(origin, "5", &[data(1, END_STREAM, b"test")]),
    ),
    Rule::of_http2(
        "h2-length-of-parts",
        Must,
        "RFC 9113 §8.1.1",
        "Several DATA that are longer together than `content-length` make a request malformed.",
        |origin| refuses_body(origin, "5", &[data(1, 0, b"test"), data(1, END_STREAM, b"test")]),
    ),
    Rule::of_http2(
        "h2-length-without-body",
        Must,
        "RFC 9113 §8.1.1",
        "A request that ends with its HEADERS and has a `content-length` above 0 is malformed.",
        |origin| {
            refuses(
                origin,
                &[request(1, END_STREAM, &origin.fields_with("POST", &[("content-length", "4")]))],
            )
        },
    ),
    Rule::of_http2(
        "h2-length-before-trailers",
        Must,
        "RFC 9113 §8.1.1",
        "A body shorter than `content-length` makes a request malformed although trailers end it.",
        |origin| {
            let trailers = block::fields(&[("x-trailer".to_owned(), "1".to_owned())]);
            let end = headers(1, END_STREAM | END_HEADERS, &trailers);
            refuses_body(origin, "5", &[data(1, 0, b"test"), end])
        },
    ),
    Rule::of_http2(
        "h2-length-no-number",
        Must,
        "RFC 9110 §8.6",
        "A `content-length` that is no number makes a request malformed.",
        |origin| {
            each(["+4", "-4", "0x4", "4.0", "four", ""], |length| {
                let head = origin.post(1, &[("content-length", length)]);
                refuses(origin, &[head, data(1, END_STREAM, b"test")])
            })
        },
    ),
    Rule::of_http2(
        "h2-lengths-differ",
        Must,
        "RFC 9110 §8.6",
        "Two different `content-length` make a request malformed.",
        |origin| {
            let head = origin.post(1, &[("content-length", "4"), ("content-length", "5")]);
            refuses(origin, &[head, data(1, END_STREAM, b"test")])
        },
    ),
    Rule::of_http2(
        "h2-second-headers",
        Must,
        "RFC 9113 §8.1",
        "HEADERS inside a request that do not end it make it malformed.",
        |origin| {
            let more = headers(1, END_HEADERS, &block::fields(&[("x-test".to_owned(), "ok".to_owned())]));
            refuses_rest(origin, &origin.post(1, &[]), &[more, data(1, END_STREAM, b"test")])
        },
    ),
    Rule::of_http2(
        "h2-trailers-uppercase",
        Must,
        "RFC 9113 §8.2.1",
        "Trailers whose name has a capital letter are malformed.",
        |origin| refuses_trailers(origin, "X-Upper", "1"),
    ),
    Rule::of_http2(
        "h2-trailers-connection",
        Must,
        "RFC 9113 §8.2.2",
        "Trailers with a field of a connection of HTTP/1.1 are malformed.",
        |origin| refuses_trailers(origin, OF_CONNECTION[3], "chunked"),
    ),
];

/// Adds a field where pseudo-header fields stand.
fn insert(fields: &mut Fields, name: &str, value: &str) {
    fields.insert(0, (name.to_owned(), value.to_owned()));
}

/// Demands that the plain request is not served with its field at this place twice.
fn twice(origin: &Origin, at: usize) -> Keeping {
    refuses_when(origin, |fields| fields.insert(at, fields[at].clone()))
}

/// Demands that a POST of this length with this body is not served.
fn refuses_body(origin: &Origin, length: &str, body: &[Frame]) -> Keeping {
    refuses_rest(origin, &origin.post(1, &[("content-length", length)]), body)
}

/// Demands that a POST with this trailer is not served.
fn refuses_trailers(origin: &Origin, name: &str, value: &str) -> Keeping {
    let trailers = block::fields(&[(name.to_owned(), value.to_owned())]);
    let end = headers(1, END_STREAM | END_HEADERS, &trailers);
    refuses_rest(origin, &origin.post(1, &[]), &[data(1, 0, b"test"), end])
}
