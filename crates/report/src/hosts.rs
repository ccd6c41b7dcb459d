//! The hosts of a run: the texts of every format, and Markdown.

use assay_model::evidence::HostMeasure;
use assay_model::fleet::ClockOffset;
use assay_model::host::{HostFacts, UNNAMED_HYPERVISOR};
use assay_model::host_link::HostLink;
use assay_model::hosts::{BesideHosts, HostStanding};
use assay_model::lab::{HostRole, PlacedHost};
use assay_model::record::Record;
use assay_model::units::Nanos;
use assay_model::verdict::Verdict;

use crate::network;
use crate::table::{Column, DASH, Row, Table};
use crate::words::count_of;
use crate::{foreign, format};

/// What a table of hosts shows, over what it is a heading.
pub(crate) const TITLE: &str = "Hosts";

/// A host with all that is known of it.
#[derive(Clone, Copy)]
pub(crate) struct Host<'r> {
    /// What it did.
    pub(crate) standing: &'r HostStanding,
    /// The machine.
    pub(crate) machine: &'r HostFacts,
    /// CPUs of what is measured there.
    pub(crate) cpus: &'r str,
    /// Where load reaches its servers, or these their database.
    pub(crate) address: Option<&'r str>,
    /// The host's clock beside ours before the first round.
    pub(crate) clock: ClockOffset,
    /// What the network carries from the servers to it.
    pub(crate) link: Option<&'r HostLink>,
}

/// All hosts: the servers', the database's, those from which load came.
pub(crate) fn hosts<'r>(record: &'r Record, verdict: &'r Verdict) -> Vec<Host<'r>> {
    verdict.hosts.iter().filter_map(|standing| host(record, standing)).collect()
}

fn host<'r>(record: &'r Record, standing: &'r HostStanding) -> Option<Host<'r>> {
    let placed = match standing.role {
        HostRole::Server => Some(record.server_hosts.iter().find(|host| host.name == standing.name)?),
        HostRole::Database => Some(record.database.as_ref()?.host.as_ref()?),
        HostRole::Generator => None,
    };
    if let Some(PlacedHost { address, cpus, host: machine, clock, .. }) = placed {
        return Some(Host { standing, machine, cpus, address: Some(address), clock: *clock, link: None });
    }
    let of = record.generator_hosts.iter().find(|host| host.name == standing.name)?;
    let link = record.host_links.iter().find(|link| is_in_the_table(link) && link.hosts[0] == standing.name);
    let (machine, cpus, clock) = (&of.host, of.cpus.as_str(), of.clock);
    Some(Host { standing, machine, cpus, address: None, clock, link })
}

/// All hosts, and what each did.
pub(crate) fn table<'h, 'r>(hosts: &'h [Host<'r>]) -> Table<'h, Host<'r>> {
    let numbers = |head, drop| Column::numbers(head).drop(drop).foreign();
    Table::new("host", hosts, |host| Row::named(&host.standing.name))
        .column(Column::labels("role"), |host| host.standing.role.name().to_owned())
        .column(numbers("CPUs", 6), |host| host.cpus.to_owned())
        .column(numbers("round trip", 8), |host| round_trip(&host.clock))
        .column(numbers("clock ±", 7), |host| duration(Some(host.standing.clock_error_ns)))
        .column(numbers("to server", 9), |host| duration(host.link.and_then(|link| link.round_trip_ns)))
        .column(numbers("carries", 10), |host| or_dash(host.link.and_then(network::carries)))
        .column(numbers("began", 5), |host| or_dash(host.standing.began_ns.map(began)))
        .column(numbers("answers", 1), |host| or_dash(host.standing.answers_share.map(format::percent)))
        .column(numbers("busy", 2), |host| or_dash(host.standing.busy_share.map(format::percent)))
        .column(numbers("waited", 4), |host| or_dash(host.standing.delay_share.map(format::percent)))
        .column(numbers("sent late", 11), |host| duration(host.standing.lag_p99_ns))
        .column(numbers("late, lost", 3), |host| troubles(host.standing))
}

fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| DASH.to_owned())
}

fn duration(ns: Option<Nanos>) -> String {
    or_dash(ns.map(|ns| format::duration(ns.0 as f64)))
}

