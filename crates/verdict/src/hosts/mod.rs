//! What each host of a run did, and whether one of those from which load came got other answers than the rest
//! (docs/method/fleet.md#a-host-or-a-contender).

mod beside;
mod link;
mod servers;
#[cfg(test)]
mod tests;

use assay_model::check::{Check, CheckOutcome};
use assay_model::cpuset::CpuSet;
use assay_model::evidence::{Evidence, HostsAlike};
use assay_model::hosts::HostStanding;
use assay_model::lab::{GeneratorHost, HostRole, PlacedHost};
use assay_model::load::{GeneratorShare, LoadReport};
use assay_model::record::{Measurement, NotRun, Record};
use assay_model::rule::Rule;
use assay_model::units::{Nanos, total};
use assay_stats::Histogram;

pub(crate) use beside::check;
pub(crate) use link::full_network;

use super::median;
use crate::evidence::window::DecodedRecord;

/// The hosts in the order of the record: the servers', the database's, those from which load came.
pub(crate) fn judge(evidence: &DecodedRecord<'_>) -> Vec<HostStanding> {
    let record = evidence.record;
    let windows: Vec<&Measurement> = evidence.windows().map(|window| window.measured).collect();
    let mut between_servers = servers::compare(evidence);
    let servers = record.server_hosts.iter().map(|host| {
        let beside = between_servers.remove(host.name.as_str()).into_iter().collect();
        HostStanding { beside, ..server(host, servers::windows_on(evidence, host)) }
    });
    let database = record.database.iter().flat_map(|database| &database.host);
    let database = database.map(|host| self::database(host, &windows));
    let mut beside = beside::compare(record, &windows);
    let generators = record.generator_hosts.iter().map(|host| {
        let beside = beside.remove(host.name.as_str()).unwrap_or_default();
        HostStanding { beside, ..generator(record, host, &windows) }
    });
    servers.chain(database).chain(generators).collect()
}

fn server(host: &PlacedHost, windows: usize) -> HostStanding {
    HostStanding {
        clock_error_ns: host.clock.error_ns,
        windows: count(windows),
        ..unknown(&host.name, HostRole::Server)
    }
}

/// The host of the database, which those windows tell of in which it was used.
fn database(host: &PlacedHost, windows: &[&Measurement]) -> HostStanding {
    let cpus = host.cpus.parse::<CpuSet>().map_or(1, |cpus| cpus.len());
    let used = windows.iter().filter_map(|window| window.database.as_ref());
    let busy: Vec<f64> = used.map(|database| database.usage.busy_share(cpus)).collect();
    HostStanding {
        clock_error_ns: host.clock.error_ns,
        windows: count(busy.len()),
        busy_share: median(&busy),
        ..unknown(&host.name, HostRole::Database)
    }
}

fn generator(record: &Record, host: &GeneratorHost, windows: &[&Measurement]) -> HostStanding {
    let parts: Vec<Part<'_>> = windows.iter().filter_map(|window| Part::of(window, &host.name)).collect();
    let own = || parts.iter().filter_map(|part| part.own());
    let objecting =
        |rules: &[Rule]| count(own().filter(|own| rules.iter().any(|rule| objects(own, *rule))).count());
    let (mine, all) = own_and_all(&parts);
    let lost = lost(record, &host.name, &parts);
    let late = parts.iter().filter(|part| part.is_late()).count();
    HostStanding {
        clock_error_ns: parts
            .iter()
            .map(|part| part.share.clock.error_ns)
            .min()
            .unwrap_or(host.clock.error_ns),
        windows: count(parts.len()),
        lost: count(lost.len()),
        lost_for: lost.into_iter().next(),
        late: count(late),
        saturated: objecting(&[Rule::GeneratorSaturated]),
        disturbed: objecting(&[Rule::GeneratorDisturbed]),
        began_ns: parts
            .iter()
            .filter_map(|part| part.share.began_ns)
            .max_by_key(|began| began.unsigned_abs()),
        answers_share: (all > 0).then(|| mine as f64 / all as f64),
        busy_share: median(&own().filter_map(busiest).collect::<Vec<_>>()),
        delay_share: own().filter_map(delay_share).reduce(f64::max),
        lag_p99_ns: own().filter_map(lag_p99).max(),
        ..unknown(&host.name, HostRole::Generator)
    }
}

