//! The CPU time of every process over a short span, from one clock per process.
//!
//! The kernel keeps a clock for each process that counts its CPU time in nanoseconds, all threads together, ended ones too
//! (`clock_getcpuclockid(3)`). Reading it is one system call, however many threads there are: [`crate::sampler::Sampler`]
//! reads three files for each thread, which takes a tenth of a second with a few hundred of them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use assay_model::cpuset::CpuSet;
use assay_model::units::Nanos;
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;

use crate::cpuset::of_thread;
use crate::process::{Process, find, ids, same_family, scan, trees};
use crate::snapshot::from_ticks;

/// The inode of the namespace in which every process of the machine has a number (linux/proc_ns.h, PROC_PID_INIT_INO).
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";

/// All processes that can be seen, and the CPU time that each had used.
#[derive(Clone, Debug)]
pub struct Census {
    at: Instant,
    processes: Vec<Process>,
    /// By process id; one that ended meanwhile is missing.
    cpu: BTreeMap<u32, Nanos>,
    /// Processes that have, or had, children.
    parents: BTreeSet<u32>,
}

/// What some processes used between two looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spent {
    /// Length of the span.
    pub wall: Duration,
    /// CPU time of all processes together; absent when one came, ended or waited for another that ended, whose time no clock
    /// shows.
    pub cpu_ns: Option<Nanos>,
}

/// What some processes used between two looks, whoever of them came or ended meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Used {
    /// Length of the span.
    pub wall: Duration,
    /// CPU time of all of them together.
    pub cpu_ns: Nanos,
    /// CPU time of the process that used most, among those that were there all the time.
    pub busiest_ns: Nanos,
}

impl Spent {
    /// Two spans together, one after the other.
    #[must_use]
    pub fn then(self, later: Self) -> Self {
        let cpu_ns = self.cpu_ns.zip(later.cpu_ns).map(|(a, b)| a + b);
        Self { wall: self.wall + later.wall, cpu_ns }
    }
}

impl Census {
    /// Looks at all processes.
    pub fn take() -> Self {
        Self::of(Instant::now(), scan(), BTreeSet::new())
    }

    /// Looks again, soon after: at `roots`, all below them, whoever has children and whoever is new as closely as [`Self::take`], at
    /// everybody else by the clock alone. Beside a database with hundreds of connections close looks at all
    /// take milliseconds of every turn. The child of somebody who had none is missed if it is made and has ended between two looks.
    pub fn again(&self, roots: &[u32]) -> Self {
        let at = Instant::now();
        let ids = ids();
        let known: BTreeMap<u32, &Process> = self.processes.iter().map(|of| (of.pid, of)).collect();
        let mut closely = self.parents.clone();
        closely.extend(self.below(roots).iter().map(|member| member.pid));
        let new: Vec<Process> =
            ids.iter().filter(|pid| !known.contains_key(pid)).filter_map(|pid| find(*pid)).collect();
        closely.extend(new.iter().map(|process| process.parent));
        let again = |pid: &u32| match known.get(pid) {
            Some(of) if !closely.contains(pid) => Some(Process::clone(of)),
            Some(_) => find(*pid),
            None => None,
        };
        let mut processes: Vec<Process> = ids.iter().filter_map(again).chain(new).collect();
        processes.sort_by_key(|process| process.pid);
        Self::of(at, processes, closely)
    }

    fn of(at: Instant, processes: Vec<Process>, mut parents: BTreeSet<u32>) -> Self {
        let cpu = processes.iter().filter_map(|of| Some((of.pid, cpu_time(of.pid)?))).collect();
        parents.extend(processes.iter().map(|of| of.parent));
        Self { at, processes, cpu, parents }
    }

