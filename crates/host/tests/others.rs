//! How much of a server's CPU other programs had: a server that is busy with loopback traffic, and beside it a program that
//! spins for a share of the time which the kernel itself counts.
#![allow(clippy::expect_used, reason = "helpers of tests may fail as tests do")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::UdpSocket;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use assay_host::accounting::interrupts_are_apart;
use assay_host::census::Census;
use assay_host::cpuset::{CpuSet, allowed, pin_current_thread};
use assay_host::sampler::Sampler;
use assay_host::system::SystemSample;
use assay_model::units::Nanos;

/// Set for the process that is the server of these tests.
const ROLE: &str = "ASSAY_TEST_SERVER";
/// CPU time of the spinner after which it is enough: many clock ticks of 10 ms.
const ENOUGH: Nanos = Nanos::from_millis(500);
/// What ticks and the moments between two readings may hide of it.
const TOLERANCE: Nanos = Nanos::from_millis(100);
/// One at a time, or each would be the other's stranger.
static CPU: Mutex<()> = Mutex::new(());
/// Spins for some milliseconds, then leaves the CPU for longer.
const DUTY: &str =
    "echo ready; while :; do i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 0.06; done";
/// Spins without end.
const ALWAYS: &str = "echo ready; while :; do :; done";

/// A process of its own group; killed with it and reaped when dropped.
struct Group(Child);

impl Group {
    /// Starts it on one CPU, and waits for its first line; `None` when it ends without one.
    fn start(command: &mut Command, cpu: u32) -> Option<Self> {
        let command = command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
        // A child inherits the CPUs of the thread that starts it.
        let child = std::thread::scope(|scope| {
            let start = || {
                pin_current_thread(&CpuSet::from_iter([cpu])).expect("an allowed CPU");
                command.spawn().expect("started")
            };
            scope.spawn(start).join().expect("the pinned thread")
        });
        let mut group = Self(child);
        let mut lines = BufReader::new(group.0.stdout.as_mut().expect("piped")).lines();
        lines.any(|line| line.is_ok_and(|line| line.ends_with("ready"))).then_some(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let group = rustix::process::Pid::from_child(&self.0);
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        let _ = self.0.wait();
    }
}

/// The server, in a process of its own: it sends datagrams to itself, whose receiving half is interrupt work, until its
/// standard input ends.
#[test]
fn server() {
    if std::env::var_os(ROLE).is_none() {
        return;
    }
    std::thread::spawn(|| {
        let _ = std::io::stdin().read(&mut [0]);
        std::process::exit(0);
    });
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    socket.connect(socket.local_addr().expect("bound")).expect("itself");
    let _ = std::io::stdout().write_all(b"ready\n");
    let mut datagram = [7; 1024];
    loop {
        socket.send(&datagram).expect("sent");
        socket.recv(&mut datagram).expect("received");
    }
}

/// Lets `spinner` share a server's CPU until it has used [`ENOUGH`] of it by its own account, and asks that others are told to
/// have used at least that. `false` when there is no such spinner here.
fn is_told(spinner: &mut Command) -> bool {
    let _alone = CPU.lock().unwrap_or_else(PoisonError::into_inner);
    let cpu = allowed().iter().last().expect("a CPU");
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    command.args(["--exact", "server", "--nocapture", "--test-threads=1"]).env(ROLE, "1");
    let server = Group::start(&mut command, cpu).expect("the server");
    let Some(spinner) = Group::start(spinner, cpu) else { return false };
    let [own, spinning] = [&server, &spinner].map(|group| Sampler::start(group.0.id()).expect("alive"));
    let (census, before) = (Census::take(), SystemSample::take());
    let used = |sampler: &Sampler| sampler.finish().expect("alive").usage;
    while used(&spinning).cpu_ns() < ENOUGH {
        std::thread::sleep(Duration::from_millis(200));
    }
    let (spun, delta) = (used(&spinning).cpu_ns(), SystemSample::take().since(&before));
    let (cpus, elsewhere, own) = (CpuSet::from_iter([cpu]), CpuSet::new(), used(&own));
    let at_most = census.others(&Census::take(), &cpus, &[server.0.id()]);
    let machine = delta.machine(&cpus, &elsewhere, Some(&own), interrupts_are_apart(), at_most);
    let told = Nanos((machine.server_other_share * delta.wall_ns.0 as f64) as u64);
    assert!(told + TOLERANCE >= spun, "others used {spun:?} at least, told are {told:?}: {machine:?}");
    true
}

#[test]
fn a_spinner_of_equal_priority_is_told_in_full() {
    assert!(is_told(Command::new("sh").args(["-c", ALWAYS])));
}

#[test]
fn a_real_time_spinner_that_has_a_part_of_the_cpu_is_told_in_full() {
    let mut command = Command::new("chrt");
    if !is_told(command.args(["--fifo", "1", "sh", "-c", DUTY]).stderr(Stdio::null())) {
        assay_skip::skip("realtime", "no right to real-time priority here");
    }
}
