//! Response heads, and the bodies behind them.
#![no_main]

use assay_fuzz::{assert_compatible, assert_cuts_agree, common, read_body, their_response};
use assay_http::{HeadTemplate, Limits, Scan, scan_response};
use libfuzzer_sys::fuzz_target;

// The first byte says where the input is cut.
fuzz_target!(|input: &[u8]| {
    let Some((cut, bytes)) = input.split_first() else { return };
    let cut = usize::from(*cut);
    let scan = |bytes: &[u8]| scan_response(bytes, &Limits::DEFAULT);
    assert_cuts_agree(bytes, cut, scan);
    let ours = match scan(bytes) {
        Scan::Complete(head) => {
            let line = vec![head.status.to_string().into_bytes()];
            Scan::Complete(common(head.len, head.version, line, head.fields(bytes)))
        }
        Scan::Partial => Scan::Partial,
        Scan::Invalid(error) => Scan::Invalid(error),
    };
    assert_compatible(bytes, &ours, &their_response(bytes));
    let Scan::Complete(head) = scan(bytes) else { return };
    let mut template = HeadTemplate::learn(&bytes[..head.len as usize], &head);
    assert!(template.matches(bytes), "a head matches its own template: {}", bytes.escape_ascii());
    let body = &bytes[head.len as usize..];
    let (first, second) = body.split_at(cut.min(body.len()));
    for request_was_head in [false, true] {
        let framing = head.framing(request_was_head);
        assert_eq!(read_body(framing, &[first, second]), read_body(framing, &[body]));
    }
});
