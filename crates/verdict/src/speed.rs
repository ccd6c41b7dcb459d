//! How fast the machine itself was beside each window, by the probe that depends on no contender.

use assay_model::check::{Check, Outcome};
use assay_model::record::{Measurement, Record, Turn};
use assay_model::rule::Rule;
use assay_model::speed::{CpuSpeed, SpeedTimes, WindowSpeed};
use assay_stats::covariate::{Adjustment, adjust, outliers, relative_speeds};

use super::sample::throughput;
use super::words::{count_of, percent};
use super::{objection, pass};

/// Spread of the machine's speed from one window to the next beyond which it is told.
const NOTICEABLE_SPREAD: f64 = 0.05;

/// A window, or a turn of it, and how fast the machine was beside it.
#[derive(Clone, Copy, Debug)]
pub struct Paced<'r> {
    /// The window.
    pub window: &'r Measurement,
    /// The turn; absent for a window in one piece.
    pub turn: Option<&'r Turn>,
    /// The contender's place in the record.
    pub contender: usize,
    /// Relative to the run's median: 0.8 is a fifth slower.
    pub speed: f64,
    /// Whether that is far from what is usual in this run.
    pub is_outlier: bool,
}

/// All windows and turns of a record beside which the machine was timed, in the order of the record; none where not the same
/// CPUs were looked at each time.
pub fn paced(record: &Record) -> Vec<Paced<'_>> {
    let mut timed = Vec::new();
    for run in record.rounds.iter().flat_map(|round| &round.runs) {
        let Some(contender) = record.contenders.iter().position(|entry| entry.name == run.contender) else {
            continue;
        };
        for window in &run.cells {
            let whole = window.speed.as_ref().map(|speed| (contender, window, None, speed));
            let turns = window
                .turns
                .iter()
                .filter_map(|turn| Some((contender, window, Some(turn), turn.speed.as_ref()?)));
            timed.extend(turns.chain(whole));
        }
    }
    let times: Vec<Vec<f64>> = timed.iter().map(|(.., speed)| times_of(speed)).collect();
    let speeds = relative_speeds(&times).unwrap_or_default();
    let odd = outliers(&speeds).unwrap_or_default();
    let known = timed.into_iter().zip(speeds.into_iter().zip(odd));
    let paced = known.map(|((contender, window, turn, _), (speed, is_outlier))| Paced {
        window,
        turn,
        contender,
        speed,
        is_outlier,
    });
    paced.collect()
}

