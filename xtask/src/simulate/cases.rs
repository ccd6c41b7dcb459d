//! What is simulated. Figures of noise are those that were measured: restarts vary by 0.4 to 3 %, windows of a tenth of a
//! second by 17 to 30 %, 5 % of windows are void.

use assay_stats::planning::Costs;
use assay_stats::simulation::{
    Adaptive, DuetOutcome, Duets, Phased, Shape, Simulated, SimulationOutcome, Trials, World, alike, ladder,
    uneven,
};
use assay_stats::simultaneous::Looks;

use super::Case;

/// More than a gauge was seen to depend on the server beside it (docs/results/gauge.md#does-it-depend-on-the-server).
const SMALL_BIAS: f64 = 0.007;
/// Rounds after which runs end that are looked at once.
const ROUNDS: [usize; 4] = [2, 3, 5, 10];

/// Whether an outcome is what it must be, where shares of wrong runs may be `most`.
pub(super) type Holds<O> = fn(outcome: &O, most: f64) -> bool;

/// One run in twenty may be wrong; intervals may be two hundredths short of what they say.
fn honest(outcome: &SimulationOutcome, most: f64) -> bool {
    let holds = |covered: f64| covered >= 0.925 || covered.is_nan();
    outcome.false_runs <= most && holds(outcome.covered) && holds(outcome.rates_covered)
}

/// Contenders as far apart as the frameworks of the TechEmpower benchmarks: twenty over a factor of ninety, some of them close.
fn frameworks() -> Vec<Simulated> {
    let mut contenders = ladder(20, 90_f64.powf(1.0 / 19.0), 0.015, 0.25);
    for (place, times) in [(4, 1.01), (9, 1.03), (14, 1.06), (17, 1.1)] {
        contenders[place].log_rate = contenders[place - 1].log_rate + f64::ln(times);
    }
    contenders
}

fn case<T>(name: String, trials: Trials<T>, holds: Holds<SimulationOutcome>) -> Case<T> {
    Case { name, trials, holds }
}

/// One window per life on a machine that others share.
fn heavy(contenders: Vec<Simulated>, rounds: usize) -> World {
    World { machine_sd: 0.0, ..World::noisy(contenders, rounds, 1) }
}

/// A case in groups that share the first contender.
fn split(groups: usize, world: World) -> World {
    World { groups, ..world }
}

/// Equals in twos, and each two so many times as fast as the two before: all other pairs are soon told apart, and leave these in question.
fn in_twos(step: f64, restart_sd: f64, window_sd: f64) -> Vec<Simulated> {
    ladder(3, step, restart_sd, window_sd).into_iter().flat_map(|one| [one; 2]).collect()
}

fn one_restless() -> Vec<Simulated> {
    let mut contenders = alike(6, 0.005, 0.0);
    contenders[5].restart_sd = 0.05;
    contenders
}

/// Equals, and contenders 1.1 and 1.3 times apart, on a machine with slow phases. Without a gauge few rounds call equals different too
/// often, so nothing is asked there.
pub(super) fn phases() -> Vec<Case<Phased>> {
    phased(false)
}

/// Equals and others on such a machine, where other programs take up to a quarter of half of all windows as well.
pub(super) fn others() -> Vec<Case<Phased>> {
    phased(true)
}

fn phased(are_others_at_work: bool) -> Vec<Case<Phased>> {
    let anything = |_: &SimulationOutcome, _: f64| true;
    let of = |(rounds, rotations): (usize, usize)| {
        let with = move |gauge_bias_sd: Option<f64>, step: f64| {
            let contenders = ladder(7, step, 0.015, 0.05);
            let name = match gauge_bias_sd {
                None => "no gauge".to_owned(),
                Some(bias) => format!("gauge with a bias of {:.1} %", 100.0 * bias),
            };
            let who = if step > 1.0 { format!("{step} times apart") } else { "alike".to_owned() };
            let world = Phased { contenders, rounds, rotations, are_others_at_work, gauge_bias_sd };
            let holds: Holds<SimulationOutcome> = if gauge_bias_sd.is_some() { honest } else { anything };
            case(format!("7 {who}, {rounds} rounds of {rotations}, {name}"), Trials::once(world, 4), holds)
        };
        [None, Some(0.0), Some(SMALL_BIAS)]
            .into_iter()
            .flat_map(move |bias| [1.0, 1.1, 1.3].map(|step| with(bias, step)))
    };
    [(2, 3), (3, 5), (5, 8)].into_iter().flat_map(of).collect()
}

