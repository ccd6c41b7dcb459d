//! A verdict for the made-up record: the plain textbook version of what the lab does with care.

use assay_model::check::{Check, CheckOutcome};
use assay_model::conformance::{Conformance, Score};
use assay_model::evidence::{Bottleneck, Evidence, Withheld};
use assay_model::experiment::Cell;
use assay_model::record::{Measurement, Record, Run};
use assay_model::rule::Rule;
use assay_model::verdict::{Call, CellVerdict, Interval, LimitedBy, Pair, Price, Standing, Verdict};
use assay_stats::Histogram;

use super::{DYING, LIMIT, NOT_INSTALLED, ROUNDS, WITHHELD};

/// Student's t, 97.5 %, five degrees of freedom.
const T5: f64 = 2.571;
const MARGIN: f64 = 0.01;

pub(crate) fn verdict(record: &Record) -> Verdict {
    Verdict {
        trust: vec![
            check(
                Rule::Headroom,
                CheckOutcome::Pass,
                "The generator used at most 61 % of its core; headroom 1.9×.",
            ),
            check(
                Rule::Little,
                CheckOutcome::Pass,
                "Requests in flight match throughput × time: Little 0.99–1.01.",
            ),
            check(Rule::Books, CheckOutcome::Pass, "Every one of 14,012,331 requests is accounted for."),
            check(Rule::NoiseFloor, CheckOutcome::Pass, "One server measured twice differs by 1.1 %."),
            check(
                Rule::Steal,
                CheckOutcome::Warn,
                "The machine is virtual (kvm): neighbours may take its CPU.",
            ),
        ],
        rounds: ROUNDS,
        margin: MARGIN,
        cells: record.experiment.cells().into_iter().map(|cell| judge(record, cell)).collect(),
        ..Verdict::default()
    }
}

fn check(rule: Rule, outcome: CheckOutcome, sentence: &str) -> Check {
    Check { rule, outcome, evidence: Evidence::Told { sentence: sentence.to_owned() } }
}

/// A number that is withheld for it.
pub(crate) fn because(sentence: &str) -> Withheld {
    Withheld::void(&check(Rule::GeneratorSaturated, CheckOutcome::Void, sentence))
}

fn judge(record: &Record, cell: Cell) -> CellVerdict {
    let names = record.contenders.iter().map(|entry| entry.identity.name.as_str());
    let names = names.filter(|name| *name != NOT_INSTALLED);
    let mut standings: Vec<Standing> = names.map(|name| standing(record, &cell, name)).collect();
    standings.sort_by(|a, b| estimate(b).total_cmp(&estimate(a)));
    let pairs = pairs(&standings);
    let mut tier = 0;
    for standing in
        standings.iter_mut().filter(|standing| standing.contender != LIMIT && standing.withheld.is_none())
    {
        let tied_with_the_one_before = standing.contender == "gin";
        tier += u32::from(!tied_with_the_one_before);
        standing.tier = Some(tier);
        standing.letters = char::from(b'a' + (tier - 1) as u8).to_string();
    }
    CellVerdict { cell, standings, pairs, margin: MARGIN, detectable: Some(0.04) }
}

fn estimate(standing: &Standing) -> f64 {
    standing.throughput_per_second.map_or(0.0, |interval| interval.estimate)
}

fn standing(record: &Record, cell: &Cell, name: &str) -> Standing {
    let windows: Vec<Option<(&Run, &Measurement)>> = rounds_of(record, cell, name);
    let speeds: Vec<Option<f64>> = windows.iter().map(|window| window.as_ref().map(|w| speed(w.1))).collect();
    let limit: Vec<Option<f64>> =
        rounds_of(record, cell, LIMIT).into_iter().map(|window| window.map(|w| speed(w.1))).collect();
    let shares: Vec<Option<f64>> =
        speeds.iter().zip(&limit).map(|(mine, theirs)| Some((*mine)? / (*theirs)?)).collect();
    let sound: Vec<(&Run, &Measurement)> = windows.iter().flatten().copied().collect();
    let withheld = (name == WITHHELD)
        .then(|| because("the generator was saturated (99.8 % of its core) while the server was not: this is the generator's speed"));
    let quantile = |q: f64| quantile_interval(&sound, q);
    Standing {
        contender: name.to_owned(),
        throughput_per_second: if withheld.is_some() { None } else { geometric(&speeds) },
        rounds_per_second: speeds,
        trimmed_mean_per_second: None,
        share_of_limit: if name == LIMIT || withheld.is_some() { None } else { geometric(&shares) },
        tier: None,
        letters: String::new(),
        p50_ns: quantile(0.5),
        p99_ns: quantile(0.99),
        cpu_per_request_ns: middle(sound.iter().map(|w| cpu_per_request(w.1)).collect()),
        server_busy_share: Some(0.985),
        generator_busy_share: Some(if name == WITHHELD { 0.998 } else { 0.61 }),
        memory_bytes: sound
            .iter()
            .filter_map(|w| w.1.server.as_ref().map(|usage| usage.rss_peak_bytes))
            .max(),
        startup_ns: middle(sound.iter().map(|w| w.0.startup_ns.0 as f64).collect()),
        conformance: conformance(record, name),
        failed: sound.iter().map(|w| w.1.load.window.errors.values().sum::<u64>()).sum(),
        limited_by: if name == WITHHELD { LimitedBy::Generator } else { LimitedBy::Server },
        limit_evidence: Bottleneck::Busy {
            cpus: 1,
            server_share: Some(0.99),
            generator_share: 0.61,
            busiest: None,
        },
        headroom: Some(if name == WITHHELD { 1.0 } else { 1.6 }),
        price_per_million: None,
        energy: None,
        price: Price::default(),
        ages: None,
        checks: checks(name),
        withheld,
    }
}

