//! What stands beside the numbers in every format: warnings gathered by rule, and contenders that yielded nothing.

use std::cmp::Reverse;

use assay_model::JsonSchema;
use assay_model::check::{Check, CheckOutcome};
use assay_model::conformance::{Changes, Conformance, Severity};
use assay_model::contender::Kind;
use assay_model::experiment::{ArrivalModel, Cell, Protocol};
use assay_model::host::HostFacts;
use assay_model::link::LinkFacts;
use assay_model::network::{Network, Stack, Wire};
use assay_model::offered::Offered;
use assay_model::record::{Record, Stage};
use assay_model::rule::Rule;
use assay_model::setting::Setting;
use assay_model::verdict::{
    Ages, CellVerdict, LatencyStanding, LimitedBy, RedlineEnd, Standing, Timing, Verdict,
};
use assay_stats::tiers::LEAST_MARGIN;
use serde::Serialize;

pub(crate) use crate::state::state_in_words;
use crate::{format, words};

/// Names of rules, divided by spaces.
pub(crate) fn rules_text(rules: impl IntoIterator<Item = Rule>) -> String {
    rules.into_iter().map(Rule::name).collect::<Vec<_>>().join(" ")
}

/// A rule that was broken, once, with everything it concerns.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Warning {
    /// Stable name of the rule.
    #[schemars(with = "String")]
    pub rule: Rule,
    /// Other rules that tell of the same disturbance, where they are told together.
    #[serde(skip)]
    pub(crate) also: Vec<Rule>,
    /// How bad it is, at its worst.
    pub outcome: CheckOutcome,
    /// What was seen at its worst place, in a sentence with its figures.
    pub evidence: String,
    /// What to do about it.
    pub remedy: Option<String>,
    /// Contender and cell of each place; empty when it concerns the whole run.
    pub places: Vec<NotePlace>,
}

/// Where a rule was broken.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Place")]
pub struct NotePlace {
    /// Name of the contender.
    pub contender: String,
    /// Name of the workload.
    pub workload: String,
    /// Numbers of connections.
    pub connections: Vec<u32>,
    /// The TCP and the wire; absent where the experiment names no network.
    pub network: Option<Network>,
    /// What is spoken.
    pub protocol: Protocol,
}

impl NotePlace {
    fn setting(&self) -> Setting {
        Setting { network: self.network, protocol: self.protocol }
    }
}

/// A check that did not pass, at its worst, with every place that it concerns; in no words yet.
pub(crate) struct Broken<'c> {
    pub(crate) check: &'c Check,
    pub(crate) places: Vec<NotePlace>,
}

impl Warning {
    /// One rule in its own words.
    pub(crate) fn of(broken: Broken<'_>) -> Self {
        let Broken { check, places } = broken;
        let (rule, outcome) = (check.rule, check.outcome);
        let (evidence, remedy) = (words::evidence(check), words::remedy(check));
        Self { rule, also: Vec::new(), outcome, evidence, remedy, places }
    }

    /// What is written before it: whether the number is void or stands with a caveat.
    pub(crate) fn label(&self) -> &'static str {
        if self.outcome == CheckOutcome::Void { "Void" } else { "Warning" }
    }

    /// Its remedy as the end of its line; nothing where none is known.
    pub(crate) fn remedy_after(&self) -> String {
        self.remedy.as_ref().map(|remedy| format!(" → {remedy}")).unwrap_or_default()
    }

    /// What it is about, in a word or two.
    pub(crate) fn about(&self) -> String {
        if self.also.is_empty() { self.rule.name().replace('-', " ") } else { "disturbed".to_owned() }
    }
}

/// Rules that tell what servers did. No quieter machine mends it, so among equally grave ones they come first.
const OF_SERVERS: [Rule; 10] = [
    Rule::AnsweredByItself,
    Rule::Answers,
    Rule::Errors,
    Rule::FailedRuns,
    Rule::Failures,
    Rule::LikeAnswers,
    Rule::RunningServer,
    Rule::ServerEnded,
    Rule::TlsOtherwise,
    Rule::UnsolicitedBytes,
];

