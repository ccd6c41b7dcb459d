//! Requests as they may be, and what their answers look like (RFC 9113 §8.1 to §8.3).

use assay_model::conformance::Severity::Must;

use super::demands::{answers, refuses, serves, serves_field};
use crate::objection::{Keeping, Objection};
use crate::origin::{Origin, request};
use crate::peer::frame::{END_HEADERS, END_STREAM, data, headers};
use crate::peer::{Field, Heard, Reply, block};
use crate::rule::Rule;

/// Fields that belong to one connection of HTTP/1.1, which no message of HTTP/2 has (RFC 9113 §8.2.2).
pub(super) const OF_CONNECTION: [&str; 5] =
    ["connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade"];

pub(super) const RULES: &[Rule] = &[
    Rule::of_http2("h2-get", Must, "RFC 9113 §8.1", "GET is answered, the same each time.", |origin| {
        serves(origin, &[origin.get(1)])
    }),
    Rule::of_http2("h2-head", Must, "RFC 9110 §9.3.2", "HEAD is answered like GET, without a body.", head),
    Rule::of_http2("h2-post", Must, "RFC 9113 §8.1", "POST with a body is answered.", |origin| {
        let head = origin.post(1, &[("content-length", "4")]);
        answers(origin, &[head, data(1, END_STREAM, b"body")])
    }),
    Rule::of_http2(
        "h2-post-without-length",
        Must,
        "RFC 9113 §8.1",
        "POST with a body of untold length is answered.",
        |origin| answers(origin, &[origin.post(1, &[]), data(1, END_STREAM, b"body")]),
    ),
    Rule::of_http2(
        "h2-post-empty",
        Must,
        "RFC 9113 §8.1",
        "POST whose body is empty is answered, whether HEADERS end it or DATA.",
        |origin| {
            answers(origin, &[request(1, END_STREAM, &origin.fields_with("POST", &[]))])?;
            answers(origin, &[origin.post(1, &[("content-length", "0")]), data(1, END_STREAM, b"")])
        },
    ),
    Rule::of_http2("h2-trailers", Must, "RFC 9113 §8.1", "A request may have trailers.", |origin| {
        let trailers = block::fields(&[("x-trailer".to_owned(), "1".to_owned())]);
        let end = headers(1, END_STREAM | END_HEADERS, &trailers);
        answers(origin, &[origin.post(1, &[]), data(1, 0, b"body"), end])
    }),
    Rule::of_http2(
        "h2-trailers-alone",
        Must,
        "RFC 9113 §8.1",
        "A request may have trailers and no body.",
        |origin| {
            let trailers = block::fields(&[("x-trailer".to_owned(), "1".to_owned())]);
            answers(origin, &[origin.post(1, &[]), headers(1, END_STREAM | END_HEADERS, &trailers)])
        },
    ),
    Rule::of_http2(
        "h2-te-trailers",
        Must,
        "RFC 9113 §8.2.2",
        "A request with `te: trailers` is served.",
        |origin| serves_field(origin, "te", "trailers"),
    ),
    Rule::of_http2("h2-cookies", Must, "RFC 9113 §8.2.3", "Cookies may come in several fields.", |origin| {
        let fields = origin.fields_with("GET", &[("cookie", "a=1"), ("cookie", "b=2"), ("cookie", "c=3")]);
        serves(origin, &[request(1, END_STREAM, &fields)])
    }),
    Rule::of_http2("h2-value-empty", Must, "RFC 9110 §5.5", "The value of a field may be empty.", |origin| {
        serves_field(origin, "x-empty", "")
    }),
    Rule::of_http2(
        "h2-name-symbols",
        Must,
        "RFC 9110 §5.6.2",
        "The name of a field may have every character of a token.",
        |origin| serves_field(origin, "x!#$%&'*+-.^`|~_0", "1"),
    ),
    Rule::of_http2(
        "h2-host",
        Must,
        "RFC 9113 §8.3.1",
        "A request with `host` in the place of `:authority` is served.",
        |origin| {
            let mut fields = origin.fields();
            let (_, authority) = fields.remove(3);
            fields.push(("host".to_owned(), authority));
            serves(origin, &[request(1, END_STREAM, &fields)])
        },
    ),
    Rule::of_http2(
        "h2-host-same",
        Must,
        "RFC 9113 §8.3.1",
        "A request whose `host` is that of `:authority` is served.",
        |origin| {
            let host = origin.target.host.clone();
            serves_field(origin, "host", &host)
        },
    ),
    Rule::of_http2(
        "h2-pseudo-any-order",
        Must,
        "RFC 9113 §8.3",
        "Pseudo-header fields may come in any order.",
        |origin| {
            let reversed: Vec<_> = origin.fields().into_iter().rev().collect();
            serves(origin, &[request(1, END_STREAM, &reversed)])
        },
    ),
    Rule::of_http2(
        "h2-expect-continue",
        Must,
        "RFC 9110 §10.1.1",
        "`expect: 100-continue` is answered with 100 or a final status before the body comes.",
        expect_continue,
    ),
    Rule::of_http2(
        "h2-answer-status",
        Must,
        "RFC 9113 §8.3.2",
        "An answer begins with `:status`, and has no other pseudo-header field.",
        |origin| form(origin, pseudo_is_wrong),
    ),
    Rule::of_http2(
        "h2-answer-names",
        Must,
        "RFC 9113 §8.2.1",
        "Names of an answer's fields have no capital letter, no space and no colon.",
        |origin| form(origin, name_is_wrong),
    ),
    Rule::of_http2(
        "h2-answer-values",
        Must,
        "RFC 9113 §8.2.1",
        "Values of an answer's fields have no NUL, CR or LF, and no space at either end.",
        |origin| form(origin, value_is_wrong),
    ),
    Rule::of_http2(
        "h2-answer-connection",
        Must,
        "RFC 9113 §8.2.2",
        "An answer has no field of a connection of HTTP/1.1.",
        |origin| form(origin, is_of_connection),
    ),
    Rule::of_http2(
        "h2-answer-length",
        Must,
        "RFC 9113 §8.1.1",
        "The `content-length` of an answer is the length of its DATA.",
        answer_length,
    ),
    Rule::of_http2(
        "h2-answer-ends",
        Must,
        "RFC 9113 §8.1",
        "Nothing follows on a stream behind the end of its answer.",
        |origin| {
            let mut peer = origin.open()?;
            origin.serves(&mut peer, 1)?;
            let later = peer.goes_on()?;
            let more = |heard: &Heard| {
                matches!(heard, Heard::Fields { stream: 1, .. } | Heard::Data { stream: 1, .. })
            };
            peer.demand(!later.iter().any(more), "more came behind the end of an answer")
        },
    ),
    Rule::of_http2(
        "h2-unknown-path",
        Must,
        "RFC 9110 §15.5.5",
        "A path that there is not is answered, as over HTTP/1.1, and the connection goes on.",
        |origin| {
            let mut fields = origin.fields();
            fields[2].1 = "/assay-check/there-is-nothing-here".to_owned();
            answers(origin, &[request(1, END_STREAM, &fields)])
        },
    ),
    Rule::of_http2(
        "h2-connect",
        Must,
        "RFC 9113 §8.5",
        "CONNECT with a `:path` and a `:scheme` is refused.",
        |origin| refuses(origin, &[request(1, END_STREAM, &origin.fields_with("CONNECT", &[]))]),
    ),
];

