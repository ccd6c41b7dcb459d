//! Histograms as text, from the outside in: base64, compression, header, counts.
#![no_main]

use std::io::Write as _;

use assay_stats::Histogram;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use libfuzzer_sys::fuzz_target;

/// A header that is right: octets of counts follow it.
const HEADER: [u8; 36] = *b"\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x01\
\x00\x00\x08\x00\x00\x00\x00\x00\x3f\xf0\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00";

// The first byte says how deep inside the rest is.
fuzz_target!(|input: &[u8]| {
    let Some((depth, bytes)) = input.split_first() else { return };
    let read = match depth % 4 {
        0 => Histogram::from_hdr_base64(&String::from_utf8_lossy(bytes)),
        1 => Histogram::from_hdr_base64(&BASE64.encode(bytes)),
        2 => Histogram::from_hdr_base64(&BASE64.encode(compressed(bytes))),
        _ => {
            let length = (bytes.len() as u32).to_be_bytes();
            let payload = [&[0x1c, 0x84, 0x93, 0x13], &length, &HEADER[..32], bytes].concat();
            Histogram::from_hdr_base64(&BASE64.encode(compressed(&payload)))
        }
    };
    let Ok(histogram) = read else { return };
    let quantiles: Vec<_> = [0.0, 0.5, 0.99, 1.0].iter().map(|&q| histogram.quantile(q)).collect();
    assert!(quantiles.is_sorted() && histogram.is_empty() == quantiles[0].is_none());
    let mut twice = histogram.clone();
    twice.merge(&histogram);
    if let Ok(text) = histogram.to_hdr_base64() {
        assert_eq!(Histogram::from_hdr_base64(&text), Ok(histogram));
    }
});

fn compressed(payload: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    let body = encoder.write_all(payload).and_then(|()| encoder.finish()).expect("memory");
    [&[0x1c, 0x84, 0x93, 0x14][..], &(body.len() as u32).to_be_bytes(), &body].concat()
}
