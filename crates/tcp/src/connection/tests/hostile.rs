//! Segments that no honest peer sends: RFC 5961, and whatever may come.

use proptest::prelude::*;

use super::*;

/// An established connection's server, and a segment that would be next for it.
fn server() -> (Network, Packet) {
    let mut network = Network::established();
    let next = network.server().inbox.rcv_nxt;
    let acknowledgement = network.server().snd_nxt;
    let packet = Packet {
        sequence: next,
        acknowledgement,
        flags: flag::ACK,
        window: 1000,
        options: vec![],
        data: vec![],
    };
    (network, packet)
}

fn is_challenge(answer: &[Packet]) -> bool {
    matches!(answer, [packet] if packet.flags == flag::ACK && packet.data.is_empty())
}

#[test]
fn a_reset_has_to_hit_the_next_number() {
    for (offset, is_answered, state) in [
        (0, false, State::Closed),
        (1, true, State::Established),
        (10_000, true, State::Established),
        (1 << 20, false, State::Established),
        (u32::MAX, false, State::Established),
    ] {
        let (mut network, packet) = server();
        let reset = Packet { sequence: packet.sequence + offset, flags: flag::RST, ..packet };
        let answer = network.forge(1, &reset);
        assert_eq!((is_challenge(&answer), network.ends[1].state()), (is_answered, state), "{offset}");
    }
}

#[test]
fn a_syn_on_an_open_connection_is_challenged() {
    let (mut network, packet) = server();
    for offset in [0, 5, 1 << 30] {
        network.now += CHALLENGE_INTERVAL;
        let syn = Packet { sequence: packet.sequence + offset, flags: flag::SYN, ..packet.clone() };
        assert!(is_challenge(&network.forge(1, &syn)), "{offset}");
        assert_eq!(network.ends[1].state(), State::Established);
    }
}

#[test]
fn challenges_are_rationed_wherever_the_guess_lies() {
    let (mut network, packet) = server();
    for (flags, offset) in [(flag::SYN, 0), (flag::SYN, 1 << 30), (flag::RST, 5), (flag::ACK, 1 << 30)] {
        network.now += CHALLENGE_INTERVAL;
        let guess = Packet { flags, sequence: packet.sequence + offset, ..packet.clone() };
        let answers = (0..100).filter(|_| !network.forge(1, &guess).is_empty()).count();
        assert_eq!(answers, 1, "RFC 5961 §7: {flags:#x} at {offset}");
    }
    assert_eq!(network.ends[1].state(), State::Established);
}

#[test]
fn acknowledgements_of_what_was_never_sent_are_challenged_and_not_too_often() {
    let (mut network, packet) = server();
    let wrong = Packet { acknowledgement: packet.acknowledgement + 1, data: b"inject".to_vec(), ..packet };
    assert!(is_challenge(&network.forge(1, &wrong)));
    assert!(network.forge(1, &wrong).is_empty(), "RFC 5961 §7");
    assert_eq!(network.server().unseen(), 0);
}

#[test]
fn an_acknowledgement_of_a_stranger_is_refused_while_opening() {
    let mut network = Network::new();
    network.ends[0].departures(network.now);
    let packet = Packet {
        sequence: Seq(1),
        acknowledgement: Seq(5),
        flags: flag::ACK,
        window: 0,
        options: vec![],
        data: vec![],
    };
    let (now, end) = (network.now, &mut network.ends[0]);
    let connection = end.connection.as_mut().unwrap();
    assert_eq!(connection.segment_arrives(&packet.segment(), now, &mut end.counts), Verdict::Strange);
    assert_eq!(end.state(), State::SynSent);
}

#[test]
fn data_beyond_the_window_is_not_taken() {
    let (mut network, packet) = server();
    network.ends[1].reads = false;
    let much = Packet { data: pattern(2 * SHAPE.receive_bytes as usize), ..packet };
    network.forge(1, &much);
    assert_eq!(network.server().unseen(), SHAPE.receive_bytes as usize);
}

/// A segment near what the server expects, or anywhere.
fn packets() -> impl Strategy<Value = (i32, i32, u8, u16, Vec<u8>, usize, u64)> {
    let near = prop_oneof![-3i32..4, -2000i32..30_000, any::<i32>()];
    let acks = prop_oneof![-3i32..4, -5000i32..5000, any::<i32>()];
    let options = prop::collection::vec(prop_oneof![0u8..12, any::<u8>()], 0..41);
    (near, acks, any::<u8>(), any::<u16>(), options, 0usize..1500, 0u64..2_000)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_segments_are_taken_within_bounds(
        packets in prop::collection::vec(packets(), 1..150), opens in any::<bool>(), sends in 0usize..40_000,
    ) {
        let mut network = if opens { Network::new() } else { Network::established() };
        let end = usize::from(!opens);
        network.ends[end].to_send = pattern(sends);
        network.ends[end].reads = sends % 2 == 0;
        for (sequence, ack, flags, window, options, length, micros) in packets {
            network.now += Nanos::from_micros(micros * micros);
            network.ends[end].act();
            network.ends[end].departures(network.now);
            let connection = network.ends[end].connection.as_ref().unwrap();
            let packet = Packet {
                sequence: connection.inbox.rcv_nxt + sequence as u32,
                acknowledgement: connection.snd_una + ack as u32,
                flags,
                window,
                options,
                data: pattern(length),
            };
            let before = connection.snd_una;
            network.forge(end, &packet);
            let connection = network.ends[end].connection.as_ref().unwrap();
            prop_assert!(before.is_within(connection.snd_una));
            prop_assert!(connection.snd_una.is_within(connection.snd_nxt));
            prop_assert!(connection.flight.pipe() <= connection.snd_nxt - connection.snd_una);
            prop_assert!(connection.unseen() <= SHAPE.receive_bytes as usize);
            prop_assert!(network.ends[end].heap_bytes() <= 600_000);
        }
    }
}
