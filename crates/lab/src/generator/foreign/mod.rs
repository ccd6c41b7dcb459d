//! Generators of other projects: how each is asked for a load, and what it cannot do.
//!
//! None of them checks a body, mixes requests or draws anything for them; their times are their own ideas of time
//! (docs/method/generators.md).

mod ab;
mod h2load;
mod json;
mod text;
mod wrk;

#[cfg(test)]
mod tests;

use std::ffi::OsString;

use assay_model::generator::GeneratorName;
use assay_model::load::Arrival;

use super::load::{Load, LoadGenerator, Site};

/// Every generator of another project that is known, installed or not.
pub const FOREIGN: [&dyn LoadGenerator; 7] =
    [&wrk::WRK, &wrk::WRK2, &h2load::H2load, &json::OHA, &ab::Ab, &json::BOMBARDIER, &json::AUTOCANNON];

/// The one of this name; `None` for ours.
pub fn foreign(name: GeneratorName) -> Option<&'static dyn LoadGenerator> {
    FOREIGN.into_iter().find(|generator| generator.name() == name)
}

/// Flags with their values.
fn arguments<const N: usize>(given: [(&str, String); N]) -> impl Iterator<Item = OsString> {
    given.into_iter().flat_map(|(flag, value)| [OsString::from(flag), value.into()])
}

/// Header fields as all of them take these.
fn headers(load: &Load) -> impl Iterator<Item = OsString> + '_ {
    load.headers.iter().flat_map(|(name, value)| [OsString::from("-H"), format!("{name}: {value}").into()])
}

/// Threads of one that is told how many: one for each CPU, and none without a connection.
fn threads(load: &Load, site: &Site<'_>) -> u32 {
    let cpus = u32::try_from(site.cpus.len()).unwrap_or(u32::MAX);
    cpus.min(load.connections).max(1)
}

/// The refusal of random arrivals.
fn even_arrivals(load: &Load) -> Option<String> {
    let is_random = matches!(load.arrival, Arrival::Poisson { .. });
    is_random.then(|| "has even arrivals only (--arrival constant)".to_owned())
}

/// The refusal of HTTP/2.
fn http1_alone(load: &Load) -> Option<String> {
    load.http2.then(|| "is asked to speak HTTP/1.1 alone".to_owned())
}

/// The refusal of a connection for each request.
fn keeps_connections(load: &Load) -> Option<String> {
    load.fresh.map(|_| "keeps its connections".to_owned())
}
