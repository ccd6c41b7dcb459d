//! Tables of windows, lives and rounds: what holds for every one of them, and how often simulated runs are judged wrongly.
#![allow(clippy::unwrap_used, reason = "a helper may fail as loudly as the test that calls it")]

use assay_stats::moderation::Prior;
use assay_stats::ratio::paired_log_ratio;
use assay_stats::sequential::Settled;
use assay_stats::simulation::{
    Shape, Simulated, SimulationOutcome, Trials, Truth as _, World, alike, ladder, uneven,
};
use assay_stats::simultaneous::{Boundary, Looks, each_of};
use assay_stats::table::{Comparison, Table, Windows, mean_variance_of_rounds};
use assay_stats::tiers::LEAST_MARGIN;
use chacha20::ChaCha8Rng;
use chacha20::rand_core::SeedableRng as _;
use proptest::prelude::*;

fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// Judges several tables as those of one run.
fn judged(tables: &[Table], margin: f64) -> Option<Vec<Comparison>> {
    let prior = Prior::fit(&tables.iter().map(Table::spreads).collect::<Vec<_>>()).ok()?;
    let confidence = each_of(tables.len(), 0.95);
    let judge = |table: &Table| {
        let all: Vec<usize> = (0..table.contenders()).collect();
        table.compare(&all, &prior, Looks::Once, confidence, margin).unwrap()
    };
    Some(tables.iter().map(judge).collect())
}

/// A table whose rounds were split into groups.
fn in_groups(contenders: &[Windows], round_of: &[usize]) -> Result<Table, assay_stats::StatsError> {
    Table::fit_replicas(contenders, &(0..contenders.len()).collect::<Vec<_>>(), round_of)
}

/// One window per life: the logarithms of some rates.
fn single(rates: &[f64]) -> Windows {
    rates.iter().map(|rate| vec![Some(rate.ln())]).collect()
}

const A: [f64; 5] = [100.0, 103.0, 98.0, 101.0, 99.5];
const B: [f64; 5] = [90.0, 95.0, 89.0, 90.5, 91.0];
const C: [f64; 5] = [70.0, 74.0, 66.0, 71.0, 70.5];

#[test]
fn one_window_per_life_without_a_prior_is_the_paired_t_interval() {
    let table = Table::fit(&[single(&A), single(&B), single(&C)]).unwrap();
    for ((i, a), (j, b)) in [((0, &A), (1, &B)), ((1, &B), (2, &C)), ((2, &C), (0, &A))] {
        let expected = paired_log_ratio(a, b, 0.95).unwrap().interval;
        let got = table.ratio((i, j), &Prior::none(), Looks::Once, 0.95).unwrap().unwrap();
        for (got, expected) in
            [(got.low, expected.low), (got.estimate, expected.estimate), (got.high, expected.high)]
        {
            assert!((got / expected - 1.0).abs() < 1e-5, "{got} instead of {expected}");
        }
    }
}

/// Judged by the boundary of all ten pairs, the first two are left in question; when the nine others are shown, by that of one.
#[test]
fn pairs_that_are_left_in_question_need_the_boundary_of_these_alone() {
    let near = [94.0, 101.0, 90.0, 97.0, 93.5];
    let far = |times: f64| single(&A.map(|rate| rate * times));
    let table = Table::fit(&[single(&A), single(&near), far(2.0), far(4.0), far(8.0)]).unwrap();
    let all: Vec<usize> = (0..5).collect();
    let compared =
        |of: &[usize]| table.compare(of, &Prior::none(), Looks::Once, 0.95, LEAST_MARGIN).unwrap().pairs[0];
    let boundary = Boundary::once(5, 5, 0.95).unwrap();
    let (left, alone) = (compared(&all), compared(&all[..2]));
    let wide = left.difference - boundary.critical_value(5).unwrap() * left.standard_error;
    assert!(wide < 0.0, "it would have been open");
    assert_eq!((left.settled, alone.settled), (Settled::Distinct, Settled::Distinct));
    assert!((left.critical_value / alone.critical_value - 1.0).abs() < 0.02, "{left:?} {alone:?}");
    let ratio = left.ratio.unwrap();
    assert_eq!(ratio.low, 1.0 + LEAST_MARGIN, "what was shown, and no more");
    assert!(ratio.high > alone.ratio.unwrap().high, "the other end holds together with all others");
}