/// A host of which nothing is known but its name and role.
fn unknown(name: &str, role: HostRole) -> HostStanding {
    HostStanding {
        name: name.to_owned(),
        role,
        clock_error_ns: Nanos::ZERO,
        windows: 0,
        lost: 0,
        lost_for: None,
        late: 0,
        saturated: 0,
        disturbed: 0,
        began_ns: None,
        answers_share: None,
        busy_share: None,
        delay_share: None,
        lag_p99_ns: None,
        beside: Vec::new(),
    }
}

/// The part of a host in a window.
#[derive(Clone, Copy)]
struct Part<'r> {
    window: &'r Measurement,
    share: &'r GeneratorShare,
}

impl<'r> Part<'r> {
    fn of(window: &'r Measurement, host: &str) -> Option<Self> {
        let share = window.load.generators.iter().find(|share| share.name == host)?;
        Some(Self { window, share })
    }

    fn own(&self) -> Option<&'r LoadReport> {
        self.share.report.as_deref()
    }

    /// Whether it began last where that mattered, or did not send when or what was due.
    fn is_late(&self) -> bool {
        let began_late = self.window.load.checks.iter().any(|check| match &check.evidence {
            Evidence::Generators { lost, latest, .. } => {
                check.outcome != CheckOutcome::Pass && lost.is_empty() && *latest == self.share.name
            }
            _ => false,
        });
        let own = self.own();
        began_late || own.is_some_and(|own| objects(own, Rule::OfferedLoad) || objects(own, Rule::SendLag))
    }
}

/// What befell it, each time that it was lost: in a window, or in one that does not exist for it.
fn lost(record: &Record, host: &str, parts: &[Part<'_>]) -> Vec<String> {
    let in_windows = parts.iter().filter_map(|part| part.share.lost.clone());
    let runs = record.rounds.iter().chain(&record.long_look).flat_map(|round| &round.runs);
    let without = runs.filter_map(|run| run.failure.as_ref().and_then(NotRun::lost_host));
    let without = without.filter(|(name, _)| *name == host).map(|(_, why)| why.to_owned());
    in_windows.chain(without).collect()
}

/// Right answers of one host, and of all in the same windows.
fn own_and_all(parts: &[Part<'_>]) -> (u64, u64) {
    let told = parts.iter().filter_map(|part| Some((part.own()?.window.ok, part.window.load.window.ok)));
    told.fold((0, 0), |(mine, all), (own, sum)| (total([mine, own]), total([all, sum])))
}

fn objects(own: &LoadReport, rule: Rule) -> bool {
    own.checks.iter().any(|check| check.rule == rule && check.outcome != CheckOutcome::Pass)
}

fn busiest(own: &LoadReport) -> Option<f64> {
    own.thread_busy_shares.iter().copied().reduce(f64::max)
}

/// Time for which its threads could have run and waited, of the window and all threads.
fn delay_share(own: &LoadReport) -> Option<f64> {
    let threads = own.thread_busy_shares.len().max(1) as f64;
    let delay = own.generator.run_delay_ns?;
    Some((delay.0 as f64 / (own.window_ns.0.max(1) as f64 * threads)).min(1.0))
}

fn lag_p99(own: &LoadReport) -> Option<Nanos> {
    let lag = Histogram::from_hdr_base64(own.latency.client_lag_hdr.as_deref()?).ok()?;
    lag.quantile(0.99).map(Nanos)
}

fn count(of: usize) -> u32 {
    u32::try_from(of).unwrap_or(u32::MAX)
}

/// Whether a window tells something of the server and of those that load it.
fn counts(window: &Measurement) -> bool {
    window.void_rules().is_empty() && window.load.generators.iter().all(|share| share.lost.is_none())
}

/// The check that there is nothing to compare, or nothing to object.
fn alike(of_servers: bool, hosts: usize, windows: usize) -> Check {
    let evidence = Evidence::HostsAlike(HostsAlike {
        of_servers,
        hosts: hosts as u64,
        windows: windows as u64,
        of_one_load: false,
    });
    Check { rule: Rule::HostEffect, outcome: CheckOutcome::Pass, evidence }
}
