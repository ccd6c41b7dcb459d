//! Events on a set of CPUs: system calls, cycles, instructions (`perf_event_open(2)`).
//!
//! Counted per CPU and not per process, so that the kernel's work for a server, its interrupts included, is in it, and no
//! thread that starts later is missed. Counting on a CPU needs root, `CAP_PERFMON` or a low `perf_event_paranoid`; cycles
//! and instructions need a CPU that shows its counters, which most virtual ones do not. What is missing says why.

use std::io;

use assay_model::usage::Counted;
use perf_event::events::{Event, Hardware, Tracepoint};
use perf_event::{Builder, Counter};

use crate::cpuset::CpuSet;
use crate::tracepoint;

/// The tracepoint that every system call passes.
const SYSTEM_CALL: &str = "raw_syscalls/sys_enter";

/// Counters that run.
#[derive(Debug)]
pub struct Counters {
    system_calls: Result<Vec<Counter>, String>,
    cycles: Result<Vec<Counter>, String>,
    instructions: Result<Vec<Counter>, String>,
}

impl Counters {
    /// Begins to count on the server's `cpus` whatever this machine lets be counted: nothing where none of them is this machine's.
    pub fn start(cpus: &CpuSet) -> Self {
        if cpus.is_empty() {
            let absent = |what: &str| Err(format!("{what}: the server's CPUs are on another host"));
            let [system_calls, cycles, instructions] = ["system calls", "cycles", "instructions"].map(absent);
            return Self { system_calls, cycles, instructions };
        }
        let system_call = tracepoint::number(SYSTEM_CALL).map(Tracepoint::with_id);
        let system_call = system_call.map_err(|why| format!("system calls: {why}"));
        Self {
            system_calls: system_call.and_then(|event| on_each(cpus, event, "system calls")),
            cycles: on_each(cpus, Hardware::CPU_CYCLES, "cycles"),
            instructions: on_each(cpus, Hardware::INSTRUCTIONS, "instructions"),
        }
    }

    /// Whether anything is counted, so that load is of use.
    pub fn count_anything(&self) -> bool {
        [&self.system_calls, &self.cycles, &self.instructions].into_iter().any(Result::is_ok)
    }

    /// Ends the counting; `answers` were given in the meantime.
    pub fn finish(self, answers: u64) -> Counted {
        let mut absent = Vec::new();
        let mut total = |counters: Result<Vec<Counter>, String>| match counters.and_then(sum) {
            Ok(sum) => Some(sum),
            Err(why) => {
                absent.push(why);
                None
            }
        };
        let (system_calls, cycles) = (total(self.system_calls), total(self.cycles));
        let instructions = total(self.instructions);
        Counted { answers, system_calls, cycles, instructions, absent }
    }
}

/// One running counter on each CPU.
fn on_each(cpus: &CpuSet, event: impl Event + Clone, what: &str) -> Result<Vec<Counter>, String> {
    let one = |cpu: u32| -> io::Result<Counter> {
        let mut builder = Builder::new(event.clone());
        let mut counter = builder.any_pid().one_cpu(cpu as usize).include_kernel().include_hv().build()?;
        counter.enable()?;
        Ok(counter)
    };
    cpus.iter().map(one).collect::<io::Result<_>>().map_err(|error| format!("{what}: {}", reason(&error)))
}

/// What `perf_event_open(2)` means by its errors.
pub fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::Unsupported => "this CPU shows no such counter".to_owned(),
        io::ErrorKind::PermissionDenied => {
            "not allowed here: run as root, or set kernel.perf_event_paranoid to 0".to_owned()
        }
        _ => error.to_string(),
    }
}

fn sum(counters: Vec<Counter>) -> Result<u64, String> {
    let counts = counters.into_iter().map(|mut counter| counter.read());
    counts.sum::<io::Result<u64>>().map_err(|error| format!("a counter cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_grows_and_what_is_not_says_why() {
        let counters = Counters::start(&crate::cpuset::allowed());
        for _ in 0..1000 {
            std::hint::black_box(rustix::process::getppid());
        }
        let counted = counters.finish(7);
        assert_eq!(counted.answers, 7);
        let seen = [counted.system_calls, counted.cycles, counted.instructions];
        assert_eq!(seen.iter().flatten().count() + counted.absent.len(), 3, "{counted:?}");
        assert!(counted.system_calls.is_none_or(|calls| calls >= 1000), "{counted:?}");
        assert!(counted.absent.iter().all(|why| why.contains(':')), "{counted:?}");
    }

    #[test]
    fn on_no_cpu_nothing_is_counted_and_that_is_no_zero() {
        let counters = Counters::start(&CpuSet::new());
        assert!(!counters.count_anything());
        let counted = counters.finish(0);
        assert_eq!([counted.system_calls, counted.cycles, counted.instructions], [None; 3]);
        assert_eq!(counted.absent.len(), 3);
        assert!(counted.absent.iter().all(|why| why.ends_with("are on another host")), "{counted:?}");
    }

    #[test]
    fn refusals_are_told_in_words() {
        let told = |code: i32| reason(&io::Error::from_raw_os_error(code));
        assert!(told(2).contains("no such counter") && told(95).contains("no such counter"));
        assert!(told(13).contains("perf_event_paranoid") && told(1).contains("root"));
    }
}
