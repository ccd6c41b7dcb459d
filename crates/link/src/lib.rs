//! How client and server are joined: by loopback, or by a virtual cable between two network namespaces, with a rate and a loss
//! if asked.
//!
//! Invariants
//! - Nothing outside the namespaces is changed: no device, address, route or setting of the machine.
//! - The namespaces have no name. They are held by descriptors of one process, the holder, and by those that run in them;
//!   when these end, however they end, the kernel removes the namespaces with all that is in them (namespaces(7)). So there
//!   is nothing to clean up.
//! - The holder ends when the [`Link`] is dropped or the process that has it dies.
//! - Where the kernel forbids a part, there is an error that says how to mend it, never a lesser link.
//! - What a link does to frames it does to everybody's, whether the kernel's TCP has sent them or somebody's own.
//!
//! Must not know: servers, load, what is measured, who is started in the namespaces.
//!
//! | where | what |
//! |---|---|
//! | `link` | the side of whoever uses the link: addresses, sockets |
//! | `meter` | what goes over it during a measurement |
//! | `holder` | the process that makes the namespaces and hands out sockets of theirs |
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
mod holder;
mod link;
mod loss;
mod meter;
mod middle;
mod netlink;
mod passing;
mod shape;
mod space;

pub use assay_model::network::{Cable, Spec, SpecError};
pub use end::DEVICE;
pub use error::LinkError;
pub use holder::hold;
pub use link::Link;
pub use meter::Meter;
pub use space::{Side, enter};
