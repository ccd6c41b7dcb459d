//! Conditional requests and ranges (RFC 9110 §13 and §14): which part of a file answers a request.

use std::ops::Range;

use assay_http::{Framing, KnownField, date};

/// A file that was found, as far as its response tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// Length in bytes.
    pub(crate) len: u64,
    /// Last modification, seconds since 1970.
    pub(crate) modified_s: u64,
    /// The rest of it, nanoseconds.
    pub(crate) modified_ns: u32,
    pub(crate) media_type: &'static str,
}

/// The fields of a request that make it conditional or ask for a part.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Conditions<'i> {
    if_match: Option<&'i [u8]>,
    if_unmodified_since: Option<&'i [u8]>,
    if_none_match: Option<&'i [u8]>,
    if_modified_since: Option<&'i [u8]>,
    range: Option<&'i [u8]>,
    if_range: Option<&'i [u8]>,
}

/// What answers the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Selection {
    /// 200: all of it.
    Whole,
    /// 206: these bytes.
    Part(Range<u64>),
    /// 304: the client has it.
    NotModified,
    /// 412: it is not what the client expects.
    Failed,
    /// 416: no such bytes.
    Unsatisfiable,
}

impl<'i> Conditions<'i> {
    /// The conditions among a request's fields.
    pub(crate) fn of(field: impl Fn(KnownField) -> Option<&'i [u8]>) -> Self {
        Self {
            if_match: field(KnownField::IfMatch),
            if_unmodified_since: field(KnownField::IfUnmodifiedSince),
            if_none_match: field(KnownField::IfNoneMatch),
            if_modified_since: field(KnownField::IfModifiedSince),
            range: field(KnownField::Range),
            if_range: field(KnownField::IfRange),
        }
    }
}

/// Decides in the order of RFC 9110 §13.2.2. `now_s` helps to read dates with two-digit years.
pub(crate) fn select(found: &Found, conditions: &Conditions<'_>, head_only: bool, now_s: u64) -> Selection {
    let tag = found.tag();
    let parse = |text: &[u8]| date::parse(text, now_s);
    let unmodified_since = |text| parse(text).is_none_or(|then| found.modified_s <= then);
    let matches = match (conditions.if_match, conditions.if_unmodified_since) {
        (Some(tags), _) => has_tag(tags, &tag, false),
        (None, Some(text)) => unmodified_since(text),
        (None, None) => true,
    };
    if !matches {
        return Selection::Failed;
    }
    let current = match (conditions.if_none_match, conditions.if_modified_since) {
        (Some(tags), _) => has_tag(tags, &tag, true),
        (None, Some(text)) => parse(text).is_some_and(|then| found.modified_s <= then),
        (None, None) => false,
    };
    if current {
        return Selection::NotModified;
    }
    // If-Range compares strongly: the tag, or exactly the date (RFC 9110 §13.1.5).
    let ranges_hold = conditions.if_range.is_none_or(|text| {
        text == tag.as_bytes() || parse(text).is_some_and(|then| then == found.modified_s)
    });
    match conditions.range.filter(|_| ranges_hold && !head_only).and_then(|text| range(text, found.len)) {
        None => Selection::Whole,
        Some(range) if range.is_empty() => Selection::Unsatisfiable,
        Some(range) => Selection::Part(range),
    }
}

/// Whether a list of entity tags names `tag`. Weak tags count only in the weak comparison (RFC 9110 §8.8.3.2).
fn has_tag(list: &[u8], tag: &str, weak: bool) -> bool {
    list.split(|&byte| byte == b',').map(<[u8]>::trim_ascii).any(|element| {
        let strong = element.strip_prefix(b"W/").filter(|_| weak).unwrap_or(element);
        element == b"*" || strong == tag.as_bytes()
    })
}

/// The bytes that `bytes=` names. Empty when there are none; `None` when the field is to be ignored: malformed,
/// of another unit, or several ranges, which a server need not serve (RFC 9110 §14.2).
fn range(text: &[u8], len: u64) -> Option<Range<u64>> {
    let text = std::str::from_utf8(text).ok()?;
    let (unit, spec) = text.split_once('=')?;
    let (first, last) = spec.trim().split_once('-')?;
    if !unit.eq_ignore_ascii_case("bytes") {
        return None;
    }
    let (start, end) = match (first, last) {
        ("", last) => (len.saturating_sub(number(last)?), len),
        (first, "") => (number(first)?, len),
        (first, last) => (number(first)?, number(last)?.saturating_add(1).min(len)),
    };
    let inverted = !first.is_empty() && !last.is_empty() && number(last)? < number(first)?;
    (!inverted).then_some(if start < end { start..end } else { 0..0 })
}

