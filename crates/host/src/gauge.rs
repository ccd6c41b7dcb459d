//! How fast CPUs are *while* a server is under load, by a fixed piece of work that takes a hundredth of them.
//!
//! On a shared machine the rate of one server changes by half from one second to the next, while a busy loop of arithmetic keeps its
//! pace: what becomes slower are system calls and memory. A [`Probe`](crate::probe::Probe) beside a window sees some of that; only
//! work that is done in the midst of the window sees all of it (docs/results/gauge.md). So on each CPU a thread sends a few bytes
//! through a TCP connection to itself, every ten milliseconds, and reads how long that took. That is the kernel's path that servers and
//! generators use, too.
//!
//! A reading is the least of a few round trips: the first fills the caches, and one that was interrupted says nothing of the CPU.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle, park_timeout};
use std::time::{Duration, Instant};

use assay_model::cpuset::CpuSet;
use assay_model::speed::Gauged;
use assay_model::units::Nanos;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrAny, SocketFlags, SocketType, accept_with, bind, connect,
    getpeername, getsockname, listen, recv, send, socket_with, sockopt,
};
use rustix::process::setpriority_process;
use rustix::thread::gettid;

use crate::cpuset::pin_current_thread;
use crate::probe::cpu_time;

/// From one reading to the next: a turn of 0.15 s has fifteen.
const INTERVAL: Duration = Duration::from_millis(10);
/// Round trips of one reading.
const ROUND_TRIPS: usize = 4;
/// Bytes of each.
const MESSAGE_BYTES: usize = 100;
/// After how long a reading asks whether it is still wanted.
const PATIENCE: Duration = Duration::from_millis(20);
/// CPUs that are watched at most of server and generator each, evenly spread: more do not show more of a machine's weather.
const MOST_CPUS: usize = 8;
/// The niceness of a thread that is to have its CPU as soon as it wakes (sched(7)); without the right to it the usual one must do.
const SOON: i32 = -20;

/// A connection of this process to itself for each CPU that is watched; made once, because closing them leaves sockets behind.
#[derive(Debug)]
pub struct Gauge {
    server: Vec<Watched>,
    generator: Vec<Watched>,
}

/// One CPU.
#[derive(Clone, Debug)]
struct Watched {
    cpu: u32,
    ends: Arc<[OwnedFd; 2]>,
}

/// Threads that take readings until this is finished or dropped.
#[derive(Debug)]
pub struct Gauging {
    is_over: Arc<AtomicBool>,
    /// Of the server's CPUs, and of the generator's.
    threads: [Vec<JoinHandle<Readings>>; 2],
}

/// What one thread saw.
#[derive(Debug, Default)]
struct Readings {
    /// By interval; absent where its thread came too late for one.
    taken: Vec<Option<Nanos>>,
    /// CPU time that all this took.
    used: Nanos,
}

impl Gauge {
    /// A gauge of the CPUs of server and generator; a CPU that is both is the server's.
    ///
    /// # Errors
    /// What the kernel says where a process may not connect to itself.
    pub fn new(server: &CpuSet, generator: &CpuSet) -> Result<Self, Errno> {
        let watch = |cpus: CpuSet| -> Result<Vec<Watched>, Errno> {
            spread(&cpus).into_iter().map(|cpu| Ok(Watched { cpu, ends: Arc::new(connected()?) })).collect()
        };
        let apart: CpuSet = generator.iter().filter(|cpu| !server.contains(*cpu)).collect();
        Ok(Self { server: watch(server.clone())?, generator: watch(apart)? })
    }

    /// Begins to take readings, the first at once.
    pub fn start(&self) -> Gauging {
        let (is_over, began) = (Arc::new(AtomicBool::new(false)), Instant::now());
        let start = |watched: &Watched| {
            let (watched, is_over) = (watched.clone(), Arc::clone(&is_over));
            Builder::new().name("gauge".to_owned()).spawn(move || watched.read_until(&is_over, began)).ok()
        };
        let threads = [&self.server, &self.generator].map(|cpus| cpus.iter().filter_map(start).collect());
        Gauging { is_over, threads }
    }
}

