//! T1–T6, T11, T12: times and rates.

use assay_load::arrivals::{Arrivals, Constant, Poisson, Share};
use assay_load::{Plan, Span};
use assay_model::load::Arrival;
use assay_model::units::Nanos;
use assay_serve::stub::{Discipline, Program, Service, Stall};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::support::{between, constant, engines, get, mean_ms, near, plan, poisson, quantiles, settle};

fn program(service: &str) -> Program {
    Program::new(service.parse::<Service>().unwrap())
}

/// 100 ms in every second; runs are whole seconds, so they hold whole stalls.
fn stalling(service: &str) -> Program {
    Program { stall: Some("100ms/1s".parse::<Stall>().unwrap()), ..program(service) }
}

fn queue(service: &str) -> Program {
    Program { discipline: Discipline::Fifo, ..program(service) }
}

#[test]
fn t1_a_fixed_delay_is_measured_as_it_is() {
    let arrivals = [constant(2000.0), poisson(2000.0)];
    for (arrival, engine) in arrivals.into_iter().zip(engines().into_iter().cycle()) {
        settle(&program("1ms"), &Plan { stack: engine.into(), ..plan(100, arrival, 2000) }, |run| {
            quantiles("response", &run.response(), &[(0.5, 1.0), (0.9, 1.0)])?;
            quantiles("service", &run.service(), &[(0.5, 1.0), (0.99, 1.0)])
        });
    }
}

#[test]
fn t2_a_stall_is_charged_to_every_request_that_was_due_in_it() {
    let distribution = [(0.5, 1.0), (0.95, 51.0), (0.99, 91.0), (0.999, 100.0), (1.0, 101.0)];
    settle(&stalling("1ms"), &plan(400, constant(2000.0), 6000), |run| {
        near("mean", mean_ms(&run.response()), 6.0)?;
        quantiles("response", &run.response(), &distribution)
    });
}

#[test]
fn t2_a_loop_that_waits_for_answers_hardly_sees_the_stall_and_we_do_not_claim_it_does() {
    settle(&stalling("1ms"), &plan(1, Arrival::Closed, 1500), |run| {
        assert!(run.report.latency.response_hdr.is_none(), "a closed loop has no intended times");
        between("p99 of a closed loop", run.service().quantile(0.99).unwrap() as f64 / 1e6, 0.98, 50.0)
    });
}

#[test]
fn t2b_the_stall_shows_whatever_the_delay() {
    let distribution = [(0.5, 0.2), (0.95, 50.2), (0.99, 90.2), (0.999, 99.2)];
    settle(&stalling("200us"), &plan(400, constant(2000.0), 4000), |run| {
        near("mean", mean_ms(&run.response()), 5.2)?;
        quantiles("response", &run.response(), &distribution)
    });
}

#[test]
fn t2c_a_closed_loop_loses_the_throughput_of_the_stall() {
    let plan = plan(4, Arrival::Closed, 1);
    settle(&stalling("1ms"), &Plan { span: Span::Time(Nanos::from_millis(3000)), ..plan }, |run| {
        // 4 connections × 1000/s × 0.9; without the stall it would be 4000.
        let rate = run.report.window.ok as f64 / 3.0;
        between("throughput", rate, 3600.0 * 0.4, 3600.0 * 1.01)
    });
}

/// Ten of every thousand requests are caught by a stall, one on each connection; half of them had been sent before it, so the
/// middle of their service times is the stall's own length.
#[test]
fn t3_waiting_for_a_connection_is_told_apart_from_the_server() {
    settle(&stalling("5ms"), &plan(10, constant(1000.0), 4000), |run| {
        // Of four stalls only three are followed by requests that wait for what they left.
        between("mean response", mean_ms(&run.response()), 14.0, 14.6 + 15.0)?;
        near("mean service", mean_ms(&run.service()), 5.97)?;
        quantiles("response", &run.response(), &[(0.9, 53.0), (0.95, 78.0), (0.99, 98.0)])?;
        quantiles("service", &run.service(), &[(0.5, 5.0), (0.9, 5.0), (0.995, 100.0)])?;
        quantiles("pool wait", &run.pool_wait(), &[(0.9, 43.0), (0.99, 88.0)])
    });
}

