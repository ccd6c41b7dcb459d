//! Request heads, their targets, and the bodies behind them.
#![no_main]

use assay_fuzz::{assert_compatible, assert_cuts_agree, common, read_body, their_request};
use assay_http::{Limits, Scan, scan_request, target};
use libfuzzer_sys::fuzz_target;

/// Longer paths are not decoded here.
const PATH_BYTES: usize = 4096;

// The first byte says where the input is cut.
fuzz_target!(|input: &[u8]| {
    let Some((cut, bytes)) = input.split_first() else { return };
    let cut = usize::from(*cut);
    let scan = |bytes: &[u8]| scan_request(bytes, &Limits::DEFAULT);
    assert_cuts_agree(bytes, cut, scan);
    let ours = match scan(bytes) {
        Scan::Complete(head) => {
            let line = vec![head.method_name.of(bytes).to_vec(), head.target.of(bytes).to_vec()];
            Scan::Complete(common(head.len, head.version, line, head.fields(bytes)))
        }
        Scan::Partial => Scan::Partial,
        Scan::Invalid(error) => Scan::Invalid(error),
    };
    assert_compatible(bytes, &ours, &their_request(bytes));
    let Scan::Complete(head) = scan(bytes) else { return };
    let parts = target::split(head.target.of(bytes));
    let mut decoded = [0; PATH_BYTES];
    if let Ok(path) = target::decode_path(parts.path, &mut decoded) {
        let climbs = path.split(|&byte| byte == b'/').any(|name| name == b"..");
        assert!(path.starts_with(b"/") && !climbs, "{}", path.escape_ascii());
    }
    target::query_pairs(parts.query.unwrap_or_default()).for_each(drop);
    let body = &bytes[head.len as usize..];
    let (first, second) = body.split_at(cut.min(body.len()));
    assert_eq!(read_body(head.framing(), &[first, second]), read_body(head.framing(), &[body]));
});
