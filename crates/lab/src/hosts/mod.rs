//! The hosts of a run: what is asked of one, and who answers there.
//!
//! Servers, their builds and probes are jobs of a host ([`host`]), which is asked for everything in the same requests ([`asking`],
//! [`message`]). On every host the same code answers them (`desk`). On another one it is that of an agent: the lab starts `assay agent`
//! there through a transport that the user already has (OpenSSH, Slurm, Kubernetes, a command), and speaks with it in frames
//! ([`frame`]). An agent listens on no port and survives nobody: when its input closes, or nobody asks for anything during its lease,
//! it ends all that it started, removes its folder and then closes its output, by which the lab knows ([`session`]). On this host the
//! run answers itself (`here`), and nothing travels.

pub mod agent;
pub mod asking;
pub mod carrier;
mod desk;
pub mod frame;
pub mod generator;
mod here;
pub mod host;
mod jobs;
pub(crate) mod links;
pub mod message;
pub mod parcels;
pub mod session;
mod span;
mod speech;
mod starting;
pub mod survey;
mod transport;
mod voice;
mod wire;
