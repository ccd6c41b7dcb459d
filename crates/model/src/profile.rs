//! Where a server's time went during slices of load of their own, apart from every measured window.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::experiment::Cell;
use crate::load::Arrival;
use crate::units::{Nanos, total};
use crate::usage::Usage;

/// What was seen of a server in slices of load at the level of one cell: its stacks in one, its system calls in another,
/// because to follow each call changes what the stacks show.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Profile {
    /// The cell.
    #[serde(flatten)]
    pub cell: Cell,
    /// How requests arrived, and at which rate.
    pub arrival: Arrival,
    /// When the first slice began, after the start of the whole run.
    pub offset_ns: Nanos,
    /// The slice in which stacks were sampled.
    pub sampled: Sampled,
    /// The slice in which system calls were followed; absent where that is not allowed, or the server had died.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traced: Option<Traced>,
    /// What could not be looked at, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Refused>,
}

/// What a server did in a slice of load, by samples taken at regular intervals.
///
/// A share of the server's samples is that share of its CPU time: `usage` says how much CPU time there was, by the kernel's
/// own clocks, and a sample says what it was spent on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sampled {
    /// Right answers in the slice.
    pub answers: u64,
    /// How long it was under load, without the time in which the generator started; zero in records before this was kept.
    #[serde(default, skip_serializing_if = "Nanos::is_zero")]
    pub loaded_ns: Nanos,
    /// Median time of its right answers, from the request that was sent to the last byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median_ns: Option<Nanos>,
    /// Connections that the generator had to make anew, in the slice and while it settled before it; absent in records before this was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remade: Option<u64>,
    /// What the server's processes used in it; its length, waiting for a CPU, switches and page faults are in it.
    pub usage: Usage,
    /// What made the samples.
    pub clock: Clock,
    /// Time between two samples of a CPU.
    pub interval_ns: Nanos,
    /// The CPUs that were looked at; 0 where threads were.
    pub cpus: u32,
    /// Names of threads, to which stacks refer.
    pub threads: Vec<String>,
    /// Name of the thread that used most CPU time (`busiest_thread_ns` of `usage`), which others may have too; absent where threads
    /// were not looked at, and in records before this was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busiest_thread: Option<String>,
    /// Time for which that thread could have run but waited for a CPU; absent where the kernel does not count it, and in records
    /// before this was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busiest_thread_delay_ns: Option<Nanos>,
    /// Most threads of the server that were alive at once; zero in records before this was kept.
    #[serde(default, skip_serializing_if = "crate::usage::is_zero")]
    pub most_threads: u32,
    /// Functions, to which stacks refer.
    pub frames: Vec<Frame>,
    /// What ran on the server's CPUs, each stack once.
    pub stacks: Vec<CallStack>,
    /// Samples in which the CPU was idle.
    pub idle: u64,
    /// Samples in which processes ran that are not the server's.
    pub others: u64,
    /// Samples that the kernel took and could not hand over, or that were more than are kept.
    pub lost: u64,
    /// Where threads of the server waited, by the places in the kernel at which they were found asleep.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<Wait>,
    /// What its threads or goroutines waited for inside the server's own runtime, the longest first: most for work, some for a lock.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub awaited: Vec<Awaited>,
    /// Events that the kernel's TCP counted in the server's network namespace, by their names in `/proc/net/snmp` and
    /// `/proc/net/netstat`; what did not happen is left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tcp: BTreeMap<String, u64>,
}

/// What makes samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// The CPU's counter of cycles: it interrupts everywhere, also where interrupts are off.
    Hardware,
    /// A timer of the kernel: what runs with interrupts off is seen where they are let in again.
    #[default]
    Software,
}

/// One way in which a CPU was found busy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Stack")]
pub struct CallStack {
    /// Who was at work.
    pub owner: Owner,
    /// Index of the thread's name in [`Sampled::threads`].
    pub thread: u32,
    /// Indices into [`Sampled::frames`], innermost first.
    pub frames: Vec<u32>,
    /// Samples with this stack.
    pub samples: u64,
}

