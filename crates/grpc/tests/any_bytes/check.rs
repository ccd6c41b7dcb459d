//! Messages of gRPC: the same wherever their bodies are cut; what prost reads of one, we do; no text makes us panic.

use assay_grpc::{Fault, Reader, Status, fields, timeout};
use assay_model::message;
use prost::Message;

fn read(parts: &[&[u8]]) -> Result<Vec<u8>, Fault> {
    let (mut reader, mut message) = (Reader::new(1 << 20), Vec::new());
    for part in parts {
        let mut rest = *part;
        while !rest.is_empty() {
            let step = reader.next(rest)?;
            message.extend_from_slice(step.part);
            rest = &rest[step.consumed..];
        }
    }
    reader.finish().map(|()| message)
}

/// Tries an input, whose first byte says where the rest is cut.
pub(crate) fn check(input: &[u8]) {
    let Some((cut, bytes)) = input.split_first() else { return };
    let (first, second) = bytes.split_at(usize::from(*cut).min(bytes.len()));
    assert_eq!(read(&[first, second]), read(&[bytes]), "however it is cut");
    // For prost a String is a message with a text in field 1 (`google.protobuf.StringValue`).
    let (ours, theirs) = (fields::text(bytes, 1), <String as Message>::decode(bytes));
    if let (Ok(ours), Ok(theirs)) = (&ours, &theirs) {
        assert_eq!(ours, theirs);
    }
    let mut back = Vec::new();
    message::encode(&message::literal(bytes), &mut back).expect("a literal");
    assert_eq!(back, bytes);
    let _ = message::encode(&String::from_utf8_lossy(bytes), &mut back);
    let _ = (Status::read(first, second), timeout::read(bytes));
}
