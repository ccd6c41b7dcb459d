//! How long a head takes our scanners beside httparse, in alternation: `cargo bench -p assay-http`.
//!
//! Ours do more: they judge what the fields mean for framing, and refuse what RFC 9112 refuses.
#![allow(clippy::print_stdout, reason = "a benchmark tells its result")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use assay_http::{Limits, scan_request, scan_response};

/// Pairs of measurements, and how often a head is read in each: short enough that few are interrupted.
const PAIRS: usize = 1001;
const READS: u32 = 500;

const REQUEST: &[u8] =
    b"GET /plaintext HTTP/1.1\r\nHost: localhost:8080\r\nAccept: text/plain,text/html;q=0.9,*/*;q=0.7\r\n\
    User-Agent: Mozilla/5.0 (X11; Linux x86_64)\r\nConnection: keep-alive\r\n\r\n";
const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nServer: assay\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\
    Content-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World!";

fn main() {
    compare("request", ours_request, their_request);
    compare("response", ours_response, their_response);
}

fn ours_request() {
    black_box(scan_request(black_box(REQUEST), &Limits::DEFAULT));
}

fn ours_response() {
    black_box(scan_response(black_box(RESPONSE), &Limits::DEFAULT));
}

fn their_request() {
    let mut fields = [httparse::EMPTY_HEADER; 16];
    // The verdict is not the point here; the tests hold it against ours.
    let _ = black_box(httparse::Request::new(&mut fields).parse(black_box(REQUEST)));
}

fn their_response() {
    let mut fields = [httparse::EMPTY_HEADER; 16];
    // The verdict is not the point here; the tests hold it against ours.
    let _ = black_box(httparse::Response::new(&mut fields).parse(black_box(RESPONSE)));
}

/// Prints the median time of both, and of the ratio within pairs with its quartiles.
fn compare(what: &str, ours: fn(), theirs: fn()) {
    let pairs: Vec<(f64, f64)> = (0..PAIRS).map(|_| (time_ns(ours), time_ns(theirs))).collect();
    let sorted = |figure: fn(&(f64, f64)) -> f64| {
        let mut figures: Vec<f64> = pairs.iter().map(figure).collect();
        figures.sort_by(f64::total_cmp);
        figures
    };
    let (ours, theirs, ratios) = (sorted(|p| p.0), sorted(|p| p.1), sorted(|p| p.1 / p.0));
    let middle = PAIRS / 2;
    println!(
        "{what:<10}{:>7.1} ns, httparse {:>7.1} ns: {:.2} times its speed ({:.2}–{:.2} in half of {PAIRS} pairs)",
        ours[middle],
        theirs[middle],
        ratios[middle],
        ratios[PAIRS / 4],
        ratios[PAIRS * 3 / 4],
    );
}

/// Time of one call, over many.
fn time_ns(read: fn()) -> f64 {
    let began = Instant::now();
    (0..READS).for_each(|_| read());
    let span: Duration = began.elapsed();
    span.as_secs_f64() * 1e9 / f64::from(READS)
}
