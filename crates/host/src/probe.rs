//! How fast each CPU is at this moment: a fixed piece of work that has nothing to do with who is measured.
//!
//! A machine that is shared changes its speed by a fifth within seconds: clock rates, neighbours on the same core or cache, a
//! hypervisor. What the generator or the server take for an answer shows that too, but depends on the answer. So right before
//! and right after a window the same system calls, walks through memory and arithmetic are timed on the CPUs that take part.
//!
//! Times are CPU times of the thread (`CLOCK_THREAD_CPUTIME_ID`, clock_gettime(2)): having to wait for a CPU is another fact,
//! and known from elsewhere. Each piece is first done without being timed, so that caches hold the probe's own memory and not
//! the contender's.

use std::hint::black_box;
use std::thread::scope;

use assay_model::speed::{CpuSpeed, SpeedTimes};
use assay_model::units::Nanos;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, recv, send, socketpair};
use rustix::time::{ClockId, clock_gettime};

use crate::cpuset::{CpuSet, pin_current_thread};

/// Bytes that one system call carries from one end of a socket to the other.
const MESSAGE_BYTES: usize = 256;
/// Words of the memory that is walked through: 4 MiB, more than the caches next to a core hold.
const WORDS: usize = 1 << 20;
/// One part in so many of system calls and arithmetic is done before, untimed; of the walk all of it.
const WARM_UP: u32 = 8;

/// How much work there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Messages sent through a local socket and received again, with two system calls each.
    pub messages: u32,
    /// Steps through memory, each to a place that the one before tells.
    pub steps: u32,
    /// Multiplications that each need the result of the one before.
    pub products: u32,
}

impl Default for Work {
    /// A third of a millisecond for each of the three on a processor of 2022: with what is not timed, twice beside each
    /// window, three milliseconds of each CPU.
    fn default() -> Self {
        Self { messages: 150, steps: 5_000, products: 230_000 }
    }
}

/// A probe could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// A system call failed.
    #[error("the probe of the CPUs' speed cannot {what}: {why}")]
    System {
        /// What for.
        what: &'static str,
        /// What the kernel said.
        why: rustix::io::Errno,
    },
    /// A thread could not be where it was to be.
    #[error(transparent)]
    Pin(#[from] crate::cpuset::PinError),
    /// The work was not done as it must be, so its time means nothing.
    #[error(
        "the probe of the CPUs' speed computed {got:#x} instead of {expected:#x}: this CPU, its memory or assay is broken"
    )]
    WrongResult {
        /// What came out.
        got: u64,
        /// What must.
        expected: u64,
    },
}

/// Memory and amounts of the work; made once, because filling the memory takes longer than a probe.
#[derive(Debug)]
pub struct Probe {
    work: Work,
    cpus: CpuSet,
    /// One single ring through all of the words: each holds the number of the next.
    ring: Vec<u32>,
    /// What all three pieces together must compute.
    expected: u64,
}

impl Probe {
    /// A probe of `cpus`.
    pub fn new(cpus: &CpuSet, work: Work) -> Self {
        let ring = ring();
        let expected = u64::from(work.messages) ^ walk(&ring, work.steps) ^ multiply(work.products);
        Self { work, cpus: cpus.clone(), ring, expected }
    }

    /// Times the work on each CPU, on all at the same time, ascending by CPU.
    ///
    /// # Errors
    /// See [`ProbeError`].
    pub fn run(&self) -> Result<Vec<CpuSpeed>, ProbeError> {
        scope(|scope| {
            let on = |cpu| move || Ok(CpuSpeed { cpu, times: self.run_on(cpu)? });
            let threads: Vec<_> = self.cpus.iter().map(|cpu| scope.spawn(on(cpu))).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        })
    }

    fn run_on(&self, cpu: u32) -> Result<SpeedTimes, ProbeError> {
        pin_current_thread(&CpuSet::from_iter([cpu]))?;
        let Work { messages, steps, products } = self.work;
        let (system_calls_ns, sent) = timed(messages, messages / WARM_UP, exchange)?;
        let (memory_ns, walked) = timed(steps, steps, |n| Ok(walk(&self.ring, n)))?;
        let (arithmetic_ns, product) = timed(products, products / WARM_UP, |n| Ok(multiply(n)))?;
        match sent ^ walked ^ product {
            got if got == self.expected => Ok(SpeedTimes { system_calls_ns, memory_ns, arithmetic_ns }),
            got => Err(ProbeError::WrongResult { got, expected: self.expected }),
        }
    }
}

