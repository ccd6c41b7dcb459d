//! The arguments that choose a stack: the kernel's, or our own over a wire.

use std::path::Path;

use assay_engine::EngineKind;
use assay_tcp::{Cidr, Link, Stack};
use assay_wire::{End, Spec};
use clap::{Args, ValueEnum};

use crate::failure::Failure;

#[derive(Args)]
pub(crate) struct StackArguments {
    /// TCP stack: the kernel's, or our own in the program's threads, over a wire
    #[arg(long, value_enum, default_value = "kernel", help_heading = "Stack")]
    pub(crate) stack: StackName,
    /// Wire of our own stack, with a queue for each thread: ring:PATH, xdp:INTERFACE[:QUEUE], tap:INTERFACE or
    /// dpdk:EAL-ARGUMENTS (in a build with that feature); behind commas what goes wrong on it (loss=1%, delay=5ms …) and
    /// pcap=FILE for a trace. xdp: takes all frames of its queues from the kernel: never an interface through which you reach
    /// this machine
    #[arg(long, value_name = "WIRE", help_heading = "Stack")]
    pub(crate) wire: Option<Spec>,
    /// Address of our own stack with the length of its network's prefix; may be repeated [default: what the wire has; on a
    /// ring 10.77.0.1/24 and fd77::1/64 for a server, 10.77.0.2/24 and fd77::2/64 for a client]
    #[arg(long = "wire-address", value_name = "ADDRESS/BITS", help_heading = "Stack")]
    pub(crate) addresses: Vec<Cidr>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StackName {
    Kernel,
    User,
}

impl StackArguments {
    /// The stack that is meant; `engine` is the kernel's, if it is that.
    pub(crate) fn stack(
        &self,
        end: End,
        stats_page: Option<&Path>,
        engine: impl FnOnce() -> EngineKind,
    ) -> Result<Stack, Failure> {
        match (self.stack, &self.wire) {
            (StackName::Kernel, None) if self.addresses.is_empty() => Ok(engine().into()),
            (StackName::Kernel, _) => Err(Failure::usage(
                "--wire and --wire-address are for our own stack: add --stack user, or leave them out",
            )),
            (StackName::User, None) => Err(Failure::usage(
                "our own stack needs a wire: add --wire, such as --wire ring:/dev/shm/assay at both ends",
            )),
            (StackName::User, Some(wire)) => {
                let (addresses, stats_page) = (self.addresses.clone(), stats_page.map(Path::to_owned));
                Ok(Stack::User(Link { wire: wire.clone(), end, addresses, stats_page }))
            }
        }
    }

    /// Whether it is our own on a wire that is memory of this machine.
    pub(crate) fn is_in_memory(&self) -> bool {
        self.is_user() && self.wire.as_ref().is_some_and(Spec::is_in_memory)
    }

    /// Whether it is our own.
    pub(crate) fn is_user(&self) -> bool {
        self.stack == StackName::User
    }
}
