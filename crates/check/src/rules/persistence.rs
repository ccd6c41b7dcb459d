//! Connections that stay open, and those that end.

use assay_model::conformance::Severity::{Must, Should};

use super::delivery::{next_plain, plain_answer};
use crate::objection::{Keeping, Objection};
use crate::rule::Rule;
use crate::site::Site;

/// Requests on one connection, one after the other.
const MANY: usize = 100;
/// Connections at once.
const CONCURRENT: usize = 64;

const CLOSE: &str = "Connection: close\r\n";
const KEEP_ALIVE: &str = "Connection: keep-alive\r\n";

pub(super) const RULES: &[Rule] = &[
    Rule::new(
        "keep-alive",
        Should,
        "RFC 9112 §9.3",
        "A connection stays open behind an answer, and a second request is answered on it.",
        |site| one_after_the_other(site, 2),
    ),
    Rule::new(
        "hundred-requests",
        Should,
        "RFC 9112 §9.5",
        "A hundred requests are answered one after the other on one connection.",
        hundred_requests,
    ),
    Rule::new(
        "concurrent",
        Must,
        "RFC 9112 §9.4",
        "Requests on 64 connections at once are all answered.",
        concurrent,
    ),
    Rule::new(
        "close",
        Must,
        "RFC 9112 §9.6",
        "After a request with Connection: close comes one answer and the end of the connection.",
        close,
    ),
    Rule::new(
        "close-said",
        Should,
        "RFC 9112 §9.6",
        "The answer to a request with Connection: close says close as well.",
        close_said,
    ),
    Rule::new(
        "nothing-after-close",
        Must,
        "RFC 9112 §9.6",
        "A request sent behind one with Connection: close is not answered.",
        nothing_after_close,
    ),
    Rule::new(
        "close-http10",
        Must,
        "RFC 9112 §9.3",
        "After a request of HTTP/1.0 without keep-alive the connection ends.",
        close_10,
    ),
    Rule::new(
        "keep-alive-http10",
        Should,
        "RFC 9112 §9.3",
        "After a request of HTTP/1.0 with keep-alive the connection ends, unless the answer says keep-alive.",
        keep_alive_10,
    ),
    Rule::new(
        "no-chunks-http10",
        Must,
        "RFC 9112 §6.1",
        "An answer to a request of HTTP/1.0 has no Transfer-Encoding.",
        no_chunks_10,
    ),
    Rule::new(
        "half-close",
        Should,
        "RFC 9293 §3.6",
        "A client that ends its direction behind a request still gets the answer.",
        half_close,
    ),
];

fn hundred_requests(site: &Site) -> Keeping {
    site.needs_keep_alive()?;
    one_after_the_other(site, MANY)
}

/// Demands that so many requests on one connection are answered. Which answer is its last, a server may say (RFC 9112 §9.6), and
/// then nothing behind it was left without an answer.
fn one_after_the_other(site: &Site, many: usize) -> Keeping {
    let mut talk = site.open()?;
    (1..=many).try_for_each(|i| {
        talk.send(&site.get())?;
        let answer = next_plain(site, &mut talk).map_err(|objection| objection.on(format!("request {i}")))?;
        let goes_on = i == many || !answer.is_last();
        talk.demand(goes_on, &format!("answer {i} says that it is the last on its connection"))
    })
}

fn concurrent(site: &Site) -> Keeping {
    let mut talks = (0..CONCURRENT).map(|_| site.open()).collect::<Result<Vec<_>, Objection>>()?;
    talks.iter_mut().try_for_each(|talk| talk.send(&site.get()))?;
    talks.iter_mut().try_for_each(|talk| plain_answer(site, talk))
}

fn close(site: &Site) -> Keeping {
    let mut talk = site.open()?;
    talk.send(&site.request("GET", CLOSE, ""))?;
    plain_answer(site, &mut talk)?;
    talk.end()
}

fn close_said(site: &Site) -> Keeping {
    let mut talk = site.open()?;
    talk.send(&site.request("GET", CLOSE, ""))?;
    let answer = talk.answer()?;
    talk.demand(answer.head.message.close, "the answer does not say close")
}

fn nothing_after_close(site: &Site) -> Keeping {
    let mut talk = site.open()?;
    talk.send(&[site.request("GET", CLOSE, ""), site.get()].concat())?;
    plain_answer(site, &mut talk)?;
    talk.end()
}

fn close_10(site: &Site) -> Keeping {
    let mut talk = site.open()?;
    talk.send(&site.request_10("GET", "", ""))?;
    plain_answer(site, &mut talk)?;
    talk.end()
}

fn keep_alive_10(site: &Site) -> Keeping {
    let mut talk = site.open()?;
    talk.send(&site.request_10("GET", KEEP_ALIVE, ""))?;
    let answer = next_plain(site, &mut talk)?;
    if answer.head.message.keep_alive && !answer.ends_with_connection() {
        talk.send(&site.request_10("GET", "", ""))?;
        plain_answer(site, &mut talk)?;
    }
    talk.end()
}

fn no_chunks_10(site: &Site) -> Keeping {
    let mut talk = site.open()?;
    talk.send(&site.request_10("GET", "", ""))?;
    let answer = talk.answer()?;
    talk.demand(answer.field("Transfer-Encoding").is_none(), "the answer has a Transfer-Encoding")
}

fn half_close(site: &Site) -> Keeping {
    let mut talk = site.open()?;
    talk.send(&site.get())?;
    talk.finish_sending();
    plain_answer(site, &mut talk)
}
