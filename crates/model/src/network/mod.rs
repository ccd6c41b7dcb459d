//! The network of a measurement: whose TCP ran, over which wire. Two axes, told together and never one without the other.

mod spec;

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use spec::{Spec, SpecError};

/// Whose TCP/IP runs, on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stack {
    /// The kernel's.
    Kernel,
    /// One inside each process, which moves packets itself.
    User,
}

/// What packets travel over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wire {
    /// The kernel's loopback device.
    Loopback,
    /// A pair of virtual Ethernet devices between two network namespaces.
    Veth {
        /// What it carries in each direction, in bits per second; as much as the CPUs can when absent.
        bits_per_second: Option<u64>,
    },
    /// A pair of virtual Ethernet devices whose frames AF_XDP sockets take and give (kernel: networking/af_xdp.rst).
    Xdp,
    /// Rings of frames in memory that both processes share.
    Ring,
}

/// A stack and a wire that go together: `kernel/loopback`, `kernel/veth:1gbit`, `user/xdp`, `user/ring`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Network {
    stack: Stack,
    wire: Wire,
}

/// Text that names no network.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is no network; write kernel/loopback, kernel/veth, kernel/veth:RATE, user/xdp or user/ring")]
pub struct NetworkError(String);

impl Network {
    /// The kernel's stack over what joins two of its sockets.
    pub fn kernel(over: Spec) -> Self {
        let wire = match over {
            Spec::Loopback => Wire::Loopback,
            Spec::Veth { bits_per_second } => Wire::Veth { bits_per_second },
        };
        Self { stack: Stack::Kernel, wire }
    }

    /// The user-space stack over the nearest thing to what would join two sockets of the kernel: AF_XDP on the same kind of
    /// cable, memory in place of loopback. `None` for a cable with a rate: the kernel's shaping does not act on AF_XDP.
    pub fn user(beside: Spec) -> Option<Self> {
        let wire = match beside {
            Spec::Loopback => Wire::Ring,
            Spec::Veth { bits_per_second: None } => Wire::Xdp,
            Spec::Veth { bits_per_second: Some(_) } => return None,
        };
        Some(Self { stack: Stack::User, wire })
    }

    /// Whose TCP/IP runs.
    pub fn stack(self) -> Stack {
        self.stack
    }

    /// What packets travel over.
    pub fn wire(self) -> Wire {
        self.wire
    }

    /// What must be laid for it.
    pub fn link(self) -> Spec {
        match self.wire {
            Wire::Loopback | Wire::Ring => Spec::Loopback,
            Wire::Veth { bits_per_second } => Spec::Veth { bits_per_second },
            Wire::Xdp => Spec::Veth { bits_per_second: None },
        }
    }

    /// For a user-space network the kernel's one with which it is compared: on the same kind of cable, or, for memory, on
    /// loopback, which is another wire.
    pub fn kernel_counterpart(self) -> Option<Self> {
        (self.stack == Stack::User).then(|| Self::kernel(self.link()))
    }

    /// Both axes, for a sentence.
    pub fn in_words(self) -> String {
        let stack = match self.stack {
            Stack::Kernel => "the kernel's stack",
            Stack::User => "the user-space stack",
        };
        let wire = match self.wire {
            Wire::Xdp => "AF_XDP on veth".to_owned(),
            Wire::Ring => "a shared-memory ring".to_owned(),
            Wire::Loopback | Wire::Veth { .. } => self.link().to_string(),
        };
        format!("{stack} over {wire}")
    }
}

impl fmt::Display for Network {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.wire {
            Wire::Loopback | Wire::Veth { .. } => write!(out, "kernel/{}", self.link()),
            Wire::Xdp => out.write_str("user/xdp"),
            Wire::Ring => out.write_str("user/ring"),
        }
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let user = |wire| Ok(Self { stack: Stack::User, wire });
        match text.split_once('/') {
            Some(("kernel", wire)) => {
                wire.parse().map(Self::kernel).map_err(|_: SpecError| NetworkError(text.to_owned()))
            }
            Some(("user", "xdp")) => user(Wire::Xdp),
            Some(("user", "ring")) => user(Wire::Ring),
            _ => Err(NetworkError(text.to_owned())),
        }
    }
}

impl FromStr for Stack {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "kernel" => Ok(Self::Kernel),
            "user" => Ok(Self::User),
            _ => Err(format!("`{text}` is no stack; write kernel or user")),
        }
    }
}

impl TryFrom<String> for Network {
    type Error = NetworkError;

    fn try_from(text: String) -> Result<Self, NetworkError> {
        text.parse()
    }
}

impl From<Network> for String {
    fn from(network: Network) -> Self {
        network.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(text: &str) -> Network {
        text.parse().expect(text)
    }

    #[test]
    fn networks_are_written_as_they_were_read() {
        for text in ["kernel/loopback", "kernel/veth", "kernel/veth:200mbit", "user/xdp", "user/ring"] {
            assert_eq!(network(text).to_string(), text);
            let json = serde_json::to_string(&network(text)).expect("json");
            assert_eq!(serde_json::from_str::<Network>(&json).expect("network"), network(text));
        }
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        for text in
            ["", "kernel", "user", "kernel/xdp", "kernel/ring", "user/veth", "user/loopback", "User/ring"]
        {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_user_space_stack_has_a_kernel_to_be_compared_with() {
        let counterpart = |text: &str| network(text).kernel_counterpart().map(|kernel| kernel.to_string());
        assert_eq!(counterpart("user/xdp").as_deref(), Some("kernel/veth"));
        assert_eq!(counterpart("user/ring").as_deref(), Some("kernel/loopback"));
        assert_eq!(counterpart("kernel/veth"), None);
        let beside = |text: &str| Network::user(text.parse().expect(text)).map(|user| user.to_string());
        assert_eq!(beside("loopback").as_deref(), Some("user/ring"));
        assert_eq!(beside("veth").as_deref(), Some("user/xdp"));
        assert_eq!(beside("veth:1gbit"), None);
    }

    #[test]
    fn both_axes_are_told() {
        assert_eq!(network("kernel/veth:1gbit").in_words(), "the kernel's stack over veth:1gbit");
        assert_eq!(network("user/xdp").in_words(), "the user-space stack over AF_XDP on veth");
    }
}
