//! What a comparison of two servers at once would show, before it begins: from the duets of earlier runs, or from what is usual.

use assay_model::design::Design;
use assay_model::outlook::DuetOutlook;
use assay_model::record::{DuetTurn, Record};
use assay_model::units::Nanos;
use assay_model::verdict::Noise;
use assay_stats::duet::components;
use assay_stats::planning::{self, Components, Costs};
use assay_stats::tiers::LEAST_MARGIN;

use super::{Past, foresight};
use crate::capacity::duet::Played;
use crate::evidence::window::{DecodedRecord, Unreadable};
use crate::{CONFIDENCE, closed, median};

/// How much the ratio of duets usually varies, as standard deviations of logarithms: as measured of nginx against itself
/// (docs/method/statistics.md#how-often-it-errs).
const USUAL: (f64, f64) = (0.0044, 0.021);

/// A comparison that is intended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DuetIntent {
    /// Figures that shall hold together: each other contender in each cell.
    pub rows: usize,
    /// Restarts of everybody.
    pub rounds: u32,
    /// Pairs of windows of the base with each other contender in each restart.
    pub pairs: u32,
    /// What a round takes besides.
    pub round: Nanos,
    /// What one more pair with each takes, with the turns of one at a time that belong to it.
    pub pair: Nanos,
    /// For which difference a time is wanted, 0.02 for 2 %, if any.
    pub difference: Option<f64>,
}

/// What the duets of a run teach about the next ones; `None` where it has none of two restarts.
///
/// # Errors
/// [`Unreadable`] when a histogram of the record cannot be read.
pub fn past_of_duets(record: &Record) -> Result<Option<Past>, Unreadable> {
    let Some(comparing) = record.experiment.comparing.as_ref().filter(|of| of.design == Design::Duet) else {
        return Ok(None);
    };
    let evidence = DecodedRecord::of(record)?;
    let others = || record.contenders.iter().filter(|entry| entry.identity.name != comparing.base);
    let played = closed(record).into_iter().flat_map(|cell| {
        others()
            .map(|other| Played::of(&evidence, &cell, &comparing.base, &other.identity.name))
            .collect::<Vec<_>>()
    });
    let known = played.filter(|played| !played.is_withheld());
    let found: Vec<Components> =
        known.filter_map(|played| components(&played.restarts).ok().flatten()).collect();
    let noise = pooled(&found);
    Ok(noise.map(|noise| Past { run: record.id.clone(), noise, turn: window_of(record) }))
}

/// The mean variances, each by how much it tells.
fn pooled(found: &[Components]) -> Option<Noise> {
    let all: f64 = found.iter().map(|of| of.degrees_of_freedom).sum();
    let mean = |of: fn(&Components) -> f64| {
        found.iter().map(|found| found.degrees_of_freedom * of(found)).sum::<f64>() / all
    };
    (all > 0.0).then(|| Noise {
        restart_cv: mean(|of| of.restart_sd.powi(2)).sqrt(),
        window_cv: mean(|of| of.window_sd.powi(2)).sqrt(),
        windows_per_life: mean(|of| of.windows),
    })
}

/// What the intended comparison would show.
pub fn duet_outlook(intent: &DuetIntent, past: Option<&Past>) -> DuetOutlook {
    let (restart_cv, window_cv) = USUAL;
    let usual = Noise { restart_cv, window_cv, windows_per_life: f64::from(intent.pairs) };
    let noise = past.map_or(usual, |past| past.noise);
    let known = Components {
        restart_sd: noise.restart_cv,
        window_sd: noise.window_cv,
        windows: noise.windows_per_life,
        degrees_of_freedom: 0.0,
    };
    // Bonferroni, as the comparison itself does.
    let confidence = 1.0 - (1.0 - CONFIDENCE) / intent.rows.max(1) as f64;
    let costs = Costs { round_s: intent.round.as_secs_f64(), rotation_s: intent.pair.as_secs_f64() };
    let design = planning::Design { rounds: intent.rounds as usize, rotations: intent.pairs.max(1) as usize };
    let shows = planning::duet_shows(&known, design, confidence, LEAST_MARGIN).ok().flatten();
    let enough = intent.difference.and_then(|difference| {
        planning::duet_for(&known, &costs, difference, confidence, LEAST_MARGIN).ok().flatten()
    });
    let run = planning::Expectation { design, takes_s: costs.of(design), shows: 0.0 };
    DuetOutlook {
        noise,
        noise_of: past.map(|past| past.run.clone()),
        run: foresight(&run, shows),
        enough: enough.map(|found| foresight(&found, Some(found.shows))),
    }
}

