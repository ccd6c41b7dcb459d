//! How fast the machine itself was beside each window, by the probe that depends on no contender.

use assay_model::check::{Check, CheckOutcome};
use assay_model::cpuset::CpuSet;
use assay_model::evidence::{Evidence, Proportion};
use assay_model::record::Record;
use assay_model::rule::Rule;
use assay_model::speed::{CpuSpeed, GaugeSeen, SpeedTimes, WindowSpeed};
use assay_stats::speed::{outliers, relative_speeds};

/// Spread of the machine's speed from one window to the next beyond which it is told.
const NOTICEABLE_SPREAD: f64 = 0.05;

/// How fast the machine was beside a window or a turn.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// Relative to the run's median: 0.8 is a fifth slower.
    speed: f64,
    /// Whether that is far from usual.
    is_odd: bool,
    /// Whether it was beside a turn.
    of_turn: bool,
}

/// The pace beside each window and turn of a record; none where not the same CPUs were looked at each time.
fn paced(record: &Record) -> Vec<Pace> {
    let windows = record.rounds.iter().flat_map(|round| &round.runs).flat_map(|run| &run.cells);
    let speeds = windows.flat_map(|window| {
        let turns = window.turns.iter().filter_map(|turn| Some((turn.speed.as_ref()?, true)));
        turns.chain(window.speed.iter().map(|speed| (speed, false)))
    });
    let (times, of_turn): (Vec<Vec<f64>>, Vec<bool>) =
        speeds.map(|(speed, of_turn)| (times_of(speed), of_turn)).unzip();
    let speeds = relative_speeds(&times).unwrap_or_default();
    let odd = outliers(&speeds).unwrap_or_default();
    let told = speeds.into_iter().zip(odd).zip(of_turn);
    told.map(|((speed, is_odd), of_turn)| Pace { speed, is_odd, of_turn }).collect()
}

/// Turns, or windows in one piece, in which the speed was far from usual.
fn odd_of(paced: &[Pace], of_turn: bool) -> Proportion {
    let told = || paced.iter().filter(|pace| pace.of_turn == of_turn);
    Proportion::new(told().filter(|pace| pace.is_odd).count(), told().count())
}

/// Before and after are one moment's work with another's: the mean of both stands for the window between them.
fn times_of(speed: &WindowSpeed) -> Vec<f64> {
    let pairs = speed.before.iter().zip(&speed.after).filter(|(before, after)| before.cpu == after.cpu);
    let pieces =
        |CpuSpeed { times: SpeedTimes { system_calls_ns, memory_ns, arithmetic_ns }, .. }: &CpuSpeed| {
            [system_calls_ns.0 as f64, memory_ns.0 as f64, arithmetic_ns.0 as f64]
        };
    pairs
        .flat_map(|(before, after)| {
            let (before, after) = (pieces(before), pieces(after));
            (0..before.len()).map(move |piece| f64::midpoint(before[piece], after[piece]))
        })
        .collect()
}

