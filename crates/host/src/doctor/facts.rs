//! Everything the checks look at, read in one place.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use assay_model::doctor::Measured;
use assay_model::host::HostFacts;

use crate::cpuset::{self, CpuSet};
use crate::facts::facts_in;
use crate::isolation::{Isolation, split};
use crate::limits::count_ports;
use crate::text::{Tree, number};
use crate::topology::Topology;

/// A machine, as far as it concerns measuring. What cannot be read is absent.
#[derive(Clone, Debug)]
pub struct Facts {
    /// What every record holds as well.
    pub host: HostFacts,
    /// Where `assay run` would put server and generator.
    pub isolation: Isolation,
    /// CPUs that this process may use.
    pub allowed: CpuSet,
    /// CPUs that are online.
    pub online: CpuSet,
    /// Frequency governor of each allowed CPU that has one.
    pub governors: BTreeMap<u32, String>,
    /// Whether the governor `performance` can be had.
    pub has_performance_governor: bool,
    /// Present frequencies of the allowed CPUs, in kilohertz.
    pub frequencies_khz: Vec<u64>,
    /// The file that turns the turbo off, with its present and its other value.
    pub turbo_switch: Option<[String; 3]>,
    /// Greatest distance between two NUMA nodes over that within one, as the firmware's table says.
    pub numa_factor: Option<f64>,
    /// What the machine runs on, where it has a battery.
    pub power: Option<Power>,
    /// Whether the kernel was told to leave all mitigations off.
    pub mitigations_off: bool,
    /// CPUs that the kernel keeps other programs off (`isolcpus`).
    pub isolated: Option<String>,
    /// Slack that this process's timers have, in nanoseconds.
    pub timer_slack_ns: Option<u64>,
    /// Clock sources to choose from.
    pub clock_sources: Vec<String>,
    /// Connections one address can have to one server.
    pub ports: Option<u32>,
    /// `net.ipv4.tcp_tw_reuse`.
    pub tw_reuse: Option<u32>,
    /// Greatest packet on loopback, in bytes.
    pub loopback_mtu: Option<u32>,
    /// Room on the disks that a run writes to.
    pub rooms: Vec<Room>,
    /// Swap space, in bytes.
    pub swap_bytes: Option<u64>,
    /// Swap space in use, in bytes.
    pub swap_used_bytes: Option<u64>,
    /// `vm.swappiness`.
    pub swappiness: Option<u32>,
    /// The chosen word of `transparent_hugepage/enabled`.
    pub huge_pages: Option<String>,
    /// `kernel.perf_event_paranoid`.
    pub perf_paranoid: Option<i32>,
    /// Whether the CPU's counters are to be had at all.
    pub has_pmu: bool,
    /// Whether this process is root in its user namespace.
    pub is_root: bool,
    /// `kernel.io_uring_disabled`.
    pub io_uring_disabled: Option<u32>,
    /// What an attempt at io_uring gave.
    pub io_uring: IoUring,
    /// Whether users may make namespaces; the file that forbids it otherwise.
    pub user_namespaces: Result<(), String>,
    /// The `hidepid` option of `/proc`, when it is set.
    pub hidepid: Option<String>,
    /// What a short measurement showed; absent for saved files.
    pub measured: Option<Measured>,
}

/// What a machine with a battery runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Power {
    /// Whether the battery gives it.
    pub is_battery: bool,
    /// How full the battery is, in percent.
    pub charge_percent: Option<u32>,
}

/// Room on a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    /// A folder on it, and what that is for.
    pub folder: String,
    /// What this user may still write there, in bytes.
    pub bytes: u64,
}

/// Whether io_uring works; the engine knows, who tried it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum IoUring {
    /// Nobody tried.
    #[default]
    Untried,
    /// The engine works.
    Works,
    /// The engine does not work, and why.
    Fails(String),
}

impl Facts {
    /// Reads this machine, without measuring anything.
    pub fn read() -> Self {
        Self { rooms: rooms(), ..Self::read_from(&Tree::live(), &cpuset::allowed()) }
    }

