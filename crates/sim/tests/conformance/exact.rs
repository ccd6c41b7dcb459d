//! Virtual time: what happens, happens at its nanosecond, and happens again with its seed.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::SocketAddr;

use assay_engine::{Config, Conn, Engine, Event, Reason};
use assay_model::units::Nanos;
use assay_sim::seeds::{are_all, each};
use assay_sim::{BEGINNING, Driven, Freeze, Network, Pace, SimEngine, Weather};
use chacha20::ChaCha8Rng;
use rand::{Rng as _, SeedableRng as _};

const CONFIG: Config = Config { max_connections: 64 };
const DELAY: Nanos = Nanos::from_micros(7);
/// Seeds in rough weather.
const SEEDS: u64 = 500;

/// Sends back what it gets.
struct Echo {
    engine: SimEngine<Driven>,
    /// What each connection is still owed, and whether it has ended.
    owed: BTreeMap<usize, (Vec<u8>, bool)>,
}

impl Echo {
    fn start(network: &Network) -> (Self, SocketAddr) {
        let mut engine = network.driven(CONFIG);
        let address = engine.listen("10.0.0.9:0".parse().unwrap()).unwrap();
        (Self { engine, owed: BTreeMap::new() }, address)
    }

    fn turn(&mut self) {
        let mut events = Vec::new();
        self.engine.poll(Nanos::MAX, &mut events).unwrap();
        for event in events {
            match event {
                Event::Accepted(conn) => drop(self.owed.insert(conn.slot(), Default::default())),
                Event::Readable(conn) => {
                    let bytes = self.engine.receive(conn).to_vec();
                    self.engine.consume(conn, bytes.len());
                    self.owed.entry(conn.slot()).or_default().0.extend(bytes);
                    self.repay(conn);
                }
                Event::Writable(conn) => self.repay(conn),
                Event::Eof(conn) => {
                    self.owed.entry(conn.slot()).or_default().1 = true;
                    self.repay(conn);
                }
                Event::Closed(conn, reason) => {
                    assert!(matches!(reason, Reason::Reset | Reason::SendReset), "{reason}");
                    self.owed.remove(&conn.slot());
                }
                Event::Connected(_) => panic!("{event:?}"),
            }
        }
    }

    fn repay(&mut self, conn: Conn) {
        let Some((owed, has_ended)) = self.owed.get_mut(&conn.slot()) else { return };
        let sent = self.engine.send(conn, &[owed]);
        owed.drain(..sent);
        if *has_ended && owed.is_empty() && self.engine.queued(conn) == 0 {
            self.engine.close(conn);
            self.owed.remove(&conn.slot());
        }
    }
}

/// What one side of an exchange saw, and when.
type Log = Vec<(Nanos, Event)>;

/// Has a text echoed on each of several connections; returns what the client saw, and what came back.
fn exchange(seed: u64, weather: Weather, texts: &[Vec<u8>]) -> (Log, Vec<Vec<u8>>) {
    let network = Network::new(seed, weather);
    let (echo, address) = Echo::start(&network);
    let echo = RefCell::new(echo);
    let mut client = network.driving(CONFIG, Pace::EXACT, || echo.borrow_mut().turn());
    let conns: Vec<Conn> = texts.iter().map(|_| client.connect(address, None).unwrap()).collect();
    let (mut log, mut got) = (Log::new(), vec![Vec::new(); texts.len()]);
    let (mut sent, mut events) = (vec![0; texts.len()], Vec::new());
    while client.connections() > 0 {
        let now = client.poll(Nanos::MAX, &mut events).unwrap();
        assert!(now < Nanos::MAX, "nothing will ever happen again");
        for event in std::mem::take(&mut events) {
            log.push((now, event));
            let at = |conn: Conn| conns.iter().position(|&c| c == conn).unwrap();
            match event {
                Event::Connected(conn) | Event::Writable(conn) => {
                    let text = &texts[at(conn)];
                    let sent = &mut sent[at(conn)];
                    *sent += client.send(conn, &[&text[*sent..]]);
                    if *sent == text.len() {
                        client.shutdown(conn);
                    }
                }
                Event::Readable(conn) => {
                    let view = client.receive(conn).to_vec();
                    client.consume(conn, view.len());
                    got[at(conn)].extend(view);
                }
                Event::Eof(conn) => client.close(conn),
                Event::Closed(_, reason) => {
                    assert!(matches!(reason, Reason::Reset | Reason::SendReset), "{reason}");
                }
                Event::Accepted(_) => panic!("nobody connects to the client"),
            }
        }
    }
    drop(client);
    network.settle(|| echo.borrow_mut().turn());
    assert_eq!(echo.borrow().engine.connections(), 0, "nothing is left");
    (log, got)
}