pub(super) fn equals() -> Vec<Case> {
    let of = |rounds: usize| {
        let contaminated = World { restarts: Shape::Contaminated, ..World::quiet(uneven(0.0), rounds) };
        [
            ("6 alike, normal", World::quiet(alike(6, 0.02, 0.0), rounds), 1),
            ("6 alike, heavy tails, 3 tables", heavy(alike(6, 0.02, 0.0), rounds), 3),
            ("6 uneven, normal", World::quiet(uneven(0.0), rounds), 1),
            ("6 uneven, heavy tails, 3 tables", heavy(uneven(0.0), rounds), 3),
            ("6 uneven, contaminated", contaminated, 1),
            ("5 steady and 1 ten times as restless", World::quiet(one_restless(), rounds), 1),
            ("2 alike, heavy tails", heavy(alike(2, 0.02, 0.0), rounds), 1),
            ("20 alike, heavy tails", heavy(alike(20, 0.02, 0.0), rounds), 1),
            ("6 equal in twos, normal", World::quiet(in_twos(3.0, 0.02, 0.0), rounds), 1),
            ("6 equal in twos, heavy tails, 3 tables", heavy(in_twos(3.0, 0.02, 0.0), rounds), 3),
            (
                "carousel of 20, 6 equal in twos, 3 tables",
                World::noisy(in_twos(3.0, 0.015, 0.23), rounds, 20),
                3,
            ),
            ("carousel of 20, 7 alike, 3 tables", World::noisy(alike(7, 0.015, 0.23), rounds, 20), 3),
            ("carousel of 20, 6 uneven, 3 tables", World::noisy(uneven(0.2), rounds, 20), 3),
            ("carousel of 30, 20 alike, 4 tables", World::noisy(alike(20, 0.015, 0.25), rounds, 30), 4),
            ("carousel of 40, 2 alike", World::noisy(alike(2, 0.015, 0.23), rounds, 40), 1),
            ("2 groups, 3 alike, heavy tails", split(2, heavy(alike(3, 0.02, 0.0), rounds)), 1),
            ("3 groups, 7 alike, heavy tails", split(3, heavy(alike(7, 0.02, 0.0), rounds)), 1),
            (
                "3 groups, carousel of 20, 7 alike",
                split(3, World::noisy(alike(7, 0.015, 0.23), rounds, 20)),
                3,
            ),
        ]
        .map(|(name, world, tables)| {
            case(format!("{name}, {rounds} rounds"), Trials::once(world, tables), honest)
        })
    };
    ROUNDS.into_iter().flat_map(of).collect()
}

/// A 99th percentile varies by tens of per cent from restart to restart, so no margin hides a false call.
pub(super) fn tails() -> Vec<Case> {
    let of = |rounds: usize| {
        let uneven: Vec<Simulated> =
            [0.05, 0.1, 0.2, 0.3, 0.4, 0.5].map(|sd| Simulated::of(1.0, sd, 0.0)).to_vec();
        let round = |world: World| World { round_sd: 0.5, ..world };
        [
            ("6 alike, normal", round(World::quiet(alike(6, 0.3, 0.0), rounds))),
            ("6 alike, heavy tails", round(heavy(alike(6, 0.3, 0.0), rounds))),
            ("6 uneven, heavy tails", round(heavy(uneven, rounds))),
            ("6 equal in twos, normal", round(World::quiet(in_twos(100.0, 0.3, 0.0), rounds))),
            ("6 equal in twos, heavy tails", round(heavy(in_twos(100.0, 0.3, 0.0), rounds))),
            (
                "6 alike, skewed",
                World { restarts: Shape::Skewed, ..round(World::quiet(alike(6, 0.3, 0.0), rounds)) },
            ),
        ]
        .map(|(name, world)| {
            let trials = Trials { margin: 0.0, ..Trials::once(world, 1) };
            case(format!("{name}, {rounds} rounds"), trials, |outcome, most| outcome.false_runs <= most)
        })
    };
    ROUNDS.into_iter().flat_map(of).collect()
}

