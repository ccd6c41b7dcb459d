//! Conditional requests and ranges (RFC 9110 §13 and §14): which part of a file answers a request.

use std::ops::Range;

use assay_http::{Framing, KnownField, RequestHead, date};

use crate::coding::Coding;

/// A file that was found, as far as its response tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// Length in bytes.
    pub(crate) len: u64,
    /// Last modification, seconds since 1970.
    pub(crate) modified_s: u64,
    /// The rest of it, nanoseconds.
    pub(crate) modified_ns: u32,
    /// Of what it is when it is not coded.
    pub(crate) media_type: &'static str,
    /// How its bytes are coded.
    pub(crate) coding: Coding,
}

/// The fields of a request that make it conditional or ask for a part. Lists may come in several lines.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conditions<'i> {
    if_match: Vec<&'i [u8]>,
    if_unmodified_since: Option<&'i [u8]>,
    if_none_match: Vec<&'i [u8]>,
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
    /// The conditions of a request.
    pub(crate) fn of(head: &RequestHead, input: &'i [u8]) -> Self {
        let lines = |field| head.all_known(input, field).collect();
        // A field that may come only once and comes twice has no value that could be right.
        let single = |field| {
            let mut values = head.all_known(input, field);
            let first = values.next();
            if values.next().is_some() { Some(&b""[..]) } else { first }
        };
        Self {
            if_match: lines(KnownField::IfMatch),
            if_unmodified_since: single(KnownField::IfUnmodifiedSince),
            if_none_match: lines(KnownField::IfNoneMatch),
            if_modified_since: single(KnownField::IfModifiedSince),
            range: single(KnownField::Range),
            if_range: single(KnownField::IfRange),
        }
    }
}

