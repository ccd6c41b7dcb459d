//! What the kernel answers about links and counters, had somebody else sent it.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|datagram: &[u8]| assay_link::try_answers(datagram));