    /// Reads the saved `/proc`, `/sys` and `/etc` of another machine below `root`.
    pub fn read_saved(root: &Path) -> Self {
        let tree = Tree::at(root);
        let allowed = tree.read("proc/self/status").and_then(|text| {
            crate::text::field(&text, "Cpus_allowed_list").and_then(|list| list.parse().ok())
        });
        let online = || tree.parse("sys/devices/system/cpu/online");
        Self::read_from(&tree, &allowed.or_else(online).unwrap_or_else(cpuset::allowed))
    }

    fn read_from(tree: &Tree, allowed: &CpuSet) -> Self {
        let topology = Topology::read_from(tree);
        let meminfo = tree.read("proc/meminfo").unwrap_or_default();
        let kib = |name| number(&meminfo, name).map(|kib| kib * 1024);
        let cmdline = tree.read("proc/cmdline").unwrap_or_default();
        Self {
            host: HostFacts { nofile: open_files(tree), ..facts_in(tree, allowed) },
            isolation: split(allowed, &topology),
            allowed: allowed.clone(),
            online: topology.online(),
            governors: allowed
                .iter()
                .filter_map(|cpu| Some((cpu, cpufreq(tree, cpu, "scaling_governor")?)))
                .collect(),
            has_performance_governor: allowed
                .first()
                .and_then(|cpu| cpufreq(tree, cpu, "scaling_available_governors"))
                .is_some_and(|all| all.split(' ').any(|governor| governor == "performance")),
            frequencies_khz: allowed
                .iter()
                .filter_map(|cpu| cpufreq(tree, cpu, "scaling_cur_freq")?.parse().ok())
                .collect(),
            turbo_switch: turbo_switch(tree),
            numa_factor: numa_factor(tree),
            power: power(tree),
            mitigations_off: cmdline.split(' ').any(|word| word == "mitigations=off"),
            isolated: tree.read("sys/devices/system/cpu/isolated"),
            timer_slack_ns: tree.parse("proc/self/timerslack_ns"),
            clock_sources: words(tree.read(format!("{CLOCK}/available_clocksource"))),
            ports: count_ports(tree),
            tw_reuse: tree.parse("proc/sys/net/ipv4/tcp_tw_reuse"),
            loopback_mtu: tree.parse("sys/class/net/lo/mtu"),
            rooms: Vec::new(),
            swap_bytes: kib("SwapTotal"),
            swap_used_bytes: kib("SwapTotal")
                .zip(kib("SwapFree"))
                .map(|(all, free)| all.saturating_sub(free)),
            swappiness: tree.parse("proc/sys/vm/swappiness"),
            huge_pages: tree.read(HUGE_PAGES).as_deref().and_then(chosen),
            perf_paranoid: tree.parse("proc/sys/kernel/perf_event_paranoid"),
            has_pmu: tree.names("sys/bus/event_source/devices").iter().any(|name| name.starts_with("cpu")),
            is_root: tree.read("proc/self/status").is_some_and(|status| is_root(&status)),
            io_uring_disabled: tree.parse("proc/sys/kernel/io_uring_disabled"),
            io_uring: IoUring::Untried,
            user_namespaces: user_namespaces(tree),
            hidepid: tree.read("proc/self/mounts").as_deref().and_then(hidepid),
            measured: None,
        }
    }

    /// CPUs of server and generator together.
    pub fn pinned(&self) -> CpuSet {
        self.isolation.server.union(&self.isolation.generator)
    }
}

const CLOCK: &str = "sys/devices/system/clocksource/clocksource0";
const HUGE_PAGES: &str = "sys/kernel/mm/transparent_hugepage/enabled";

