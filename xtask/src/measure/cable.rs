//! A virtual cable for AF_XDP, in a network of its own.

use std::process::Command;

use nix::sched::{CloneFlags, unshare};

/// The two ends of the virtual cable for AF_XDP.
pub(crate) const CABLE: [&str; 2] = ["left", "right"];

/// Makes a virtual cable in a network of this thread's own, which ends with the thread and its processes.
///
/// # Errors
/// What root's rights or iproute2 would be needed for.
pub(crate) fn create_cable() -> Result<(), String> {
    unshare(CloneFlags::CLONE_NEWNET).map_err(|error| format!("a network namespace: {error}"))?;
    let [left, right] = CABLE;
    ip(&format!("link add {left} type veth peer name {right}"))?;
    ip(&format!("link set {left} up"))?;
    ip(&format!("link set {right} up"))
}

/// Has ip(8) do something in the network of this thread.
///
/// # Errors
/// What it said.
pub(crate) fn ip(words: &str) -> Result<(), String> {
    match Command::new("ip").args(words.split_whitespace()).output() {
        Err(error) => Err(format!("ip: {error}")),
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!("ip {words}: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}
