//! T13: however input is split, the answer is the one for the whole.

use std::fmt::Debug;

use assay_http::{
    BodyReader, Framing, Limits, ParseErrorKind, Scan, scan_request, scan_response, worth_rescan,
};

use crate::common::{REQUESTS, RESPONSES, read_body};

/// Small limits, so that some cases of the corpus meet them.
const SMALL: Limits = Limits { head_bytes: 60, target_bytes: 12, leading_empty_lines: 1 };

/// Every prefix gives `Partial` until one gives the answer, which all longer ones repeat. A caller that rescans only
/// when it is worth it gets the same answer.
fn assert_prefixes_agree<T: PartialEq + Debug + Copy>(
    bytes: &[u8],
    limits: &Limits,
    scan: fn(&[u8], &Limits) -> Scan<T>,
) {
    let whole = scan(bytes, limits);
    let answers: Vec<_> = (0..=bytes.len()).map(|len| scan(&bytes[..len], limits)).collect();
    let decided = answers.iter().position(|answer| *answer != Scan::Partial).unwrap_or(answers.len());
    for (len, answer) in answers.iter().enumerate().skip(decided) {
        assert_eq!(*answer, whole, "{len} bytes of {}", bytes.escape_ascii());
    }
    let spared = (1..=bytes.len())
        .filter(|&len| worth_rescan(&bytes[..len], len - 1, limits))
        .map(|len| answers[len])
        .find(|answer| *answer != Scan::Partial);
    if let Scan::Complete(_) = whole {
        assert_eq!(spared, Some(whole), "{}", bytes.escape_ascii());
    }
}

#[test]
fn heads_may_be_split_at_every_offset() {
    for limits in [Limits::DEFAULT, SMALL] {
        for bytes in REQUESTS {
            assert_prefixes_agree(bytes, &limits, scan_request);
        }
        for bytes in RESPONSES {
            assert_prefixes_agree(bytes, &limits, scan_response);
        }
    }
}

#[test]
fn bodies_may_be_split_at_every_offset_and_into_single_bytes() {
    for bytes in RESPONSES {
        let Scan::Complete(head) = scan_response(bytes, &Limits::DEFAULT) else { continue };
        let body = &bytes[head.len as usize..];
        for request_was_head in [false, true] {
            let framing = head.framing(request_was_head);
            let whole = read_body(framing, [body]);
            for at in 0..=body.len() {
                let (first, second) = body.split_at(at);
                assert_eq!(read_body(framing, [first, second]), whole, "at {at} of {}", body.escape_ascii());
            }
            assert_eq!(read_body(framing, body.chunks(1)), whole, "{}", body.escape_ascii());
        }
    }
}

#[test]
fn a_head_of_a_hundred_fields_and_64_kib_is_read_and_one_byte_more_is_not() {
    let limit = Limits::DEFAULT.head_bytes as usize;
    let fields: String = (0..100).map(|i| format!("Field-{i}: {}\r\n", "v".repeat(i))).collect();
    let head =
        |padding: usize| format!("HTTP/1.1 200 OK\r\n{fields}Padding: {}\r\n\r\n", "p".repeat(padding));
    let padding = limit - head(0).len();
    let text = head(padding);
    let Scan::Complete(scanned) = scan_response(text.as_bytes(), &Limits::DEFAULT) else { panic!("refused") };
    assert_eq!(scanned.len as usize, limit);
    assert_eq!(scanned.fields(text.as_bytes()).count(), 101);
    assert_eq!(scanned.field(text.as_bytes(), "field-99").map(<[u8]>::len), Some(99));
    match scan_response(head(padding + 1).as_bytes(), &Limits::DEFAULT) {
        Scan::Invalid(error) => assert_eq!(error.kind, ParseErrorKind::HeadTooLarge),
        other => panic!("{other:?}"),
    }
}

#[test]
fn many_tiny_fields_have_no_limit_but_the_size_of_the_head() {
    let text = format!("GET / HTTP/1.0\r\n{}\r\n", "a:\r\n".repeat(16_000));
    let Scan::Complete(head) = scan_request(text.as_bytes(), &Limits::DEFAULT) else { panic!("refused") };
    assert_eq!(head.fields(text.as_bytes()).count(), 16_000);
}

#[test]
fn pipelined_requests_are_found_one_after_the_other() {
    let one = b"POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    let mut rest = &one.repeat(16)[..];
    for left in (0..16).rev() {
        let Scan::Complete(head) = scan_request(rest, &Limits::DEFAULT) else { panic!("{left} left") };
        let body = read_body(head.framing(), [&rest[head.len as usize..]]).unwrap();
        assert_eq!(body.data, b"abc");
        rest = &rest[head.len as usize + body.consumed..];
        assert_eq!(rest.len(), left * one.len());
    }
}

#[test]
fn a_chunk_of_more_than_4_gib_is_counted() {
    let mut reader = BodyReader::new(Framing::Chunked);
    assert_eq!(reader.next(b"140000000\r\n").unwrap().consumed, 11);
    let piece = vec![0; 64 << 20];
    for _ in 0..80 {
        assert_eq!(reader.next(&piece).unwrap().data.len(), piece.len());
    }
    assert!(reader.next(b"\r\n0\r\n\r\n").unwrap().finished);
}
