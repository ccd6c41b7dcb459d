//! Control variates: what a gauge of the CPUs explains of the rates of windows is taken out of them.
//!
//! A gauge does a fixed piece of work on the same CPUs in the midst of each window and tells how long that took; the kernel counts how much of
//! the CPUs' time others took meanwhile. Rates are regressed on both within the lives of a contender. What this explains is the machine's
//! doing and is subtracted; the residual is what the contender does by itself
//! (Lavenberg & Welch, *Management Science* 27, 1981; Deng et al., *CUPED*, WSDM 2013). On a machine whose speed changes within
//! seconds, a tenth to a third of the variance is left for most servers (docs/results/gauge.md).
//!
//! Two errors have to be kept out:
//! - *A restart must not be explained away.* Slopes are estimated from windows of one life, never across restarts: over three restarts
//!   any covariate would explain something.
//! - *A gauge may depend on the server beside it*, by what that leaves in the caches. Such a bias cannot be told from chance in the
//!   machine's speed, but is known to be small ([`BIAS`]). Of the mean differences between contenders' readings, only the share is taken
//!   out that is expected of chance, and what stays unknown makes intervals wider ([`Adjusted::unseen`]). On a steady machine nearly
//!   nothing is taken out and nearly nothing added.

use std::array::from_fn;
use std::collections::BTreeMap;

use crate::StatsError;
use crate::robust::{huber_weight, middle, spread_of};
use crate::table::{Table, Windows, inverse};

/// Bias of a gauge's readings by the server beside it, as a standard deviation of logarithms.
pub const BIAS: f64 = 0.01;
/// Prior standard deviations of the slopes about 0: a CPU that is a tenth slower makes a server about as much slower. A generator that waits
/// makes it wait only where all requests in flight are answered meanwhile.
const SLOPE_SD: Reading = [1.0, 1.0, 1.0, 0.5];
/// Prior standard deviations of a contender's own slopes about those of all.
const OWN_SLOPE_SD: Reading = [0.5, 0.5, 0.5, 0.25];
/// Steepest slope: no server gets slower by more than the third power on a slower machine, and none gets faster.
const STEEPEST: f64 = -3.0;
/// Least spread of windows that is believed, as a standard deviation of logarithms.
const LEAST_SPREAD: f64 = 0.005;
/// Iterations of the fit, each weighted by the residuals of the one before.
const SWEEPS: usize = 6;

/// Covariates of a window.
const SEEN: usize = 4;

/// Covariates of a window: how slow the machine was in it, as logarithms of times that a given piece of work takes. They are, in order, the
/// time of the gauge's work on the CPUs of the server, and on those of the generator; by how much longer anything takes the server because
/// others took of its CPUs' time, and the generator because it waited for its CPU. What is not known of any window is 0.
pub type Reading = [f64; SEEN];

/// Readings by block and window, as [`Windows`] are; `None` where none was taken.
pub type Readings = Vec<Vec<Option<Reading>>>;

/// A contender in one table, or one of its processes.
#[derive(Debug, Clone, PartialEq)]
pub struct Gauged {
    /// The number of the contender in the run; the same in all tables, and for its A/A control.
    pub contender: usize,
    /// Windows of the contender.
    pub windows: Windows,
    /// Readings in these windows.
    pub readings: Readings,
}

/// The windows of one table without what the gauge explains.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Adjusted {
    /// Windows of each contender, or of each of its processes, in the order given.
    pub windows: Vec<Windows>,
    /// Variance of the level of each that restarts do not show: how unsure the machine's part in it is.
    pub unseen: Vec<f64>,
}

/// What the gauge explains of a whole run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Explained {
    /// Adjusted tables, in the order given.
    pub tables: Vec<Adjusted>,
    /// Share of the variance of windows within lives that the gauge explains, 0 to 1; absent where no window has a reading.
    pub share: Option<f64>,
    /// How each contender follows the gauge, by number.
    pub followers: BTreeMap<usize, Follower>,
}

/// Residual of a window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Left {
    /// How slow the machine was in the window.
    pub reading: Reading,
    /// Difference of its logarithmic rate from the median of its life, both without what the gauge explains.
    pub difference: f64,
}

/// How the rates of one contender follow the gauge.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Follower {
    /// Windows of lives that have several.
    pub windows: usize,
    /// Per cent by which the rate rises when work takes one per cent longer, for each covariate.
    pub slope: Reading,
    /// Standard deviations of windows within lives, before and after what the gauge explains is taken out, of logarithms.
    pub window_sd: [f64; 2],
    /// Mean difference of the contender's readings from those of all in the same rotations, with its standard error, for each covariate.
    pub beside: [(f64, f64); SEEN],
}

