//! What each workload came to, and who is missing.

use assay_model::check::{Check, CheckOutcome};
use assay_model::contender::Kind;
use assay_model::experiment::Cell;
use assay_model::network::Network;
use assay_model::record::{NetworkFacts, NotRunOn, Record};
use assay_model::setting::Setting;
use assay_model::verdict::{Call, CellVerdict, LimitedBy, Pair, Standing};

use super::protocol::over;
use crate::words::phrases::{all_of, count_of, plus_minus};
use crate::{format, words};

/// What has to be said before anything else.
pub(super) fn warning(trust: &[Check]) -> Vec<String> {
    let void = void(trust).into_iter();
    void.map(|check| format!("Do not use these numbers: {}.", words::evidence(check))).collect()
}

/// The findings: each workload.
pub(super) fn sentences(record: &Record, cells: &[CellVerdict], trust: &[Check]) -> Vec<String> {
    let mut sentences: Vec<String> = Vec::new();
    let void = void(trust);
    let mut places: Vec<(&str, Setting)> = Vec::new();
    for cell in cells.iter().map(|judged| &judged.cell) {
        if !places.contains(&(&cell.workload, cell.setting())) {
            places.push((&cell.workload, cell.setting()));
        }
    }
    // Where nothing counts one sentence says why; it need not be said again of every place.
    let is_told = |cell: &CellVerdict| void.is_none() || !ranked(record, cell).is_empty();
    for (workload, setting) in places {
        let here = |cell: &&CellVerdict| cell.cell.workload == workload && cell.cell.setting() == setting;
        if cells.iter().filter(here).any(is_told) {
            sentences.extend(headline(record, cells, workload, setting));
        }
    }
    sentences
}

/// A sentence for each who is not ranked or was not run, and why.
pub(super) fn missing(record: &Record, cells: &[CellVerdict], trust: &[Check]) -> Vec<String> {
    // Where nothing counts one sentence says why; it need not be said again of everybody.
    absent(record, cells, void(trust).is_none())
}

/// What happened on a workload in a setting, at the number of connections where the best was best.
fn headline(record: &Record, cells: &[CellVerdict], workload: &str, setting: Setting) -> Vec<String> {
    let best_rate =
        |cell: &&CellVerdict| ranked(record, cell).first().map_or(0.0, |standing| rate_of(standing));
    let of_workload = cells.iter().filter(|c| c.cell.workload == workload && c.cell.setting() == setting);
    match of_workload.max_by(|a, b| best_rate(a).total_cmp(&best_rate(b))) {
        Some(cell) if ranked(record, cell).is_empty() => {
            let place = format!("On {workload}{}", within(setting));
            vec![nobody(&place, cell)]
        }
        Some(cell) => of_cell(record, cell),
        None => Vec::new(),
    }
}

/// What happened in a cell.
pub(super) fn of_cell(record: &Record, cell: &CellVerdict) -> Vec<String> {
    let ranked = ranked(record, cell);
    let Some(best) = ranked.first() else {
        return vec![nobody(&at(&cell.cell), cell)];
    };
    let mut sentences = vec![opening(record, cell, best, &ranked)];
    sentences.extend(comparison(cell, best, &ranked));
    sentences.extend(limit(best));
    sentences
}

fn nobody(place: &str, cell: &CellVerdict) -> String {
    let measured =
        if cell.standings.is_empty() { "no contender was measured" } else { "no contender can be ranked" };
    format!("{place}, {measured}.")
}

/// `On hello at 64 connections`.
fn at(cell: &Cell) -> String {
    let connections = count_of(cell.connections as usize, "connection");
    format!("On {} at {connections}{}", cell.workload, within(cell.setting()))
}

/// Network and protocol, as far as they have to be named.
pub(super) fn within(setting: Setting) -> String {
    with(setting.network) + &over(setting.protocol)
}

/// The network with both its axes, where the experiment names it.
fn with(network: Option<Network>) -> String {
    network.map(|network| format!(" with {}", network.in_words())).unwrap_or_default()
}

/// Contenders with a throughput, fastest first, without the limit.
fn ranked<'c>(record: &Record, cell: &'c CellVerdict) -> Vec<&'c Standing> {
    let with_rate = cell.standings.iter().filter(|standing| standing.throughput_per_second.is_some());
    with_rate.filter(|standing| !record.is_limit(&standing.contender)).collect()
}

