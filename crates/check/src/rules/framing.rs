//! Messages whose end is in doubt: what two servers understand differently, the one behind lets through (RFC 9112 §11.2).

use assay_model::conformance::Severity::{Must, Should};

use super::refusal::{each, refused, refused_and_ended, served_at_most_once};
use crate::objection::Keeping;
use crate::rule::Rule;
use crate::site::Site;

pub(super) const RULES: &[Rule] = &[
    Rule::new(
        "length-and-chunked",
        Must,
        "RFC 9112 §6.1",
        "After a request with both Content-Length and chunked the connection ends; what the length covers is not served.",
        length_and_chunked,
    ),
    Rule::new(
        "chunked-and-length",
        Must,
        "RFC 9112 §6.1",
        "After a request with both chunked and Content-Length the connection ends; what lies in a chunk is not served.",
        chunked_and_length,
    ),
    Rule::new(
        "chunked-http10",
        Must,
        "RFC 9112 §6.1",
        "After a request of HTTP/1.0 with Transfer-Encoding the connection ends.",
        chunked_10,
    ),
    Rule::new(
        "two-lengths",
        Must,
        "RFC 9112 §6.3",
        "A request with two different lengths is refused and the connection ends.",
        two_lengths,
    ),
    Rule::new(
        "length-no-number",
        Must,
        "RFC 9112 §6.3",
        "A request whose Content-Length is no number is refused and the connection ends.",
        length_no_number,
    ),
    Rule::new(
        "length-overflow",
        Must,
        "RFC 9110 §8.6",
        "A Content-Length beyond 64 bits does not wrap around to a small one.",
        length_overflow,
    ),
    Rule::new(
        "coding-not-chunked",
        Must,
        "RFC 9112 §6.3",
        "A request whose last transfer coding is not chunked is refused and the connection ends.",
        coding_not_chunked,
    ),
    Rule::new(
        "coding-spelling",
        Must,
        "RFC 9112 §6.3",
        "What only resembles chunked is not taken for it: it is refused.",
        coding_spelling,
    ),
    Rule::new(
        "chunk-size",
        Must,
        "RFC 9112 §7.1",
        "A chunk size that is no hexadecimal number ends the connection; what lies behind is not served.",
        chunk_size,
    ),
    Rule::new(
        "chunk-size-tail",
        Should,
        "RFC 9112 §7.1",
        "What stands behind a chunk size and is no extension is refused.",
        chunk_size_tail,
    ),
    Rule::new(
        "chunk-overflow",
        Must,
        "RFC 9112 §7.1",
        "A chunk size beyond 64 bits does not wrap around to a small one.",
        chunk_overflow,
    ),
    Rule::new(
        "chunk-end",
        Must,
        "RFC 9112 §7.1",
        "A chunk that is longer than its size ends the connection; what lies behind is not served.",
        chunk_end,
    ),
    Rule::new(
        "chunk-line-end",
        Should,
        "RFC 9112 §7.1",
        "A chunk's line that does not end in CRLF, or holds a lone CR or LF, is refused.",
        chunk_line_end,
    ),
];

const CHUNKED: &str = "Transfer-Encoding: chunked\r\n";

/// A whole request that must never be answered.
fn hidden(site: &Site) -> String {
    String::from_utf8_lossy(&site.request("GET", "X-Hidden: yes\r\n", "")).into_owned()
}

/// GET, though it has a body: a server that does not see the fault then serves it with what is served plainly, while POST
/// might be refused for itself.
fn get(site: &Site, fields: &str, body: &str) -> Vec<u8> {
    site.request("GET", fields, body)
}

fn length_and_chunked(site: &Site) -> Keeping {
    let body = format!("0\r\n\r\n{}", hidden(site));
    let fields = format!("Content-Length: {}\r\n{CHUNKED}", body.len());
    served_at_most_once(site, &get(site, &fields, &body))
}

fn chunked_and_length(site: &Site) -> Keeping {
    let hidden = hidden(site);
    let line = format!("{:x}\r\n", hidden.len());
    let fields = format!("{CHUNKED}Content-Length: {}\r\n", line.len());
    served_at_most_once(site, &get(site, &fields, &format!("{line}{hidden}\r\n0\r\n\r\n")))
}