impl Adjusted {
    /// The table of these windows, fitted by [`Table::fit_replicas`].
    ///
    /// # Errors
    /// As [`Table::fit_replicas`].
    pub fn table(self, contender_of: &[usize], round_of: &[usize]) -> Result<Table, StatsError> {
        let table = Table::fit_replicas(&self.windows, contender_of, round_of)?;
        // The gauge errs alike beside all processes of a contender.
        let unseen = |contender| {
            let row = contender_of.iter().position(|of| *of == contender);
            row.and_then(|row| self.unseen.get(row)).copied().unwrap_or_default()
        };
        let unseen = (0..table.contenders()).map(unseen).collect();
        Ok(table.with_unseen(unseen))
    }
}

/// Takes out of all tables of a run what the gauge explains.
pub fn explain(tables: &[&[Gauged]]) -> Explained {
    let (slopes, lucks) = (Slopes::fit(tables), lucks(tables));
    let beside =
        |contender: &usize| lucks.get(contender).map(|luck| luck.map(|of| (of.mean, of.variance.sqrt())));
    let follower = |(contender, of): (&usize, &Follower)| {
        (*contender, Follower { beside: beside(contender).unwrap_or_default(), ..*of })
    };
    Explained {
        share: slopes.explained,
        tables: tables.iter().map(|table| adjusted(table, &slopes, &lucks)).collect(),
        followers: slopes.followers.iter().map(follower).collect(),
    }
}

/// Residuals of all windows of lives that have several.
pub fn left(tables: &[&[Gauged]]) -> Vec<Left> {
    following(tables).values().flat_map(Following::left).collect()
}

/// Slopes of all contenders, and the share of the variance that they explain.
#[derive(Debug, Default)]
struct Slopes {
    followers: BTreeMap<usize, Follower>,
    explained: Option<f64>,
}

/// Windows of one life that have a reading.
struct Life {
    rates: Vec<f64>,
    readings: Vec<Reading>,
}

/// The lives of one contender in all tables, with slopes and spread as fitted so far.
struct Following {
    lives: Vec<Life>,
    slope: Reading,
    spread: f64,
}

/// Normal equations of a regression of rates on readings within lives.
#[derive(Clone, Copy, Default)]
struct Normal {
    squares: [[f64; SEEN]; SEEN],
    products: [f64; SEEN],
}

impl Slopes {
    fn fit(tables: &[&[Gauged]]) -> Self {
        let contenders = following(tables);
        Self {
            explained: explained(contenders.values()),
            followers: contenders.into_iter().map(|(i, following)| (i, following.told())).collect(),
        }
    }
}

/// The contenders of all tables, by number, with their slopes fitted.
fn following(tables: &[&[Gauged]]) -> BTreeMap<usize, Following> {
    let mut contenders: BTreeMap<usize, Following> = BTreeMap::new();
    for gauged in tables.iter().copied().flatten() {
        let following = contenders.entry(gauged.contender).or_insert_with(Following::new);
        following.lives.extend(lives_of(gauged));
    }
    contenders.retain(|_, following| !following.lives.is_empty());
    for _ in 0..SWEEPS {
        contenders.values_mut().for_each(Following::weigh);
        let normals: Vec<Normal> = contenders.values().map(Following::normal).collect();
        let common = normals.iter().fold(Normal::default(), |sum, of| sum.plus(of));
        let common = common.solved([0.0; SEEN], SLOPE_SD);
        for (following, normal) in contenders.values_mut().zip(&normals) {
            following.slope = normal.solved(common, OWN_SLOPE_SD).map(|slope| slope.clamp(STEEPEST, 0.0));
        }
    }
    contenders
}

/// The share of the variance of all windows within their lives that slopes explain; `None` where nothing varies.
fn explained<'f>(contenders: impl Iterator<Item = &'f Following> + Clone) -> Option<f64> {
    let before: f64 = contenders.clone().map(|of| of.squares([0.0; SEEN])).sum();
    let after: f64 = contenders.map(|of| of.squares(of.slope)).sum();
    (before > 0.0).then(|| (1.0 - after / before).max(0.0))
}

