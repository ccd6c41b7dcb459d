//! How client and server are joined: by loopback, or by a virtual cable between two network namespaces, with a rate and a loss
//! if asked.
//!
//! Invariants
//! - Nothing outside the namespaces is changed: no device, address, route or setting of the machine.
//! - The namespaces have no name. They are held by descriptors of one process, the netns holder, and by those that run in them;
//!   when these end, however they end, the kernel removes the namespaces with all that is in them (namespaces(7)). So there
//!   is nothing to clean up.
//! - The netns holder ends when the [`Link`] is dropped or the process that has it dies.
//! - Where the kernel forbids a part, there is an error that says how to mend it, never a lesser link.
//! - What a link does to frames it does to everybody's, whether the kernel's TCP has sent them or somebody's own.
//!
//! Must not know: servers, load, what is measured, who is started in the namespaces.
//!
//! | where | what |
//! |---|---|
//! | `link` | the side of whoever uses the link: addresses, sockets |
//! | `meter` | what goes over it during a measurement |
//! | `netns_holder` | the process that makes the namespaces and hands out sockets of theirs |
//! | `end` | one end of the cable: address, settings |
//! | `middle` | the bridge between them, where there is a rate or a loss |
//! | `shape`, `loss` | the token bucket filter, the rules that drop frames |
//! | `device` | virtual devices |
//! | `space` | namespaces made and entered |
//! | `netlink`, `attribute`, `passing` | messages to the kernel, descriptors between processes |
#![forbid(unsafe_code)]

mod attribute;
mod device;
mod end;
mod error;
mod link;
mod loss;
mod meter;
mod middle;
mod netlink;
mod netns_holder;
mod passing;
mod shape;
mod space;

pub use assay_model::network::{Cable, Spec, SpecError};
pub use end::DEVICE;
pub use error::LinkError;
pub use link::Link;
pub use meter::Meter;
pub use netns_holder::hold_netns;
pub use space::{Side, enter};

/// Reads a datagram in every way in which the kernel's answers are read: for those who try what else could come (`fuzz/`).
#[doc(hidden)]
pub fn try_answers(datagram: &[u8]) {
    // An error is as good as an answer here.
    drop(netlink::read(datagram, &mut Vec::new()));
    loss::try_answer(datagram);
}

#[cfg(test)]
mod tests {
    /// Numbers without a pattern, the same every time (Marsaglia, Xorshift RNGs).
    fn random(state: &mut u64) -> usize {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state as usize
    }

    #[test]
    fn datagrams_that_nobody_sent_are_errors_or_answers() {
        // A link with a name and a rule with a counter, each as the kernel sends them.
        let seeds: [&[u8]; 2] = [
            b"\x2c\0\0\0\x10\0\x02\0\0\0\0\0\0\0\0\0\0\0\x04\x03\x01\0\0\0\x49\0\x01\0\0\0\0\0\x07\0\x03\0lo\0\0",
            b"\x2c\0\0\0\x06\x0a\0\0\0\0\0\0\0\0\0\0\x07\0\0\0\x18\0\x04\x80\x14\0\x01\x80\x0c\0\x01\0counter\0\x04\0\x02\x80",
        ];
        let mut state = 7;
        for round in 0..40_000 {
            let mut datagram = seeds[round % 2].repeat(1 + round % 3);
            for _ in 0..random(&mut state) % 6 {
                let at = random(&mut state) % datagram.len();
                datagram[at] = [0, 1, 4, 0x7f, 0x80, 0xff, random(&mut state) as u8][random(&mut state) % 7];
            }
            datagram.truncate(datagram.len() - random(&mut state) % 8);
            super::try_answers(&datagram);
        }
    }
}
