//! The short windows in which the servers of a round take turns (docs/method/carousel.md#how-long-is-a-window).

use assay_model::record::{MAX_GENERATOR_DELAY_SHARE, Measurement, TimeTaken, Turn};
use assay_model::speed::Gauged;
use assay_model::units::{Nanos, total};
use assay_stats::gauge::Reading;

/// Fewest turns that show how long a contender needs to settle.
const LEAST_TURNS: usize = 8;
/// A rate that is nearer than this to what it is later counts as settled, as a logarithm.
const NEAR: f64 = 0.01;
/// Standard errors by which an early rate must differ from the later one to be shown to.
const SURE: f64 = 2.5;
/// Rotations for each turn that a record may claim: whoever failed for a while is missing in some, but not in nearly all.
const MAX_GAPS: usize = 100;
/// Most that is reckoned with of what others took of a turn, whatever a record says.
const MAX_TAKEN: f64 = 0.9;
/// Slices whose rate is set against the later one: as many as make an answer or two of a slow server no matter.
const STRETCH: usize = 4;

/// From where on a contender's turns count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counting {
    /// Load in a turn that does not count, instead of what was ordered; absent where the slices do not tell.
    pub(crate) settle: Option<Nanos>,
    /// The first rotation that counts: connections and pools that are new make those before it slow, however old the server.
    pub(crate) opening: u32,
    /// Load that a life must have behind it.
    pub(crate) warm: Nanos,
}

impl Counting {
    /// Right answers per second in a turn; none before it counts, and when nothing came.
    pub(crate) fn rate(&self, turn: &Turn) -> Option<f64> {
        self.counts(turn).then(|| rate_after(turn, self.settle)).flatten()
    }

    /// The part of a turn that is measured, if it counts.
    pub(crate) fn length(&self, turn: &Turn) -> Nanos {
        if self.counts(turn) { part_after(turn, self.settle).1 } else { Nanos::ZERO }
    }

    /// The rule with cold turns among those that count.
    pub(crate) fn with_cold(self) -> Self {
        Self { opening: 0, warm: Nanos::ZERO, ..self }
    }

    fn counts(&self, turn: &Turn) -> bool {
        turn.rotation >= self.opening && turn.loaded_ns >= self.warm
    }

    /// The rule for some turns, of which the second half always counts: the others were held against it, not it against them.
    pub(crate) fn of(self, turns: &[Turn]) -> Self {
        let Some(late) = turns.get(turns.len() / 2) else { return self };
        Self { opening: self.opening.min(late.rotation), warm: self.warm.min(late.loaded_ns), ..self }
    }
}

/// How long a contender must be under load until its rate no longer depends on it, as its `turns` show; at least `least`, and
/// at most until the second half of what they measured. Where too few of them tell, it is what was ordered: of a server whose answers are
/// slow nothing comes at first, and more was ordered for that reason.
pub fn settle_of(turns: &[&Turn], least: Nanos) -> Nanos {
    let Some(interval) =
        turns.first().map(|turn| turn.load.slices.interval_ns).filter(|ns| *ns > Nanos::ZERO)
    else {
        return least;
    };
    let whole = |length: Nanos| usize::try_from(length.0.div_ceil(interval.0)).unwrap_or(usize::MAX);
    let first = whole(least);
    let late = turns.iter().map(|turn| late_from(turn, interval)).min().unwrap_or(0);
    let ordered = turns.iter().map(|turn| whole(turn.load.settle_ns)).min();
    let settled = (first..late).find_map(|slice| match is_settled(turns, slice, late) {
        None => ordered.map(|ordered| ordered.clamp(first, late)),
        Some(is_settled) => is_settled.then_some(slice),
    });
    Nanos(interval.0.saturating_mul(settled.unwrap_or(late.max(first)) as u64))
}

/// Right answers per second in a window as it was ordered, while what counts of it is not known yet; `None` when there was none.
pub fn throughput(window: &Measurement) -> Option<f64> {
    if !window.turns.is_empty() {
        return typical_rate(window, &Counting::default());
    }
    Some(window.load.window_ns.rate_of(window.load.window.ok)).filter(|rate| *rate > 0.0)
}

/// The logarithm of the rate of each turn of a window that counts, by rotation; none where others took too much of it, or nothing
/// came. In records from before turns told that, only the generator's waiting is known, and nothing beside a database or an upstream,
/// for which it waits by plan.
pub(crate) fn log_rates(window: &Measurement, counting: &Counting) -> Vec<Option<f64>> {
    by_rotation(window, |turn| {
        is_undisturbed(window, turn).then(|| counting.rate(turn).map(f64::ln)).flatten()
    })
}

