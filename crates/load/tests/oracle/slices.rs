//! The load of several generators is the load of one, request by request.

use assay_fleet::slice::slices;
use assay_fleet::{Whole, merged};
use assay_load::arrivals::{Arrivals, Poisson, Share};
use assay_load::{LoadPlan, Span};
use assay_model::check::CheckOutcome;
use assay_model::load::{Arrival, ErrorClass, GeneratorShare, LoadReport};
use assay_model::rule::Rule;
use assay_model::units::Nanos;
use assay_serve::stub::{Counts, Program, Stall};
use assay_sim::Weather;
use assay_sim::seeds::each;
use assay_stats::Histogram;
use chacha20::ChaCha8Rng;
use rand::SeedableRng;

use crate::spoken::Spoken;
use crate::support::{Run, Trial, constant, histogram, plan, poisson, program, seconds};

const GAP: Nanos = Nanos::from_micros(100);
const TIME: Nanos = Nanos::from_millis(1);
const REQUESTS: u64 = 20_000;

/// When an answer leaves a server that stands still for the last 100 ms of each second; both since its first request.
fn after_stall(ready: Nanos) -> Nanos {
    let phase = ready.0 % seconds(1).0;
    if phase < seconds(1).0 - seconds(1).0 / 10 { ready } else { Nanos(ready.0 - phase + seconds(1).0) }
}

/// What each of `n` generators, with a thread each, makes of its part of a load, before a server of its own.
fn parts(n: u32) -> Vec<Run> {
    let whole = plan(1_100, constant(10_000.0), REQUESTS);
    let stalling = Program { stall: Some("100ms/1s".parse::<Stall>().unwrap()), ..program("1ms") };
    let run = |slice| {
        let plan = whole.part(slice, vec![0]);
        assert!(matches!(plan.span, Span::Requests(n) if n < REQUESTS));
        Trial { weather: Weather::still(Nanos::ZERO), ..Trial::new(7, stalling.clone(), plan) }.run()
    };
    slices(&vec![1; n as usize], whole.connections).unwrap().into_iter().map(run).collect()
}

#[test]
fn percentiles_of_all_are_those_of_all_requests() {
    for n in [2, 3, 7] {
        let runs = parts(n);
        let period = Nanos(GAP.0 * u64::from(n));
        for (number, run) in runs.iter().enumerate() {
            assert_eq!(
                run.first_arrival - runs[0].first_arrival,
                Nanos(GAP.0 * number as u64),
                "interleaved"
            );
        }
        let requests: Vec<u64> = runs.iter().map(|run| run.counts.requests).collect();
        assert_eq!(requests.iter().sum::<u64>(), REQUESTS);
        let arrivals = requests.iter().flat_map(|count| (0..*count).map(|i| Nanos(period.0 * i)));
        let expected = histogram(arrivals.map(|at| after_stall(at + TIME) - at));
        let whole = plan(1_100, constant(10_000.0), REQUESTS);
        let report = told(&whole, runs.into_iter().map(|run| run.report), None);
        let response = Histogram::from_hdr_base64(report.latency.response_hdr.as_ref().unwrap()).unwrap();
        assert_eq!(response.buckets().collect::<Vec<_>>(), expected.buckets().collect::<Vec<_>>());
        assert!(report.books.balance() && report.books.issued == REQUESTS, "{:?}", report.books);
        assert_eq!((report.connections, report.thread_busy_shares.len()), (1_100, n as usize));
    }
}