fn lives_of(gauged: &Gauged) -> impl Iterator<Item = Life> {
    gauged.windows.iter().zip(&gauged.readings).filter_map(|(windows, readings)| {
        let both = windows.iter().zip(readings).filter_map(|(rate, reading)| Some(((*rate)?, (*reading)?)));
        let (rates, readings): (Vec<f64>, Vec<Reading>) = both.unzip();
        (rates.len() > 1).then_some(Life { rates, readings })
    })
}

impl Life {
    /// Residuals of the windows, about their median.
    fn left(&self, slope: Reading) -> impl Iterator<Item = f64> {
        let free: Vec<f64> = self
            .rates
            .iter()
            .zip(&self.readings)
            .map(|(rate, reading)| rate - dot(slope, *reading))
            .collect();
        let middle = middle(&mut free.clone()).unwrap_or(0.0);
        free.into_iter().map(move |free| free - middle)
    }
}

impl Following {
    fn new() -> Self {
        Self { lives: Vec::new(), slope: [0.0; SEEN], spread: f64::INFINITY }
    }

    fn told(&self) -> Follower {
        let windows: usize = self.lives.iter().map(|life| life.rates.len()).sum();
        let independent = windows.saturating_sub(self.lives.len()).max(1) as f64;
        let window_sd = [[0.0; SEEN], self.slope].map(|slope| (self.squares(slope) / independent).sqrt());
        Follower { windows, slope: self.slope, window_sd, ..Follower::default() }
    }

    fn left(&self) -> impl Iterator<Item = Left> + '_ {
        let of_life = |life: &Life| {
            let differences: Vec<f64> = life.left(self.slope).collect();
            let left = |(reading, difference): (&Reading, f64)| Left { reading: *reading, difference };
            life.readings.iter().zip(differences).map(left).collect::<Vec<Left>>()
        };
        self.lives.iter().flat_map(of_life)
    }

    /// Sum of the squared residuals.
    fn squares(&self, slope: Reading) -> f64 {
        self.lives.iter().flat_map(|life| life.left(slope)).map(|left| left * left).sum()
    }

    fn weigh(&mut self) {
        let left = self.lives.iter().flat_map(|life| life.left(self.slope));
        self.spread = spread_of(&mut left.map(f64::abs).collect::<Vec<f64>>()).max(LEAST_SPREAD);
    }

    /// The normal equations, each window with a Huber weight by its residual.
    fn normal(&self) -> Normal {
        let mut normal = Normal::default();
        if !self.spread.is_finite() {
            return normal;
        }
        for life in &self.lives {
            let weights: Vec<f64> = life
                .left(self.slope)
                .map(|left| huber_weight(left, self.spread) / self.spread.powi(2))
                .collect();
            let mean = |of: &dyn Fn(usize) -> f64| {
                let sum: f64 = weights.iter().enumerate().map(|(k, weight)| weight * of(k)).sum();
                sum / weights.iter().sum::<f64>()
            };
            let rate = mean(&|k| life.rates[k]);
            let reading = from_fn(|of| mean(&|k| life.readings[k][of]));
            for ((weight, own), at) in weights.iter().zip(&life.rates).zip(&life.readings) {
                normal.add(*weight, away(*at, reading), own - rate);
            }
        }
        normal
    }
}

impl Normal {
    fn add(&mut self, weight: f64, reading: Reading, rate: f64) {
        for i in 0..SEEN {
            self.products[i] += weight * reading[i] * rate;
            for j in 0..SEEN {
                self.squares[i][j] += weight * reading[i] * reading[j];
            }
        }
    }

    fn plus(self, other: &Self) -> Self {
        let mut sum = self;
        for i in 0..SEEN {
            sum.products[i] += other.products[i];
            (0..SEEN).for_each(|j| sum.squares[i][j] += other.squares[i][j]);
        }
        sum
    }

    /// The slopes, where their prior has the means `expected` and these standard deviations.
    fn solved(&self, expected: Reading, sd: Reading) -> Reading {
        let (mut squares, mut products) = (self.squares, self.products);
        for i in 0..SEEN {
            let belief = sd[i].powi(-2);
            squares[i][i] += belief;
            products[i] += belief * expected[i];
        }
        let inverse = inverse(squares.map(Vec::from).to_vec());
        from_fn(|i| inverse[i].iter().zip(products).map(|(of, product)| of * product).sum())
    }
}