/// Whether the machine kept its speed; nothing where it was not taken. `explained` is the share of the variance of turns that the gauge
/// within them explains.
pub(crate) fn check(record: &Record, explained: Option<f64>) -> Option<Check> {
    let paced = paced(record);
    let logs: Vec<f64> = paced.iter().map(|pace| pace.speed.ln()).collect();
    let n = logs.len() as f64;
    if logs.len() < 2 {
        return None;
    }
    let mean = logs.iter().sum::<f64>() / n;
    let spread = (logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
    let gauge = explained.zip(gauge_share(record));
    let gauge = gauge.map(|(explained_share, cpu_share)| GaugeSeen { explained_share, cpu_share });
    let (outliers, turns) = (odd_of(&paced, false), odd_of(&paced, true));
    let turns = Some(turns).filter(|turns| turns.of > 0);
    let evidence = Evidence::MachineSpeed { spread_share: spread, outliers, turns, gauge };
    let outcome = if spread > NOTICEABLE_SPREAD { CheckOutcome::Warn } else { CheckOutcome::Pass };
    Some(Check { rule: Rule::MachineSpeed, outcome, evidence })
}

/// Share of the server's CPUs' time in turns that the gauge took; `None` where it was not read.
fn gauge_share(record: &Record) -> Option<f64> {
    let windows = record.rounds.iter().flat_map(|round| &round.runs).flat_map(|run| &run.cells);
    let spans = windows.flat_map(|window| &window.turns).filter_map(|turn| {
        let used = turn.gauged.as_ref()?.used_ns;
        Some((used.0 as f64, (turn.load.settle_ns + turn.load.window_ns).0 as f64))
    });
    let (used, all) = spans.fold((0.0, 0.0), |(used, all), (own, length)| (used + own, all + length));
    let cpus = record.isolation.server_cpus.parse::<CpuSet>().map_or(1, |cpus| cpus.len()).max(1);
    (all > 0.0).then(|| used / all / cpus as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use assay_model::load::LoadTurn;
    use assay_model::record::{Measurement, Turn};
    use assay_model::speed::Gauged;
    use assay_model::units::Nanos;

    /// Six rounds of two contenders on a machine whose speed in each window is `speed(number of the window)`.
    fn record(speed: impl Fn(usize) -> f64) -> Record {
        let mut record = testing::record(&[("a", &[1000.0; 6]), ("b", &[3000.0; 6])]);
        for (number, window) in windows(&mut record).enumerate() {
            let time = |ns: f64| Nanos((ns / speed(number)) as u64);
            let (system_calls_ns, memory_ns, arithmetic_ns) = (time(3e5), time(4e5), time(5e5));
            let on = |cpu| CpuSpeed { cpu, times: SpeedTimes { system_calls_ns, memory_ns, arithmetic_ns } };
            window.speed = Some(WindowSpeed { before: vec![on(0), on(1)], after: vec![on(0), on(1)] });
        }
        record
    }

    fn windows(record: &mut Record) -> impl Iterator<Item = &mut Measurement> {
        record.rounds.iter_mut().flat_map(|round| &mut round.runs).flat_map(|run| &mut run.cells)
    }

    #[test]
    fn a_steady_machine_passes() {
        let record = record(|_| 1.0);
        let check = check(&record, None).expect("timed");
        assert_eq!((check.outcome, paced(&record).len()), (CheckOutcome::Pass, 12), "{check:?}");
    }

    #[test]
    fn a_machine_that_slows_is_told() {
        let slows = |number: usize| if number.is_multiple_of(3) { 0.8 } else { 1.0 };
        let found = check(&record(slows), None).expect("timed");
        assert_eq!(found.outcome, CheckOutcome::Warn);
        let Evidence::MachineSpeed { spread_share, outliers, .. } = found.evidence else {
            panic!("{found:?}")
        };
        assert!((0.05..0.2).contains(&spread_share) && outliers.of == 12, "{found:?}");
    }

    #[test]
    fn turns_have_speeds_of_their_own() {
        let mut record = record(|_| 1.0);
        for window in windows(&mut record) {
            window.turns = vec![Turn { speed: window.speed.take(), ..Turn::default() }; 3];
        }
        assert_eq!(paced(&record).len(), 36);
    }

    #[test]
    fn odd_turns_are_not_counted_as_windows() {
        let mut record = record(|number| if number == 5 { 0.7 } else { 1.0 });
        for window in windows(&mut record).skip(4) {
            window.turns = vec![Turn { speed: window.speed.take(), ..Turn::default() }; 3];
        }
        let parts = |record: &Record| match check(record, None).expect("timed").evidence {
            Evidence::MachineSpeed { outliers, turns, .. } => (outliers, turns),
            other => panic!("{other:?}"),
        };
        assert_eq!(parts(&record), (Proportion::new(0, 4), Some(Proportion::new(3, 24))));
        windows(&mut record).for_each(|window| window.turns.truncate(0));
        assert_eq!(parts(&record), (Proportion::new(0, 4), None));
    }

    #[test]
    fn what_the_gauge_explains_and_took_is_told() {
        let mut record = record(|_| 1.0);
        for window in windows(&mut record) {
            let gauged = Some(Gauged { used_ns: Nanos(2_000), ..Gauged::default() });
            let load =
                LoadTurn { settle_ns: Nanos(50_000), window_ns: Nanos(150_000), ..LoadTurn::default() };
            window.turns = vec![Turn { speed: window.speed.take(), gauged, load, ..Turn::default() }; 3];
        }
        let gauge = |explained: Option<f64>| match check(&record, explained).expect("timed").evidence {
            Evidence::MachineSpeed { gauge, .. } => gauge,
            other => panic!("{other:?}"),
        };
        assert_eq!(gauge(Some(0.8)), Some(GaugeSeen { explained_share: 0.8, cpu_share: 0.01 }));
        assert_eq!(gauge(None), None);
    }

    #[test]
    fn one_slow_window_is_an_outlier() {
        let record = record(|number| if number == 5 { 0.7 } else { 1.0 });
        let odd = (0..).zip(paced(&record)).filter(|(_, pace)| pace.is_odd).map(|(i, _)| i);
        assert_eq!(odd.collect::<Vec<usize>>(), [5]);
    }

    #[test]
    fn records_from_before_the_probe_say_nothing() {
        assert_eq!(check(&testing::record(&[("a", &[1000.0; 3])]), None), None);
    }
}
