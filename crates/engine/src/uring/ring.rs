//! The submission and completion queues of one thread, and the one system call a loop.

use std::io;

use assay_model::units::Nanos;
use io_uring::types::{SubmitArgs, Timespec};
use io_uring::{IoUring, Probe, opcode, squeue};

use super::obstacle::Obstacle;
use crate::clock;

/// How much may wait, in either direction.
#[derive(Clone, Copy)]
pub(super) struct Queues {
    /// Requests that can wait for the next enter; more are submitted early.
    pub(super) submissions: u32,
    /// Completions that can wait for us; the kernel keeps what exceeds it (`IORING_FEAT_NODROP`), until it is asked for.
    pub(super) completions: u32,
}

impl Queues {
    /// Sizes for all engines but in tests.
    pub(super) const USUAL: Self = Self { submissions: 1024, completions: 16 * 1024 };
}

/// What a connection needs.
const OPERATIONS: [(u8, &str); 8] = [
    (opcode::Accept::CODE, "IORING_OP_ACCEPT"),
    (opcode::Connect::CODE, "IORING_OP_CONNECT"),
    (opcode::Recv::CODE, "IORING_OP_RECV"),
    (opcode::Send::CODE, "IORING_OP_SEND"),
    (opcode::PollAdd::CODE, "IORING_OP_POLL_ADD"),
    (opcode::AsyncCancel::CODE, "IORING_OP_ASYNC_CANCEL"),
    (opcode::Shutdown::CODE, "IORING_OP_SHUTDOWN"),
    (opcode::Close::CODE, "IORING_OP_CLOSE"),
];

/// What the kernel says of a request.
#[derive(Clone, Copy)]
pub(super) struct Completion {
    pub(super) data: u64,
    pub(super) result: i32,
    pub(super) flags: u32,
}

pub(super) struct Ring {
    ring: IoUring,
    /// Enters so far.
    pub(super) enters: u64,
    /// When a call last took requests before the next enter, for want of room.
    submitted_early_at: Option<Nanos>,
}

impl Ring {
    /// A ring for this thread alone, with a table of `files` direct descriptors.
    pub(super) fn new(files: u32, queues: Queues) -> Result<Self, Obstacle> {
        let ring: IoUring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_taskrun_flag()
            .setup_submit_all()
            .setup_cqsize(queues.completions)
            .setup_clamp()
            .build(queues.submissions)
            .map_err(|e| Obstacle::of("io_uring, or rings that run a request's rest in its own thread", e))?;
        check_operations(&ring)?;
        let table = ring.submitter().register_files_sparse(files);
        table.map_err(|e| Obstacle::of("tables of direct descriptors", e))?;
        // Saves the look-up of the ring's descriptor with every enter; without it the ring works all the same.
        let _ = ring.submitter().register_ring_fd();
        Ok(Self { ring, enters: 0, submitted_early_at: None })
    }

    pub(super) fn inner(&mut self) -> &mut IoUring {
        &mut self.ring
    }

    /// Queues a request for the next enter.
    ///
    /// # Safety
    /// Memory that the request points to must stay valid until it has completed; for a request that never waits
    /// (a send with `MSG_DONTWAIT`), until the next [`enter`](Self::enter) has returned.
    pub(super) unsafe fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        // SAFETY: the caller vouches for the memory.
        while unsafe { self.ring.submission().push(entry) }.is_err() {
            self.enters += 1;
            self.submitted_early_at = Some(clock::now());
            self.ring.submit()?;
        }
        Ok(())
    }

    /// When a call last took requests because there was no room for another, if one has since this was asked for last: right before
    /// it, so that it took all that had been queued by then, and nothing that was queued later.
    #[inline]
    pub(super) fn take_submitted_early(&mut self) -> Option<Nanos> {
        self.submitted_early_at.take()
    }

    /// Submits everything, waits for a completion for at most `timeout` (`None`: forever), and appends all
    /// completions there are. Every request that can be done without waiting has then been done, and has said so unless it had
    /// nothing to say: silence is success.
    pub(super) fn enter(
        &mut self,
        timeout: Option<Nanos>,
        completions: &mut Vec<Completion>,
    ) -> io::Result<()> {
        let (mut want, mut timeout) = (1, timeout);
        loop {
            self.enters += 1;
            match self.submit(want, timeout) {
                Err(error) if !is_no_failure(&error) => return Err(error),
                _ => {}
            }
            let arrived = self.ring.completion();
            completions.extend(arrived.map(|c| Completion {
                data: c.user_data(),
                result: c.result(),
                flags: c.flags(),
            }));
            // With its completion queue full the kernel takes no more requests until some are fetched, and keeps further
            // completions to itself until the next enter (io_uring_setup(2), IORING_SQ_CQ_OVERFLOW).
            let submission = self.ring.submission();
            if submission.is_empty() && !submission.cq_overflow() {
                return Ok(());
            }
            (want, timeout) = (0, Some(Nanos::ZERO));
        }
    }

    fn submit(&self, want: usize, timeout: Option<Nanos>) -> io::Result<usize> {
        match timeout {
            None => self.ring.submit_and_wait(want),
            // A timeout of zero is still a timer that is set, slept for and woken by: 15 µs on a virtual CPU. Without one
            // the flag says whether there is work that only an enter for events would do (IORING_SQ_TASKRUN).
            Some(Nanos::ZERO) => self.ring.submitter().submit(),
            Some(span) => {
                let span = Timespec::new().sec(span.0 / 1_000_000_000).nsec((span.0 % 1_000_000_000) as u32);
                self.ring.submitter().submit_with_args(want, &SubmitArgs::new().timespec(&span))
            }
        }
    }
}

/// Asks the kernel which of the operations that no connection can do without it has (IORING_REGISTER_PROBE).
fn check_operations(ring: &IoUring) -> Result<(), Obstacle> {
    let mut probe = Probe::new();
    ring.submitter().register_probe(&mut probe).map_err(|e| Obstacle::of("a list of operations", e))?;
    let missing = OPERATIONS.iter().find(|&&(code, _)| !probe.is_supported(code));
    missing.map_or(Ok(()), |&(_, name)| Err(Obstacle::kernel(name)))
}

/// The time was up, a signal came, or completions want to be fetched first.
fn is_no_failure(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN))
}
