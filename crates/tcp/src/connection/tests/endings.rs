//! How connections begin and end: RFC 9293 §3.5 and §3.6, with its figures.

use super::*;

#[test]
fn three_segments_open_a_connection() {
    let mut network = Network::new();
    let mut flags = Vec::new();
    network.run(
        |_, packet| {
            flags.push(packet.flags);
            vec![Nanos::ZERO]
        },
        |network| network.under_way.is_empty() && network.ends[1].state() == State::Established,
    );
    assert_eq!(flags, [flag::SYN, flag::SYN | flag::ACK, flag::ACK]);
    let (client, server) = (network.client().segment_bytes, network.server().segment_bytes);
    assert_eq!((client, server), (1000, 1000));
    assert!(network.client().sack_permitted && network.server().sack_permitted);
}

#[test]
fn a_request_that_a_full_backlog_drops_is_sent_again_and_is_no_fault_of_the_wire() {
    let mut network = Network::new();
    network.run(
        |number, _| if number == 0 { vec![] } else { vec![Nanos::ZERO] },
        |network| network.under_way.is_empty() && network.ends[1].state() == State::Established,
    );
    let counts = network.ends[0].counts;
    assert_eq!((counts.timeouts, counts.retransmitted), (0, 1), "{counts:?}");
}

#[test]
fn both_may_open_at_once() {
    let mut network = Network::new();
    network.ends[1].connection = Some(Connection::open(&SHAPE, Seq(900), network.now));
    network.open();
    network.ends[0].to_send = pattern(5_000);
    network.run(faultless, |network| network.ends[1].received.len() == 5_000);
    assert!(network.ends[1].received == pattern(5_000));
}

#[test]
fn both_may_close_at_once() {
    let mut network = Network::established();
    network.ends.iter_mut().for_each(|end| end.closes = Some(Closes::First));
    let mut has_crossed = false;
    network.run(faultless, |network| {
        has_crossed |= network.ends.iter().all(|end| end.state() == State::Closing);
        is_over(network)
    });
    assert!(has_crossed);
    assert!(network.ends.iter().all(|end| end.state() == State::TimeWait), "both wait");
    network.run(faultless, |network| network.ends.iter().all(|end| end.state() == State::Closed));
}

#[test]
fn one_direction_may_end_long_before_the_other() {
    let mut network = Network::established();
    network.ends[0].closes = Some(Closes::First);
    network.run(faultless, |network| network.ends[0].state() == State::FinWait2);
    assert!(network.server().peer_has_ended() && network.ends[1].state() == State::CloseWait);
    network.ends[1].to_send = pattern(50_000);
    network.ends[1].closes = Some(Closes::Second);
    network.run(faultless, is_over);
    assert!(network.ends[0].received == pattern(50_000));
    assert_eq!((network.ends[0].state(), network.ends[1].state()), (State::TimeWait, State::Closed));
    let waits_since = network.now;
    network.run(faultless, |network| network.ends[0].state() == State::Closed);
    assert!(network.now - waits_since >= TIME_WAIT - DELAY);
}

#[test]
fn the_last_acknowledgement_may_be_lost() {
    let mut network = Network::established();
    network.ends[0].closes = Some(Closes::First);
    network.ends[1].closes = Some(Closes::Second);
    let mut lost = 0;
    network.run(
        |_, packet| {
            let is_last = packet.flags == flag::ACK && lost < 3 && packet.sequence == Seq(102);
            lost += usize::from(is_last);
            if is_last { vec![] } else { vec![Nanos::ZERO] }
        },
        is_over,
    );
    assert_eq!((lost, network.ends[1].state()), (3, State::Closed), "TIME-WAIT acknowledges the FIN again");
}

#[test]
fn an_end_that_aborts_resets_the_other() {
    let mut network = Network::established();
    network.client().abort();
    network.run(faultless, |network| network.ends[1].state() == State::Closed);
    assert_eq!((network.server().failure(), network.client().failure()), (Some(Failure::Reset), None));
    assert!(network.client().is_over());
}

#[test]
fn data_that_came_before_a_reset_can_be_read() {
    let mut network = Network::established();
    network.ends[1].reads = false;
    network.ends[0].to_send = pattern(10);
    network.run(faultless, |network| network.ends[1].connection.as_ref().unwrap().unseen() == 10);
    network.client().abort();
    network.run(faultless, |network| network.ends[1].state() == State::Closed);
    assert_eq!(network.server().view(), pattern(10));
}

#[test]
fn a_refusal_ends_the_attempt() {
    let mut network = Network::new();
    let syn = network.ends[0].departures(network.now).remove(0);
    let refusal = Packet {
        sequence: Seq(0),
        acknowledgement: syn.sequence + 1,
        flags: flag::RST | flag::ACK,
        window: 0,
        options: vec![],
        data: vec![],
    };
    let guess = Packet { acknowledgement: syn.sequence, ..refusal.clone() };
    assert!(network.forge(0, &guess).is_empty() && network.ends[0].state() == State::SynSent);
    assert!(network.forge(0, &refusal).is_empty());
    assert_eq!((network.ends[0].state(), network.client().failure()), (State::Closed, Some(Failure::Reset)));
}

#[test]
fn an_answer_that_is_lost_comes_again_with_the_question() {
    let mut network = Network::new();
    let mut is_lost = false;
    network.run(
        |number, _| {
            is_lost |= number == 1;
            if number == 1 { vec![] } else { vec![Nanos::ZERO] }
        },
        |network| network.ends.iter().all(|end| end.state() == State::Established),
    );
    assert!(is_lost);
}