    /// What `roots` and all below them used until `later`; `None` when one of them had ended before.
    pub fn spent(&self, later: &Self, roots: &[u32]) -> Option<Spent> {
        let members = self.below(roots);
        if !roots.iter().all(|root| members.iter().any(|member| member.pid == *root)) {
            return None;
        }
        let used = |member: &Process| Some(*later.cpu.get(&member.pid)? - *self.cpu.get(&member.pid)?);
        let is_steady = same_family(&members, &later.below(roots));
        let cpu_ns = members.iter().map(used).sum::<Option<Nanos>>().filter(|_| is_steady);
        Some(Spent { wall: later.at.saturating_duration_since(self.at), cpu_ns })
    }

    /// What `roots` and all below them used until `later`. What ended meanwhile is told by its parent's account, in clock ticks. `None`
    /// when one of `roots` had ended.
    pub fn used(&self, later: &Self, roots: &[u32]) -> Option<Used> {
        let both = [self, later].map(|census| census.below(roots));
        let is_there = |root: &u32| both.iter().all(|members| members.iter().any(|of| of.pid == *root));
        if !roots.iter().all(is_there) {
            return None;
        }
        let grown = self.grown(later);
        let own = |member: &Process| Some(*later.cpu.get(&member.pid)? - *self.cpu.get(&member.pid)?);
        Some(Used {
            wall: later.at.saturating_duration_since(self.at),
            cpu_ns: both[1].iter().filter_map(|member| grown.get(&member.pid)).copied().sum(),
            busiest_ns: both[0].iter().filter_map(own).max().unwrap_or_default(),
        })
    }

    /// CPU time that others than `roots`, all below them and the caller used until `later`, of those whose main thread may run on
    /// one of `cpus`; wherever they ran, so it is a bound for what they took of these. What ended meanwhile is told by its
    /// parent's account, in clock ticks. `None` where not all processes of the machine can be seen.
    pub fn others(&self, later: &Self, cpus: &CpuSet, roots: &[u32]) -> Option<Nanos> {
        if !sees_all() {
            return None;
        }
        let own: BTreeSet<u32> =
            [self, later].iter().flat_map(|census| census.below(roots)).map(|own| own.pid).collect();
        // A process that has just ended could have run anywhere.
        let may_run = |pid| of_thread(pid).is_none_or(|allowed| !allowed.intersection(cpus).is_empty());
        let is_other = |pid: u32| pid != std::process::id() && !own.contains(&pid);
        // Most have used nothing, and of those nobody needs to be asked where they may run.
        let counts = |(pid, used): &(u32, Nanos)| *used > Nanos::ZERO && is_other(*pid) && may_run(*pid);
        Some(self.grown(later).into_iter().filter(counts).map(|(_, used)| used).sum())
    }

    /// What each process that is there at `later` has used since, with whoever below it has ended: the account of those for whom their
    /// parent has waited, in clock ticks, without what they had used before. Each stands for itself. Of a child for whom nobody waits
    /// (SIGCHLD ignored, sigaction(2)) no account tells anything, and what it had used must not come off somebody else's time.
    fn grown(&self, later: &Self) -> BTreeMap<u32, Nanos> {
        let key = |process: &Process| (process.pid, process.start_ticks);
        let before: BTreeMap<(u32, u64), &Process> = self.processes.iter().map(|of| (key(of), of)).collect();
        let stays: BTreeSet<(u32, u64)> = later.processes.iter().map(key).collect();
        let parents: BTreeMap<u32, &Process> = self.processes.iter().map(|of| (of.pid, of)).collect();
        let mut known = BTreeMap::<u32, Nanos>::new();
        for gone in self.processes.iter().filter(|process| !stays.contains(&key(process))) {
            // Parents read at different moments may seem to form a ring.
            let above = std::iter::successors(Some(gone), |of| parents.get(&of.parent).copied());
            if let Some(heir) = above.take(parents.len()).find(|of| stays.contains(&key(of))) {
                *known.entry(heir.pid).or_default() += self.own(gone) + reaped(gone);
            }
        }
        let used = |process: &Process| {
            let Some(before) = before.get(&key(process)) else {
                return later.own(process) + reaped(process);
            };
            let inherited = reaped(process) - reaped(before);
            let told_before = known.get(&process.pid).copied().unwrap_or_default();
            (later.own(process) - self.own(before)) + (inherited - told_before)
        };
        later.processes.iter().map(|process| (process.pid, used(process))).collect()
    }

