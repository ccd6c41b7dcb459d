//! The machine a run took place on.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;

/// The hypervisor of a machine that is virtual and does not tell its name.
pub const UNNAMED_HYPERVISOR: &str = "unnamed";

/// Facts that decide whether two results can be compared. What could not be read is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostFacts {
    /// Kernel release, as `uname -r` prints it.
    pub kernel: Option<String>,
    /// Distribution, as `/etc/os-release` names it.
    pub distribution: Option<String>,
    /// CPU model name.
    pub cpu_model: Option<String>,
    /// CPUs this process may run on.
    pub cpus: u32,
    /// Physical cores among them.
    pub cores: u32,
    /// NUMA nodes among them.
    pub numa_nodes: u32,
    /// Whether two CPUs share a core.
    pub smt: Option<bool>,
    /// Main memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// CPUs' worth of time that a control group allows (`cpu.max`), when it limits it.
    pub cpu_quota: Option<f64>,
    /// Memory that a control group allows (`memory.max`), in bytes, when it limits it.
    pub memory_limit_bytes: Option<u64>,
    /// Frequency governor of the first CPU.
    pub governor: Option<String>,
    /// Whether the clock may rise above its nominal rate.
    pub turbo: Option<bool>,
    /// Hypervisor, when the machine is virtual.
    pub hypervisor: Option<String>,
    /// Container engine, when the process runs in one.
    pub container: Option<String>,
    /// Whether the kernel takes the time of interrupts out of the CPU time of programs (`CONFIG_IRQ_TIME_ACCOUNTING`). CPU time
    /// per request of two machines compares only where this is the same: on loopback, interrupts are the receiving half.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupts_apart: Option<bool>,
    /// Clock source of the kernel.
    pub clock_source: Option<String>,
    /// Mitigations that are active, as `/sys/devices/system/cpu/vulnerabilities` names them.
    pub mitigations: Vec<String>,
    /// Soft and hard limit of open files.
    pub nofile: Option<[u64; 2]>,
    /// First and last ephemeral port.
    pub ephemeral_ports: Option<[u16; 2]>,
    /// Upper bound of a listening socket's accept queue.
    pub somaxconn: Option<u32>,
    /// Upper bound of its queue of half-open connections.
    pub syn_backlog: Option<u32>,
    /// Congestion control of the kernel's TCP where a program does not choose one (tcp(7)); also of the namespaces of a link.
    pub congestion_control: Option<String>,
    /// One-minute load average when the run began.
    pub load_average: Option<f64>,
}

/// The CPUs and what they did during a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Isolation {
    /// CPUs of the contenders, as a kernel list ("0-3,8").
    pub server_cpus: String,
    /// CPUs of the load generator.
    pub generator_cpus: String,
    /// The separation in a sentence, with whatever spoils it.
    pub statement: String,
}
