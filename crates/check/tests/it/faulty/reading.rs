//! Requests read strictly, but for the fault.

use assay_http::{BodyReader, Framing, Limits, Method, Scan, scan_request, target};

use super::{Fault, HUGE_BYTES, rough};

/// A request.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    pub(super) method: String,
    pub(super) path: String,
    /// The target as it was sent.
    pub(super) target: String,
    pub(super) is_10: bool,
    pub(super) close: bool,
    pub(super) keep_alive: bool,
    /// Whether it has a field Expect, of whatever version it is.
    pub(super) expects: bool,
    /// From the field Authorization.
    pub(super) token: Option<String>,
    pub(super) body: Vec<u8>,
    /// Bytes of head and body.
    pub(super) len: usize,
}

pub(super) enum Reading {
    Whole(Asked),
    Partial,
    /// The head is whole, and 100 is expected before the body.
    Expecting,
    /// To be refused with this status.
    Bad(u16),
}

const LIMITS: Limits = Limits { head_bytes: 16 << 10, target_bytes: 8 << 10, leading_empty_lines: 4 };
const SHORT_TARGET_BYTES: usize = 4000;

pub(super) fn read(bytes: &[u8], fault: Fault) -> Reading {
    if bytes.is_empty() {
        return Reading::Partial;
    }
    match fault {
        Fault::HangsOnHuge if bytes.len() > HUGE_BYTES / 4 => return Reading::Partial,
        Fault::WaitsAtLf if !bytes.windows(4).any(|end| end == b"\r\n\r\n") => return Reading::Partial,
        Fault::RefusesEmptyLine if bytes.starts_with(b"\r\n") => return Reading::Bad(400),
        Fault::DiesOfNul if bytes.contains(&0) => {
            return Reading::Whole(Asked { len: bytes.len(), ..Asked::default() });
        }
        _ => {}
    }
    if fault >= Fault::Rough { rough::read(bytes, fault) } else { strictly(bytes, fault) }
}

fn strictly(bytes: &[u8], fault: Fault) -> Reading {
    let head = match scan_request(bytes, &LIMITS) {
        Scan::Complete(head) => head,
        Scan::Partial => return Reading::Partial,
        Scan::Invalid(error) => return Reading::Bad(error.status()),
    };
    let raw = head.target.of(bytes);
    if fault == Fault::ShortTargets && raw.len() > SHORT_TARGET_BYTES {
        return Reading::Bad(414);
    }
    let framing = match fault {
        Fault::BodilessGets if head.method == Method::Get => Framing::None,
        _ => head.framing(),
    };
    let mut reader = BodyReader::new(framing);
    let mut body = Vec::new();
    let mut len = head.len as usize;
    let expects = head.expects_continue && len == bytes.len();
    while !reader.is_finished() && len < bytes.len() {
        match reader.next(&bytes[len..]) {
            Ok(step) => {
                body.extend_from_slice(step.data);
                len += step.consumed;
            }
            Err(_) => return Reading::Bad(400),
        }
    }
    if !reader.is_finished() {
        return if expects && framing != Framing::None { Reading::Expecting } else { Reading::Partial };
    }
    let absolute = fault != Fault::NoAbsoluteTarget && raw.starts_with(b"http://");
    let path = if absolute {
        target::split(raw).path
    } else {
        raw.split(|byte| *byte == b'?').next().unwrap_or(raw)
    };
    let mut method = String::from_utf8_lossy(head.method_name.of(bytes)).into_owned();
    if fault == Fault::AnyCase {
        method.make_ascii_uppercase();
    }
    let known = head.method != Method::Other;
    if fault == Fault::AnyMethod && !known {
        "GET".clone_into(&mut method);
    }
    let token = head.field(bytes, "Authorization").and_then(|value| value.strip_prefix(b"Bearer "));
    Reading::Whole(Asked {
        method,
        path: String::from_utf8_lossy(path).into_owned(),
        target: String::from_utf8_lossy(raw).into_owned(),
        is_10: head.version == assay_http::Version::Http10,
        close: head.message.close,
        keep_alive: head.message.keep_alive,
        expects: head.field(bytes, "Expect").is_some(),
        token: token.map(|token| String::from_utf8_lossy(token).into_owned()),
        body,
        len,
    })
}
