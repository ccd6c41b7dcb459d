//! Seeded mutation of the corpus: no panic, and the same answer however the input is split.

use assay_http::{
    Fields, Framing, HeadTemplate, Limits, Scan, Span, date, scan_request, scan_response, target,
};
use chacha20::ChaCha8Rng;
use rand::{Rng, RngExt, SeedableRng};

use crate::common::{REQUESTS, RESPONSES, read_body};

const CASES: usize = 100_000;

/// Bytes that mean something somewhere in HTTP.
const SPECIAL: &[u8] = b"\r\n\0 \t:;,/?%=09afAF-+\x7f\x80\xff";

/// A corpus entry after one to four edits.
fn mutant(rng: &mut impl Rng, corpus: &[&[u8]]) -> Vec<u8> {
    let mut bytes = corpus[rng.random_range(0..corpus.len())].to_vec();
    for _ in 0..rng.random_range(1..5) {
        let at = rng.random_range(0..=bytes.len());
        let special = SPECIAL[rng.random_range(0..SPECIAL.len())];
        match rng.random_range(0..6) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, special),
            2 if at < bytes.len() => bytes[at] = special,
            3 if at < bytes.len() => bytes[at] ^= 1 << rng.random_range(0..8),
            4 if at < bytes.len() => drop(bytes.remove(at)),
            _ => {
                let other = corpus[rng.random_range(0..corpus.len())];
                let piece = &other[rng.random_range(0..other.len())..];
                bytes.splice(at..at, piece.iter().take(24).copied());
            }
        }
    }
    bytes
}

/// Every field lies in the head and none holds a byte that could end its line.
fn assert_fields_sound(fields: Fields<'_>) {
    for field in fields {
        assert!(!field.name.is_empty());
        assert!(!field.value.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)));
    }
}

/// An answer for the whole is the answer of some prefix and of all longer ones.
fn assert_cut_agrees<T: PartialEq + std::fmt::Debug>(
    bytes: &[u8],
    cut: usize,
    scan: impl Fn(&[u8]) -> Scan<T>,
) {
    let part = scan(&bytes[..cut]);
    assert!(part == Scan::Partial || part == scan(bytes), "at {cut} of {}", bytes.escape_ascii());
}

fn assert_body_agrees(framing: Framing, body: &[u8], cut: usize) {
    let (first, second) = body.split_at(cut.min(body.len()));
    assert_eq!(read_body(framing, [first, second]), read_body(framing, [body]), "{}", body.escape_ascii());
}

#[test]
fn mutated_requests() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut accepted = 0;
    for _ in 0..CASES {
        let bytes = mutant(&mut rng, REQUESTS);
        let cut = rng.random_range(0..=bytes.len());
        assert_cut_agrees(&bytes, cut, |bytes| scan_request(bytes, &Limits::DEFAULT));
        let Scan::Complete(head) = scan_request(&bytes, &Limits::DEFAULT) else { continue };
        accepted += 1;
        assert_fields_sound(head.fields(&bytes));
        let parts = target::split(head.target.of(&bytes));
        let mut decoded = [0; 256];
        if let Ok(path) = target::decode_path(parts.path, &mut decoded) {
            assert!(path.starts_with(b"/") && !path.split(|&b| b == b'/').any(|name| name == b".."));
        }
        target::query_pairs(parts.query.unwrap_or_default()).for_each(drop);
        let body = &bytes[head.len as usize..];
        assert_body_agrees(head.framing(), body, cut);
    }
    assert!(accepted > CASES / 20, "only {accepted} mutants were accepted: the test tells nothing");
}

#[test]
fn mutated_responses() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mut accepted = 0;
    for _ in 0..CASES {
        let bytes = mutant(&mut rng, RESPONSES);
        let cut = rng.random_range(0..=bytes.len());
        assert_cut_agrees(&bytes, cut, |bytes| scan_response(bytes, &Limits::DEFAULT));
        let Scan::Complete(head) = scan_response(&bytes, &Limits::DEFAULT) else { continue };
        accepted += 1;
        assert_fields_sound(head.fields(&bytes));
        assert!(HeadTemplate::learn(&bytes, &head).matches(&bytes));
        date::parse(head.date.map_or(&b""[..], |span: Span| span.of(&bytes)), 1_795_000_000);
        let body = &bytes[head.len as usize..];
        assert_body_agrees(head.framing(false), body, cut);
    }
    assert!(accepted > CASES / 20, "only {accepted} mutants were accepted: the test tells nothing");
}

/// What a template takes, the scanner takes too, and sees alike: the fast path never widens what is valid.
#[test]
fn what_a_template_matches_the_scanner_accepts_alike() {
    let head =
        b"HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nX-Id: 0001\r\nContent-Length: 5\r\n\r\n";
    let other = String::from_utf8_lossy(head).replace("0001", "0002").into_bytes();
    let scan = |bytes: &[u8]| match scan_response(bytes, &Limits::DEFAULT) {
        Scan::Complete(head) => Some(head),
        _ => None,
    };
    let mut template = HeadTemplate::learn(head, &scan(head).unwrap());
    assert!(template.widen(&other, &scan(&other).unwrap()));
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut matched = 0;
    for _ in 0..CASES {
        let mut bytes = head.to_vec();
        for _ in 0..rng.random_range(1..3) {
            let at = rng.random_range(0..bytes.len());
            bytes[at] = SPECIAL[rng.random_range(0..SPECIAL.len())];
        }
        if template.matches(&bytes) {
            matched += 1;
            assert_eq!(scan(&bytes), Some(*template.head()), "{}", bytes.escape_ascii());
        }
    }
    assert!(matched > CASES / 100, "only {matched} mutants matched: the test tells nothing");
}
