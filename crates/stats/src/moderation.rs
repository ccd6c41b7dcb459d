//! Moderated variances: what all pairs of a run say about how much restarts vary, lent to each pair that has few of its own.
//!
//! Five rounds give a pair's variance four degrees of freedom, and a t of 2.78 where 1.96 would do. But a run has many
//! pairs in many tables, and their variances are alike. So each is shrunk towards a prior that is fitted over all of them,
//! and gains the prior's degrees of freedom (Smyth, Stat. Appl. Genet. Mol. Biol. 3, 2004; limma, Ritchie et al., Nucleic
//! Acids Res. 43, 2015): with variances s² on d degrees and a prior s₀² worth d₀, the moderated variance is
//! (d₀ s₀² + d s²) / (d₀ + d) on d₀ + d degrees. Where variances differ by more than chance, d₀ is small and little is lent.
//!
//! **What windows add.** A life's level is uncertain by its windows already, and by how much is known well: there are many.
//! So the prior of a spread is the run's variance between restarts plus the spread's own share from windows, as limma lets
//! the prior follow a trend; and no spread is believed to be smaller than that share (Kalibera & Jones, ISMM 2013).
//!
//! **How it is fitted.** Under the model s² is the prior times an F variable with d and d₀ degrees. Moments of log s²,
//! Smyth's way, waste most of the information when d is 1 or 2, as it is after two or three rounds, so the likelihood of F
//! is maximised instead. d₀ is the least value that the likelihood does not speak against, because lending too much makes
//! errors, lending too little costs only power. Pairs of a table share contenders: n (n − 1) / 2 pairs weigh as the n − 1
//! independent ones.

use statrs::function::gamma::ln_gamma;

use crate::StatsError;
use crate::error::at_least;

/// Values of d₀ that are tried; beyond the last one more makes no difference.
const CANDIDATES: [f64; 17] =
    [0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 13.0, 17.0, 23.0, 32.0, 48.0, 80.0, 160.0];
/// By how much the log-likelihood of the d₀ that is used may fall short of the best one's.
const ALLOWED_FALL: f64 = 1.0;
/// By how much that of the greatest variance between restarts may: about one standard error.
const ONE_ERROR: f64 = 0.5;
/// Degrees of freedom that variances between restarts are worth to each other before any run: the most with which runs that are made of
/// measured lives keep their promises (docs/results/simulations.md#what-restarts-are-worth-to-each-other).
const BETWEEN: f64 = 3.0;
/// Most degrees of freedom that windows are worth by that rule, which matches variances and knows nothing of the heavy tails of
/// restarts: among 760 pairs of a run one in twelve was wrong without this limit.
const MOST_BY_WINDOWS: f64 = 24.0;
/// Degrees of freedom from which on a spread notices that it is not like the others.
const LEAST_OWN: f64 = 2.0;
/// Restarts that vary by less than a ten-thousandth of a percent are not told apart.
const LEAST_VARIANCE: f64 = 1e-12;
/// Restarts that vary by more than a factor of e³ are not looked for.
const MOST_VARIANCE: f64 = 9.0;
/// Steps of the search for the variance between restarts, each of which leaves 0.618 of the range.
const STEPS: usize = 24;

/// How much something varies from round to round, as far as its own rounds say.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Spread {
    /// The variance over rounds, of logarithms.
    pub variance: f64,
    /// Degrees of freedom of that variance; 0 where there are fewer than two rounds.
    pub degrees_of_freedom: f64,
    /// The part of it that comes from windows, by what windows vary within lives; 0 where a life has one window.
    pub within: f64,
    /// Degrees of freedom of that part: windows of all lives less one for each.
    pub of_windows: f64,
    /// Whether restarts vary far more in it than in others, as the run's tables say together ([`crate::table::restless()`]).
    pub is_restless: bool,
}

/// The spreads of one table.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// The spreads, one for each pair, or whatever is compared.
    pub spreads: Vec<Spread>,
    /// Degrees of freedom that they have together, less than their sum where they share contenders.
    pub independent: f64,
}