impl Gauging {
    /// Ends it; `None` where no reading of the server's CPUs could be taken.
    pub fn finish(mut self) -> Option<Gauged> {
        self.end();
        let [server, generator] = std::mem::take(&mut self.threads)
            .map(|threads| threads.into_iter().filter_map(|thread| thread.join().ok()).collect::<Vec<_>>());
        let gauged = Gauged {
            interval_ns: INTERVAL.into(),
            used_ns: server.iter().map(|readings| readings.used).sum(),
            server_ns: means(&server),
            generator_ns: means(&generator),
        };
        gauged.server_ns.iter().any(|ns| ns.0 > 0).then_some(gauged)
    }

    fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.threads.iter().flatten().for_each(|thread| thread.thread().unpark());
    }
}

impl Drop for Gauging {
    fn drop(&mut self) {
        self.end();
    }
}

impl Watched {
    fn read_until(&self, is_over: &AtomicBool, began: Instant) -> Readings {
        let mut readings = Readings::default();
        if pin_current_thread(&CpuSet::from_iter([self.cpu])).is_err() {
            return readings;
        }
        let _ = setpriority_process(Some(gettid()), SOON);
        let before = cpu_time();
        self.drain();
        while !is_over.load(Ordering::Relaxed) {
            let Ok(least) = self.least(is_over) else { break };
            let interval = interval_at(began.elapsed());
            readings.taken.resize(interval, None);
            readings.taken.push(Some(least));
            let next = began + INTERVAL * u32::try_from(interval + 1).unwrap_or(u32::MAX);
            while !is_over.load(Ordering::Relaxed)
                && let Some(rest) = next.checked_duration_since(Instant::now())
                && !rest.is_zero()
            {
                park_timeout(rest);
            }
        }
        readings.used = cpu_time() - before;
        readings
    }

    /// The shortest of some round trips.
    fn least(&self, is_over: &AtomicBool) -> Result<Nanos, Errno> {
        let mut least = Duration::MAX;
        for _ in 0..ROUND_TRIPS {
            let began = Instant::now();
            self.round_trip(is_over)?;
            least = least.min(began.elapsed());
        }
        Ok(least.into())
    }

    /// Sends a message and waits until it has come, which it has at once unless the kernel is behind with its packets.
    fn round_trip(&self, is_over: &AtomicBool) -> Result<(), Errno> {
        let [here, there] = &*self.ends;
        let (mut received, mut missing) = ([0; MESSAGE_BYTES], MESSAGE_BYTES);
        send(here, &[1; MESSAGE_BYTES], SendFlags::NOSIGNAL)?;
        while missing > 0 {
            missing -= match recv(there, &mut received[..missing], RecvFlags::empty()) {
                Ok((0, _)) => return Err(Errno::CONNRESET),
                Ok((read, _)) => read,
                Err(Errno::AGAIN | Errno::INTR) if !is_over.load(Ordering::Relaxed) => 0,
                Err(why) => return Err(why),
            };
        }
        Ok(())
    }

    /// Takes out what a reading that was given up had left.
    fn drain(&self) {
        let mut left = [0; MESSAGE_BYTES];
        while recv(&self.ends[1], &mut left, RecvFlags::DONTWAIT).is_ok_and(|(read, _)| read > 0) {}
    }
}

/// The interval in which a reading belongs that was taken so long after the beginning.
fn interval_at(elapsed: Duration) -> usize {
    usize::try_from(elapsed.as_nanos() / INTERVAL.as_nanos()).unwrap_or(usize::MAX)
}

/// The mean over the CPUs in each interval; 0 where none was read.
fn means(cpus: &[Readings]) -> Vec<Nanos> {
    let longest = cpus.iter().map(|readings| readings.taken.len()).max().unwrap_or(0);
    let mean = |interval: usize| {
        let read = cpus.iter().filter_map(|readings| *readings.taken.get(interval)?);
        let (sum, count) = read.fold((0, 0), |(sum, count), ns| (sum + ns.0, count + 1));
        Nanos(sum / u64::max(count, 1))
    };
    (0..longest).map(mean).collect()
}

/// At most [`MOST_CPUS`] of some CPUs, evenly spread over them.
fn spread(cpus: &CpuSet) -> Vec<u32> {
    let all: Vec<u32> = cpus.iter().collect();
    let most = all.len().min(MOST_CPUS);
    (0..most).map(|i| all[i * all.len() / most]).collect()
}