#[test]
fn a_void_window_costs_its_own_pairs_and_nobody_elses() {
    let whole = Table::fit(&[single(&A), single(&B), single(&C)]).unwrap();
    let mut gappy = single(&A);
    gappy[2][0] = None;
    let gappy = Table::fit(&[gappy, single(&B), single(&C)]).unwrap();
    let of = |table: &Table, pair| table.ratio(pair, &Prior::none(), Looks::Once, 0.95).unwrap().unwrap();
    let (before, after) = (of(&whole, (1, 2)), of(&gappy, (1, 2)));
    assert!((before.low / after.low - 1.0).abs() < 1e-9 && (before.high / after.high - 1.0).abs() < 1e-9);
    let (before, after) = (of(&whole, (0, 1)), of(&gappy, (0, 1)));
    assert!(after.relative_half_width() != before.relative_half_width());
    assert_eq!((gappy.lived(0), gappy.lived(1), gappy.rounds()), (4, 5, 5));
}

#[test]
fn spoilt_windows_hardly_move_a_life() {
    let mut steady = World::quiet(vec![Simulated::of(1.0, 0.0, 0.02); 3], 3);
    steady.rotations = 20;
    let mut windows = steady.measure(&mut rng(1));
    let clean = Table::fit(&windows).unwrap();
    for round in &mut windows[0] {
        round[3] = round[3].map(|log| log - 2.0);
        round[8] = round[8].map(|log| log - 0.7);
    }
    let spoilt = Table::fit(&windows).unwrap();
    let moved = (0..3).map(|round| (clean.life(0, round).unwrap() - spoilt.life(0, round).unwrap()).abs());
    // A mean would move by 0.135.
    assert!(moved.clone().all(|by| by < 0.01), "{:?}", moved.collect::<Vec<f64>>());
}

#[test]
fn what_the_machine_does_to_a_rotation_is_taken_out() {
    let mut wandering = World::quiet(vec![Simulated::of(1.0, 0.0, 0.001), Simulated::of(1.1, 0.0, 0.001)], 2);
    wandering.rotations = 20;
    let mut windows = wandering.measure(&mut rng(2));
    for contender in &mut windows {
        for round in contender {
            round
                .iter_mut()
                .enumerate()
                .for_each(|(k, log)| *log = log.map(|log| log - 0.1 * (k % 7) as f64));
        }
    }
    let table = Table::fit(&windows).unwrap();
    for round in 0..2 {
        let ratio = (table.life(1, round).unwrap() - table.life(0, round).unwrap()).exp();
        assert!((ratio - 1.1).abs() < 0.002, "{ratio}");
    }
}

/// Windows of four contenders at rest, and of one whose three processes took turns in each of the last two rounds.
fn with_replicas(levels: [[f64; 3]; 2]) -> Vec<Windows> {
    let calm = |i: usize| -> Windows {
        (0..3)
            .map(|round| (0..9).map(|k| Some(0.001 * ((i * 7 + round * 5 + k * 3) % 4) as f64)).collect())
            .collect()
    };
    let process = |replica: usize| -> Windows {
        let first = (0..9).map(|_| Some(levels[0][0]).filter(|_| replica == 0)).collect();
        let turns = |levels: &[f64; 3]| -> Vec<Option<f64>> {
            (0..9).map(|k| Some(levels[replica]).filter(|_| k % 3 == replica)).collect()
        };
        [first].into_iter().chain(levels.iter().map(turns)).collect()
    };
    (0..4).map(calm).chain((0..3).map(process)).collect()
}

