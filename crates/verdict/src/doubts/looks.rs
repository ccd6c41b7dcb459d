//! When the results of a run are looked at (docs/method/stopping.md#stopping-early).

use assay_model::record::{Record, State};
use assay_stats::simultaneous::Looks;

/// When the pairs of a run are looked at, which decides how wide their intervals must be. A person who ends a run may have
/// watched it and waited for a result, and so may who watches one that goes on.
pub(crate) fn looks(record: &Record) -> Looks {
    let planned = record.experiment.rounds as usize;
    match record.experiment.until_settled {
        true => Looks::EveryRound { most_rounds: planned },
        false => watched(record),
    }
}

/// When those figures are looked at on which no run's own end depends: rates, their ratios to a limit, to a control and to another setting,
/// and tails. Only a person may have waited for one of these.
pub(crate) fn watched(record: &Record) -> Looks {
    let planned = record.experiment.rounds as usize;
    match record.state {
        State::Interrupted | State::Running => {
            Looks::EveryRound { most_rounds: planned.max(record.rounds.len()) }
        }
        State::Complete | State::BudgetSpent => Looks::Once,
    }
}

#[cfg(test)]
mod tests {
    use assay_model::load::Arrival;
    use assay_model::verdict::{Interval, Verdict};
    use assay_stats::Histogram;

    use super::*;
    use crate::testing;

    /// Four rounds of twenty that were asked for, at capacity and at a rate, with a limit and a control.
    fn record() -> Record {
        let mut record = testing::with_control(testing::record(&[
            ("a", &[50_000.0, 50_900.0, 49_100.0, 50_400.0]),
            ("limit", &[90_000.0, 91_000.0, 89_500.0, 90_500.0]),
            ("b", &[45_000.0, 44_200.0, 45_900.0, 45_100.0]),
            ("a′", &[50_300.0, 49_700.0, 50_100.0, 49_900.0]),
        ]));
        record.experiment.rounds = 20;
        let rate = "common".parse().expect("load");
        record.experiment.measures[0].rates.push(rate);
        for (index, run) in record.rounds.iter_mut().flat_map(|round| &mut round.runs).enumerate() {
            let mut histogram = Histogram::new();
            histogram.record_n(100_000, 9_800);
            histogram.record_n(1_000_000 + 90_000 * (index as u64 * 7 % 5), 200);
            let mut window = run.cells[0].clone();
            window.cell.offered = rate;
            window.load.arrival = Arrival::Poisson { per_second: 10_000.0 };
            window.load.latency.response_hdr = Some(histogram.to_hdr_base64().expect("histogram"));
            window.load.latency.response_from_sent_hdr = window.load.latency.response_hdr.clone();
            run.cells.push(window);
        }
        record
    }

    /// How wide the intervals are of a rate, of a share of the limit, of the control, of a pair of tails, and of a pair.
    fn widths(record: &Record) -> [f64; 5] {
        let verdict: Verdict = testing::judged(record);
        let cell = &verdict.cells[0];
        let a = cell.standings.iter().find(|of| of.contender == "a").expect("a");
        let control = verdict.noise_floor.as_ref().expect("a control").ratios[0].ratio;
        let (rate, share) = (a.throughput_per_second.expect("a rate"), a.share_of_limit.expect("a limit"));
        let all: [Interval; 5] =
            [rate, share, control, verdict.latency[0].pairs[0].ratio, cell.pairs[0].ratio];
        assert!(all.iter().all(|of| of.confidence > 0.9), "{all:?}");
        all.map(|of| (of.high / of.low).ln())
    }

    fn in_state(state: State) -> Record {
        Record { state, ..record() }
    }

    #[test]
    fn whoever_watches_a_run_or_ends_it_pays_for_that_in_every_interval_of_rates_and_tails() {
        let at_once = widths(&in_state(State::Complete));
        assert_eq!(widths(&in_state(State::BudgetSpent)), at_once);
        for state in [State::Running, State::Interrupted] {
            let watched = widths(&in_state(state));
            assert!(
                watched.iter().zip(at_once).all(|(wide, once)| *wide > 1.3 * once),
                "{watched:?} {at_once:?}"
            );
        }
    }

    #[test]
    fn a_run_that_ends_itself_by_its_pairs_pays_for_that_in_pairs_alone() {
        let mut settled = in_state(State::Complete);
        settled.experiment.until_settled = true;
        let (alone, watched) = (widths(&settled), widths(&in_state(State::Interrupted)));
        assert_eq!(alone[..4], widths(&in_state(State::Complete))[..4]);
        assert_eq!(alone[4], watched[4]);
    }
}
