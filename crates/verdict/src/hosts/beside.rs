//! Hosts of one load against each other: the same server at the same time, so a host that gets other answers says nothing about the server.

use std::collections::BTreeMap;

use assay_model::check::{Check, CheckOutcome};
use assay_model::evidence::{Evidence, HOST_MARGIN, HostApart, HostMeasure};
use assay_model::hosts::{BesideHosts, HostStanding};
use assay_model::lab::HostRole;
use assay_model::load::{Arrival, LoadReport};
use assay_model::record::{Measurement, Record};
use assay_model::rule::Rule;
use assay_stats::Interval;
use assay_stats::beside::Beside;
use assay_stats::tiers::{Call, call};

use super::{alike, count, counts};
use crate::evidence::window::Times;
use crate::{CONFIDENCE, interval};

const MEASURES: [HostMeasure; 3] = [HostMeasure::Throughput, HostMeasure::Median, HostMeasure::P99];

/// One figure of each host in a window, in the order of the hosts; absent of one that gave no load in it, because servers were there.
type Figures = Vec<Option<f64>>;

/// What each host differs by from the others, by its name; nothing of a single one.
pub(super) fn compare<'r>(
    record: &'r Record,
    windows: &[&Measurement],
) -> BTreeMap<&'r str, Vec<BesideHosts>> {
    let names: Vec<&str> = record.generator_hosts.iter().map(|host| host.name.as_str()).collect();
    if names.len() < 2 {
        return BTreeMap::new();
    }
    let counting = windows.iter().filter(|window| counts(window));
    let told: Vec<Vec<Option<HostFigures>>> = counting.map(|window| figures(window, &names)).collect();
    let confidence = shared(names.len() * MEASURES.len());
    let of_host = |host: usize| {
        let of = |measure: HostMeasure| {
            let figure = |host: &Option<HostFigures>| host.and_then(|figures| figures.get(measure));
            let figures: Vec<Figures> =
                told.iter().map(|window| window.iter().map(figure).collect()).collect();
            beside(&figures, host, measure, confidence)
        };
        MEASURES.into_iter().filter_map(of).collect()
    };
    names.iter().enumerate().map(|(host, name)| (*name, of_host(host))).collect()
}

/// The confidence of each of so many intervals that hold at once (Bonferroni).
pub(super) fn shared(intervals: usize) -> f64 {
    1.0 - (1.0 - CONFIDENCE) / intervals as f64
}

/// What one host got in a window.
#[derive(Clone, Copy)]
struct HostFigures {
    throughput: Option<f64>,
    median: Option<f64>,
    p99: Option<f64>,
}

impl HostFigures {
    fn of(own: &LoadReport) -> Option<Self> {
        let times = Times::of(&own.latency).ok()?;
        let is_closed = own.arrival == Arrival::Closed;
        let quantile = |q| match is_closed {
            true => times.service_quantile(q).map(|ns| ns as f64),
            false => times.response_bounds(q).map(|bounds| bounds.from_due.value as f64),
        };
        let rate = own.window_ns.rate_of(own.window.ok) / f64::from(own.connections.max(1));
        Some(Self {
            throughput: Some(rate).filter(|rate| is_closed && *rate > 0.0),
            median: quantile(0.5),
            p99: quantile(0.99),
        })
    }

    fn get(&self, measure: HostMeasure) -> Option<f64> {
        match measure {
            HostMeasure::Throughput => self.throughput,
            HostMeasure::Median => self.median,
            HostMeasure::P99 => self.p99,
            // Of servers, not of load.
            HostMeasure::Served => None,
        }
    }
}

fn figures(window: &Measurement, names: &[&str]) -> Vec<Option<HostFigures>> {
    let of = |name: &&str| {
        let share = window.load.generators.iter().find(|share| share.name == **name)?;
        HostFigures::of(share.report.as_deref()?)
    };
    names.iter().map(of).collect()
}

/// One host over the others, paired by window; `None` for less than two windows.
fn beside(windows: &[Figures], host: usize, measure: HostMeasure, confidence: f64) -> Option<BesideHosts> {
    let Beside { ratio, times } = assay_stats::beside::beside(windows, host, confidence).ok()??;
    Some(apart(measure, ratio, times))
}

/// A figure of a host beside that of others.
pub(super) fn apart(measure: HostMeasure, ratio: Interval, windows: usize) -> BesideHosts {
    let is_apart = call(&ratio, HOST_MARGIN) != Call::Tie;
    BesideHosts { measure, ratio: interval(ratio), windows: count(windows), is_apart }
}

/// Whether a host got other answers than the rest, or its servers were not as fast; nothing where there was nobody to compare.
pub(crate) fn check(hosts: &[HostStanding]) -> Vec<Check> {
    [HostRole::Server, HostRole::Generator].into_iter().flat_map(|role| check_role(hosts, role)).collect()
}

fn check_role(hosts: &[HostStanding], role: HostRole) -> Vec<Check> {
    let having = || hosts.iter().filter(|host| host.role == role);
    let compared: Vec<&HostStanding> = having().filter(|host| !host.beside.is_empty()).collect();
    let is_pair = having().count() == 2;
    // Of two the one says what the other does.
    let named = if is_pair { &compared[..compared.len().min(1)] } else { &compared[..] };
    let found = named.iter().filter_map(|host| {
        let apart = host.beside.iter().find(|beside| beside.is_apart)?;
        let other = compared.iter().find(|other| is_pair && other.name != host.name);
        let evidence = Evidence::HostApart(HostApart {
            host: host.name.clone(),
            other: other.map(|other| other.name.clone()),
            measure: apart.measure,
            ratio: apart.ratio.estimate,
            low_ratio: apart.ratio.low,
            high_ratio: apart.ratio.high,
            windows: apart.windows,
            of_one_load: false,
        });
        Some(Check::objection(Rule::HostEffect, CheckOutcome::Warn, evidence))
    });
    let found: Vec<Check> = found.collect();
    let windows = compared.iter().flat_map(|host| &host.beside).map(|beside| beside.windows).max();
    match windows {
        Some(windows) if found.is_empty() => {
            vec![alike(role == HostRole::Server, compared.len(), windows as usize)]
        }
        _ => found,
    }
}