/// Two ends of a TCP connection over loopback that sends at once.
fn connected() -> Result<[OwnedFd; 2], Errno> {
    let tcp = || socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None);
    let (listener, here) = (tcp()?, tcp()?);
    bind(&listener, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))?;
    listen(&listener, 1)?;
    let address: SocketAddrAny = getsockname(&listener)?;
    connect(&here, &address)?;
    // Whoever else may have come first is not us.
    let own = getsockname(&here)?;
    let there = loop {
        let there = accept_with(&listener, SocketFlags::CLOEXEC)?;
        if getpeername(&there)? == Some(own.clone()) {
            break there;
        }
    };
    sockopt::set_tcp_nodelay(&here, true)?;
    sockopt::set_socket_timeout(&there, sockopt::Timeout::Recv, Some(PATIENCE))?;
    Ok([here, there])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpuset::allowed;

    fn one() -> CpuSet {
        CpuSet::from_iter(allowed().first())
    }

    #[test]
    fn a_cpu_is_read_again_and_again_until_the_end() {
        let gauge = Gauge::new(&one(), &CpuSet::default()).expect("loopback");
        for _ in 0..2 {
            let (gauged, took) = read_for_a_while(&gauge);
            let read = gauged.server_ns.iter().filter(|ns| ns.0 > 0).count();
            assert!((1..=took + 1).contains(&read) && gauged.server_ns.len() <= took + 1, "{gauged:?}");
            assert!(gauged.used_ns > Nanos::ZERO && gauged.generator_ns.is_empty(), "{gauged:?}");
        }
        assert_eq!(allowed().first(), one().first(), "only its own threads were pinned");
    }

    /// What it read in at least six intervals, in how many; longer ones where other programs keep it from its CPU.
    fn read_for_a_while(gauge: &Gauge) -> (Gauged, usize) {
        let read = |intervals: u32| {
            // A busy machine may take its time to start it, and it reads from then on.
            let began = Instant::now();
            let gauging = gauge.start();
            std::thread::sleep(INTERVAL * intervals);
            Some((gauging.finish()?, interval_at(began.elapsed())))
        };
        (0..8).map(|doubled| 6 << doubled).find_map(read).expect("read within 15 s")
    }

    #[test]
    fn what_an_abandoned_reading_left_is_not_read_later() {
        let watched = Watched { cpu: 0, ends: Arc::new(connected().expect("loopback")) };
        send(&watched.ends[0], &[1; 7], SendFlags::NOSIGNAL).expect("sent");
        watched.drain();
        let mut received = [0; MESSAGE_BYTES];
        assert_eq!(recv(&watched.ends[1], &mut received, RecvFlags::DONTWAIT), Err(Errno::AGAIN));
        watched.round_trip(&AtomicBool::new(false)).expect("whole");
        // Nothing comes, and nobody waits for it.
        let is_over = AtomicBool::new(true);
        assert_eq!(recv(&watched.ends[1], &mut received, RecvFlags::empty()), Err(Errno::AGAIN));
        assert!(watched.least(&is_over).is_ok(), "what was sent has come");
    }

    #[test]
    fn a_cpu_of_both_is_the_servers_and_many_are_watched_in_part() {
        let gauge = Gauge::new(&one(), &one()).expect("loopback");
        assert!(gauge.generator.is_empty() && gauge.server.len() == 1);
        assert_eq!(spread(&(0..100).collect()), [0, 12, 25, 37, 50, 62, 75, 87]);
        assert_eq!(spread(&CpuSet::from_iter([3, 5])), [3, 5]);
    }

    #[test]
    fn intervals_have_the_mean_of_the_cpus_that_were_read() {
        let of = |taken: &[u64]| Readings {
            taken: taken.iter().map(|ns| (*ns > 0).then_some(Nanos(*ns))).collect(),
            used: Nanos::ZERO,
        };
        let means = means(&[of(&[10, 0, 30]), of(&[20, 0])]);
        assert_eq!(means, [Nanos(15), Nanos::ZERO, Nanos(30)]);
    }
}
