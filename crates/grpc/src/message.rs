//! The frame around a message, and the fields that say what a body is.

/// Bytes before a message: whether it is compressed, and its length.
pub const PREFIX_BYTES: usize = 5;

/// The media type of gRPC, whose messages are those of Protocol Buffers where nothing follows it.
pub const MEDIA_TYPE: &str = "application/grpc";

/// Appends a message that is not compressed, with its frame. One is shorter than 4 GiB.
#[inline]
pub fn frame(message: &[u8], out: &mut Vec<u8>) {
    out.push(0);
    out.extend_from_slice(&(message.len() as u32).to_be_bytes());
    out.extend_from_slice(message);
}

/// Whether a value of Content-Type says that the body is of gRPC: `application/grpc`, `application/grpc+proto`, with parameters or
/// without. `application/grpc-web` is another thing.
pub fn is_media_type(value: &[u8]) -> bool {
    let essence = value.split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii();
    let (start, format) = essence.split_at(essence.len().min(MEDIA_TYPE.len()));
    start.eq_ignore_ascii_case(MEDIA_TYPE.as_bytes()) && matches!(format.first(), None | Some(b'+'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_media_type_is_of_grpc_with_any_format_of_messages() {
        for right in
            ["application/grpc", "application/grpc+proto", "Application/gRPC ; a=b", "application/grpc+json"]
        {
            assert!(is_media_type(right.as_bytes()), "{right}");
        }
        for wrong in ["", "application/json", "application/grpc-web", "application/grp", "text/html"] {
            assert!(!is_media_type(wrong.as_bytes()), "{wrong}");
        }
    }
}
