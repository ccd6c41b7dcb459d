//! The core of the preload library, two of them on one wire: calls in any order, on descriptors that may be anything.
#![no_main]
#![allow(dead_code, reason = "the core is the library's; not all of it is called here")]

#[path = "../../crates/preload/src/core/mod.rs"]
mod core;
#[path = "../../crates/preload/src/fdinfo.rs"]
mod fdinfo;
mod log {
    pub(crate) fn say(_message: &str) {}
}

use std::cell::RefCell;
use std::io::{IoSlice, IoSliceMut};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use assay_engine::EngineError;
use assay_model::units::Nanos;
use assay_tcp::{Config, UserStack};
use assay_wire::ring::{self, Ring};
use libfuzzer_sys::fuzz_target;
use rustix::event::epoll::EventFlags;
use rustix::event::{EventfdFlags, eventfd};

use crate::core::{Core, Terms, Way};

/// Numbers of descriptors, which are also those of nothing.
const DESCRIPTORS: u8 = 12;
const MAX_CONNECTIONS: usize = 4;
const ENDS: [&str; 2] = ["10.77.0.1", "10.77.0.2"];

type Stack = UserStack<Ring>;

thread_local! {
    static WIRES: RefCell<[Option<Ring>; 2]> = const { RefCell::new([None, None]) };
}

/// A wire is there once; an engine that is made anew finds none and says so.
fn make(end: usize) -> Result<Stack, EngineError> {
    let wire = WIRES.with(|wires| wires.borrow_mut()[end].take());
    let wire = wire.ok_or(EngineError::Full { limit: 0 })?;
    let address = format!("{}/24", ENDS[end]).parse().expect("an address");
    Ok(UserStack::new(wire, Config::new(MAX_CONNECTIONS, vec![address])).expect("a stack"))
}

fn cores() -> [Core<Stack>; 2] {
    let (near, far) = ring::pair().expect("a ring");
    WIRES.with(|wires| *wires.borrow_mut() = [Some(near), Some(far)]);
    [Core::new(|| make(0)), Core::new(|| make(1))]
}

// Each call is four bytes: which, on whose descriptor, another descriptor or a port, flags.
fuzz_target!(|input: &[u8]| {
    let mut cores = cores();
    let mut now = 0;
    for call in input.chunks_exact(4) {
        let (end, fd) = (usize::from(call[1] >> 7), i32::from(call[1] % DESCRIPTORS));
        make_call(&mut cores[end], call, fd, end);
        now += 1_000_000;
        for core in &mut cores {
            let _ = core.turn(Nanos::ZERO);
        }
    }
    for core in &mut cores {
        (0..DESCRIPTORS).for_each(|fd| core.close(fd.into()));
        assert!((0..DESCRIPTORS).all(|fd| core.object(fd.into()).is_none()), "closed is closed");
        core.finish(Nanos(now));
        core.drop_engine();
    }
});

fn make_call(core: &mut Core<Stack>, call: &[u8], fd: i32, end: usize) {
    let (other, flag) = (i32::from(call[2] % DESCRIPTORS), call[3]);
    let address = |end: usize| SocketAddr::new(ENDS[end].parse().expect("an address"), 80 + u16::from(call[2] % 2));
    let flags = EventFlags::from_bits_truncate(u32::from(flag) | u32::from(call[2]) << 24);
    let is_free = core.object(other).is_none();
    match call[0] % 22 {
        0 if core.object(fd).is_none() => {
            let terms = Terms { backlog: usize::from(flag % 4), nonblocking: true, shares_port: flag > 127 };
            let _ = core.listen(fd, address(end), terms);
        }
        1 => drop(core.connect(fd, address(1 - end), None, true)),
        2 => drop(core.connect(fd, address(end), None, true)),
        3 => {
            let Ok(stream) = core.accept(fd) else { return };
            if is_free { drop(core.adopt(stream, other, flag > 127)) } else { core.put_back(fd, stream) }
        }
        4 => drop(core.send(fd, &[IoSlice::new(&vec![flag; usize::from(call[2]) * 64])])),
        5 => drop(core.send(fd, &[IoSlice::new(b"a"), IoSlice::new(b""), IoSlice::new(b"bc")])),
        6 => {
            let (mut first, mut second) = (vec![0; usize::from(flag)], [0; 7]);
            let way = if flag % 2 == 0 { Way::Take } else { Way::Peek };
            let parts = &mut [IoSliceMut::new(&mut first), IoSliceMut::new(&mut second)];
            let _ = core.receive(fd, parts, way);
        }
        7 => drop(core.receivable(fd)),
        8 => drop(core.shutdown(fd, flag & 1 > 0, flag & 2 > 0)),
        9 if is_free => core.duplicate(fd, other),
        10 | 11 => core.close(fd),
        12 => drop((core.take_error(fd), core.addresses(fd), core.tcp_state(fd), core.waits(fd))),
        13 => core.set_resets(fd, flag > 127),
        14 if core.object(fd).is_none() => {
            let bell: OwnedFd = eventfd(0, EventfdFlags::CLOEXEC).expect("an eventfd");
            core.adopt_set(fd, bell);
        }
        15 => drop(core.watch(fd, other, flags, u64::from(flag))),
        16 => drop(core.change_watch(fd, other, flags, 7)),
        17 => drop(core.unwatch(fd, other)),
        18 => {
            let mut reports = Vec::new();
            core.collect(fd, &mut reports, usize::from(flag % 8));
            assert!(reports.len() <= usize::from(flag % 8));
        }
        19 => core.shared_with_child(),
        20 => {
            let watch = fdinfo::watch_of(&format!("tfd: {other} events: {flag:x} data: 7 ino:1"), other, 1);
            watch.map(|watch| core.inherit_watch(fd, other, watch).is_ok());
        }
        _ => drop(core.object(fd).map(|object| core.readiness(object))),
    }
}
