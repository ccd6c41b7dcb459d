//! T1–T4, T11, T12: times to the nanosecond.

use assay_load::arrivals::{Arrivals, Constant, Poisson, Share};
use assay_load::{LoadPlan, Span};
use assay_model::check::CheckOutcome;
use assay_model::load::Arrival;
use assay_model::rule::Rule;
use assay_model::units::Nanos;
use assay_serve::stub::{Program, Stall};
use assay_sim::seeds::each;
use assay_sim::{Pace, Weather};
use assay_stats::Histogram;
use chacha20::ChaCha8Rng;
use rand::SeedableRng;

use crate::spoken::Spoken;
use crate::support::{BOTH_WAYS, Trial, constant, histogram, plan, poisson, program, quantiles, seconds};

const MS: Nanos = Nanos::from_millis(1);

/// 100 ms in every second.
fn stalling(service: &str) -> Program {
    Program { stall: Some("100ms/1s".parse::<Stall>().unwrap()), ..program(service) }
}

/// The stall, thought anew: when an answer leaves that is ready at `ready`, both since the first request arrived.
fn after_stall(ready: Nanos) -> Nanos {
    let phase = ready.0 % seconds(1).0;
    if phase < seconds(1).0 - 100 * MS.0 { ready } else { Nanos(ready.0 - phase + seconds(1).0) }
}

#[test]
fn t1_a_fixed_delay_is_measured_as_it_is() {
    let truth = MS + BOTH_WAYS;
    each(0..60, |seed| {
        for arrival in [constant(10_000.0), poisson(10_000.0)] {
            let plan = Spoken::of_turn(seed).plan(100, arrival, 2_000);
            let run = Trial::new(seed, program("1ms"), plan).run();
            let expected = histogram(vec![truth; 2_000]);
            assert_eq!((run.response(), &run.service), (&expected, &expected), "{:?}", run.spoken);
            assert_eq!(run.outcome(Rule::SendLag), CheckOutcome::Pass);
        }
    });
}

/// A processor that wakes 50 µs late is awake in time for a request, and what it spins is not taken for work.
#[test]
fn t1_who_wakes_late_sends_in_time_and_is_not_called_busy() {
    let pace = Pace { poll: Nanos(500), waking: Nanos::from_micros(50), ..Pace::EXACT };
    each(0..4, |seed| {
        let trial = Trial { pace, ..Trial::new(seed, program("1ms"), plan(100, constant(2_000.0), 500)) };
        let run = trial.run();
        let lag = Histogram::from_hdr_base64(run.report.latency.client_lag_hdr.as_ref().unwrap()).unwrap();
        assert!(lag.max().unwrap() <= pace.poll.0 + pace.poll.0 / 64, "one poll: {lag:?}");
        // When an answer comes it may sleep.
        let seen =
            [run.response().min(), run.response().max()].map(|ns| Nanos(ns.unwrap()) - (MS + BOTH_WAYS));
        assert!(seen[1] <= pace.waking + Nanos(4 * pace.poll.0), "{seen:?}");
        assert!(run.report.generator.user_ns > Nanos::ZERO);
        assert!(run.report.thread_busy_shares[0] < 0.02, "{:?}", run.report.thread_busy_shares);
    });
}

/// Each request that is due in a stall waits for its end, whatever the others do.
#[test]
fn t2_a_stall_is_charged_to_every_request_that_was_due_in_it() {
    let truths = [
        ("1ms", [(0.5, 1.0), (0.95, 51.0), (0.99, 91.0), (0.999, 100.0), (1.0, 101.0)], 6.0),
        ("200us", [(0.5, 0.2), (0.95, 50.2), (0.99, 90.2), (0.999, 99.2), (1.0, 100.2)], 5.2),
    ];
    for (spoken, &(service, distribution, mean)) in Spoken::each_of(&truths) {
        let time: Nanos = service.parse().unwrap();
        let trial = Trial::new(0, stalling(service), spoken.plan(1_100, constant(10_000.0), 30_000));
        let run = Trial { weather: Weather::still(Nanos::ZERO), ..trial }.run();
        let arrivals = (0..30_000).map(|i| Nanos(100_000 * i));
        assert_eq!(
            run.response(),
            &histogram(arrivals.map(|at| after_stall(at + time) - at)),
            "{service} {spoken:?}"
        );
        quantiles(run.response(), &distribution);
        assert!(
            (run.response().mean().unwrap() / 1e6 - mean).abs() < 0.01,
            "the closed form is for ever so many"
        );
    }
}

