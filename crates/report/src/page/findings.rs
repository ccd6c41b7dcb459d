//! What was found at one place: a workload over a number of connections, at every load that was given there.

use std::collections::BTreeMap;

use assay_model::JsonSchema;
use assay_model::experiment::{Cell, Protocol};
use assay_model::load::Arrival;
use assay_model::network::Network;
use assay_model::offered::Offered;
use assay_model::record::{Measurement, Record, Run};
use assay_model::units::Nanos;
use assay_model::verdict::{
    AnsweredVerdict, Call, CellVerdict, LatencyVerdict, Pair, RedlineVerdict, Standing, Verdict,
};
use assay_stats::lag::Bounds;
use assay_verdict::{DecodedRecord, RoundTimes, Window as Timed};
use serde::Serialize;

use super::curve::{Curve, curve};
use super::flame::{Flame, flames};
use super::window::{is_proper, per_second};
use crate::{sentences, standings};

/// The quantiles of every sample.
pub(super) const QUANTILES: [f64; 5] = [0.5, 0.9, 0.95, 0.99, 0.999];

/// Where something was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Spot {
    /// Name of the workload.
    pub workload: String,
    /// Connections held open.
    pub connections: u32,
    /// Requests in flight on one connection at most.
    pub pipeline: u32,
    /// The TCP and the wire; absent where the experiment names no network.
    pub network: Option<Network>,
    /// What is spoken.
    pub protocol: Protocol,
}

/// What was found there.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Findings {
    /// What came of it in words: the headline of a page that shows this place.
    pub sentences: Vec<String>,
    /// Contenders at capacity, fastest first; the limit stands among them. Empty when the capacity was not measured.
    pub standings: Vec<Standing>,
    /// What has to be known of their figures, in words.
    pub notes: Vec<String>,
    /// Every pair of ranked contenders.
    pub pairs: Pairs,
    /// Response times at given rates, one judgement for each load.
    pub latency: Vec<LatencyVerdict>,
    /// Redlines, one judgement for each objective.
    pub redlines: Vec<RedlineVerdict>,
    /// Shares answered in time, one judgement for each closed loop for which they are told.
    pub answered: Vec<AnsweredVerdict>,
    /// Every window, in the order in which they were measured.
    pub samples: Vec<Sample>,
    /// Durations by contender and load.
    pub curves: Vec<Curve>,
    /// Calls by contender and load, of those that were profiled.
    pub flames: Vec<Flame>,
}

/// Pairs of contenders in columns of equal length: a hundred contenders make five thousand pairs.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Pairs {
    /// The one with the higher estimate, as its index in [`Findings::standings`].
    pub faster: Vec<usize>,
    /// The other.
    pub slower: Vec<usize>,
    /// Throughput of the first over that of the second.
    pub estimate: Vec<f64>,
    /// Lower end of its interval, simultaneous over all pairs.
    pub low: Vec<f64>,
    /// Upper end.
    pub high: Vec<f64>,
    /// What may be said.
    pub call: Vec<Call>,
}

/// One measured window.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Sample {
    /// Index of the round.
    pub round: u32,
    /// Name of the contender.
    pub contender: String,
    /// The load, as people write it: `max` for a closed loop.
    pub offered: String,
    /// Requests per second that were offered; absent for a closed loop.
    pub offered_per_second: Option<f64>,
    /// When it began, after the start of the whole run.
    pub offset_ns: Nanos,
    /// Right answers per second.
    pub per_second: f64,
    /// Whether the verdict counts it.
    pub counts: bool,
    /// Rules that the generator found broken in this window, so that it alone should not be used.
    pub void: Vec<String>,
    /// The duration at each of [`Head::sample_quantiles`](super::Head::sample_quantiles), in nanoseconds: service time of a
    /// closed loop, else response time. Absent where too few values lie above, or requests left too late to tell.
    pub quantiles_ns: Vec<Option<u64>>,
    /// Whether each of these reaches requests of which it is only known that they took longer.
    pub are_lower_bounds: Vec<bool>,
}

impl Spot {
    fn of(cell: &Cell) -> Self {
        Self {
            workload: cell.workload.clone(),
            connections: cell.connections,
            pipeline: cell.pipeline,
            network: cell.network,
            protocol: cell.protocol,
        }
    }
}

/// The places of an experiment, in its order, in the settings that could be had.
pub(super) fn spots(record: &Record) -> Vec<Spot> {
    let settings = record.settings_had();
    let mut spots = Vec::new();
    for cell in record.experiment.cells().iter().filter(|cell| settings.contains(&cell.setting())) {
        let spot = Spot::of(cell);
        if !spots.contains(&spot) {
            spots.push(spot);
        }
    }
    spots
}

/// What was found at a place.
pub(super) fn findings(evidence: &DecodedRecord<'_>, verdict: &Verdict, spot: &Spot) -> Findings {
    let at = |cell: &Cell| Spot::of(cell) == *spot;
    let judged = verdict.cells.iter().find(|judged| at(&judged.cell));
    let latency: Vec<LatencyVerdict> =
        verdict.latency.iter().filter(|judged| at(&judged.cell)).cloned().collect();
    let windows = windows(evidence, judged, &latency, spot);
    Findings {
        sentences: judged
            .map(|judged| sentences::of_cell(evidence.record, judged, &verdict.trust))
            .unwrap_or_default(),
        standings: judged.map(|judged| judged.standings.clone()).unwrap_or_default(),
        notes: judged.map(standings::footnotes).unwrap_or_default(),
        pairs: judged.map(pairs).unwrap_or_default(),
        redlines: verdict.redlines.iter().filter(|judged| at(&judged.cell)).cloned().collect(),
        answered: verdict.answered.iter().filter(|judged| at(&judged.cell)).cloned().collect(),
        latency,
        samples: windows.iter().map(sample).collect(),
        curves: curves(evidence, &windows),
        flames: flames(evidence.record, |cell| at(cell)),
    }
}

