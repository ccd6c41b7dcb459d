//! T14 in thousands of weathers: any load, on any server, over a network that delays, reorders, cuts and resets. Every request is
//! accounted for, and what both sides count is the same.

use assay_engine::Engine as _;
use assay_load::{LoadPlan, Reuse, run_on};
use assay_model::load::Arrival;
use assay_model::workload::Expect;
use assay_serve::stub::{Discipline, Faults, Program, Stall};
use assay_serve::{Config as ServeConfig, Limits, Server};
use assay_sim::seeds::{are_all, each};
use assay_sim::{Network, Pace, Weather};
use chacha20::ChaCha8Rng;
use rand::{Rng as _, SeedableRng as _};

use crate::spoken::Spoken;
use crate::support::{Trial, constant, get, plan, poisson, program, seconds};

/// Random choices of a seed.
struct Dice(ChaCha8Rng);

impl Dice {
    /// A number from 0 to below `n`.
    fn below(&mut self, n: u64) -> u64 {
        self.0.next_u64() % n
    }

    fn one_of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize].clone()
    }
}

/// A load and a server of this seed.
fn trial(seed: u64) -> Trial {
    let mut dice = Dice(ChaCha8Rng::seed_from_u64(seed));
    let weather = Weather::rough(&mut dice.0);
    let rate = 10.0 * (1 + dice.below(2_000)) as f64;
    let arrival = dice.one_of(&[Arrival::Closed, constant(rate), poisson(rate)]);
    let reuse = dice.one_of(&[Reuse::Always, Reuse::Always, Reuse::Requests(1), Reuse::Requests(3)]);
    // Of what is behind an answer that ends its connection both sides know different things.
    let whole = ["/", "/", "/chunked", "/split", "/trickle", "/interim"];
    let ending = ["/", "/chunked", "/close"];
    let echoes = ["/", "/", "/", "/trickle", "/fragments"];
    let all = "wrong-byte=0.1,status-500=0.1,reset-in-body=0.1,never=0.05";
    let (spoken, pipeline, faults, paths) = dice.one_of(&[
        (Spoken::Http1, 1, all, &ending[..]),
        (Spoken::Http1, 1, "never=0", &ending[..]),
        (Spoken::Http1, 5, "wrong-byte=0.1,status-500=0.1", &whole[..]),
        (Spoken::Http2, 1, all, &whole[..]),
        (Spoken::Http2, 5, all, &whole[..]),
        (Spoken::WebSocket, 1, all, &echoes[..]),
        (Spoken::WebSocket, 5, "wrong-byte=0.1", &echoes[..]),
        (Spoken::Grpc, 1, all, &echoes[..]),
        (Spoken::Grpc, 5, all, &echoes[..]),
    ]);
    let path = dice.one_of(paths);
    let [connections, n] = [12, 40].map(|most| 1 + dice.below(most));
    let service = dice.one_of(&["0s", "1ms", "exp:3ms", "mix:100us*9,20ms*1", "list:1ms,5ms,0s"]);
    let program = Program {
        discipline: dice.one_of(&[Discipline::Parallel, Discipline::Fifo]),
        stall: dice.one_of(&[None, Some("30ms/100ms".parse::<Stall>().unwrap())]),
        faults: faults.parse::<Faults>().unwrap(),
        ..program(service)
    };
    let (connections, requests) = (connections as u32, vec![spoken.request(path)]);
    let plan = spoken.plan(connections, arrival, n);
    let plan = LoadPlan { requests, connections, pipeline, reuse, timeout: seconds(20), ..plan };
    Trial { weather, ..Trial::new(seed, program, plan) }
}

/// [`Trial::run`] audits each.
#[test]
fn t14_the_books_of_both_sides_agree_in_any_weather() {
    let mut failed = 0;
    each(0..8_000, |seed| {
        let run = trial(seed).run();
        failed += run.report.books.failed();
    });
    assert!(failed > 0 || !are_all(), "some were to fail");
}

/// When the network resets connections, an answer that left may never come: what came is still in exactly one class.
#[test]
fn t14_every_request_is_accounted_for_when_connections_break() {
    each(0..2_000, |seed| {
        let trial = trial(seed);
        let run = Trial { weather: Weather { resets: 0.05, ..trial.weather }, ..trial }.run_unaudited();
        let (books, counts) = (&run.report.books, &run.counts);
        assert!(books.balance() && counts.balance(), "{books:?} {counts:?}");
        assert!(books.ok <= counts.right && counts.requests <= books.issued, "{books:?} {counts:?}");
        let [_, to_stub] = run.unread();
        assert!(books.received_bytes <= counts.sent_bytes, "{books:?} {counts:?}");
        assert!(counts.received_bytes <= books.sent_bytes + to_stub, "{books:?} {counts:?}");
        assert_eq!(run.service.count(), books.ok);
    });
}

#[test]
fn a_seed_gives_one_run_to_the_last_byte() {
    each(0..50, |seed| {
        let [one, other] = [(); 2].map(|()| serde_json::to_string(&trial(seed).run().report).unwrap());
        assert_eq!(one, other);
    });
}

/// The reference server beside its stub: every answer is right in any weather.
#[test]
fn the_reference_server_answers_rightly_in_any_weather() {
    each(0..500, |seed| {
        // A long body may leave byte by byte.
        let long = if seed % 50 == 0 { "/bytes/70000" } else { "/bytes/2000" };
        let paths = ["/", "/json", "/plaintext", "/bytes/0", long, "/byte"];
        let mut dice = Dice(ChaCha8Rng::seed_from_u64(seed));
        let network = Network::new(seed, Weather::rough(&mut dice.0));
        let mut engine = network.driven(assay_engine::Config { max_connections: 64 });
        let target = engine.listen("10.0.0.1:80".parse().unwrap()).unwrap();
        let mut server = Server::on(&serve_config(), engine).unwrap();
        let client = assay_engine::Config { max_connections: 8 };
        let client = network.driving(client, Pace::EXACT, || server.turn().unwrap());
        let expect = Expect { status: Some(200), ..Expect::default() };
        let kind = |path: &&str| assay_model::workload::RequestKind { expect: expect.clone(), ..get(path) };
        let plan = plan(1 + dice.below(8) as u32, dice.one_of(&[Arrival::Closed, poisson(500.0)]), 20);
        let pipeline = 1 + dice.below(4) as u32;
        let requests = paths.iter().map(kind).collect();
        let plan = LoadPlan { requests, pipeline, target, seed, timeout: seconds(600), ..plan };
        let report = run_on(&plan, client, |_| {}).unwrap();
        assert_eq!(
            (report.books.ok, report.books.issued),
            (20, 20),
            "{:?} {:?}",
            report.books,
            report.samples
        );
    });
}

fn serve_config() -> ServeConfig {
    ServeConfig {
        address: std::net::Ipv4Addr::UNSPECIFIED.into(),
        port: 0,
        shares_port: false,
        cpus: assay_host::cpuset::allowed(),
        stack: assay_engine::EngineKind::Epoll.into(),
        tls: None,
        root: None,
        hello: false,
        dot_files: false,
        requests: None,
        // A small window makes a long body wait for room thousands of times.
        limits: Limits { send_time: seconds(600), ..Limits::default() },
    }
}
