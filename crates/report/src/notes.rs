//! What stands beside the numbers in every format: warnings gathered by rule, and contenders that yielded nothing.

use std::cmp::Reverse;

use assay_model::JsonSchema;
use assay_model::check::{Check, CheckOutcome};
use assay_model::conformance::{Changes, Conformance, Severity};
use assay_model::experiment::{ArrivalModel, Cell};
use assay_model::host::HostFacts;
use assay_model::link::LinkFacts;
use assay_model::network::{Network, Stack, Wire};
use assay_model::offered::Offered;
use assay_model::record::{Record, Stage};
use assay_model::rule::Rule;
use assay_model::verdict::{
    Ages, CellVerdict, LatencyStanding, LimitedBy, RedlineEnd, RedlineStanding, Standing, Timing, Verdict,
};
use assay_stats::tiers::LEAST_MARGIN;
use serde::Serialize;

pub use crate::places::NotePlace;
use crate::places::{add_place, told_first};
pub(crate) use crate::places::{places_in_short, places_in_words};
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
    /// The run, where several are told of.
    #[serde(skip)]
    pub(crate) run: Option<String>,
    /// What was seen at its worst place, in a sentence with its figures.
    pub evidence: String,
    /// What to do about it.
    pub remedy: Option<String>,
    /// Contender and cell of each place; empty when it concerns the whole run.
    pub places: Vec<NotePlace>,
}

/// A check that may not have passed, of a whole run or of a contender in a cell.
pub(crate) struct Doubt<'c> {
    /// The run, where several are told of.
    pub(crate) run: Option<&'c str>,
    pub(crate) check: &'c Check,
    pub(crate) place: Option<(&'c str, &'c Cell)>,
}

/// A check that did not pass, at its worst in its run, with every place that it concerns; in no words yet.
#[derive(Clone)]
pub(crate) struct Broken<'c> {
    pub(crate) run: Option<&'c str>,
    pub(crate) check: &'c Check,
    pub(crate) places: Vec<NotePlace>,
}

impl Warning {
    /// One rule in its own words.
    pub(crate) fn of(broken: Broken<'_>) -> Self {
        let Broken { run, check, places } = broken;
        let (run, rule, outcome) = (run.map(str::to_owned), check.rule, check.outcome);
        let (evidence, remedy) = (words::evidence(check), words::remedy(check));
        Self { rule, also: Vec::new(), outcome, run, evidence, remedy, places }
    }

    /// With the place of its figures in the sentence where those of other places differ, for a reader who is told of one place only.
    fn naming_its_place(mut self) -> Self {
        if let Some(others) = self.places.iter().position(|place| place.has_other_figures) {
            let whose = match self.places.first().filter(|_| others > 0) {
                Some(told) => places_in_words(std::slice::from_ref(told)),
                None => "in the whole run".to_owned(),
            };
            self.evidence = format!("{whose}: {}", self.evidence);
        }
        self
    }

    /// What is written before it: whether the number is void or stands with a caveat.
    pub(crate) fn label(&self) -> &'static str {
        if self.outcome == CheckOutcome::Void { "Void" } else { "Warning" }
    }

    /// Its remedy as the end of its line; nothing where none is known.
    pub(crate) fn remedy_after(&self) -> String {
        self.remedy.as_ref().map(|remedy| format!(" → {remedy}")).unwrap_or_default()
    }

    /// What it is about, in a word or two, and in which run where there are several.
    pub(crate) fn about(&self) -> String {
        let rule = self.rule.name().replace('-', " ");
        let about = if self.also.is_empty() { &*rule } else { "disturbed" };
        self.run.as_ref().map_or_else(|| about.to_owned(), |run| format!("{about} in {run}"))
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

/// Every check that did not pass, worst first, one entry per rule; sentences tell of whom they are where that is not plain.
pub(crate) fn warnings(verdict: &Verdict) -> Vec<Warning> {
    broken(verdict).into_iter().map(Warning::of).map(Warning::naming_its_place).collect()
}

/// Every check that did not pass, worst first, one entry per rule.
pub(crate) fn broken(verdict: &Verdict) -> Vec<Broken<'_>> {
    let placed = verdict.judged().flat_map(|judged| {
        let place = Some((judged.contender, judged.cell));
        judged.checks.iter().map(move |check| Doubt { run: None, check, place })
    });
    let whole = verdict.trust.iter().map(|check| Doubt { run: None, check, place: None });
    broken_of(whole.chain(placed))
}