/// One table without what the gauge explains.
fn adjusted(table: &[Gauged], slopes: &Slopes, lucks: &BTreeMap<usize, [Luck; SEEN]>) -> Adjusted {
    let usual: Reading = from_fn(|of| {
        let all = table.iter().flat_map(known).map(|(_, reading)| reading[of]);
        middle(&mut all.collect::<Vec<f64>>()).unwrap_or(0.0)
    });
    let mut adjusted = Adjusted::default();
    for gauged in table {
        let slope = slopes.followers.get(&gauged.contender).map_or([0.0; SEEN], |follower| follower.slope);
        let luck = lucks.get(&gauged.contender).copied().unwrap_or_default();
        let expected = from_fn(|of| usual[of] + luck[of].bias());
        let free = |rate: &Option<f64>, reading: Option<&Option<Reading>>| {
            let from = reading.copied().flatten().map_or([0.0; SEEN], |reading| away(reading, expected));
            rate.map(|rate| rate - dot(slope, from))
        };
        let of_block = |(block, rates): (usize, &Vec<Option<f64>>)| {
            let readings = gauged.readings.get(block);
            rates.iter().enumerate().map(|(k, rate)| free(rate, readings.and_then(|of| of.get(k)))).collect()
        };
        adjusted.windows.push(gauged.windows.iter().enumerate().map(of_block).collect());
        adjusted
            .unseen
            .push(slope.iter().zip(luck).map(|(slope, luck)| slope.powi(2) * luck.unknown()).sum());
    }
    adjusted
}

/// Mean deviation of a contender's readings from those of all in the same rotations, over the run.
#[derive(Clone, Copy, Default)]
struct Luck {
    mean: f64,
    /// Variance of that mean by chance.
    variance: f64,
}

impl Luck {
    /// Share of the deviation that is chance in the machine's speed, and no bias of the gauge.
    fn share(self) -> f64 {
        self.variance / (self.variance + BIAS.powi(2))
    }

    /// Expected bias of the gauge beside this contender.
    fn bias(self) -> f64 {
        (1.0 - self.share()) * self.mean
    }

    /// Variance with which that bias is known.
    fn unknown(self) -> f64 {
        self.share() * BIAS.powi(2)
    }
}

/// Deviations of the readings of each contender, over all tables: the bias beside it is the same in all of them.
fn lucks(tables: &[&[Gauged]]) -> BTreeMap<usize, [Luck; SEEN]> {
    let mut deviations: BTreeMap<usize, [Vec<f64>; SEEN]> = BTreeMap::new();
    for table in tables {
        for (contender, reading) in table.iter().flat_map(|gauged| beside_all(gauged, table)) {
            let of = deviations.entry(contender).or_default();
            of.iter_mut().zip(reading).for_each(|(of, deviation)| of.push(deviation));
        }
    }
    let variances: [f64; SEEN] = from_fn(|seen| within(deviations.values().map(|of| of[seen].as_slice())));
    let luck = |of: &[f64], variance: f64| Luck {
        mean: mean(of).unwrap_or(0.0),
        variance: variance / of.len().max(1) as f64,
    };
    deviations
        .into_iter()
        .map(|(contender, of)| (contender, from_fn(|seen| luck(&of[seen], variances[seen]))))
        .collect()
}

/// Differences of a contender's readings from the mean of all in the same rotation.
fn beside_all<'t>(gauged: &'t Gauged, table: &'t [Gauged]) -> impl Iterator<Item = (usize, Reading)> + 't {
    known(gauged).map(move |((block, rotation), reading)| {
        let at = |of: &Gauged| *of.readings.get(block)?.get(rotation)?;
        let all: Vec<Reading> = table.iter().filter_map(at).collect();
        let usual =
            |seen: usize| mean(&all.iter().map(|of| of[seen]).collect::<Vec<f64>>()).unwrap_or_default();
        (gauged.contender, away(reading, from_fn(usual)))
    })
}

/// The pooled variance within groups of numbers.
fn within<'n>(groups: impl Iterator<Item = &'n [f64]>) -> f64 {
    let (mut squares, mut independent) = (0.0, 0.0);
    for group in groups {
        let Some(mean) = mean(group) else { continue };
        squares += group.iter().map(|of| (of - mean).powi(2)).sum::<f64>();
        independent += group.len() as f64 - 1.0;
    }
    if independent > 0.0 { squares / independent } else { 0.0 }
}

/// The readings of windows that count, with the block and the rotation of each.
fn known(gauged: &Gauged) -> impl Iterator<Item = ((usize, usize), Reading)> {
    gauged.windows.iter().zip(&gauged.readings).enumerate().flat_map(|(block, (windows, readings))| {
        let both = windows.iter().zip(readings).enumerate();
        both.filter_map(move |(rotation, (rate, reading))| Some(((block, rotation), rate.and(*reading)?)))
    })
}

