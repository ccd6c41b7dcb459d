//! Requests read roughly: whatever looks a little like HTTP is taken for it.

use super::Fault;
use super::reading::{Asked, Reading};

/// How a rough reader finds the end of a body.
enum Body {
    None,
    Length(u64),
    Chunked,
}

pub(super) fn read(bytes: &[u8], fault: Fault) -> Reading {
    let Some(head_len) = bytes.windows(4).position(|end| end == b"\r\n\r\n").map(|at| at + 4) else {
        return Reading::Partial;
    };
    let text = spelled(&bytes[..head_len], fault);
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let mut words = lines.next().unwrap_or_default().split_whitespace();
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or("/"));
    let version = words.last().unwrap_or_default();
    let fields: Vec<(String, String)> =
        lines.filter_map(|line| line.split_once(':')).map(|(n, v)| (plain(n), plain(v))).collect();
    let Some(body_len) = body_len(&bytes[head_len..], &body(&fields, fault), fault) else {
        return Reading::Partial;
    };
    let says = |option: &str| fields.iter().any(|(name, value)| name == "connection" && value == option);
    let chunked = fields.iter().any(|(name, _)| name == "transfer-encoding");
    let extension = bytes[head_len..head_len + body_len].contains(&b';');
    if (fault == Fault::NoChunks && chunked) || (fault == Fault::NoExtensions && chunked && extension) {
        return Reading::Bad(400);
    }
    Reading::Whole(Asked {
        method: method.to_ascii_uppercase(),
        path: path.split('?').next().unwrap_or_default().to_owned(),
        target: path.to_owned(),
        is_10: version == "HTTP/1.0",
        close: says("close"),
        keep_alive: says("keep-alive"),
        len: head_len + body_len,
        ..Asked::default()
    })
}

/// The head as text, with the ends of lines that the fault sees.
fn spelled(head: &[u8], fault: Fault) -> String {
    let text = String::from_utf8_lossy(head).into_owned();
    match fault {
        Fault::CrEndsLine => text.replace('\r', "\n"),
        Fault::NulEndsLine => text.replace('\0', "\n"),
        _ => text,
    }
}

fn plain(text: &str) -> String {
    text.trim().to_ascii_lowercase()
}

fn body(fields: &[(String, String)], fault: Fault) -> Body {
    let field =
        |wanted: &str| fields.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
    let chunked = field("transfer-encoding").is_some_and(|coding| coding.contains("chunk"));
    match field("content-length").map(number) {
        _ if fault == Fault::NoBodies => Body::None,
        Some(length) if fault == Fault::PrefersLength || !chunked => Body::Length(length),
        _ if chunked && fault != Fault::IgnoresCodings => Body::Chunked,
        _ => Body::None,
    }
}

/// The digits at the start, as C's `atoi` reads them, wrapping around.
fn number(text: &str) -> u64 {
    let digits = text.bytes().map_while(|byte| byte.is_ascii_digit().then(|| u64::from(byte - b'0')));
    digits.fold(0, |value: u64, digit| value.wrapping_mul(10).wrapping_add(digit))
}

/// The number that a text begins with, in base 16.
fn hexadecimal(text: &[u8]) -> usize {
    let digits = text.iter().map_while(|byte| char::from(*byte).to_digit(16));
    digits.fold(0, |value: usize, digit| value.wrapping_mul(16).wrapping_add(digit as usize))
}

/// Length of the body on the wire; nothing when it is not whole.
fn body_len(bytes: &[u8], body: &Body, fault: Fault) -> Option<usize> {
    match *body {
        Body::None => Some(0),
        Body::Length(length) => usize::try_from(length).ok().filter(|&length| length <= bytes.len()),
        Body::Chunked => chunks_len(bytes, fault),
    }
}

fn chunks_len(bytes: &[u8], fault: Fault) -> Option<usize> {
    let mut at = 0;
    loop {
        let line = line(&bytes[at..], fault)?;
        at += line.len();
        match hexadecimal(line) {
            0 => return Some(at + trailers_len(&bytes[at..], fault)?),
            size => {
                at = at.checked_add(size).filter(|&at| at <= bytes.len())?;
                let end =
                    if fault == Fault::SkipsToChunkEnd { self::line(&bytes[at..], fault)?.len() } else { 2 };
                at = (at + end).min(bytes.len());
            }
        }
    }
}

/// Length of what follows the chunks, with the empty line at its end.
fn trailers_len(bytes: &[u8], fault: Fault) -> Option<usize> {
    let most = match fault {
        Fault::OneTrailer => 1,
        Fault::LineBehindTrailer => 2,
        _ => usize::MAX,
    };
    let (mut at, mut lines) = (0, 0);
    loop {
        let trailer = line(&bytes[at..], fault)?;
        (at, lines) = (at + trailer.len(), lines + 1);
        if trailer.len() <= 2 || lines == most {
            return Some(at);
        }
    }
}

/// The first line with its end.
fn line(bytes: &[u8], fault: Fault) -> Option<&[u8]> {
    let end: &[u8] = if fault == Fault::LfEndsChunkLine { b"\n" } else { b"\r\n" };
    let at = bytes.windows(end.len()).position(|window| window == end)?;
    Some(&bytes[..at + end.len()])
}