/// Every check that did not pass, worst first, one entry per rule.
pub(crate) fn warnings(verdict: &Verdict) -> Vec<Warning> {
    broken(verdict).into_iter().map(Warning::of).collect()
}

/// Every check that did not pass, worst first, one entry per rule.
pub(crate) fn broken(verdict: &Verdict) -> Vec<Broken<'_>> {
    let closed = verdict.cells.iter().flat_map(|of| {
        of.standings.iter().map(move |standing| (&standing.contender, &of.cell, &standing.checks))
    });
    let open = verdict.latency.iter().flat_map(|of| {
        of.standings.iter().map(move |standing| (&standing.contender, &of.cell, &standing.checks))
    });
    let placed = closed
        .chain(open)
        .flat_map(|(contender, cell, checks)| checks.iter().map(move |check| ((contender, cell), check)));
    broken_of(&verdict.trust, placed)
}

/// What concerns a whole run, and what concerns a contender in a cell.
pub(crate) fn broken_of<'c>(
    trust: &'c [Check],
    placed: impl Iterator<Item = ((&'c String, &'c Cell), &'c Check)>,
) -> Vec<Broken<'c>> {
    let mut broken: Vec<Broken<'c>> = Vec::new();
    let all =
        trust.iter().map(|check| (None, check)).chain(placed.map(|(place, check)| (Some(place), check)));
    for (place, check) in all.filter(|(_, check)| check.outcome != CheckOutcome::Pass) {
        gather(&mut broken, check, place);
    }
    broken.sort_by_key(|broken| (Reverse(broken.check.outcome), !OF_SERVERS.contains(&broken.check.rule)));
    broken
}

fn gather<'c>(all: &mut Vec<Broken<'c>>, check: &'c Check, place: Option<(&String, &Cell)>) {
    let index = all.iter().position(|broken| broken.check.rule == check.rule).unwrap_or_else(|| {
        all.push(Broken { check, places: Vec::new() });
        all.len() - 1
    });
    let broken = &mut all[index];
    if check.outcome > broken.check.outcome {
        broken.check = check;
    }
    let Some((contender, cell)) = place else { return };
    let is_known = |place: &&mut NotePlace| {
        place.contender == *contender && place.workload == cell.workload && place.setting() == cell.setting()
    };
    match broken.places.iter_mut().find(is_known) {
        Some(known) if known.connections.contains(&cell.connections) => {}
        Some(known) => known.connections.push(cell.connections),
        None => broken.places.push(NotePlace {
            contender: contender.clone(),
            workload: cell.workload.clone(),
            connections: vec![cell.connections],
            network: cell.network,
            protocol: cell.protocol,
        }),
    }
}

/// The rules of HTTP/1.1 or of its test types that a contender breaks, in words; nothing where it keeps all.
pub(crate) fn broken_rules(conformance: &Conformance) -> Option<String> {
    let of = |severity, word: &str| {
        let broken = conformance.broken().filter(|finding| finding.severity == severity);
        named(word, &broken.map(|finding| finding.rule.as_str()).collect::<Vec<_>>())
    };
    in_one([of(Severity::Must, "must keep but breaks"), of(Severity::Should, "should keep but breaks")])
}

/// The rules that it no longer keeps, or keeps now, in words; nothing where there is none.
pub(crate) fn changed_rules(changes: &Changes<'_>) -> Option<String> {
    in_one([named("newly breaks", &changes.broken), named("newly keeps", &changes.kept)])
}

fn named(what: &str, rules: &[&str]) -> Option<String> {
    (!rules.is_empty()).then(|| format!("{what} {}", rules.join(", ")))
}

