//! What an answer takes of the machine's energy (docs/method/why.md#what-energy-do-answers-take).

use assay_model::energy::{Energy, EnergyPerAnswer, Metering};
use assay_model::record::{Measurement, Record};

use crate::evidence::sample::Sample;
use crate::{CONFIDENCE, mean_over_restarts};

/// Means over the restarts whose window counts; `None` where nothing was counted.
pub(crate) fn energy_per_answer(record: &Record, sample: &Sample<'_>) -> Option<EnergyPerAnswer> {
    let windows: Vec<(&Energy, f64)> = sample.counting().filter_map(counted).collect();
    if windows.is_empty() {
        return None;
    }
    let mean = |of: &dyn Fn(&(&Energy, f64)) -> f64| {
        mean_over_restarts(&windows.iter().map(of).collect::<Vec<_>>(), CONFIDENCE)
    };
    let idle = idle_of(record);
    let idle_in =
        |idle: &Energy, (energy, answers): &(&Energy, f64)| idle.total_uj_in(energy.wall_ns) / answers;
    let whole = |of: &(&Energy, f64)| of.0.total_uj() as f64 / of.1;
    Some(EnergyPerAnswer {
        whole_uj: mean(&whole),
        idle_uj: idle.map(|idle| mean(&|of| idle_in(idle, of)).estimate),
        beyond_idle_uj: idle.map(|idle| mean(&|of| whole(of) - idle_in(idle, of))),
    })
}

/// The energy of a window, and the right answers in the same span.
fn counted(window: &Measurement) -> Option<(&Energy, f64)> {
    let answers = window.answers_watched();
    Some((window.energy.as_ref()?, answers as f64)).filter(|_| answers > 0)
}

/// What the machine took before any server ran.
fn idle_of(record: &Record) -> Option<&Energy> {
    match record.energy.as_ref()? {
        Metering::Metered { idle, .. } => idle.as_ref(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{judged, record};
    use assay_model::load::LoadTurn;
    use assay_model::record::Turn;
    use assay_model::units::Nanos;
    use assay_model::verdict::Standing;

    fn joules(seconds: f64, joules: f64) -> Energy {
        let wall_ns = Nanos::from_millis((seconds * 1e3) as u64);
        Energy { wall_ns, packages_uj: (joules * 1e6).round() as u64, memory_uj: None }
    }

    /// Ten thousand answers a second from a machine that takes 20 W idle.
    fn metered(watts: &[f64]) -> Record {
        let mut record = record(&[("nginx", &vec![10_000.0; watts.len()])]);
        record.energy = Some(Metering::Metered {
            counters: ["package-0".to_owned()].into(),
            idle: Some(joules(2.0, 40.0)),
        });
        for (round, watts) in record.rounds.iter_mut().zip(watts) {
            round.runs[0].cells[0].energy = Some(joules(1.2, 1.2 * watts));
        }
        record
    }

    fn energy_of(record: &Record) -> Option<EnergyPerAnswer> {
        let standings: Vec<Standing> = judged(record).cells.remove(0).standings;
        standings[0].energy
    }

    #[test]
    fn an_answer_takes_its_part_of_the_span_in_which_it_was_watched() {
        let told = energy_of(&metered(&[30.0, 31.0, 29.0, 30.0])).expect("counted");
        // 1.2 s of 30 W, of which 24 J are there whatever runs, for ten thousand answers.
        assert!((told.whole_uj.estimate - 3_600.0).abs() < 1e-3, "{told:?}");
        assert!((told.idle_uj.expect("known") - 2_400.0).abs() < 1e-3, "{told:?}");
        let beyond = told.beyond_idle_uj.expect("known");
        assert!((beyond.estimate - 1_200.0).abs() < 1e-6 && beyond.low < 1_200.0, "{told:?}");
        assert!(beyond.low > 1_000.0 && beyond.high < 1_400.0, "restarts differ by a thirtieth: {told:?}");
    }

    #[test]
    fn turns_are_set_against_their_own_answers() {
        let mut record = metered(&[30.0, 30.0]);
        for round in &mut record.rounds {
            let load = LoadTurn {
                answered: 5_000,
                ok: 5_000,
                window_ns: Nanos::from_millis(500),
                ..LoadTurn::default()
            };
            round.runs[0].cells[0].turns = vec![Turn { load, ..Turn::default() }];
        }
        let told = energy_of(&record).expect("counted");
        assert!((told.whole_uj.estimate - 7_200.0).abs() < 1e-3, "{told:?}");
    }

    #[test]
    fn without_an_idle_moment_the_whole_is_told_and_without_counters_nothing() {
        let mut record = metered(&[30.0, 30.0]);
        record.energy = Some(Metering::Metered { counters: ["package-0".to_owned()].into(), idle: None });
        let told = energy_of(&record).expect("counted");
        assert_eq!((told.idle_uj, told.beyond_idle_uj), (None, None));
        record.rounds.iter_mut().for_each(|round| round.runs[0].cells[0].energy = None);
        assert_eq!(energy_of(&record), None);
    }
}
