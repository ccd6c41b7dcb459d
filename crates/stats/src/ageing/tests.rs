use chacha20::ChaCha8Rng;
use rand::SeedableRng;

use super::*;
use crate::simulation::Shape;

/// How a contender's lives are laid out and how noisy they are.
#[derive(Clone, Copy)]
struct Layout {
    lives: usize,
    cells: usize,
    looks: usize,
    /// Seconds of age between two looks.
    step_s: f64,
    look_sd: f64,
    restart_sd: f64,
    /// By how much a life differs from others in one cell more than in another.
    cell_sd: f64,
}

/// The layout of a showdown: four rounds of four cells in an order of their own, six looks at each.
const SHOWDOWN: Layout =
    Layout { lives: 4, cells: 4, looks: 6, step_s: 0.2, look_sd: 0.1, restart_sd: 0.04, cell_sd: 0.01 };
/// One cell in six rounds of twenty looks.
const ONE_CELL: Layout = Layout { lives: 6, cells: 1, looks: 20, cell_sd: 0.0, ..SHOWDOWN };

fn looks(layout: Layout, rate: impl Fn(f64) -> f64, rng: &mut ChaCha8Rng) -> Vec<Look> {
    let mut found = Vec::new();
    let levels: Vec<f64> = (0..layout.cells).map(|_| 0.3 * Shape::Normal.draw(rng)).collect();
    for life in 0..layout.lives {
        let own = layout.restart_sd * Shape::HeavyTailed.draw(rng);
        let mut age_s = 1.5;
        for place in 0..layout.cells {
            let cell = (place + life * 3 + life / 2) % layout.cells;
            let level = own + levels[cell] + layout.cell_sd * Shape::Normal.draw(rng);
            // What disturbs one look lasts into the next.
            let mut disturbance = 0.0;
            for _ in 0..layout.looks {
                disturbance = 0.3 * disturbance + layout.look_sd * Shape::HeavyTailed.draw(rng);
                let log_rate = level + rate(age_s).ln() + disturbance;
                found.push(Look { life, cell, age_s, log_rate });
                age_s += layout.step_s;
            }
        }
    }
    found
}

/// Looks over those of a yardstick, look by look.
fn over(mut looks: Vec<Look>, yardstick: &[Look]) -> Vec<Look> {
    looks.iter_mut().zip(yardstick).for_each(|(look, of)| look.log_rate -= of.log_rate);
    looks
}

/// Runs of six contenders of which the first changes with its age: how often it is told, and how often anybody is.
fn told(layout: Layout, rate: impl Fn(f64) -> f64 + Copy, runs: u64) -> (f64, f64) {
    told_over(layout, |_| 1.0, rate, runs)
}

/// What is told over a yardstick that changes too.
fn told_over(
    layout: Layout,
    yardstick: impl Fn(f64) -> f64 + Copy,
    rate: impl Fn(f64) -> f64 + Copy,
    runs: u64,
) -> (f64, f64) {
    let (mut first, mut any) = (0, 0);
    for seed in 0..runs {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        // What disturbs a look is in it and not in the yardstick: as if both were disturbed, each less.
        let quiet = Layout { look_sd: 0.0, restart_sd: 0.0, cell_sd: 0.0, ..layout };
        let yardstick = looks(quiet, yardstick, &mut rng);
        let changing = over(looks(layout, rate, &mut rng), &yardstick);
        let others = (0..5).map(|_| over(looks(layout, |_| 1.0, &mut rng), &yardstick));
        let all: Vec<Vec<Look>> = std::iter::once(changing).chain(others).collect();
        let found = ageing(&all, true, 0.95).unwrap();
        let shown: Vec<bool> = found.iter().map(|one| one.is_some_and(|one| one.is_shown())).collect();
        first += u32::from(shown[0]);
        any += u32::from(shown.contains(&true));
    }
    (f64::from(first) / runs as f64, f64::from(any) / runs as f64)
}

/// Half as fast at first, with a time constant.
fn warming(time_constant_s: f64) -> impl Fn(f64) -> f64 + Copy {
    move |age_s| 1.0 - 0.5 * (-age_s / time_constant_s).exp()
}

#[test]
fn a_steady_server_is_told_in_no_more_than_one_run_in_twenty() {
    for (name, layout) in [("four cells", SHOWDOWN), ("one cell", ONE_CELL)] {
        let (_, any) = told(layout, |_| 1.0, 1000);
        assert!(any <= 0.05, "{name}: {any}");
    }
}

#[test]
fn a_yardstick_that_drifts_is_told_of_nobody() {
    for (name, layout) in [("four cells", SHOWDOWN), ("one cell", ONE_CELL)] {
        for per_second in [-0.02_f64, 0.005, 0.02] {
            let (_, any) = told_over(layout, |age_s| (per_second * age_s).exp(), |_| 1.0, 500);
            assert!(any <= 0.05, "{name}, {per_second} per second: {any}");
        }
        let (found, _) = told_over(layout, |age_s| (0.005 * age_s).exp(), warming(10.0), 100);
        assert!(found >= 0.7, "{name}: {found}");
    }
}

#[test]
fn a_server_with_a_time_constant_of_ten_seconds_is_found() {
    for (name, layout) in [("four cells", SHOWDOWN), ("one cell", ONE_CELL)] {
        let (found, _) = told(layout, warming(10.0), 200);
        assert!(found >= 0.8, "{name}: {found}");
    }
    let (slower, _) = told(SHOWDOWN, |age_s| (-0.05 * age_s).exp(), 100);
    assert!(slower >= 0.8, "a leak: {slower}");
}

#[test]
fn what_is_told_is_the_change_over_a_typical_life() {
    let quiet = Layout { look_sd: 1e-4, restart_sd: 0.1, cell_sd: 1e-4, ..SHOWDOWN };
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let found = ageing(&[looks(quiet, |age_s| (0.02 * age_s).exp(), &mut rng)], true, 0.95).unwrap();
    let found = found[0].expect("told");
    assert!(found.is_shown() && (found.per_second - 0.02).abs() < 1e-3, "{found:?}");
    assert!((found.from_s - 1.5).abs() < 1e-9 && (found.to_s - 6.1).abs() < 1e-9, "{found:?}");
    assert!((found.change() - 0.02 * 4.6).abs() < 5e-3 && found.could_show() < 0.01, "{found:?}");
}

#[test]
fn one_life_tells_nothing_and_outliers_do_not_tell_a_trend() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let alone = Layout { lives: 1, ..ONE_CELL };
    assert_eq!(
        ageing(&[looks(alone, warming(10.0), &mut rng), Vec::new()], true, 0.95).unwrap(),
        [None, None]
    );
    let mut steady = looks(ONE_CELL, |_| 1.0, &mut rng);
    let last = steady.iter().map(|look| look.age_s).fold(0.0, f64::max);
    for look in steady.iter_mut().filter(|look| look.age_s == last) {
        look.log_rate -= 8.0;
    }
    let found = ageing(&[steady], true, 0.95).unwrap()[0].expect("told");
    assert!(found.per_second.abs() < 0.1, "{found:?}");
    assert!(ageing(&[], true, 1.0).is_err());
}