/// The part of a window's turns that is measured and counts.
pub(crate) fn counting_length(window: &Measurement, counting: &Counting) -> Nanos {
    let undisturbed = window.turns.iter().filter(|turn| is_undisturbed(window, turn));
    undisturbed.map(|turn| counting.length(turn)).sum()
}

/// Whether others left a turn of a window enough of its time.
fn is_undisturbed(window: &Measurement, turn: &Turn) -> bool {
    match turn.taken {
        Some(_) => !turn.is_void(),
        None => {
            turn.load.generator_delay_share <= MAX_GENERATOR_DELAY_SHARE
                || window.beside_generator().next().is_some()
        }
    }
}

/// What the gauge showed in the part of each turn that counts, by rotation, as [`log_rates`] has them; none where it was not read.
pub(crate) fn readings(window: &Measurement, counting: &Counting) -> Vec<Option<Reading>> {
    by_rotation(window, |turn| reading(turn, turn.gauged.as_ref()?, counting))
}

fn by_rotation<T: Clone>(window: &Measurement, of: impl Fn(&Turn) -> Option<T>) -> Vec<Option<T>> {
    let turns = &window.turns;
    let rotations = turns.iter().map(|turn| turn.rotation as usize + 1).max().unwrap_or(0);
    let mut all = vec![None; rotations.min(turns.len() * MAX_GAPS)];
    for turn in turns {
        if let (Some(place), Some(found)) = (all.get_mut(turn.rotation as usize), of(turn)) {
            *place = Some(found);
        }
    }
    all
}

/// The means of the gauge's logarithms, and what others took; that of the generator is 0 where it has no CPU of its own.
fn reading(turn: &Turn, gauged: &Gauged, counting: &Counting) -> Option<Reading> {
    let ends = turn.load.settle_ns + turn.load.window_ns;
    let begins = counting.settle.unwrap_or(turn.load.settle_ns);
    let counts = |interval: usize| {
        let at = Nanos(gauged.interval_ns.0.saturating_mul(interval as u64));
        (begins..ends).contains(&at)
    };
    let mean = |readings: &[Nanos]| {
        let read = readings.iter().enumerate().filter(|(interval, ns)| counts(*interval) && ns.0 > 0);
        let (sum, count) =
            read.fold((0.0, 0_u32), |(sum, count), (_, ns)| (sum + (ns.0 as f64).ln(), count + 1));
        (count > 0).then(|| sum / f64::from(count))
    };
    let generator = if gauged.generator_ns.is_empty() { Some(0.0) } else { mean(&gauged.generator_ns) };
    let TimeTaken { steal_share, server_other_share, generator_delay_share } = turn.taken.unwrap_or_default();
    let longer = |shares: &[f64]| {
        let taken: f64 = shares.iter().map(|share| share.clamp(0.0, MAX_TAKEN)).sum();
        -(1.0 - taken.min(MAX_TAKEN)).ln()
    };
    let (of_server, of_generator) =
        (longer(&[steal_share, server_other_share]), longer(&[generator_delay_share]));
    Some([mean(&gauged.server_ns)?, generator?, of_server, of_generator])
}

/// The rate of a window that is made of turns: that of the middle one, which no outlier moves.
pub(crate) fn typical_rate(window: &Measurement, counting: &Counting) -> Option<f64> {
    let rates: Vec<f64> = log_rates(window, counting).into_iter().flatten().collect();
    assay_stats::robust::median(&rates).ok().map(f64::exp)
}

/// The first slice of the second half of what a turn measured.
fn late_from(turn: &Turn, interval: Nanos) -> usize {
    let half = turn.load.settle_ns.0.saturating_add(turn.load.window_ns.0 / 2);
    usize::try_from(half / interval.0.max(1)).unwrap_or(usize::MAX).min(turn.load.slices.ok.len())
}

/// Whether the rate from `slice` on is not shown to differ from that of the late slices, turn by turn; `None` where too few turns tell.
fn is_settled(turns: &[&Turn], slice: usize, late: usize) -> Option<bool> {
    let differences: Vec<f64> = turns
        .iter()
        .filter_map(|turn| {
            let slices = &turn.load.slices.ok;
            let early = mean(slices.get(slice..(slice + STRETCH).min(late))?)?;
            Some((early / mean(slices.get(late..)?)?).ln())
        })
        .filter(|difference| difference.is_finite())
        .collect();
    (differences.len() >= LEAST_TURNS).then(|| shown_shift(&differences) == 0.0)
}

