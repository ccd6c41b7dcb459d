//! The fast path of a client (docs/method/generator.md): a head seen before is recognised by comparison, not parsed.

use std::ops::Range;

use crate::chars;
use crate::date;
use crate::known::KnownField;
use crate::response::ResponseHead;

/// Most holes a template may have; a head that varies in more places is cheaper to parse.
const MAX_HOLES: usize = 8;

/// A strictly scanned head with holes where it may vary. A head that matches has the same length, status, framing and
/// field ranges: [`Self::head`] holds for it as if it had been scanned.
///
/// The fields that decide about framing, connection and content are never holes.
#[derive(Clone, Debug)]
pub struct HeadTemplate {
    bytes: Vec<u8>,
    head: ResponseHead,
    /// Sorted and disjoint.
    holes: Vec<Hole>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Hole {
    range: Range<usize>,
    kind: HoleKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HoleKind {
    /// A valid IMF-fixdate.
    Date,
    /// Any text a field value may have.
    Text,
}

impl HeadTemplate {
    /// Makes a template of a head; `head_bytes` is the slice it was scanned from. Its one hole is the Date, if valid.
    pub fn learn(head_bytes: &[u8], head: &ResponseHead) -> Self {
        let bytes = head_bytes.get(..head.len as usize).unwrap_or(head_bytes).to_vec();
        let date = head.date.filter(|date| date::parse_imf(date.of(&bytes)).is_some());
        let hole =
            date.map(|date| Hole { range: date.start as usize..date.end as usize, kind: HoleKind::Date });
        Self { bytes, head: *head, holes: hole.into_iter().collect() }
    }

    /// Whether `bytes` begins with a head that differs from the template in its holes only, each of which is still what
    /// it was. A new date is adopted: until the next one, a match is a single comparison.
    #[inline]
    pub fn matches(&mut self, bytes: &[u8]) -> bool {
        match bytes.get(..self.bytes.len()) {
            Some(candidate) => candidate == self.bytes || self.matches_around_holes(candidate),
            None => false,
        }
    }

    /// `candidate` is as long as the template.
    fn matches_around_holes(&mut self, candidate: &[u8]) -> bool {
        let mut at = 0;
        for hole in &self.holes {
            let same_before = candidate[at..hole.range.start] == self.bytes[at..hole.range.start];
            let value = &candidate[hole.range.clone()];
            if !same_before || (value != &self.bytes[hole.range.clone()] && !hole.kind.admits(value)) {
                return false;
            }
            at = hole.range.end;
        }
        let same = candidate[at..] == self.bytes[at..];
        if same {
            self.bytes.copy_from_slice(candidate);
        }
        same
    }

    /// Learns further holes from a second scanned head of the same kind: values of equal length that differ, in fields
    /// that mean nothing to this crate. Returns whether the other head is matched now; when not, nothing was learned.
    pub fn widen(&mut self, other_bytes: &[u8], other: &ResponseHead) -> bool {
        let mut wider = self.clone();
        if *other == self.head
            && let Some(holes) = self.varying_values(other_bytes, other)
        {
            wider.holes.extend(holes);
            wider.holes.sort_by_key(|hole| hole.range.start);
        }
        let fits = wider.holes.len() <= MAX_HOLES && wider.matches(other_bytes);
        if fits {
            *self = wider;
        }
        fits
    }

    /// The values that differ and are no holes yet; `None` when the two heads have not the same fields.
    fn varying_values(&self, other_bytes: &[u8], other: &ResponseHead) -> Option<Vec<Hole>> {
        let mut holes = Vec::new();
        let mut theirs = other.fields(other_bytes);
        let mut ours = self.head.fields(&self.bytes);
        while let Some((name, value)) = ours.next_spans() {
            if theirs.next_spans()? != (name, value) {
                return None;
            }
            let range = value.start as usize..value.end as usize;
            let fixed = KnownField::recognise(name.of(&self.bytes)).is_some();
            let hole_already = self.holes.iter().any(|hole| hole.range == range);
            if !fixed && !hole_already && value.of(&self.bytes) != value.of(other_bytes) {
                holes.push(Hole { range, kind: HoleKind::Text });
            }
        }
        Some(holes)
    }

    /// Length in bytes of every head that matches.
    #[inline]
    pub fn head_len(&self) -> usize {
        self.bytes.len()
    }

    /// The head as it was scanned; status, framing and ranges hold for every head that matches.
    #[inline]
    pub fn head(&self) -> &ResponseHead {
        &self.head
    }
}

impl HoleKind {
    fn admits(self, value: &[u8]) -> bool {
        match self {
            Self::Date => date::parse_imf(value).is_some(),
            // Without white space at its ends, so that the strict scan would find the same range.
            Self::Text => chars::find_control(value, 0).is_none() && chars::trim(value).len() == value.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::{Limits, Scan};
    use crate::scan_response;

    const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nX-Id: 0001\r\n\
        Content-Type: text/plain\r\nContent-Length: 5\r\n\r\n";

    fn parsed(bytes: &[u8]) -> ResponseHead {
        match scan_response(bytes, &Limits::DEFAULT) {
            Scan::Complete(head) => head,
            other => panic!("{other:?}"),
        }
    }

    fn replaced(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
        String::from_utf8(bytes.to_vec()).unwrap().replacen(from, to, 1).into_bytes()
    }

    #[test]
    fn any_change_of_one_byte_outside_the_date_is_a_miss() {
        let mut template = HeadTemplate::learn(HEAD, &parsed(HEAD));
        let date = parsed(HEAD).date.unwrap();
        for at in (0..HEAD.len()).filter(|&at| !(date.start as usize..date.end as usize).contains(&at)) {
            for byte in 0..=255u8 {
                let mut bytes = HEAD.to_vec();
                bytes[at] = byte;
                assert_eq!(template.matches(&bytes), byte == HEAD[at], "byte {byte:#x} at {at}");
            }
        }
    }

    #[test]
    fn another_date_matches_and_anything_else_in_its_place_does_not() {
        let mut template = HeadTemplate::learn(HEAD, &parsed(HEAD));
        for unix_s in [784_111_778, 0, 784_111_777, 1_795_000_000] {
            let date = String::from_utf8(date::format(unix_s).to_vec()).unwrap();
            let later = replaced(HEAD, "Sun, 06 Nov 1994 08:49:37 GMT", &date);
            assert!(template.matches(&later));
            assert_eq!(template.bytes, later, "the date was not adopted");
            assert!(!template.matches(&replaced(&later, &date, "Xyz, 06 Nov 1994 08:49:37 GMT")));
            assert!(!template.matches(&replaced(&later, &date, "Sun, 06 Nov 1994 08:49\r\nX: y")));
        }
    }

    #[test]
    fn what_follows_the_head_is_ignored_and_a_short_head_is_a_miss() {
        let mut template = HeadTemplate::learn(HEAD, &parsed(HEAD));
        assert!(template.matches(&[HEAD, b"hello"].concat()));
        for len in 0..HEAD.len() {
            assert!(!template.matches(&HEAD[..len]), "{len}");
        }
        assert_eq!(template.head_len(), HEAD.len());
    }

    #[test]
    fn an_invalid_date_is_no_hole() {
        let odd = replaced(HEAD, "Sun, 06 Nov", "Mon, 06 Nov");
        let mut template = HeadTemplate::learn(&odd, &parsed(&odd));
        assert!(template.matches(&odd));
        assert!(!template.matches(HEAD));
    }

    #[test]
    fn a_second_head_widens_the_template_by_its_varying_values() {
        let mut template = HeadTemplate::learn(HEAD, &parsed(HEAD));
        let second = replaced(&replaced(HEAD, "0001", "0002"), "08:49:37", "08:49:38");
        assert!(!template.matches(&second));
        assert!(template.widen(&second, &parsed(&second)));
        assert!(template.matches(HEAD) && template.matches(&replaced(HEAD, "0001", "ab d")));
        for value in ["00\r\n", " 001", "001 ", "0\0\0\0", "00\n1"] {
            assert!(!template.matches(&replaced(HEAD, "0001", value)), "{value:?}");
        }
        assert!(!template.matches(&replaced(HEAD, "X-Id", "Y-Id")));
    }

    #[test]
    fn fields_with_a_meaning_never_become_holes() {
        for (from, to) in [
            ("Length: 5", "Length: 6"),
            ("plain", "plane"),
            ("200 OK", "201 OK"),
            ("X-Id", "X-Jd"),
            ("0001", "01"),
        ] {
            let mut template = HeadTemplate::learn(HEAD, &parsed(HEAD));
            let second = replaced(HEAD, from, to);
            assert!(!template.widen(&second, &parsed(&second)), "{to}");
            assert!(!template.matches(&second) && template.matches(HEAD));
        }
    }

    #[test]
    fn a_head_that_varies_in_too_many_places_is_not_learned() {
        let head = |digit: u8| {
            let fields: String = (0..=MAX_HOLES).map(|i| format!("X-{i}: {digit}\r\n")).collect();
            format!("HTTP/1.1 204 \r\n{fields}\r\n").into_bytes()
        };
        let (first, second) = (head(1), head(2));
        let mut template = HeadTemplate::learn(&first, &parsed(&first));
        assert!(!template.widen(&second, &parsed(&second)));
        assert!(!template.matches(&second));
    }
}
