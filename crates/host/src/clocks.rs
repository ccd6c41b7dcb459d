//! CPU time of a tree of processes over a short span, read from one clock per process.
//!
//! The kernel keeps a clock for each process that counts its CPU time in nanoseconds, all threads together, ended ones too
//! (`clock_getcpuclockid(3)`). Reading it is one system call, however many threads there are: [`crate::snapshot::Sampler`]
//! reads three files for each thread, which takes a tenth of a second with a few hundred of them.

use std::time::{Duration, Instant};

use assay_model::units::Nanos;
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;

use crate::process::{Process, same_family, scan_trees};

/// The clocks of some processes and all below them, at the begin of a span.
#[derive(Clone, Debug)]
pub struct Clocks {
    roots: Vec<u32>,
    at: Instant,
    before: Vec<(Process, Nanos)>,
}

/// What they showed at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spent {
    /// Length of the span.
    pub wall: Duration,
    /// CPU time of all processes together; absent when one came, ended or waited for another that ended, whose time no clock
    /// shows.
    pub cpu_ns: Option<Nanos>,
}

impl Spent {
    /// Both together, one after the other.
    #[must_use]
    pub fn then(self, later: Self) -> Self {
        let cpu_ns = self.cpu_ns.zip(later.cpu_ns).map(|(a, b)| a + b);
        Self { wall: self.wall + later.wall, cpu_ns }
    }
}

impl Clocks {
    /// Reads the clocks of `roots` and of all below them; `None` when one of them has ended.
    pub fn start(roots: &[u32]) -> Option<Self> {
        let members = scan_trees(roots);
        let is_there = |root: &u32| members.iter().any(|member| member.pid == *root);
        if !roots.iter().all(is_there) {
            return None;
        }
        let at = Instant::now();
        let before = members.into_iter().map(|member| Some((cpu_time(member.pid)?, member)));
        let before = before.map(|read| read.map(|(cpu, member)| (member, cpu))).collect::<Option<_>>()?;
        Some(Self { roots: roots.to_vec(), at, before })
    }

    /// What was used since.
    pub fn finish(&self) -> Spent {
        let after: Option<Vec<Nanos>> = self.before.iter().map(|(member, _)| cpu_time(member.pid)).collect();
        let wall = self.at.elapsed();
        let known: Vec<Process> = self.before.iter().map(|(member, _)| member.clone()).collect();
        let is_steady = same_family(&known, &scan_trees(&self.roots));
        let used = |after: Vec<Nanos>| {
            let each = self.before.iter().zip(after).map(|((_, before), after)| after - *before);
            Nanos(each.map(|used| used.0).sum())
        };
        Spent { wall, cpu_ns: after.filter(|_| is_steady).map(used) }
    }
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
    use crate::snapshot::Sampler;

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

    #[test]
    fn clocks_show_what_a_sampler_counts() {
        let child = Busy::start("while :; do :; done");
        let roots = [child.0.id()];
        let (sampler, clocks) =
            (Sampler::start_all(&roots).expect("sampler"), Clocks::start(&roots).expect("clocks"));
        std::thread::sleep(Duration::from_millis(300));
        let (spent, window) = (clocks.finish(), sampler.finish().expect("window"));
        let (cpu, counted) = (spent.cpu_ns.expect("steady"), window.usage.cpu_ns());
        assert!(cpu > Nanos::ZERO && spent.wall >= Duration::from_millis(300));
        assert!(cpu <= counted, "{cpu:?} in a span within that of {counted:?}");
        let outside = window.usage.wall_ns - Nanos::from(spent.wall);
        assert!(counted <= cpu + outside, "{counted:?} and {cpu:?} differ by more than {outside:?}");
    }

    #[test]
    fn a_family_that_changes_has_no_sum() {
        // The grandchild reads from what the test holds, and ends with it.
        let mut child = Busy::start("exec 3<&0; read line; sh -c 'read other' <&3 & wait");
        let clocks = Clocks::start(&[child.0.id()]).expect("clocks");
        assert!(clocks.finish().cpu_ns.is_some());
        child.0.stdin.as_mut().expect("piped").write_all(b"\n").expect("written");
        while scan_trees(&[child.0.id()]).len() < 2 {
            std::thread::yield_now();
        }
        assert_eq!(clocks.finish().cpu_ns, None, "a child came");
        drop(child.0.stdin.take());
        child.0.wait().expect("ended");
        assert!(Clocks::start(&[child.0.id()]).is_none());
    }
}