    /// CPU time of a process that was there; 0 where it ended before its clock was read.
    fn own(&self, process: &Process) -> Nanos {
        self.cpu.get(&process.pid).copied().unwrap_or_default()
    }

    fn below(&self, roots: &[u32]) -> Vec<Process> {
        trees(&self.processes, roots)
    }
}

/// CPU time of its children that ended and were waited for.
fn reaped(process: &Process) -> Nanos {
    from_ticks(process.reaped_ticks.iter().sum())
}

/// Whether every process of the machine can be seen: not from inside a container, nor where others' are hidden (proc(5), hidepid).
fn sees_all() -> bool {
    let namespace = std::fs::read_link("/proc/self/ns/pid");
    let is_first = namespace.is_ok_and(|name| name.as_os_str() == FIRST_PID_NAMESPACE);
    is_first && std::fs::read("/proc/1/stat").is_ok()
}

/// CPU time of a process since its start; `None` when it has ended.
fn cpu_time(pid: u32) -> Option<Nanos> {
    let clock = ClockId::pid_cpu_clock_id(Pid::from_raw(i32::try_from(pid).ok()?)).ok()?;
    let now = clock_gettime(clock).ok()?;
    let whole = u64::try_from(now.tv_sec()).ok()?.checked_mul(1_000_000_000)?;
    Some(Nanos(whole + u64::try_from(now.tv_nsec()).ok()?))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Child, Command, Stdio};

    use super::*;
    use crate::sampler::Sampler;

    /// A child that the test ends.
    struct Busy(Child);

    impl Busy {
        fn start(script: &str) -> Self {
            let mut shell = Command::new("sh");
            Self(shell.args(["-c", script]).stdin(Stdio::piped()).spawn().expect("sh"))
        }
    }

    impl Drop for Busy {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn spent(before: &Census, after: &Census, of: &Busy) -> Nanos {
        before.spent(after, &[of.0.id()]).expect("alive").cpu_ns.expect("steady")
    }

    /// A look at a time when each of them has run since `before`: on a busy machine they may have to wait for a CPU.
    fn after_running(before: &Census, all: &[&Busy]) -> Census {
        let look = || {
            std::thread::sleep(Duration::from_millis(300));
            Census::take()
        };
        let have_run = |after: &Census| all.iter().all(|busy| spent(before, after, busy) > Nanos::ZERO);
        std::iter::repeat_with(look).take(100).find(have_run).expect("all have run")
    }

    #[test]
    fn clocks_show_what_a_sampler_counts() {
        let child = Busy::start("while :; do :; done");
        let roots = [child.0.id()];
        let (sampler, before) = (Sampler::start_all(&roots).expect("sampler"), Census::take());
        let (after, window) = (after_running(&before, &[&child]), sampler.finish().expect("window"));
        let spent = before.spent(&after, &roots).expect("alive");
        let (cpu, counted) = (spent.cpu_ns.expect("steady"), window.usage.cpu_ns());
        assert!(cpu > Nanos::ZERO && spent.wall >= Duration::from_millis(300));
        assert!(cpu <= counted, "{cpu:?} in a span within that of {counted:?}");
    }

    #[test]
    fn a_second_look_knows_whoever_came_and_whoever_went() {
        let mut leaving = Busy::start("while :; do :; done");
        let mut child = Busy::start("exec 3<&0; read line; sh -c 'read other' <&3 & wait");
        let root = [child.0.id()];
        let before = Census::take();
        let ids = |census: &Census| -> Vec<u32> { census.processes.iter().map(|of| of.pid).collect() };
        assert!(ids(&before.again(&[])).contains(&leaving.0.id()));
        leaving.0.kill().expect("killed");
        leaving.0.wait().expect("reaped");
        child.0.stdin.as_mut().expect("piped").write_all(b"\n").expect("written");
        while Census::take().below(&root).len() < 2 {
            std::thread::yield_now();
        }
        for after in [before.again(&[]), before.again(&root)] {
            assert!(!ids(&after).contains(&leaving.0.id()));
            assert_eq!(after.below(&root).len(), 2, "a child came, of somebody who had none");
            assert_eq!(before.spent(&after, &root).expect("alive").cpu_ns, None);
            let grandchild = after.below(&root).into_iter().find(|of| of.pid != root[0]).expect("there");
            assert!(after.parents.contains(&root[0]) && after.cpu.contains_key(&grandchild.pid));
        }
    }

    #[test]
    fn a_second_look_shows_what_a_close_one_does() {
        let (child, other) = (Busy::start("while :; do :; done"), Busy::start("while :; do :; done"));
        let roots = [child.0.id()];
        let before = Census::take().again(&roots);
        after_running(&before, &[&child, &other]);
        let (cursory, close) = (before.again(&roots), Census::take());
        let spent = |after: &Census| before.spent(after, &roots).expect("alive").cpu_ns.expect("steady");
        assert!(spent(&cursory) > Nanos::ZERO && spent(&cursory) <= spent(&close));
        let used = |after: &Census| before.used(after, &[other.0.id()]).expect("alive").cpu_ns;
        assert!(used(&cursory) > Nanos::ZERO && used(&cursory) <= used(&close));
    }

    #[test]
    fn a_family_that_changes_has_no_sum() {
        // The grandchild reads from what the test holds, and ends with it.
        let mut child = Busy::start("exec 3<&0; read line; sh -c 'read other' <&3 & wait");
        let roots = [child.0.id()];
        let before = Census::take();
        let since = || before.spent(&Census::take(), &roots).expect("alive").cpu_ns;
        assert!(since().is_some());
        child.0.stdin.as_mut().expect("piped").write_all(b"\n").expect("written");
        while Census::take().below(&roots).len() < 2 {
            std::thread::yield_now();
        }
        assert_eq!(since(), None, "a child came");
        drop(child.0.stdin.take());
        child.0.wait().expect("ended");
        let now = Census::take();
        assert!(now.spent(&now, &roots).is_none());
    }

    #[test]
    fn a_family_that_changes_has_used_what_it_has() {
        let script =
            "read line; sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done'; echo done; read other";
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = Busy(shell.spawn().expect("sh"));
        let roots = [child.0.id()];
        let before = Census::take();
        child.0.stdin.as_mut().expect("piped").write_all(b"\n").expect("written");
        let mut told = String::new();
        let mut lines = std::io::BufReader::new(child.0.stdout.take().expect("piped"));
        std::io::BufRead::read_line(&mut lines, &mut told).expect("told");
        let after = Census::take();
        assert_eq!(before.spent(&after, &roots).expect("alive").cpu_ns, None, "a child came and ended");
        let used = before.used(&after, &roots).expect("alive");
        let reaped = crate::process::find(roots[0]).expect("alive").reaped_ticks.iter().sum();
        assert!(from_ticks(reaped) > Nanos::ZERO && used.cpu_ns >= from_ticks(reaped), "{used:?}");
        assert!(used.busiest_ns < used.cpu_ns && used.wall > Duration::ZERO, "{used:?}");
        drop(child);
        assert_eq!(before.used(&Census::take(), &roots), None);
    }

    #[test]
    fn others_are_all_but_those_named_and_the_caller() {
        if !sees_all() {
            return assay_skip::skip("processes", "not all processes of the machine can be seen here");
        }
        let cpus = crate::cpuset::allowed();
        let (other, own) = (Busy::start("while :; do :; done"), Busy::start("while :; do :; done"));
        let before = Census::take();
        let after = after_running(&before, &[&other, &own]);
        let used = |of: &Busy| spent(&before, &after, of);
        let without = |roots: &[u32]| before.others(&after, &cpus, roots).expect("all are seen");
        assert!(without(&[own.0.id()]) >= used(&other));
        let both = [own.0.id(), other.0.id()];
        assert!(without(&both) + used(&other) <= without(&[own.0.id()]), "the other is no longer among them");
    }

    /// A census of processes of (id, parent, CPU milliseconds, reaped clock ticks).
    fn census<const N: usize>(processes: [(u32, u32, u64, u64); N]) -> Census {
        let process = |(pid, parent, _, reaped): (u32, u32, u64, u64)| Process {
            pid,
            parent,
            group: pid,
            session: pid,
            start_ticks: u64::from(pid),
            zombie: false,
            name: String::new(),
            reaped_ticks: [reaped, 0],
        };
        let cpu = processes.iter().map(|(pid, _, cpu, _)| (*pid, Nanos(cpu * 1_000_000))).collect();
        Census { at: Instant::now(), processes: processes.map(process).into(), cpu, parents: BTreeSet::new() }
    }

    fn grown<const N: usize>(before: &Census, later: &Census, pids: [u32; N]) -> [u64; N] {
        let grown = before.grown(later);
        pids.map(|pid| grown[&pid].0 / 1_000_000)
    }

    #[test]
    fn who_ends_unseen_takes_nothing_off_the_time_of_others() {
        let before = census([(1, 0, 500, 0), (7, 1, 100, 0), (8, 7, 3_000, 0), (9, 1, 20, 0)]);
        let later = census([(1, 0, 500, 0), (7, 1, 101, 0), (9, 1, 320, 0)]);
        assert_eq!(grown(&before, &later, [1, 7, 9]), [0, 1, 300], "nobody waited for 8");
        let replaced = census([(1, 0, 500, 0), (7, 1, 100, 0), (9, 1, 20, 0), (10, 1, 5, 2)]);
        assert_eq!(grown(&before, &replaced, [1, 10]), [0, 5 + ticks_ms(2)], "10 is new, with all it has");
    }

    #[test]
    fn who_ends_with_its_children_is_counted_from_then_on() {
        let before = census([(1, 0, 0, 0), (7, 1, 100, 3), (8, 7, 1_000, 0), (9, 8, 2_000, 5)]);
        // 9 had used 20 ms more when 8 waited for it, and 8 nothing.
        let told = ms_ticks(1_000 + 2_000 + 20) + 5 + 3;
        let later = census([(1, 0, 0, 0), (7, 1, 110, told)]);
        assert_eq!(grown(&before, &later, [1, 7]), [0, 10 + 20]);
        let later = census([(1, 0, 0, told - 3 + ms_ticks(100) + 3)]);
        assert_eq!(grown(&before, &later, [1]), [20], "7 ended as well");
    }

    fn ticks_ms(ticks: u64) -> u64 {
        from_ticks(ticks).0 / 1_000_000
    }

    fn ms_ticks(ms: u64) -> u64 {
        ms / ticks_ms(1)
    }

    #[test]
    fn who_ends_meanwhile_is_counted_with_its_parent() {
        if !sees_all() {
            return assay_skip::skip("processes", "not all processes of the machine can be seen here");
        }
        let script =
            "read line; sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done'; echo done; read other";
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = Busy(shell.spawn().expect("sh"));
        let before = Census::take();
        child.0.stdin.as_mut().expect("piped").write_all(b"\n").expect("written");
        let mut told = String::new();
        let mut lines = std::io::BufReader::new(child.0.stdout.take().expect("piped"));
        std::io::BufRead::read_line(&mut lines, &mut told).expect("told");
        let others = before.others(&Census::take(), &crate::cpuset::allowed(), &[]).expect("all are seen");
        let reaped = crate::process::find(child.0.id()).expect("alive").reaped_ticks.iter().sum();
        assert!(from_ticks(reaped) > Nanos::ZERO && others >= from_ticks(reaped), "{others:?}");
    }
}
