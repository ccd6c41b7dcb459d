//! What may be a field of a head or of trailers.

/// Whether a field belongs to a connection of HTTP/1.1 and must not stand in HTTP/2 (RFC 9113 §8.2.2). `name` is in lower case.
pub fn is_of_connection(name: &[u8]) -> bool {
    matches!(name, b"connection" | b"keep-alive" | b"proxy-connection" | b"transfer-encoding" | b"upgrade")
}

/// Whether this may name a field: a token without capital letters (RFC 9113 §8.2.1).
pub fn is_name(name: &[u8]) -> bool {
    let is_allowed = |byte: &u8| matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'0'..=b'9' | b'^'..=b'z' | b'|' | b'~');
    !name.is_empty() && name.iter().all(is_allowed)
}

/// Whether this may be a value: it ends no line, and no space is at either end (RFC 9113 §8.2.1).
pub fn is_value(value: &[u8]) -> bool {
    let is_space = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    let is_padded = is_space(value.first()) || is_space(value.last());
    !is_padded && !value.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_token_in_lower_case() {
        let names: [&[u8]; 3] = [b"a", b"grpc-status", b"!#$%&'*+-.^_`|~09az"];
        assert!(names.into_iter().all(is_name));
        let others: [&[u8]; 9] = [b"", b"A", b"a b", b"a:", b":a", b"a(", b"a\0", b"\x7f", b"\xe9"];
        assert!(!others.into_iter().any(is_name));
    }

    #[test]
    fn a_value_ends_no_line_and_has_no_space_at_an_end() {
        let values: [&[u8]; 4] = [b"", b"a", b"a \tb", b"\xff\x01"];
        assert!(values.into_iter().all(is_value));
        let others: [&[u8]; 8] = [b" a", b"a ", b"\ta", b"a\t", b" ", b"a\0b", b"a\rb", b"a\nb"];
        assert!(!others.into_iter().any(is_value));
    }
}
