//! Tests that need more than every machine has: they say what they leave out, or fail where that is not allowed.
//!
//! `ASSAY_REQUIRE=xdp,netns,uring cargo test` names what must be there, `ASSAY_REQUIRE=all` says that everything must.
//!
//! Must not know: what is tested. It is a dependency of tests alone.
#![forbid(unsafe_code)]
#![allow(clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Display;
use std::io::Write as _;

/// Names what must be there.
const VARIABLE: &str = "ASSAY_REQUIRE";

/// What a test may need, and what that is.
const NEEDS: &[(&str, &str)] = &[
    ("cgroup", "a control group below which others may be made"),
    ("container", "a container engine with an image"),
    ("counters", "a CPU that shows its counters"),
    ("cpus", "two CPUs"),
    ("files", "a limit on open files in the thousands"),
    ("kernel", "a kernel with every system call that is tried"),
    ("netns", "the right to make network namespaces"),
    ("preload", "the preload library beside the program"),
    ("processes", "the right to see all processes"),
    ("realtime", "the right to real-time priority"),
    ("root", "to be root"),
    ("tap", "TAP devices"),
    ("tools", "the programs of scripts/setup.sh"),
    ("uring", "io_uring"),
    ("userns", "the right to make user namespaces"),
    ("xdp", "AF_XDP"),
];

/// Says why something is not tested.
///
/// # Panics
/// When what is needed was required, or nobody knows what it is.
pub fn skip(need: &str, reason: impl Display) {
    let required = std::env::var(VARIABLE).unwrap_or_default();
    match is_required(&required, need) {
        Ok(false) => {}
        Ok(true) => panic!("{VARIABLE} wants {need}, and it is not to be had: {reason}"),
        Err(unknown) => {
            let known: Vec<String> = NEEDS.iter().map(|(name, what)| format!("{name} ({what})")).collect();
            panic!("`{unknown}` is nothing that a test needs; there are all, {}", known.join(", "));
        }
    }
    // Not by `eprintln!`, which the test harness hides when a test passes.
    let _ = writeln!(std::io::stderr(), "skipped: {reason} ({need})");
}

/// Whether a list requires what is needed; an error names what is unknown.
fn is_required<'t>(required: &'t str, need: &'t str) -> Result<bool, &'t str> {
    let is_known = |name: &&str| NEEDS.iter().any(|(known, _)| known == name);
    let named = || required.split(',').map(str::trim).filter(|name| !name.is_empty());
    match named().filter(|name| *name != "all").chain([need]).find(|name| !is_known(name)) {
        Some(unknown) => Err(unknown),
        None => Ok(named().any(|name| name == need || name == "all")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_is_required_and_what_nobody_knows_is_told() {
        assert_eq!(is_required("", "uring"), Ok(false));
        assert_eq!(is_required("xdp, uring", "uring"), Ok(true));
        assert_eq!(is_required("all", "uring"), Ok(true));
        assert_eq!(is_required("netns", "uring"), Ok(false));
        assert_eq!(is_required("urring", "uring"), Err("urring"));
        assert_eq!(is_required("all", "luck"), Err("luck"));
    }

    #[test]
    fn needs_are_in_order_and_named_once() {
        assert!(NEEDS.is_sorted_by(|one, next| one.0 < next.0));
    }
}
