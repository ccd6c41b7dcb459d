//! DPDK: two processes that share memory (memif), each with an environment of its own.

use std::path::Path;
use std::process::{Child, Command};
use std::time::Instant;

use assay_model::units::Nanos;
use assay_wire::{AnyWire, End, Spec, Wire, open};

use super::frames::{self, PATIENCE, SHORTEST};

/// Tells the other process where the socket is by which the two find each other.
const SOCKET: &str = "ASSAY_TEST_MEMIF";
const FRAMES: u64 = 100_000;
/// What the last frame has for a number.
const FAREWELL: u64 = u64::MAX;

/// One end; without huge pages, files, cards, or more than one CPU.
fn end(role: &str, socket: &Path) -> AnyWire {
    open(&spec(role, socket), End::First, 0, 1).expect("DPDK").0
}

fn spec(role: &str, socket: &Path) -> Spec {
    let socket = socket.display();
    let text = format!(
        "dpdk:--no-huge --no-shconf --no-pci --no-telemetry -m 64 -l 0 \
         --vdev=net_memif0,role={role},socket={socket},socket-abstract=no,seed=0"
    );
    text.parse().expect("a wire")
}

/// The other process: this program again, which runs this alone. It returns every frame.
#[test]
fn as_the_other_process() {
    let Some(socket) = std::env::var_os(SOCKET) else { return };
    let mut wire = end("client", Path::new(&socket));
    loop {
        let (number, length) = frames::receive_surely(&mut wire);
        frames::send_surely(&mut wire, number, length);
        if number == FAREWELL {
            break frames::flush(&mut wire);
        }
    }
}

/// A process that is killed if it outlives its test.
struct Peer(Child);

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn two_processes_exchange_frames_in_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("memif");
    let mut wire = end("server", &socket);
    let error = open(&spec("server", &socket), End::First, 0, 1).expect_err("taken").to_string();
    assert!(error.contains("another thread has it"), "{error}");
    let error = open(&spec("client", &socket), End::First, 0, 1).expect_err("begun").to_string();
    assert!(error.contains("other arguments"), "{error}");
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "dpdks::as_the_other_process", "--quiet"]);
    let mut peer = Peer(command.env(SOCKET, &socket).spawn().expect("a process"));
    // As long as the other is not there, frames wait.
    frames::send_surely(&mut wire, 0, SHORTEST);
    frames::flush(&mut wire);
    assert_eq!(frames::receive_surely(&mut wire), (0, SHORTEST));

    let length = |number: u64| SHORTEST + (number % 1400) as usize;
    let (mut sent, mut returned) = (0, 0);
    let deadline = Instant::now() + PATIENCE;
    while returned < FRAMES {
        while sent < FRAMES && sent - returned < 500 && frames::send(&mut wire, sent, length(sent)) {
            sent += 1;
        }
        wire.wait(Nanos::from_millis(10)).expect("intact");
        while let Some(found) = frames::receive(&mut wire) {
            assert_eq!(found, (returned, length(returned)));
            returned += 1;
        }
        assert!(Instant::now() < deadline, "{returned} of {sent} have come back");
    }
    frames::send_surely(&mut wire, FAREWELL, SHORTEST);
    frames::flush(&mut wire);
    assert!(peer.0.wait().expect("ends").success());
    while wire.wait(Nanos::from_millis(10)).is_ok() {
        assert!(Instant::now() < deadline, "the end was not noticed");
    }
    let counted = wire.statistics();
    assert_eq!((counted.sent_frames, counted.dropped_frames), (FRAMES + 2, 0));
}
