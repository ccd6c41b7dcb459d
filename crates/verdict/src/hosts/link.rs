//! Whether load reached what the network between hosts carries.

use assay_model::evidence::Busiest;
use assay_model::hosts::{Carried, HostLink};
use assay_model::load::LoadReport;
use assay_model::record::{Measurement, Record};

use crate::median;

/// How full the fullest network of known capacity was in these windows: the median over them.
pub(crate) fn full_network(record: &Record, windows: &[&Measurement]) -> Option<Busiest> {
    let server = &record.server_host.as_ref()?.name;
    let shares = record.host_links.iter().filter_map(|link| {
        let capacity = link.capacity().filter(|capacity| *capacity > 0.0)?;
        let of = |window: &&Measurement| Some(carried(window, link)?.wire_bytes_per_second() / capacity);
        let share = median(&windows.iter().filter_map(of).collect::<Vec<_>>())?;
        let to = if link.hosts.is_empty() { "this host".to_owned() } else { link.hosts.join(" and ") };
        Some((share, format!("the network from {server} to {to}")))
    });
    let (share, link) = shares.max_by(|one, other| one.0.total_cmp(&other.0))?;
    Some(Busiest::Link { link, share: share.min(1.0), from_server: true })
}

/// What went to the hosts of a link in a window.
fn carried(window: &Measurement, link: &HostLink) -> Option<Carried> {
    if window.load.generators.is_empty() {
        return link.hosts.is_empty().then(|| received(&window.load));
    }
    let of = |host: &String| {
        let share = window.load.generators.iter().find(|share| share.name == *host)?;
        share.report.as_deref().map(received)
    };
    let parts: Vec<Carried> = link.hosts.iter().map(of).collect::<Option<_>>()?;
    parts.into_iter().reduce(|sum, part| Carried {
        bytes_per_second: sum.bytes_per_second + part.bytes_per_second,
        answers_per_second: sum.answers_per_second + part.answers_per_second,
    })
}

/// What a generator received in a second of its window, by the bytes of its answers in all of its life.
pub fn received(load: &LoadReport) -> Carried {
    let answers_per_second = load.window_ns.rate_of(load.window.ok);
    let bytes = load.books.received_bytes as f64 / load.books.ok.max(1) as f64;
    Carried { bytes_per_second: bytes * answers_per_second, answers_per_second }
}
