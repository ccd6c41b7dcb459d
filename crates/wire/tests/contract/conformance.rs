//! The conformance suite of wires, over any pair of ends.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use assay_model::units::Nanos;
use assay_wire::{ETHERNET_HEADER_BYTES, Receiver as _, Wire};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::frames::{PATIENCE, SHORTEST, flush, receive, receive_surely, send, send_surely};

/// What holds for every wire whose two ends are `make`'s.
pub(crate) fn of_any<A: Wire, B: Wire>(make: impl Fn() -> (A, B)) {
    let (mut a, mut b) = make();
    carries_every_length_both_ways(&mut a, &mut b);
    shows_a_frame_until_it_is_released(&mut a, &mut b);
    counts(&mut a, &mut b);
    returns_when_the_time_is_over(&mut a);
    says_not_now_and_goes_on(&mut a, &mut b);
    tells_of_frames_by_a_descriptor(&mut a, &mut b);
    tells_of_frames_by_a_descriptor(&mut b, &mut a);
}

/// What holds besides where nothing is lost, tried with that many frames between two threads.
pub(crate) fn of_a_lossless_one<A: Wire + Send, B: Wire + Send>(make: impl Fn() -> (A, B), many: u64) {
    let (mut a, mut b) = make();
    assert!(a.facts().lossless && b.facts().lossless);
    keeps_all_that_it_accepted(&mut a, &mut b);
    tells_of_room_by_a_descriptor(&mut a, &mut b);
    wakes_who_waits(&mut a, &mut b);
    carries_many_between_threads(&mut a, &mut b, many);
}

fn carries_every_length_both_ways<A: Wire, B: Wire>(a: &mut A, b: &mut B) {
    let longest = a.facts().mtu + ETHERNET_HEADER_BYTES;
    assert_eq!(a.facts(), b.facts());
    for length in SHORTEST..=longest {
        let number = length as u64;
        send_surely(a, number, length);
        flush(a);
        assert_eq!(receive_surely(b), (number, length));
        send_surely(b, number, length);
        flush(b);
        assert_eq!(receive_surely(a), (number, length));
    }
}

fn shows_a_frame_until_it_is_released<A: Wire, B: Wire>(a: &mut A, b: &mut B) {
    for number in 0..3 {
        send_surely(a, number, 100 + number as usize);
    }
    flush(a);
    let shown = |b: &mut B| b.split().0.peek().map(<[u8]>::to_vec);
    for number in 0..3 {
        let first = (0..1000).find_map(|_| {
            b.wait(Nanos::from_millis(10)).expect("intact");
            shown(b)
        });
        assert!(first.is_some(), "frame {number} did not come within ten seconds");
        assert_eq!(shown(b), first);
        assert_eq!(receive_surely(b), (number, 100 + number as usize));
    }
    let (receiver, _) = b.split();
    while receiver.peek().is_some() {
        receiver.release();
    }
    receiver.release();
    assert!(receiver.peek().is_none(), "a release without a frame does nothing");
}

fn counts<A: Wire, B: Wire>(a: &mut A, b: &mut B) {
    let (before, seen) = (a.statistics(), b.statistics());
    for number in 0..10 {
        send_surely(a, number, 200);
    }
    flush(a);
    (0..10).for_each(|number| assert_eq!(receive_surely(b).0, number));
    assert_eq!(a.statistics().sent_frames - before.sent_frames, 10);
    assert!(b.statistics().received_frames - seen.received_frames >= 10);
}

fn returns_when_the_time_is_over<A: Wire>(a: &mut A) {
    let start = Instant::now();
    a.wait(Nanos::from_millis(20)).expect("intact");
    a.wait(Nanos::ZERO).expect("intact");
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}

/// However much is sent, an end that finds no room finds some again after the other has read.
fn says_not_now_and_goes_on<A: Wire, B: Wire>(a: &mut A, b: &mut B) {
    let mut number = 0;
    for _round in 0..3 {
        let accepted = (0..100_000).take_while(|i| send(a, number + i, 64)).count() as u64;
        flush(a);
        number += accepted;
        assert!(accepted > 0, "no room after the other end has read");
        while b.wait(Nanos::from_millis(1)).is_ok() && receive(b).is_some() {
            while receive(b).is_some() {}
        }
        a.wait(Nanos::from_millis(10)).expect("intact");
    }
}

