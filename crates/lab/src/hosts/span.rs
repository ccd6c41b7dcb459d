//! A span of jobs on their own host: what each of them used, and what the machine did beside them, between two questions.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use assay_host::census::Census;
use assay_host::cgroup::{Throttling, throttling};
use assay_host::cpuset::CpuSet;
use assay_host::sampler::Sampler;
use assay_host::system::SystemSample;

use super::message::{ClockUse, Detail, HostUse, JobUse, ThreadUse};

/// How long a census is looked at again before a new one is taken: looking again at some is cheaper and misses what it does not expect.
const CENSUS_AGE: Duration = Duration::from_secs(5);

/// The processes from which all others of a job descend; none where they cannot be seen.
pub(super) type Roots = Vec<u32>;

/// The spans that have begun: of the same jobs one in each detail, because turns lie within a span that holds all of them.
#[derive(Debug, Default)]
pub(super) struct Spans {
    begun: BTreeMap<(Vec<u64>, Detail), Span>,
    latest: Option<(Instant, Census)>,
}

impl Spans {
    /// Begins a span of `jobs`, of which these are the processes; what others use of `cpus` is looked at as well, where these are given.
    pub(super) fn begin(&mut self, jobs: &[u64], roots: &[Roots], detail: Detail, cpus: Option<CpuSet>) {
        let census = (detail == Detail::ByClock || cpus.is_some()).then(|| self.census(roots, detail));
        self.begun.insert((jobs.to_vec(), detail), Span::begin(roots, detail, census, cpus));
    }

    /// What happened since the latest span of `jobs` in that detail began; `None` where none has.
    pub(super) fn end(
        &mut self,
        jobs: &[u64],
        roots: &[Roots],
        detail: Detail,
        with_memory: bool,
    ) -> Option<HostUse> {
        let span = self.begun.get(&(jobs.to_vec(), detail))?;
        let (used, census) = span.end(roots, with_memory);
        self.latest = self.latest.take().zip(census).map(|((taken, _), census)| (taken, census));
        Some(used)
    }

    /// Forgets what has to do with a job that ends.
    pub(super) fn forget(&mut self, job: u64) {
        self.begun.retain(|(jobs, _), _| !jobs.contains(&job));
    }

    /// All processes now. By clock, those that are known from a census of shortly before are not examined again.
    fn census(&mut self, roots: &[Roots], detail: Detail) -> Census {
        let known = self.latest.take().filter(|(taken, _)| taken.elapsed() < CENSUS_AGE);
        let (taken, census) = match known {
            Some((taken, known)) if detail == Detail::ByClock => (taken, known.again(&roots.concat())),
            _ => (Instant::now(), Census::take()),
        };
        self.latest = Some((taken, census.clone()));
        census
    }
}

/// Everything when a span began.
#[derive(Debug)]
struct Span {
    detail: Detail,
    /// The threads of each job, where they are read and can be.
    samplers: Vec<Option<Sampler>>,
    /// All processes by their clocks, where these are read.
    census: Option<Census>,
    /// The CPUs of which the use of others is looked at.
    cpus: Option<CpuSet>,
    quota: Option<Throttling>,
    system: SystemSample,
}

impl Span {
    fn begin(roots: &[Roots], detail: Detail, census: Option<Census>, cpus: Option<CpuSet>) -> Self {
        let quota = first(roots).and_then(throttling);
        let sampler = |roots: &Roots| {
            let is_read = detail == Detail::ByThread && !roots.is_empty();
            is_read.then(|| Sampler::start_all(roots).ok()).flatten()
        };
        // The server's, which come first, as late as can be, so that little else is in them.
        let mut samplers: Vec<Option<Sampler>> = roots.iter().rev().map(sampler).collect();
        samplers.reverse();
        // The machine's span lies within that of the threads, which take long to read.
        Self { detail, samplers, census, cpus, quota, system: look(roots) }
    }

    /// What has happened since then, with the census of now if there was one.
    fn end(&self, roots: &[Roots], with_memory: bool) -> (HostUse, Option<Census>) {
        let system = look(roots).since(&self.system);
        let later = self.census.as_ref().map(|census| match self.detail {
            Detail::ByThread => Census::take(),
            Detail::ByClock => census.again(&roots.concat()),
        });
        let server: &[u32] = roots.first().map_or(&[], Vec::as_slice);
        let others = || self.census.as_ref()?.others(later.as_ref()?, self.cpus.as_ref()?, server);
        let job = |(place, roots): (usize, &Roots)| match self.detail {
            Detail::ByThread => self.by_thread(place, with_memory && place == 0),
            Detail::ByClock => self.by_clock(later.as_ref()?, roots),
        };
        let used = HostUse {
            jobs: roots.iter().enumerate().map(job).collect(),
            others_ns: others(),
            throttled: first(roots).and_then(throttling).map(|quota| quota.since(self.quota)),
            system,
        };
        (used, later)
    }