fn in_one(parts: [Option<String>; 2]) -> Option<String> {
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Whether a contender stands for what this machine can do.
pub(crate) fn is_limit(record: &Record, contender: &str) -> bool {
    record
        .contenders
        .iter()
        .any(|entry| entry.identity.name == contender && entry.identity.kind == Kind::Limit)
}

/// Places of a warning that are told one by one; of more only the number, and where most of them are.
const PLACES_AT_MOST: usize = 6;

/// How many figures a run has: contenders in the cells in which they were measured.
pub(crate) fn judged(verdict: &Verdict) -> usize {
    let closed = verdict.cells.iter().map(|cell| cell.standings.len());
    closed.chain(verdict.latency.iter().map(|cell| cell.standings.len())).sum()
}

/// Places for a screen: many fold to `in 12 of 40 places, most on json (8); all with -v`.
pub(crate) fn places_in_short(places: &[NotePlace], judged: usize) -> String {
    let hits = |of: &dyn Fn(&&NotePlace) -> bool| -> usize {
        places.iter().filter(|place| of(place)).map(|place| place.connections.len()).sum()
    };
    let all = hits(&|_| true);
    if all <= PLACES_AT_MOST {
        return places_in_words(places);
    }
    let on = |place: &NotePlace| {
        (hits(&|other| other.workload == place.workload), format!("on {}", place.workload))
    };
    let with = |place: &NotePlace| {
        (hits(&|other| other.contender == place.contender), format!("with {}", place.contender))
    };
    let groups = places.iter().flat_map(|place| [on(place), with(place)]);
    let most = groups.filter(|(n, _)| *n < all && n * 2 > all).max_by_key(|(n, _)| *n);
    let most = most.map_or_else(String::new, |(n, what)| format!(", most {what} ({n})"));
    // A place that has a rate and a capacity may be told of both.
    format!("in {all} of {} places{most}; all with -v", judged.max(all))
}

/// The places of a warning in words, each fact once: `nginx, gin (hello, json at 16, 64 on kernel/veth; byte at 16)`.
pub(crate) fn places_in_words(places: &[NotePlace]) -> String {
    let mut by_contender: Vec<(&str, Vec<&NotePlace>)> = Vec::new();
    places.iter().for_each(|place| add_to(&mut by_contender, place.contender.as_str(), place));
    let mut by_cells: Vec<(String, Vec<&str>)> = Vec::new();
    for (name, places) in by_contender {
        add_to(&mut by_cells, cells_in_words(&places), name);
    }
    let told = by_cells.iter().map(|(cells, names)| format!("{} ({cells})", names.join(", ")));
    told.collect::<Vec<_>>().join(", ")
}

/// Of one contender: workloads that share numbers of connections and settings together.
fn cells_in_words(places: &[&NotePlace]) -> String {
    let mut settings: Vec<((&str, String), Vec<String>)> = Vec::new();
    for place in places {
        let levels: Vec<String> = place.connections.iter().map(u32::to_string).collect();
        let setting = place.setting();
        let named = if setting == Setting::USUAL { String::new() } else { setting.to_string() };
        add_to(&mut settings, (place.workload.as_str(), levels.join(", ")), named);
    }
    let mut workloads: Vec<((String, String), Vec<&str>)> = Vec::new();
    for ((workload, levels), mut settings) in settings {
        // Beside another the usual one has a name.
        let usual = Setting::USUAL.to_string();
        let is_one_of_several = settings.len() > 1;
        settings
            .iter_mut()
            .filter(|name| name.is_empty() && is_one_of_several)
            .for_each(|name| name.clone_from(&usual));
        add_to(&mut workloads, (levels, settings.join(", ")), workload);
    }
    let told = workloads.iter().map(|((levels, settings), workloads)| {
        let on = if settings.is_empty() { String::new() } else { format!(" on {settings}") };
        format!("{} at {levels}{on}", workloads.join(", "))
    });
    told.collect::<Vec<_>>().join("; ")
}

/// Adds to the group of a key, which stands where it was first met.
fn add_to<K: PartialEq, V>(groups: &mut Vec<(K, Vec<V>)>, key: K, value: V) {
    match groups.iter_mut().find(|(known, _)| *known == key) {
        Some((_, values)) => values.push(value),
        None => groups.push((key, vec![value])),
    }
}

/// The TCP and the wire of a cell; nothing where that is not known.
pub(crate) fn network_text(record: &Record, cell: &Cell) -> String {
    record.network_of(cell).map_or_else(String::new, |network| network.to_string())
}

/// A cell in a heading, without its load: `hello, 64 connections, user/ring`.
pub(crate) fn cell_title(cell: &Cell) -> String {
    let network = cell.network.map(|network| format!(", {network}")).unwrap_or_default();
    let protocol = if cell.protocol.is_plain() { String::new() } else { format!(", {}", cell.protocol) };
    format!("{}, {}{network}{protocol}", cell.workload, cell.connections_in_words())
}

/// The smallest difference that is called one; nothing where figures were imported, which are not compared at all.
pub(crate) fn margin_in_words(verdict: &Verdict) -> Option<String> {
    let margins = || verdict.cells.iter().map(|cell| cell.margin);
    let least = margins().reduce(f64::min).unwrap_or(verdict.margin);
    let more = margins().filter(|margin| *margin > least).count();
    let in_some = match more {
        0 => String::new(),
        more => format!(
            ", but up to {} in {more} of {} tables, where the A/A control differs from itself",
            format::percent(verdict.margin),
            verdict.cells.len()
        ),
    };
    (verdict.margin > 0.0).then(|| format!("{}{in_some}", margin_of_all(least)))
}

/// The smallest difference that is called one everywhere.
pub(crate) fn margin_of_all(margin: f64) -> String {
    format!("differences under {} count as none", format::percent(margin))
}

/// What the time went into.
pub(crate) fn timing_in_words(timing: &Timing) -> String {
    format!("{} of the rounds' time was measured and counts", format::percent(timing.measured_share))
}

/// What stands under a table: which difference its pairs could have shown, which one counts as none where that is a greater one than
/// usual, and how old servers were where that matters to one of them.
pub(crate) fn footnotes(cell: &CellVerdict) -> Vec<String> {
    let power = cell.detectable.map(|least| format!("could show {}", differences_of_a_typical_pair(least)));
    let matters = |standing: &Standing| {
        let speaks = |check: &Check| matches!(check.rule, Rule::SlowModes | Rule::WarmUp);
        standing.checks.iter().any(speaks)
    };
    let ages =
        cell.standings.iter().filter(|standing| matters(standing)).filter_map(|standing| standing.ages);
    let is_wide = cell.margin > LEAST_MARGIN;
    let margin = is_wide.then(|| format!("here {}", margin_of_all(cell.margin)));
    let ages = ages.reduce(Ages::and).map(|ages| words::measured_under_load(&ages));
    power.into_iter().chain(margin).chain(ages).collect()
}

/// What could be shown in four runs of five of the pair in the middle. Others vary less, and differ by less where they are shown to.
pub(crate) fn differences_of_a_typical_pair(least: f64) -> String {
    format!("differences from {} in a typical pair", format::percent(least))
}

/// How much is asked for, behind "at": `capacity`, `the common rate`, else as people write it.
pub(crate) fn load_in_words(offered: Offered) -> String {
    match offered {
        Offered::Capacity => "capacity".to_owned(),
        Offered::Common => "the common rate".to_owned(),
        other => other.to_string(),
    }
}

/// What a table of response times shows: workload, connections, arrivals and load.
pub(crate) fn latency_title(record: &Record, cell: &Cell) -> String {
    let arrival = match record.experiment.arrival {
        ArrivalModel::Poisson => "Poisson",
        ArrivalModel::Constant => "even",
    };
    let load = match cell.offered {
        Offered::Capacity => "in a closed loop".to_owned(),
        Offered::Share(thousandths) => {
            format!("at {} of own capacity", format::percent(f64::from(thousandths) / 1000.0))
        }
        Offered::Common => "at a rate all can serve".to_owned(),
        Offered::Rate(per_second) => {
            format!("of {}/s", format::count(u64::from(per_second)))
        }
        Offered::Requests(n) => format!("of {} requests", format::count(u64::from(n))),
        Offered::Redline(slo) => format!("in search of the redline, {slo}"),
    };
    format!("{}: response time, {arrival} load {load}", cell_title(cell))
}

/// What a table of redlines shows.
pub(crate) fn redline_title(cell: &Cell) -> String {
    let objective = match cell.offered {
        Offered::Redline(slo) => slo.to_string(),
        other => other.to_string(),
    };
    format!("{}: highest rate that keeps {objective}", cell_title(cell))
}

/// How a search for a redline ended, in a word or two; nothing for one that ended well.
pub(crate) fn redline_end_in_words(end: RedlineEnd) -> &'static str {
    match end {
        RedlineEnd::Confirmed => "",
        RedlineEnd::AboveHighest => "keeps all that was offered",
        RedlineEnd::BelowLowest => "cannot be kept at any rate",
        RedlineEnd::Unfinished => "not confirmed",
        RedlineEnd::TooManyVoid => "given up: void windows",
    }
}

