//! Hosts of one load against each other: the same server at the same time, so a host that gets other answers is no matter of the server.

use std::collections::BTreeMap;

use assay_model::check::{Check, CheckOutcome};
use assay_model::evidence::{Evidence, HostApart, HostMeasure};
use assay_model::hosts::{BesideHosts, HostStanding};
use assay_model::lab::HostRole;
use assay_model::load::{Arrival, LoadReport};
use assay_model::record::{Measurement, Record};
use assay_model::rule::Rule;
use assay_stats::ratio::paired_log_ratio;
use assay_stats::tiers::{Call, call};

use super::{alike, count, counts};
use crate::window::Times;
use crate::{CONFIDENCE, interval, median};

/// Hosts that differ by less are not told apart: connections never fall evenly on the threads of a server.
const HOST_MARGIN: f64 = 0.05;

const MEASURES: [HostMeasure; 3] = [HostMeasure::Throughput, HostMeasure::Median, HostMeasure::P99];

/// One figure of each host in a window, in the order of the hosts; those of a window in which one of them has none are left out.
type Figures = Vec<f64>;

/// What each host differs by from the others, by its name; nothing of a single one.
pub(super) fn compare<'r>(
    record: &'r Record,
    windows: &[&Measurement],
) -> BTreeMap<&'r str, Vec<BesideHosts>> {
    let names: Vec<&str> = record.generator_hosts.iter().map(|host| host.name.as_str()).collect();
    if names.len() < 2 {
        return BTreeMap::new();
    }
    let told: Vec<Vec<HostFigures>> =
        windows.iter().filter(|window| counts(window)).filter_map(|window| figures(window, &names)).collect();
    // Bonferroni: the intervals of all hosts and figures hold at once.
    let confidence = 1.0 - (1.0 - CONFIDENCE) / (names.len() * MEASURES.len()) as f64;
    let of_host = |host: usize| {
        let of = |measure: HostMeasure| {
            let figures: Vec<Figures> = told.iter().filter_map(|window| whole(window, measure)).collect();
            beside(&figures, host, measure, confidence)
        };
        MEASURES.into_iter().filter_map(of).collect()
    };
    names.iter().enumerate().map(|(host, name)| (*name, of_host(host))).collect()
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
        }
    }
}

fn figures(window: &Measurement, names: &[&str]) -> Option<Vec<HostFigures>> {
    let of = |name: &&str| {
        let share = window.load.generators.iter().find(|share| share.name == **name)?;
        HostFigures::of(share.report.as_deref()?)
    };
    names.iter().map(of).collect()
}

fn whole(hosts: &[HostFigures], measure: HostMeasure) -> Option<Figures> {
    hosts.iter().map(|host| host.get(measure)).collect()
}

/// One host over the others, paired by window; `None` for less than two windows.
fn beside(windows: &[Figures], host: usize, measure: HostMeasure, confidence: f64) -> Option<BesideHosts> {
    let reference = |figures: &Figures| match figures.as_slice() {
        [first, second] => Some(if host == 0 { *second } else { *first }),
        all => median(all),
    };
    let own: Vec<f64> = windows.iter().map(|figures| figures[host]).collect();
    let others: Option<Vec<f64>> = windows.iter().map(reference).collect();
    let ratio = paired_log_ratio(&own, &others?, confidence).ok()?.interval;
    let is_apart = call(&ratio, HOST_MARGIN) != Call::Tie;
    Some(BesideHosts { measure, ratio: interval(ratio), windows: count(windows.len()), is_apart })
}

/// Whether a host got other answers than the rest; nothing where there was nobody to compare.
pub(crate) fn check(hosts: &[HostStanding]) -> Vec<Check> {
    let compared: Vec<&HostStanding> = hosts.iter().filter(|host| !host.beside.is_empty()).collect();
    let is_pair = hosts.iter().filter(|host| host.role == HostRole::Generator).count() == 2;
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
        });
        Some(Check::objection(Rule::HostEffect, CheckOutcome::Warn, evidence))
    });
    let found: Vec<Check> = found.collect();
    let windows = compared.iter().flat_map(|host| &host.beside).map(|beside| beside.windows).max();
    match windows {
        Some(windows) if found.is_empty() => vec![alike(compared.len(), windows as usize)],
        _ => found,
    }
}
