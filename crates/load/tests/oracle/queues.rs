//! T5, T6: queues, held against queueing theory within the error of the sample. The sum of all times is exact all the same.

use assay_model::load::Arrival;
use assay_serve::stub::{Discipline, Program};
use assay_sim::seeds::each;

use crate::spoken::Spoken;
use crate::support::{BOTH_WAYS, Run, Trial, constant, is_mean_of, poisson, program};

/// Runs of each queue.
const RUNS: u64 = 24;
/// Requests of each run.
const N: u64 = 10_000;
/// How large the standard error of a mean time may be beside it. This and the errors of the shares are little above what the seeds
/// show; more runs are what would make them smaller.
const MEAN_ERROR: f64 = 0.02;

/// What theory says of a time in the system, and how well the sample must be able to tell.
struct Theory {
    mean_ms: f64,
    /// A time in ms, the share of the requests that take longer, and how large the standard error of that may be beside it.
    beyond: Vec<(f64, f64, f64)>,
}

impl Theory {
    /// An exponential time, as of all queues with exponential service and one server.
    fn exponential(mean_ms: f64, errors: [f64; 3]) -> Self {
        let shares = [0.5, 0.1, 0.01];
        let beyond =
            shares.iter().zip(errors).map(|(&share, error)| (-mean_ms * f64::ln(share), share, error));
        Self { mean_ms, beyond: beyond.collect() }
    }

    /// Runs a load on a queue, and compares. Both ways through the network are no part of the queue.
    fn agrees(&self, service: &str, arrival: &Arrival, in_flight: u32, check: impl Fn(&Run)) {
        let program = Program { discipline: Discipline::Fifo, ..program(service) };
        let (mut means, mut shares) = (Vec::new(), vec![Vec::new(); self.beyond.len()]);
        each(0..RUNS, |seed| {
            let plan = Spoken::of_turn(seed).plan(in_flight, arrival.clone(), N);
            let run = Trial::new(seed, program.clone(), plan).run();
            run.took_what_was_programmed();
            check(&run);
            let times = run.response.as_ref().unwrap_or(&run.service);
            means.push((times.mean().unwrap() - BOTH_WAYS.0 as f64) / 1e6);
            for (share, &(ms, ..)) in shares.iter_mut().zip(&self.beyond) {
                let longer = N - times.count_at_or_below((ms * 1e6) as u64 + BOTH_WAYS.0);
                share.push(longer as f64 / N as f64);
            }
        });
        // One seed alone has no error that could be told.
        if means.len() > 1 {
            let name = format!("{service} {arrival:?} {in_flight}");
            is_mean_of(&name, &means, self.mean_ms, MEAN_ERROR);
            for (share, &(ms, expected, error)) in shares.iter().zip(&self.beyond) {
                is_mean_of(&format!("{name}: beyond {ms} ms"), share, expected, error);
            }
        }
    }
}

/// The mean time in D/M/1, in service times: σ = exp(−(1 − σ)/ρ), and the time is exponential with mean 1/(1 − σ).
fn evenly(load: f64) -> f64 {
    let sigma = (0..1_000).fold(0.5, |sigma: f64, _| (-(1.0 - sigma) / load).exp());
    1.0 / (1.0 - sigma)
}

#[test]
fn t5_queues_show_their_waiting_times() {
    for (service, arrival, theory) in [
        ("exp:1ms", poisson(500.0), Theory::exponential(2.0, [0.005, 0.015, 0.05])),
        ("exp:1ms", constant(500.0), Theory::exponential(evenly(0.5), [0.005, 0.015, 0.05])),
        ("exp:1ms", poisson(800.0), Theory::exponential(5.0, [0.012, 0.06, 0.18])),
        ("exp:1ms", constant(800.0), Theory::exponential(evenly(0.8), [0.008, 0.04, 0.13])),
        // Pollaczek and Khinchine's mean; the shares are from simulation.
        ("1ms", poisson(800.0), Theory { mean_ms: 3.0, beyond: vec![(2.27, 0.5, 0.01), (5.98, 0.1, 0.04)] }),
    ] {
        theory.agrees(service, &arrival, 1_000, |run| {
            assert_eq!(run.response().sum(), run.service.sum(), "nobody waits for a connection");
        });
    }
}

/// A closed loop keeps the one server busy, so its throughput is the server's, and the time of N requests is Erlang distributed.
#[test]
fn t6_a_closed_loop_on_a_queue_obeys_littles_law() {
    for (in_flight, p99, error) in [(8, 16.0, 0.05), (64, 84.1, 0.12)] {
        let n = f64::from(in_flight);
        // What is on its way is not in the queue.
        let theory = Theory { mean_ms: n - 0.04, beyond: vec![(p99 - 0.04, 0.01, error)] };
        theory.agrees("exp:1ms", &Arrival::Closed, in_flight, |run| {
            let rate = run.report.window.ok as f64 / run.report.window_ns.as_secs_f64();
            let busy = rate * run.service.mean().unwrap() / 1e9;
            // At the end fewer and fewer are left.
            assert!((busy / n - 1.0).abs() < n / N as f64, "{busy} of {n} in flight");
            assert!((rate / 1000.0 - 1.0).abs() < 4.0 / (N as f64).sqrt(), "{rate}/s");
        });
    }
}
