//! Heads that are not HTTP/1.1.

use assay_model::conformance::Severity::{Must, Should};

use super::refusal::{each, refused, refused_or_served, refused_or_without_effect};
use crate::objection::Keeping;
use crate::rule::Rule;
use crate::site::Site;

/// More head than anybody needs, in fields of a moderate length and in one.
const HUGE_HEAD_BYTES: usize = 64 << 10;
const FIELD_BYTES: usize = 1000;

pub(super) const RULES: &[Rule] = &[
    Rule::new("no-host", Must, "RFC 9112 §3.2", "A request without Host is refused.", no_host),
    Rule::new("two-hosts", Must, "RFC 9112 §3.2", "A request with two Hosts is refused.", two_hosts),
    Rule::new("bad-host", Must, "RFC 9112 §3.2", "A request whose Host is no host is refused.", bad_host),
    Rule::new(
        "space-before-colon",
        Must,
        "RFC 9112 §5.1",
        "White space between a field's name and its colon is refused.",
        space_before_colon,
    ),
    Rule::new(
        "folded-line",
        Must,
        "RFC 9112 §5.2",
        "A folded line is refused or part of its field, never a field of its own.",
        folded_line,
    ),
    Rule::new(
        "space-first",
        Must,
        "RFC 9112 §2.2",
        "A line that begins with white space right behind the request line is refused or ignored.",
        space_first,
    ),
    Rule::new(
        "bare-cr",
        Must,
        "RFC 9112 §2.2",
        "A CR without LF is refused or taken for a space, never for the end of a line.",
        bare_cr,
    ),
    Rule::new(
        "bare-lf",
        Should,
        "RFC 9112 §2.2",
        "Lines that end in LF alone are refused or served.",
        bare_lf,
    ),
    Rule::new(
        "nul",
        Must,
        "RFC 9110 §5.5",
        "A NUL in a field is refused or taken for a space, and ends nothing.",
        nul,
    ),
    Rule::new("bad-field", Should, "RFC 9112 §2.2", "A line that is no field is refused.", bad_field),
    Rule::new(
        "bad-request-line",
        Should,
        "RFC 9112 §3",
        "A request line that is none is refused.",
        bad_request_line,
    ),
    Rule::new(
        "bad-version",
        Should,
        "RFC 9112 §2.3",
        "A protocol version that is none is refused.",
        bad_version,
    ),
    Rule::new("huge-head", Must, "RFC 9112 §5", "A head of 64 KiB is refused or served.", huge_head),
];

fn no_host(site: &Site) -> Keeping {
    refused(site, format!("GET {} HTTP/1.1\r\n\r\n", site.target.path).as_bytes())
}

fn two_hosts(site: &Site) -> Keeping {
    let same = format!("Host: {}\r\n", site.target.host);
    each([same.as_str(), "Host: other.example\r\n"], |field| refused(site, &site.request("GET", field, "")))
}

fn bad_host(site: &Site) -> Keeping {
    each(["a b", "a/b", "a@b", "a\x00b", "[::1", "a:b:c"], |host| {
        refused(site, format!("GET {} HTTP/1.1\r\nHost: {host}\r\n\r\n", site.target.path).as_bytes())
    })
}

fn space_before_colon(site: &Site) -> Keeping {
    each(["X-Field : a", "X-Field\t: a", "Content-Length : 0"], |field| {
        refused(site, &site.request("GET", &format!("{field}\r\n"), ""))
    })
}

fn folded_line(site: &Site) -> Keeping {
    refused_or_without_effect(site, &|length| format!("X-Field: a\r\n Content-Length: {length}\r\n"))
}

fn space_first(site: &Site) -> Keeping {
    let host = &site.target.host;
    let behind = site.request("GET", "Connection: close\r\n", "");
    let head = format!(
        "GET {} HTTP/1.1\r\n Content-Length: {}\r\nHost: {host}\r\n\r\n",
        site.target.path,
        behind.len()
    );
    super::refusal::refused_or_two_answers(site, &[head.into_bytes(), behind].concat())
}

fn bare_cr(site: &Site) -> Keeping {
    refused_or_without_effect(site, &|length| format!("X-Field: a\rContent-Length: {length}\r\n"))
}

/// A server may take LF for the end of a line, and should refuse what matches no grammar: to wait for the rest of the line is no
/// breach of a MUST.
fn bare_lf(site: &Site) -> Keeping {
    let request = String::from_utf8_lossy(&site.get()).replace("\r\n", "\n");
    refused_or_served(site, request.as_bytes())
}

fn nul(site: &Site) -> Keeping {
    refused_or_served(site, &site.request("GET", "X-Field: a\0b\r\n", ""))?;
    refused_or_without_effect(site, &|length| format!("X-Field: a\0Content-Length: {length}\r\n"))
}

fn bad_field(site: &Site) -> Keeping {
    each(["no colon", ": no name", "a b: c", "a(b): c", "a\0b: c", "a\x7fb: c"], |line| {
        refused(site, &site.request("GET", &format!("{line}\r\n"), ""))
    })
}

fn bad_request_line(site: &Site) -> Keeping {
    let path = &site.target.path;
    let lines = [
        format!("GET {path}"),
        format!("GET {path} and more HTTP/1.1"),
        format!("GET{path}HTTP/1.1"),
        format!("G\0T {path} HTTP/1.1"),
        format!("G(T {path} HTTP/1.1"),
        "GET HTTP/1.1".to_owned(),
    ];
    each(lines, |line| with_request_line(site, line))
}

fn bad_version(site: &Site) -> Keeping {
    each(["HTTP/1", "HTTP/1.x", "HTTP/1.10", "HTTP/11.1", "http/1.1", "HTTX/1.1"], |version| {
        with_request_line(site, &format!("GET {} {version}", site.target.path))
    })
}

fn with_request_line(site: &Site, line: &str) -> Keeping {
    refused(site, format!("{line}\r\nHost: {}\r\n\r\n", site.target.host).as_bytes())
}

fn huge_head(site: &Site) -> Keeping {
    let field = format!("X-Field: {}\r\n", "x".repeat(FIELD_BYTES));
    let many = field.repeat(HUGE_HEAD_BYTES / FIELD_BYTES);
    let one = format!("X-Field: {}\r\n", "x".repeat(HUGE_HEAD_BYTES));
    [many, one].iter().try_for_each(|fields| refused_or_served(site, &site.request("GET", fields, "")))
}