/// What a run knows of how much restarts vary, before a look at the pair in question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prior {
    /// What all spreads say, for those of restless contenders.
    pub all: Restarts,
    /// What the others say, for themselves; the same where nobody is restless.
    pub calm: Restarts,
    /// All degrees of freedom of the run, which no moderated variance exceeds.
    pub independent: f64,
}

/// How much restarts vary, as some spreads say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Restarts {
    /// The variance between restarts, of whatever was fitted (for pairs, that of a difference of two logarithms).
    pub between: f64,
    /// The greatest one that the spreads do not speak against.
    pub between_at_most: f64,
    /// Degrees of freedom that it is worth: d₀.
    pub degrees_of_freedom: f64,
    /// The most that the spreads do not speak against.
    pub degrees_of_freedom_at_most: f64,
}

/// A variance after moderation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moderated {
    /// The variance.
    pub variance: f64,
    /// Degrees of freedom of the variance, its own and those that were lent.
    pub degrees_of_freedom: f64,
}

impl Prior {
    /// Fits the prior over all tables of a run, or of several runs.
    ///
    /// # Errors
    /// [`StatsError::TooFew`] when there is no spread of two rounds.
    pub fn fit(groups: &[Group]) -> Result<Self, StatsError> {
        let weighed: Vec<(Spread, f64)> = groups.iter().flat_map(Group::weighed).collect();
        let all = Restarts::fit(&weighed)?;
        let (restless, calm): (Vec<_>, Vec<_>) =
            weighed.into_iter().partition(|(spread, _)| spread.is_restless);
        let calm = if restless.is_empty() || calm.is_empty() { all } else { Restarts::fit(&calm)? };
        Ok(Self { all, calm, independent: groups.iter().map(|group| group.independent).sum() })
    }

    /// A prior that lends nothing, for a spread that shall stand on its own rounds.
    pub const fn none() -> Self {
        let nothing = Restarts {
            between: 0.0,
            between_at_most: 0.0,
            degrees_of_freedom: 0.0,
            degrees_of_freedom_at_most: 0.0,
        };
        Self::alike(nothing, f64::INFINITY)
    }

    /// A prior of contenders none of whom is restless.
    pub const fn alike(restarts: Restarts, independent: f64) -> Self {
        Self { all: restarts, calm: restarts, independent }
    }

    /// Shrinks a spread towards the prior; `None` where nothing is known of it.
    ///
    /// The prior holds for spreads on the whole, and one contender may be far more restless than the others. Two rounds
    /// of one window are too few to notice that, so to them nothing is lent.
    pub fn moderate(&self, spread: &Spread) -> Option<Moderated> {
        let d = spread.degrees_of_freedom;
        let d0 = self.worth(spread);
        if d0 + d <= 0.0 {
            return None;
        }
        let variance = (d0 * (self.of(spread).between + spread.within) + d * spread.variance) / (d0 + d);
        Some(Moderated { variance: variance.max(spread.within), degrees_of_freedom: d + self.lent(spread) })
    }

    /// Degrees of freedom that a spread gains: those of the prior, but no more than the run has besides.
    pub fn lent(&self, spread: &Spread) -> f64 {
        self.worth(spread).min((self.independent - spread.degrees_of_freedom).max(0.0))
    }

    /// d₀ for a spread. Where windows add most of it, little of it is in doubt, because that part is known as well as there are windows
    /// (Satterthwaite, Biometrics Bull. 2, 1946).
    fn worth(&self, spread: &Spread) -> f64 {
        let would_be_noticed = spread.degrees_of_freedom >= LEAST_OWN || spread.within > 0.0;
        let Restarts { between, between_at_most, degrees_of_freedom, degrees_of_freedom_at_most } =
            *self.of(spread);
        if !would_be_noticed || degrees_of_freedom == 0.0 {
            return 0.0;
        }
        if spread.within <= 0.0 {
            return degrees_of_freedom;
        }
        let all = between + spread.within;
        let (doubtful, known) = (between_at_most / all, spread.within / all);
        let by_windows = 1.0 / (doubtful.powi(2) / BETWEEN + known.powi(2) / spread.of_windows.max(1.0));
        degrees_of_freedom.max(by_windows.min(MOST_BY_WINDOWS).min(degrees_of_freedom_at_most))
    }

