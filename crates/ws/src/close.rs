//! Close codes (RFC 6455 §7.4 and IANA's registry of them).

/// The purpose of the connection is fulfilled.
pub const NORMAL: u16 = 1000;
/// The server goes down, or a page is left.
pub const GOING_AWAY: u16 = 1001;
/// The peer broke the protocol.
pub const PROTOCOL_ERROR: u16 = 1002;
/// A kind of data that is not accepted.
pub const UNSUPPORTED: u16 = 1003;
/// Data that is not what its kind says, such as a text that is not UTF-8.
pub const INVALID_DATA: u16 = 1007;
/// The peer broke a rule of ours.
pub const POLICY: u16 = 1008;
/// A message that is too long to be processed.
pub const TOO_BIG: u16 = 1009;
/// A fault of our own.
pub const INTERNAL: u16 = 1011;

/// Whether a code may stand in a close frame: 1004 to 1006 and 1015 are for use inside a program, and what is below 3000 and
/// not registered has no meaning.
pub fn may_be_sent(code: u16) -> bool {
    matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_for_programs_and_codes_without_meaning_are_told_from_the_others() {
        for code in [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535] {
            assert!(!may_be_sent(code), "{code}");
        }
        for code in [
            NORMAL,
            GOING_AWAY,
            PROTOCOL_ERROR,
            UNSUPPORTED,
            INVALID_DATA,
            POLICY,
            TOO_BIG,
            INTERNAL,
            3000,
            4999,
        ] {
            assert!(may_be_sent(code), "{code}");
        }
    }
}