/// A window with its histograms and where it belongs.
struct Window<'a> {
    round: u32,
    run: &'a Run,
    timed: &'a Timed<'a>,
    counts: bool,
}

fn windows<'a>(
    evidence: &'a DecodedRecord<'_>,
    judged: Option<&CellVerdict>,
    latency: &[LatencyVerdict],
    spot: &Spot,
) -> Vec<Window<'a>> {
    let record = evidence.record;
    let mut windows = Vec::new();
    for (position, (round, server_runs)) in record.rounds.iter().zip(&evidence.rounds).enumerate() {
        for server_run in server_runs.iter().filter(|server_run| is_proper(record, &server_run.run.contender))
        {
            let run = server_run.run;
            for timed in server_run.windows.iter().filter(|window| Spot::of(&window.cell) == *spot) {
                let measurement = timed.measured;
                let counts = if measurement.cell.offered.is_capacity() {
                    has_throughput(judged, &run.contender, position)
                } else {
                    is_told(latency, &run.contender, measurement)
                };
                windows.push(Window { round: round.index, run, timed, counts });
            }
        }
    }
    windows
}

/// Whether the verdict has a throughput for this contender in the round at this position of the record.
fn has_throughput(judged: Option<&CellVerdict>, contender: &str, position: usize) -> bool {
    let standing =
        judged.and_then(|judged| judged.standings.iter().find(|standing| standing.contender == contender));
    standing.is_some_and(|standing| matches!(standing.rounds_per_second.get(position), Some(Some(_))))
}

/// Whether a window at a given rate is sound and its contender's times are not withheld.
fn is_told(latency: &[LatencyVerdict], contender: &str, measurement: &Measurement) -> bool {
    let judged = latency.iter().find(|judged| judged.cell == measurement.cell);
    let standing = judged.and_then(|judged| judged.standings.iter().find(|s| s.contender == contender));
    measurement.void_rules().is_empty() && standing.is_none_or(|standing| standing.withheld.is_none())
}

fn sample(window: &Window<'_>) -> Sample {
    let measurement = window.timed.measured;
    let known = |q: &f64| window.timed.times.quantile(*q).as_ref().and_then(Bounds::known);
    let known: Vec<_> = QUANTILES.iter().map(known).collect();
    Sample {
        round: window.round,
        contender: window.run.contender.clone(),
        offered: measurement.cell.offered.to_string(),
        offered_per_second: match measurement.load.arrival {
            Arrival::Poisson { per_second } | Arrival::Constant { per_second } => Some(per_second),
            Arrival::Closed => None,
        },
        offset_ns: measurement.offset_ns,
        per_second: per_second(measurement),
        counts: window.counts,
        void: measurement.rate_void_rules().into_iter().map(|rule| rule.to_string()).collect(),
        quantiles_ns: known.iter().map(|known| known.map(|known| known.value)).collect(),
        are_lower_bounds: known.iter().map(|known| known.is_some_and(|known| known.is_lower_bound)).collect(),
    }
}

/// A curve for each contender and load. A redline's windows have many loads under one name, so they have none.
fn curves(evidence: &DecodedRecord<'_>, windows: &[Window<'_>]) -> Vec<Curve> {
    let mut groups: BTreeMap<(Offered, &str), Vec<&Timed<'_>>> = BTreeMap::new();
    // Of a window some of whose turns were disturbed the rate may count, and its times do not.
    let is_whole = |window: &&Window<'_>| window.counts && window.timed.void_rules().is_empty();
    for window in windows.iter().filter(is_whole) {
        let offered = window.timed.cell.offered;
        if !offered.is_search() {
            groups.entry((offered, window.run.contender.as_str())).or_default().push(window.timed);
        }
    }
    let of = |((offered, contender), windows): ((Offered, &str), Vec<&Timed<'_>>)| {
        let rounds = RoundTimes::of(evidence, contender, &windows.first()?.cell)?;
        curve(contender, offered.to_string(), &rounds, &windows)
    };
    groups.into_iter().filter_map(of).collect()
}

fn pairs(judged: &CellVerdict) -> Pairs {
    let place: BTreeMap<&str, usize> =
        judged.standings.iter().enumerate().map(|(i, standing)| (standing.contender.as_str(), i)).collect();
    let mut columns = Pairs::default();
    for Pair { faster, slower, ratio, call } in &judged.pairs {
        if let (Some(&faster), Some(&slower)) = (place.get(faster.as_str()), place.get(slower.as_str())) {
            columns.faster.push(faster);
            columns.slower.push(slower);
            columns.estimate.push(ratio.estimate);
            columns.low.push(ratio.low);
            columns.high.push(ratio.high);
            columns.call.push(*call);
        }
    }
    columns
}
