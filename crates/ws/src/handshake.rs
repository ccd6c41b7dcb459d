//! The opening handshake (RFC 6455 §4): a request of HTTP/1.1 that asks for another protocol, and its answer.
//!
//! Fields come as pairs of name and value, from whatever reads HTTP.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sha1::{Digest, Sha1};

/// The version of the protocol, the only one there is.
pub const VERSION: &str = "13";

/// What is hashed with a key, so that nobody answers rightly who does not know the protocol.
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Bytes behind a key.
const KEY_BYTES: usize = 16;

/// Why a request is no opening handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The request does not ask for WebSocket.
    #[error("the request does not ask for `Upgrade: websocket` with `Connection: Upgrade`")]
    NotAsked,
    /// The request asks for another version.
    #[error("the request asks for another version of WebSocket than {VERSION}")]
    Version,
    /// The key is missing, or there are two, or it is not sixteen bytes in base64.
    #[error("Sec-WebSocket-Key is not one value of sixteen bytes in base64")]
    BadKey,
}

impl Refusal {
    /// The status with which it is answered: 426 says what to ask for (RFC 9110 §15.5.22).
    pub fn status(self) -> u16 {
        match self {
            Self::NotAsked | Self::Version => 426,
            Self::BadKey => 400,
        }
    }
}

/// Why an answer opens nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Declined {
    /// Another status than 101.
    #[error("status {0} instead of 101")]
    Status(u16),
    /// Another protocol than asked for.
    #[error("no `Upgrade: websocket`")]
    Upgrade,
    /// The upgrade is not for this connection.
    #[error("no `Connection: Upgrade`")]
    Connection,
    /// The key's answer is missing or wrong.
    #[error("Sec-WebSocket-Accept is not what belongs to the key")]
    Accept,
    /// An extension that was not asked for.
    #[error("an extension that was not asked for")]
    Extension,
    /// A subprotocol that was not asked for.
    #[error("a subprotocol that was not asked for")]
    Protocol,
}

/// A key of these random bytes, as it stands in Sec-WebSocket-Key.
pub fn key(random: [u8; KEY_BYTES]) -> String {
    BASE64_STANDARD.encode(random)
}

/// What a server answers to a key in Sec-WebSocket-Accept.
pub fn accept(key: &[u8]) -> String {
    BASE64_STANDARD.encode(Sha1::new().chain_update(key).chain_update(GUID).finalize())
}

/// Judges the fields of a GET request; returns what is to stand in Sec-WebSocket-Accept.
///
/// # Errors
/// What the request lacks.
pub fn check_request<'f>(fields: impl Iterator<Item = (&'f [u8], &'f [u8])>) -> Result<String, Refusal> {
    let (mut upgrade, mut connection, mut versions, mut keys) = (false, false, (0, false), (0, None));
    for (name, value) in fields {
        match () {
            () if name.eq_ignore_ascii_case(b"upgrade") => upgrade |= has_token(value, b"websocket"),
            () if name.eq_ignore_ascii_case(b"connection") => connection |= has_token(value, b"upgrade"),
            () if name.eq_ignore_ascii_case(b"sec-websocket-version") => {
                versions = (versions.0 + 1, value == VERSION.as_bytes());
            }
            () if name.eq_ignore_ascii_case(b"sec-websocket-key") => keys = (keys.0 + 1, Some(value)),
            () => {}
        }
    }
    match (upgrade && connection, versions, keys) {
        (false, ..) => Err(Refusal::NotAsked),
        (_, (1, true), (1, Some(key))) if is_key(key) => Ok(accept(key)),
        (_, (1, true), _) => Err(Refusal::BadKey),
        _ => Err(Refusal::Version),
    }
}