/// Who was at work on a CPU of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    /// A thread of the server, in its own code or in the kernel.
    Server,
    /// The kernel of its own accord: interrupts of an idle CPU, and threads of the kernel. Not in the server's CPU time.
    Kernel,
}

/// A function.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Frame {
    /// Its name, readable; absent where nothing names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
    /// File name of the program or library that it is in, without its folder; absent for the kernel, and where no file is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// What sort of code it is.
    pub kind: FrameKind,
}

/// Sorts of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FrameKind {
    /// The kernel's.
    Kernel,
    /// Compiled ahead of time, from a file.
    Native,
    /// Compiled while the program runs; named where it tells what it compiles (docs/method/profile.md#whose-functions-are-they).
    Jit,
    /// At an address where there is no code, or no longer: a chain of calls that went astray, or a program that has ended.
    Unknown,
}

/// A place in the kernel at which threads of the server were asleep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Wait {
    /// Name of the threads.
    pub thread: String,
    /// The kernel's function in which they slept (`/proc/PID/wchan`).
    pub channel: String,
    /// Time asleep there, summed over the threads.
    pub time_ns: Nanos,
    /// Times at which one was found there.
    pub count: u64,
}

/// Something that threads or goroutines of a server were found waiting for, by what the runtime inside the server keeps of it (Go's,
/// Java's). The kernel knows at most that a thread is parked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Awaited {
    /// Its address. An object that a collector has moved is another one from then on.
    pub address: u64,
    /// Class of the object, as in `java.util.concurrent.locks.ReentrantLock$NonfairSync`; absent where the runtime keeps none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// What waited.
    #[serde(default, skip_serializing_if = "Waiter::is_thread")]
    pub waiter: Waiter,
    /// How many of these were found waiting.
    pub waiters: u32,
    /// Those threads, by numbers under which they stand beside other things too; absent of goroutines, which may be many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiter_ids: Vec<u32>,
    /// Time that they waited, summed over them.
    pub time_ns: Nanos,
    /// The calls that led to most of the waits, innermost first, as far as they could be followed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub callers: Vec<Frame>,
}

/// What waits for a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Waiter {
    /// A thread of the operating system.
    #[default]
    Thread,
    /// A goroutine, which is on no thread while it waits.
    Goroutine,
}

/// What system calls a server made in a slice of load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Traced {
    /// Right answers in the slice.
    pub answers: u64,
    /// How long it was under load, as in [`Sampled::loaded_ns`].
    #[serde(default, skip_serializing_if = "Nanos::is_zero")]
    pub loaded_ns: Nanos,
    /// What the server's processes used in it, with what following costs.
    pub usage: Usage,
    /// Its system calls, most time first.
    pub calls: Vec<SystemCall>,
    /// The locks for which its threads waited, the longest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<Lock>,
    /// Waits at any other word, by the calls that led there, the longest first: most are for work, some for a lock that parks its
    /// threads each at a word of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parked: Vec<Parked>,
    /// Events that the kernel could not hand over.
    pub lost: u64,
}

/// System calls of one name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SystemCall {
    /// Its name, or its number where that has no name here.
    pub name: String,
    /// Calls that ended in the slice.
    pub count: u64,
    /// Those of them that returned an error.
    pub failed: u64,
    /// Threads that made one; zero in records before this was kept.
    #[serde(default, skip_serializing_if = "crate::usage::is_zero")]
    pub threads: u32,
    /// Time from entry to return, waiting included, summed over the threads.
    pub time_ns: Nanos,
    /// What they returned in sum, where that was no error: bytes, of calls that read or write.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub returned: u64,
}

