//! What the fuzzer looks for (`fuzz/fuzz_targets/grpc.rs`), in some thousand inputs: fields and frames that are mostly right, and bytes
//! that are not.

// What clippy.toml allows in test functions is as right in the functions that help them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod check;
mod protobuf;

use proptest::collection::vec;
use proptest::prelude::*;

/// A field of Protocol Buffers: a varint, a fixed one, or bytes.
fn field() -> impl Strategy<Value = Vec<u8>> {
    let number = 1_u8..4;
    prop_oneof![
        (number.clone(), any::<u8>()).prop_map(|(number, value)| vec![number << 3, value & 0x7f]),
        (number.clone(), any::<[u8; 8]>())
            .prop_map(|(number, value)| [&[number << 3 | 1][..], &value].concat()),
        (number.clone(), "[äß€a-z]{0,9}").prop_map(|(number, text)| {
            [&[number << 3 | 2, text.len() as u8][..], text.as_bytes()].concat()
        }),
        (number, any::<[u8; 4]>()).prop_map(|(number, value)| [&[number << 3 | 5][..], &value].concat()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn messages_are_read_as_an_independent_reader_does(
        cut in any::<u8>(), fields in vec(field(), 0..6), framed in any::<bool>(), wrong in vec(any::<(u16, u8)>(), 0..3),
    ) {
        let message = fields.concat();
        let frame = if framed { vec![0, 0, 0, 0, message.len() as u8] } else { Vec::new() };
        let mut input = [&[cut][..], &frame, &message].concat();
        for (at, byte) in wrong {
            let at = usize::from(at) % input.len();
            input[at] = byte;
        }
        check::check(&input);
    }

    #[test]
    fn no_bytes_do_harm(input in vec(any::<u8>(), 0..80)) {
        check::check(&input);
    }
}