/// Judges the answer to a handshake that asked for no extension and no subprotocol (RFC 6455 §4.1, second list).
///
/// # Errors
/// What the answer lacks.
pub fn check_answer<'f>(
    status: u16,
    fields: impl Iterator<Item = (&'f [u8], &'f [u8])>,
    key: &[u8],
) -> Result<(), Declined> {
    if status != 101 {
        return Err(Declined::Status(status));
    }
    let (mut upgrade, mut connection, mut accepts) = (false, false, (0, false));
    for (name, value) in fields {
        match () {
            () if name.eq_ignore_ascii_case(b"upgrade") => {
                upgrade |= value.eq_ignore_ascii_case(b"websocket")
            }
            () if name.eq_ignore_ascii_case(b"connection") => connection |= has_token(value, b"upgrade"),
            () if name.eq_ignore_ascii_case(b"sec-websocket-accept") => {
                accepts = (accepts.0 + 1, value == accept(key).as_bytes());
            }
            () if name.eq_ignore_ascii_case(b"sec-websocket-extensions") => return Err(Declined::Extension),
            () if name.eq_ignore_ascii_case(b"sec-websocket-protocol") => return Err(Declined::Protocol),
            () => {}
        }
    }
    match (upgrade, connection, accepts) {
        (false, ..) => Err(Declined::Upgrade),
        (_, false, _) => Err(Declined::Connection),
        (_, _, (1, true)) => Ok(()),
        _ => Err(Declined::Accept),
    }
}

fn is_key(value: &[u8]) -> bool {
    BASE64_STANDARD.decode(value).is_ok_and(|bytes| bytes.len() == KEY_BYTES)
}

/// Whether a list has this element, in any case (RFC 9110 §5.6.1).
fn has_token(list: &[u8], token: &[u8]) -> bool {
    list.split(|&byte| byte == b',').any(|element| element.trim_ascii().eq_ignore_ascii_case(token))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6455 §1.3.
    const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
    const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

    fn request(fields: &[(&str, &str)]) -> Result<String, Refusal> {
        check_request(fields.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())))
    }

    fn answer(status: u16, fields: &[(&str, &str)]) -> Result<(), Declined> {
        let fields = fields.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        check_answer(status, fields, KEY.as_bytes())
    }

    #[test]
    fn the_example_of_the_standard_is_answered_as_there() {
        assert_eq!(key(*b"the sample nonce"), KEY);
        assert_eq!(accept(KEY.as_bytes()), ACCEPT);
    }

    #[test]
    fn a_request_must_ask_for_this_protocol_in_this_version_with_one_key() {
        let right = [
            ("upgrade", "WebSocket"),
            ("Connection", "keep-alive, Upgrade"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", KEY),
        ];
        assert_eq!(request(&right), Ok(ACCEPT.to_owned()));
        for (index, refusal) in
            [(0, Refusal::NotAsked), (1, Refusal::NotAsked), (2, Refusal::Version), (3, Refusal::BadKey)]
        {
            let mut fields = right.to_vec();
            fields[index].1 = "8";
            assert_eq!(request(&fields), Err(refusal), "changed");
            fields.remove(index);
            assert_eq!(request(&fields), Err(refusal), "missing");
        }
        let two_keys = [&right[..], &[("Sec-WebSocket-Key", KEY)]].concat();
        assert_eq!(request(&two_keys), Err(Refusal::BadKey));
        assert_eq!([Refusal::Version.status(), Refusal::BadKey.status()], [426, 400]);
    }

    #[test]
    fn an_answer_must_take_what_was_asked_for_and_nothing_else() {
        let right = [("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", ACCEPT)];
        assert_eq!(answer(101, &right), Ok(()));
        assert_eq!(answer(200, &right), Err(Declined::Status(200)));
        for (index, declined) in [(0, Declined::Upgrade), (1, Declined::Connection), (2, Declined::Accept)] {
            let mut fields = right.to_vec();
            fields[index].1 = "other";
            assert_eq!(answer(101, &fields), Err(declined.clone()), "changed");
            fields.remove(index);
            assert_eq!(answer(101, &fields), Err(declined), "missing");
        }
        for (name, declined) in [
            ("Sec-WebSocket-Extensions", Declined::Extension),
            ("Sec-WebSocket-Protocol", Declined::Protocol),
        ] {
            assert_eq!(answer(101, &[&right[..], &[(name, "x")]].concat()), Err(declined));
        }
    }
}
