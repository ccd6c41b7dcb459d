//! Request targets and hosts (RFC 9112 §3.2, RFC 3986): taken apart, decoded, and kept below the root.

use crate::chars;

/// The parts of a request target, as they were spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts<'t> {
    /// Host and port of the absolute form.
    pub authority: Option<&'t [u8]>,
    /// The path, `/` when the absolute form has none; `*` for the asterisk form.
    pub path: &'t [u8],
    /// What follows the first question mark.
    pub query: Option<&'t [u8]>,
}

/// Why a path or query could not be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum PathError {
    /// A percent sign without two hexadecimal digits behind it.
    #[error("percent sign without two hexadecimal digits")]
    BadEscape,
    /// A zero byte, which would cut a file name short.
    #[error("zero byte in the path")]
    Nul,
    /// An encoded slash: it may not become a separator, and no file name has one.
    #[error("encoded slash in the path")]
    EncodedSlash,
    /// Dot segments that lead above the root.
    #[error("path leads above the root")]
    AboveRoot,
    /// Not an absolute path.
    #[error("path does not begin with a slash")]
    NotAbsolute,
    /// The caller's buffer is too small.
    #[error("decoded text longer than the buffer")]
    TooLong,
}

/// Whether a request can ask for it: a client has to percent-encode what else there is, such as spaces and quotes.
pub fn is_sendable(target: &str) -> bool {
    !target.is_empty() && target.bytes().all(chars::is_target)
}

/// Takes a target apart.
#[inline]
pub fn split(target: &[u8]) -> Parts<'_> {
    let (authority, rest) = split_authority(target);
    let (path, query) = match rest.iter().position(|&b| b == b'?') {
        Some(mark) => (&rest[..mark], Some(&rest[mark + 1..])),
        None => (rest, None),
    };
    let path = if path.is_empty() { b"/" } else { path };
    Parts { authority, path, query }
}

/// The authority of an absolute form with the scheme http or https, and what follows it.
#[inline]
fn split_authority(target: &[u8]) -> (Option<&[u8]>, &[u8]) {
    for scheme in [&b"http://"[..], b"https://"] {
        if let Some((start, rest)) = target.split_at_checked(scheme.len())
            && start.eq_ignore_ascii_case(scheme)
        {
            let end = rest.iter().position(|b| matches!(b, b'/' | b'?')).unwrap_or(rest.len());
            return (Some(&rest[..end]), &rest[end..]);
        }
    }
    (None, target)
}

/// Whether text is `uri-host [":" port]` (RFC 9110 §7.2). Empty is: a target without authority has an empty Host.
pub fn is_host(text: &[u8]) -> bool {
    let (host_ok, rest) = match text {
        [b'[', literal @ ..] => match literal.iter().position(|&b| b == b']') {
            Some(end) => (is_ip_literal(&literal[..end]), &literal[end + 1..]),
            None => return false,
        },
        _ => {
            let end = text.iter().position(|&b| !chars::is_reg_name(b)).unwrap_or(text.len());
            (true, &text[end..])
        }
    };
    host_ok && matches!(rest, [] | [b':', ..]) && rest.iter().skip(1).all(u8::is_ascii_digit)
}

/// The characters of an IPv6 or later address (RFC 3986 §3.2.2); whether it is one, the resolver says.
fn is_ip_literal(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|&b| b != b'%' && (chars::is_reg_name(b) || b == b':'))
}

/// Decodes a path into `out` and removes dot segments (RFC 3986 §5.2.4) and empty segments. The result begins with a
/// slash and names nothing above the root. Decoding comes first, so an encoded dot is a dot; it happens once, so a twice
/// encoded one is not.
///
/// # Errors
/// See [`PathError`]; `out` is never too small when it is as long as `path`.
pub fn decode_path<'o>(path: &[u8], out: &'o mut [u8]) -> Result<&'o [u8], PathError> {
    let [b'/', rest @ ..] = path else { return Err(PathError::NotAbsolute) };
    put(out, 0, b'/')?;
    let mut len = 1;
    for segment in rest.split_inclusive(|&b| b == b'/') {
        len = push_segment(segment, out, len)?;
    }
    Ok(&out[..len])
}

/// Appends a segment and the slash it may end with to the `len` bytes of `out`, which end with a slash; returns the new
/// length.
fn push_segment(segment: &[u8], out: &mut [u8], len: usize) -> Result<usize, PathError> {
    let (name, slash) = match segment {
        [name @ .., b'/'] => (name, true),
        name => (name, false),
    };
    let mut end = len;
    let mut rest = name;
    while let Some((byte, tail)) = decode_byte(rest)? {
        match byte {
            0 => return Err(PathError::Nul),
            b'/' => return Err(PathError::EncodedSlash),
            _ => put(out, end, byte)?,
        }
        end += 1;
        rest = tail;
    }
    match &out[len..end] {
        b"" | b"." => Ok(len),
        b".." if len == 1 => Err(PathError::AboveRoot),
        b".." => Ok(out[..len - 1].iter().rposition(|&b| b == b'/').map_or(1, |at| at + 1)),
        _ if slash => {
            put(out, end, b'/')?;
            Ok(end + 1)
        }
        _ => Ok(end),
    }
}

