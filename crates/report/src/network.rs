//! What the network between hosts carries, in words.

use assay_model::host_link::{Carried, HostLink};

use crate::format;

/// What is known of a network, and what is not, where the server's host is named.
pub fn notes(link: &HostLink) -> Vec<String> {
    between(link.server.as_deref().unwrap_or("the servers"), link)
}

/// What a network carries from `server` and to it, and why something is not known.
pub(crate) fn between(server: &str, link: &HostLink) -> Vec<String> {
    let hosts = match link.hosts.as_slice() {
        [] => "this host".to_owned(),
        hosts => hosts.join(" and "),
    };
    let mut notes = Vec::new();
    if let Some(problem) = &link.problem {
        notes.push(format!("what the network carries between {server} and {hosts} is not known: {problem}"));
    }
    let together = if link.hosts.len() > 1 { " together" } else { "" };
    let because = |is_at_least| if is_at_least { "; a CPU was the limit there" } else { "" };
    if let Some(carries) = carries(link) {
        let trip = link.round_trip_ns.map(|ns| format!(", round trip {}", format::duration(ns.0 as f64)));
        let (because, trip) = (because(link.is_at_least), trip.unwrap_or_default());
        notes
            .push(format!("the network carries {carries} from {server} to {hosts}{together}{because}{trip}"));
    }
    if let Some(way) = &link.to_server {
        let (carries, because) = (rate(way.carried, way.is_at_least), because(way.is_at_least));
        notes.push(format!("the network carries {carries} from {hosts}{together} to {server}{because}"));
    }
    notes
}

/// What a network carries from the server.
pub(crate) fn carries(link: &HostLink) -> Option<String> {
    Some(rate(link.carried?, link.is_at_least))
}

/// What a network carries, in the unit of networks.
fn rate(carried: Carried, is_at_least: bool) -> String {
    let sign = if is_at_least { "≥ " } else { "" };
    format!("{sign}{}", format::bit_rate(carried.wire_bytes_per_second() * 8.0))
}