fn rate_of(standing: &Standing) -> f64 {
    standing.throughput_per_second.map_or(0.0, |rate| rate.estimate)
}

/// A rate as the table has it.
fn rate_text(standing: &Standing) -> String {
    standing.throughput_per_second.map_or_else(String::new, |rate| format::rate_interval(&rate).estimate)
}

/// The tier in front.
const FIRST: Option<u32> = Some(1);

/// Why nobody has a tier.
fn nothing_shown(record: &Record, ranked: &[&Standing]) -> &'static str {
    match (record.rounds.len(), most_common_rounds(ranked)) {
        (0 | 1, _) => "one round shows no differences",
        (_, 0) => "no two contenders count in the same round, so that none can be compared",
        (_, 1) => "no two contenders count together in two rounds, and one is too few to show differences",
        _ => "its restarts are too few or too unlike each other to show any difference",
    }
}

/// The most rounds in which two contenders have a rate that counts.
fn most_common_rounds(ranked: &[&Standing]) -> usize {
    let common = |one: &Standing, other: &Standing| {
        let rounds = one.rounds_per_second.iter().zip(&other.rounds_per_second);
        rounds.filter(|(one, other)| one.is_some() && other.is_some()).count()
    };
    let pairs = ranked
        .iter()
        .enumerate()
        .flat_map(|(place, one)| ranked[place + 1..].iter().map(move |other| common(one, other)));
    pairs.max().unwrap_or(0)
}

/// The sentence on who is in front, alone or not, and how far from the limit.
fn opening(record: &Record, cell: &CellVerdict, best: &Standing, ranked: &[&Standing]) -> String {
    let at = at(&cell.cell);
    let of_limit = best.share_of_limit.map_or_else(String::new, |share| {
        format!(", {} of this machine's limit", format::percent(share.estimate))
    });
    let rate = format!("{} right answers per second{of_limit}", rate_text(best));
    let name = &best.contender;
    let leaders: Vec<String> =
        ranked.iter().filter(|of| of.tier == FIRST).map(|of| of.contender.clone()).collect();
    let as_fast: Vec<String> = ranked
        .iter()
        .filter(|of| leaders.iter().any(|leader| !is_shown_behind(cell, leader, of)))
        .map(|of| of.contender.clone())
        .collect();
    let not_shown = format!("{} {} not shown to be slower", all_of(&as_fast), is_or_are(as_fast.len()));
    match (leaders.len(), as_fast.is_empty()) {
        _ if ranked.len() == 1 => format!("{at}, {name} serves {rate}."),
        (0, _) => {
            format!("{at}, {name} came out first with {rate}; {}.", nothing_shown(record, ranked))
        }
        (1, true) => format!("{at}, {name} is the fastest with {rate}."),
        (1, false) => format!("{at}, {name} came out first with {rate}; {not_shown}."),
        (_, true) => format!("{at}, {} lead with up to {rate}; {}.", all_of(&leaders), power(cell)),
        (_, false) => format!(
            "{at}, {} came out first with up to {rate}; {}, and {not_shown} than each of them.",
            all_of(&leaders),
            power(cell)
        ),
    }
}

/// What held the best where it is, when that is known and was not the server's own CPUs, which everybody expects.
fn limit(best: &Standing) -> Option<String> {
    let what = match best.limited_by {
        LimitedBy::Server | LimitedBy::Unknown => return None,
        LimitedBy::ServerCore => "one core of its CPUs",
        LimitedBy::Generator => "the generator",
        LimitedBy::Both => "its CPUs and the generator's together",
        LimitedBy::Database => "the database",
        LimitedBy::Upstream => "the upstream behind it",
        LimitedBy::Link => "the link",
        LimitedBy::Connections => "the number of connections",
        LimitedBy::Neither => "neither its CPUs nor the generator's",
    };
    Some(format!(
        "{} was limited by {what}: {}.",
        best.contender,
        words::bottleneck(best.limited_by, &best.limit_evidence)
    ))
}

