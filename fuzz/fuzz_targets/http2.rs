//! Frames of HTTP/2, to either end of a connection, whole and cut, and the blocks in them beside an independent decoder.
//! The check is that of `crates/h2/tests/any_bytes`, which tries it on some thousand inputs.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/h2/tests/any_bytes/check.rs"]
mod check;

fuzz_target!(|input: &[u8]| check::check(input));
