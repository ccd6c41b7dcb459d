//! What the fuzzer looks for (`fuzz/fuzz_targets/http2.rs`), in some thousand inputs: frames that are mostly right, and bytes that are not.

// What clippy.toml allows in test functions is as right in the functions that help them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod check;

use proptest::collection::vec;
use proptest::prelude::*;

/// A block that is right: fields of the static table, and literals with indexing and without.
fn block() -> impl Strategy<Value = Vec<u8>> {
    let field = prop_oneof![
        (1_u8..62).prop_map(|index| vec![0x80 | index]),
        (0_u8..2, vec(b'a'..=b'z', 1..8), vec(b' '..=b'~', 0..20)).prop_map(|(indexing, name, value)| {
            [&[indexing << 6, name.len() as u8][..], &name, &[value.len() as u8], &value].concat()
        }),
    ];
    vec(field, 0..6).prop_map(|fields| fields.concat())
}

/// A frame of any kind, with any flags, whose payload may fit it.
fn frame() -> impl Strategy<Value = Vec<u8>> {
    let payload = prop_oneof![block(), vec(any::<u8>(), 0..24), Just(vec![0; 4]), Just(vec![1; 8])];
    (0_u8..11, prop_oneof![Just(0), Just(4), Just(5), any::<u8>()], 0_u8..6, payload).prop_map(
        |(kind, flags, stream, payload)| {
            [&[0, 0, payload.len() as u8, kind, flags, 0, 0, 0, stream][..], &payload].concat()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn frames_are_read_alike_however_they_are_cut(
        choice in any::<[u8; 2]>(), frames in vec(frame(), 0..8), wrong in vec(any::<(u16, u8)>(), 0..3),
    ) {
        let mut input = [&choice[..], &frames.concat()].concat();
        for (at, byte) in wrong {
            let at = usize::from(at) % input.len();
            input[at] = byte;
        }
        check::check(&input);
    }

    #[test]
    fn blocks_are_decoded_as_an_independent_decoder_does(choice in any::<[u8; 2]>(), block in block()) {
        check::check(&[&choice[..], &block].concat());
    }

    #[test]
    fn no_bytes_do_harm(input in vec(any::<u8>(), 0..80)) {
        check::check(&input);
    }
}