/// The best against the next that is shown to be slower, and against the slowest.
fn comparison(cell: &CellVerdict, best: &Standing, ranked: &[&Standing]) -> Option<String> {
    let slower: Vec<&Pair> = ranked
        .iter()
        .filter(|standing| standing.tier > best.tier)
        .filter_map(|standing| pair(cell, &best.contender, &standing.contender))
        .filter(|pair| pair.call == Call::Distinct)
        .collect();
    let (next, slowest) = (slower.first()?, slower.last()?);
    let against = |pair: &Pair| format!("{} times what {} serves", plus_minus(&pair.ratio), pair.slower);
    let start = format!("{} serves {}", best.contender, against(next));
    let mut others = ranked.iter().filter(|standing| standing.contender != slowest.slower);
    let is_alone = others.all(|other| is_told_apart(cell, &other.contender, &slowest.slower));
    let of_all = if is_alone { "the slowest" } else { "one of the slowest" };
    if next.slower == slowest.slower {
        return Some(format!("{start}."));
    }
    Some(format!("{start}, and {}, {of_all}.", against(slowest)))
}

/// Whether a contender is in front: in the first tier, with everybody behind that tier shown to be slower. Tiers alone do not say so,
/// because an erratic contender of the second one may be told apart from another of the first only.
pub(crate) fn leads(cell: &CellVerdict, standing: &Standing) -> bool {
    standing.tier == FIRST && cell.standings.iter().all(|of| is_shown_behind(cell, &standing.contender, of))
}

/// Whether a contender is of the first tier itself, or of none, or shown to differ from this one of that tier.
fn is_shown_behind(cell: &CellVerdict, leader: &str, standing: &Standing) -> bool {
    standing.tier.is_none_or(|tier| Some(tier) == FIRST) || is_told_apart(cell, leader, &standing.contender)
}

fn is_told_apart(cell: &CellVerdict, one: &str, other: &str) -> bool {
    let of_both = pair(cell, one, other).or_else(|| pair(cell, other, one));
    of_both.is_some_and(|pair| pair.call == Call::Distinct)
}

/// What could have been told of those who lead together.
fn power(cell: &CellVerdict) -> String {
    cell.detectable.map_or_else(
        || "they are not shown to differ".to_owned(),
        |least| format!("this run could show {}", words::differences_of_a_typical_pair(least)),
    )
}

fn is_or_are(contenders: usize) -> &'static str {
    if contenders == 1 { "is" } else { "are" }
}

fn pair<'c>(cell: &'c CellVerdict, faster: &str, slower: &str) -> Option<&'c Pair> {
    cell.pairs.iter().find(|pair| pair.faster == faster && pair.slower == slower)
}

/// Networks that could not be had, and who is not ranked or was not run, each once, with the reason.
fn absent(record: &Record, cells: &[CellVerdict], with_withheld: bool) -> Vec<String> {
    let lost = |facts: &NetworkFacts| {
        facts.not_run.as_ref().map(|why| format!("{} was not measured: {}.", facts.network, why.reason))
    };
    let mut sentences: Vec<String> = record.networks.iter().filter_map(lost).collect();
    for entry in record.contenders.iter().filter(|entry| entry.control_of.is_none()) {
        let own = |cell: &'_ CellVerdict| {
            cell.standings.iter().find(|s| s.contender == entry.identity.name).cloned()
        };
        let standings: Vec<(String, Standing)> =
            cells.iter().filter_map(|cell| Some((cell.cell.to_string(), own(cell)?))).collect();
        let withheld: Vec<_> = standings
            .iter()
            .filter_map(|(at, s)| Some((at, words::withheld(s.withheld.as_ref()?))))
            .collect();
        if let Some((at, reason)) = withheld.first().filter(|_| with_withheld) {
            let place = if withheld.len() == standings.len() { String::new() } else { format!(" on {at}") };
            sentences.push(match entry.identity.kind {
                Kind::Limit => format!("This machine's limit is not known{place}: {reason}."),
                _ => format!("{} is not ranked{place}: {reason}.", entry.identity.name),
            });
        }
        match &entry.not_run {
            Some(why) if standings.is_empty() => {
                sentences.push(format!("{} was not run: {}.", entry.identity.name, why.reason))
            }
            Some(why) => sentences.push(format!("{} was given up: {}.", entry.identity.name, why.reason)),
            None => {
                let on = |absence: &NotRunOn| {
                    format!(
                        "{} was not run on {}: {}.",
                        entry.identity.name,
                        absence.setting(),
                        absence.why.reason
                    )
                };
                sentences.extend(entry.not_run_on.iter().map(on));
            }
        }
    }
    sentences
}

/// The first check that voids the run as a whole.
fn void(checks: &[Check]) -> Option<&Check> {
    checks.iter().find(|check| check.outcome == CheckOutcome::Void)
}