fn mean(of: &[f64]) -> Option<f64> {
    (!of.is_empty()).then(|| of.iter().sum::<f64>() / of.len() as f64)
}

fn dot(slope: Reading, reading: Reading) -> f64 {
    slope.iter().zip(reading).map(|(slope, of)| slope * of).sum()
}

fn away(reading: Reading, usual: Reading) -> Reading {
    from_fn(|of| reading[of] - usual[of])
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha8Rng;
    use chacha20::rand_core::SeedableRng as _;
    use rand::RngExt as _;

    use super::*;
    use crate::simulation::{Phased, Trials, Truth as _, ladder, normal};
    use crate::table::Components;

    fn phased(gauge_bias_sd: Option<f64>, step: f64) -> Phased {
        let contenders = ladder(7, step, 0.015, 0.05);
        Phased { contenders, rounds: 3, rotations: 5, are_others_at_work: false, gauge_bias_sd }
    }

    fn window_sd(table: &[Gauged], explained: bool) -> f64 {
        let windows = match explained {
            true => explain(&[table]).tables.remove(0).windows,
            false => table.iter().map(|gauged| gauged.windows.clone()).collect(),
        };
        Components::of_run(&[Table::fit(&windows).unwrap()]).unwrap().window_sd
    }

    #[test]
    fn what_the_machine_does_is_taken_out_and_what_servers_do_is_left() {
        let table = phased(Some(0.0), 1.0).observe(&mut ChaCha8Rng::seed_from_u64(1));
        let explained = explain(&[&table]);
        assert!(explained.share.unwrap() > 0.6, "{:?}", explained.share);
        let (before, after) = (window_sd(&table, false), window_sd(&table, true));
        assert!(
            after < 0.7 * before && (0.04..0.09).contains(&after),
            "{before} {after}, of which 0.05 is its own"
        );
    }

    /// Other programs take up to a quarter of every second turn, which no gauge sees.
    #[test]
    fn time_that_others_took_is_taken_out() {
        let rng = &mut ChaCha8Rng::seed_from_u64(7);
        let mut disturbed = |contender: usize| {
            let mut windows = |_| -> (Vec<Option<f64>>, Vec<Option<Reading>>) {
                let of = |rotation: usize| {
                    let longer = if rotation.is_multiple_of(2) { 0.28 * rng.random::<f64>() } else { 0.0 };
                    let rate = 0.2 * contender as f64 - 1.3 * longer + 0.02 * normal(rng);
                    (Some(rate), Some([0.0, 0.0, longer, 0.0]))
                };
                (0..10).map(of).unzip()
            };
            let (windows, readings) = (0..4).map(&mut windows).unzip();
            Gauged { contender, windows, readings }
        };
        let table: Vec<Gauged> = (0..3).map(&mut disturbed).collect();
        let explained = explain(&[&table]);
        let (before, after) = (window_sd(&table, false), window_sd(&table, true));
        assert!(before > 0.05 && after < 0.03, "{before} {after}");
        for (contender, follower) in &explained.followers {
            let [server, generator, taken, waited] = follower.slope;
            assert_eq!((server, generator, waited), (0.0, 0.0, 0.0), "{contender}");
            assert!((-1.45..=-1.15).contains(&taken), "{contender}: {taken}");
        }
        let fitted = Table::fit(&explained.tables[0].windows).unwrap();
        let apart = fitted.effect(2).unwrap() - fitted.effect(0).unwrap();
        assert!((apart - 0.4).abs() < 0.03, "{apart}");
        let left: Vec<f64> = left(&[&table]).iter().map(|left| left.difference).collect();
        assert!(left.len() == 120 && left.iter().all(|left| left.abs() < 0.1), "{left:?}");
    }

    #[test]
    fn a_system_is_solved() {
        let squares =
            [[4.0, 1.0, 0.0, 0.5], [1.0, 3.0, 1.0, 0.0], [0.0, 1.0, 5.0, 1.0], [0.5, 0.0, 1.0, 2.0]];
        let normal = Normal { squares, products: [8.0, 10.0, 21.0, 11.5] };
        let solution = normal.solved([0.0; SEEN], [1e9; SEEN]);
        // The right side is what (1, 2, 3, 4) makes.
        assert!(
            solution.iter().zip([1.0, 2.0, 3.0, 4.0]).all(|(found, of)| (found - of).abs() < 1e-12),
            "{solution:?}"
        );
    }

    #[test]
    fn restarts_are_not_explained_away() {
        // One window in each life, whose reading goes along with it by chance.
        let windows = vec![vec![Some(1.0)], vec![Some(0.8)], vec![Some(0.9)]];
        let readings = [0.0, 0.2, 0.1].map(|slower| vec![Some([slower, 0.0, 0.0, 0.0])]).to_vec();
        let table = [0, 1].map(|contender| Gauged {
            contender,
            windows: windows.clone(),
            readings: readings.clone(),
        });
        let explained = explain(&[&table]);
        assert_eq!((&explained.tables[0].windows[0], explained.share), (&windows, None));
        assert_eq!(explained.tables[0].unseen, [0.0, 0.0]);
    }

    #[test]
    fn what_was_not_gauged_stays_as_it_is() {
        let table = phased(None, 1.1).observe(&mut ChaCha8Rng::seed_from_u64(2));
        let explained = explain(&[&table]);
        let windows: Vec<Windows> = table.into_iter().map(|gauged| gauged.windows).collect();
        assert_eq!(explained.tables[0], Adjusted { windows, unseen: vec![0.0; 7] });
        assert!(explain(&[]).tables.is_empty());
    }

    #[test]
    fn readings_that_say_nothing_change_next_to_nothing() {
        let mut log_change = 0.0;
        for seed in 0..10 {
            let rng = &mut ChaCha8Rng::seed_from_u64(seed);
            let mut table = Phased { rotations: 20, ..phased(Some(0.0), 1.0) }.observe(rng);
            for reading in table.iter_mut().flat_map(|gauged| gauged.readings.iter_mut().flatten().flatten())
            {
                *reading = from_fn(|_| 0.05 * normal(rng));
            }
            log_change += (window_sd(&table, true) / window_sd(&table, false)).ln() / 10.0;
            assert!(explain(&[&table]).share.unwrap() < 0.1, "seed {seed}");
        }
        let change = log_change.exp();
        assert!((0.9..1.1).contains(&change), "{change}");
    }

    #[test]
    fn a_bias_of_the_gauge_moves_nobody_on_a_steady_machine() {
        let rng = &mut ChaCha8Rng::seed_from_u64(4);
        let steady = |contender: usize, rng: &mut ChaCha8Rng| {
            let bias = 0.02 * contender as f64;
            let mut windows = |_| -> (Vec<Option<f64>>, Vec<Option<Reading>>) {
                let of = |_| {
                    let slower = 0.005 * normal(rng);
                    (Some(-1.5 * slower), Some([bias + slower, 0.0, 0.0, 0.0]))
                };
                (0..20).map(of).unzip()
            };
            let (windows, readings) = (0..4).map(&mut windows).unzip();
            Gauged { contender, windows, readings }
        };
        let table: Vec<Gauged> = (0..2).map(|contender| steady(contender, rng)).collect();
        let explained = explain(&[&table]);
        let fitted = Table::fit(&explained.tables[0].windows).unwrap();
        let moved = fitted.effect(0).unwrap() - fitted.effect(1).unwrap();
        assert!(moved.abs() < 0.002, "{moved}, where readings differ by 0.02");
        assert!(explained.tables[0].unseen.iter().all(|unseen| unseen.sqrt() < 0.0015), "{explained:?}");
    }

    /// What `cargo xtask simulate phases` shows in thousands of runs.
    #[test]
    fn verdicts_on_a_machine_with_slow_phases_are_right_and_show_more() {
        let outcome = |world: Phased, seed: u64| {
            Trials::once(world, 4).outcome(60, &mut ChaCha8Rng::seed_from_u64(seed)).unwrap()
        };
        let equal = outcome(phased(Some(0.007), 1.0), 5);
        assert!(equal.false_runs <= 0.07 && equal.covered > 0.93, "{equal:?}");
        let [without, with] = [None, Some(0.007)].map(|gauge| outcome(phased(gauge, 1.3), 6));
        assert!(with.all_shown > 0.9 && without.all_shown < 0.6, "{with:?} {without:?}");
        assert!(with.covered > 0.93 && with.false_runs == 0.0, "{with:?}");
        let disturbed = |world: Phased| Phased { are_others_at_work: true, ..world };
        let equal = outcome(disturbed(phased(Some(0.007), 1.0)), 7);
        assert!(equal.false_runs <= 0.07 && equal.covered > 0.93, "{equal:?}");
        let shown = outcome(disturbed(phased(Some(0.007), 1.3)), 8);
        assert!(shown.all_shown > 0.8 && shown.false_runs == 0.0, "{shown:?}");
    }
}