#[test]
fn t2_a_loop_that_waits_for_answers_hardly_sees_the_stall_and_we_do_not_claim_it_does() {
    for spoken in Spoken::ALL {
        let run = Trial::new(0, stalling("1ms"), spoken.plan(1, Arrival::Closed, 1_500)).run();
        assert!(run.report.latency.response_hdr.is_none(), "a closed loop has no intended times");
        assert_eq!(run.service.quantile(0.99), Some((MS + BOTH_WAYS).0));
    }
}

#[test]
fn t2c_a_closed_loop_loses_the_throughput_of_the_stall() {
    let truths = [("1ms", 3, 14_400), ("200us", 1, 72_000)];
    for (spoken, &(service, window, rate)) in Spoken::each_of(&truths) {
        let span = Span::Time(seconds(window));
        let plan = LoadPlan { span, ..spoken.plan(16, Arrival::Closed, 1) };
        let run =
            Trial { weather: Weather::still(Nanos::ZERO), ..Trial::new(0, stalling(service), plan) }.run();
        // The last of each connection's answers comes at the very end, which belongs to the window no more.
        assert_eq!(run.report.window.ok, rate * window - 16, "{service} {spoken:?}");
    }
}

/// Ten connections, or ten streams of one, are too few for the stall. What waits for one is not the server's doing, and is told apart from it.
#[test]
fn t3_waiting_for_a_connection_is_told_apart_from_the_server() {
    let n = 10_000;
    let (mut free, mut times) = (vec![Nanos::ZERO; 10], Vec::new());
    for due in (0..n).map(|i| Nanos(i * MS.0)) {
        let first = free.iter_mut().min().unwrap();
        let sent = due.max(*first);
        // As the server sees it: the first request arrives after one way, at its zero.
        *first = after_stall(sent + Nanos(5 * MS.0)) + BOTH_WAYS;
        times.push((*first - due, *first - sent, sent - due));
    }
    let round_trip = |times: Histogram| Histogram::from_hdr_base64(&times.to_hdr_base64().unwrap()).unwrap();
    for spoken in Spoken::ALL {
        let run = Trial::new(0, stalling("5ms"), spoken.plan(10, constant(1_000.0), n)).run();
        assert_eq!(run.response(), &histogram(times.iter().map(|times| times.0)), "{spoken:?}");
        assert_eq!(run.service, histogram(times.iter().map(|times| times.1)), "{spoken:?}");
        let pool_wait = run.report.latency.pool_wait_hdr.as_ref().unwrap();
        let expected = round_trip(histogram(times.iter().map(|times| times.2)));
        assert_eq!(Histogram::from_hdr_base64(pool_wait).unwrap(), expected, "{spoken:?}");
        assert!((run.service.mean().unwrap() / 1e6 - 5.97).abs() < 0.06, "{:?}", run.service.mean());
        quantiles(&run.service, &[(0.5, 5.04), (0.9, 5.04)]);
    }
}

#[test]
fn t4_the_slow_mode_of_a_bimodal_server_stays_one_in_a_hundred() {
    let (n, mut slow, mut all) = (2_000, 0, 0);
    each(0..32, |seed| {
        let plan = Spoken::of_turn(seed).plan(200, poisson(2_000.0), n);
        let run = Trial::new(seed, program("mix:1ms*99,100ms*1"), plan).run();
        run.took_what_was_programmed();
        assert_eq!(run.response().sum(), run.service.sum(), "nobody waits");
        let beyond = run.counts.programmed_ns - n * MS.0;
        assert_eq!(beyond % (99 * MS.0), 0, "each takes one time or the other");
        assert_eq!(n - run.service.count_at_or_below(50 * MS.0), beyond / (99 * MS.0));
        (slow, all) = (slow + beyond / (99 * MS.0), all + n);
        quantiles(run.response(), &[(0.5, 1.04), (0.9, 1.04)]);
    });
    is_share("slow answers", slow, all, 0.01);
}

