//! The gate, which answers a request that says it is for this machine, comes from no other page, and knows the token.
//!
//! A page of somebody else's that is open in the same browser can send requests here, and by DNS rebinding even under its own
//! name (Jackson et al., "Protecting Browsers from DNS Rebinding Attacks", 2007). So Host must be a name of this machine, Origin
//! the page's own where there is one, and the path must begin with the token, which is compared in constant time.

use assay_http::{Limits, Method, RequestHead, Scan, scan_request, target};
use subtle::ConstantTimeEq as _;

/// A browser's requests are shorter.
pub(crate) const LIMITS: Limits = Limits { head_bytes: 16 << 10, ..Limits::DEFAULT };
/// How this machine is called. The port is the browser's affair: behind a tunnel it is another one.
const NAMES: [&[u8]; 3] = [b"127.0.0.1", b"localhost", b"[::1]"];

/// What a request gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judgement {
    /// Nothing yet: it goes on.
    Incomplete,
    /// The page, or its head alone.
    Page { head_only: bool },
    /// The news as they come.
    News,
    /// A status code and nothing else.
    Refused(u16),
}

/// What lets requests in.
#[derive(Debug)]
pub(crate) struct Gate {
    token: String,
}

impl Gate {
    pub(crate) fn new(token: String) -> Self {
        Self { token }
    }

    /// What a request gets of which this was received so far.
    pub(crate) fn judge(&self, received: &[u8]) -> Judgement {
        match scan_request(received, &LIMITS) {
            Scan::Partial => Judgement::Incomplete,
            Scan::Invalid(error) => Judgement::Refused(error.status()),
            Scan::Complete(head) => self.asked(&head, received),
        }
    }

    fn asked(&self, head: &RequestHead, received: &[u8]) -> Judgement {
        let target = target::split(head.target.of(received));
        // A target in absolute form names the host itself (RFC 9112 §3.2.2).
        let host = target.authority.or_else(|| head.host.map(|host| host.of(received))).unwrap_or_default();
        if !is_this_machine(host) {
            return Judgement::Refused(421);
        }
        if !is_own_origin(head.field(received, "Origin"), host) {
            return Judgement::Refused(403);
        }
        let head_only = match head.method {
            Method::Get => false,
            Method::Head => true,
            _ => return Judgement::Refused(405),
        };
        match self.below_token(target.path) {
            Some(b"") => Judgement::Page { head_only },
            Some(b"events") if !head_only => Judgement::News,
            _ => Judgement::Refused(404),
        }
    }

    /// What follows the token in a path; `None` where it is not there.
    fn below_token<'p>(&self, path: &'p [u8]) -> Option<&'p [u8]> {
        let path = path.strip_prefix(b"/")?;
        let slash = path.iter().position(|byte| *byte == b'/')?;
        let (token, rest) = path.split_at(slash);
        bool::from(token.ct_eq(self.token.as_bytes())).then_some(&rest[1..])
    }
}

fn is_this_machine(host: &[u8]) -> bool {
    let port = host.iter().rposition(|byte| *byte == b':').filter(|colon| {
        let digits = &host[colon + 1..];
        digits.iter().all(u8::is_ascii_digit)
    });
    let name = port.map_or(host, |colon| &host[..colon]);
    NAMES.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// A browser sends none with what it opens itself, and the page's own with what the page asks for.
fn is_own_origin(origin: Option<&[u8]>, host: &[u8]) -> bool {
    origin
        .is_none_or(|origin| origin.strip_prefix(b"http://").is_some_and(|of| of.eq_ignore_ascii_case(host)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(request: &str) -> Judgement {
        Gate::new("0123abcd".to_owned()).judge(request.as_bytes())
    }

    #[test]
    fn the_page_and_its_news_are_for_who_knows_the_token() {
        let get = |target: &str| judged(&format!("GET {target} HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n"));
        assert_eq!(get("/0123abcd/"), Judgement::Page { head_only: false });
        assert_eq!(get("/0123abcd/?x"), Judgement::Page { head_only: false });
        assert_eq!(get("/0123abcd/events"), Judgement::News);
        for wrong in
            ["/", "/0123abcd", "/0123abce/", "/0123abcd0/", "/0123abc/", "//", "/0123abcd/other", "/events"]
        {
            assert_eq!(get(wrong), Judgement::Refused(404), "{wrong}");
        }
    }

    #[test]
    fn a_name_that_was_bent_to_this_machine_is_refused() {
        let of = |host: &str| judged(&format!("GET /0123abcd/ HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        for own in ["127.0.0.1", "127.0.0.1:4711", "localhost:4711", "LOCALHOST", "[::1]:80", "[::1]"] {
            assert_eq!(of(own), Judgement::Page { head_only: false }, "{own}");
        }
        for other in [
            "evil.example",
            "evil.example:80",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "10.0.0.1",
            "",
        ] {
            assert_eq!(of(other), Judgement::Refused(421), "{other}");
        }
        let absolute = "GET http://evil.example/0123abcd/ HTTP/1.1\r\nHost: localhost\r\n\r\n";
        assert_eq!(judged(absolute), Judgement::Refused(421));
    }

    #[test]
    fn another_page_of_the_same_browser_is_refused() {
        let of = |origin: &str| {
            judged(&format!(
                "GET /0123abcd/events HTTP/1.1\r\nHost: localhost:80\r\nOrigin: {origin}\r\n\r\n"
            ))
        };
        assert_eq!(of("http://localhost:80"), Judgement::News);
        for other in
            ["http://evil.example", "http://localhost:81", "https://localhost:80", "null", "localhost:80"]
        {
            assert_eq!(of(other), Judgement::Refused(403), "{other}");
        }
    }

    #[test]
    fn nothing_but_reading_is_possible_and_what_is_no_request_is_refused() {
        let by = |method: &str| judged(&format!("{method} /0123abcd/ HTTP/1.1\r\nHost: localhost\r\n\r\n"));
        assert_eq!(by("HEAD"), Judgement::Page { head_only: true });
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "MADE-UP"] {
            assert_eq!(by(method), Judgement::Refused(405), "{method}");
        }
        assert_eq!(judged("GET /0123abcd/ HTTP/1.1\r\nHost: localhost\r\n"), Judgement::Incomplete);
        assert_eq!(judged("GET / HTTP/1.1\r\n\r\n"), Judgement::Refused(400));
        let long = format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "a".repeat(20_000));
        assert!(matches!(judged(&long), Judgement::Refused(414 | 431)), "{:?}", judged(&long));
    }
}
