//! T1 to T12 and T14 over TLS: the times and the books are those without it, to the nanosecond and to the byte.

use assay_load::{LoadPlan, Reuse, Span};
use assay_model::load::Arrival;
use assay_model::units::Nanos;
use assay_serve::stub::{Discipline, Faults, Program, Stall};
use assay_sim::seeds::each;
use assay_sim::{BEGINNING, Freeze, Weather};
use assay_stats::Histogram;
use chacha20::ChaCha8Rng;
use rand::SeedableRng;

use crate::layer::Pair;
use crate::spoken::Spoken;
use crate::support::{BOTH_WAYS, Trial, constant, poisson, program, seconds};

/// A setting of each test, briefly.
fn trials(spoken: Spoken) -> Vec<Trial> {
    let stall = Some("100ms/1s".parse::<Stall>().unwrap());
    let stalling = |service| Program { stall, ..program(service) };
    let queue = |service| Program { discipline: Discipline::Fifo, ..program(service) };
    let faulty = |faults: &str| Program { faults: faults.parse::<Faults>().unwrap(), ..program("200us") };
    let of = |program, plan| Trial::new(1, program, plan);
    let timeout = seconds(2);
    let mut all = vec![
        of(program("1ms"), spoken.plan(40, poisson(5_000.0), 1_000)),
        of(stalling("1ms"), spoken.plan(80, constant(1_000.0), 2_000)),
        of(stalling("1ms"), spoken.plan(16, Arrival::Closed, 4_000)),
        of(stalling("5ms"), spoken.plan(10, constant(1_000.0), 2_000)),
        of(program("mix:1ms*99,100ms*1"), spoken.plan(80, poisson(1_000.0), 1_000)),
        of(queue("exp:1ms"), spoken.plan(40, poisson(800.0), 1_000)),
        of(queue("exp:1ms"), spoken.plan(8, Arrival::Closed, 1_000)),
        of(faulty("never=0.01"), LoadPlan { timeout, ..spoken.plan(50, constant(1_000.0), 2_000) }),
        of(
            faulty("wrong-byte=0.02,status-500=0.03,reset-in-body=0.04,never=0.002"),
            spoken.plan(32, constant(2_000.0), 2_000),
        ),
        of(program("0s"), LoadPlan { span: Span::Time(seconds(1)), ..spoken.plan(40, poisson(1_000.0), 1) }),
    ];
    if Spoken::WITH_PATHS.contains(&spoken) {
        let requests = ["/1ms", "/10ms"].map(|path| spoken.request(path)).to_vec();
        all.push(of(program("1s"), LoadPlan { requests, ..spoken.plan(64, Arrival::Closed, 2_000) }));
    }
    all
}

#[test]
fn t1_to_t12_tell_the_same_times_as_without_it() {
    let pair = Pair::make();
    for spoken in Spoken::ALL {
        for (number, bare) in trials(spoken).into_iter().enumerate() {
            let secured = Trial { pair: Some(pair.clone()), ..bare.clone() };
            let [bare, secured] = [bare, secured].map(|trial| trial.run());
            let name = format!("{spoken:?}, trial {number}");
            assert!(secured.report.protocol.is_secured() && !bare.report.protocol.is_secured(), "{name}");
            assert_eq!(secured.service, bare.service, "{name}");
            assert_eq!(secured.response, bare.response, "{name}");
            assert_eq!(secured.report.books.errors, bare.report.books.errors, "{name}");
        }
    }
}

/// On a network without delays handshakes take no time, so the same requests meet the one who stands still.
#[test]
fn t7_and_t8_tell_who_stood_still() {
    let pair = Pair::make();
    let freeze = Freeze { from: BEGINNING + seconds(1), length: Nanos::from_millis(600), every: Nanos::MAX };
    for spoken in Spoken::ALL {
        for frozen in [[Some(freeze), None], [None, Some(freeze)]] {
            let plan = spoken.plan(40, constant(1_000.0), 2_000);
            let bare =
                Trial { weather: Weather::still(Nanos::ZERO), frozen, ..Trial::new(7, program("0s"), plan) };
            let secured = Trial { pair: Some(pair.clone()), ..bare.clone() };
            let [bare, secured] = [bare, secured].map(|trial| trial.run());
            assert_eq!(
                (secured.response(), &secured.service),
                (bare.response(), &bare.service),
                "{spoken:?}"
            );
        }
    }
}

/// A connection takes a round trip, agreeing on keys another (RFC 8446 §2), also where a session is resumed, and the first byte of an answer
/// one more and the server's time.
#[test]
fn connecting_agreeing_on_keys_and_the_first_byte_are_timed_apart() {
    let plan = LoadPlan { reuse: Reuse::Requests(1), ..Spoken::Http1.plan(4, Arrival::Closed, 100) };
    let trial = Trial { pair: Some(Pair::make()), ..Trial::new(3, program("1ms"), plan) };
    let report = trial.run().report;
    let tls = report.tls.expect("secured");
    assert!(
        tls.full.count > 0 && tls.resumed.count > 0 && tls.full.count + tls.resumed.count >= 100,
        "{tls:?}"
    );
    let both = |hdr: Option<&String>| {
        let times = Histogram::from_hdr_base64(hdr.expect("told")).unwrap();
        [0.01, 0.99].map(|q| times.quantile(q).expect("some"))
    };
    for (what, hdr, expected) in [
        ("connect", Some(&report.latency.connect_hdr), BOTH_WAYS),
        ("full handshake", tls.full.time_hdr.as_ref(), BOTH_WAYS),
        ("resumed handshake", tls.resumed.time_hdr.as_ref(), BOTH_WAYS),
        ("first byte", Some(&report.latency.ttfb_hdr), BOTH_WAYS + Nanos::from_millis(1)),
    ] {
        for told in both(hdr) {
            // As precise as the histogram of a report.
            assert!(
                told.abs_diff(expected.0) * 100 <= expected.0,
                "{what}: {told} ns instead of {expected:?}"
            );
        }
    }
}

/// Keys are drawn anew, and with them how long a signature is: a seed decides the weather, and not where it cuts.
#[test]
fn t14_every_answer_is_right_in_any_weather() {
    let pair = Pair::make();
    each(0..100, |seed| {
        let weather = Weather::rough(&mut ChaCha8Rng::seed_from_u64(seed));
        let plan = Spoken::of_turn(seed).plan(8, Arrival::Closed, 40);
        let plan = LoadPlan { timeout: seconds(600), drain: seconds(600), ..plan };
        let trial = Trial { weather, pair: Some(pair.clone()), ..Trial::new(seed, program("0s"), plan) };
        let books = trial.run().report.books;
        assert_eq!(books.ok, 40, "{books:?}");
    });
}