pub(super) fn looks() -> Vec<Case> {
    let of = |(name, world, tables): (&str, World, usize)| {
        let looks = Looks::EveryRound { most_rounds: world.rounds };
        let name = format!("{name}, at most {} rounds", world.rounds);
        case(name, Trials { looks, ..Trials::once(world, tables) }, |outcome, most| {
            outcome.false_runs <= most
        })
    };
    [
        ("2 alike, normal", World::quiet(alike(2, 0.02, 0.0), 10), 1),
        ("6 alike, normal", World::quiet(alike(6, 0.02, 0.0), 10), 1),
        ("6 alike, heavy tails", heavy(alike(6, 0.02, 0.0), 20), 1),
        ("6 uneven, normal", World::quiet(uneven(0.0), 10), 1),
        ("6 uneven, heavy tails, 3 tables", heavy(uneven(0.0), 10), 3),
        ("5 steady and 1 ten times as restless", World::quiet(one_restless(), 10), 1),
        ("carousel of 20, 7 alike, 3 tables", World::noisy(alike(7, 0.015, 0.23), 6, 20), 3),
        ("6, each 8 % faster", heavy(ladder(6, 1.08, 0.02, 0.0), 10), 1),
        ("carousel of 20, 7, each 1.3 times, 3 tables", World::noisy(ladder(7, 1.3, 0.015, 0.23), 6, 20), 3),
    ]
    .into_iter()
    .map(of)
    .collect()
}

pub(super) fn power() -> Vec<Case> {
    let mut cases: Vec<Case> = [1.04, 1.06, 1.08]
        .into_iter()
        .flat_map(|step| {
            let normal = World { void_share: 0.05, ..World::quiet(ladder(6, step, 0.02, 0.0), 5) };
            let heavy = World { restarts: Shape::HeavyTailed, ..normal.clone() };
            let holds: Holds<SimulationOutcome> =
                if step < 1.08 { |_, _| true } else { |outcome, _| outcome.nearest_shown >= 0.75 };
            [("normal", normal), ("heavy tails", heavy)].map(|(noise, world)| {
                let name = format!("6, each {:.0} % faster, 5 % void, {noise}", 100.0 * (step - 1.0));
                case(name, Trials::once(world, 1), holds)
            })
        })
        .collect();
    cases.extend([(2, 40), (3, 15), (3, 20), (3, 25), (4, 15), (4, 20), (5, 15)].map(
        |(rounds, rotations)| {
            let world = World::noisy(ladder(7, 1.3, 0.015, 0.25), rounds, rotations);
            let holds: Holds<SimulationOutcome> = if rounds < 4 || rotations * rounds < 75 {
                |_, _| true
            } else {
                |outcome, _| outcome.all_shown >= 0.9
            };
            case(
                format!("showdown: 7, each 1.3 times, 3 tables, {rounds} × {rotations}"),
                Trials::once(world, 3),
                holds,
            )
        },
    ));
    cases.extend([(3, 35), (4, 25)].map(|(rounds, rotations)| {
        let world = World::noisy(frameworks(), rounds, rotations);
        case(
            format!("frameworks: 20, 4 tables, {rounds} × {rotations}"),
            Trials::once(world, 4),
            |outcome, _| outcome.settled >= 0.85 && outcome.open_up_to < 1.5,
        )
    }));
    cases
}

/// What is simulated of runs that spend their budget by what they see: the name, the runs, and what must hold.
pub(super) type AdaptiveCase = (String, Adaptive, Holds<SimulationOutcome>);