/// What the machine's speed explains of the log rates of the windows that count, given contender and cell; `None` where it is
/// not shown to explain anything.
pub fn effect_on_rates(paced: &[Paced<'_>]) -> Option<Adjustment> {
    let mut kinds = Vec::new();
    let (mut rates, mut speeds, mut groups) = (Vec::new(), Vec::new(), Vec::new());
    let counts =
        |one: &&Paced<'_>| one.window.cell.offered.is_capacity() && one.window.void_rules().is_empty();
    for one in paced.iter().filter(counts) {
        let kind = (one.contender, &one.window.cell);
        let group = kinds.iter().position(|known| *known == kind).unwrap_or(kinds.len());
        kinds.extend((group == kinds.len()).then_some(kind));
        if let Some(rate) = one.rate() {
            rates.push(rate.ln());
            speeds.push(one.speed.ln());
            groups.push(group);
        }
    }
    adjust(&rates, &speeds, &groups).ok().flatten()
}

impl Paced<'_> {
    /// Right answers per second; `None` when there was none.
    fn rate(&self) -> Option<f64> {
        let Some(turn) = self.turn else { return throughput(self.window) };
        let per_second = turn.load.ok as f64 / turn.load.window_ns.as_secs_f64();
        (per_second.is_finite() && per_second > 0.0).then_some(per_second)
    }
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

/// Whether the machine kept its speed; nothing where it was not taken.
pub(crate) fn check(record: &Record) -> Option<Check> {
    let paced = paced(record);
    let logs: Vec<f64> = paced.iter().map(|paced| paced.speed.ln()).collect();
    let n = logs.len() as f64;
    if logs.len() < 2 {
        return None;
    }
    let mean = logs.iter().sum::<f64>() / n;
    let spread = (logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
    let odd = paced.iter().filter(|paced| paced.is_outlier).count();
    let mut evidence = format!("the machine's own speed varied by {} from window to window", percent(spread));
    if odd > 0 {
        evidence += &format!("; in {odd} of {} it was far from usual", count_of(paced.len(), "window"));
    }
    if let Some(effect) = effect_on_rates(&paced) {
        evidence +=
            &format!("; that explains {} of how a contender's rates vary", percent(effect.explained_share));
    }
    let remedy =
        "use a machine that is not shared and holds its clock rate (`assay doctor`), or measure more rounds";
    Some(match spread > NOTICEABLE_SPREAD {
        true => objection(Rule::MachineSpeed, Outcome::Warn, evidence, remedy),
        false => pass(Rule::MachineSpeed, evidence),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use assay_model::units::Nanos;

    /// Six rounds of two contenders on a machine whose speed in each window is `speed(number of the window)`.
    fn record(speed: impl Fn(usize) -> f64, follows: bool) -> Record {
        let mut record = testing::record(&[("a", &[1000.0; 6]), ("b", &[3000.0; 6])]);
        let windows =
            record.rounds.iter_mut().flat_map(|round| &mut round.runs).flat_map(|run| &mut run.cells);
        for (number, window) in windows.enumerate() {
            let speed = speed(number);
            let time = |ns: f64| Nanos((ns / speed) as u64);
            let (system_calls_ns, memory_ns, arithmetic_ns) = (time(3e5), time(4e5), time(5e5));
            let on = |cpu| CpuSpeed { cpu, times: SpeedTimes { system_calls_ns, memory_ns, arithmetic_ns } };
            window.speed = Some(WindowSpeed { before: vec![on(0), on(1)], after: vec![on(0), on(1)] });
            let jitter = 1.0 + 0.001 * (number * 7 % 5) as f64;
            let factor = if follows { speed * jitter } else { jitter };
            window.load.window.ok = (window.load.window.ok as f64 * factor) as u64;
        }
        record
    }

    #[test]
    fn a_steady_machine_passes() {
        let record = record(|_| 1.0, false);
        let check = check(&record).expect("timed");
        assert_eq!(check.outcome, Outcome::Pass, "{check:?}");
        assert!(paced(&record).len() == 12 && effect_on_rates(&paced(&record)).is_none());
    }

    #[test]
    fn a_machine_that_slows_is_told_and_taken_out_where_rates_follow() {
        let slows =
            |number: usize| if number.is_multiple_of(3) { 0.8 } else { 1.0 + 0.01 * (number % 4) as f64 };
        let record_that_follows = record(slows, true);
        let found = check(&record_that_follows).expect("timed");
        assert_eq!(found.outcome, Outcome::Warn);
        assert!(found.evidence.contains("explains"), "{}", found.evidence);
        let effect = effect_on_rates(&paced(&record_that_follows)).expect("rates follow");
        assert!((effect.slope - 1.0).abs() < 0.05, "{effect:?}");
        let indifferent = record(slows, false);
        assert!(effect_on_rates(&paced(&indifferent)).is_none(), "rates do not follow");
    }

    #[test]
    fn turns_have_speeds_of_their_own() {
        let mut record = record(|_| 1.0, false);
        let windows =
            record.rounds.iter_mut().flat_map(|round| &mut round.runs).flat_map(|run| &mut run.cells);
        for window in windows {
            let mut turn = Turn { speed: window.speed.take(), ..Turn::default() };
            (turn.load.ok, turn.load.window_ns) = (200, Nanos::from_millis(100));
            window.turns = vec![turn; 3];
        }
        let paced = paced(&record);
        assert_eq!((paced.len(), paced[0].rate()), (36, Some(2000.0)));
    }

    #[test]
    fn one_slow_window_is_an_outlier() {
        let record = record(|number| if number == 5 { 0.7 } else { 1.0 }, false);
        let odd: Vec<usize> =
            (0..).zip(paced(&record)).filter(|(_, of)| of.is_outlier).map(|(i, _)| i).collect();
        assert_eq!(odd, [5]);
    }

    #[test]
    fn records_from_before_the_probe_say_nothing() {
        assert_eq!(check(&testing::record(&[("a", &[1000.0; 3])])), None);
    }
}
