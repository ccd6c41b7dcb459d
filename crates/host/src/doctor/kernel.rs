//! What the kernel offers to assay.

use assay_model::doctor::{Area::Kernel, Finding};

use super::facts::{Facts, IoUring};
use super::finding::{caution, good, setting, unfit};

/// io_uring's provided buffer rings, which the engine uses, are as old as this.
const GOOD_KERNEL: (u32, u32) = (6, 0);
/// `perf_event_paranoid` up to which a user may count kernel events of own processes (kernel:
/// admin-guide/perf-security.rst).
const COUNTING_ALLOWED: i32 = 1;

pub(super) fn version(facts: &Facts) -> Option<Finding> {
    let release = facts.host.kernel.as_deref()?;
    let state = match &facts.host.distribution {
        Some(distribution) => format!("{release}, {distribution}"),
        None => release.to_owned(),
    };
    if release_of(release)? >= GOOD_KERNEL {
        return good("kernel", Kernel, state).done();
    }
    caution("kernel", Kernel, state, "use Linux 6.0 or newer")
        .costs(
            "the generator falls back to epoll, two system calls a request instead of one a batch",
            "docs/method/generator.md#two-engines",
        )
        .done()
}

/// The Windows Subsystem for Linux names itself in its release: 4.4.0-19041-Microsoft in its first version, which translates system
/// calls, and 5.15.90.1-microsoft-standard-WSL2 in its second, which is a virtual machine.
pub(super) fn wsl(facts: &Facts) -> Option<Finding> {
    let release = facts.host.kernel.as_deref()?.to_ascii_lowercase();
    if !release.contains("microsoft") {
        return None;
    }
    let source = "learn.microsoft.com/windows/wsl/compare-versions";
    if !release.contains("wsl2") {
        let remedy = "convert it: wsl --set-version NAME 2; or measure on Linux itself";
        return unfit("wsl", Kernel, "Windows Subsystem for Linux 1: no Linux kernel", remedy)
            .costs(
                "system calls are translated, and io_uring, network namespaces and counters are missing",
                source,
            )
            .done();
    }
    let remedy = "for figures that others can repeat, measure on Linux itself; here give it processors of its own (.wslconfig) and \
                  keep all files out of /mnt";
    caution("wsl", Kernel, "Windows Subsystem for Linux 2", remedy)
        .costs("Windows shares the CPUs unseen, and files below /mnt cross into it", source)
        .done()
}

/// Major and minor number of a release such as `6.1.0-28-amd64`.
fn release_of(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split(['.', '-', '+']).map(|part| part.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

pub(super) fn io_uring(facts: &Facts) -> Option<Finding> {
    let why = match (&facts.io_uring, facts.io_uring_disabled) {
        (IoUring::Works, _) => return good("io-uring", Kernel, "works").done(),
        (IoUring::Fails(why), None | Some(0)) => why.clone(),
        (IoUring::Untried, None | Some(0)) => return None,
        (_, Some(2)) => "forbidden to everybody (kernel.io_uring_disabled = 2)".to_owned(),
        (_, Some(level)) => {
            format!("forbidden to users without its group (kernel.io_uring_disabled = {level})")
        }
    };
    let path = "/proc/sys/kernel/io_uring_disabled";
    let closed = facts.io_uring_disabled.filter(|&level| level > 0);
    let remedy = match closed {
        Some(_) => "set kernel.io_uring_disabled to 0",
        None => {
            "allow io_uring_setup in the container's seccomp profile (Docker and containerd forbid it), or use a newer kernel"
        }
    };
    caution("io-uring", Kernel, format!("not to be had: {why}"), remedy)
        .costs(
            "the generator uses epoll: two system calls a request, so less headroom",
            "docs/method/generator.md#two-engines; kernel: admin-guide/sysctl/kernel.rst",
        )
        .set(closed.map(|level| setting(path, level, 0)))
        .done()
}

/// A matter of the machine's security policy, so `--fix` leaves it alone.
pub(super) fn counters(facts: &Facts) -> Option<Finding> {
    let level = facts.perf_paranoid?;
    let allowed = facts.is_root || level <= COUNTING_ALLOWED;
    let state = format!("perf_event_paranoid = {level}");
    match (facts.has_pmu, allowed) {
        (true, true) => good("counters", Kernel, format!("cycles and instructions can be counted ({state})")),
        (false, true) => good(
            "counters",
            Kernel,
            format!("this CPU's counters are hidden; system calls can be counted ({state})"),
        )
        .costs(
            "no cycles and instructions per request in the record",
            "perf_event_open(2); hypervisors often hide the PMU",
        ),
        (_, false) => good("counters", Kernel, format!("users may not count kernel events ({state})")).costs(
            "no system calls, cycles and instructions per request in the record",
            "kernel: admin-guide/perf-security.rst",
        ),
    }
    .done()
}

pub(super) fn namespaces(facts: &Facts) -> Option<Finding> {
    match &facts.user_namespaces {
        Ok(()) => good("namespaces", Kernel, "users may make namespaces"),
        Err(why) if facts.is_root => {
            good("namespaces", Kernel, format!("only root may make namespaces ({why})"))
        }
        Err(why) => good("namespaces", Kernel, format!("users may not make namespaces ({why})"))
            .costs("links other than loopback need root", "user_namespaces(7)"),
    }
    .done()
}

pub(super) fn hidden_processes(facts: &Facts) -> Option<Finding> {
    let Some(level) = &facts.hidepid else {
        return good("proc", Kernel, "all processes can be seen").done();
    };
    let state = format!("processes of other users are hidden (hidepid={level})");
    good("proc", Kernel, state)
        .costs("a server that changes its user cannot be accounted for, unless assay is root", "proc(5)")
        .done()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_compared_by_number() {
        for (text, release) in
            [("6.1.0-28-amd64", (6, 1)), ("5.10.0", (5, 10)), ("6.18.44-fc-v657", (6, 18)), ("7.0+", (7, 0))]
        {
            assert_eq!(release_of(text), Some(release), "{text}");
        }
        assert_eq!(release_of("rolling"), None);
    }
}
