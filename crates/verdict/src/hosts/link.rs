//! Whether load reached what the network between hosts carries.

use assay_model::evidence::Busiest;
use assay_model::host_link::{Carried, HostLink};
use assay_model::load::LoadReport;
use assay_model::record::{Measurement, Record};

use crate::median;

/// How full the fullest network of known capacity was in these windows, in the direction in which it was fuller: the median over them.
pub(crate) fn full_network(record: &Record, windows: &[&Measurement]) -> Option<Busiest> {
    let only = &record.server_hosts.first()?.name;
    let of_link = |link: &'_ HostLink| {
        let there = windows_at(record, link.server.as_deref(), windows);
        let shares = WAYS.iter().filter_map(|way| Some((way.share(link, &there)?, way)));
        shares.max_by(|one, other| one.0.total_cmp(&other.0))
    };
    let fullest = record.host_links.iter().filter_map(|link| Some((of_link(link)?, link)));
    let ((share, way), link) = fullest.max_by(|one, other| one.0.0.total_cmp(&other.0.0))?;
    let server = link.server.as_ref().unwrap_or(only);
    let hosts = if link.hosts.is_empty() { "this host".to_owned() } else { link.hosts.join(" and ") };
    let link = format!("the network between {server} and {hosts}");
    Some(Busiest::Link { link, share: share.min(1.0), from_server: way.is_from_server })
}

/// Windows in which servers were on a host; all where no host is named.
fn windows_at<'r>(
    record: &Record,
    server: Option<&str>,
    windows: &[&'r Measurement],
) -> Vec<&'r Measurement> {
    let Some(server) = server else { return windows.to_vec() };
    let rounds = record.rounds.iter().filter(|round| round.server_host.as_deref() == Some(server));
    let there: Vec<&Measurement> = rounds.flat_map(|round| &round.runs).flat_map(|run| &run.cells).collect();
    let is_there = |window: &&Measurement| there.iter().any(|other| std::ptr::eq(*other, *window));
    windows.iter().copied().filter(is_there).collect()
}

/// One direction of a network.
struct Way {
    is_from_server: bool,
    /// What it carries, in bytes on the wire in a second.
    capacity: fn(&HostLink) -> Option<f64>,
    /// What went that way in a window.
    went: fn(&LoadReport) -> Carried,
}

const WAYS: [Way; 2] = [
    Way { is_from_server: true, capacity: HostLink::capacity, went: received },
    Way { is_from_server: false, capacity: HostLink::capacity_to_server, went: sent },
];

impl Way {
    /// How full it was in these windows.
    fn share(&self, link: &HostLink, windows: &[&Measurement]) -> Option<f64> {
        let capacity = (self.capacity)(link).filter(|capacity| *capacity > 0.0)?;
        let of = |window: &&Measurement| Some(self.carried(window, link)?.wire_bytes_per_second() / capacity);
        median(&windows.iter().filter_map(of).collect::<Vec<_>>())
    }

    /// What went over a link in a window.
    fn carried(&self, window: &Measurement, link: &HostLink) -> Option<Carried> {
        if window.load.generators.is_empty() {
            return link.hosts.is_empty().then(|| (self.went)(&window.load));
        }
        let of = |host: &String| {
            let share = window.load.generators.iter().find(|share| share.name == *host)?;
            share.report.as_deref().map(self.went)
        };
        let parts: Vec<Carried> = link.hosts.iter().map(of).collect::<Option<_>>()?;
        parts.into_iter().reduce(|sum, part| Carried {
            bytes_per_second: sum.bytes_per_second + part.bytes_per_second,
            answers_per_second: sum.answers_per_second + part.answers_per_second,
        })
    }
}

/// What a generator received in a second of its window, by the bytes of its answers in all of its life.
fn received(load: &LoadReport) -> Carried {
    went(load, load.books.received_bytes)
}

/// What a generator sent in a second of its window, by the bytes of its requests in all of its life.
fn sent(load: &LoadReport) -> Carried {
    went(load, load.books.sent_bytes)
}

fn went(load: &LoadReport, bytes: u64) -> Carried {
    let answers_per_second = load.window_ns.rate_of(load.window.ok);
    let of_each = bytes as f64 / load.books.ok.max(1) as f64;
    Carried { bytes_per_second: of_each * answers_per_second, answers_per_second }
}