    /// What is said of spreads like this one.
    fn of(&self, spread: &Spread) -> &Restarts {
        if spread.is_restless { &self.all } else { &self.calm }
    }
}

impl Restarts {
    /// What is expected before any run, where the variance between restarts is taken to be this.
    pub(crate) const fn expected(between: f64) -> Self {
        Self {
            between,
            between_at_most: between,
            degrees_of_freedom: BETWEEN,
            degrees_of_freedom_at_most: f64::INFINITY,
        }
    }

    pub(crate) fn fit(weighed: &[(Spread, f64)]) -> Result<Self, StatsError> {
        at_least("a prior of variances", 1, weighed.len())?;
        let fitted: Vec<Fitted> = CANDIDATES.iter().map(|&d0| Fitted::of(weighed, d0)).collect();
        let best = fitted.iter().map(|fit| fit.likelihood).fold(f64::NEG_INFINITY, f64::max);
        let mut allowed = fitted.iter().filter(|fit| fit.likelihood >= best - ALLOWED_FALL);
        let enough = allowed.next().unwrap_or(&fitted[0]);
        let most = allowed.next_back().unwrap_or(enough);
        Ok(Self {
            between: enough.between,
            between_at_most: enough.between_at_most(weighed),
            degrees_of_freedom: enough.degrees_of_freedom,
            degrees_of_freedom_at_most: most.degrees_of_freedom,
        })
    }
}

/// The likeliest prior of given degrees of freedom.
struct Fitted {
    degrees_of_freedom: f64,
    between: f64,
    likelihood: f64,
}

impl Fitted {
    fn of(weighed: &[(Spread, f64)], degrees_of_freedom: f64) -> Self {
        let between = likeliest(|between| likelihood(weighed, between, degrees_of_freedom));
        let likelihood =
            likelihood(weighed, between, degrees_of_freedom) + constant(weighed, degrees_of_freedom);
        Self { degrees_of_freedom, between, likelihood }
    }

    /// The variance at which the likelihood has fallen by as much as is allowed, by halving.
    fn between_at_most(&self, weighed: &[(Spread, f64)]) -> f64 {
        let at = |between: f64| likelihood(weighed, between, self.degrees_of_freedom);
        let floor = at(self.between) - ONE_ERROR;
        let (mut low, mut high) = (self.between.ln(), MOST_VARIANCE.ln());
        for _ in 0..STEPS {
            let middle = f64::midpoint(low, high);
            if at(middle.exp()) > floor {
                low = middle;
            } else {
                high = middle;
            }
        }
        high.exp()
    }
}

impl Group {
    /// Spreads that have a variance, each with the weight that makes their degrees of freedom the independent ones.
    fn weighed(&self) -> impl Iterator<Item = (Spread, f64)> + '_ {
        let all: f64 = self.spreads.iter().map(|spread| spread.degrees_of_freedom).sum();
        let weight = (self.independent / all.max(1.0)).min(1.0);
        self.spreads
            .iter()
            .filter(|spread| spread.degrees_of_freedom > 0.0)
            .map(move |spread| (*spread, weight))
    }
}

/// The log-likelihood of the spreads when s² = (between + within) · F(d, d₀), as far as it depends on `between`.
fn likelihood(weighed: &[(Spread, f64)], between: f64, d0: f64) -> f64 {
    let of = |(spread, weight): &(Spread, f64)| {
        let d = spread.degrees_of_freedom;
        let prior = between + spread.within;
        let ratio = d / (d0 * prior);
        weight * (d / 2.0 * ratio.ln() - (d0 + d) / 2.0 * (ratio * spread.variance).ln_1p())
    };
    weighed.iter().map(of).sum()
}