fn cpufreq(tree: &Tree, cpu: u32, file: &str) -> Option<String> {
    tree.read(format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/{file}"))
}

fn words(text: Option<String>) -> Vec<String> {
    text.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

/// Soft and hard limit of open files, out of `/proc/self/limits`; `u64::MAX` is "unlimited".
fn open_files(tree: &Tree) -> Option<[u64; 2]> {
    let limits = tree.read("proc/self/limits")?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    let mut values = line.split_whitespace().map(|word| word.parse().unwrap_or(u64::MAX));
    Some([values.next()?, values.next()?])
}

/// The file that governs the turbo, its value, and the value for "off" (kernel: admin-guide/pm/intel_pstate.rst,
/// admin-guide/pm/cpufreq.rst).
fn turbo_switch(tree: &Tree) -> Option<[String; 3]> {
    let switches = [
        ("sys/devices/system/cpu/intel_pstate/no_turbo", "1"),
        ("sys/devices/system/cpu/cpufreq/boost", "0"),
    ];
    switches.iter().find_map(|(file, off)| Some([format!("/{file}"), tree.read(file)?, (*off).to_owned()]))
}

/// The greatest distance in the firmware's table over the least (kernel: ABI/stable/sysfs-devices-node, `distance`).
fn numa_factor(tree: &Tree) -> Option<f64> {
    let folder = "sys/devices/system/node";
    let nodes = tree.names(folder);
    let tables = nodes.iter().filter_map(|node| tree.read(format!("{folder}/{node}/distance")));
    let distances: Vec<f64> =
        tables.flat_map(|table| words(Some(table))).filter_map(|word| word.parse().ok()).collect();
    let least = distances.iter().copied().reduce(f64::min).filter(|&least| least > 0.0)?;
    distances.into_iter().reduce(f64::max).map(|most| most / least)
}

/// Power supplies of the machine itself (kernel: ABI/testing/sysfs-class-power): a mouse's battery has the scope `Device`.
fn power(tree: &Tree) -> Option<Power> {
    let supplies = "sys/class/power_supply";
    let read = |name: &str, file: &str| tree.read(format!("{supplies}/{name}/{file}"));
    let own = |name: &String| read(name, "scope").as_deref() != Some("Device");
    let names: Vec<String> = tree.names(supplies).into_iter().filter(own).collect();
    let is = |name: &&String, kind: &str| read(name, "type").as_deref() == Some(kind);
    let battery = names.iter().find(|name| is(name, "Battery"))?;
    let is_plugged = names
        .iter()
        .filter(|name| !is(name, "Battery"))
        .any(|name| read(name, "online").as_deref() == Some("1"));
    let is_emptied = read(battery, "status").as_deref() == Some("Discharging");
    let charge_percent = read(battery, "capacity").and_then(|text| text.parse().ok());
    Some(Power { is_battery: is_emptied && !is_plugged, charge_percent })
}

/// Where runs are kept, unless another folder is named, and where servers have their scratch folders.
fn rooms() -> Vec<Room> {
    let places = [(PathBuf::from("."), "the current folder"), (std::env::temp_dir(), "temporary files")];
    let room = |(path, what): &(PathBuf, &str)| {
        let told = rustix::fs::statvfs(path).ok()?;
        let folder = format!("{} ({what})", path.canonicalize().ok()?.display());
        Some(Room { folder, bytes: told.f_bavail.saturating_mul(told.f_frsize) })
    };
    places.iter().filter_map(room).collect()
}

/// The word in brackets: `always [madvise] never`.
fn chosen(text: &str) -> Option<String> {
    Some(text.split_once('[')?.1.split_once(']')?.0.to_owned())
}

fn is_root(status: &str) -> bool {
    let effective = crate::text::field(status, "Uid").and_then(|ids| ids.split_whitespace().nth(1));
    effective == Some("0")
}

/// Three switches, each of which forbids namespaces to users at the value beside it: the mainline limit, Debian's switch, and Ubuntu's AppArmor
/// policy.
fn user_namespaces(tree: &Tree) -> Result<(), String> {
    let switches = [
        ("proc/sys/user/max_user_namespaces", 0),
        ("proc/sys/kernel/unprivileged_userns_clone", 0),
        ("proc/sys/kernel/apparmor_restrict_unprivileged_userns", 1),
    ];
    let closed = switches.iter().find(|(file, forbids)| tree.parse::<i64>(file) == Some(*forbids));
    closed.map_or(Ok(()), |(file, value)| Err(format!("/{file} is {value}")))
}

/// The `hidepid` option of the mount at `/proc`, unless it hides nothing.
fn hidepid(mounts: &str) -> Option<String> {
    let options = mounts.lines().find_map(|line| {
        let mut fields = line.split(' ').skip(1);
        (fields.next()? == "/proc").then(|| fields.nth(1))?
    })?;
    let value = options.split(',').find_map(|option| option.strip_prefix("hidepid="))?;
    (!matches!(value, "0" | "off")).then(|| value.to_owned())
}
