//! Frames a second over a wire: one thread sends, one receives, each pinned to a CPU of its own.
//!
//! `cargo run --release -p assay-wire --example frames -- [SECONDS]`
#![allow(clippy::print_stdout, reason = "a program for people")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use assay_model::units::Nanos;
use assay_wire::{Receiver as _, Sender as _, Wire, ring};
use rustix::thread::{CpuSet, sched_setaffinity};

/// What frames have, without the checksum that a card would add (IEEE 802.3).
const FRAME_BYTES: usize = 64;
/// Looked at between two looks at the clock.
const BATCH: u64 = 10_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seconds = std::env::args().nth(1).map_or(Ok(3.0), |text| text.parse())?;
    let (first, second) = ring::pair()?;
    println!("ring {:.2} M frames/s", measure(first, second, Duration::from_secs_f64(seconds))? / 1e6);
    Ok(())
}

fn measure<W: Wire + Send>(mut from: W, mut to: W, span: Duration) -> std::io::Result<f64> {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let sending = scope.spawn(|| {
            pin(0);
            send_until(&mut from, &over)
        });
        pin(1);
        let (frames, took) = receive_for(&mut to, span)?;
        over.store(true, Ordering::Relaxed);
        while let Some(()) = take(&mut to) {}
        drop(to);
        match sending.join() {
            Ok(sent) => sent?,
            Err(panic) => std::panic::resume_unwind(panic),
        }
        Ok(frames as f64 / took.as_secs_f64())
    })
}

fn send_until<W: Wire>(wire: &mut W, over: &AtomicBool) -> std::io::Result<()> {
    while !over.load(Ordering::Relaxed) {
        let (_, sender) = wire.split();
        for _ in 0..64 {
            if !sender.room() {
                break;
            }
            sender.send(FRAME_BYTES, |frame| frame.fill(0x5a));
        }
        sender.flush();
        if !sender.room() && !over.load(Ordering::Relaxed) {
            wire.wait(Nanos::from_millis(1))?;
        }
    }
    Ok(())
}

fn receive_for<W: Wire>(wire: &mut W, span: Duration) -> std::io::Result<(u64, Duration)> {
    let start = Instant::now();
    let mut frames = 0;
    while start.elapsed() < span {
        for _ in 0..BATCH {
            match take(wire) {
                Some(()) => frames += 1,
                None => wire.wait(Nanos::from_millis(1))?,
            }
        }
    }
    Ok((frames, start.elapsed()))
}

fn take<W: Wire>(wire: &mut W) -> Option<()> {
    let (receiver, _) = wire.split();
    std::hint::black_box(receiver.peek()?);
    receiver.release();
    Some(())
}

/// Pins this thread; where that is not allowed the figure is worse, not wrong.
fn pin(cpu: usize) {
    let mut set = CpuSet::new();
    set.set(cpu);
    let _ = sched_setaffinity(None, &set);
}