#[test]
fn processes_that_took_turns_for_a_contender_are_one_life_at_the_mean_of_their_levels() {
    let rows = with_replicas([[0.5, 0.2, 0.8], [0.3, 0.9, 0.3]]);
    let contender_of = [0, 1, 2, 3, 4, 4, 4];
    let table = Table::fit_replicas(&rows, &contender_of, &[0, 1, 2]).unwrap();
    assert_eq!((table.contenders(), table.rounds(), table.lived(4)), (5, 3, 3));
    for (round, level) in [0.5, 0.5, 0.5].into_iter().enumerate() {
        let told = table.life(4, round).unwrap();
        assert!((told - level).abs() < 0.005, "round {round}: {told}");
    }
    let [calm, restless] = [1, 4].map(|i| table.restlessness()[i].unwrap());
    assert!(restless.level < 1e-4, "the means are alike: {restless:?}");
    assert!(calm.restarts < 1e-4, "{calm:?}");
    assert!(Table::fit_replicas(&rows, &contender_of[..6], &[0, 1, 2]).is_err(), "a row of nobody");
}

/// Runs of three rounds, in the last two of which a restless contender has so many processes: how far its effect is from the truth beside
/// a calm one's, as a variance, and how often the interval of the two holds the truth.
fn beside_a_restless_one(processes: usize) -> (f64, f64) {
    const RUNS: u64 = 400;
    let calm = vec![Simulated::of(1.0, 0.02, 0.05); 6];
    let restless = vec![Simulated::of(1.0, 0.12, 0.05); processes];
    let world = World { rotations: 9, ..World::quiet([calm, restless].concat(), 3) };
    let contender_of: Vec<usize> = (0..6 + processes).map(|row| row.min(6)).collect();
    let (mut squares, mut covered) = (0.0, 0.0);
    for seed in 0..RUNS {
        let mut rows = world.measure(&mut rng(seed));
        for (replica, windows) in rows[6..].iter_mut().enumerate() {
            for (round, rotations) in windows.iter_mut().enumerate() {
                let has_turn = |k: usize| if round == 0 { replica == 0 } else { k % processes == replica };
                rotations
                    .iter_mut()
                    .enumerate()
                    .filter(|(k, _)| !has_turn(*k))
                    .for_each(|(_, of)| *of = None);
            }
        }
        let table = Table::fit_replicas(&rows, &contender_of, &[0, 1, 2]).unwrap();
        // By the rounds of the pair alone: calm ones would lend it a variance that is too small.
        let ratio = table.ratio((6, 0), &Prior::none(), Looks::Once, 0.95).unwrap().unwrap();
        squares += ratio.estimate.ln().powi(2);
        covered += f64::from(u8::from(ratio.contains(1.0)));
    }
    (squares / RUNS as f64, covered / RUNS as f64)
}

/// Seven lives tell more than three: of their mean's variance, 0.12² / 7 is left instead of 0.12² / 3, besides what is the calm one's.
#[test]
fn who_has_several_processes_is_known_better_and_intervals_cover() {
    let ((one, covered_one), (several, covered)) = (beside_a_restless_one(1), beside_a_restless_one(3));
    assert!((0.4..0.65).contains(&(several / one)), "{several} instead of {one}");
    assert!(covered_one >= 0.93 && covered >= 0.93, "{covered_one} {covered}");
}

#[test]
fn windows_that_nobody_shares_count_by_themselves() {
    // One at a time: each contender has rotations of its own, and its life is their robust mean.
    let log = [0.01, -0.02, 0.03, -0.01, 0.0, 0.02, -0.03, 0.015];
    let of = |first: usize, rate: f64| -> Windows {
        let windows = (0..16).map(|k| log.get(usize::wrapping_sub(k, first)).map(|log| log + rate));
        vec![windows.collect()]
    };
    let table = Table::fit(&[of(0, 1.0), of(8, 2.0)]).unwrap();
    let difference = table.life(1, 0).unwrap() - table.life(0, 0).unwrap();
    assert!((difference - 1.0).abs() < 1e-9, "{difference}");
    assert!(
        (table.life(0, 0).unwrap() - 1.001875).abs() < 0.002,
        "no worse than a mean: {:?}",
        table.life(0, 0)
    );
}

