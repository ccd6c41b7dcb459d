//! Several processes on one interface, of which any may be killed.

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use assay_model::units::Nanos;
use assay_wire::xdp::{self, Mode, Xdp};
use assay_wire::{End, Wire as _, open};

use super::frames::{self, PATIENCE, SHORTEST};
use super::space::{ip, within};
use super::xdps::{await_free, is_free, no_xdp};

/// Tells the other process what to take, and where to say what came of it.
const WIRE: &str = "ASSAY_TEST_WIRE";
const OUTCOME: &str = "ASSAY_TEST_OUTCOME";

/// The other process: this program again, which runs this alone. It returns every frame.
#[test]
fn as_the_process_that_shares() {
    let (Ok(wire), Ok(outcome)) = (std::env::var(WIRE), std::env::var(OUTCOME)) else { return };
    let opened = open(&wire.parse().expect("a wire"), End::First, 0, 1);
    let told = opened.as_ref().err().map(ToString::to_string).unwrap_or_default();
    // Made whole under another name: the test looks for the file, not for its content.
    let draft = format!("{outcome}.draft");
    std::fs::write(&draft, told).expect("a file");
    std::fs::rename(draft, outcome).expect("renamed");
    let Ok((mut wire, _)) = opened else { return };
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline && wire.wait(Nanos::from_millis(50)).is_ok() {
        while let Some((number, length)) = frames::receive(&mut wire) {
            frames::send_surely(&mut wire, number, length);
        }
        frames::flush(&mut wire);
    }
}

/// A process with a queue, which is killed when this is dropped.
struct Sharer {
    process: Child,
    folder: tempfile::TempDir,
}

impl Sharer {
    fn start(wire: &str) -> Self {
        Self::by(Command::new(std::env::current_exe().expect("this program")), wire)
    }

    /// Without a right that root otherwise has (setpriv(1)).
    fn start_without(right: &str, wire: &str) -> Self {
        let mut command = Command::new("setpriv");
        command.args(["--bounding-set", &format!("-{right}")]).arg(std::env::current_exe().expect("program"));
        Self::by(command, wire)
    }

    fn by(mut command: Command, wire: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        command.args(["--exact", "sharing::as_the_process_that_shares", "--quiet"]);
        command.env(WIRE, wire).env(OUTCOME, folder.path().join("outcome"));
        Self { process: command.spawn().expect("a process"), folder }
    }

    /// What it said when it had its queue, which is nothing, or had none.
    fn outcome(&self) -> String {
        let path = self.folder.path().join("outcome");
        eventually("the other process has tried", || path.exists());
        std::fs::read_to_string(path).expect("a file")
    }
}

impl Drop for Sharer {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A veth pair, `wide` and `broad`, with two queues at each end, which face each other in the driver.
fn two_queues() -> [Xdp; 2] {
    ip("link add wide numtxqueues 2 numrxqueues 2 type veth peer name broad numtxqueues 2 numrxqueues 2");
    for name in ["wide", "broad"] {
        ip(&format!("link set dev {name} addrgenmode none"));
        ip(&format!("link set dev {name} up"));
    }
    [0, 1].map(|queue| xdp::open("broad", queue, Some(Mode::Native)).expect("a queue").0)
}

fn wide(queue: usize) -> String {
    format!("xdp:wide:{queue},mode=native")
}

/// Sends frames with numbers from `first` on until one returns: to a queue that nobody has yet, they are lost.
fn is_answered(wire: &mut Xdp, first: u64) {
    let mut number = first;
    eventually("the other end answers", || {
        frames::send_surely(wire, number, SHORTEST + 100);
        frames::flush(wire);
        wire.wait(Nanos::from_millis(20)).expect("intact");
        number += 1;
        frames::receive(wire).is_some_and(|(number, _)| number >= first)
    });
    while frames::receive(wire).is_some() {}
}

#[test]
fn processes_share_an_interface_and_whoever_is_left_goes_on() {
    within("several processes over AF_XDP", no_xdp, || {
        let mut far = two_queues();
        for first_to_end in [0, 1] {
            // Both at once: whoever attaches, the other joins.
            let mut near = [0, 1].map(|queue| Some(Sharer::start(&wide(queue))));
            for (queue, sharer) in near.iter().flatten().enumerate() {
                assert_eq!(sharer.outcome(), "", "queue {queue}");
                is_answered(&mut far[queue], 1_000);
            }
            near[first_to_end] = None;
            assert!(!is_free("wide"), "the other has it still");
            is_answered(&mut far[1 - first_to_end], 2_000_000);
            // A third takes the place of the first, and outlives the second.
            near[first_to_end] = Some(Sharer::start(&wide(first_to_end)));
            assert_eq!(near[first_to_end].as_ref().map(Sharer::outcome).as_deref(), Some(""));
            near[1 - first_to_end] = None;
            is_answered(&mut far[first_to_end], 3_000_000);
            drop(near);
            await_free("wide");
        }
    });
}

#[test]
fn what_cannot_be_shared_is_told() {
    within("several processes over AF_XDP", no_xdp, || {
        let _far = two_queues();
        let held = xdp::open("wide", 0, Some(Mode::Native)).expect("a queue");
        let taken = Sharer::start(&wide(0));
        let other_mode = Sharer::start("xdp:wide:1,mode=generic");
        let powerless = Sharer::start_without("sys_admin", &wide(1));
        assert!(taken.outcome().contains("take another queue"), "{}", taken.outcome());
        assert!(other_mode.outcome().contains("the same mode"), "{}", other_mode.outcome());
        assert!(powerless.outcome().contains("CAP_SYS_ADMIN"), "{}", powerless.outcome());
        // What these have held for a moment, they hold no more.
        drop(held);
        await_free("wide");
        // Alone, the right is not needed.
        assert_eq!(Sharer::start_without("sys_admin", &wide(1)).outcome(), "");
    });
}