fn head(origin: &Origin) -> Keeping {
    let mut peer = origin.open()?;
    peer.send(&[request(1, END_STREAM, &origin.fields_with("HEAD", &[]))])?;
    let reply = peer.reply(1)?;
    peer.demand(reply.body.is_empty(), "the answer to HEAD has a body")?;
    peer.demand(
        reply.status == origin.status,
        &format!("status {} instead of {}", reply.status, origin.status),
    )
}

fn expect_continue(origin: &Origin) -> Keeping {
    let mut peer = origin.open()?;
    peer.send(&[origin.post(1, &[("expect", "100-continue"), ("content-length", "4")])])?;
    let deadline = peer.deadline();
    loop {
        match peer.must_hear(deadline, "100 and no final status")? {
            Heard::Fields { stream: 1, fields, .. } if lets_go_on(&fields) => break,
            Heard::Reset { stream: 1, code } => {
                return Err(peer.fault(&format!("it reset the request ({code})")));
            }
            Heard::End => return Err(peer.fault("it ended the connection")),
            _ => {}
        }
    }
    peer.send(&[data(1, END_STREAM, b"body")])
}

/// Whether a head says 100, or is the last; others may come before either (RFC 9110 §15.2).
fn lets_go_on(fields: &[Field]) -> bool {
    let status = fields.iter().find(|(name, _)| name == b":status").map(|(_, value)| value.as_slice());
    status.is_some_and(|status| status == b"100" || !status.starts_with(b"1"))
}

/// Demands that nothing is wrong with any field of the answers to a plain request, and to one for nothing.
fn form(origin: &Origin, wrong: fn(usize, &Field) -> bool) -> Keeping {
    let mut nothing = origin.fields();
    nothing[2].1 = "/assay-check/there-is-nothing-here".to_owned();
    let mut peer = origin.open()?;
    for (stream, fields) in [(1, &origin.fields()), (3, &nothing)] {
        peer.send(&[request(stream, END_STREAM, fields)])?;
        let reply = peer.reply(stream)?;
        let heads = reply.interim.iter().chain([&reply.fields]);
        let mut all = heads.flat_map(|head| head.iter().enumerate());
        if let Some((_, (name, value))) = all.find(|(at, field)| wrong(*at, field)) {
            let [name, value] = [name, value].map(|bytes| bytes.escape_ascii().to_string());
            return Err(peer.fault(&format!("an answer has the field `{name}: {value}`")));
        }
    }
    Ok(())
}

/// Whether it is a pseudo-header field of answers at its place, or none anywhere else.
fn pseudo_is_wrong(at: usize, (name, _): &Field) -> bool {
    (name == b":status") != (at == 0) || (at > 0 && name.starts_with(b":"))
}

fn name_is_wrong(_: usize, (name, _): &Field) -> bool {
    let name = name.strip_prefix(b":").unwrap_or(name);
    let is_wrong = |byte: &u8| matches!(byte, 0..=b' ' | b'A'..=b'Z' | b':' | 0x7f..);
    name.is_empty() || name.iter().any(is_wrong)
}

fn value_is_wrong(_: usize, (_, value): &Field) -> bool {
    let is_space = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    is_space(value.first())
        || is_space(value.last())
        || value.iter().any(|byte| matches!(byte, 0 | b'\r' | b'\n'))
}

fn is_of_connection(_: usize, (name, _): &Field) -> bool {
    OF_CONNECTION.iter().any(|known| known.as_bytes() == name)
}

fn answer_length(origin: &Origin) -> Keeping {
    let mut peer = origin.open()?;
    peer.send(&[origin.get(1)])?;
    let reply: Reply = peer.reply(1)?;
    let Some(told) = reply.field("content-length") else {
        return Err(Objection::not_applicable("its answer tells no length"));
    };
    let is_right = std::str::from_utf8(told).is_ok_and(|told| told.parse() == Ok(reply.body.len()));
    let told = told.escape_ascii();
    peer.demand(is_right, &format!("it tells a length of {told}, and {} bytes came", reply.body.len()))
}