/// What did not pass, worst first, one entry per rule and run.
pub(crate) fn broken_of<'c>(doubts: impl Iterator<Item = Doubt<'c>>) -> Vec<Broken<'c>> {
    let mut broken: Vec<Broken<'c>> = Vec::new();
    for doubt in doubts.filter(|doubt| doubt.check.outcome != CheckOutcome::Pass) {
        gather(&mut broken, doubt);
    }
    broken.iter_mut().for_each(|broken| told_first(&mut broken.places));
    broken.sort_by_key(|broken| (Reverse(broken.check.outcome), !OF_SERVERS.contains(&broken.check.rule)));
    broken
}

fn gather<'c>(all: &mut Vec<Broken<'c>>, Doubt { run, check, place }: Doubt<'c>) {
    let is_it = |broken: &Broken<'_>| broken.run == run && broken.check.rule == check.rule;
    let index = all.iter().position(is_it).unwrap_or_else(|| {
        all.push(Broken { run, check, places: Vec::new() });
        all.len() - 1
    });
    let broken = &mut all[index];
    if check.outcome > broken.check.outcome {
        broken.check = check;
        for mut earlier in std::mem::take(&mut broken.places) {
            earlier.has_other_figures = true;
            add_place(&mut broken.places, earlier);
        }
    }
    let Some((contender, cell)) = place else { return };
    let has_other_figures = check != broken.check;
    add_place(&mut broken.places, NotePlace { has_other_figures, ..NotePlace::of(contender, cell) });
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
    record.contenders.iter().any(|entry| entry.identity.name == contender && entry.identity.is_limit())
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

/// Whether nothing is known of where a redline lies.
pub(crate) fn is_redline_unknown(standing: &RedlineStanding) -> bool {
    standing.kept_per_second.is_none() && standing.missed_per_second.is_none()
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

/// The interval of a percentile; that of a lower bound has no upper end.
pub(crate) fn quantile_interval(standing: &LatencyStanding, quantile: f64) -> String {
    let found = standing.quantiles.iter().find(|of| of.quantile == quantile);
    found.map_or_else(
        || "–".to_owned(),
        |of| match of.is_lower_bound && of.response_ns.confidence > 0.0 {
            true => format!("[{} …]", format::duration(of.response_ns.low)),
            false => format::duration_interval(&of.response_ns).interval,
        },
    )
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
    use assay_model::evidence::Evidence;

    use super::*;

    /// The page has the words in a file of its own, so that none of them is written by hand a second time.
    #[test]
    fn the_page_says_what_everything_else_says() {
        let words: serde_json::Value =
            serde_json::from_str(include_str!("../../../report-ui/src/words.json")).expect("JSON");
        fn all<E: serde::de::DeserializeOwned>(
            words: &serde_json::Value,
            of: &str,
            said: fn(E) -> &'static str,
        ) {
            let told = words[of].as_object().expect("an object");
            assert!(told.len() > 2, "{of}");
            for (name, word) in told {
                let known = serde_json::from_value(name.as_str().into()).expect("a name of the model");
                assert_eq!(said(known), word.as_str().expect("text"), "{of}: {name}");
            }
        }
        all(&words, "redline_end", redline_end_in_words);
        all(&words, "limited_by", limit_in_words);
        all(&words, "stage", stage_in_words);
    }

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
    fn nobody_is_told_of_with_the_figures_of_another() {
        let alike = [100.0, 101.0];
        let record = assay_verdict::testing::record(&[("a", &alike), ("b", &alike), ("c", &alike)]);
        let mut verdict = assay_verdict::judge(&record).expect("readable");
        let errors = |failed, outcome| {
            let evidence = Evidence::Errors { failed, requests: 100, example: None, checked: Vec::new() };
            vec![Check::objection(Rule::Errors, outcome, evidence)]
        };
        verdict.trust.clear();
        for standing in &mut verdict.cells[0].standings {
            let is_first = standing.contender == "a";
            standing.checks =
                if is_first { errors(1, CheckOutcome::Warn) } else { errors(50, CheckOutcome::Void) };
        }
        let told = |verdict: &Verdict| {
            let warning = warnings(verdict).remove(0);
            (warning.evidence, places_in_words(&warning.places))
        };
        let cell = verdict.cells[0].cell.clone();
        let at = format!("({} at {})", cell.workload, cell.connections);
        let (evidence, places) = told(&verdict);
        assert!(evidence.starts_with(&format!("b {at}: 50 of 100 requests failed")), "{evidence}");
        assert_eq!(places, format!("b, c {at}; with other figures: a {at}"));
        let own = words::evidence(broken(&verdict)[0].check);
        assert!(own.starts_with("50 of 100"), "a list of places beside it tells whose it is: {own}");
        verdict.trust = errors(101, CheckOutcome::Void);
        let (evidence, places) = told(&verdict);
        assert!(evidence.starts_with("in the whole run: 101 of 100"), "{evidence}");
        assert_eq!(places, format!("with other figures: a, b, c {at}"));
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
}