/// A value in words, or a dash for none.
pub(crate) fn or_dash(value: Option<f64>, format: fn(f64) -> String) -> String {
    value.map_or_else(|| "–".to_owned(), format)
}

/// A percentile of the response time: `0.34 ms`, `> 5.00 s` for a lower bound, a dash when it may not be told.
pub(crate) fn quantile_text(standing: &LatencyStanding, quantile: f64) -> String {
    let found = standing.quantiles.iter().find(|of| of.quantile == quantile);
    found.map_or_else(
        || "–".to_owned(),
        |of| {
            let sign = if of.is_lower_bound { "> " } else { "" };
            format!("{sign}{}", format::duration(of.response_ns.estimate))
        },
    )
}

/// The interval of a percentile.
pub(crate) fn quantile_interval(standing: &LatencyStanding, quantile: f64) -> String {
    let found = standing.quantiles.iter().find(|of| of.quantile == quantile);
    found.map_or_else(|| "–".to_owned(), |of| format::duration_interval(&of.response_ns).interval)
}

/// What a step in a contender's life is called after the fact.
pub(crate) fn stage_in_words(stage: Stage) -> &'static str {
    match stage {
        // Its reason tells what is missing: a toolchain, or a workload that it answers.
        Stage::Needs => "not run",
        Stage::Build => "did not build",
        Stage::Start => "did not start",
        Stage::Answer => "answered wrongly",
        Stage::Load => "failed under load",
    }
}