fn number(digits: &str) -> Option<u64> {
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

impl Found {
    /// The entity tag: strong, for the time of modification is known to the nanosecond.
    fn tag(&self) -> String {
        format!("\"{:x}.{:x}-{:x}\"", self.modified_s, self.modified_ns, self.len)
    }
}

impl Selection {
    /// Status, framing and the bytes to send of a file that is `len` bytes long.
    pub(crate) fn form(&self, len: u64) -> (u16, Framing, Range<u64>) {
        match self {
            Self::Whole => (200, Framing::Length(len), 0..len),
            Self::Part(range) => (206, Framing::Length(range.end - range.start), range.clone()),
            Self::NotModified => (304, Framing::None, 0..0),
            Self::Failed => (412, Framing::Length(0), 0..0),
            Self::Unsatisfiable => (416, Framing::Length(0), 0..0),
        }
    }
}

/// The texts of the fields that tell of a file.
pub(crate) struct FileHead {
    media_type: &'static str,
    tag: String,
    modified: [u8; date::LEN],
    content_range: Option<String>,
}

impl FileHead {
    pub(crate) fn new(found: &Found, selection: &Selection) -> Self {
        let content_range = match selection {
            Selection::Part(range) => Some(format!("bytes {}-{}/{}", range.start, range.end - 1, found.len)),
            Selection::Unsatisfiable => Some(format!("bytes */{}", found.len)),
            _ => None,
        };
        let modified = date::format(found.modified_s);
        Self { media_type: found.media_type, tag: found.tag(), modified, content_range }
    }

    /// Names and values in the order in which they are sent.
    pub(crate) fn fields(&self) -> Vec<(&str, &str)> {
        let modified = std::str::from_utf8(&self.modified).unwrap_or_default();
        let mut fields = vec![
            ("Content-Type", self.media_type),
            ("Last-Modified", modified),
            ("ETag", &self.tag),
            ("Accept-Ranges", "bytes"),
        ];
        fields.extend(self.content_range.as_deref().map(|text| ("Content-Range", text)));
        fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: Found = Found { len: 100, modified_s: 784_111_777, modified_ns: 5, media_type: "text/plain" };
    const MODIFIED: &[u8] = b"Sun, 06 Nov 1994 08:49:37 GMT";
    const LATER: &[u8] = b"Sun, 06 Nov 1994 08:49:38 GMT";
    const EARLIER: &[u8] = b"Sun, 06 Nov 1994 08:49:36 GMT";

    fn decide(conditions: Conditions<'_>) -> Selection {
        select(&FILE, &conditions, false, 2_000_000_000)
    }

    fn part(range: &str) -> Selection {
        decide(Conditions { range: Some(range.as_bytes()), ..Conditions::default() })
    }

    #[test]
    fn ranges_are_clipped_refused_or_ignored() {
        assert_eq!(part("bytes=0-0"), Selection::Part(0..1));
        assert_eq!(part("bytes=90-"), Selection::Part(90..100));
        assert_eq!(part("bytes=-10"), Selection::Part(90..100));
        assert_eq!(part("bytes=-1000"), Selection::Part(0..100));
        assert_eq!(part("bytes=50-18446744073709551615"), Selection::Part(50..100));
        for unsatisfiable in ["bytes=100-", "bytes=-0", "bytes=200-300"] {
            assert_eq!(part(unsatisfiable), Selection::Unsatisfiable, "{unsatisfiable}");
        }
        for ignored in
            ["bytes=5-4", "bytes=a-b", "lines=0-1", "bytes=0-1,3-4", "bytes=--1", "bytes", "bytes=-"]
        {
            assert_eq!(part(ignored), Selection::Whole, "{ignored}");
        }
    }

    #[test]
    fn tags_rule_over_dates() {
        let tag = FILE.tag();
        let none_match = |tags: &str| {
            let conditions = Conditions { if_none_match: Some(tags.as_bytes()), ..Conditions::default() };
            decide(Conditions { if_modified_since: Some(LATER), ..conditions })
        };
        assert_eq!(none_match(&tag), Selection::NotModified);
        assert_eq!(none_match(&format!("\"a\", W/{tag}")), Selection::NotModified);
        assert_eq!(none_match("*"), Selection::NotModified);
        assert_eq!(none_match("\"other\""), Selection::Whole, "the date would have said otherwise");
    }

    #[test]
    fn dates_are_compared_to_the_second() {
        let modified = |since| decide(Conditions { if_modified_since: Some(since), ..Conditions::default() });
        assert_eq!(modified(MODIFIED), Selection::NotModified);
        assert_eq!(modified(EARLIER), Selection::Whole);
        assert_eq!(modified(b"not a date"), Selection::Whole);
        let unmodified =
            |since| decide(Conditions { if_unmodified_since: Some(since), ..Conditions::default() });
        assert_eq!(unmodified(MODIFIED), Selection::Whole);
        assert_eq!(unmodified(EARLIER), Selection::Failed);
    }

    #[test]
    fn if_match_and_if_range_compare_strongly() {
        let tag = FILE.tag();
        let weak = format!("W/{tag}");
        let if_match =
            |tags: &str| decide(Conditions { if_match: Some(tags.as_bytes()), ..Conditions::default() });
        assert_eq!(if_match(&tag), Selection::Whole);
        assert_eq!(if_match(&weak), Selection::Failed);
        let if_range = |text: &[u8]| {
            decide(Conditions { range: Some(b"bytes=0-1"), if_range: Some(text), ..Conditions::default() })
        };
        assert_eq!(if_range(tag.as_bytes()), Selection::Part(0..2));
        assert_eq!(if_range(weak.as_bytes()), Selection::Whole);
        assert_eq!(if_range(MODIFIED), Selection::Part(0..2));
        assert_eq!(if_range(LATER), Selection::Whole);
    }

    #[test]
    fn head_ignores_ranges() {
        let conditions = Conditions { range: Some(b"bytes=0-1"), ..Conditions::default() };
        assert_eq!(select(&FILE, &conditions, true, 0), Selection::Whole);
    }
}