#[test]
fn windows_alone_tell_how_much_they_add() {
    let mut world = World::quiet(vec![Simulated::of(1.0, 0.0, 0.2); 7], 6);
    world.rotations = 100;
    let components = Table::fit(&world.measure(&mut rng(3))).unwrap().components().unwrap();
    assert!((components.window_sd / 0.2 - 1.0).abs() < 0.15, "{components:?}");
    assert!(components.restart_sd < 0.015, "{components:?}");
    world.contenders = vec![Simulated::of(1.0, 0.03, 0.05); 7];
    let components = Table::fit(&world.measure(&mut rng(4))).unwrap().components().unwrap();
    assert!((0.02..0.04).contains(&components.restart_sd), "{components:?}");
    assert!((components.window_sd / 0.05 - 1.0).abs() < 0.15, "{components:?}");
}

#[test]
fn what_windows_add_is_told_of_few_and_beside_whomever() {
    let (steady, erratic) = (Simulated::of(1.0, 0.0, 0.05), Simulated::of(1.0, 0.0, 0.2));
    for (contenders, rotations) in [
        (vec![steady, erratic], 3),
        (vec![steady, erratic], 10),
        (vec![steady, erratic, steady, steady, erratic], 3),
        (vec![steady, erratic, steady, steady, erratic], 10),
    ] {
        let world = World { rotations, ..World::quiet(contenders, 4) };
        let (mut told, mut varied) = (0.0, 0.0);
        for seed in 0..400 {
            let table = Table::fit(&world.measure(&mut rng(seed))).unwrap();
            told += table.restlessness()[..2].iter().map(|of| of.unwrap().windows).sum::<f64>();
            let difference = |round| table.life(0, round).unwrap() - table.life(1, round).unwrap();
            // Restarts add nothing here, and the two are equally fast.
            varied += (0..4).map(|round| f64::powi(difference(round), 2)).sum::<f64>() / 4.0;
        }
        assert!((0.88..1.1).contains(&(told / varied)), "{told} for {varied}, of {rotations} windows");
    }
}

#[test]
fn rates_stand_in_the_order_of_the_table_and_cover_what_rounds_do() {
    let world = World { round_sd: 0.05, ..World::quiet(alike(5, 0.02, 0.0), 6) };
    let (mut held, mut told) = (0, 0);
    for seed in 0..200 {
        let table = Table::fit(&world.measure(&mut rng(seed))).unwrap();
        let prior = Prior::fit(&[table.spreads()]).unwrap();
        for contender in 0..5 {
            let of_rounds = mean_variance_of_rounds([&table]);
            let rate = table.rate(contender, (&prior, of_rounds), Looks::Once, 0.95).unwrap().unwrap();
            assert!((rate.estimate.ln() - table.effect(contender).unwrap()).abs() < 1e-9);
            told += 1;
            held += u32::from(rate.contains(1.0));
        }
    }
    let covered = f64::from(held) / f64::from(told);
    assert!((0.93..=0.99).contains(&covered), "{covered}");
}

#[test]
fn who_is_in_an_open_pair_is_worth_measuring_again() {
    let near = A.map(|rate| rate * 1.004 + (rate - 100.0));
    let table = Table::fit(&[single(&A), single(&near), single(&[10.0, 10.3, 9.9, 10.1, 9.95])]).unwrap();
    let judged = judged(&[table], LEAST_MARGIN).unwrap().remove(0);
    assert_eq!(judged.open().into_iter().collect::<Vec<_>>(), [0, 1], "{judged:?}");
}

#[test]
fn an_interval_that_says_nothing_is_none() {
    let wild = Table::fit(&[single(&[1.0, 900.0]), single(&[700.0, 2.0])]).unwrap();
    let comparison = wild.compare(&[0, 1], &Prior::none(), Looks::Once, 0.95, 0.01).unwrap();
    assert_eq!((comparison.pairs[0].ratio, comparison.detectable(0.01)), (None, None));
    assert!(comparison.pairs[0].standard_error.is_finite());
}