/// Texts and a weather of this seed.
fn rough(seed: u64) -> (Weather, Vec<Vec<u8>>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let weather = Weather::rough(&mut rng);
    let lens = [1, 30, 700, 3_000].map(|most| 1 + rng.next_u64() as usize % most);
    (weather, lens.map(|len| (0..len).map(|_| rng.next_u64() as u8).collect()).to_vec())
}

#[test]
fn bytes_come_once_and_in_order_in_any_weather() {
    each(0..SEEDS, |seed| {
        let (weather, texts) = rough(seed);
        let (log, got) = exchange(seed, weather, &texts);
        assert!(got == texts, "bytes are missing, or not in order");
        assert!(log.is_sorted_by_key(|&(at, _)| at), "time does not run back");
    });
}

#[test]
fn a_reset_cuts_a_connection_short_and_both_sides_are_told() {
    let mut cut = 0;
    each(0..SEEDS, |seed| {
        let (weather, texts) = rough(seed);
        let (log, got) = exchange(seed, Weather { resets: 0.1, ..weather }, &texts);
        assert!(got.iter().zip(&texts).all(|(got, text)| text.starts_with(got)), "other bytes came");
        cut += log.iter().filter(|(_, event)| matches!(event, Event::Closed(..))).count();
    });
    assert!(cut > SEEDS as usize / 10 || !are_all(), "{cut} resets");
}

#[test]
fn a_seed_gives_one_course_and_another_seed_another() {
    each(3..4, |seed| {
        let (weather, texts) = rough(seed);
        assert_eq!(exchange(seed, weather, &texts), exchange(seed, weather, &texts));
        assert_ne!(exchange(seed, weather, &texts).0, exchange(seed ^ 7, weather, &texts).0);
    });
}

#[test]
fn connections_overtake_each_other() {
    let weather = Weather { delay: [Nanos(1_000), Nanos(90_000)], ..Weather::still(Nanos::ZERO) };
    let texts = vec![b"word".to_vec(); 8];
    let order = |seed| {
        let (log, _) = exchange(seed, weather, &texts);
        let readable =
            |&(_, event): &_| if let Event::Readable(conn) = event { Some(conn.slot()) } else { None };
        log.iter().filter_map(readable).collect::<Vec<usize>>()
    };
    let mut overtaken = 0;
    each(0..10, |seed| overtaken += u32::from(!order(seed).is_sorted()));
    assert!(overtaken > 0 || !are_all(), "the order was always that of the connections");
}

#[test]
fn a_way_takes_exactly_its_delay() {
    let (log, _) = exchange(0, Weather::still(DELAY), &[b"word".to_vec()]);
    let after = |ways: u64| BEGINNING + Nanos(DELAY.0 * ways);
    let conn = if let (_, Event::Connected(conn)) = log[0] { conn } else { panic!("{log:?}") };
    let expected = [(2, Event::Connected(conn)), (4, Event::Readable(conn)), (4, Event::Eof(conn))];
    assert_eq!(log, expected.map(|(ways, event)| (after(ways), event)));
}

#[test]
fn a_poll_ends_when_it_should_and_costs_what_it_should() {
    let network = Network::new(0, Weather::still(DELAY));
    let mut events = Vec::new();
    let mut exact = network.driving(CONFIG, Pace::EXACT, || {});
    let until = BEGINNING + Nanos(12_345);
    assert_eq!(exact.poll(until, &mut events).unwrap(), until);
    assert_eq!((exact.poll(Nanos::ZERO, &mut events).unwrap(), exact.now()), (until, until));
    drop(exact);
    let pace = Pace { poll: Nanos(100), waking: Nanos(50_000), ..Pace::EXACT };
    let mut clumsy = network.driving(CONFIG, pace, || {});
    assert!(!clumsy.wakes_on_time());
    assert_eq!(clumsy.poll(Nanos::ZERO, &mut events).unwrap(), until + Nanos(100));
    assert_eq!(clumsy.poll(until + Nanos(1_000), &mut events).unwrap(), until + Nanos(51_000));
    assert_eq!(clumsy.cpu_time(), Nanos(200));
}

#[test]
fn who_is_frozen_acts_when_it_thaws() {
    let network = Network::new(0, Weather::still(Nanos::ZERO));
    let mut frozen = network.driving(CONFIG, Pace::EXACT, || {});
    frozen.freeze(Freeze { from: BEGINNING + Nanos(100), length: Nanos(50), every: Nanos::MAX });
    let woken =
        [90, 120, 160].map(|at| frozen.poll(BEGINNING + Nanos(at), &mut Vec::new()).unwrap() - BEGINNING);
    assert_eq!(woken, [Nanos(90), Nanos(150), Nanos(160)]);
}
