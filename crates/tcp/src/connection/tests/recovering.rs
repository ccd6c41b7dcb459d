//! Losses are noticed by acknowledgements and probes, and by a timer only where nothing else can tell.

use super::*;

/// Sends `bytes` from the client and loses what `is_lost` picks of the data segments.
fn transfer(mut network: Network, bytes: usize, mut is_lost: impl FnMut(usize) -> bool) -> Network {
    network.ends[0].to_send = pattern(bytes);
    let mut count = 0;
    network.run(
        |_, packet| {
            if packet.data.is_empty() {
                return vec![Nanos::ZERO];
            }
            count += 1;
            if is_lost(count - 1) { vec![] } else { vec![Nanos::ZERO] }
        },
        |network| network.ends[1].received.len() == bytes && network.under_way.is_empty(),
    );
    assert!(network.ends[1].received == pattern(bytes));
    network
}

#[test]
fn selective_acknowledgements_mend_many_losses_of_a_window_without_a_timer() {
    let network = transfer(Network::established(), 200_000, |n| matches!(n, 12 | 14 | 15 | 17 | 60 | 61));
    let counts = network.ends[0].counts;
    assert_eq!((counts.timeouts, counts.tail_loss_probes, counts.retransmitted), (0, 0, 6));
    assert!((1..=2).contains(&counts.recoveries), "{counts:?}");
}

#[test]
fn a_retransmission_that_is_lost_too_is_noticed() {
    // RFC 8985 §3: RACK judges by time, so that what was sent again can be lost again.
    let mut copies = 0;
    // With windows that let others follow what was sent again.
    let shape = Shape { receive_bytes: 60_000, send_bytes: 200_000, ..SHAPE };
    let mut network = Network::with(shape, shape, 1, 2);
    network.open();
    network.ends[0].to_send = pattern(200_000);
    let victim = network.client().snd_nxt + 15_000;
    network.run(
        |_, packet| {
            let is_victim = packet.sequence == victim && !packet.data.is_empty() && copies < 2;
            copies += usize::from(is_victim);
            if is_victim { vec![] } else { vec![Nanos::ZERO] }
        },
        |network| network.ends[1].received.len() == 200_000,
    );
    assert_eq!((copies, network.ends[0].counts.timeouts), (2, 0), "{:?}", network.ends[0].counts);
}

#[test]
fn the_last_segment_is_mended_by_a_probe() {
    let start = Network::established();
    let began = start.now;
    let network = transfer(start, 10_000, |n| n == 9);
    let counts = network.ends[0].counts;
    assert_eq!((counts.timeouts, counts.tail_loss_probes), (0, 1));
    assert!(network.now - began < Nanos::from_millis(120), "{:?}", network.now - began);
}

#[test]
fn a_single_lost_segment_is_mended_by_a_probe() {
    let network = transfer(Network::established(), 10, |n| n == 0);
    let counts = network.ends[0].counts;
    assert_eq!((counts.timeouts, counts.tail_loss_probes, counts.retransmitted), (0, 1, 1));
}

#[test]
fn a_lost_probe_leaves_it_to_the_timer() {
    let network = transfer(Network::established(), 10, |n| n < 3);
    let counts = network.ends[0].counts;
    assert_eq!((counts.timeouts, counts.tail_loss_probes), (2, 1));
}

/// Ten questions one after the other, of which each takes so long on its way. Returns what the client counted.
fn ask_slowly(network: &mut Network, way: Nanos) -> Counts {
    for question in 1..=10 {
        network.ends[0].to_send = pattern(question * 10);
        network.run(
            |_, packet| vec![if packet.data.is_empty() { Nanos::ZERO } else { way }],
            |network| network.client().flight.is_empty() && network.ends[1].received.len() == question * 10,
        );
    }
    network.ends[0].counts
}

#[test]
fn a_peer_that_has_become_slow_is_waited_for() {
    for (way, timeouts) in [(100, 0), (300, 1), (900, 2)] {
        let counts = ask_slowly(&mut Network::established(), Nanos::from_millis(way));
        assert!(counts.timeouts <= timeouts && counts.tail_loss_probes <= 2, "{way} ms: {counts:?}");
    }
}

#[test]
fn a_loss_that_a_probe_mends_does_not_make_the_peer_slow() {
    let mut network = Network::established();
    let before = ask_slowly(&mut network, Nanos::ZERO);
    let usual = network.client().timing.long_round_trip();
    network.ends[0].to_send = pattern(110);
    let mut is_lost = true;
    network.run(
        |_, packet| {
            let is_lost = !packet.data.is_empty() && std::mem::take(&mut is_lost);
            if is_lost { vec![] } else { vec![Nanos::ZERO] }
        },
        |network| network.client().flight.is_empty() && network.ends[1].received.len() == 110,
    );
    assert_eq!(network.ends[0].counts.tail_loss_probes, before.tail_loss_probes + 1);
    assert_eq!(network.client().timing.long_round_trip(), usual);
}