#[test]
fn contenders_that_never_met_are_placed_but_not_compared() {
    let of = |rounds: std::ops::Range<usize>, rate: f64| -> Windows {
        (0..6)
            .map(|r| if rounds.contains(&r) { vec![Some((rate + r as f64 / 10.0).ln())] } else { vec![] })
            .collect()
    };
    let table = Table::fit(&[of(0..3, 100.0), of(0..3, 90.0), of(3..6, 50.0), of(3..6, 45.0)]).unwrap();
    let judged = judged(&[table], LEAST_MARGIN).unwrap().remove(0);
    let order: Vec<usize> = judged.standings.iter().map(|standing| standing.contender).collect();
    assert_eq!(order, [0, 1, 2, 3]);
    let known: Vec<_> =
        judged.pairs.iter().filter(|pair| pair.ratio.is_some()).map(|p| (p.first, p.second)).collect();
    assert_eq!(known, [(0, 1), (2, 3)]);
    // Who met a third one both met is compared through it.
    let table = Table::fit(&[of(0..3, 100.0), of(0..6, 90.0), of(3..6, 50.0)]).unwrap();
    let through = table.ratio((0, 2), &Prior::fit(&[table.spreads()]).unwrap(), Looks::Once, 0.95).unwrap();
    assert_eq!(through, None, "no round of their own tells how much this pair varies");
}

#[test]
fn one_round_says_nothing_and_nonsense_is_refused() {
    let table = Table::fit(&[single(&A[..1]), single(&B[..1])]).unwrap();
    assert!(Prior::fit(&[table.spreads()]).is_err());
    let comparison = table.compare(&[0, 1], &Prior::none(), Looks::Once, 0.95, 0.01).unwrap();
    assert_eq!((comparison.pairs[0].ratio, comparison.pairs[0].settled), (None, Settled::Open));
    assert_eq!(comparison.standings[0].contender, 0);
    assert!(Table::fit(&[]).is_err());
    assert!(Table::fit(&[vec![vec![Some(f64::NAN)]]]).is_err());
    let silent = Table::fit(&[single(&A), vec![vec![None]; 5]]).unwrap();
    assert_eq!((silent.effect(1), silent.components()), (None, None));
    assert_eq!(silent.compare(&[0, 1], &Prior::none(), Looks::Once, 0.95, 0.01).unwrap().standings.len(), 1);
}

/// Any table: contenders of any rates and restlessness, gaps of any kind, heavy tails.
fn any_world() -> impl Strategy<Value = (World, u64)> {
    let contender = (0.0..0.3_f64, 0.0001..0.05_f64, 0.001..0.3_f64)
        .prop_map(|(log_rate, restart_sd, window_sd)| Simulated { log_rate, restart_sd, window_sd });
    let contenders = prop::collection::vec(contender, 2..7);
    (contenders, 1..5_usize, 1..12_usize, 0.0..0.6_f64, 1..4_usize, any::<u64>()).prop_map(
        |(contenders, rounds, rotations, void, groups, seed)| {
            let world = World { void_share: void, groups, ..World::noisy(contenders, rounds, rotations) };
            (world, seed)
        },
    )
}

/// Two that never live at once, each beside the same third: `between` is what differs between the groups.
fn in_two_groups(between: f64) -> Table {
    let [common, one, other]: [[f64; 5]; 3] = [A, B, C].map(|rates| rates.map(f64::ln));
    let blocks = |of: &dyn Fn(usize, usize) -> Option<f64>| -> Windows {
        (0..10).map(|block| vec![of(block / 2, block % 2)]).collect()
    };
    let shift = |group: usize| if group == 1 { between } else { 0.0 };
    let restart = [0.004, -0.006, 0.003, -0.002, 0.005];
    let everywhere = |round: usize, group: usize| Some(common[round] + shift(group) * (1.0 + restart[round]));
    let first = |round: usize, group: usize| (group == 0).then(|| one[round]);
    let second = |round: usize, group: usize| (group == 1).then(|| other[round] + shift(1));
    let windows = [blocks(&everywhere), blocks(&first), blocks(&second)];
    in_groups(&windows, &[0, 0, 1, 1, 2, 2, 3, 3, 4, 4]).unwrap()
}