#[test]
fn t4_the_slow_mode_of_a_bimodal_server_stays_one_in_a_hundred() {
    settle(&program("mix:1ms*99,100ms*1"), &plan(200, constant(2000.0), 6000), |run| {
        // 1 % of 6000 is 60 with a standard deviation of 7.7, which moves the mean by 0.13 ms.
        between("programmed mean", run.programmed_ms(), 1.99 - 3.0 * 0.13, 1.99 + 3.0 * 0.13)?;
        near("mean", mean_ms(&run.response()), run.programmed_ms())?;
        quantiles("response", &run.response(), &[(0.5, 1.0), (0.9, 1.0), (0.995, 100.0)])
    });
}

/// Short runs of a queue stray far from their limit, so the limit is tested loosely and the mean against the sum of what the
/// stub meant each request to take: 4 s at ρ = 0.5 have a standard error of about 8 %, at ρ = 0.8 of about 30 %.
#[test]
fn t5_queues_show_their_waiting_times() {
    for (service, arrival, mean, error) in [
        ("exp:1ms", poisson(500.0), 2.00, 0.3),
        ("exp:1ms", constant(500.0), 1.26, 0.2),
        ("1ms", poisson(800.0), 3.00, 0.6),
        ("exp:1ms", poisson(800.0), 5.00, 0.8),
    ] {
        settle(&queue(service), &plan(200, arrival, 2500), |run| {
            between(
                "programmed mean",
                run.programmed_ms(),
                mean * (1.0 - error),
                mean * (1.0 + error) + 5.0,
            )?;
            near("mean", mean_ms(&run.response()), run.programmed_ms())
        });
    }
}

#[test]
fn t6_a_closed_loop_on_a_queue_obeys_littles_law() {
    for connections in [8, 64] {
        settle(&queue("exp:1ms"), &plan(connections, Arrival::Closed, 2000), |run| {
            // 2000 exponential times have a standard error of 2.2 %.
            let rate = run.report.window.ok as f64 / run.report.window_ns.as_secs_f64();
            between("throughput", rate, 400.0, 1000.0 * 1.08)?;
            let n = f64::from(connections);
            between("N = X W", rate * mean_ms(&run.service()) / 1e3 / n, 0.95, 1.01)
        });
    }
}

#[test]
fn t11_a_mix_is_drawn_per_request() {
    let kinds = vec![get("/1ms"), get("/10ms")];
    let n = 4000;
    let plan = Plan { requests: kinds, ..plan(64, Arrival::Closed, n) };
    settle(&program("1s"), &plan, |run| {
        // Half of each: a mean of 5.5 ms with a standard error of 4.5 ms / √n; 91/9 would make it 1.8 ms.
        let error = 3.0 * 4.5 / (n as f64).sqrt();
        between("programmed mean", run.programmed_ms(), 5.5 - error, 5.5 + error)
    });
}

#[test]
fn t12_arrivals_are_as_many_and_as_even_as_they_should_be() {
    let share = Share { per_second: 10_000.0, thread: 0, threads: 1 };
    let poisson = gaps(Poisson::new(share, ChaCha8Rng::seed_from_u64(12)));
    let constant = gaps(Constant::new(share));
    assert!(poisson.len().abs_diff(300_000) <= 1643, "{}", poisson.len());
    assert!(constant.len().abs_diff(300_000) <= 1, "{}", constant.len());
    assert!(variation(&constant) < 0.05);
    assert!((variation(&poisson) - 1.0).abs() < 0.01, "{}", variation(&poisson));
    let long = poisson.iter().filter(|&&gap| gap > 100_000.0).count() as f64 / poisson.len() as f64;
    assert!((long - (-1f64).exp()).abs() < 0.003, "{long}");
}

#[test]
fn t12_what_was_due_in_the_window_is_what_arrives() {
    for (arrival, allowed) in [(constant(2000.0), 1), (poisson(2000.0), 3 * 45)] {
        let plan = Plan { span: Span::Time(Nanos::from_millis(1000)), ..plan(100, arrival, 1) };
        settle(&program("0s"), &plan, |run| {
            assert!(run.counts.requests.abs_diff(2000) <= allowed, "{}", run.counts.requests);
            Ok(())
        });
    }
}

/// The gaps of 30 s.
fn gaps(mut arrivals: impl Arrivals) -> Vec<f64> {
    arrivals.begin(Nanos::ZERO);
    let (mut gaps, mut last) = (Vec::new(), Nanos::ZERO);
    while arrivals.next() < Nanos::from_millis(30_000) {
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