#[test]
fn a_probe_that_was_not_needed_costs_nothing() {
    let mut network = Network::established();
    let before = ask_slowly(&mut network, Nanos::ZERO);
    let cwnd = network.client().congestion.cwnd;
    // The first comes so late that it is probed for, and with it all is said: the probe's answer finds nothing under way.
    for (bytes, way) in [(110, Nanos::from_millis(200)), (120, Nanos::ZERO)] {
        network.ends[0].to_send = pattern(bytes);
        network.run(
            |_, packet| vec![if packet.data.is_empty() { Nanos::ZERO } else { way }],
            |network| {
                let is_known = network.client().flight.is_empty() && network.ends[1].received.len() == bytes;
                is_known && network.under_way.is_empty()
            },
        );
    }
    let probe = Counts {
        tail_loss_probes: before.tail_loss_probes + 1,
        retransmitted: before.retransmitted + 1,
        ..before
    };
    assert_eq!(network.ends[0].counts, probe);
    assert!(network.client().congestion.cwnd >= cwnd, "nothing was lost");
}

/// RFC 6298 §5.3: an acknowledgement of something new restarts the timer, and nothing else.
#[test]
fn a_peer_that_goes_on_sending_does_not_hold_the_timer_up() {
    let mut network = Network::established();
    network.ends[0].to_send = pattern(10);
    network.ends[0].act();
    let now = network.now;
    assert_eq!(network.ends[0].departures(now).len(), 1, "which is lost");
    let client = network.client();
    let (next, una) = (client.inbox.rcv_nxt, client.snd_una);
    let window = (client.snd_wnd >> client.snd_wind_shift) as u16;
    for number in 0..200 {
        network.now += Nanos::from_millis(10);
        let packet = Packet {
            sequence: next + number,
            acknowledgement: una,
            flags: flag::ACK,
            window,
            options: Vec::new(),
            data: vec![7],
        };
        network.forge(0, &packet);
    }
    assert!(network.ends[0].counts.timeouts > 0, "{:?}", network.ends[0].counts);
}

#[test]
fn a_peer_without_selective_acknowledgements_is_understood() {
    let mut network = Network::new();
    network.client().sack_permitted = false;
    network.open();
    assert!(!network.client().sack_permitted && !network.server().sack_permitted);
    let network = transfer(network, 200_000, |n| matches!(n, 12 | 15));
    let counts = network.ends[0].counts;
    assert_eq!((counts.timeouts, counts.recoveries), (0, 1), "{counts:?}");
}

#[test]
fn segments_that_overtake_each_other_are_not_lost() {
    let mut network = Network::established();
    network.ends[0].to_send = pattern(100_000);
    network.run(
        // Every fifth comes a tenth of a round trip late.
        |number, _| vec![if number % 5 == 0 { Nanos::from_millis(1) } else { Nanos::ZERO }],
        |network| network.ends[1].received.len() == 100_000,
    );
    let counts = network.ends[0].counts;
    assert_eq!(counts.timeouts, 0);
    assert!(counts.recoveries <= 1, "once it may take it for a loss: {counts:?}");
}

#[test]
fn nothing_is_probed_where_nothing_is_lost() {
    let shape = Shape { is_lossless: true, ..SHAPE };
    let mut network = Network::with(shape, shape, 1, 2);
    network.open();
    network.ends[0].to_send = pattern(10);
    let mut is_first = true;
    // The peer does not run for half a second.
    network.run(
        |_, packet| {
            let is_data = !packet.data.is_empty() && std::mem::replace(&mut is_first, false);
            vec![if is_data { Nanos::from_millis(500) } else { Nanos::ZERO }]
        },
        |network| network.client().flight.is_empty() && network.ends[1].received.len() == 10,
    );
    assert_eq!(network.ends[0].counts, Counts::default());
}

#[test]
fn timeouts_back_off_and_end_with_the_connection() {
    let mut network = Network::established();
    network.ends[0].to_send = pattern(10);
    let began = network.now;
    network.run(|_, _| vec![], |network| network.client().state() == State::Closed);
    assert_eq!(network.client().failure(), Some(Failure::TimedOut));
    assert!(network.now - began >= USER_TIMEOUT && network.now - began < USER_TIMEOUT + USER_TIMEOUT);
    assert!((6..=12).contains(&network.ends[0].counts.timeouts), "{:?}", network.ends[0].counts);
}

#[test]
fn no_timer_runs_out_on_what_may_still_lie_in_the_wire() {
    let mut network = Network::established();
    network.ends[0].to_send = pattern(10);
    network.ends[0].act();
    let sent = network.now;
    assert_eq!(network.ends[0].departures(sent).len(), 1);
    let late = sent + Nanos::from_millis(900);
    let mut counts = Counts::default();
    assert!(network.client().next_segment(late, sent, &mut counts).is_none());
    assert_eq!(counts, Counts::default(), "the answer may have come meanwhile");
    assert!(network.client().next_segment(late, late, &mut counts).is_some());
}