#[test]
fn those_of_different_groups_are_compared_by_how_each_differs_from_the_common_one() {
    let (even, slowed) = (in_two_groups(0.0), in_two_groups(-0.5));
    let of = |table: &Table, pair| table.ratio(pair, &Prior::none(), Looks::Once, 0.95).unwrap().unwrap();
    let truth = |one: &[f64], other: &[f64]| {
        (one.iter().zip(other).map(|(one, other)| (one / other).ln()).sum::<f64>() / 5.0).exp()
    };
    for table in [&even, &slowed] {
        assert_eq!((table.rounds(), table.blocks(), table.lived(0), table.lived(1)), (5, 10, 10, 5));
        let across = of(table, (1, 2));
        assert!((across.estimate / truth(&B, &C) - 1.0).abs() < 0.001, "{across:?}");
        let beside = of(table, (0, 1));
        assert!((beside.estimate / truth(&A, &B) - 1.0).abs() < 0.001, "{beside:?}");
    }
}

#[test]
fn what_is_common_to_a_group_is_no_difference_of_those_in_it() {
    let unrelated = [single(&A), single(&B), single(&C)];
    let naive = Table::fit(&unrelated).unwrap();
    let apart = in_groups(&unrelated, &[0, 0, 0, 1, 1]).unwrap();
    let of = |table: &Table| table.ratio((0, 1), &Prior::none(), Looks::Once, 0.95).unwrap().unwrap();
    assert_eq!(of(&naive), of(&apart), "whoever lived in the same block needs nobody between them");
    assert!(in_groups(&unrelated, &[0, 1]).is_err(), "a block without a round");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_table_never_contradicts_itself((world, seed) in any_world(), margin in 0.0..0.03_f64) {
        let table =
            in_groups(&world.measure(&mut rng(seed)), &world.round_of_blocks()).unwrap();
        let Some(judged) = judged(std::slice::from_ref(&table), margin) else { return Ok(()) };
        let Comparison { standings, pairs } = &judged[0];
        for two in standings.windows(2) {
            prop_assert!(two[0].effect >= two[1].effect, "rows are ordered by the effects");
            prop_assert!(two[0].tier <= two[1].tier && two[1].tier <= two[0].tier + 1, "tiers follow the rows");
        }
        let of = |i: usize| standings.iter().find(|standing| standing.contender == i).unwrap();
        for pair in pairs {
            let (first, second) = (of(pair.first), of(pair.second));
            let Some(ratio) = pair.ratio else {
                prop_assert_eq!(pair.settled, Settled::Open);
                continue;
            };
            prop_assert!((ratio.estimate.ln() - (first.effect - second.effect)).abs() < 1e-9, "estimates are transitive");
            prop_assert!(ratio.low <= ratio.estimate && ratio.estimate <= ratio.high && ratio.low > 0.0);
            let shared = first.letters.chars().any(|letter| second.letters.contains(letter));
            prop_assert_eq!(shared, pair.settled != Settled::Distinct, "letters say what pairs say");
            let is_beyond = ratio.low >= 1.0 + margin || ratio.high <= 1.0 / (1.0 + margin);
            prop_assert_eq!(is_beyond, pair.settled == Settled::Distinct, "intervals say what pairs say");
            if pair.settled == Settled::Distinct {
                let (faster, slower) = if ratio.estimate > 1.0 { (first, second) } else { (second, first) };
                prop_assert!(faster.tier < slower.tier, "whoever is shown to be faster is in a better tier");
                prop_assert!(faster.effect > slower.effect);
            }
        }
    }
}

fn outcome(world: World, tables: usize, runs: u32, seed: u64) -> SimulationOutcome {
    Trials::once(world, tables).outcome(runs, &mut rng(seed)).unwrap()
}

/// One window per life, heavy tails.
fn heavy(contenders: Vec<Simulated>, rounds: usize) -> World {
    World { machine_sd: 0.0, ..World::noisy(contenders, rounds, 1) }
}

