use super::*;
use crate::{Assembly, render};
use proptest::prelude::*;

/// What a reader told of, with the parts of each message put together.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Told {
    Message(Kind, Vec<u8>),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    Close(Option<u16>),
    Fault(Fault),
}

fn frame(opcode: Opcode, is_final: bool, payload: &[u8]) -> Vec<u8> {
    let (mask, mut bytes) = (Mask::new([1, 2, 3, 4]), Vec::new());
    render::header(opcode, is_final, Some(mask), payload.len() as u64, &mut bytes);
    Payload { masked: payload, mask }.append_to(&mut bytes);
    bytes
}

/// What is told of bytes that come in pieces.
fn read(bytes: &[u8], piece: usize, limits: Limits) -> Vec<Told> {
    let (mut reader, mut assembly) = (Reader::new(Side::Client, limits), Assembly::default());
    let (mut told, mut kept) = (Vec::new(), Vec::new());
    for piece in bytes.chunks(piece.max(1)) {
        kept.extend_from_slice(piece);
        loop {
            let step = match reader.next(&kept) {
                Ok(step) => step,
                Err(fault) => return [told, vec![Told::Fault(fault)]].concat(),
            };
            match step.event {
                Some(Event::Data(data)) => match assembly.push(&data) {
                    Ok(Some(message)) => told.push(Told::Message(data.kind, message.to_vec())),
                    Ok(None) => {}
                    Err(fault) => return [told, vec![Told::Fault(fault)]].concat(),
                },
                Some(Event::Ping(payload)) => told.push(Told::Ping(plain(payload))),
                Some(Event::Pong(payload)) => told.push(Told::Pong(plain(payload))),
                Some(Event::Close(code)) => told.push(Told::Close(code)),
                None if step.consumed == 0 => break,
                None => {}
            }
            kept.drain(..step.consumed);
        }
    }
    told
}

fn plain(payload: Payload<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    payload.append_to(&mut out);
    out
}

#[test]
fn a_message_in_fragments_may_have_control_frames_inside() {
    let bytes = [
        frame(Opcode::Text, false, b"he"),
        frame(Opcode::Ping, true, b"?"),
        frame(Opcode::Continuation, false, b""),
        frame(Opcode::Pong, true, b""),
        frame(Opcode::Continuation, true, b"llo"),
        frame(Opcode::Binary, true, b""),
        frame(Opcode::Close, true, b"\x03\xe8bye"),
        frame(Opcode::Text, true, b"dropped"),
    ]
    .concat();
    let right = [
        Told::Ping(b"?".to_vec()),
        Told::Pong(Vec::new()),
        Told::Message(Kind::Text, b"hello".to_vec()),
        Told::Message(Kind::Binary, Vec::new()),
        Told::Close(Some(1000)),
    ];
    for piece in 1..=bytes.len() {
        assert_eq!(read(&bytes, piece, Limits::DEFAULT), right, "in pieces of {piece}");
    }
}

#[test]
fn frames_that_may_not_come_now_are_faults() {
    let close = |payload: &[u8]| frame(Opcode::Close, true, payload);
    for (bytes, fault) in [
        (frame(Opcode::Continuation, true, b"x"), Fault::NothingToContinue),
        ([frame(Opcode::Text, false, b"x"), frame(Opcode::Text, true, b"y")].concat(), Fault::Interleaved),
        (
            [frame(Opcode::Text, true, b"x"), frame(Opcode::Continuation, true, b"y")].concat(),
            Fault::NothingToContinue,
        ),
        (close(b"\x03"), Fault::ShortClose),
        (close(b"\x03\xed"), Fault::BadCloseCode(1005)),
        (close(b"\x03\xe8\xff"), Fault::NotUtf8),
        (frame(Opcode::Text, true, b"a\xff"), Fault::NotUtf8),
        (
            [frame(Opcode::Text, false, b"\xc3"), frame(Opcode::Continuation, true, b"")].concat(),
            Fault::NotUtf8,
        ),
    ] {
        for piece in 1..=bytes.len() {
            assert_eq!(read(&bytes, piece, Limits::DEFAULT).last(), Some(&Told::Fault(fault)), "{piece}");
        }
    }
    assert_eq!(read(&close(b""), 9, Limits::DEFAULT), [Told::Close(None)]);
}

#[test]
fn sizes_are_bounded_before_anything_is_kept() {
    let limits = Limits { message_bytes: 4, frames: 3 };
    let long = frame(Opcode::Binary, true, b"12345");
    // The head alone tells.
    assert_eq!(read(&long[..6], 9, limits), [Told::Fault(Fault::MessageTooLong)]);
    let parts = [frame(Opcode::Binary, false, b"123"), frame(Opcode::Continuation, true, b"45")].concat();
    assert_eq!(read(&parts, 99, limits), [Told::Fault(Fault::MessageTooLong)]);
    let empty =
        [frame(Opcode::Binary, false, b""), frame(Opcode::Continuation, false, b"").repeat(3)].concat();
    assert_eq!(read(&empty, 99, limits), [Told::Fault(Fault::TooManyFrames)]);
    let most = [
        frame(Opcode::Binary, false, b"12"),
        frame(Opcode::Continuation, false, b""),
        frame(Opcode::Continuation, true, b"34"),
    ];
    assert_eq!(read(&most.concat(), 99, limits), [Told::Message(Kind::Binary, b"1234".to_vec())]);
}

proptest! {
    #[test]
    fn any_bytes_are_read_alike_however_they_are_cut(bytes in proptest::collection::vec(any::<u8>(), 0..80), piece in 1usize..20) {
        prop_assert_eq!(read(&bytes, piece, Limits::DEFAULT), read(&bytes, bytes.len(), Limits::DEFAULT));
    }
}
