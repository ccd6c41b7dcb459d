//! The arguments of `assay exec`.

use std::ffi::OsString;
use std::path::PathBuf;

use assay_model::network::Stack;
use clap::Args;

/// Examples, with both ends of a wire.
const NOTES: &str = "A server on one end of a ring, and the generator on the other:
  assay exec --wire ring:/dev/shm/w --address 10.77.0.1/24 -- node app.js
  assay load http://10.77.0.1:8080/ --stack user --wire ring:/dev/shm/w --wire-address 10.77.0.2/24

What makes raw system calls (Go, static programs) cannot be carried and is refused.";

/// Start an unmodified program on the user-space stack.
///
/// The program takes this process's place, so its exit status, signals and output are its own.
#[derive(Args)]
#[command(after_help = NOTES)]
pub(crate) struct ExecArguments {
    /// The TCP that runs: user, or kernel, which changes nothing
    #[arg(long, value_name = "STACK", default_value = "user")]
    pub(crate) stack: Stack,
    /// Its end of the wire: ring:PATH (memory that two processes share), xdp:INTERFACE, tap:INTERFACE or dpdk:EAL-ARGUMENTS;
    /// xdp: takes all frames of its queues from the kernel: never an interface through which you reach this machine
    #[arg(long, value_name = "WIRE", required_if_eq("stack", "user"))]
    pub(crate) wire: Option<String>,
    /// Its own addresses with the length of the prefix, such as 10.77.0.1/24 [default: the wire's]
    #[arg(long, value_name = "CIDR,…", value_delimiter = ',')]
    pub(crate) address: Vec<String>,
    /// Queues of the wire: as many as the program has processes that serve, and as the other end has threads
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) queues: u16,
    /// A preload library that brings its own user-space stack, in place of assay's
    #[arg(long, value_name = "FILE", env = "ASSAY_PRELOAD")]
    pub(crate) preload: Option<PathBuf>,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}