fn conformance(record: &Record, name: &str) -> Option<Score> {
    let entry = record.entry_of(name)?;
    entry.conformance.as_ref().map(Conformance::score)
}

fn checks(name: &str) -> Vec<Check> {
    match name {
        WITHHELD => vec![check(
            Rule::GeneratorSaturated,
            CheckOutcome::Void,
            "The generator's thread was 99.8 % busy while the server's CPU was 31 % idle.",
        )],
        DYING => {
            vec![check(
                Rule::FailedRuns,
                CheckOutcome::Warn,
                "One of 6 rounds yielded nothing: the server died.",
            )]
        }
        _ => Vec::new(),
    }
}

/// The sound window of each round.
fn rounds_of<'a>(record: &'a Record, cell: &Cell, name: &str) -> Vec<Option<(&'a Run, &'a Measurement)>> {
    let of_round = |runs: &'a [Run]| {
        let run = runs.iter().find(|run| run.contender == name)?;
        let window = run.cells.iter().find(|measurement| &measurement.cell == cell)?;
        let void = !window.void_rules().is_empty();
        (!void).then_some((run, window))
    };
    record.rounds.iter().map(|round| of_round(&round.runs)).collect()
}

fn speed(window: &Measurement) -> f64 {
    window.load.window.ok as f64 / window.load.window_ns.as_secs_f64()
}

fn cpu_per_request(window: &Measurement) -> f64 {
    window.server.as_ref().map_or(0.0, |usage| usage.cpu_ns().0 as f64 / window.load.window.ok as f64)
}

fn geometric(values: &[Option<f64>]) -> Option<Interval> {
    let logs: Vec<f64> = values.iter().flatten().map(|value| value.ln()).collect();
    let count = logs.len() as f64;
    if count < 2.0 {
        return None;
    }
    let mean = logs.iter().sum::<f64>() / count;
    let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let half = T5 * (variance / count).sqrt();
    Some(Interval {
        estimate: mean.exp(),
        low: (mean - half).exp(),
        high: (mean + half).exp(),
        confidence: 0.95,
    })
}

fn quantile_interval(windows: &[(&Run, &Measurement)], q: f64) -> Option<Interval> {
    let of = |window: &(&Run, &Measurement)| {
        let histogram = Histogram::from_hdr_base64(&window.1.load.latency.service_hdr).ok()?;
        histogram.quantile(q).map(|value| value as f64)
    };
    let mut values: Vec<f64> = windows.iter().filter_map(of).collect();
    values.sort_by(f64::total_cmp);
    let (low, high) = (*values.first()?, *values.last()?);
    Some(Interval { estimate: middle(values)?, low, high, confidence: 0.969 })
}

fn middle(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

fn pairs(standings: &[Standing]) -> Vec<Pair> {
    let ranked: Vec<&Standing> =
        standings.iter().filter(|s| s.contender != LIMIT && s.withheld.is_none()).collect();
    let mut pairs = Vec::new();
    for (i, faster) in ranked.iter().enumerate() {
        for slower in &ranked[i + 1..] {
            let both = faster.rounds_per_second.iter().zip(&slower.rounds_per_second);
            let ratios: Vec<Option<f64>> = both.map(|(f, s)| Some((*f)? / (*s)?)).collect();
            let Some(ratio) = geometric(&ratios) else { continue };
            let call = if ratio.low > 1.0 + MARGIN { Call::Distinct } else { Call::Tie };
            let (faster, slower) = (faster.contender.clone(), slower.contender.clone());
            pairs.push(Pair { faster, slower, ratio, call });
        }
    }
    pairs
}
