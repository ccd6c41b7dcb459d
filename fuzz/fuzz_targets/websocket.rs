//! Frames of a WebSocket: the same wherever they are cut, and nothing is taken that an independent reader refuses.
//! The check is that of `crates/ws/tests/any_bytes`, which tries it on some thousand inputs.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/ws/tests/any_bytes/check.rs"]
mod check;

fuzz_target!(|input: &[u8]| check::check(input));
