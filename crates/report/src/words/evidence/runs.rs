//! What was found out about a run as a whole, and about two of them.

use assay_model::check::{Check, CheckOutcome};
use assay_model::evidence::{ForeignRun, Partial, PropertyDifference, Proportion, RestartsUnknown, Rounds};
use assay_model::experiment::Cell;
use assay_model::imported::Imported;
use assay_model::program::{RELEASE, SHOWDOWN};
use assay_model::rule::Rule;
use assay_model::verdict::SelfRatio;
use serde_json::Value;

use super::super::phrases::{all_of, count_of, counted};
use super::super::terms::state_in_words;
use super::part;
use crate::format;

/// The variation of restarts from which on a figure says more than that there is some.
const LEAST_VARIATION: f64 = 0.0001;
/// Why there is no order among figures of single runs.
pub(crate) const ALONE: &str = "Each figure is a single run without an interval: which of two is greater may be chance, so nothing \
                     is ranked and no tier is told";

pub(super) fn build(version: &str, profile: &str) -> String {
    match profile {
        RELEASE => format!("assay {version} built for release"),
        SHOWDOWN => format!(
            "assay {version} built for a showdown: plain HTTP/1.1 on the kernel's stack is optimised, and nothing else"
        ),
        other => format!("assay was built for {other}: its generator and limit are many times too slow"),
    }
}

pub(super) fn rounds(check: &Check, Rounds { complete, counting, replicated }: &Rounds) -> String {
    match check.outcome {
        CheckOutcome::Pass => {
            let those = counting.map_or_else(String::new, |those| format!(", of which {those} count"));
            let several = match replicated.as_slice() {
                [] => String::new(),
                names => format!(", and several at once of {}, whose restarts varied much", all_of(names)),
            };
            format!(
                "{complete} complete rounds{those}, each with fresh processes of all that assay starts{several}"
            )
        }
        _ => {
            let those = match counting {
                None => String::new(),
                Some(0) => ", but none counts".to_owned(),
                Some(those) => format!(", but only {those} counts"),
            };
            let rounds = count_of(*complete as usize, "round");
            format!("{rounds} complete{those}: nothing can be said of differences")
        }
    }
}

pub(super) fn books(broken: u64) -> String {
    match broken {
        0 => "issued = right + failed + unfinished in every window".to_owned(),
        n => format!("in {} the requests issued are not those accounted for", counted(n, "window")),
    }
}

pub(super) fn little(broken: Proportion, example: Option<String>) -> String {
    match (broken, example) {
        (Proportion { of: 0, .. }, _) => {
            "the generator did not compare throughput with what was in flight".to_owned()
        }
        (Proportion { hits: 0, of }, _) => {
            format!("the generator's books of what was in flight agree in {}", counted(of, "window"))
        }
        (_, example) => {
            format!("{} break Little's law: {}", part(broken, "window"), example.unwrap_or_default())
        }
    }
}

pub(super) fn change(check: &Check, change_share: f64, p: f64) -> String {
    let span = match check.rule {
        Rule::Order => "from the first to the last place within a round",
        _ => "from the first to the last round",
    };
    if check.outcome == CheckOutcome::Pass {
        return format!("no change {span} beyond chance");
    }
    let way = if change_share < 0.0 { "fell" } else { "rose" };
    let share = format::percent(change_share.abs());
    format!("throughput {way} by {share} {span} (p = {})", format::probability(p))
}

/// By how much restarts vary; where windows explain all of it, 0 would read as if every start were alike.
pub(crate) fn restarts_vary(cv: f64) -> String {
    match cv {
        0.0 => "restarts vary by no more than their windows explain".to_owned(),
        small if small < LEAST_VARIATION => "restarts vary by less than 0.01 %".to_owned(),
        cv => format!("restarts vary by {}", format::percent(cv)),
    }
}

/// By how much restarts vary, or why that is not known.
pub(super) fn restarts(cv: Option<f64>, unknown: Option<RestartsUnknown>) -> String {
    match (cv, unknown) {
        (Some(cv), _) => return restarts_vary(cv),
        (None, Some(RestartsUnknown::FewRounds)) => "too few rounds count to tell how much restarts vary",
        (None, Some(RestartsUnknown::OneContender)) => {
            "only one contender counts, and how much restarts vary shows between two"
        }
        (None, Some(RestartsUnknown::Apart) | None) => {
            "no two contenders count together in two rounds, which would tell how much restarts vary"
        }
    }
    .to_owned()
}