/// A lock in the server's memory for which threads waited in `futex(2)`: one whose word said that others wait already.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lock {
    /// Its address.
    pub address: u64,
    /// Waits that ended in the slice.
    pub waits: u64,
    /// Threads that waited.
    pub threads: u32,
    /// Time that they waited, summed over the threads.
    pub time_ns: Nanos,
    /// The calls that led to most of the waits, innermost first, as far as they could be followed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub callers: Vec<Frame>,
}

/// Waits in `futex(2)` to which the same calls led.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Parked {
    /// Waits that ended in the slice.
    pub waits: u64,
    /// Threads that waited.
    pub threads: u32,
    /// Those threads by their ids, which tell the same of several ways apart from others; absent in records before this was kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thread_ids: Vec<u32>,
    /// Time that they waited, summed over the threads.
    pub time_ns: Nanos,
    /// The calls, innermost first, as far as they could be followed.
    pub callers: Vec<Frame>,
}

/// Something that could not be looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Refused {
    /// What could not be looked at.
    pub what: Facet,
    /// Why, and what would mend it.
    pub why: String,
}

/// A part of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Facet {
    /// Samples: of everything, or of some threads.
    Samples,
    /// What the kernel does for the server.
    Kernel,
    /// Who else has the server's CPUs.
    Others,
    /// Names of the kernel's functions.
    KernelSymbols,
    /// Names of the server's functions.
    // Records of earlier builds had those that a runtime compiles apart.
    #[serde(alias = "jit_symbols")]
    Symbols,
    /// System calls by name, and their time.
    SystemCalls,
    /// What is waited for inside the server's own runtime.
    Runtime,
    /// What TCP counts.
    Tcp,
}

fn is_nothing(sum: &u64) -> bool {
    *sum == 0
}

impl Waiter {
    /// Whether it is a thread, of which nothing is written.
    pub(crate) fn is_thread(&self) -> bool {
        *self == Self::Thread
    }
}

impl Sampled {
    /// Samples in stacks of one owner.
    pub fn samples_of(&self, owner: Owner) -> u64 {
        total(self.stacks.iter().filter(|stack| stack.owner == owner).map(|stack| stack.samples))
    }

    /// Share of the samples that were lost, 0 to 1.
    pub fn lost_share(&self) -> f64 {
        let of = |owner| self.samples_of(owner);
        let kept = [of(Owner::Server), of(Owner::Kernel), self.idle, self.others];
        lost_share(self.lost, total(kept))
    }

    /// Share of the CPU time that was seen, `seen`, for which the server's samples stand. Cycles are counted only while a CPU is at
    /// work, so their samples stand for all of it, but for those that were lost.
    pub fn sampled_share(&self, seen: Nanos) -> f64 {
        match self.clock {
            Clock::Hardware => 1.0 - self.lost_share(),
            Clock::Software => {
                self.samples_of(Owner::Server) as f64 * self.interval_ns.0 as f64 / seen.0.max(1) as f64
            }
        }
    }

    /// The function in which a stack was found; absent where a record names none.
    pub fn innermost(&self, stack: &CallStack) -> Option<&Frame> {
        self.frames.get(*stack.frames.first()? as usize)
    }

    /// Share of the server's samples whose innermost function has a name, 0 to 1; absent without samples.
    pub fn named_share(&self) -> Option<f64> {
        let is_named = |stack: &&CallStack| self.innermost(stack).is_some_and(|frame| frame.symbol.is_some());
        let own = self.stacks.iter().filter(|stack| stack.owner == Owner::Server);
        let named = total(own.filter(is_named).map(|stack| stack.samples));
        let all = self.samples_of(Owner::Server);
        (all > 0).then(|| named as f64 / all as f64)
    }
}

impl Traced {
    /// Share of the events that were lost, 0 to 1. A call that ended is two of them; those of other programs are not counted here, so
    /// the share is too great rather than too small.
    pub fn lost_share(&self) -> f64 {
        let calls: u64 = self.calls.iter().map(|call| call.count).fold(0, u64::saturating_add);
        lost_share(self.lost, calls.saturating_mul(2))
    }
}

