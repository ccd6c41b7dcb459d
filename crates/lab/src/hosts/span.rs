//! A span of a job on its own host: what the job used, and what the machine did beside it, between two questions.

use assay_host::accounting::interrupts_are_apart;
use assay_host::census::Census;
use assay_host::cpuset::CpuSet;
use assay_host::sampler::Sampler;
use assay_host::snapshot::Gone;
use assay_host::system::SystemSample;
use assay_model::usage::Usage;

use super::message::{Detail, Observed};

/// Everything when the span began.
#[derive(Debug)]
pub(super) struct Span {
    /// The job's threads, where they are read.
    sampler: Option<Sampler>,
    /// All processes by their clocks.
    census: Census,
    system: SystemSample,
}

impl Span {
    /// Begins a span of the job whose first process is `pid`. By clock, processes that are known from the span `before` are not examined
    /// again.
    pub(super) fn begin(pid: u32, detail: Detail, before: Option<&Self>) -> Result<Self, Gone> {
        let sampler = match detail {
            Detail::ByThread => Some(Sampler::start(pid)?),
            Detail::ByClock => None,
        };
        let census = match before.filter(|before| before.sampler.is_none()) {
            Some(before) if sampler.is_none() => before.census.again(&[pid]),
            _ => Census::take(),
        };
        // The machine's span lies within that of the threads, which take long to read.
        Ok(Self { sampler, census, system: SystemSample::take_beside(pid) })
    }

    /// What the job has used since then, if its threads are read, with its memory if that is asked for; and what the machine did, of
    /// whose CPUs the job has `cpus`.
    pub(super) fn end(
        &self,
        pid: u32,
        cpus: &CpuSet,
        with_memory: bool,
    ) -> Result<(Option<Usage>, Observed), Gone> {
        let delta = SystemSample::take_beside(pid).since(&self.system);
        let later = if self.sampler.is_some() { Census::take() } else { self.census.again(&[pid]) };
        let window = self.sampler.as_ref().map(Sampler::finish).transpose()?;
        let window = window.map(|window| if with_memory { window.with_memory() } else { window });
        let spent = self.census.spent(&later, &[pid]);
        let spent_ns = spent.and_then(|spent| spent.cpu_ns);
        let used = spent_ns.map(|user_ns| Usage { user_ns, ..Usage::default() });
        let others = self.census.others(&later, cpus, &[pid]);
        let machine = delta.machine(cpus, &CpuSet::new(), used.as_ref(), interrupts_are_apart(), others);
        let wall_ns = spent.map_or(delta.wall_ns, |spent| spent.wall.into());
        Ok((window.map(|window| window.usage), Observed { wall_ns, spent_ns, machine }))
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};
    use std::time::Duration;

    use assay_host::cpuset::allowed;
    use assay_model::units::Nanos;

    use super::*;

    /// A child that uses a CPU until the test ends.
    struct Busy(Child);

    impl Drop for Busy {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn a_turn_by_clocks_lies_within_a_span_by_threads() {
        let busy = Busy(Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("sh"));
        let pid = busy.0.id();
        let all = Span::begin(pid, Detail::ByThread, None).expect("alive");
        let mut turns = Vec::new();
        let mut before: Option<Span> = None;
        for _ in 0..2 {
            let turn = Span::begin(pid, Detail::ByClock, before.as_ref()).expect("alive");
            std::thread::sleep(Duration::from_millis(100));
            turns.push(turn.end(pid, &allowed(), true).expect("alive"));
            before = Some(turn);
        }
        let (usage, machine) = all.end(pid, &allowed(), true).expect("alive");
        let usage = usage.expect("threads are read");
        assert!(usage.cpu_ns() > Nanos::ZERO && usage.pss_bytes > Some(0), "{usage:?}");
        for (of_turn, turn) in &turns {
            assert!(of_turn.is_none() && turn.spent_ns > Some(Nanos::ZERO), "{turn:?}");
        }
        assert!(turns[0].1.wall_ns + turns[1].1.wall_ns <= machine.wall_ns, "{machine:?}");
        let without = all.end(pid, &allowed(), false).expect("alive").0.expect("threads are read");
        assert_eq!(without.pss_bytes, None);
        drop(busy);
        assert!(all.end(pid, &allowed(), false).is_err(), "it has ended");
    }
}