/// A wire that names no descriptor has nothing to show here.
fn tells_of_frames_by_a_descriptor<A: Wire, B: Wire>(a: &mut A, b: &mut B) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        assert!(Instant::now() < deadline, "it never falls asleep");
        while receive(a).is_some() {}
        let Some((descriptor, at_most)) = a.doze() else { return };
        if at_most > Nanos::ZERO && !readable(descriptor, Duration::from_millis(20)) {
            break;
        }
    }
    send_surely(b, 9, 99);
    flush(b);
    let Some((descriptor, at_most)) = a.doze() else { panic!("a wire that falls asleep once does so again") };
    assert!(at_most < Nanos::MAX || readable(descriptor, PATIENCE), "there is something");
    assert_eq!(receive_surely(a), (9, 99));
    let Some((descriptor, _)) = a.doze() else { panic!("a wire that falls asleep once does so again") };
    send_surely(b, 10, 99);
    flush(b);
    assert!(readable(descriptor, PATIENCE));
    assert_eq!(receive_surely(a), (10, 99));
}

fn tells_of_room_by_a_descriptor<A: Wire, B: Wire>(a: &mut A, b: &mut B) {
    while send(a, 0, SHORTEST) {}
    let Some((descriptor, at_most)) = a.doze() else { return };
    assert!(at_most > Nanos::ZERO && !readable(descriptor, Duration::ZERO));
    while receive(b).is_some() {}
    assert!(readable(descriptor, PATIENCE));
    a.wait(Nanos::ZERO).expect("intact");
    assert!(send(a, 1, SHORTEST));
    flush(a);
    // Frames that are delayed come later.
    while receive_surely(b).0 != 1 {}
}

fn readable(descriptor: BorrowedFd<'_>, patience: Duration) -> bool {
    let mut descriptors = [PollFd::from_borrowed_fd(descriptor, PollFlags::IN)];
    let timeout = Timespec { tv_sec: patience.as_secs() as i64, tv_nsec: patience.subsec_nanos().into() };
    poll(&mut descriptors, Some(&timeout)).expect("a descriptor that can be waited for") == 1
}

fn keeps_all_that_it_accepted<A: Wire, B: Wire>(a: &mut A, b: &mut B) {
    let mut next = 0;
    let mut expected = 0;
    for _round in 0..5 {
        while send(a, next, 300) {
            next += 1;
            assert!(next - expected < 1_000_000, "a wire has an end");
        }
        assert!(a.statistics().full > 0);
        // Half is read, room comes for about that much.
        let half = (next - expected) / 2;
        (0..half).for_each(|i| assert_eq!(receive_surely(b), (expected + i, 300)));
        expected += half;
        a.wait(Nanos::from_millis(10)).expect("intact");
        assert!(send(a, next, 300), "room has come");
        next += 1;
    }
    flush(a);
    (expected..next).for_each(|number| assert_eq!(receive_surely(b), (number, 300)));
    assert_eq!(receive(b), None);
    sleeps_when_it_was_told_of_room(a);
}

/// Room that nobody wants any more keeps nobody awake: a sleep is a system call.
fn sleeps_when_it_was_told_of_room<A: Wire>(a: &mut A) {
    a.wait(Nanos::from_millis(1)).expect("intact");
    let before = a.statistics().system_calls;
    a.wait(Nanos::from_millis(1)).expect("intact");
    assert!(a.statistics().system_calls > before);
}

fn wakes_who_waits<A: Wire, B: Wire + Send>(a: &mut A, b: &mut B) {
    std::thread::scope(|scope| {
        let sleeper = scope.spawn(|| receive_surely(b));
        std::thread::sleep(Duration::from_millis(50));
        send_surely(a, 77, 77);
        flush(a);
        assert_eq!(sleeper.join().expect("no panic"), (77, 77));
    });
}

fn carries_many_between_threads<A: Wire + Send, B: Wire + Send>(a: &mut A, b: &mut B, many: u64) {
    let length = |number: u64| SHORTEST + (number % 50) as usize;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            (0..many).for_each(|number| send_surely(a, number, length(number)));
            flush(a);
            // Answered, so that the other end has read all before this one is gone.
            assert_eq!(receive_surely(a).0, many);
        });
        (0..many).for_each(|number| assert_eq!(receive_surely(b), (number, length(number))));
        send_surely(b, many, SHORTEST);
        flush(b);
    });
}
