//! Everything arrives once and in order, whatever the network does.

use proptest::prelude::*;

use super::*;

/// A network in which both ends send and then close, the client first.
fn talking(bytes: [usize; 2], numbers: [u32; 2]) -> Network {
    let mut network = Network::with(SHAPE, SHAPE, numbers[0], numbers[1]);
    for (end, bytes) in network.ends.iter_mut().zip(bytes) {
        end.to_send = pattern(bytes);
    }
    network.ends[0].closes = Some(Closes::First);
    network.ends[1].closes = Some(Closes::Second);
    network
}

fn assert_all_arrived(network: &Network, context: impl std::fmt::Display) {
    let [client, server] = &network.ends;
    let failures = [0, 1].map(|n| network.ends[n].connection.as_ref().unwrap().failure());
    let context = format!("{context}, {failures:?}, {:?}", [client.counts, server.counts]);
    assert!(
        server.received == client.to_send,
        "{context}: {} bytes reached the server",
        server.received.len()
    );
    assert!(
        client.received == server.to_send,
        "{context}: {} bytes reached the client",
        client.received.len()
    );
}

/// Also, both know that all is over.
fn assert_all_ended(network: &Network, context: impl std::fmt::Display) {
    assert_all_arrived(network, &context);
    let [client, server] = &network.ends;
    assert_eq!((client.state(), server.state()), (State::TimeWait, State::Closed), "{context}");
    let failures = network.ends.iter().map(|end| end.connection.as_ref().unwrap().failure());
    assert!(failures.into_iter().all(|failure| failure.is_none()), "{context}");
}

#[test]
fn carries_both_directions_and_ends() {
    let mut network = talking([100_000, 70_000], [1, 2]);
    network.run(faultless, is_over);
    assert_all_ended(&network, "no fault");
    for end in &network.ends {
        assert_eq!((end.counts, end.heap_bytes() < 2_000), (Counts::default(), true));
    }
}

#[test]
fn numbers_may_wrap_anywhere() {
    for before in [0, 1, 2, 500, 50_000] {
        let mut network = talking([60_000, 60_000], [u32::MAX - before, 0u32.wrapping_sub(before)]);
        network.run(faultless, is_over);
        assert_all_ended(&network, before);
    }
}

/// Each segment of a transfer is lost in turn, and once more when it is sent again.
#[test]
fn any_segment_may_be_lost() {
    let mut network = talking([30_000, 10_000], [1, 2]);
    network.run(faultless, is_over);
    for lost in 0..network.number {
        for times in 1..=2 {
            let mut network = talking([30_000, 10_000], [1, 2]);
            let mut victim: Option<(Seq, usize)> = None;
            let mut count = 0;
            network.run(
                |number, packet| {
                    let key = (packet.sequence, packet.data.len());
                    if number == lost {
                        victim = Some(key);
                    }
                    let is_victim = victim == Some(key) && number >= lost && count < times;
                    count += usize::from(is_victim);
                    if is_victim { vec![] } else { vec![Nanos::ZERO] }
                },
                is_over,
            );
            assert_all_ended(&network, format!("segment {lost} lost {times} times"));
        }
    }
}

/// Numbers without a pattern (splitmix64; Steele, Lea and Flood, 2014).
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn delivers_exactly_the_bytes_over_any_network(
        bytes in [0usize..60_000, 0usize..60_000],
        numbers in any::<[u32; 2]>(),
        seed in any::<u64>(),
        // Of 256: lost, doubled, late; and how late at most.
        (lost, doubled, late) in (0u64..40, 0u64..80, 0u64..128),
        latest_micros in 1u64..30_000,
        windows in [1_000u32..70_000, 1_000u32..200_000],
    ) {
        let mut network = talking(bytes, numbers);
        let shapes = windows.map(|receive_bytes| Shape { receive_bytes, ..SHAPE });
        network.ends[0].shape = shapes[0];
        network.ends[0].connection = Some(Connection::open(&shapes[0], Seq(numbers[0]), network.now));
        network.ends[1].shape = shapes[1];
        // Of five in a row three arrive at least, so that a segment and its acknowledgement do soon, and nobody's patience is ever over.
        let mut recent_losses = [false; 4];
        network.run(
            |number, _| {
                let dice = mixed(seed.wrapping_add(number as u64));
                let delay = Nanos::from_micros(dice >> 32).0 % Nanos::from_micros(latest_micros).0;
                let delay = Nanos(if (dice >> 24) % 256 < late { delay } else { 0 });
                let is_lost = dice % 256 < lost && recent_losses.iter().filter(|lost| **lost).count() < 2;
                recent_losses[number % 4] = is_lost;
                match is_lost {
                    true => vec![],
                    false if (dice >> 8) % 256 < doubled => vec![Nanos::ZERO, delay],
                    false => vec![delay],
                }
            },
            is_over,
        );
        // The server's end may not be known to it, when its peer has forgotten all while acknowledgements were lost.
        assert_all_arrived(&network, "a bad network");
    }
}

#[test]
fn a_window_that_closes_is_waited_for() {
    let mut network = Network::established();
    network.ends[0].to_send = pattern(100_000);
    network.ends[1].reads = false;
    let deadline = network.now + Nanos::from_millis(30_000);
    network.run(faultless, |network| network.now >= deadline);
    assert_eq!(network.server().unseen(), SHAPE.receive_bytes as usize, "as many as the window admits");
    network.ends[1].reads = true;
    network.run(faultless, |network| network.ends[1].received.len() == 100_000);
    assert!(network.ends[1].received == pattern(100_000));
    assert_eq!(network.ends[0].counts.timeouts, 0, "a closed window is no loss");
}

#[test]
fn news_of_a_window_may_be_lost() {
    let mut network = Network::established();
    network.ends[0].to_send = pattern(100_000);
    network.ends[1].reads = false;
    let deadline = network.now + Nanos::from_millis(3_000);
    network.run(faultless, |network| network.now >= deadline);
    network.ends[1].reads = true;
    let mut lost = 0;
    network.run(
        |_, packet| {
            let is_news = packet.data.is_empty() && packet.window > 0 && lost < 2;
            lost += usize::from(is_news);
            if is_news { vec![] } else { vec![Nanos::ZERO] }
        },
        |network| network.ends[1].received.len() == 100_000,
    );
    assert!(network.ends[1].received == pattern(100_000));
}

#[test]
fn small_messages_leave_at_once_and_carry_the_acknowledgement() {
    let mut network = Network::established();
    let before = network.number;
    for round in 1..=10 {
        network.ends[0].to_send.extend(b"question");
        network.run(faultless, |network| network.ends[1].received.len() == round * 8);
        network.ends[1].to_send.extend(b"answer");
        network.run(faultless, |network| network.ends[0].received.len() == round * 6);
    }
    assert_eq!(network.number - before, 20);
}

#[test]
fn every_second_full_segment_is_acknowledged_at_once_and_a_single_one_soon() {
    let mut network = Network::established();
    network.ends[0].to_send = pattern(3_000);
    let mut acknowledgements = Vec::new();
    let start = network.now;
    network.run(
        |_, packet| {
            if packet.data.is_empty() {
                acknowledgements.push(packet.acknowledgement);
            }
            vec![Nanos::ZERO]
        },
        |network| {
            network.ends[0].given == 3_000 && network.ends[0].connection.as_ref().unwrap().flight.is_empty()
        },
    );
    assert!(acknowledgements.len() <= 2 && network.now - start <= DELAYED_ACK_TIMEOUT + DELAY + DELAY);
}
