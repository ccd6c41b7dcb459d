//! The network of a measurement: whose TCP ran, over which wire. Two axes, told together and never one without the other.

mod spec;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::JsonSchema;

pub use spec::{Cable, Spec, SpecError};

/// The TCP/IP that runs, on both sides.
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
    /// Virtual Ethernet devices between two network namespaces.
    Veth(Cable),
    /// A cable whose frames AF_XDP sockets take and give (kernel: networking/af_xdp.rst).
    Xdp(Cable),
    /// Rings of frames in memory that both processes share.
    Ring,
}

/// A stack and a wire that go together: `kernel/loopback`, `kernel/veth:1gbit`, `user/xdp`, `user/xdp:1gbit,loss=0.1%`,
/// `user/ring`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Network {
    stack: Stack,
    wire: Wire,
}

/// Text that names no network.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NetworkError {
    /// No stack and wire that go together.
    #[error(
        "`{0}` is no network; write kernel/loopback, kernel/veth, user/xdp or user/ring, and behind veth and xdp, if wanted, \
         :RATE, :loss=SHARE or :RATE,loss=SHARE"
    )]
    Name(String),
    /// A ring is memory.
    #[error(
        "`{0}`: a ring has no rate and loses nothing; write user/xdp:1gbit or user/xdp:loss=0.1% for a wire that does"
    )]
    Ring(String),
    /// The link is none.
    #[error(transparent)]
    Link(#[from] SpecError),
}

impl Network {
    /// The kernel's stack over what joins two of its sockets.
    pub fn kernel(over: Spec) -> Self {
        let wire = match over {
            Spec::Loopback => Wire::Loopback,
            Spec::Veth(cable) => Wire::Veth(cable),
        };
        Self { stack: Stack::Kernel, wire }
    }

    /// The user-space stack over the nearest thing to what would join two sockets of the kernel: AF_XDP on the same kind of
    /// cable, memory in place of loopback.
    pub fn user(beside: Spec) -> Self {
        let wire = match beside {
            Spec::Loopback => Wire::Ring,
            Spec::Veth(cable) => Wire::Xdp(cable),
        };
        Self { stack: Stack::User, wire }
    }

    /// The TCP/IP that runs.
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
            Wire::Veth(cable) | Wire::Xdp(cable) => Spec::Veth(cable),
        }
    }

    /// For a user-space network the kernel's one with which it is compared: on the same kind of cable, or, for memory, on
    /// loopback, which is another wire.
    pub fn kernel_counterpart(self) -> Option<Self> {
        (self.stack == Stack::User).then(|| Self::kernel(self.link()))
    }

    /// Stack and wire, for a sentence.
    pub fn in_words(self) -> String {
        let stack = match self.stack {
            Stack::Kernel => "the kernel's stack",
            Stack::User => "the user-space stack",
        };
        let wire = match self.wire {
            Wire::Xdp(_) => format!("AF_XDP on {}", self.link()),
            Wire::Ring => "a shared-memory ring".to_owned(),
            Wire::Loopback | Wire::Veth(_) => self.link().to_string(),
        };
        format!("{stack} over {wire}")
    }
}

impl fmt::Display for Network {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.wire {
            Wire::Loopback | Wire::Veth(_) => write!(out, "kernel/{}", self.link()),
            Wire::Xdp(cable) => write!(out, "user/xdp{cable}"),
            Wire::Ring => out.write_str("user/ring"),
        }
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let unknown = || NetworkError::Name(text.to_owned());
        let (stack, wire) = text.split_once('/').ok_or_else(unknown)?;
        let (kind, options) = wire.split_once(':').map_or((wire, None), |(kind, rest)| (kind, Some(rest)));
        let user = |wire| Self { stack: Stack::User, wire };
        match (stack, kind) {
            ("kernel", "loopback" | "veth") => Ok(Self::kernel(wire.parse()?)),
            ("user", "xdp") => Ok(user(Wire::Xdp(Cable::of(options)?))),
            ("user", "ring") if options.is_none() => Ok(user(Wire::Ring)),
            ("user", "ring") => Err(NetworkError::Ring(text.to_owned())),
            _ => Err(unknown()),
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
        for text in [
            "kernel/loopback",
            "kernel/veth",
            "kernel/veth:200mbit",
            "kernel/veth:1gbit,loss=0.1%",
            "user/xdp",
            "user/xdp:200mbit",
            "user/xdp:loss=1%",
            "user/ring",
        ] {
            assert_eq!(network(text).to_string(), text);
            let json = serde_json::to_string(&network(text)).expect("json");
            assert_eq!(serde_json::from_str::<Network>(&json).expect("network"), network(text));
        }
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        for (text, hint) in [
            ("", "write kernel/loopback"),
            ("kernel", "write kernel/loopback"),
            ("user", "write kernel/loopback"),
            ("kernel/xdp", "write kernel/loopback"),
            ("kernel/ring", "write kernel/loopback"),
            ("user/veth", "write kernel/loopback"),
            ("user/loopback", "write kernel/loopback"),
            ("User/ring", "write kernel/loopback"),
            ("user/ring:loss=1%", "a ring has no rate and loses nothing"),
            ("user/xdp:", "such as veth:1gbit"),
            ("kernel/veth:fast", "such as veth:1gbit"),
        ] {
            let error = text.parse::<Network>().expect_err(text).to_string();
            assert!(error.contains(hint), "{text}: {error}");
        }
    }

    #[test]
    fn the_user_space_stack_has_a_kernel_to_be_compared_with() {
        let counterpart = |text: &str| network(text).kernel_counterpart().map(|kernel| kernel.to_string());
        assert_eq!(counterpart("user/xdp").as_deref(), Some("kernel/veth"));
        assert_eq!(counterpart("user/ring").as_deref(), Some("kernel/loopback"));
        assert_eq!(counterpart("user/xdp:1gbit,loss=1%").as_deref(), Some("kernel/veth:1gbit,loss=1%"));
        assert_eq!(counterpart("kernel/veth"), None);
        let beside = |text: &str| Network::user(text.parse().expect(text)).to_string();
        assert_eq!(beside("loopback"), "user/ring");
        assert_eq!(beside("veth"), "user/xdp");
        assert_eq!(beside("veth:1gbit"), "user/xdp:1gbit");
    }

    #[test]
    fn both_axes_are_told() {
        assert_eq!(network("kernel/veth:1gbit").in_words(), "the kernel's stack over veth:1gbit");
        assert_eq!(network("user/xdp").in_words(), "the user-space stack over AF_XDP on veth");
        assert_eq!(network("user/xdp:1gbit").in_words(), "the user-space stack over AF_XDP on veth:1gbit");
    }
}