/// The CPU time of `n` steps of a piece of work, after `warm_up` of them, and its result.
fn timed(
    n: u32,
    warm_up: u32,
    piece: impl Fn(u32) -> Result<u64, ProbeError>,
) -> Result<(Nanos, u64), ProbeError> {
    black_box(piece(warm_up)?);
    let before = cpu_time();
    let result = black_box(piece(black_box(n))?);
    Ok((cpu_time() - before, result))
}

/// CPU time of the calling thread.
pub(crate) fn cpu_time() -> Nanos {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Nanos::from_reading(now.tv_sec, now.tv_nsec)
}

/// Sends messages through a local socket and takes them out again; returns how many came whole. Nothing of it leaves the thread, so no
/// other one has to be woken.
fn exchange(messages: u32) -> Result<u64, ProbeError> {
    let failed = |what| move |why| ProbeError::System { what, why };
    let flags = rustix::net::SocketFlags::CLOEXEC;
    let (here, there) = socketpair(AddressFamily::UNIX, SocketType::DGRAM, flags, None)
        .map_err(failed("make a pair of sockets"))?;
    let (message, mut received, mut whole) = ([1; MESSAGE_BYTES], [0; MESSAGE_BYTES], 0);
    for _ in 0..messages {
        send(&here, &message, SendFlags::empty()).map_err(failed("send"))?;
        let (_, n) = recv(&there, &mut received, RecvFlags::empty()).map_err(failed("receive"))?;
        whole += u64::from(n == MESSAGE_BYTES);
    }
    Ok(whole)
}

/// Follows the ring; returns the place where it ends.
fn walk(ring: &[u32], steps: u32) -> u64 {
    let mut at = 0;
    for _ in 0..steps {
        at = ring[at] as usize;
    }
    at as u64
}

/// A ring through all words in an order that no prefetcher foresees (Sattolo 1986).
fn ring() -> Vec<u32> {
    let mut ring: Vec<u32> = (0..WORDS as u32).collect();
    let mut random = 1;
    for i in (1..ring.len()).rev() {
        random = next(random);
        ring.swap(i, (random >> 33) as usize % i);
    }
    ring
}

/// Multiplies, each factor the product before.
fn multiply(n: u32) -> u64 {
    (0..n).fold(1, |product, _| next(product))
}

/// A multiplication that a compiler cannot take several of at once, as it can those of a linear congruential generator.
fn next(x: u64) -> u64 {
    (x ^ (x >> 29)).wrapping_mul(6_364_136_223_846_793_005)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ring_passes_every_word_before_it_comes_back() {
        let ring = ring();
        let steps = std::iter::successors(Some(ring[0]), |at| Some(ring[*at as usize]));
        assert_eq!(steps.take_while(|at| *at != 0).count(), WORDS - 1);
    }

    #[test]
    fn every_cpu_does_all_the_work() {
        let cpus = crate::cpuset::allowed();
        let probe = Probe::new(&cpus, Work { messages: 50, steps: 2_000, products: 20_000 });
        let speeds = probe.run().expect("allowed CPUs");
        assert_eq!(speeds.iter().map(|speed| speed.cpu).collect::<CpuSet>(), cpus);
        for SpeedTimes { system_calls_ns, memory_ns, arithmetic_ns } in speeds.iter().map(|speed| speed.times)
        {
            assert!([system_calls_ns, memory_ns, arithmetic_ns].iter().all(|time| time.0 > 0));
        }
        assert_eq!(crate::cpuset::allowed(), cpus, "only its own threads were pinned");
    }

    #[test]
    fn a_wrong_result_is_an_error_and_no_time() {
        let work = Work { messages: 5, steps: 100, products: 100 };
        let sound = Probe::new(&CpuSet::from_iter(crate::cpuset::allowed().first()), work);
        let broken = Probe { expected: sound.expected ^ 1, ..sound };
        assert!(matches!(broken.run(), Err(ProbeError::WrongResult { .. })));
    }
}