/// Share of what was lost of all that there was, 0 to 1; nothing of nothing.
fn lost_share(lost: u64, kept: u64) -> f64 {
    lost as f64 / lost.saturating_add(kept).max(1) as f64
}

impl Profile {
    /// Whether what the kernel does for the server was seen.
    pub fn sees_kernel(&self) -> bool {
        self.refused.iter().all(|refused| refused.what != Facet::Kernel)
    }

    /// Whether it was seen who else had the server's CPUs.
    pub fn sees_others(&self) -> bool {
        self.refused.iter().all(|refused| refused.what != Facet::Others)
    }

    /// The CPU time that the samples divide: all of the server's, or what it spent outside of a kernel that was not seen.
    pub fn seen_cpu_ns(&self) -> Nanos {
        let usage = &self.sampled.usage;
        if self.sees_kernel() { usage.cpu_ns() } else { usage.user_ns }
    }

    /// CPU time for each right answer that a sample of the server stands for, in nanoseconds; absent without samples, answers or
    /// CPU time, as of a server that ended in the slice.
    pub fn ns_of_a_sample(&self) -> Option<f64> {
        let (samples, answers) = (self.sampled.samples_of(Owner::Server), self.sampled.answers);
        let seen = self.seen_cpu_ns().0;
        (samples > 0 && answers > 0 && seen > 0).then(|| seen as f64 / samples as f64 / answers as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_with_a_name_is_of_the_servers_innermost_functions() {
        let frame = |symbol: Option<&str>| Frame {
            symbol: symbol.map(str::to_owned),
            module: None,
            kind: FrameKind::Native,
        };
        let stack =
            |owner, frames: &[u32], samples| CallStack { owner, thread: 0, frames: frames.to_vec(), samples };
        let sampled = Sampled {
            frames: vec![frame(Some("handle")), frame(None)],
            stacks: vec![
                stack(Owner::Server, &[0, 1], 30),
                stack(Owner::Server, &[1, 0], 10),
                stack(Owner::Kernel, &[1], 60),
            ],
            ..Sampled::default()
        };
        assert_eq!(sampled.named_share(), Some(0.75));
        assert_eq!((sampled.samples_of(Owner::Server), sampled.samples_of(Owner::Kernel)), (40, 60));
        assert_eq!(Sampled::default().named_share(), None);
        let beyond = Sampled { stacks: vec![stack(Owner::Server, &[9], 1)], ..Sampled::default() };
        assert_eq!(beyond.named_share(), Some(0.0), "a record may say anything");
    }

    #[test]
    fn what_was_lost_is_a_share_of_all_there_was() {
        let stack = |owner, samples| CallStack { owner, thread: 0, frames: Vec::new(), samples };
        let stacks = vec![stack(Owner::Server, 50), stack(Owner::Kernel, 10)];
        let sampled = Sampled { stacks, idle: 15, others: 5, lost: 20, ..Sampled::default() };
        assert_eq!(sampled.lost_share(), 0.2);
        let of =
            |clock| Sampled { clock, interval_ns: Nanos(3), ..sampled.clone() }.sampled_share(Nanos(300));
        assert_eq!((of(Clock::Hardware), of(Clock::Software)), (0.8, 0.5));
        let call = |count| SystemCall { count, ..SystemCall::default() };
        let traced = Traced { calls: vec![call(40), call(5)], lost: 10, ..Traced::default() };
        assert_eq!(traced.lost_share(), 0.1);
        assert_eq!((Sampled::default().lost_share(), Traced::default().lost_share()), (0.0, 0.0));
        let absurd = Traced { calls: vec![call(u64::MAX), call(1)], lost: u64::MAX, ..Traced::default() };
        assert!((0.0..=1.0).contains(&absurd.lost_share()));
    }
}
