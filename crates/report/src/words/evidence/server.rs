//! What was found out about a server and its answers.

use std::collections::BTreeMap;

use assay_model::evidence::{Proportion, ServerEnded};
use assay_model::load::ErrorClass;
use assay_model::running::Running;
use assay_model::tls::Agreed;

use super::super::phrases::counted;
use super::part;
use crate::format;

pub(super) fn failures(ok: u64, errors: &BTreeMap<ErrorClass, u64>) -> String {
    let all = format::count(ok + errors.values().sum::<u64>());
    match errors.values().sum::<u64>() {
        0 => format!("none of {all} requests that ended in the window failed"),
        failed => format!("{} of {all} requests failed: {}", format::count(failed), classes(errors)),
    }
}

/// "7 ended too early, 3 no head in time".
pub(super) fn classes(errors: &BTreeMap<ErrorClass, u64>) -> String {
    let told = errors.iter().map(|(class, n)| format!("{} {class}", format::count(*n)));
    told.collect::<Vec<_>>().join(", ")
}

pub(super) fn errors(failed: u64, requests: u64, example: Option<&str>) -> String {
    let all = format::count(requests);
    let share = format::percent(failed as f64 / requests.max(1) as f64);
    let example = example.map_or_else(String::new, |seen| format!("; for example {seen}"));
    format!("{} of {all} requests failed ({share}){example}", format::count(failed))
}

pub(super) fn unanswered(unanswered: u64, requests: u64) -> String {
    let bounds = match unanswered {
        0 => String::new(),
        n => format!("; percentiles above {} are lower bounds", format::percentile_before(n, requests)),
    };
    format!(
        "{} of {} requests were unanswered when the generator stopped waiting{bounds}",
        format::count(unanswered),
        format::count(requests)
    )
}

pub(super) fn unsolicited(connections: u64) -> String {
    format!("bytes that no request had asked for came on {}", counted(connections, "connection"))
}

/// Only what differs is worth naming twice.
pub(super) fn tls_otherwise(asked: &Agreed, agreed: &Agreed, windows: Proportion) -> String {
    let at = part(windows, "window");
    if !agreed.differs_from(asked) {
        return format!("some connections agreed on something else than {asked}, in {at}");
    }
    let pairs = [
        (Some(agreed.version.as_str()), Some(asked.version.as_str())),
        (Some(&agreed.cipher), Some(&asked.cipher)),
        (Some(&agreed.key), Some(&asked.key)),
        (agreed.group.as_deref(), asked.group.as_deref()),
    ];
    let differing =
        pairs.into_iter().filter_map(|(own, asked)| own.zip(asked)).filter(|(own, asked)| own != asked);
    let told: Vec<String> = differing.map(|(own, asked)| format!("{own} instead of {asked}")).collect();
    format!("its connections agreed on {}, in {at}", told.join(", "))
}

pub(super) fn connections(asked: u64, opened: u64) -> String {
    format!("{} made to keep {} open", were(opened, "connection"), format::count(asked))
}

/// "1 connection was", "3 connections were".
fn were(n: u64, noun: &str) -> String {
    format!("{} {}", counted(n, noun), if n == 1 { "was" } else { "were" })
}

pub(super) fn retransmissions(
    wire: &str,
    timeouts: u64,
    segments: u64,
    windows: Option<Proportion>,
) -> String {
    let timers = counted(timeouts, "retransmission timer");
    let again = format!("{} sent again", were(segments, "segment"));
    match windows {
        None => format!("{timers} ran out on {wire}; {again}"),
        Some(windows) => {
            format!(
                "{timers} of the server's stack ran out on {wire}, in {}; {again}",
                part(windows, "window")
            )
        }
    }
}

pub(super) fn running(name: &str, running: &Running, shared_cpus: &str) -> String {
    match running {
        Running::Found { program, pids, processes, cpus } => {
            let pid = pids.first().copied().unwrap_or_default();
            let where_it_runs = format!(
                "{name} is {program} (process {pid}, {processes} in all), which may run on CPUs {cpus}"
            );
            match shared_cpus {
                "" => where_it_runs,
                shared => format!("{where_it_runs}, the generator's {shared} among them"),
            }
        }
        Running::Unseen { why } => format!("where {name} ran, and what it used, is not known: {why}"),
    }
}

pub(super) fn ended(ServerEnded { program, pid, after_ns }: &ServerEnded) -> String {
    format!("the server, {program} (process {pid}), ended after {}", format::span(after_ns.0))
}

pub(super) fn answered_by_itself(answers: u64, of: u64) -> String {
    format!(
        "it made {} of {} itself: its upstream received no request for them",
        format::count(answers),
        counted(of, "right answer")
    )
}

pub(super) fn shared_cpus(cpu: u32, windows: Proportion) -> String {
    let windows = part(windows, "window");
    format!("it was seen on the generator's CPU {cpu} in {windows}, where both slow each other")
}

pub(super) fn lost_cpu_time(windows: Proportion) -> String {
    format!(
        "in {} processes of it ended whose CPU time nobody was given: what it used is told too low",
        part(windows, "window")
    )
}

pub(super) fn drift(ratio: f64) -> String {
    let way = if ratio > 1.0 { "rose" } else { "fell" };
    let share = format::percent((ratio - 1.0).abs());
    format!("throughput {way} by {share} from the first to the last third of a window")
}

pub(super) fn share_of_limit(share: f64) -> String {
    let share = format::percent(share);
    format!("it reaches {share} of this machine's limit: it may be faster than can be seen here")
}