/// Runs with the costs of a showdown's rounds and rotations, and of those of the TechEmpower types.
pub(super) fn adaptive() -> Vec<AdaptiveCase> {
    let showdown = |world| (world, 4, Costs { round_s: 9.0, rotation_s: 5.8 }, 235.0);
    let types = |world| (world, 14, Costs { round_s: 55.0, rotation_s: 36.0 }, 1020.0);
    let restless = [0.004, 0.01, 0.02, 0.04, 0.06, 0.08].map(|sd| Simulated::of(1.0, sd, 0.2)).to_vec();
    let spread = ladder(11, 1.3, 0.02, 0.2);
    // As Node.js and Fastify are beside servers that were compiled beforehand (docs/results/design.md#restless-contenders).
    let quiet = |world| (world, 14, Costs { round_s: 110.0, rotation_s: 47.0 }, 1000.0);
    let two_restless = |step: f64| {
        let mut contenders = ladder(11, step, 0.03, 0.07);
        [3, 6].iter().for_each(|&i: &usize| contenders[i].restart_sd = 0.11);
        World::noisy(contenders, 2, 1)
    };
    // As runs on this project's machine vary (docs/results/design.md#usual-noise).
    let as_usual = |contenders: usize| World::noisy(ladder(contenders, 1.15, 0.05, 0.065), 2, 1);
    [
        ("showdown, 7 alike", showdown(World::noisy(alike(7, 0.015, 0.23), 2, 1)), honest as Holds<_>),
        ("showdown, 6 uneven", showdown(World::noisy(uneven(0.2), 2, 1)), honest),
        ("showdown, 6 restless", showdown(World::noisy(restless, 2, 1)), honest),
        ("showdown, 7, each 1.3 times", showdown(World::noisy(ladder(7, 1.3, 0.015, 0.23), 2, 1)), honest),
        ("types, 11 alike", types(World::noisy(alike(11, 0.02, 0.2), 2, 1)), honest),
        ("types, 11, each 1.3 times", types(World::noisy(spread, 2, 1)), honest),
        ("showdown, 7 as usual, each 1.15 times", showdown(as_usual(7)), honest),
        ("types, 11 as usual, each 1.15 times", types(as_usual(11)), honest),
        ("types, 9 calm and 2 restless", quiet(two_restless(1.0)), honest),
        ("types, 9 calm and 2 restless, each 1.15 times", quiet(two_restless(1.15)), honest),
    ]
    .map(|(name, (world, tables, costs, budget_s), holds)| {
        (name.to_owned(), Adaptive { world, tables, costs, budget_s }, holds)
    })
    .to_vec()
}

/// What is simulated of duets: the name, the duets, the margin, and what must hold.
pub(super) type DuetCase = (String, Duets, f64, Holds<DuetOutcome>);

pub(super) fn duets() -> Vec<DuetCase> {
    let equal: Holds<DuetOutcome> = |outcome, most| outcome.shown <= most;
    let mut cases: Vec<DuetCase> = [3, 4, 6, 10, 20]
        .into_iter()
        .flat_map(|restarts| {
            let both = Duets::measured(1.0, restarts, 30);
            let normal = Duets { shape: Shape::Normal, ..both };
            let mut of = vec![
                (format!("equal, {restarts} restarts, heavy tails, no margin"), both, 0.0, equal),
                (format!("equal, {restarts} restarts, normal, no margin"), normal, 0.0, equal),
            ];
            if restarts > 3 {
                let turns = Duets { in_turns: true, ..both };
                of.push((
                    format!("equal, {restarts} restarts, sides in turns, no margin"),
                    turns,
                    0.0,
                    equal,
                ));
            }
            of
        })
        .collect();
    let builds = Duets { builds: (5, 0.01), ..Duets::measured(1.0, 4, 30) };
    cases.push((
        "equal, 5 builds that vary by 1 %, 4 restarts each, no margin".to_owned(),
        builds,
        0.0,
        |o, most| o.shown <= most,
    ));
    cases.extend([4, 6, 10, 20].map(|restarts| {
        let name = format!("2 % slower, {restarts} restarts, margin 1 %");
        let holds: Holds<DuetOutcome> =
            if restarts < 6 { |_, _| true } else { |outcome, _| outcome.shown >= 0.8 };
        (name, Duets::measured(1.0 / 1.02, restarts, 30), 0.01, holds)
    }));
    cases
}
