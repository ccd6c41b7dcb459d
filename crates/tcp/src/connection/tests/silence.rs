//! Peers that say nothing, or that they have no room, and programs that were away: who is given up, and who is asked first.

use std::cell::Cell;

use super::*;

/// Longer than anything is waited for.
const LONG: Nanos = Nanos::from_millis(1_800_000);
/// More than a round trip.
const LATE: Nanos = Nanos::from_millis(20);
const LOSSLESS: Shape = Shape { is_lossless: true, ..SHAPE };

fn established(shape: Shape) -> Network {
    let mut network = Network::with(shape, shape, 1, 2);
    network.open();
    network
}

/// A client that has more to send than its peer takes, which answers and reads nothing.
fn with_closed_window(shape: Shape, late: Nanos) -> Network {
    let mut network = Network { late, ..established(shape) };
    network.ends[0].to_send = pattern(40_000);
    network.ends[1].reads = false;
    network
        .run(faultless, |network| network.under_way.is_empty() && network.client().alarm == Alarm::Persist);
    assert_eq!((network.client().snd_wnd, network.client().flight.is_empty()), (0, true));
    network
}

/// Lets so much time go by.
fn pass(network: &mut Network, time: Nanos, fate: impl FnMut(usize, &Packet) -> Fate) {
    let deadline = network.now + time;
    network.run(fate, |network| network.now >= deadline);
}

fn are_open(network: &Network) -> bool {
    network.ends.iter().all(|end| end.state() == State::Established)
}

/// RFC 9293 §3.8.6.1: the connection stays open as long as the peer acknowledges probes.
#[test]
fn a_peer_that_answers_may_keep_its_window_closed() {
    for (shape, late) in [(LOSSLESS, Nanos::ZERO), (LOSSLESS, LATE), (SHAPE, Nanos::ZERO), (SHAPE, LATE)] {
        let mut network = with_closed_window(shape, late);
        pass(&mut network, LONG, faultless);
        assert!(are_open(&network), "{late:?} late: {:?}", network.client().failure());
        network.ends[1].reads = true;
        network.run(faultless, |network| network.ends[1].received.len() == 40_000);
        assert!(network.ends[1].received == pattern(40_000));
        assert_eq!(network.ends[0].counts, Counts::default());
    }
}

#[test]
fn questions_for_a_window_grow_rarer_within_bounds() {
    let mut network = with_closed_window(LOSSLESS, Nanos::ZERO);
    let (next, mut left) = (network.client().snd_nxt, 0);
    pass(&mut network, LONG, |_, packet| {
        left += usize::from(packet.sequence == next - 1);
        vec![Nanos::ZERO]
    });
    let evenly = (LONG.0 / PERSIST_INTERVAL.0) as usize;
    assert!((evenly..evenly + 6).contains(&left), "{left} of {evenly}");
}

#[test]
fn a_peer_that_vanished_behind_a_closed_window_is_noticed() {
    for late in [Nanos::ZERO, LATE] {
        let mut network = with_closed_window(SHAPE, late);
        pass(&mut network, LONG, faultless);
        let began = network.now;
        network.run(|_, _| vec![], |network| network.client().state() == State::Closed);
        assert_eq!(network.client().failure(), Some(Failure::TimedOut));
        let waited = network.now - began;
        assert!(waited >= USER_TIMEOUT && waited < USER_TIMEOUT + USER_TIMEOUT, "{waited:?}");
    }
}

/// RFC 1122 §4.2.3.6: that a specific question is not answered tells nothing.
#[test]
fn two_lost_questions_are_no_silence() {
    for mut network in [with_closed_window(SHAPE, LATE), Network { late: LATE, ..established(SHAPE) }] {
        let next = network.client().snd_nxt;
        let mut number = 0;
        pass(&mut network, LONG, |_, packet| {
            let is_question = packet.sequence == next - 1;
            number += usize::from(is_question);
            if is_question && number % 3 > 0 { vec![] } else { vec![Nanos::ZERO] }
        });
        assert!(are_open(&network) && number > 20, "{number}: {:?}", network.client().failure());
    }
}

#[test]
fn a_program_that_was_away_asks_before_it_gives_its_peer_up() {
    let mut network = established(LOSSLESS);
    network.now += LONG;
    pass(&mut network, LONG, faultless);
    assert!(are_open(&network), "{:?}", network.client().failure());
}

#[test]
fn a_question_whose_answer_was_lost_while_the_program_was_away_is_asked_again() {
    for mut network in [established(SHAPE), with_closed_window(SHAPE, Nanos::ZERO)] {
        let next = network.client().snd_nxt;
        let has_left = Cell::new(false);
        network.run(
            |_, packet| {
                let is_question = packet.sequence == next - 1;
                has_left.set(has_left.get() | is_question);
                if is_question { vec![] } else { vec![Nanos::ZERO] }
            },
            |_| has_left.get(),
        );
        network.now += LONG;
        pass(&mut network, LONG, faultless);
        assert!(are_open(&network), "{:?}", network.client().failure());
    }
}

#[test]
fn what_was_lost_before_the_program_was_away_is_sent_again() {
    for shape in [SHAPE, LOSSLESS] {
        let mut network = established(shape);
        network.ends[0].to_send = pattern(10);
        network.ends[0].act();
        let now = network.now;
        assert_eq!(network.ends[0].departures(now).len(), 1, "which is lost");
        network.now += LONG;
        network.run(faultless, |network| network.ends[1].received.len() == 10);
        assert!(are_open(&network) && network.ends[1].received == pattern(10));
    }
}