fn chunked_10(site: &Site) -> Keeping {
    let (hidden, fields) = (hidden(site), format!("Connection: keep-alive\r\n{CHUNKED}"));
    // For those who take it for chunked, and for those who overlook it.
    [format!("0\r\n\r\n{hidden}"), hidden]
        .iter()
        .try_for_each(|body| served_at_most_once(site, &site.request_10("GET", &fields, body)))
}

fn two_lengths(site: &Site) -> Keeping {
    let body = format!("hello{}", hidden(site));
    let all = body.len();
    let variants = [
        format!("Content-Length: 5\r\nContent-Length: {all}\r\n"),
        format!("Content-Length: {all}\r\nContent-Length: 5\r\n"),
        format!("Content-Length: 5, {all}\r\n"),
    ];
    each(variants, |fields| refused_and_ended(site, &get(site, fields, &body)))
}

fn length_no_number(site: &Site) -> Keeping {
    let body = format!("hello{}", hidden(site));
    each(["+5", "-5", "0x5", "5.0", "5 5", "5;5", "five", "1\x005"], |length| {
        refused_and_ended(site, &get(site, &format!("Content-Length: {length}\r\n"), &body))
    })
}

fn length_overflow(site: &Site) -> Keeping {
    let body = format!("hello{}", hidden(site));
    // 2^64 + 5
    refused_and_ended(site, &get(site, "Content-Length: 18446744073709551621\r\n", &body))
}

fn coding_not_chunked(site: &Site) -> Keeping {
    let hidden = hidden(site);
    let with = |coding: &str, body: &str| {
        refused_and_ended(site, &get(site, &format!("Transfer-Encoding: {coding}\r\n"), body))
    };
    each(["identity", "gzip"], |coding| with(coding, &hidden))?;
    each(["chunked, identity", "chunked, gzip"], |coding| with(coding, &format!("0\r\n\r\n{hidden}")))
}

fn coding_spelling(site: &Site) -> Keeping {
    let body = format!("0\r\n\r\n{}", hidden(site));
    each(["xchunked", "chunkedx", "chunked\x0b", "chun ked", "\"chunked\"", "chu\0nked"], |coding| {
        refused(site, &get(site, &format!("Transfer-Encoding: {coding}\r\n"), &body))
    })
}

fn chunk_size(site: &Site) -> Keeping {
    each(["G", "-5", "+5", "0x5", ""], |size| broken_chunk(site, &format!("{size}\r\nhello\r\n0\r\n\r\n")))
}

fn chunk_size_tail(site: &Site) -> Keeping {
    each(["5 5", "5 x", "5_0", "5\0"], |size| broken_chunk(site, &format!("{size}\r\nhello\r\n0\r\n\r\n")))
}

fn chunk_overflow(site: &Site) -> Keeping {
    broken_chunk(site, "10000000000000005\r\nhello\r\n0\r\n\r\n")
}

fn chunk_end(site: &Site) -> Keeping {
    each(["5\r\nhello0\r\n\r\n", "5\r\nhelloXX0\r\n\r\n", "5\r\nhello world\r\n0\r\n\r\n"], |body| {
        broken_chunk(site, body)
    })
}

/// A chunked body that is broken, and a request behind it that must not be served. That the server has refused the
/// request before it came to the body is no fault, nor that it answers before it knows; going on behind it would be.
fn broken_chunk(site: &Site, body: &str) -> Keeping {
    served_at_most_once(site, &get(site, CHUNKED, &format!("{body}{}", hidden(site))))
}

fn chunk_line_end(site: &Site) -> Keeping {
    each(
        [
            "5\nhello\r\n0\r\n\r\n",
            "5;a\nb\r\nhello\r\n0\r\n\r\n",
            "5;a\rb\r\nhello\r\n0\r\n\r\n",
            "5\r\nhello\n0\r\n\r\n",
        ],
        |body| broken_chunk(site, body),
    )
}