/// The middle of what passed from the beginning of one window of two to that of the next.
fn window_of(record: &Record) -> Option<Nanos> {
    let base = record.experiment.comparing.as_ref().map(|comparing| comparing.base.as_str());
    let runs = record.rounds.iter().flat_map(|round| &round.runs);
    let windows = runs.filter(|run| Some(run.contender.as_str()) == base).flat_map(|run| &run.cells);
    let between = windows.flat_map(|window| {
        let mut began: Vec<u64> = window.duet.iter().map(|turn: &DuetTurn| turn.offset_ns.0).collect();
        began.sort_unstable();
        began.windows(2).map(|two| (two[1] - two[0]) as f64).collect::<Vec<f64>>()
    });
    median(&between.collect::<Vec<f64>>()).map(|ns| Nanos(ns as u64))
}

#[cfg(test)]
mod tests {
    use assay_model::design::{Because, Comparing, Side};
    use assay_model::load::LoadTurn;

    use super::*;
    use crate::testing;

    const INTENT: DuetIntent = DuetIntent {
        rows: 1,
        rounds: 6,
        pairs: 60,
        round: Nanos::from_millis(4000),
        pair: Nanos::from_millis(200),
        difference: Some(0.02),
    };

    /// Four restarts of `a` and `b`, whose ratio differs by `restart` from one to the next and by `window` from pair to pair.
    fn record(restart: f64, window: f64) -> Record {
        let mut record = testing::record(&[("a", &[1000.0; 4]), ("b", &[1000.0; 4])]);
        let (base, because) = ("a".to_owned(), Because::OneKind);
        record.experiment.comparing = Some(Comparing { base, design: Design::Duet, because });
        for (number, round) in record.rounds.iter_mut().enumerate() {
            let lot = if number.is_multiple_of(2) { restart } else { -restart };
            for run in &mut round.runs {
                let is_base = run.contender == "a";
                let turn = |place: u32| {
                    let side = if place.is_multiple_of(2) { Side::First } else { Side::Second };
                    let log = if is_base { 0.0 } else { lot + if place % 4 < 2 { window } else { -window } };
                    let load = LoadTurn {
                        window_ns: Nanos::from_millis(100),
                        ok: (1e6 * f64::exp(log)) as u64,
                        ..LoadTurn::default()
                    };
                    DuetTurn {
                        beside: if is_base { "b" } else { "a" }.to_owned(),
                        rotation: place / 2,
                        side: if is_base { side } else { side.other() },
                        offset_ns: Nanos::from_millis(130 * u64::from(place)),
                        load,
                        ..DuetTurn::default()
                    }
                };
                run.cells[0].duet = (0..16).map(turn).collect();
            }
        }
        record
    }

    #[test]
    fn duets_of_before_tell_what_the_next_will_show() {
        let past = |restart, window| {
            past_of_duets(&record(restart, window)).expect("readable").expect("four restarts")
        };
        let quiet = past(0.005, 0.01);
        assert!((0.004..0.006).contains(&quiet.noise.restart_cv), "{quiet:?}");
        assert!((0.008..0.013).contains(&quiet.noise.window_cv), "{quiet:?}");
        assert_eq!((quiet.noise.windows_per_life, quiet.turn), (16.0, Some(Nanos::from_millis(130))));
        let shows =
            |past: &Past| duet_outlook(&INTENT, Some(past)).run.shows.expect("six restarts show something");
        assert!(shows(&quiet) < shows(&past(0.02, 0.01)));
        assert_eq!(duet_outlook(&INTENT, Some(&quiet)).noise_of, Some(quiet.run.clone()));
        let alternating = testing::record(&[("a", &[1000.0; 4]), ("b", &[1000.0; 4])]);
        assert_eq!(past_of_duets(&alternating).expect("readable"), None);
    }

    #[test]
    fn what_is_usual_shows_less_than_two_percent_in_six_restarts() {
        let told = duet_outlook(&INTENT, None);
        assert_eq!(told.noise_of, None);
        assert!(told.run.shows.is_some_and(|shows| (0.011..0.02).contains(&shows)), "{told:?}");
        assert_eq!(told.run.takes_ns, Nanos::from_millis(6 * (4000 + 60 * 200)));
        let enough = told.enough.expect("a day is enough");
        assert!(enough.takes_ns < told.run.takes_ns && enough.shows.is_some_and(|shows| shows <= 0.02));
        assert_eq!(duet_outlook(&DuetIntent { rounds: 1, ..INTENT }, None).run.shows, None);
    }
}
