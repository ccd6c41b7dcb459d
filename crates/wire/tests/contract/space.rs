//! A network namespace for a test, which takes everything made in it along when the test ends.

use std::process::Command;

use assay_skip::skip;
use nix::sched::{CloneFlags, unshare};
use rustix::process::geteuid;

/// Runs a test in a network namespace of its own. Where that is forbidden, or `missing` says that what the test needs is not to be
/// had, says so and does nothing.
pub(crate) fn within(need: &str, missing: fn() -> Option<String>, test: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            // Of this thread alone, and of the commands that it starts (namespaces(7)).
            if let Err(error) = unshare(CloneFlags::CLONE_NEWNET) {
                let why = format_args!("{need}: a network namespace is not to be had ({error}); run as root");
                return skip(if geteuid().is_root() { "netns" } else { "root" }, why);
            }
            match missing() {
                Some(reason) => skip(need, reason),
                None => test(),
            }
        });
        if let Err(panic) = thread.join() {
            std::panic::resume_unwind(panic);
        }
    });
}

/// Runs ip(8) with these words.
pub(crate) fn ip(words: &str) {
    if let Err(problem) = try_ip(words) {
        panic!("{problem}");
    }
}

pub(crate) fn try_ip(words: &str) -> Result<(), String> {
    let output = Command::new("ip").args(words.split_whitespace()).output();
    match output {
        Err(error) => Err(format!("ip(8): {error}; install iproute2")),
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!("ip {words}: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}
