//! Messages of gRPC: the same wherever their bodies are cut; what prost reads of one, we do; no text makes us panic.
//! The check is that of `crates/grpc/tests/any_bytes`, which tries it on some thousand inputs.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/grpc/tests/any_bytes/check.rs"]
mod check;

fuzz_target!(|input: &[u8]| check::check(input));