/// The mean of differences of log rates, where they are shown to differ from zero by more than anybody minds; else 0.
pub(crate) fn shown_shift(differences: &[f64]) -> f64 {
    let n = differences.len() as f64;
    let center = differences.iter().sum::<f64>() / n;
    let variance = differences.iter().map(|d| (d - center).powi(2)).sum::<f64>() / (n - 1.0);
    if center.abs() > NEAR.max(SURE * (variance / n).sqrt()) { center } else { 0.0 }
}

fn mean(slices: &[u64]) -> Option<f64> {
    (!slices.is_empty()).then(|| total(slices.iter().copied()) as f64 / slices.len() as f64)
}

pub(crate) fn rate_after(turn: &Turn, settle: Option<Nanos>) -> Option<f64> {
    let (ok, length) = part_after(turn, settle);
    Some(length.rate_of(ok)).filter(|rate| *rate > 0.0)
}

/// Right answers after so much load, and how long that part is; what was ordered where the slices do not tell.
fn part_after(turn: &Turn, settle: Option<Nanos>) -> (u64, Nanos) {
    let (load, slices) = (&turn.load, &turn.load.slices);
    let whole = (load.ok, load.window_ns);
    let Some(settle) = settle.filter(|_| slices.interval_ns > Nanos::ZERO) else { return whole };
    let first = usize::try_from(settle.0 / slices.interval_ns.0).unwrap_or(usize::MAX);
    let length = (load.settle_ns + load.window_ns) - settle;
    match slices.ok.get(first..) {
        Some(counted) if length > Nanos::ZERO => (total(counted.iter().copied()), length),
        _ => whole,
    }
}

#[cfg(test)]
mod tests {
    use assay_model::load::{LoadTurn, Series};
    use assay_model::record::DatabaseUsage;

    use super::*;
    use crate::testing;

    const SLICE: Nanos = Nanos::from_millis(10);

    fn slices(n: u64) -> Nanos {
        Nanos(SLICE.0 * n)
    }

    /// Turns of 60 ms of settling and 140 ms of window, with what comes in each slice of each.
    fn turns(of: impl Fn(u64, usize) -> u64) -> Vec<Turn> {
        let turn = |number: u64| Turn {
            load: LoadTurn {
                settle_ns: slices(6),
                window_ns: slices(14),
                slices: Series { interval_ns: SLICE, ok: (0..20).map(|slice| of(number, slice)).collect() },
                ..LoadTurn::default()
            },
            ..Turn::default()
        };
        (0..30).map(turn).collect()
    }

    fn settle(turns: &[Turn], least: Nanos) -> Nanos {
        settle_of(&turns.iter().collect::<Vec<_>>(), least)
    }

    /// A machine whose speed differs by a fifth between turns.
    fn speed(turn: u64) -> f64 {
        1.0 + 0.2 * (turn as f64 * 1.7).sin()
    }

    #[test]
    fn a_server_that_is_at_once_what_it_is_later_needs_no_more_than_is_asked_for() {
        let even = turns(|turn, slice| (1000.0 * speed(turn)) as u64 + slice as u64 % 3);
        assert_eq!(settle(&even, slices(2)), slices(2));
        assert_eq!(settle(&[], SLICE), SLICE);
    }

    #[test]
    fn a_server_that_wakes_slowly_gets_the_time_it_needs() {
        let slow = |until: usize| {
            turns(move |turn, slice| {
                ((if slice < until { 600.0 } else { 1000.0 }) * speed(turn)) as u64 + slice as u64 % 3
            })
        };
        assert_eq!(settle(&slow(5), slices(2)), slices(5));
        assert_eq!(settle(&slow(9), slices(2)), slices(9));
        // And one that starts with a burst.
        let burst = turns(|turn, slice| ((if slice < 3 { 2000.0 } else { 1000.0 }) * speed(turn)) as u64);
        assert_eq!(settle(&burst, SLICE), slices(3));
    }

