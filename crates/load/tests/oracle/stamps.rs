//! Stamps are in order whatever calls cost, and what is told of a span of time is told of the whole of it and of nothing else.

use assay_load::{LoadPlan, Span};
use assay_model::load::{Arrival, Phase};
use assay_model::units::Nanos;
use assay_sim::Pace;
use assay_sim::seeds::each;

use crate::spoken::Spoken;
use crate::support::{BOTH_WAYS, Trial, constant, poisson, program, seconds};

/// While requests leave on a connection, answers come on it to those that left just before, and whoever receives at once finds them.
#[test]
fn no_answer_comes_before_its_request_was_sent() {
    let pace = Pace { poll: Nanos(500), send: Nanos::from_micros(20), ..Pace::EXACT };
    each(0..8, |seed| {
        for arrival in [poisson(20_000.0), Arrival::Closed] {
            let plan = Spoken::of_turn(seed).plan(1, arrival, 2_000);
            let plan = LoadPlan { connections: 1, pipeline: 64, ..plan };
            let run = Trial { pace, ..Trial::new(seed, program("0s"), plan) }.run();
            let least = run.service.min().unwrap();
            assert!(least >= BOTH_WAYS.0, "{:?}: {least} ns", run.spoken);
        }
    });
}

/// The last request is answered long before the end.
#[test]
fn a_window_lasts_to_its_end_though_nothing_is_due_any_more() {
    for spoken in Spoken::ALL {
        let span = Span::Time(seconds(10));
        let run = Trial::new(0, program("1ms"), LoadPlan { span, ..spoken.plan(1, constant(0.4), 1) }).run();
        let lasted = run.lines.iter().filter(|line| line.phase == Phase::Window).map(|line| line.length_ns.0);
        assert_eq!((Nanos(lasted.sum()), run.report.window_ns), (seconds(10), seconds(10)), "{spoken:?}");
        assert_eq!(run.report.books.ok, 4);
    }
}

/// Four hundred connections are opened before the load, with handshakes where there are some.
#[test]
fn the_first_second_counts_what_happened_in_it() {
    for spoken in [Spoken::Http1, Spoken::WebSocket] {
        let plan = LoadPlan { span: Span::Time(seconds(3)), ..spoken.plan(400, constant(20.0), 1) };
        let run = Trial::new(0, program("1ms"), plan).run();
        let bytes = |second: usize| [run.lines[second].sent_bytes, run.lines[second].received_bytes];
        for (first, second) in bytes(0).into_iter().zip(bytes(1)) {
            assert!(first < 2 * second, "{spoken:?}: {first} and {second} bytes");
        }
    }
}
