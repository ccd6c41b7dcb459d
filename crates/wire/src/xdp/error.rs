//! Why AF_XDP cannot be had, and how to mend it.

use std::fmt;
use std::io;

/// Where it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Asking for the interface.
    Interface,
    /// Making the socket.
    Socket,
    /// Registering memory and rings.
    Memory,
    /// Loading the program and its map.
    Program,
    /// Attaching the program to the interface.
    Attach,
    /// Sharing the program that another process has attached.
    Join,
    /// Binding the socket to the queue.
    Bind,
}

/// Why a queue cannot be had past the kernel's stack.
#[derive(Debug, thiserror::Error)]
#[error("xdp:{interface}: {step}: {error}{}", remedy(*.step, .error))]
pub struct XdpError {
    /// The interface.
    pub interface: String,
    /// Where it failed.
    pub step: Step,
    /// What the system says.
    pub error: io::Error,
}

impl fmt::Display for Step {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Interface => "interface",
            Self::Socket => "AF_XDP socket",
            Self::Memory => "memory for frames",
            Self::Program => "XDP program",
            Self::Attach => "attaching the XDP program",
            Self::Join => "sharing the XDP program of another process",
            Self::Bind => "binding to the queue",
        })
    }
}

fn remedy(step: Step, error: &io::Error) -> &'static str {
    match (step, error.raw_os_error()) {
        (Step::Interface, Some(libc::ENODEV)) => "; `ip link` tells the interfaces of this network namespace",
        (Step::Interface, Some(libc::ENETDOWN)) => "; set it up: `ip link set INTERFACE up`",
        (Step::Socket, Some(libc::EPERM)) => {
            "; it needs CAP_NET_RAW: run as root, or `setcap cap_net_raw,cap_net_admin,cap_bpf+ep` on the program"
        }
        (Step::Socket, Some(libc::EAFNOSUPPORT)) => "; the kernel needs CONFIG_XDP_SOCKETS",
        (Step::Memory, Some(libc::ENOBUFS | libc::ENOMEM)) => {
            "; it needs locked memory: raise `ulimit -l`, or grant CAP_IPC_LOCK"
        }
        (Step::Program, Some(libc::EPERM)) => {
            "; it needs CAP_BPF and CAP_NET_ADMIN, and those of the machine, not of a user namespace: run as root, or `setcap \
             cap_net_raw,cap_net_admin,cap_bpf+ep` on the program"
        }
        (Step::Program, Some(libc::ENOSYS)) => "; the kernel needs CONFIG_BPF_SYSCALL",
        (Step::Attach, Some(libc::EPERM)) => "; it needs CAP_NET_ADMIN over the interface: run as root",
        (Step::Attach, Some(libc::EBUSY | libc::EEXIST)) => {
            "; another XDP program is there, or ours in another mode, see `ip link show INTERFACE`: end its process, or `ip link set \
             INTERFACE xdp off`, or give all processes the same mode"
        }
        (Step::Join, Some(libc::EPERM)) => {
            "; it needs CAP_SYS_ADMIN, and that of the machine, not of a user namespace: run as root, or `setcap \
             cap_net_raw,cap_net_admin,cap_bpf,cap_sys_admin+ep` on the program, or use all queues in one process; `ip link show \
             INTERFACE` tells the program"
        }
        (Step::Attach, Some(libc::EINVAL)) => "; the kernel needs to be Linux 5.9 or newer, for XDP links",
        (Step::Bind, Some(libc::EBUSY)) => {
            "; another socket has this queue: end its process, or take another queue"
        }
        (Step::Bind, Some(libc::EINVAL)) => {
            "; the interface has no such queue: see `ls /sys/class/net/INTERFACE/queues`"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_right_is_named() {
        for (step, errno, hint) in [
            (Step::Socket, libc::EPERM, "CAP_NET_RAW"),
            (Step::Program, libc::EPERM, "CAP_BPF"),
            (Step::Attach, libc::EPERM, "CAP_NET_ADMIN"),
            (Step::Memory, libc::ENOBUFS, "ulimit -l"),
            (Step::Attach, libc::EBUSY, "xdp off"),
            (Step::Join, libc::EPERM, "CAP_SYS_ADMIN"),
            (Step::Bind, libc::EBUSY, "another queue"),
        ] {
            let error = io::Error::from_raw_os_error(errno);
            let sentence = XdpError { interface: "eth0".to_owned(), step, error }.to_string();
            assert!(sentence.contains(hint) && sentence.contains("xdp:eth0"), "{sentence}");
        }
    }
}