/// The next byte of percent-encoded text and what follows it.
#[inline]
fn decode_byte(text: &[u8]) -> Result<Option<(u8, &[u8])>, PathError> {
    match text {
        [] => Ok(None),
        [b'%', high, low, rest @ ..] => {
            let digit = |byte: u8| char::from(byte).to_digit(16).ok_or(PathError::BadEscape);
            Ok(Some(((digit(*high)? << 4 | digit(*low)?) as u8, rest)))
        }
        [b'%', ..] => Err(PathError::BadEscape),
        [byte, rest @ ..] => Ok(Some((*byte, rest))),
    }
}

fn put(out: &mut [u8], at: usize, byte: u8) -> Result<(), PathError> {
    *out.get_mut(at).ok_or(PathError::TooLong)? = byte;
    Ok(())
}

/// The `name=value` pairs of a query, not decoded; a pair without `=` has an empty value.
pub fn query_pairs(query: &[u8]) -> QueryPairs<'_> {
    QueryPairs { rest: query }
}

/// Iterates over the pairs of a query.
#[derive(Clone, Debug)]
pub struct QueryPairs<'q> {
    rest: &'q [u8],
}

impl<'q> Iterator for QueryPairs<'q> {
    type Item = (&'q [u8], &'q [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        while !self.rest.is_empty() {
            let end = self.rest.iter().position(|&b| b == b'&').unwrap_or(self.rest.len());
            let pair = &self.rest[..end];
            self.rest = self.rest.get(end + 1..).unwrap_or_default();
            if let Some(equals) = pair.iter().position(|&b| b == b'=') {
                return Some((&pair[..equals], &pair[equals + 1..]));
            }
            if !pair.is_empty() {
                return Some((pair, b""));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(path: &str) -> Result<String, PathError> {
        let mut out = vec![0; path.len()];
        decode_path(path.as_bytes(), &mut out).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    #[test]
    fn targets_come_apart() {
        let origin = split(b"/a/b?c=d?e");
        assert_eq!(origin, Parts { authority: None, path: b"/a/b", query: Some(b"c=d?e") });
        let absolute = split(b"HTTP://h:80/a?b");
        assert_eq!(absolute, Parts { authority: Some(b"h:80"), path: b"/a", query: Some(b"b") });
        let bare = split(b"https://h?q");
        assert_eq!(bare, Parts { authority: Some(b"h"), path: b"/", query: Some(b"q") });
        assert_eq!(split(b"*").path, b"*");
        assert_eq!(split(b"ftp://h/").authority, None);
    }

    #[test]
    fn hosts_are_a_name_or_an_address_and_perhaps_a_port() {
        for host in
            ["", "a", "a.b-c_d:80", "127.0.0.1:8080", "[::1]", "[fe80::1]:80", "a:", "%41", "h,i", "[v1.x]"]
        {
            assert!(is_host(host.as_bytes()), "{host}");
        }
        for host in
            ["a b", "u@h", "h/", "h:80a", "h:80:80", "[", "[]", "[::1", "[::1]x", "::1", "h\\", "h?", "é"]
        {
            assert!(!is_host(host.as_bytes()), "{host}");
        }
    }

    #[test]
    fn paths_are_decoded_once_and_normalised() {
        for (path, right) in [
            ("/", "/"),
            ("/index.html", "/index.html"),
            ("/a/b/", "/a/b/"),
            ("/a/./b", "/a/b"),
            ("/a/../b", "/b"),
            ("/a/b/..", "/a/"),
            ("/a/b/../", "/a/"),
            ("/a/.", "/a/"),
            ("/a/..", "/"),
            ("//a///b", "/a/b"),
            ("/%61%2e%2E/b", "/a../b"),
            ("/a/%2e%2e/b", "/b"),
            ("/%252e%252e/b", "/%2e%2e/b"),
            ("/...", "/..."),
            ("/.a/..b", "/.a/..b"),
            ("/a+b", "/a+b"),
            ("/%E2%82%AC", "/€"),
        ] {
            assert_eq!(decoded(path).as_deref(), Ok(right), "{path}");
        }
    }

    #[test]
    fn paths_that_would_leave_the_root_or_cut_a_name_are_refused() {
        for path in ["/..", "/../a", "/a/../..", "/a/../../b", "/%2e%2e/a", "/.%2E/", "/a//../../b", "/./.."]
        {
            assert_eq!(decoded(path), Err(PathError::AboveRoot), "{path}");
        }
        for path in ["/a%00", "/%00"] {
            assert_eq!(decoded(path), Err(PathError::Nul), "{path}");
        }
        for path in ["/a%2fb", "/..%2F..%2Fetc/passwd"] {
            assert_eq!(decoded(path), Err(PathError::EncodedSlash), "{path}");
        }
        for path in ["/%", "/%1", "/%zz", "/%+1"] {
            assert_eq!(decoded(path), Err(PathError::BadEscape), "{path}");
        }
        for path in ["", "a", "*", "../a"] {
            assert_eq!(decoded(path), Err(PathError::NotAbsolute), "{path}");
        }
    }

    #[test]
    fn a_small_buffer_is_an_error_not_a_panic() {
        for len in 0..4 {
            assert_eq!(decode_path(b"/a/b", &mut vec![0; len]), Err(PathError::TooLong), "{len}");
        }
    }

    #[test]
    fn queries_come_apart() {
        let pairs: Vec<_> = query_pairs(b"a=1&&b&=2&c=d=e&").collect();
        assert_eq!(pairs, [(&b"a"[..], &b"1"[..]), (b"b", b""), (b"", b"2"), (b"c", b"d=e")]);
        assert_eq!(query_pairs(b"").count(), 0);
    }
}
