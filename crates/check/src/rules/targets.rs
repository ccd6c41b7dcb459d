//! Paths and methods.

use assay_model::conformance::Severity::{Must, Should};

use super::NOWHERE;
use crate::objection::{Keeping, Objection};
use crate::rule::Rule;
use crate::site::Site;

/// A method that nobody knows.
const UNKNOWN_METHOD: &str = "ASSAYCHECK";
/// RFC 9112 §3 recommends that request lines of 8000 octets are supported.
const LONG_TARGET_BYTES: usize = 7900;
const SHORT_QUERY_BYTES: usize = 10;
/// Longer than anybody needs.
const HUGE_TARGET_BYTES: usize = 128 << 10;
/// How deep a server's folder is at most.
const DEPTH: usize = 12;
/// How everybody's file of users begins somewhere.
const USERS: &str = "root:x:0:0:";

pub(super) const RULES: &[Rule] = &[
    Rule::new("unknown-path", Should, "RFC 9110 §15.5.5", "A path that does not exist is 404.", unknown_path),
    Rule::new(
        "unknown-method",
        Should,
        "RFC 9110 §9.1",
        "An unknown method is refused with 501 or 405, or as a bad request or path.",
        unknown_method,
    ),
    Rule::new(
        "method-case",
        Should,
        "RFC 9110 §9.1",
        "Methods are case-sensitive: `get` is not served as GET is.",
        method_case,
    ),
    Rule::new("allow", Must, "RFC 9110 §15.5.6", "An answer with 405 names the methods allowed.", allow),
    Rule::new(
        "absolute-target",
        Must,
        "RFC 9112 §3.2.2",
        "A target in absolute form is accepted.",
        absolute_target,
    ),
    Rule::new(
        "long-target",
        Should,
        "RFC 9112 §3",
        "A request line of nearly 8000 bytes is accepted.",
        long_target,
    ),
    Rule::new(
        "huge-target",
        Must,
        "RFC 9112 §3",
        "A target of 128 KiB is refused or served, and harms nobody.",
        huge_target,
    ),
    Rule::new(
        "no-escape",
        Must,
        "RFC 3986 §7.3",
        "No spelling of a path, with dots or escapes, leads out of what is served.",
        no_escape,
    ),
];

fn unknown_path(site: &Site) -> Keeping {
    let mut talk = site.open()?;
    talk.send(&site.request_for("GET", NOWHERE, "", ""))?;
    let status = talk.answer()?.status();
    talk.demand(matches!(status, 404 | 410), &format!("status {status} instead of 404"))
}

fn unknown_method(site: &Site) -> Keeping {
    site.needs_served()?;
    let mut talk = site.open()?;
    talk.send(&site.request(UNKNOWN_METHOD, "", ""))?;
    let Some(answer) = talk.answer_or_end()? else { return Ok(()) };
    let status = answer.status();
    talk.demand(matches!(status, 400..=499 | 501), &format!("status {status} instead of 501 or 405"))
}

fn method_case(site: &Site) -> Keeping {
    site.needs_served()?;
    let mut talk = site.open()?;
    talk.send(&site.request("get", "", ""))?;
    let Some(answer) = talk.answer_or_end()? else { return Ok(()) };
    talk.demand(answer.is_refusal(), &format!("`get` was answered with {}", answer.status()))
}

fn allow(site: &Site) -> Keeping {
    for method in ["DELETE", "PUT", "POST", UNKNOWN_METHOD] {
        let mut talk = site.open()?;
        talk.send(&site.request(method, "Content-Length: 0\r\n", ""))?;
        let Some(answer) = talk.answer_or_end()?.filter(|answer| answer.status() == 405) else { continue };
        return talk.demand(answer.field("Allow").is_some(), "405 without Allow");
    }
    Err(Objection::not_applicable("no method was answered with 405"))
}

fn absolute_target(site: &Site) -> Keeping {
    let mut talk = site.open()?;
    talk.send(&site.request_for("GET", &site.target.uri(), "", ""))?;
    super::delivery::plain_answer(site, &mut talk)
}

fn long_target(site: &Site) -> Keeping {
    let path = &site.target.path;
    // With a query it may be another resource, or none.
    let short = site.ask(&site.request_for("GET", &padded(path, path.len() + SHORT_QUERY_BYTES), "", ""))?;
    let mut talk = site.open()?;
    talk.send(&site.request_for("GET", &padded(path, LONG_TARGET_BYTES), "", ""))?;
    let status = talk.answer()?.status();
    let wrong = format!("status {status} instead of {} for a short one", short.status());
    talk.demand(status == short.status(), &wrong)
}

fn huge_target(site: &Site) -> Keeping {
    let mut talk = site.open()?;
    talk.send(&site.request_for("GET", &padded(&site.target.path, HUGE_TARGET_BYTES), "", ""))?;
    talk.answer_or_end().map(drop)
}

/// The path with a query that makes it so long.
fn padded(path: &str, bytes: usize) -> String {
    let joint = if path.contains('?') { '&' } else { '?' };
    let rest = bytes.saturating_sub(path.len() + 3);
    format!("{path}{joint}x={}", "x".repeat(rest))
}

fn no_escape(site: &Site) -> Keeping {
    let users = spellings("etc/passwd", DEPTH).into_iter().map(|target| (target, USERS));
    let planted = site.target.planted.iter();
    let planted = planted.flat_map(|planted| {
        spellings(&planted.name, 1).into_iter().map(|target| (target, planted.secret.as_str()))
    });
    users.chain(planted).try_for_each(|(target, secret)| {
        let mut talk = site.open()?;
        talk.send(&site.request_for("GET", &target, "Connection: close\r\n", ""))?;
        let Some(answer) = talk.answer_or_end()? else { return Ok(()) };
        let body = String::from_utf8_lossy(&answer.body);
        talk.demand(!body.contains(secret), &format!("`{target}` led out of what is served"))
    })
}

/// Paths that mean, to one decoder or another, the file `name` so many folders above what is served.
fn spellings(name: &str, depth: usize) -> Vec<String> {
    let up = |step: &str| format!("/{}{name}", step.repeat(depth));
    let escaped = name.replace('/', "%2f");
    vec![
        up("../"),
        up("./../"),
        up("%2e%2e/"),
        up("%2E./"),
        up(".%2e/"),
        up("%252e%252e/"),
        up("..%252f"),
        up("..%5c"),
        up("..\\"),
        up("..;/"),
        up("..//"),
        up("%c0%ae%c0%ae/"),
        up(".%00./"),
        format!("/{}{escaped}", "..%2f".repeat(depth)),
        format!("/{}{escaped}", "%2e%2e%2f".repeat(depth)),
        format!("/x/..{}", up("../")),
        format!("//{name}"),
        format!("/%2f{escaped}"),
        format!("/?/{}{name}", "../".repeat(depth)),
    ]
}
