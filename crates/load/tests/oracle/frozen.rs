//! T7, T8: a process that gets no CPU for a while. Whose it is, is told apart to the nanosecond.

use assay_model::check::CheckOutcome;
use assay_model::load::Arrival;
use assay_model::rule::Rule;
use assay_model::units::Nanos;
use assay_sim::{BEGINNING, Freeze, Weather};
use assay_stats::Histogram;

use crate::spoken::Spoken;
use crate::support::{Trial, constant, histogram, program, quantiles, seconds};

const MS: Nanos = Nanos::from_millis(1);

/// Six seconds in a minute: all that was due meanwhile waits for the end, in the queue of the generator too.
#[test]
fn t7_a_frozen_server_is_charged_with_everything_that_was_due_meanwhile() {
    let freeze = Freeze { from: BEGINNING + seconds(20), length: seconds(6), every: Nanos::MAX };
    for spoken in Spoken::ALL {
        let mut plan = spoken.plan(100, constant(1_000.0), 60_000);
        plan.timeout = seconds(10);
        let trial = Trial { weather: Weather::still(Nanos::ZERO), ..Trial::new(7, program("0s"), plan) };
        let run = Trial { frozen: [Some(freeze), None], ..trial }.run();
        let due = (0..60_000).map(|i| run.first_arrival + Nanos(i * MS.0));
        let expected = histogram(due.map(|due| freeze.thaws_at(due).map_or(Nanos::ZERO, |thaw| thaw - due)));
        assert_eq!(run.response(), &expected, "{spoken:?}");
        quantiles(run.response(), &[(0.95, 3_000.0), (0.99, 5_400.0), (0.999, 5_940.0), (1.0, 6_000.0)]);
        assert!((run.response().mean().unwrap() / 1e9 - 0.3).abs() < 0.001);
        assert_eq!(run.outcome(Rule::SendLag), CheckOutcome::Pass, "the generator was always in time");
    }
}

#[test]
fn t8_a_frozen_generator_takes_the_blame_itself() {
    let freeze = Freeze { from: BEGINNING + Nanos(500 * MS.0), length: Nanos(100 * MS.0), every: seconds(1) };
    for spoken in Spoken::ALL {
        let plan = spoken.plan(1_100, constant(10_000.0), 30_000);
        let trial = Trial { weather: Weather::still(Nanos::ZERO), ..Trial::new(8, program("1ms"), plan) };
        let run = Trial { frozen: [None, Some(freeze)], ..trial }.run();
        let awake = |at: Nanos| freeze.thaws_at(at).unwrap_or(at);
        let due = |i: u64| run.first_arrival + Nanos(100_000 * i);
        let times = || (0..30_000).map(|i| (due(i), awake(due(i)), awake(awake(due(i)) + MS)));
        assert_eq!(run.response(), &histogram(times().map(|(due, _, seen)| seen - due)), "{spoken:?}");
        assert_eq!(run.service, histogram(times().map(|(_, sent, seen)| seen - sent)));
        // The server is not blamed.
        quantiles(&run.service, &[(0.99, 1.0)]);
        let lag = Histogram::from_hdr_base64(run.report.latency.client_lag_hdr.as_ref().unwrap()).unwrap();
        quantiles(&lag, &[(0.99, 90.0), (1.0, 100.0)]);
        assert_ne!(run.outcome(Rule::SendLag), CheckOutcome::Pass);
    }
}

/// No arrival wakes a closed loop, so one that gets no CPU when it is to begin has to do so as soon as it wakes.
#[test]
fn a_closed_loop_that_wakes_too_late_begins_at_once() {
    for spoken in Spoken::ALL {
        let run = |freeze| {
            let plan = spoken.plan(10, Arrival::Closed, 1_000);
            let trial = Trial { weather: Weather::still(Nanos::ZERO), ..Trial::new(9, program("1ms"), plan) };
            Trial { frozen: [None, freeze], ..trial }.run()
        };
        let freeze =
            Freeze { from: run(None).first_arrival - MS, length: Nanos(10 * MS.0), every: Nanos::MAX };
        assert_eq!(run(Some(freeze)).first_arrival, freeze.from + freeze.length, "{spoken:?}");
    }
}
