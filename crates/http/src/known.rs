//! The fields that mean something to this crate or its users, recognised by length and first letter.

/// A field name that is recognised while a head is scanned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum KnownField {
    /// `Accept-Encoding`
    AcceptEncoding,
    /// `Connection`
    Connection,
    /// `Content-Length`
    ContentLength,
    /// `Content-Type`
    ContentType,
    /// `Date`
    Date,
    /// `Expect`
    Expect,
    /// `Host`
    Host,
    /// `If-Match`
    IfMatch,
    /// `If-Modified-Since`
    IfModifiedSince,
    /// `If-None-Match`
    IfNoneMatch,
    /// `If-Range`
    IfRange,
    /// `If-Unmodified-Since`
    IfUnmodifiedSince,
    /// `Range`
    Range,
    /// `Server`
    Server,
    /// `Transfer-Encoding`
    TransferEncoding,
}

impl KnownField {
    /// The name as it is usually written.
    pub fn name(self) -> &'static str {
        match self {
            Self::AcceptEncoding => "Accept-Encoding",
            Self::Connection => "Connection",
            Self::ContentLength => "Content-Length",
            Self::ContentType => "Content-Type",
            Self::Date => "Date",
            Self::Expect => "Expect",
            Self::Host => "Host",
            Self::IfMatch => "If-Match",
            Self::IfModifiedSince => "If-Modified-Since",
            Self::IfNoneMatch => "If-None-Match",
            Self::IfRange => "If-Range",
            Self::IfUnmodifiedSince => "If-Unmodified-Since",
            Self::Range => "Range",
            Self::Server => "Server",
            Self::TransferEncoding => "Transfer-Encoding",
        }
    }

    /// Recognises a token as a name, in any case. Length and one letter leave one candidate, which is then compared in
    /// full.
    #[inline]
    pub(crate) fn recognise(name: &[u8]) -> Option<Self> {
        let first = name.first()? | 0x20;
        let candidate = match (name.len(), first) {
            (4, b'h') => Self::Host,
            (4, b'd') => Self::Date,
            (5, b'r') => Self::Range,
            (6, b's') => Self::Server,
            (6, b'e') => Self::Expect,
            (8, b'i') if name[3] | 0x20 == b'r' => Self::IfRange,
            (8, b'i') => Self::IfMatch,
            (10, b'c') => Self::Connection,
            (12, b'c') => Self::ContentType,
            (13, b'i') => Self::IfNoneMatch,
            (14, b'c') => Self::ContentLength,
            (15, b'a') => Self::AcceptEncoding,
            (17, b't') => Self::TransferEncoding,
            (17, b'i') => Self::IfModifiedSince,
            (19, b'i') => Self::IfUnmodifiedSince,
            _ => return None,
        };
        equals_ignoring_case(name, candidate.name().as_bytes()).then_some(candidate)
    }
}

/// Whether a token equals a name of letters and hyphens, in any case. Both have the same length.
///
/// Bit 5 is the case of a letter and is set in a hyphen, so setting it everywhere makes alike what differs in case only
/// (of the other bytes that become so, none is a token). Words at a step: the last one overlaps its neighbour.
#[inline]
fn equals_ignoring_case(token: &[u8], name: &[u8]) -> bool {
    const CASE: u64 = u64::MAX / 255 * 0x20;
    let differs = |a: &[u8; 8], b: &[u8; 8]| (u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b)) & !CASE != 0;
    match (token.last_chunk::<8>(), name.last_chunk::<8>()) {
        (Some(a), Some(b)) if differs(a, b) => false,
        (Some(_), Some(_)) => {
            let (ours, theirs) = (token.as_chunks::<8>().0, name.as_chunks::<8>().0);
            !ours.iter().zip(theirs).any(|(a, b)| differs(a, b))
        }
        _ => token.eq_ignore_ascii_case(name),
    }
}

/// The known fields that a head has, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KnownFields(u16);

impl KnownFields {
    /// Whether the field occurs at least once.
    #[inline]
    pub fn has(self, field: KnownField) -> bool {
        self.0 & (1 << field as u8) != 0
    }

    #[inline]
    pub(crate) fn add(&mut self, field: KnownField) {
        self.0 |= 1 << field as u8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [KnownField; 15] = [
        KnownField::AcceptEncoding,
        KnownField::Connection,
        KnownField::ContentLength,
        KnownField::ContentType,
        KnownField::Date,
        KnownField::Expect,
        KnownField::Host,
        KnownField::IfMatch,
        KnownField::IfModifiedSince,
        KnownField::IfNoneMatch,
        KnownField::IfRange,
        KnownField::IfUnmodifiedSince,
        KnownField::Range,
        KnownField::Server,
        KnownField::TransferEncoding,
    ];

    #[test]
    fn each_name_is_recognised_in_any_case_and_by_nothing_shorter_longer_or_altered() {
        for field in ALL {
            let name = field.name();
            for spelled in [name.to_string(), name.to_lowercase(), name.to_uppercase()] {
                assert_eq!(KnownField::recognise(spelled.as_bytes()), Some(field));
                for i in 0..spelled.len() {
                    let mut altered = spelled.clone().into_bytes();
                    altered[i] = b'_';
                    assert_eq!(KnownField::recognise(&altered), None);
                }
                assert_eq!(KnownField::recognise(&spelled.as_bytes()[1..]), None);
                assert_eq!(KnownField::recognise(format!("{spelled}s").as_bytes()), None);
            }
        }
        assert_eq!(KnownField::recognise(b""), None);
    }

    #[test]
    fn the_set_keeps_its_members_apart() {
        for field in ALL {
            let mut set = KnownFields::default();
            set.add(field);
            assert!(ALL.iter().all(|&other| set.has(other) == (other == field)));
        }
    }
}
