//! The version of assay that made something.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::network::Stack;
use crate::protocol::Protocol;

/// A program's identity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Program {
    /// Version of assay.
    pub version: String,
    /// `release`, `debug` or `showdown`: the first measures everything well, the last plain HTTP/1.1 on the kernel's stack alone.
    pub profile: String,
}

impl Program {
    /// Whether all that a request passes through is optimised, where it is spoken so over that stack.
    pub fn is_optimised_for(&self, protocol: Protocol, stack: Stack) -> bool {
        match self.profile.as_str() {
            RELEASE => true,
            SHOWDOWN => protocol.is_plain() && stack == Stack::Kernel,
            _ => false,
        }
    }
}

/// The profile that optimises everything.
pub const RELEASE: &str = "release";
/// The profile that optimises no more than `make showdown` needs, to be there soon.
pub const SHOWDOWN: &str = "showdown";
