//! Fields of a head.

/// Whether a field belongs to a connection of HTTP/1.1 and must not stand in HTTP/2 (RFC 9113 §8.2.2). `name` is in lower case.
pub fn is_of_connection(name: &[u8]) -> bool {
    matches!(name, b"connection" | b"keep-alive" | b"proxy-connection" | b"transfer-encoding" | b"upgrade")
}