/// The TCP and the wire, with what it does about losses: the machine's choice for the kernel's (tcp(7)), RFC 5681 for ours, nothing
/// in memory, where none is lost.
pub(crate) fn network_in_words(network: Network, host: &HostFacts) -> String {
    let control = match (network.stack(), network.wire()) {
        (Stack::Kernel, _) => host.congestion_control.as_deref(),
        (Stack::User, Wire::Ring) => None,
        (Stack::User, _) => Some("NewReno"),
    };
    let control = control.map(|name| format!(" (congestion control {name})")).unwrap_or_default();
    format!("{}{control}", network.in_words())
}

/// What joined client and server, in a sentence.
pub(crate) fn link_in_words(link: &str, facts: &LinkFacts) -> String {
    let rate = facts.shape.as_ref().map_or_else(
        || "as fast as the CPUs carry it".to_owned(),
        |shape| {
            let megabits = shape.bits_per_second as f64 / 1e6;
            format!(
                "{megabits} Mbit/s in each direction, headers included (tbf, burst {} bytes)",
                shape.burst_bytes
            )
        },
    );
    let loss = facts.loss_per_million.map_or_else(String::new, |share| {
        format!(", {} % of all frames lost at random in each direction", f64::from(share) / 1e4)
    });
    let rights = if facts.user_namespace { " in a user namespace" } else { "" };
    let middle = if facts.middle { " through a bridge in a third, frame by frame" } else { "" };
    let mtu = facts.mtu_bytes;
    format!("{link}: two network namespaces{rights}, a virtual cable{middle} with MTU {mtu}, {rate}{loss}")
}

