//! What a wire carries: frames a second in one direction, and the round trip of a single frame. Each end is a thread pinned
//! to a CPU of its own.
//!
//! ```text
//! frames                                              a ring between two threads
//! frames ring:/dev/shm/a ring:/dev/shm/a              the same by its name
//! frames xdp:left,mode=native xdp:right,mode=native   AF_XDP, where there is such a veth pair: run as root within
//!     unshare -n sh -c 'ip link add left type veth peer name right; ip link set left up; ip link set right up; frames …'
//! ```
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

use std::error::Error;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use assay_model::units::Nanos;
use assay_wire::{End, Receiver as _, Sender as _, Wire, open, ring};
use rustix::thread::{CpuSet, sched_setaffinity};

/// What frames have, without the checksum that a card would add (IEEE 802.3).
const FRAME_BYTES: usize = 64;
/// For local experiments (IEEE 802, table of EtherTypes); a kernel's own frames are not counted.
const ETHERTYPE: [u8; 2] = [0x88, 0xb5];
/// How long each of the two is measured.
const SPAN: Duration = Duration::from_secs(2);
/// Looked at between two looks at the clock.
const BATCH: u64 = 1000;

fn main() -> ExitCode {
    match measure() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn measure() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [] => {
            let (first, second) = ring::pair()?;
            tell("ring::pair", first, second)
        }
        [one, other] => {
            let (first, _) = open(&one.parse()?, End::First, 0, 1)?;
            let (second, _) = open(&other.parse()?, End::Second, 0, 1)?;
            tell(one, first, second)
        }
        _ => Err("give no wire, or one for each end".into()),
    }
}

fn tell<W: Wire + Send>(name: &str, mut first: W, mut second: W) -> Result<(), Box<dyn Error>> {
    let round_trip_ns = together(|over| echo(&mut first, over), || round_trip_ns(&mut second))?;
    let frames_per_second = together(|over| send(&mut first, over), || frames_per_second(&mut second))?;
    let million = frames_per_second / 1e6;
    println!("{name}: {million:.2} M frames/s of {FRAME_BYTES} bytes, a round trip in {round_trip_ns:.0} ns");
    println!("  {:?}\n  {:?}", first.statistics(), second.statistics());
    Ok(())
}

/// Runs `beside` on one CPU until `measure` has come to its end on another.
fn together<T>(
    beside: impl FnOnce(&AtomicBool) -> std::io::Result<()> + Send,
    measure: impl FnOnce() -> std::io::Result<T>,
) -> std::io::Result<T> {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            pin(0);
            beside(&over)
        });
        pin(1);
        let result = measure();
        over.store(true, Ordering::Relaxed);
        match other.join() {
            Ok(done) => done.and(result),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

fn send<W: Wire>(wire: &mut W, over: &AtomicBool) -> std::io::Result<()> {
    while !over.load(Ordering::Relaxed) {
        let sent = (0..BATCH).take_while(|_| send_one(wire)).count();
        wire.split().1.flush();
        if sent == 0 {
            wire.wait(Nanos::from_millis(1))?;
        }
    }
    Ok(())
}

fn frames_per_second<W: Wire>(wire: &mut W) -> std::io::Result<f64> {
    let start = Instant::now();
    let mut frames = 0_u64;
    while start.elapsed() < SPAN {
        for _ in 0..BATCH {
            if take(wire) {
                frames += 1;
            } else {
                wire.wait(Nanos::from_millis(1))?;
            }
        }
    }
    let rate = frames as f64 / start.elapsed().as_secs_f64();
    // The sender may be waiting for room.
    while take(wire) {}
    Ok(rate)
}

fn echo<W: Wire>(wire: &mut W, over: &AtomicBool) -> std::io::Result<()> {
    while !over.load(Ordering::Relaxed) {
        if take(wire) {
            send_one(wire);
            wire.split().1.flush();
        }
        wire.wait(Nanos::ZERO)?;
    }
    Ok(())
}

fn round_trip_ns<W: Wire>(wire: &mut W) -> std::io::Result<f64> {
    let start = Instant::now();
    let mut trips = 0_u64;
    let mut last = start;
    send_one(wire);
    wire.split().1.flush();
    while last - start < SPAN {
        if take(wire) {
            trips += 1;
            send_one(wire);
            wire.split().1.flush();
        }
        wire.wait(Nanos::ZERO)?;
        last = Instant::now();
    }
    Ok((last - start).as_nanos() as f64 / trips as f64)
}

fn send_one<W: Wire>(wire: &mut W) -> bool {
    let (_, sender) = wire.split();
    sender.room() && {
        sender.send(FRAME_BYTES, |frame| {
            frame.fill(0x02);
            frame[12..14].copy_from_slice(&ETHERTYPE);
        });
        true
    }
}

/// Whether one of our frames was there.
fn take<W: Wire>(wire: &mut W) -> bool {
    let (receiver, _) = wire.split();
    let Some(frame) = receiver.peek() else { return false };
    let ours = frame.get(12..14) == Some(&ETHERTYPE);
    receiver.release();
    ours
}

/// Pins this thread; where that is not allowed the figures are worse, not wrong.
fn pin(cpu: usize) {
    let mut set = CpuSet::new();
    set.set(cpu);
    let _ = sched_setaffinity(None, &set);
}