/// The rest of it that depends on `d0`.
fn constant(weighed: &[(Spread, f64)], d0: f64) -> f64 {
    let of = |(spread, weight): &(Spread, f64)| {
        weight * (ln_gamma(f64::midpoint(d0, spread.degrees_of_freedom)) - ln_gamma(d0 / 2.0))
    };
    weighed.iter().map(of).sum()
}

/// Where a function of a variance is greatest, by golden sections of its logarithm (Kiefer, Proc. AMS 4, 1953).
fn likeliest(of: impl Fn(f64) -> f64) -> f64 {
    const SECTION: f64 = 0.618_033_988_749_894_9;
    let (mut low, mut high) = (LEAST_VARIANCE.ln(), MOST_VARIANCE.ln());
    for _ in 0..STEPS {
        let (left, right) = (high - SECTION * (high - low), low + SECTION * (high - low));
        if of(left.exp()) < of(right.exp()) {
            low = left;
        } else {
            high = right;
        }
    }
    f64::midpoint(low, high).exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::normal;
    use chacha20::ChaCha8Rng;
    use chacha20::rand_core::SeedableRng as _;

    fn spread(variance: f64, degrees_of_freedom: f64, within: f64) -> Spread {
        Spread { variance, degrees_of_freedom, within, of_windows: 100.0, ..Spread::default() }
    }

    fn alike(between: f64, between_at_most: f64, degrees_of_freedom: f64, independent: f64) -> Prior {
        let degrees_of_freedom_at_most = f64::INFINITY;
        let restarts = Restarts { between, between_at_most, degrees_of_freedom, degrees_of_freedom_at_most };
        Prior::alike(restarts, independent)
    }

    fn chi_square(degrees_of_freedom: usize, rng: &mut ChaCha8Rng) -> f64 {
        (0..degrees_of_freedom).map(|_| normal(rng).powi(2)).sum()
    }

    /// Smyth (2004), section 3: s̃² = (d₀ s₀² + d s²) / (d₀ + d).
    #[test]
    fn a_variance_is_shrunk_by_degrees_of_freedom() {
        let prior = alike(1.0, 1.0, 4.0, 100.0);
        let moderated = prior.moderate(&spread(4.0, 2.0, 0.0)).unwrap();
        assert_eq!(moderated, Moderated { variance: 2.0, degrees_of_freedom: 6.0 });
        assert_eq!(
            prior.moderate(&spread(4.0, 1.0, 0.0)).unwrap().degrees_of_freedom,
            1.0,
            "one notices nothing"
        );
        assert_eq!(prior.moderate(&spread(0.0, 0.0, 0.0)), None);
    }

    #[test]
    fn no_more_is_lent_than_the_run_has() {
        let prior = alike(1.0, 1.0, 80.0, 20.0);
        assert_eq!(prior.moderate(&spread(4.0, 4.0, 0.0)).unwrap().degrees_of_freedom, 20.0);
        let own = Prior::none().moderate(&spread(4.0, 4.0, 0.0)).unwrap();
        assert_eq!(own, Moderated { variance: 4.0, degrees_of_freedom: 4.0 });
    }

    #[test]
    fn no_spread_is_believed_to_be_smaller_than_its_windows_make_it() {
        let prior = alike(0.1, 0.2, 4.0, 100.0);
        let moderated = prior.moderate(&spread(0.0, 8.0, 1.0)).unwrap();
        assert_eq!(moderated.variance, 1.0);
        assert!(moderated.degrees_of_freedom > 12.0, "what windows add is known: {moderated:?}");
    }

    #[test]
    fn the_fit_finds_the_prior_that_made_the_spreads() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        for (d0, least, most) in [(2, 1.5, 2.0), (6, 4.0, 6.0), (32, 17.0, 48.0)] {
            let mut draw = || {
                let truth = 0.0004 * d0 as f64 / chi_square(d0, &mut rng);
                spread(truth * chi_square(4, &mut rng) / 4.0, 4.0, 0.0)
            };
            let group = Group { spreads: (0..600).map(|_| draw()).collect(), independent: 2400.0 };
            let prior = Prior::fit(&[group]).unwrap().all;
            assert!((least..=most).contains(&prior.degrees_of_freedom), "{d0}: {prior:?}");
            assert!((0.85..1.15).contains(&(prior.between / 0.0004)), "{d0}: {prior:?}");
            assert!(prior.between_at_most > prior.between);
        }
    }

    /// Windows are known well, but contenders differ in what is between restarts.
    #[test]
    fn windows_lend_no_more_than_the_spreads_bear_out() {
        let mut rng = ChaCha8Rng::seed_from_u64(6);
        let mut lent = |d0: usize| {
            let mut draw = || {
                let truth = 0.001 * d0 as f64 / chi_square(d0, &mut rng);
                spread(truth * chi_square(3, &mut rng) / 3.0, 3.0, 0.0009)
            };
            let spreads: Vec<Spread> = (0..300).map(|_| draw()).collect();
            let prior = Prior::fit(&[Group { spreads: spreads.clone(), independent: 900.0 }]).unwrap();
            prior.lent(&spreads[0])
        };
        let [unlike, alike] = [4, 1000].map(&mut lent);
        assert!((2.0..=8.0).contains(&unlike) && alike >= 24.0, "{unlike} {alike}");
    }

    #[test]
    fn what_windows_add_is_not_taken_for_restarts() {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let spreads = (0..300).map(|i| {
            let within = if i % 2 == 0 { 0.0001 } else { 0.01 };
            spread((0.001 + within) * chi_square(3, &mut rng) / 3.0, 3.0, within)
        });
        let prior = Prior::fit(&[Group { spreads: spreads.collect(), independent: 900.0 }]).unwrap().all;
        assert!((0.7..1.3).contains(&(prior.between / 0.001)), "{prior:?}");
    }

    #[test]
    fn restless_contenders_do_not_keep_others_from_lending_to_each_other() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let spreads = (0..300).map(|i| {
            let is_restless = i % 10 == 0;
            let truth = if is_restless { 0.1 } else { 0.001 };
            Spread { is_restless, ..spread(truth * chi_square(3, &mut rng) / 3.0, 3.0, 0.0) }
        });
        let group = Group { spreads: spreads.collect(), independent: 900.0 };
        let all_alike = group.spreads.iter().map(|of| Spread { is_restless: false, ..*of }).collect();
        let [told, untold] =
            [group.clone(), Group { spreads: all_alike, ..group }].map(|group| Prior::fit(&[group]).unwrap());
        assert_eq!((told.all, untold.calm), (untold.all, untold.all));
        let [calm, all] = [told.calm, told.all];
        assert!(calm.degrees_of_freedom > 4.0 * all.degrees_of_freedom, "{calm:?}, {all:?}");
        assert!((0.8..1.25).contains(&(calm.between / 0.001)), "{calm:?}");
        let moderated = |is_restless| {
            told.moderate(&Spread { is_restless, ..spread(0.001, 3.0, 0.0) }).unwrap().degrees_of_freedom
        };
        assert!(moderated(false) > 3.0 * moderated(true), "{} and {}", moderated(false), moderated(true));
    }

    #[test]
    fn without_two_rounds_there_is_nothing_to_learn_from() {
        let nothing = Group { spreads: vec![spread(0.0, 0.0, 0.0)], independent: 0.0 };
        assert!(Prior::fit(&[nothing]).is_err() && Prior::fit(&[]).is_err());
        let constant = Group { spreads: vec![spread(0.0, 4.0, 0.0); 3], independent: 8.0 };
        let prior = Prior::fit(&[constant]).unwrap().all;
        assert!(prior.between < 1e-9 && prior.between.is_finite());
    }
}