/// What held a throughput where it is, in a word or two.
pub(crate) fn limit_in_words(limited_by: LimitedBy) -> &'static str {
    match limited_by {
        LimitedBy::Server => "server",
        LimitedBy::ServerCore => "one core",
        LimitedBy::Generator => "generator",
        LimitedBy::Both => "both",
        LimitedBy::Database => "database",
        LimitedBy::Upstream => "upstream",
        LimitedBy::Link => "link",
        LimitedBy::Connections => "connections",
        LimitedBy::Neither => "waiting",
        LimitedBy::Unknown => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_the_control_differs_from_itself_a_greater_margin_is_told() {
        let record = assay_verdict::testing::record(&[("a", &[100.0, 101.0]), ("b", &[50.0, 51.0])]);
        let mut verdict = assay_verdict::judge(&record).expect("readable");
        assert_eq!(margin_in_words(&verdict).as_deref(), Some("differences under 1.0 % count as none"));
        let usual = footnotes(&verdict.cells[0]);
        let wide = CellVerdict { margin: 0.042, ..verdict.cells[0].clone() };
        let note = "here differences under 4.2 % count as none".to_owned();
        assert!(footnotes(&wide).contains(&note) && !usual.contains(&note));
        (verdict.margin, verdict.cells) = (0.042, vec![verdict.cells[0].clone(), wide]);
        assert_eq!(
            margin_in_words(&verdict).as_deref(),
            Some(
                "differences under 1.0 % count as none, but up to 4.2 % in 1 of 2 tables, where the A/A control differs from itself"
            )
        );
        verdict.margin = 0.0;
        assert_eq!(margin_in_words(&verdict), None, "figures that were imported are not compared");
    }

    #[test]
    fn a_network_is_told_with_what_its_tcp_does_about_losses() {
        let host = HostFacts { congestion_control: Some("bbr".to_owned()), ..HostFacts::default() };
        let words = |name: &str, host: &HostFacts| network_in_words(name.parse().expect("a network"), host);
        assert_eq!(words("kernel/veth", &host), "the kernel's stack over veth (congestion control bbr)");
        assert_eq!(words("kernel/veth", &HostFacts::default()), "the kernel's stack over veth");
        assert!(words("user/xdp", &host).ends_with("(congestion control NewReno)"));
        assert!(!words("user/ring", &host).contains("congestion"));
    }

    #[test]
    fn many_places_fold_to_their_number_and_where_most_are() {
        let place = |contender: &str, workload: &str, levels: &[u32]| NotePlace {
            contender: contender.to_owned(),
            workload: workload.to_owned(),
            connections: levels.to_vec(),
            network: None,
            protocol: Protocol::H1,
        };
        let few = [place("a", "x", &[16, 64]), place("b", "x", &[16, 64, 256])];
        assert_eq!(places_in_short(&few, 40), places_in_words(&few));
        let many = ["a", "b", "c"].map(|name| place(name, "json", &[16, 64, 256]));
        assert_eq!(
            places_in_short(&many, 40),
            "in 9 of 40 places; all with -v",
            "all of them say nothing of any"
        );
        let more = [&many[..], &[place("a", "x", &[16])]].concat();
        assert_eq!(places_in_short(&more, 40), "in 10 of 40 places, most on json (9); all with -v");
        let whose = ["x", "y", "z", "w"].map(|workload| place("a", workload, &[16, 64]));
        let whose = [&whose[..], &[place("b", "x", &[16])]].concat();
        assert_eq!(places_in_short(&whose, 40), "in 9 of 40 places, most with a (8); all with -v");
    }

    #[test]
    fn the_places_of_a_warning_are_told_once_each() {
        let place = |contender: &str, workload: &str, network: &str| NotePlace {
            contender: contender.to_owned(),
            workload: workload.to_owned(),
            connections: vec![16, 64],
            network: network.parse().ok(),
            protocol: Protocol::H1,
        };
        let both =
            |name: &str, workload: &str| ["kernel/veth", "user/xdp"].map(|on| place(name, workload, on));
        let mut places = [both("a", "x"), both("a", "y"), both("b", "x"), both("b", "y")].concat();
        assert_eq!(places_in_words(&places), "a, b (x, y at 16, 64 on kernel/veth, user/xdp)");
        places.push(place("c", "x", ""));
        places.push(place("c", "y", "user/xdp"));
        assert_eq!(
            places_in_words(&places[6..]),
            "b (y at 16, 64 on kernel/veth, user/xdp), c (x at 16, 64; y at 16, 64 on user/xdp)"
        );
    }
}