/// Decides in the order of RFC 9110 §13.2.2. `now_s` helps to read dates with two-digit years.
pub(crate) fn select(found: &Found, conditions: &Conditions<'_>, head_only: bool, now_s: u64) -> Selection {
    let tag = found.tag();
    let parse = |text: &[u8]| date::parse(text, now_s);
    let unmodified_since = |text| parse(text).is_none_or(|then| found.modified_s <= then);
    let matches = match (&*conditions.if_match, conditions.if_unmodified_since) {
        ([], None) => true,
        ([], Some(text)) => unmodified_since(text),
        (tags, _) => has_tag(tags, &tag, false),
    };
    if !matches {
        return Selection::Failed;
    }
    let current = match (&*conditions.if_none_match, conditions.if_modified_since) {
        ([], None) => false,
        ([], Some(text)) => parse(text).is_some_and(|then| found.modified_s <= then),
        (tags, _) => has_tag(tags, &tag, true),
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

/// Whether a list of entity tags, in one line or several, names `tag`. Weak tags count only in the weak comparison
/// (RFC 9110 §8.8.3.2).
fn has_tag(lines: &[&[u8]], tag: &str, weak: bool) -> bool {
    let elements = lines.iter().flat_map(|line| line.split(|&byte| byte == b','));
    elements.map(<[u8]>::trim_ascii).any(|element| {
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
    /// When it was last modified: seconds since 1970, and the nanoseconds beyond.
    pub(crate) fn modified(&self) -> (u64, u32) {
        (self.modified_s, self.modified_ns)
    }

    /// The entity tag: strong, for the time of modification is known to the nanosecond, and another one for each coding
    /// (RFC 9110 §8.8.3.3).
    fn tag(&self) -> String {
        let Self { len, modified_s, modified_ns, .. } = self;
        match self.coding {
            Coding::Identity => format!("\"{modified_s:x}.{modified_ns:x}-{len:x}\""),
            coding => format!("\"{modified_s:x}.{modified_ns:x}-{len:x}-{}\"", coding.name()),
        }
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

/// The texts of the fields that tell of a file; an empty one is not sent.
pub(crate) struct FileHead {
    media_type: &'static str,
    content_encoding: &'static str,
    accept_ranges: &'static str,
    modified: [u8; date::LEN],
    tag: String,
    content_range: String,
}

impl FileHead {
    /// What is told besides the file's bytes. To one who has the file, no more than what tells the answers apart (RFC
    /// 9110 §15.4.5); to one who asked for bytes that it does not have, how many there are.
    pub(crate) fn new(found: &Found, selection: &Selection) -> Self {
        let has_content = matches!(selection, Selection::Whole | Selection::Part(_));
        let with_content = |text: &'static str| if has_content { text } else { "" };
        Self {
            media_type: with_content(found.media_type),
            content_encoding: with_content(found.coding.name()),
            accept_ranges: if *selection == Selection::NotModified { "" } else { "bytes" },
            modified: date::format(found.modified_s),
            tag: found.tag(),
            content_range: match selection {
                Selection::Part(range) => format!("bytes {}-{}/{}", range.start, range.end - 1, found.len),
                Selection::Unsatisfiable => format!("bytes */{}", found.len),
                _ => String::new(),
            },
        }
    }

    /// Names and values in the order in which they are sent. What is sent always depends on Accept-Encoding: whether
    /// there is a precompressed sibling was looked at for those clients only that take one.
    pub(crate) fn fields(&self) -> [(&str, &str); 7] {
        [
            ("Content-Type", self.media_type),
            ("Content-Encoding", self.content_encoding),
            ("Last-Modified", std::str::from_utf8(&self.modified).unwrap_or_default()),
            ("ETag", &self.tag),
            ("Vary", "Accept-Encoding"),
            ("Accept-Ranges", self.accept_ranges),
            ("Content-Range", &self.content_range),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: Found = Found {
        len: 100,
        modified_s: 784_111_777,
        modified_ns: 5,
        media_type: "text/plain",
        coding: Coding::Identity,
    };
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
            let conditions = Conditions { if_none_match: vec![tags.as_bytes()], ..Conditions::default() };
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
            |tags: &str| decide(Conditions { if_match: vec![tags.as_bytes()], ..Conditions::default() });
        assert_eq!(if_match(&tag), Selection::Whole);
        assert_eq!(if_match(&weak), Selection::Failed);
        assert_eq!(if_match("*"), Selection::Whole);
        let lines = Conditions { if_match: vec![b"\"other\"", tag.as_bytes()], ..Conditions::default() };
        assert_eq!(decide(lines), Selection::Whole, "the list goes on in another line");
        let if_range = |text: &[u8]| {
            decide(Conditions { range: Some(b"bytes=0-1"), if_range: Some(text), ..Conditions::default() })
        };
        assert_eq!(if_range(tag.as_bytes()), Selection::Part(0..2));
        assert_eq!(if_range(weak.as_bytes()), Selection::Whole);
        assert_eq!(if_range(MODIFIED), Selection::Part(0..2));
        assert_eq!(if_range(LATER), Selection::Whole);
    }

    #[test]
    fn the_preconditions_are_taken_in_their_order() {
        let tag = FILE.tag();
        let both = Conditions {
            if_match: vec![b"\"other\""],
            if_none_match: vec![tag.as_bytes()],
            ..Conditions::default()
        };
        assert_eq!(decide(both), Selection::Failed, "If-Match comes first");
        let ruled_out = Conditions {
            if_match: vec![tag.as_bytes()],
            if_unmodified_since: Some(EARLIER),
            ..Conditions::default()
        };
        assert_eq!(decide(ruled_out), Selection::Whole, "a tag rules over a date");
        let part = Conditions {
            if_none_match: vec![tag.as_bytes()],
            range: Some(b"bytes=0-1"),
            ..Conditions::default()
        };
        assert_eq!(decide(part), Selection::NotModified, "before any range");
    }

    #[test]
    fn a_field_that_comes_twice_is_as_good_as_none_and_a_list_goes_on() {
        let text = format!(
            "GET / HTTP/1.1\r\nHost: h\r\nRange: bytes=0-1\r\nRange: bytes=3-4\r\nIf-None-Match: \"a\"\r\n\
             If-None-Match: {}\r\n\r\n",
            FILE.tag()
        );
        let scan = assay_http::scan_request(text.as_bytes(), &assay_http::Limits::DEFAULT);
        let assay_http::Scan::Complete(head) = scan else { panic!("{scan:?}") };
        let conditions = Conditions::of(&head, text.as_bytes());
        assert_eq!(conditions.range, Some(&b""[..]));
        assert_eq!(decide(conditions), Selection::NotModified);
    }

    #[test]
    fn each_coding_has_a_tag_of_its_own() {
        let coded = Found { coding: Coding::Brotli, ..FILE };
        assert_ne!(coded.tag(), FILE.tag());
        let conditions = Conditions { if_none_match: vec![b"\"2ebc98a1.5-64\""], ..Conditions::default() };
        assert_eq!(select(&FILE, &conditions, false, 0), Selection::NotModified);
        assert_eq!(select(&coded, &conditions, false, 0), Selection::Whole);
    }

    #[test]
    fn head_ignores_ranges() {
        let conditions = Conditions { range: Some(b"bytes=0-1"), ..Conditions::default() };
        assert_eq!(select(&FILE, &conditions, true, 0), Selection::Whole);
    }
}
