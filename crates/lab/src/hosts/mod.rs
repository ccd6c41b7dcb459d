//! Other hosts of a lab: an agent on each, over whatever joins standard input and output to a process there.
//!
//! The lab starts `assay agent` there through a transport that the user already has (OpenSSH, Slurm, Kubernetes, a command), and
//! speaks with it in frames ([`frame`], [`message`]). An agent listens on no port and survives nobody: when its input closes, or
//! nobody asks for anything during its lease, it ends all that it started, removes its folder and then closes its output, by which the
//! lab knows ([`session`]).

pub mod agent;
pub mod carrier;
pub mod frame;
pub mod generator;
mod jobs;
pub mod message;
pub mod parcels;
pub mod remote_host;
pub mod session;
mod span;
mod speech;
mod starting;
pub mod survey;
mod transport;
mod voice;
mod wire;