    fn by_thread(&self, place: usize, with_memory: bool) -> Option<JobUse> {
        let window = self.samplers.get(place)?.as_ref()?.finish().ok()?;
        let window = if with_memory { window.with_memory() } else { window };
        let seen_on = window.seen_on().to_string();
        Some(JobUse::ByThread(Box::new(ThreadUse { usage: window.usage, seen_on })))
    }

    fn by_clock(&self, later: &Census, roots: &Roots) -> Option<JobUse> {
        let before = self.census.as_ref()?;
        let used = before.used(later, roots).filter(|_| !roots.is_empty())?;
        let is_steady = before.spent(later, roots).is_some_and(|spent| spent.cpu_ns.is_some());
        Some(JobUse::ByClock(ClockUse {
            wall_ns: used.wall.into(),
            cpu_ns: used.cpu_ns,
            busiest_ns: used.busiest_ns,
            is_steady,
        }))
    }
}

/// The first process of the first job.
fn first(roots: &[Roots]) -> Option<u32> {
    roots.first()?.first().copied()
}

/// TCP counts by network namespace: that of the first job, which is not ours on a link.
fn look(roots: &[Roots]) -> SystemSample {
    first(roots).map_or_else(SystemSample::take, SystemSample::take_beside)
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use assay_host::cpuset::allowed;
    use assay_model::units::Nanos;
    use assay_model::usage::Usage;

    use super::*;

    /// A child that uses a CPU until the test ends.
    struct Busy(Child);

    impl Busy {
        fn start() -> Self {
            Self(Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("sh"))
        }
    }

    impl Drop for Busy {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn threads(used: &HostUse, place: usize) -> &Usage {
        match &used.jobs[place] {
            Some(JobUse::ByThread(threads)) => &threads.usage,
            other => panic!("no threads were read: {other:?}"),
        }
    }

    fn clocks(used: &HostUse, place: usize) -> ClockUse {
        match used.jobs[place] {
            Some(JobUse::ByClock(clocks)) => clocks,
            ref other => panic!("no clocks were read: {other:?}"),
        }
    }

    #[test]
    fn turns_by_clocks_lie_within_a_span_by_threads() {
        let (busy, beside) = (Busy::start(), Busy::start());
        let (jobs, roots) = ([1, 2], [vec![busy.0.id()], vec![beside.0.id()]]);
        let mut spans = Spans::default();
        let end = |spans: &mut Spans, detail| spans.end(&jobs, &roots, detail, true).expect("it has begun");
        // On a busy machine both may have to wait for a CPU.
        let have_run = |turn: &HostUse| [0, 1].iter().all(|place| clocks(turn, *place).cpu_ns > Nanos::ZERO);
        spans.begin(&jobs, &roots, Detail::ByThread, None);
        let turns = [(); 2].map(|()| {
            spans.begin(&jobs, &roots, Detail::ByClock, Some(allowed()));
            let look = || {
                std::thread::sleep(Duration::from_millis(100));
                end(&mut spans, Detail::ByClock)
            };
            std::iter::repeat_with(look).take(300).find(have_run).expect("both have run")
        });
        let all = end(&mut spans, Detail::ByThread);
        for place in [0, 1] {
            let spent = turns.each_ref().map(|turn| clocks(turn, place));
            assert!(spent.iter().all(|of| of.is_steady), "{spent:?}");
            assert!(spent[0].cpu_ns + spent[1].cpu_ns <= threads(&all, place).cpu_ns(), "{all:?}");
            assert!(spent[0].wall_ns + spent[1].wall_ns <= threads(&all, place).wall_ns, "{all:?}");
        }
        assert!(threads(&all, 0).pss_bytes > Some(0), "{all:?}");
        assert_eq!(threads(&all, 1).pss_bytes, None, "the memory is the server's");
        drop(busy);
        let after = end(&mut spans, Detail::ByThread);
        assert!(after.jobs[0].is_none() && after.jobs[1].is_some(), "one has ended: {after:?}");
        spans.forget(2);
        assert_eq!(spans.end(&jobs, &roots, Detail::ByThread, false), None);
    }

    #[test]
    fn a_machine_is_looked_at_without_any_job() {
        let mut spans = Spans::default();
        assert_eq!(spans.end(&[], &[], Detail::ByClock, false), None);
        spans.begin(&[], &[], Detail::ByClock, Some(allowed()));
        let used = spans.end(&[], &[], Detail::ByClock, false).expect("it has begun");
        assert!(used.jobs.is_empty() && !used.system.cpus.is_empty(), "{used:?}");
        let text = serde_json::to_string(&used).expect("JSON");
        assert_eq!(serde_json::from_str::<HostUse>(&text).expect("itself"), used);
    }
}