#[test]
fn equals_are_seldom_called_different_and_intervals_cover() {
    let mut one_restless = alike(6, 0.005, 0.0);
    one_restless[5].restart_sd = 0.05;
    let contaminated = World { restarts: Shape::Contaminated, ..World::quiet(uneven(0.0), 5) };
    let cases = [
        ("six alike, normal", World::quiet(alike(6, 0.02, 0.0), 5), 1),
        ("six alike, heavy tails", heavy(alike(6, 0.02, 0.0), 5), 1),
        ("uneven, normal", World::quiet(uneven(0.0), 4), 1),
        ("uneven, heavy tails, three tables", heavy(uneven(0.0), 5), 3),
        ("uneven, contaminated", contaminated, 1),
        ("one restless", World::quiet(one_restless, 4), 1),
        ("two alike", World::quiet(alike(2, 0.02, 0.0), 5), 1),
        ("carousel of two rounds", World::noisy(alike(7, 0.015, 0.22), 2, 20), 3),
        ("carousel, uneven", World::noisy(uneven(0.2), 3, 20), 3),
    ];
    for (seed, (name, world, tables)) in (1..).zip(cases) {
        let runs = if world.rotations > 1 { 80 } else { 500 };
        let outcome = outcome(world, tables, runs, seed);
        assert!(outcome.false_runs <= 0.05 && outcome.covered >= 0.92, "{name}: {outcome:?}");
    }
}

/// Groups differ as much as rounds do, by 5 % with heavy tails, and who never lived at once is compared all the same.
#[test]
fn intervals_across_groups_cover_and_are_wider_for_it() {
    let split = |groups: usize, world: World| World { groups, ..world };
    let cases = [
        ("two that never meet", split(2, World::quiet(alike(3, 0.02, 0.0), 5)), 1),
        ("two that never meet, heavy tails", split(2, heavy(alike(3, 0.02, 0.0), 5)), 1),
        ("a steady one between them", split(2, World::quiet(steady_first(0.002), 5)), 1),
        ("a restless one between them", split(2, World::quiet(steady_first(0.06), 5)), 1),
        ("seven in two groups", split(2, heavy(alike(7, 0.02, 0.0), 5)), 1),
        ("seven in three groups, uneven", split(3, heavy(uneven(0.0), 5)), 1),
        ("carousel in groups", split(2, World::noisy(alike(7, 0.015, 0.22), 3, 20)), 3),
    ];
    for (seed, (name, world, tables)) in (71..).zip(cases) {
        let runs = if world.rotations > 1 { 80 } else { 500 };
        let outcome = outcome(world, tables, runs, seed);
        assert!(outcome.false_runs <= 0.05 && outcome.covered >= 0.92, "{name}: {outcome:?}");
    }
    let could_show = |groups: usize, seed: u64| {
        outcome(split(groups, World::quiet(alike(7, 0.02, 0.0), 5)), 1, 200, seed).detectable
    };
    assert!(could_show(3, 91) > could_show(1, 92), "a comparison through another is less sure");
}

/// Three of which the first varies as much as is said, the others by 2 %.
fn steady_first(restart_sd: f64) -> Vec<Simulated> {
    let mut contenders = alike(3, 0.02, 0.0);
    contenders[0].restart_sd = restart_sd;
    contenders
}

#[test]
fn looks_after_every_round_do_not_make_more_errors() {
    for (seed, world) in [(21, World::quiet(alike(6, 0.02, 0.0), 8)), (22, heavy(uneven(0.0), 8))] {
        let looks = Looks::EveryRound { most_rounds: world.rounds };
        let trials = Trials { looks, margin: 0.0, ..Trials::once(world, 1) };
        let outcome = trials.outcome(150, &mut rng(seed)).unwrap();
        assert!(outcome.false_runs <= 0.06, "{outcome:?}");
    }
}

