//! Records of all kinds, as they are made up.

use assay_model::load::{ErrorClass, LoadTurn, Series, SystemCalls};
use assay_model::offered::Offered;
use assay_model::record::{Measurement, NotRun, Record, Stage, Turn};
use assay_model::units::Nanos;
use assay_stats::Histogram;
use assay_verdict::testing;
use chacha20::ChaCha8Rng;
use chacha20::rand_core::SeedableRng as _;
use proptest::prelude::*;

/// What a record is made of.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    /// Logarithm to base 10 of each contender's rate.
    pub(crate) rates: Vec<f64>,
    pub(crate) rounds: usize,
    pub(crate) turns: u32,
    /// How much restarts and windows vary, as standard deviations of logarithms.
    pub(crate) restart_sd: f64,
    pub(crate) window_sd: f64,
    /// Chance of a life that ends before its window, of a window with failures, and of one whose server was not watched.
    pub(crate) dying: f64,
    pub(crate) failing: f64,
    pub(crate) unwatched: f64,
    /// Chance of a window during which others had some of the CPUs.
    pub(crate) disturbed: f64,
    pub(crate) with_limit: bool,
    pub(crate) with_control: bool,
    pub(crate) until_settled: bool,
    pub(crate) rated: bool,
    pub(crate) seed: u64,
}

pub(crate) fn kinds() -> impl Strategy<Value = Kind> {
    let noise = || prop_oneof![Just(0.0), Just(0.01), Just(0.1), Just(0.7), Just(3.0)];
    let chance = || prop_oneof![3 => Just(0.0), 1 => 0.0..0.6_f64];
    // Few sizes, of every kind: for each number of pairs and of looks critical values are simulated once.
    let rates = prop::sample::select(vec![1_usize, 2, 4]);
    let rates = rates.prop_flat_map(|contenders| prop::collection::vec(0.0..6.3_f64, contenders));
    let rounds = prop::sample::select(vec![0_usize, 1, 2, 3, 6]);
    let sizes = (rates, rounds, prop_oneof![Just(0_u32), 3..6_u32]);
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<u64>());
    (sizes, (noise(), noise()), (chance(), chance(), chance(), chance()), flags).prop_map(
        |((rates, rounds, turns), (restart_sd, window_sd), (dying, failing, unwatched, disturbed), flags)| {
            let (with_limit, with_control, until_settled, rated, seed) = flags;
            Kind {
                rates,
                rounds,
                turns,
                restart_sd,
                window_sd,
                dying,
                failing,
                unwatched,
                disturbed,
                with_limit,
                with_control,
                until_settled,
                rated,
                seed,
            }
        },
    )
}

impl Kind {
    pub(crate) fn record(&self) -> Record {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let mut named: Vec<(String, Vec<f64>)> = Vec::new();
        for (place, log) in self.rates.iter().enumerate() {
            let name = if place == 0 && self.with_limit { "limit".to_owned() } else { format!("c{place}") };
            let series = (0..self.rounds).map(|_| 10_f64.powf(*log) * factor(self.restart_sd, &mut rng));
            named.push((name, series.map(|rate| rate.clamp(1.0, 9e6)).collect()));
        }
        let series: Vec<(&str, &[f64])> =
            named.iter().map(|(name, series)| (name.as_str(), series.as_slice())).collect();
        let mut record = testing::record(&series);
        if self.with_control && self.rates.len() > 2 {
            let last = record.contenders.len() - 1;
            record.contenders[last].control_of = Some(record.contenders[1].identity.name.clone());
        }
        record.experiment.until_settled = self.until_settled;
        record.experiment.rounds = self.rounds.max(2) as u32;
        if self.rated {
            record.experiment.measures[0].rates =
                ["max", "50%", "common"].map(|rate| rate.parse().unwrap()).to_vec();
        }
        for run in record.rounds.iter_mut().flat_map(|round| &mut round.runs) {
            if rng.random::<f64>() < self.dying {
                run.cells.clear();
                run.failure = Some(NotRun {
                    stage: Stage::Load,
                    reason: "it ended".to_owned(),
                    remedy: None,
                    log_tail: Vec::new(),
                });
            }
            for window in &mut run.cells {
                self.spoil(window, &mut rng);
            }
            if self.rated {
                let offered: Vec<Measurement> =
                    run.cells.iter().flat_map(|window| at_rates(window, &mut rng)).collect();
                run.cells.extend(offered);
            }
        }
        give_time(&mut record);
        record
    }