/// How noisy a run was, going by its restarts and by its A/A control, which may have too few rounds to be compared with its original.
pub(super) fn noise(
    restarts: &str,
    (contender, is_compared): (Option<&str>, bool),
    apart: Option<&SelfRatio>,
) -> String {
    match (contender, apart) {
        (None, _) => format!("{restarts}; no contender took part twice as an A/A control"),
        (Some(name), None) if !is_compared => {
            format!("{restarts}; {name} and its A/A control count together in too few rounds to be compared")
        }
        (Some(name), None) => format!("{restarts}; A/A control: {name} is not shown to differ from itself"),
        (Some(name), Some(SelfRatio { cell, ratio })) => format!(
            "{name} differs from itself on {cell}: restarted it was {} times as fast, between {} and {}",
            format::close_ratio(ratio.estimate),
            format::close_ratio(ratio.low),
            format::close_ratio(ratio.high)
        ),
    }
}

pub(super) fn imported(origin: &Imported) -> String {
    format!(
        "{origin}; the machine, its state and the answers during the load are known to the source at best"
    )
}

pub(super) fn different(base: &str, new: &str) -> String {
    format!("{base} and {new} are different runs: what drifted between them is part of the change")
}

pub(super) fn partial(Partial { run, state }: &Partial) -> String {
    let why = state_in_words(*state).map(|words| format!(": {words}")).unwrap_or_default();
    format!("{run} is partial{why}")
}

pub(super) fn duet_apart(base: &str, new: &str, cell: &Cell, apart_share: f64) -> String {
    format!(
        "{new} over {base}, {cell}, differs by {} from what it is by turns, more than both intervals allow",
        format::percent(apart_share)
    )
}

pub(super) fn lost_pairs(base: &str, new: &str, cell: &Cell, void: Proportion, is_withheld: bool) -> String {
    let pairs = format!("of the windows of {new} with {base} at once, {cell}, {}", part(void, "pair"));
    match (void.hits, is_withheld) {
        (0, _) => format!("{pairs} are void"),
        (_, false) => {
            format!("{pairs} are void, because a generator waited for its CPU, and the others count")
        }
        (hits, true) => {
            let others = if hits == void.of { "" } else { ": too many to believe the others" };
            format!("{pairs} are void, because a generator waited for its CPU{others}")
        }
    }
}

pub(super) fn not_measured_here(runs: &[ForeignRun]) -> String {
    let told: Vec<String> =
        runs.iter().map(|ForeignRun { run, origin }| format!("{run} is {origin}")).collect();
    format!("not all of them were measured here: {}", told.join("; "))
}

pub(super) fn differences(rule: Rule, between: &[PropertyDifference]) -> String {
    let what = match rule {
        Rule::Machine => "they ran on different machines",
        Rule::MachineState => "the machine was in another state",
        _ => "they were measured differently",
    };
    let told: Vec<String> = between
        .iter()
        .map(|of| format!("{} {} → {}", property(&of.property), value(&of.base), value(&of.new)))
        .collect();
    format!("{what}: {}", told.join("; "))
}

/// What people call a property.
fn property(name: &str) -> String {
    match name {
        "cpu_model" => "CPU",
        "cpus" => "CPUs",
        "numa_nodes" => "NUMA nodes",
        "memory_gb" => "memory in GB",
        "smt" => "SMT",
        "interrupts_apart" => "interrupts apart from programs",
        "cpu_quota" => "CPU quota",
        "build" => "assay's build",
        "server_cpus" => "server CPUs",
        "server_hosts" => "hosts of the servers",
        "database_host" => "host of the database",
        "generator_hosts" => "hosts of the load",
        "generator_cpus" => "generator CPUs",
        "window_s" => "seconds of a window",
        "warmup_s" => "seconds of warm-up",
        other => return other.replace('_', " "),
    }
    .to_owned()
}

fn value(value: &Value) -> String {
    match value {
        Value::Null => "unknown".to_owned(),
        other => other.to_string(),
    }
}