#[test]
fn t11_a_mix_is_drawn_per_request() {
    let (n, mut slow, mut all) = (2_000, 0, 0);
    each(0..30, |seed| {
        let spoken = Spoken::WITH_PATHS[(seed % 3) as usize];
        let requests = ["/1ms", "/10ms"].map(|path| spoken.request(path)).to_vec();
        let plan = LoadPlan { requests, ..spoken.plan(64, Arrival::Closed, n) };
        let run = Trial::new(seed, program("1s"), plan).run();
        run.took_what_was_programmed();
        let beyond = run.counts.programmed_ns - n * MS.0;
        assert_eq!(beyond % (9 * MS.0), 0);
        (slow, all) = (slow + beyond / (9 * MS.0), all + n);
    });
    is_share("requests of the second kind", slow, all, 0.5);
}

/// Within four standard deviations of a binomial.
fn is_share(name: &str, counted: u64, of: u64, share: f64) {
    let deviation = (of as f64 * share * (1.0 - share)).sqrt();
    let expected = of as f64 * share;
    assert!(
        (counted as f64 - expected).abs() <= 4.0 * deviation,
        "{name}: {counted} of {of}, not {expected}"
    );
}

#[test]
fn t12_arrivals_are_as_many_and_as_even_as_they_should_be() {
    let share = Share { per_second: 10_000.0, thread: 0, threads: 1 };
    let poisson = gaps(Poisson::new(share, ChaCha8Rng::seed_from_u64(12)));
    let constant = gaps(Constant::new(share));
    assert!(poisson.len().abs_diff(300_000) <= 1643, "{}", poisson.len());
    assert_eq!(constant.len(), 300_000);
    assert!(constant[1..].iter().all(|&gap| gap == 100_000.0));
    assert!((variation(&poisson) - 1.0).abs() < 0.01, "{}", variation(&poisson));
    let long = poisson.iter().filter(|&&gap| gap > 100_000.0).count() as f64 / poisson.len() as f64;
    assert!((long - (-1f64).exp()).abs() < 0.003, "{long}");
}

/// Arrivals as the server sees them are even to the nanosecond, or as uneven as chance.
#[test]
fn t12_what_was_due_in_the_window_is_what_arrives() {
    let span = Span::Time(seconds(1));
    for spoken in Spoken::ALL {
        let even = LoadPlan { span, ..spoken.plan(100, constant(10_000.0), 1) };
        let counts = Trial::new(0, program("0s"), even).run().counts;
        let gaps = (counts.requests, counts.gap_ns, counts.gap_variation());
        assert_eq!(gaps, (10_000, 9_999 * 100_000, Some(0.0)), "{spoken:?}");
    }
    let mut variations = Vec::new();
    each(0..20, |seed| {
        let uneven = LoadPlan { span, ..Spoken::of_turn(seed).plan(100, poisson(10_000.0), 1) };
        let counts = Trial::new(seed, program("0s"), uneven).run().counts;
        assert!(counts.requests.abs_diff(10_000) <= 4 * 100, "{counts:?}");
        variations.push(counts.gap_variation().unwrap());
    });
    assert!(variations.iter().all(|v| (v - 1.0).abs() < 4.0 / 100.0), "{variations:?}");
}

/// The gaps of 30 s.
fn gaps(mut arrivals: impl Arrivals) -> Vec<f64> {
    arrivals.begin(Nanos::ZERO);
    let (mut gaps, mut last) = (Vec::new(), Nanos::ZERO);
    while arrivals.next() < seconds(30) {
        gaps.push((arrivals.next() - last).0 as f64);
        last = arrivals.next();
        arrivals.pass();
    }
    gaps
}

/// Standard deviation over mean, the first gap left out.
fn variation(gaps: &[f64]) -> f64 {
    let gaps = &gaps[1..];
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    variance.sqrt() / mean
}
