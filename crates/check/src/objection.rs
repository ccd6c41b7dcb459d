//! What can be said against a server.

use std::time::Duration;

/// Before each look whether a server is still there.
const ALIVE_WAITS: [Duration; 3] = [Duration::ZERO, Duration::from_millis(50), Duration::from_millis(250)];

/// What a rule found: nothing to object, or an objection.
pub(crate) type Keeping = Result<(), Objection>;

/// Why a rule is not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Objection {
    /// The rule is broken; what was sent and received.
    Broken(String),
    /// The server was gone behind it; how that showed.
    Felled(String),
    /// The rule does not apply; why.
    NotApplicable(String),
}

impl Objection {
    pub(crate) fn not_applicable(why: impl Into<String>) -> Self {
        Self::NotApplicable(why.into())
    }

    /// The objection after `told` has added evidence to a broken rule; any other objection stays as it is.
    pub(crate) fn with(self, told: impl FnOnce(&str) -> Self) -> Self {
        match self {
            Self::Broken(why) => told(&why),
            other => other,
        }
    }

    /// The objection with the place where it arose.
    pub(crate) fn on(self, what: impl std::fmt::Display) -> Self {
        match self {
            Self::Broken(evidence) => Self::Broken(format!("{what}: {evidence}")),
            Self::Felled(evidence) => Self::Felled(format!("{what}: {evidence}")),
            Self::NotApplicable(why) => Self::NotApplicable(why),
        }
    }
}

impl std::fmt::Display for Objection {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Broken(text) | Self::Felled(text) | Self::NotApplicable(text) => out.write_str(text),
        }
    }
}

/// Whether the plain request is still served. A server that replaces a worker may need a moment.
pub(crate) fn is_alive(serves: impl Fn() -> Keeping) -> Keeping {
    let mut last = Ok(());
    for wait in ALIVE_WAITS {
        std::thread::sleep(wait);
        last = serves();
        if last.is_ok() {
            break;
        }
    }
    last.map_err(|objection| match objection {
        Objection::NotApplicable(why) => Objection::NotApplicable(why),
        other => Objection::Felled(format!("afterwards the plain request was no longer answered: {other}")),
    })
}

/// For rules about what is refused: they tell nothing where the plain request has this status, which is a refusal too.
pub(crate) fn needs_served(plain_status: u16) -> Keeping {
    if plain_status < 400 {
        return Ok(());
    }
    let why = format!("its plain answer is {plain_status}; ask for a path that it serves");
    Err(Objection::not_applicable(why))
}

/// Longest beginning and end of bytes that are shown.
const SHOWN_START_BYTES: usize = 200;
const SHOWN_END_BYTES: usize = 60;

/// Bytes in quotation marks, escaped and, where they are many, without their middle.
pub(crate) fn shown(bytes: &[u8]) -> String {
    shown_of(bytes, bytes.len())
}

/// What is left of so many bytes, of which some in the middle were dropped.
pub(crate) fn shown_of(bytes: &[u8], all: usize) -> String {
    if all <= SHOWN_START_BYTES + SHOWN_END_BYTES {
        return format!("\"{}\"", bytes.escape_ascii());
    }
    let start = &bytes[..bytes.len().min(SHOWN_START_BYTES)];
    let end = &bytes[bytes.len().saturating_sub(SHOWN_END_BYTES)..];
    format!("\"{}\" … \"{}\" ({all} bytes)", start.escape_ascii(), end.escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_escaped_and_many_of_them_shortened() {
        assert_eq!(shown(b"a\r\n\0\x1b"), r#""a\r\n\x00\x1b""#);
        let long = shown(&[b'x'; 5000]);
        assert!(long.len() < 300 && long.ends_with("(5000 bytes)"), "{long}");
    }
}
