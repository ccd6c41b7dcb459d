//! Records of all kinds, judged and told: nothing that is printed is senseless, and nothing contradicts anything else.
#![allow(clippy::unwrap_used, reason = "a helper may fail as loudly as the test that calls it")]

use assay_model::load::{ErrorClass, LoadTurn, Series, SystemCalls};
use assay_model::offered::Offered;
use assay_model::record::{Measurement, NotRun, Record, Stage, Turn};
use assay_model::units::Nanos;
use assay_model::verdict::{Call, CellVerdict, Verdict};
use assay_report::export::{csv, json, junit, markdown, openmetrics, summary};
use assay_report::terminal::{Style, render};
use assay_report::words::{evidence, sentences};
use assay_report::{html, page};
use assay_stats::Histogram;
use assay_verdict::{settling, testing};
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;

/// No percentage beyond this tells anybody anything.
const MOST_PERCENT: f64 = 1000.0;
/// From here on a number for people has no fraction.
const WHOLE_FROM: f64 = 1000.0;

/// What a record is made of.
#[derive(Clone, Debug)]
struct Kind {
    /// Logarithm to base 10 of each contender's rate.
    rates: Vec<f64>,
    rounds: usize,
    turns: u32,
    /// How much restarts and windows vary, as standard deviations of logarithms.
    restart_sd: f64,
    window_sd: f64,
    /// Chance of a life that ends before its window, of a window with failures, and of one whose server was not watched.
    dying: f64,
    failing: f64,
    unwatched: f64,
    with_limit: bool,
    with_control: bool,
    until_settled: bool,
    rated: bool,
    seed: u64,
}

fn kinds() -> impl Strategy<Value = Kind> {
    let noise = || prop_oneof![Just(0.0), Just(0.01), Just(0.1), Just(0.7), Just(3.0)];
    let chance = || prop_oneof![3 => Just(0.0), 1 => 0.0..0.6_f64];
    let sizes = (prop::collection::vec(0.0..6.3_f64, 1..5), 0..7_usize, prop_oneof![Just(0_u32), 3..6_u32]);
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<u64>());
    (sizes, (noise(), noise()), (chance(), chance(), chance()), flags).prop_map(
        |((rates, rounds, turns), (restart_sd, window_sd), (dying, failing, unwatched), flags)| {
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
    fn record(&self) -> Record {
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
        let per_turn = ok as f64 / f64::from(self.turns.max(1));
        window.turns =
            (0..self.turns).map(|rotation| turn(rotation, per_turn * factor(self.window_sd, rng))).collect();
    }
}

/// A factor whose logarithm is uniform, with that standard deviation.
fn factor(sd: f64, rng: &mut ChaCha8Rng) -> f64 {
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

/// Everything that people read of a run.
fn told(record: &Record, verdict: &Verdict) -> Vec<(&'static str, String)> {
    let trust: Vec<String> = verdict.trust.iter().map(evidence).collect();
    let of = |width| render(record, verdict, &Style { width, colour: false, ascii: false, full: true });
    vec![
        ("terminal", of(100)),
        ("wide terminal", of(220)),
        ("Markdown", markdown(record, verdict)),
        ("sentences", sentences(record, verdict).join("\n")),
        ("trust", trust.join("\n")),
        ("JUnit", junit(record, verdict, true).unwrap()),
    ]
}

/// What programs read: numbers as they are.
fn written(record: &Record, verdict: &Verdict) -> Vec<(&'static str, String)> {
    let data = serde_json::to_string(&page::build(&[(record, verdict)]).unwrap()).unwrap();
    vec![
        ("JSON", json(record, verdict).unwrap()),
        ("CSV", csv(record).unwrap()),
        ("summary", summary(record, verdict)),
        ("OpenMetrics", openmetrics(record, verdict)),
        ("page's data", data),
    ]
}

/// The first thing in a text that is not finite.
fn infinite(text: &str) -> Option<&str> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words.into_iter().find(|word| matches!(*word, "inf" | "NaN" | "nan" | "infinity"))
}

/// The first number in a text for people that no person can use.
fn senseless(text: &str) -> Option<String> {
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let from = &rest[at..];
        let end = from.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == ',')).unwrap_or(from.len());
        let number = from[..end].trim_end_matches(['.', ',']);
        let behind = &from[number.len()..];
        if let Ok(value) = number.replace(',', "").parse::<f64>() {
            let is_percentage = behind.starts_with(" %");
            let told: String = rest.chars().skip(at.saturating_sub(20)).take(70).collect();
            if is_percentage && value > MOST_PERCENT {
                return Some(format!("{number} % in `{told}`"));
            }
            if number.contains('.') && value >= WHOLE_FROM {
                return Some(format!("{number} in `{told}`"));
            }
        }
        rest = &from[number.len().max(1)..];
    }
    None
}

