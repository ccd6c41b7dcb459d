//! Field lines (RFC 9112 §5): the strict scan shared by both kinds of head, and the iterator over a scanned section.

use crate::chars;
use crate::error::ParseErrorKind;
use crate::scan::{Span, Stop, byte, text_line};

/// One field line, borrowed from the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'b> {
    /// The name as it was spelled; compare without regard to case.
    pub name: &'b [u8],
    /// The value without white space at its ends.
    pub value: &'b [u8],
}

/// Passes over the field lines from `at` to the empty line, calling `visit(name, value)` for each.
/// Returns the end of the section and the end of the head behind the empty line.
#[inline]
pub(crate) fn scan_section(
    bytes: &[u8],
    mut at: usize,
    mut visit: impl FnMut(Span, Span) -> Result<(), ParseErrorKind>,
) -> Result<(usize, usize), Stop> {
    loop {
        if byte(bytes, at)? == b'\r' {
            return match byte(bytes, at + 1)? {
                b'\n' => Ok((at, at + 2)),
                _ => Err(ParseErrorKind::BareCr.at(at).into()),
            };
        }
        let colon = scan_name(bytes, at)?;
        let (end, next) = text_line(bytes, colon + 1)?;
        let value = trimmed(bytes, colon + 1, end);
        visit(Span::new(at, colon), value).map_err(|kind| kind.at(at))?;
        at = next;
    }
}

/// Passes over a field name; returns the offset of its colon.
#[inline]
fn scan_name(bytes: &[u8], at: usize) -> Result<usize, Stop> {
    let rest = bytes.get(at..).unwrap_or_default();
    let len = rest.iter().position(|&b| !chars::is_token(b)).ok_or(Stop::Partial)?;
    let kind = match rest[len] {
        b':' if len > 0 => return Ok(at + len),
        b' ' | b'\t' if len == 0 => ParseErrorKind::ObsoleteFold,
        b'\n' => ParseErrorKind::BareLf,
        _ => ParseErrorKind::BadFieldName,
    };
    Err(kind.at(at + len).into())
}

/// The range `start..end` without SP and HTAB at its ends.
#[inline]
fn trimmed(bytes: &[u8], mut start: usize, mut end: usize) -> Span {
    while start < end && matches!(bytes[start], b' ' | b'\t') {
        start += 1;
    }
    while start < end && matches!(bytes[end - 1], b' ' | b'\t') {
        end -= 1;
    }
    Span::new(start, end)
}

/// Iterates over the field lines of a head that was scanned, in order, without allocation.
#[derive(Clone, Debug)]
pub struct Fields<'b> {
    bytes: &'b [u8],
    section: Span,
}

impl<'b> Fields<'b> {
    /// `section` is a range of `bytes` that [`scan_section`] passed over.
    pub(crate) fn new(bytes: &'b [u8], section: Span) -> Self {
        Self { bytes, section }
    }

    /// The value of the first field of this name, in any case.
    pub fn find(mut self, name: &str) -> Option<&'b [u8]> {
        self.find_map(|field| field.name.eq_ignore_ascii_case(name.as_bytes()).then_some(field.value))
    }

    /// The ranges of the next name and value.
    pub(crate) fn next_spans(&mut self) -> Option<(Span, Span)> {
        let rest = self.section.of(self.bytes);
        let start = self.section.start as usize;
        let colon = start + rest.iter().position(|&b| b == b':')?;
        let end = chars::find_control(self.bytes, colon)?;
        self.section.start = self.section.end.min(end as u32 + 2);
        Some((Span::new(start, colon), trimmed(self.bytes, colon + 1, end)))
    }
}

impl<'b> Iterator for Fields<'b> {
    type Item = Field<'b>;

    fn next(&mut self) -> Option<Field<'b>> {
        let (name, value) = self.next_spans()?;
        Some(Field { name: name.of(self.bytes), value: value.of(self.bytes) })
    }
}
