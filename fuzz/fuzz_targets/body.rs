//! Chunked bodies.
#![no_main]

use assay_fuzz::{read_body, their_chunked};
use assay_http::{BodyError, Framing};
use libfuzzer_sys::fuzz_target;

// The first byte says where the input is cut.
fuzz_target!(|input: &[u8]| {
    let Some((cut, bytes)) = input.split_first() else { return };
    let whole = read_body(Framing::Chunked, &[bytes]);
    let (first, second) = bytes.split_at(usize::from(*cut).min(bytes.len()));
    assert_eq!(read_body(Framing::Chunked, &[first, second]), whole, "{}", bytes.escape_ascii());
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(read_body(Framing::Chunked, &single), whole, "{}", bytes.escape_ascii());
    let theirs = their_chunked(bytes);
    match whole {
        Ok(ours) if ours.at_eof == Err(BodyError::EarlyEof) => {
            assert_eq!(theirs, None, "they have a body and we want more: {}", bytes.escape_ascii());
        }
        Ok(ours) => assert_eq!(Some((ours.data, ours.consumed)), theirs, "{}", bytes.escape_ascii()),
        // It takes LF for CRLF and white space behind a size, which RFC 9112 §7.1 does not allow.
        Err(_) => {}
    }
});