/// A run that may be ended when a figure looks well must have intervals as true as those of any other run.
#[test]
fn rates_and_ratios_that_are_looked_at_after_every_round_hold_at_all_looks() {
    const ROUNDS: usize = 12;
    let world = World { round_sd: 0.02, ..World::quiet(alike(2, 0.02, 0.0), ROUNDS) };
    let left_out = |looks: Looks| {
        let (mut rates, mut ratios) = (0, 0);
        for seed in 0..300 {
            let all = world.measure(&mut rng(seed));
            let at_a_look = |rounds: usize| -> [bool; 2] {
                let so_far: Vec<Windows> = all.iter().map(|of| of[..rounds].to_vec()).collect();
                let table = Table::fit(&so_far).unwrap();
                let prior = Prior::fit(&[table.spreads()]).unwrap();
                let of_rounds = mean_variance_of_rounds([&table]);
                let rate = table.rate(0, (&prior, of_rounds), looks, 0.95).unwrap();
                let ratio = table.ratio((0, 1), &prior, looks, 0.95).unwrap();
                [rate, ratio].map(|told| told.is_some_and(|interval| !interval.contains(1.0)))
            };
            let looks: Vec<[bool; 2]> = (2..=ROUNDS).map(at_a_look).collect();
            rates += u32::from(looks.iter().any(|[rate, _]| *rate));
            ratios += u32::from(looks.iter().any(|[_, ratio]| *ratio));
        }
        [rates, ratios].map(|runs| f64::from(runs) / 300.0)
    };
    let watched = left_out(Looks::EveryRound { most_rounds: ROUNDS });
    assert!(watched.iter().all(|share| *share <= 0.09), "{watched:?}");
    let as_if_once = left_out(Looks::Once);
    assert!(as_if_once.iter().all(|share| *share >= 0.15), "{as_if_once:?}");
}

#[test]
fn a_run_that_looks_ends_when_all_is_settled() {
    let ends = |step: f64, seed: u64| {
        let world = World::quiet(ladder(2, step, 0.014, 0.0), 20);
        let trials = Trials { looks: Looks::EveryRound { most_rounds: 20 }, ..Trials::once(world, 1) };
        trials.outcome(200, &mut rng(seed)).unwrap()
    };
    let (twice, near) = (ends(2.0, 23), ends(1.05, 24));
    assert!(twice.shown > 0.99 && twice.rounds < 6.0, "{twice:?}");
    assert!(near.shown > 0.95 && near.rounds < 14.0, "{near:?}");
}

/// Without a margin, and with restarts that vary by tens of per cent, as tails of response times do.
#[test]
fn six_equal_tails_are_seldom_called_longer() {
    let apart = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5].map(|sd| Simulated::of(1.0, sd, 0.0)).to_vec();
    let skewed = World { restarts: Shape::Skewed, ..World::quiet(alike(6, 0.3, 0.0), 5) };
    for (seed, world) in [(61, heavy(alike(6, 0.3, 0.0), 5)), (62, heavy(apart, 6)), (63, skewed)] {
        let trials = Trials { margin: 0.0, ..Trials::once(World { round_sd: 0.5, ..world }, 1) };
        let outcome = trials.outcome(400, &mut rng(seed)).unwrap();
        assert!(outcome.false_runs <= 0.05, "{outcome:?}");
    }
}

#[test]
fn intervals_are_no_wider_than_they_must_be() {
    let outcome = outcome(World { void_share: 0.05, ..World::quiet(alike(6, 0.02, 0.0), 5) }, 1, 600, 31);
    assert!(outcome.covered <= 0.97 && outcome.detectable <= 0.08, "{outcome:?}");
}

#[test]
fn six_contenders_with_two_percent_noise_are_told_apart_at_eight_percent() {
    let world = World { void_share: 0.05, ..World::quiet(ladder(6, 1.08, 0.02, 0.0), 5) };
    let heavy = World { restarts: Shape::HeavyTailed, ..world.clone() };
    for (seed, world) in [(41, world), (42, heavy)] {
        let outcome = outcome(world, 1, 300, seed);
        // Five of the fifteen pairs are neighbours; one standard error is about a hundredth.
        assert!(outcome.nearest_shown >= 0.75, "{outcome:?}");
    }
}

#[test]
fn a_showdown_shows_every_pair_that_differs_by_a_third() {
    let outcome = outcome(World::noisy(ladder(7, 1.3, 0.015, 0.23), 4, 20), 3, 60, 51);
    assert!(outcome.all_shown >= 0.9, "{outcome:?}");
}
