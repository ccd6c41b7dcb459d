//! What the fuzzer looks for (`fuzz/fuzz_targets/websocket.rs`), in some thousand inputs: frames that are mostly right, and bytes that are not.

// What clippy.toml allows in test functions is as right in the functions that help them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod check;
mod judged;

use proptest::collection::vec;
use proptest::prelude::*;

/// A frame with a mask, as a client sends it: mostly of a kind that there is, short or in a longer form than it needs.
fn frame() -> impl Strategy<Value = Vec<u8>> {
    let start = prop_oneof![
        8 => (any::<bool>(), prop_oneof![0_u8..3, 8_u8..11]).prop_map(|(fin, opcode)| u8::from(fin) << 7 | opcode),
        1 => any::<u8>(),
    ];
    let payload = prop_oneof![
        vec(b' '..=b'~', 0..20),
        "[äß€😀a]{0,6}".prop_map(String::into_bytes),
        vec(any::<u8>(), 0..130)
    ];
    (start, any::<[u8; 4]>(), payload, 0_u8..12).prop_map(|(start, mask, payload, form)| {
        let len = payload.len() as u8;
        let length = match form {
            0 => vec![0x80 | 126, 0, len],
            1 => vec![0x80 | 127, 0, 0, 0, 0, 0, 0, 0, len],
            _ if len < 126 => vec![0x80 | len],
            _ => vec![0x80 | 126, 0, len],
        };
        let masked: Vec<u8> =
            payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect();
        [&[start][..], &length, &mask, &masked].concat()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn frames_are_read_as_an_independent_reader_does(
        cut in any::<u8>(), frames in vec(frame(), 0..8), wrong in vec(any::<(u16, u8)>(), 0..3),
    ) {
        let mut input = [&[cut][..], &frames.concat()].concat();
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
