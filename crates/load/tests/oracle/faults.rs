//! T9, T10, T14: what goes wrong is counted exactly, and what never ends is not forgotten.

use assay_load::{Plan, Span};
use assay_model::load::{Arrival, ErrorClass};
use assay_model::units::Nanos;
use assay_serve::stub::{Faults, Program, Service};
use assay_stats::{Histogram, censored};

use crate::support::{alone, constant, engines, measure, plan};

fn program(faults: &str) -> Program {
    let service = Service::Fixed(Nanos::from_micros(200));
    Program { faults: faults.parse::<Faults>().unwrap(), ..Program::new(service) }
}

#[test]
fn t9_a_black_hole_times_out_and_the_percentiles_it_reaches_are_lower_bounds() {
    let _alone = alone();
    let timeout = Nanos::from_millis(1000);
    for (arrival, engine) in
        [constant(1000.0), Arrival::Closed].into_iter().zip(engines().into_iter().cycle())
    {
        let plan = Plan { timeout, stack: engine.into(), ..plan(50, arrival, 3000) };
        let run = measure(&program("never=0.01"), &plan);
        let lost = run.report.books.errors[&ErrorClass::HeadTimeout];
        // 1 % of 3000 ± 3 σ.
        assert!(lost.abs_diff(30) <= 16, "{lost}");
        let censored = Histogram::from_hdr_base64(run.report.latency.censored_hdr.as_ref().unwrap()).unwrap();
        let ended = run.report.latency.response_hdr.as_ref().unwrap_or(&run.report.latency.service_hdr);
        let ended = Histogram::from_hdr_base64(ended).unwrap();
        assert_eq!(censored.count(), lost);
        let touched = censored::quantile(&ended, &censored, 0.998).unwrap();
        assert!(touched.is_lower_bound && touched.value >= timeout.0 / 256 * 255, "{touched:?}");
        assert!(!censored::quantile(&ended, &censored, 0.5).unwrap().is_lower_bound);
    }
}

#[test]
fn t9_what_is_unfinished_at_the_end_is_censored() {
    let _alone = alone();
    let span = Span::Time(Nanos::from_millis(500));
    let drain = Nanos::from_millis(200);
    for engine in engines() {
        assert!(
            measure_unfinished(&Plan { span, drain, stack: engine.into(), ..plan(50, constant(1000.0), 1) })
                > 0
        );
    }
}

/// Requests that a server never answers, with a patience beyond the end; returns how many were censored.
fn measure_unfinished(plan: &Plan) -> u64 {
    let (report, counts) = crate::support::with_stub(&program("never=0.02"), |target| {
        let plan = Plan { target, ..plan.clone() };
        assay_load::run(&plan, &std::sync::atomic::AtomicBool::new(false), |_| {}).unwrap()
    });
    assert!(report.books.balance() && counts.balance());
    assert_eq!((report.books.issued, report.books.ok), (counts.requests, counts.right));
    assert_eq!(report.books.censored, counts.never_answered);
    let censored = Histogram::from_hdr_base64(report.latency.censored_hdr.as_ref().unwrap()).unwrap();
    assert_eq!(censored.count(), report.books.censored);
    report.books.censored
}

#[test]
fn t10_each_fault_is_counted_in_its_own_class() {
    let _alone = alone();
    let faults = "wrong-byte=0.02,status-500=0.03,reset-in-body=0.04,never=0.002";
    let arrivals = |engine| [(Arrival::Closed, engine), (constant(2000.0), engine)];
    for (arrival, engine) in engines().into_iter().flat_map(arrivals) {
        let timeout = Nanos::from_millis(1000);
        let run =
            measure(&program(faults), &Plan { timeout, stack: engine.into(), ..plan(32, arrival, 3000) });
        let counts = run.counts;
        for (counted, share) in
            [(counts.wrong_byte, 0.02), (counts.status_500, 0.03), (counts.reset_in_body, 0.04)]
        {
            assert!((counted as f64 / 3000.0 - share).abs() < 0.012, "{counts:?}");
        }
        assert_eq!(run.report.books.errors.len(), 4, "{:?}", run.report.books);
    }
}

#[test]
fn t14_the_books_balance_at_any_depth() {
    let _alone = alone();
    for (connections, pipeline) in [(1, 1), (7, 4), (3, 32)] {
        for engine in engines() {
            let plan = Plan { pipeline, stack: engine.into(), ..plan(connections, Arrival::Closed, 1001) };
            assert_eq!(measure(&program("wrong-byte=0.1"), &plan).report.books.issued, 1001);
        }
    }
}