/// What the servers of all counted is what one report tells, class by class, whatever the servers and the network do to them and
/// whoever is lost.
#[test]
fn merged_books_are_the_servers_in_whatever_goes_wrong() {
    let faults = "wrong-byte=0.02,status-500=0.03,reset-in-body=0.03,never=0.01";
    each(0..120, |seed| {
        let spoken = Spoken::of_turn(seed);
        let arrival = if seed % 3 == 0 { Arrival::Closed } else { poisson(2_000.0) };
        let whole = LoadPlan { timeout: seconds(20), ..spoken.plan(56, arrival, 150) };
        let weather = Weather::rough(&mut ChaCha8Rng::seed_from_u64(seed));
        let faulty = Program { faults: faults.parse().unwrap(), ..program("200us") };
        let run = |(number, slice): (u64, _)| {
            let plan = whole.part(slice, vec![0]);
            let seed = 1_000 * seed + number;
            Trial { weather, ..Trial::new(seed, faulty.clone(), plan) }.run()
        };
        let slices = slices(&vec![1; 2 + seed as usize % 6], whole.connections).unwrap();
        let runs: Vec<Run> = (0..).zip(slices).map(run).collect();
        // Of every fifth load one generator is lost, with what it has seen.
        let lost = (seed % 5 == 1).then_some(seed as usize % runs.len());
        let left = || runs.iter().enumerate().filter(|(number, _)| Some(*number) != lost).map(|(_, run)| run);
        let counted = |of: fn(&Counts) -> u64| left().map(|run| of(&run.counts)).sum::<u64>();
        let report = told(&whole, runs.iter().map(|run| run.report.clone()), lost);
        let books = &report.books;
        assert!(books.balance(), "{books:?}");
        assert_eq!(
            (books.issued, books.ok),
            (counted(|counts| counts.requests), counted(|counts| counts.right))
        );
        let class = |class: ErrorClass| books.errors.get(&class).copied().unwrap_or(0);
        assert_eq!(class(ErrorClass::WrongBody), counted(|counts| counts.wrong_byte));
        assert_eq!(class(spoken.failed()), counted(|counts| counts.status_500));
        assert_eq!(class(spoken.broken_off()), counted(|counts| counts.reset_in_body));
        let unanswered = class(ErrorClass::HeadTimeout) + books.censored;
        assert_eq!(unanswered, counted(|counts| counts.never_answered));
        let judged = report.checks.iter().find(|check| check.rule == Rule::Generators).unwrap().outcome;
        assert_eq!(judged == CheckOutcome::Void, lost.is_some());
        if lost.is_none() {
            assert_eq!(books.issued, 150, "each request of the load, once");
        }
    });
}

/// One report of a load, `lost` being the generator whose report did not come.
fn told(whole: &LoadPlan, reports: impl Iterator<Item = LoadReport>, lost: Option<usize>) -> LoadReport {
    let share = |(number, report): (usize, LoadReport)| GeneratorShare {
        name: (number + 1).to_string(),
        began_ns: Some(0),
        lost: (Some(number) == lost).then(|| "it was killed".to_owned()),
        report: (Some(number) != lost).then(|| Box::new(report)),
        ..GeneratorShare::default()
    };
    let LoadPlan { arrival, connections, idle, .. } = whole.clone();
    merged(&Whole { arrival, connections, idle }, reports.enumerate().map(share).collect()).unwrap()
}

/// Kolmogorov and Smirnov: the greatest distance of the gaps' distribution from the exponential one of the whole rate.
#[test]
fn poisson_arrivals_of_all_are_a_poisson_process_of_the_whole_rate() {
    const RATE: f64 = 50_000.0;
    let arrivals = |thread: usize| {
        let mut random = ChaCha8Rng::seed_from_u64(11);
        random.set_stream(2 * thread as u64 + 1);
        let mut arrivals = Poisson::new(Share { per_second: RATE, thread, threads: 5 }, random);
        arrivals.begin(Nanos::ZERO);
        let all = std::iter::from_fn(move || {
            let at = arrivals.next();
            arrivals.pass();
            Some(at)
        });
        all.take_while(|at| *at < seconds(2))
    };
    let mut all: Vec<Nanos> = (0..5).flat_map(arrivals).collect();
    all.sort_unstable();
    let mut gaps: Vec<f64> = all.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64()).collect();
    gaps.sort_unstable_by(f64::total_cmp);
    let n = gaps.len() as f64;
    let distance = |(rank, gap): (usize, &f64)| {
        let expected = 1.0 - (-gap * RATE).exp();
        (expected - rank as f64 / n).abs().max((expected - (rank + 1) as f64 / n).abs())
    };
    let farthest = gaps.iter().enumerate().map(distance).fold(0.0, f64::max);
    // At 1 %; a process of gaps of twice the length would be 0.25 away.
    assert!(n > 90_000.0 && farthest < 1.63 / n.sqrt(), "{farthest} over {n} gaps");
}