    fn spoil(&self, window: &mut Measurement, rng: &mut ChaCha8Rng) {
        let ok = window.load.window.ok;
        let calls = |rng: &mut ChaCha8Rng| rng.random_range(0..=ok.saturating_mul(40));
        window.load.system_calls = SystemCalls { waits: calls(rng), ..SystemCalls::default() };
        if rng.random::<f64>() < self.unwatched {
            window.server = None;
        }
        if rng.random::<f64>() < self.failing {
            let failed = rng.random_range(1..=ok.max(1));
            window.load.books.errors.insert(ErrorClass::BodyTimeout, failed);
            window.load.books.issued += failed;
        }
        if rng.random::<f64>() < self.disturbed {
            disturb(window, rng);
        }
        let per_turn = ok as f64 / f64::from(self.turns.max(1));
        window.turns =
            (0..self.turns).map(|rotation| turn(rotation, per_turn * factor(self.window_sd, rng))).collect();
    }
}

/// No run is shorter than what was measured in it.
pub(crate) fn give_time(record: &mut Record) {
    let windows = record.rounds.iter().flat_map(|round| &round.runs).flat_map(|run| &run.cells);
    let measured = windows.map(|window| {
        let turns = window.turns.iter().map(|turn| turn.load.window_ns.0).sum::<u64>();
        turns.max(window.load.window_ns.0)
    });
    record.elapsed_ns = Nanos(measured.sum::<u64>() * 5 / 4 + 1_000_000_000);
}

/// Others had shares of the CPUs, the hypervisor among them, and the generator waited.
fn disturb(window: &mut Measurement, rng: &mut ChaCha8Rng) {
    let mut share = || rng.random::<f64>().powi(2);
    window.machine.steal_share = share();
    window.machine.server_other_share = share();
    window.machine.cpu_pressure_share = Some(share());
    let waited = (share() * window.load.window_ns.0 as f64) as u64;
    window.load.generator.run_delay_ns = Some(Nanos(waited));
}

/// A factor whose logarithm is uniform, with that standard deviation.
pub(crate) fn factor(sd: f64, rng: &mut ChaCha8Rng) -> f64 {
    (sd * 12_f64.sqrt() * (rng.random::<f64>() - 0.5)).exp()
}

fn turn(rotation: u32, ok: f64) -> Turn {
    let load = LoadTurn {
        window_ns: Nanos::from_millis(100),
        ok: ok as u64,
        answered: ok as u64,
        slices: Series { interval_ns: Nanos::from_millis(10), ok: vec![ok as u64 / 10; 10] },
        ..LoadTurn::default()
    };
    Turn { rotation, load, ..Turn::default() }
}

/// A contender at rates that are offered to it, with response times of any length.
fn at_rates(window: &Measurement, rng: &mut ChaCha8Rng) -> Vec<Measurement> {
    ["50%", "common"]
        .map(|rate| {
            let offered: Offered = rate.parse().unwrap();
            let mut other = window.clone();
            other.turns.clear();
            other.cell.offered = offered;
            let per_second = (window.load.window.ok as f64 / 2.0).max(1.0);
            other.load.arrival = assay_model::load::Arrival::Poisson { per_second };
            let mut histogram = Histogram::new();
            histogram.record_n(rng.random_range(1_000..2_000_000_000), 9_800);
            histogram.record_n(rng.random_range(1_000..20_000_000_000), 200);
            let text = histogram.to_hdr_base64().unwrap();
            other.load.latency.response_hdr = Some(text.clone());
            other.load.latency.response_from_sent_hdr = Some(text);
            other
        })
        .to_vec()
}