/// How long a word to it and back took at least.
fn round_trip(clock: &ClockOffset) -> String {
    format::duration(clock.error_ns.0 as f64 * 2.0)
}

fn began(ns: i64) -> String {
    let sign = if ns < 0 { "−" } else { "+" };
    format!("{sign}{}", format::duration(ns.unsigned_abs() as f64))
}

/// In how many of its windows it was late, and in how many it was lost.
fn troubles(standing: &HostStanding) -> String {
    if standing.role != HostRole::Generator {
        return DASH.to_owned();
    }
    format!("{}, {} of {}", standing.late, standing.lost, standing.windows.max(standing.lost))
}

/// The machine in a few words.
pub(crate) fn machine_in_words(machine: &HostFacts) -> String {
    let cpus = count_of(machine.cpus as usize, "CPU");
    let known = [
        machine.cpu_model.clone(),
        Some(cpus),
        machine.memory_bytes.map(format::bytes),
        machine.kernel.as_ref().map(|kernel| format!("Linux {kernel}")),
        machine.hypervisor.as_deref().map(|hypervisor| match hypervisor {
            UNNAMED_HYPERVISOR => "a virtual machine".to_owned(),
            name => format!("under {name}"),
        }),
    ];
    known.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// What must be known of the table: the machines, who was lost or limited, whose answers differ, what the network carries.
pub(crate) fn footnotes(record: &Record, verdict: &Verdict) -> Vec<String> {
    let hosts = hosts(record, verdict);
    let mut notes: Vec<String> = hosts.iter().flat_map(of_host).collect();
    notes.extend(record.host_links.iter().flat_map(|link| of_link(record, link)));
    notes
}

fn of_host(host: &Host<'_>) -> Vec<String> {
    let standing = host.standing;
    let name = &standing.name;
    let at = host.address.map(|address| format!(", at {address}")).unwrap_or_default();
    let mut notes = vec![format!("{name}: {}{at}", machine_in_words(host.machine))];
    let windows = |n: u32| format!("{n} of {}", count_of(standing.windows as usize, "window"));
    if let Some(why) = &standing.lost_for {
        let times = count_of(standing.lost as usize, "time");
        notes.push(format!("{name} was lost {times}: {why}"));
    }
    for (n, what) in [
        (standing.late, "was late in"),
        (standing.saturated, "was limited by its own CPU in"),
        (standing.disturbed, "was disturbed on its CPU in"),
    ] {
        if n > 0 {
            notes.push(format!("{name} {what} {}", windows(n)));
        }
    }
    notes.extend(standing.beside.iter().filter(|beside| beside.is_apart).map(|beside| apart(name, beside)));
    notes
}

/// A figure of one host over that of the others.
fn apart(name: &str, beside: &BesideHosts) -> String {
    let of = format::quotient_interval(&beside.ratio);
    let what = measured(beside.measure);
    format!("{name}: {what} {} times that of the other hosts {}", of.estimate, of.interval)
}

/// A figure by its name.
pub(crate) fn measured(measure: HostMeasure) -> &'static str {
    match measure {
        HostMeasure::Throughput => "answers per connection",
        HostMeasure::Median => "median of the times",
        HostMeasure::P99 => "99th percentile of the times",
        HostMeasure::Served => "throughput of the servers",
    }
}

/// What must be said of a network, where the server's host is known by its name or the only one; what the table has too, as it
/// leaves these columns out where there is no room.
fn of_link(record: &Record, link: &HostLink) -> Vec<String> {
    let only = || record.server_hosts.first().map(|host| host.name.as_str());
    let server = link.server.as_deref().or_else(only).unwrap_or("the servers");
    network::between(server, link)
}

/// Whether the line of a host of the load has a place for what its network carries: not for several ways from there to servers.
fn is_in_the_table(link: &HostLink) -> bool {
    link.server.is_none() && link.hosts.len() == 1
}

/// The hosts as a Markdown table; nothing where all was on one.
pub(crate) fn markdown(record: &Record, verdict: &Verdict) -> String {
    let hosts = hosts(record, verdict);
    if hosts.is_empty() {
        return String::new();
    }
    table(&hosts).markdown(TITLE) + "\n" + &foreign::markdown_list(&footnotes(record, verdict))
}
