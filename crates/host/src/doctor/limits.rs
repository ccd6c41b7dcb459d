//! What this process may have.

use assay_model::doctor::{Area::Limits, Finding};

use super::facts::Facts;
use super::finding::{caution, good, setting, unfit};

/// Open files for the connections of the largest usual experiment, on either side.
const ENOUGH_FILES: u64 = 20_000;
/// With fewer not even the common experiments run.
const FEWEST_FILES: u64 = 1_024;
/// Room for the builds of the showdown, a database and the records of many runs, in bytes.
const ENOUGH_ROOM: u64 = 1 << 30;
/// Room for the record of one run and its logs, in bytes.
const LEAST_ROOM: u64 = 64 << 20;
/// Memory in which the usual contenders fit together with the generator's buffers.
const ENOUGH_MEMORY: u64 = 2 << 30;

pub(super) fn open_files(facts: &Facts) -> Option<Finding> {
    let [soft, hard] = facts.host.nofile?;
    let tell = |limit: u64| if limit == u64::MAX { "unlimited".to_owned() } else { limit.to_string() };
    let state = format!("{} open files, up to {} on request", tell(soft), tell(hard));
    if hard >= ENOUGH_FILES {
        return good("open-files", Limits, state).done();
    }
    let note = if hard < FEWEST_FILES { unfit } else { caution };
    note(
        "open-files",
        Limits,
        state,
        "raise the hard limit: ulimit -Hn 65536 as root, or LimitNOFILE= of the service",
    )
    .costs(format!("no more than about {hard} connections at a time"), "getrlimit(2)")
    .done()
}

pub(super) fn cpu_quota(facts: &Facts) -> Option<Finding> {
    let Some(quota) = facts.host.cpu_quota else {
        return good("cpu-quota", Limits, "none: no control group limits CPU time").done();
    };
    let cpus = facts.allowed.len();
    let state = format!("{quota:.1} CPUs' worth of time on {cpus} CPUs (cpu.max, or cpu.cfs_quota_us)");
    if quota >= cpus as f64 {
        return good("cpu-quota", Limits, state).done();
    }
    let remedy =
        "lift the quota, or give whole CPUs instead (docker run --cpuset-cpus, a static CPU manager)";
    let note = if quota < 2.0 { unfit } else { caution };
    note("cpu-quota", Limits, state, remedy)
        .costs(
            "when the quota of a period, usually 100 ms, is used up, everything stands still until the next",
            "kernel: scheduler/sched-bwc.rst",
        )
        .done()
}

pub(super) fn cpu_set(facts: &Facts) -> Option<Finding> {
    let (allowed, online) = (facts.allowed.len(), facts.online.len());
    if allowed >= online {
        return good("cpu-set", Limits, format!("all {online} CPUs may be used")).done();
    }
    let state = format!("CPUs {} of {online} may be used", facts.allowed);
    good("cpu-set", Limits, state)
        .costs("a result holds for these CPUs, not for the machine", "cpuset(7)")
        .done()
}

/// A container is no fault: what it may have is told beside it.
pub(super) fn container(facts: &Facts) -> Option<Finding> {
    let engine = facts.host.container.as_deref()?;
    good("container", Limits, format!("runs in a container ({engine})"))
        .costs(
            "what runs outside is not seen, only the CPU time that it takes",
            "docs/method/trust.md#time-that-is-nobodys",
        )
        .done()
}

pub(super) fn memory(facts: &Facts) -> Option<Finding> {
    let all = facts.host.memory_bytes?;
    let gib = |bytes: u64| format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30));
    let limit = facts.host.memory_limit_bytes.filter(|limit| *limit < all);
    let state = match limit {
        Some(limit) => format!("{} of {} (memory.max)", gib(limit), gib(all)),
        None => gib(all),
    };
    if limit.unwrap_or(all) >= ENOUGH_MEMORY {
        return good("memory", Limits, state).done();
    }
    caution("memory", Limits, state, "allow 2 GiB or more, or measure small contenders only")
        .costs("beyond it a server is throttled by reclaim or killed", "kernel: admin-guide/cgroup-v2.rst")
        .done()
}

pub(super) fn swap(facts: &Facts) -> Option<Finding> {
    let (all, used) = (facts.swap_bytes?, facts.swap_used_bytes.unwrap_or(0));
    if all == 0 {
        return good("swap", Limits, "none").done();
    }
    let state = format!("{} MiB, {} MiB of it in use", all >> 20, used >> 20);
    if used == 0 {
        return good("swap", Limits, state).done();
    }
    caution("swap", Limits, state, "swapoff -a while you measure, or free memory first")
        .costs("a page that was swapped out costs a disk access inside a request", "swapon(8)")
        .set(facts.swappiness.filter(|&now| now > 1).map(|now| setting("/proc/sys/vm/swappiness", now, 1)))
        .done()
}

pub(super) fn huge_pages(facts: &Facts) -> Option<Finding> {
    let mode = facts.huge_pages.as_deref()?;
    let state = format!("transparent huge pages: {mode}");
    if mode != "always" {
        return good("huge-pages", Limits, state).done();
    }
    let path = "/sys/kernel/mm/transparent_hugepage/enabled";
    caution("huge-pages", Limits, state, "choose madvise, so that only who asks gets them")
        .costs(
            "memory figures swell by what is not touched, and khugepaged works beside the servers",
            "kernel: admin-guide/mm/transhuge.rst",
        )
        .set([setting(path, mode, "madvise")])
        .done()
}

pub(super) fn disk(facts: &Facts) -> Option<Finding> {
    let least = facts.rooms.iter().min_by_key(|room| room.bytes)?;
    let state = format!("{} MiB free in {}", least.bytes >> 20, least.folder);
    if least.bytes >= ENOUGH_ROOM {
        return good("disk", Limits, state).done();
    }
    let remedy = "make room there, or name other folders with --runs and TMPDIR";
    let note = if least.bytes < LEAST_ROOM { unfit } else { caution };
    note("disk", Limits, state, remedy)
        .costs(
            "a run ends when its record cannot be saved; what was measured until then is kept",
            "docs/security.md",
        )
        .done()
}