/// Where rows or tiers of a table deny what one of its pairs shows.
fn contradiction(cell: &CellVerdict) -> Option<String> {
    let row = |name: &str| cell.standings.iter().position(|standing| standing.contender == name);
    let tier = |name: &str| cell.standings[row(name)?].tier;
    let denied = |faster: &str, slower: &str| {
        row(faster) > row(slower) || tier(faster).is_none() || tier(faster) >= tier(slower)
    };
    let shown = cell.pairs.iter().filter(|pair| pair.call == Call::Distinct);
    let pair = shown.into_iter().find(|pair| denied(&pair.faster, &pair.slower));
    let tiers: Vec<u32> = cell.standings.iter().filter_map(|standing| standing.tier).collect();
    let rates: Vec<f64> =
        cell.standings.iter().filter_map(|standing| Some(standing.throughput_per_second?.estimate)).collect();
    match pair {
        Some(pair) => Some(format!("{pair:?}, but {:?}", cell.standings)),
        None if !tiers.is_sorted() => Some(format!("tiers {tiers:?}")),
        None if !rates.is_sorted_by(|a, b| a >= b) => Some(format!("rates {rates:?}")),
        None => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_senseless_is_printed_and_nothing_contradicts_itself(kind in kinds()) {
        let record = kind.record();
        let verdict = testing::judged(&record);
        for cell in &verdict.cells {
            prop_assert_eq!(contradiction(cell), None);
        }
        let again: Result<Verdict, _> = serde_json::from_value(serde_json::to_value(&verdict).unwrap());
        prop_assert!(again.is_ok_and(|again| again == verdict), "what is not finite is null: {verdict:?}");
        let people = told(&record, &verdict);
        for (what, text) in &people {
            prop_assert_eq!(infinite(text), None, "{}:\n{}", what, text);
            prop_assert_eq!(senseless(text), None, "{}:\n{}", what, text);
            let denied = text.contains("one round shows no differences") && verdict.rounds > 1;
            prop_assert!(!denied, "{what} with {} rounds:\n{text}", verdict.rounds);
        }
        for (what, text) in written(&record, &verdict) {
            prop_assert_eq!(infinite(&text), None, "{}", what);
        }
        html::page(&record, &verdict).unwrap();
        settling(&record).unwrap();
    }
}

#[test]
fn senseless_numbers_are_found() {
    for bad in ["± 156332510070906755 %", "28376.00 system calls per answer", "vary by 9,156 %", "1,234.5 a"]
    {
        assert!(senseless(bad).is_some(), "{bad}");
    }
    for good in ["p99 0.75 ms, 86 %", "1,234,567 requests, 12.5 of 1000.", "[1.21 … 1.30]", "127.0.0.1:8080"]
    {
        assert_eq!(senseless(good), None, "{good}");
    }
    assert_eq!((infinite("± inf %"), infinite("le=\"+Inf\" information")), (Some("inf"), None));
}