    #[test]
    fn what_was_ordered_holds_where_turns_do_not_tell() {
        let slow = turns(|_, slice| if slice < 6 { 0 } else { 5 });
        assert_eq!(settle(&slow, slices(2)), slices(6), "nothing came before");
        let even = turns(|_, _| 10);
        assert_eq!(settle(&even[..3], slices(2)), slices(6), "too few");
        assert_eq!(settle(&even[..3], slices(8)), slices(8), "no less than is asked for");
    }

    #[test]
    fn a_turn_whose_generator_waited_counts_only_where_it_waits_for_a_database_by_plan() {
        let waited = |mut turn: Turn| {
            turn.load.ok = 100;
            turn.load.generator_delay_share = 0.3;
            turn
        };
        let turns = turns(|_, _| 10).into_iter().map(waited).collect();
        let window = testing::record(&[("a", &[1000.0])]).rounds[0].runs[0].cells[0].clone();
        let mut window = Measurement { turns, ..window };
        assert_eq!(typical_rate(&window, &Counting::default()), None);
        let usage = Default::default();
        window.database = Some(DatabaseUsage { usage, beside_generator: true });
        assert!(typical_rate(&window, &Counting::default()).is_some());
    }

    #[test]
    fn what_others_took_is_read_with_the_gauge() {
        let gauged = Gauged { interval_ns: SLICE, server_ns: vec![Nanos(100); 20], ..Gauged::default() };
        let taken = TimeTaken { steal_share: 0.15, server_other_share: 0.05, generator_delay_share: 0.1 };
        let turn = |turn: Turn| Turn { taken: Some(taken), load: LoadTurn { ok: 100, ..turn.load }, ..turn };
        let window = testing::record(&[("a", &[1000.0])]).rounds[0].runs[0].cells[0].clone();
        let of = |gauged: Option<Gauged>| {
            let turns = turns(|_, _| 10).into_iter().take(1).map(turn);
            let turns = turns.map(|turn| Turn { gauged: gauged.clone(), ..turn });
            let window = Measurement { turns: turns.collect(), ..window.clone() };
            (
                readings(&window, &Counting::default())[0],
                log_rates(&window, &Counting::default())[0].is_some(),
            )
        };
        let (reading, counts) = of(Some(gauged));
        let longer = |left: f64| -left.ln();
        let expected = [100_f64.ln(), 0.0, longer(0.8), longer(0.9)];
        let is_near =
            |reading: Reading| reading.iter().zip(expected).all(|(of, want)| (of - want).abs() < 1e-12);
        assert!(counts && reading.is_some_and(is_near), "{reading:?}");
        assert_eq!(of(None), (None, false), "nothing to take it out by");
    }

    #[test]
    fn readings_are_those_of_the_part_that_counts() {
        let gauged = |server: &[u64], generator: &[u64]| Gauged {
            interval_ns: SLICE,
            used_ns: Nanos::ZERO,
            server_ns: server.iter().copied().map(Nanos).collect(),
            generator_ns: generator.iter().copied().map(Nanos).collect(),
        };
        let of = |gauged: Gauged, counting: &Counting| {
            let turns = turns(|_, _| 10).into_iter().take(1);
            let turns = turns.map(|turn| Turn { gauged: Some(gauged.clone()), ..turn }).collect();
            let window = testing::record(&[("a", &[1000.0])]).rounds[0].runs[0].cells[0].clone();
            readings(&Measurement { turns, ..window }, counting)
        };
        // Six slices of settling, then one that was missed.
        let cut = [500, 500, 500, 500, 500, 500, 0, 100, 100];
        assert_eq!(of(gauged(&cut, &[]), &Counting::default()), [Some([100_f64.ln(), 0.0, 0.0, 0.0])]);
        let settled = Counting { settle: Some(slices(8)), ..Counting::default() };
        let both = gauged(&[500, 500, 500, 500, 500, 500, 500, 500, 200], &[7, 7, 7, 7, 7, 7, 7, 7, 9]);
        assert_eq!(of(both.clone(), &settled), [Some([200_f64.ln(), 9_f64.ln(), 0.0, 0.0])]);
        let late = Counting { settle: Some(slices(9)), ..Counting::default() };
        assert_eq!(of(both, &late), [None], "no reading in the part that counts");
        assert_eq!(of(gauged(&cut, &[1]), &Counting::default()), [None], "the generator's CPU was not read");
    }

    #[test]
    fn noise_shows_nothing() {
        let noisy = turns(|turn, slice| 500 + (turn * 7919 + slice as u64 * 104_729) % 1000);
        assert_eq!(settle(&noisy, slices(2)), slices(2));
    }
}
