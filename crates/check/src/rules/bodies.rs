//! Bodies of requests are read, and never taken for the next request.

use assay_model::conformance::Severity::Must;

use crate::answer::Answer;
use crate::dialogue::Dialogue;
use crate::objection::{Keeping, Objection};
use crate::rule::Rule;
use crate::site::Site;

/// Statuses that say "I cannot make sense of this" where there is sense.
const NOT_UNDERSTOOD: [u16; 2] = [400, 501];
const CHUNKED: &str = "Transfer-Encoding: chunked\r\n";

pub(super) const RULES: &[Rule] = &[
    Rule::new(
        "body-length",
        Must,
        "RFC 9112 §6.3",
        "A body with a Content-Length is read, and not taken for the next request.",
        body_length,
    ),
    Rule::new(
        "body-chunked",
        Must,
        "RFC 9112 §7.1",
        "A chunked body is read, and not taken for the next request.",
        body_chunked,
    ),
    Rule::new(
        "body-chunk-parts",
        Must,
        "RFC 9112 §7.1.1",
        "Unknown chunk extensions are ignored and trailers are read.",
        body_chunk_parts,
    ),
    Rule::new(
        "body-bytes-apart",
        Must,
        "RFC 9112 §2.2",
        "Bodies of which every byte arrives alone are read like whole ones.",
        body_bytes_apart,
    ),
    Rule::new(
        "body-get-length",
        Must,
        "RFC 9112 §6, RFC 9110 §9.3.1",
        "The body of a GET with a Content-Length is not taken for the next request.",
        |site| hides_nothing(site, |hidden| (length(hidden), hidden.to_owned())),
    ),
    Rule::new(
        "body-get-chunked",
        Must,
        "RFC 9112 §6, RFC 9110 §9.3.1",
        "The chunked body of a GET is not taken for the next request.",
        |site| hides_nothing(site, |hidden| (CHUNKED.to_owned(), in_two_chunks(hidden))),
    ),
    Rule::new(
        "expect-continue",
        Must,
        "RFC 9110 §10.1.1",
        "Expect: 100-continue is answered with 100 or a final status before the body comes.",
        expect_continue,
    ),
    Rule::new(
        "expect-continue-http10",
        Must,
        "RFC 9110 §10.1.1, §15.2",
        "Expect: 100-continue in a request of HTTP/1.0 is ignored; no interim answer comes.",
        expect_continue_10,
    ),
];

fn body_length(site: &Site) -> Keeping {
    let hidden = hidden(site);
    let mut talk = site.open()?;
    talk.send(&site.request("POST", &length(&hidden), &hidden))?;
    let answer = talk.answer()?;
    one_more(site, talk, &answer)
}

fn body_chunked(site: &Site) -> Keeping {
    let hidden = hidden(site);
    let request = site.request("POST", CHUNKED, &in_two_chunks(&hidden));
    understood_chunks(site, &hidden, &[request.as_slice()])
}

/// Several trailers: whoever takes one line for the end of them, or the line behind one, goes on in the midst of the others.
fn body_chunk_parts(site: &Site) -> Keeping {
    let body = "5;a=b;c=\"d;e\"\r\nhello\r\n0;last\r\nX-Trailer: yes\r\nX-Other: 1\r\nX-More: 2\r\n\r\n";
    understood_chunks(site, "hello", &[site.request("POST", CHUNKED, body).as_slice()])
}

fn body_bytes_apart(site: &Site) -> Keeping {
    let request = site.request("POST", CHUNKED, "5\r\nhello\r\n6;x\r\n world\r\n0\r\n\r\n");
    let chunks: Vec<&[u8]> = request.chunks(1).collect();
    understood_chunks(site, "hello world", &chunks)
}

/// Demands that a GET whose body is a whole request, in this framing, gets an answer of its own alone. A server may also refuse
/// it or end the connection: its body has no meaning, and others have hidden requests there (RFC 9110 §9.3.1).
fn hides_nothing(site: &Site, framed: fn(&str) -> (String, String)) -> Keeping {
    let (fields, body) = framed(&hidden(site));
    let mut talk = site.open()?;
    talk.send(&site.request("GET", &fields, &body))?;
    match talk.answer_or_end()? {
        None => Ok(()),
        Some(answer) => one_more(site, talk, &answer),
    }
}

fn expect_continue(site: &Site) -> Keeping {
    let mut talk = site.open()?;
    talk.send(&site.request("POST", "Expect: 100-continue\r\nContent-Length: 5\r\n", ""))?;
    if talk.answer_or_continue()?.status() != 100 {
        return Ok(());
    }
    talk.send(b"hello")?;
    let answer = talk.answer()?;
    one_more(site, talk, &answer)
}

/// A client of HTTP/1.0 knows of no answers before the final one, and does not wait for any.
fn expect_continue_10(site: &Site) -> Keeping {
    let mut talk = site.open()?;
    talk.send(&site.request_10("POST", "Expect: 100-continue\r\nContent-Length: 5\r\n", ""))?;
    site.pause();
    talk.send(b"hello")?;
    match talk.any_answer_or_end()? {
        Some(answer) if answer.head.is_interim() => {
            Err(talk.fault(&format!("it sends {} to a client of HTTP/1.0", answer.status())))
        }
        _ => Ok(()),
    }
}

/// Sends a chunked request in pieces, and demands the answer that this content gets with a length, and none more. What an
/// application makes of the content is its own business.
fn understood_chunks(site: &Site, content: &str, pieces: &[&[u8]]) -> Keeping {
    let with_length = site.ask(&site.request("POST", &length(content), content))?;
    let mut talk = site.open()?;
    for piece in pieces {
        talk.send(piece)?;
        if pieces.len() > 1 {
            site.pause();
        }
    }
    let answer = talk.answer()?;
    // A server may insist on a length (411, RFC 9112 §6.3), and then it says so.
    let misunderstood = NOT_UNDERSTOOD.contains(&answer.status()) && answer.status() != with_length.status();
    talk.demand(!misunderstood, "a chunked body was not understood")?;
    one_more(site, talk, &answer)
}

/// Demands that behind `answer` the connection either ends or gives exactly one more answer to one more request.
fn one_more(site: &Site, mut talk: Dialogue, answer: &Answer) -> Keeping {
    talk.send(&site.request("GET", "Connection: close\r\n", ""))?;
    if answer.is_last() {
        return talk.end();
    }
    match talk.answer_or_end()? {
        // It had said nothing of it, but may close where it does not want to read a body.
        None => Ok(()),
        Some(answer) => match site.difference(&answer) {
            Some(difference) => Err(talk.fault(&difference)),
            None => talk.end(),
        },
    }
    .map_err(|objection: Objection| objection.on("after the body"))
}

fn length(content: &str) -> String {
    format!("Content-Length: {}\r\n", content.len())
}

fn in_two_chunks(content: &str) -> String {
    let (start, end) = content.split_at(content.len() / 2);
    format!("{:x}\r\n{start}\r\n{:X}\r\n{end}\r\n0\r\n\r\n", start.len(), end.len())
}

/// A whole request, to be sent as a body. Were it answered, its answer would stand where that of the next belongs.
fn hidden(site: &Site) -> String {
    String::from_utf8_lossy(&site.request_for("GET", super::NOWHERE, "X-Hidden: yes\r\n", "")).into_owned()
}
