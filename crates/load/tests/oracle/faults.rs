//! T9, T10, T14: what goes wrong is counted exactly, and what never ends is not forgotten.

use assay_load::{LoadPlan, Span};
use assay_model::load::{Arrival, ErrorClass};
use assay_model::units::Nanos;
use assay_serve::stub::{Faults, Program};
use assay_sim::seeds::each;
use assay_stats::{Histogram, censored};

use crate::spoken::Spoken;
use crate::support::{Trial, constant, program};

fn faulty(faults: &str) -> Program {
    Program { faults: faults.parse::<Faults>().unwrap(), ..program("200us") }
}

fn decoded(hdr: Option<&String>) -> Histogram {
    Histogram::from_hdr_base64(hdr.unwrap()).unwrap()
}

#[test]
fn t9_a_black_hole_times_out_and_the_percentiles_it_reaches_are_lower_bounds() {
    let timeout = Nanos::from_millis(2_000);
    each(0..30, |seed| {
        for arrival in [constant(1_000.0), Arrival::Closed] {
            let plan = LoadPlan { timeout, ..Spoken::of_turn(seed).plan(50, arrival, 3_000) };
            let run = Trial::new(seed, faulty("never=0.01"), plan).run();
            let lost = run.report.books.errors[&ErrorClass::HeadTimeout];
            // 1 % of 3000 ± 4 σ.
            assert!(lost == run.counts.never_answered && lost.abs_diff(30) <= 22, "{lost}");
            let latency = &run.report.latency;
            let censored = decoded(latency.censored_hdr.as_ref());
            let ended = decoded(latency.response_hdr.as_ref().or(Some(&latency.service_hdr)));
            assert_eq!(censored.count(), lost);
            let touched = censored::quantile(&ended, &censored, 0.998).unwrap();
            assert!(touched.is_lower_bound && touched.value >= timeout.0 / 256 * 255, "{touched:?}");
            assert!(!censored::quantile(&ended, &censored, 0.5).unwrap().is_lower_bound);
        }
    });
}

#[test]
fn t9_what_is_unfinished_at_the_end_is_censored() {
    let (span, drain) = (Span::Time(Nanos::from_millis(500)), Nanos::from_millis(200));
    each(0..30, |seed| {
        let plan = LoadPlan { span, drain, ..Spoken::of_turn(seed).plan(50, constant(1_000.0), 1) };
        let run = Trial::new(seed, faulty("never=0.02"), plan).run();
        assert!(run.report.books.censored > 0);
        assert_eq!(run.report.books.censored, run.counts.never_answered);
        let censored = decoded(run.report.latency.censored_hdr.as_ref());
        assert_eq!(censored.count(), run.report.books.censored);
    });
}

#[test]
fn t10_each_fault_is_counted_in_its_own_class() {
    let faults = "wrong-byte=0.02,status-500=0.03,reset-in-body=0.04,never=0.002";
    each(0..30, |seed| {
        for arrival in [Arrival::Closed, constant(2_000.0)] {
            let plan = Spoken::of_turn(seed).plan(32, arrival, 3_000);
            let run = Trial::new(seed, faulty(faults), plan).run();
            let counts = run.counts;
            for (counted, share) in
                [(counts.wrong_byte, 0.02), (counts.status_500, 0.03), (counts.reset_in_body, 0.04)]
            {
                assert!((counted as f64 / 3000.0 - share).abs() < 0.015, "{counts:?}");
            }
            assert_eq!(run.report.books.errors.len(), 4, "{:?}", run.report.books);
            let words = match run.spoken {
                Spoken::Http1 | Spoken::Http2 => "got status 500",
                Spoken::WebSocket => "a close frame with code 1011",
                Spoken::Grpc => "got 13 INTERNAL: as programmed",
            };
            let samples = &run.report.samples;
            assert!(samples.iter().any(|sample| sample.detail.contains(words)), "{samples:?}");
        }
    });
}

#[test]
fn t14_the_books_balance_at_any_depth() {
    each(0..30, |seed| {
        for (connections, pipeline) in [(1, 1), (7, 4), (3, 32)] {
            let plan = Spoken::of_turn(seed).plan(connections, Arrival::Closed, 1_001);
            let plan = LoadPlan { connections, pipeline, ..plan };
            assert_eq!(Trial::new(seed, faulty("wrong-byte=0.1"), plan).run().report.books.issued, 1_001);
        }
    });
}
