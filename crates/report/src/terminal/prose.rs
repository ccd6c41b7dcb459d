//! What follows the tables, in words: the verdict, who did not run, whether to trust it.

use anstyle::Style as Ansi;
use assay_model::check::{Check, CheckOutcome};
use assay_model::conformance::{Conformance, Earlier};
use assay_model::record::{Entry, Origin, Record, Stage};
use assay_model::rule::Rule;
use assay_model::units::Nanos;
use assay_model::verdict::{Timing, Verdict};

use super::{ALARM, CAUTION, FAINT, HEADING, PLAIN, Page};
use crate::absent::absent;
use crate::text::{elide, width, wrap};
use crate::warnings::{self, disturbed};
use crate::{cross_check, format, sentences, words};

/// Columns of the label at the left of every paragraph, with the spaces around it.
const LABEL: usize = 10;
/// Before the further lines of a paragraph without a label.
const HANGING: &str = "   ";

/// Lines of what passed, unless all is asked for.
const TRUST_LINES: usize = 5;
/// Lines of what did not pass, unless all is asked for. What is void is told whatever it takes.
const WARNING_LINES: usize = 20;
/// The rules that tell most when they pass, in that order.
const FIRST: [Rule; 4] = [Rule::Errors, Rule::Rounds, Rule::Headroom, Rule::NoiseFloor];

pub(super) fn not_run(page: &mut Page, record: &Record) {
    let absent = absent(record);
    let any = !absent.is_empty();
    for absent in absent {
        let round =
            absent.round.map(|round| format!(" in round {}", round.saturating_add(1))).unwrap_or_default();
        let label = if absent.round.is_some() { "Failed" } else { "Not run" };
        let text = match (absent.round, absent.why.stage) {
            // The label says so.
            (None, Stage::Needs) => format!("{}: {}", absent.who(), absent.why.reason),
            _ => format!("{}: {}{round}: {}", absent.who(), absent.stage(), absent.why.reason),
        };
        paragraph(page, label, CAUTION, PLAIN, &text);
        if let Some(remedy) = &absent.why.remedy {
            arrow(page, remedy);
        }
    }
    let generators = record.generators.iter().filter_map(|entry| Some((entry, cross_check::absence(entry)?)));
    let mut any = any;
    for (entry, text) in generators {
        let label = if entry.not_run.is_some() { "Not run" } else { "Left out" };
        paragraph(page, label, CAUTION, PLAIN, &text);
        if let Some(remedy) = entry.not_run.as_ref().and_then(|why| why.remedy.as_ref()) {
            arrow(page, remedy);
        }
        any = true;
    }
    if any {
        page.line(&[]);
    }
}

/// The rules of HTTP/1.1 on which something is to be said, under the column that counts them.
pub(super) fn conformance(page: &mut Page, record: &Record, earlier: &Earlier) {
    let asked = record.contenders.iter().filter_map(|entry| Some((entry, entry.conformance.as_ref()?)));
    let told: Vec<String> = asked
        .filter_map(|(entry, now)| {
            let rules = rules_to_tell(entry, now, earlier.get(&entry.identity.name), page.style.full)?;
            Some(format!("{}: {rules}", entry.identity.name))
        })
        .collect();
    for (i, text) in told.iter().enumerate() {
        paragraph(page, if i == 0 { "Conform" } else { "" }, HEADING, PLAIN, text);
    }
    if !told.is_empty() {
        page.line(&[]);
    }
}

/// All broken rules where all is asked for, and of a server of the user's own that is asked for the first time; else what
/// changed. What guests from the catalogue break is known.
fn rules_to_tell(
    entry: &Entry,
    now: &Conformance,
    earlier: Option<&Conformance>,
    is_all_asked: bool,
) -> Option<String> {
    match earlier.filter(|_| !is_all_asked) {
        Some(earlier) => words::changed_rules(&now.changes_since(earlier)),
        None if is_all_asked || entry.identity.origin != Origin::Folder => words::broken_rules(now),
        None => None,
    }
}

pub(super) fn trust(page: &mut Page, verdict: &Verdict) {
    let timing = verdict.timing.as_ref().map(timing_in_words);
    let objections = Objections { broken: warnings::broken(verdict), judged: verdict.judged().count() };
    trust_of(page, verdict.trust.iter(), words::margin_in_words(verdict), timing, objections);
}

/// How much of the time went into what counts.
fn timing_in_words(timing: &Timing) -> String {
    format!("{} of the rounds' time was measured and counts", format::percent(timing.measured_share))
}

/// What makes figures void, and what would mend it; nothing of what merely asks for caution.
pub(super) fn void(page: &mut Page, verdict: &Verdict) {
    let broken = warnings::broken(verdict).into_iter();
    let void = broken.filter(|broken| broken.check.outcome == CheckOutcome::Void).collect();
    warn(page, void, verdict.judged().count());
}

/// What did not pass, of how many figures.
pub(crate) struct Objections<'c> {
    /// One entry per rule.
    pub(crate) broken: Vec<warnings::Broken<'c>>,
    /// Contenders in the cells in which they were judged.
    pub(crate) judged: usize,
}

/// What passed, the margin, how the time was spent, and what did not pass with its remedies.
pub(crate) fn trust_of<'c>(
    page: &mut Page,
    checks: impl Iterator<Item = &'c Check>,
    margin: Option<String>,
    timing: Option<String>,
    Objections { broken, judged }: Objections<'_>,
) {
    // A rule that all windows together keep may be broken by one contender.
    let is_kept = |check: &&Check| {
        check.outcome == CheckOutcome::Pass && broken.iter().all(|broken| broken.check.rule != check.rule)
    };
    let mut passed: Vec<&Check> = checks.filter(is_kept).collect();
    passed.sort_by_key(|check| FIRST.iter().position(|rule| *rule == check.rule).unwrap_or(FIRST.len()));
    let (first, others): (Vec<&Check>, Vec<&Check>) =
        passed.into_iter().partition(|check| FIRST.contains(&check.rule));
    let first = first.into_iter().map(words::evidence).chain(margin).chain(timing);
    let facts: Vec<String> = first.chain(others.into_iter().map(words::evidence)).collect();
    if !facts.is_empty() {
        let told = told_in_short(page, &facts);
        paragraph(page, "Trust", HEADING, PLAIN, &told);
    }
    warn(page, broken, judged);
}

/// What did not pass, worst first: a screen of it, and how much more there is; each rule in its own words where all is asked for.
fn warn(page: &mut Page, broken: Vec<warnings::Broken<'_>>, judged: usize) {
    let warnings: Vec<warnings::Warning> = match page.style.full {
        true => broken.into_iter().map(warnings::Warning::of).collect(),
        false => disturbed::folded(broken),
    };
    let begin = page.out.len();
    for (i, warning) in warnings.iter().enumerate() {
        let end = page.out.len();
        objection(page, warning, judged);
        // Unless it is the last one, the line that tells how many more there are has to fit, too.
        let lines = page.out[begin..].lines().count() + usize::from(i + 1 < warnings.len());
        let may_be_left_out = !page.style.full && warning.outcome != CheckOutcome::Void;
        if may_be_left_out && lines > WARNING_LINES {
            page.out.truncate(end);
            let left: Vec<String> = warnings[i..].iter().map(warnings::Warning::about).collect();
            let told = format!("{} more with -v: {}", left.len(), left.join(", "));
            return paragraph(page, "", PLAIN, FAINT, &told);
        }
    }
}

fn objection(page: &mut Page, warning: &warnings::Warning, judged: usize) {
    let ansi = if warning.outcome == CheckOutcome::Void { ALARM } else { CAUTION };
    let places = match warning.places.as_slice() {
        [] => String::new(),
        places if page.style.full => format!(" [{}]", warnings::places_in_words(places)),
        places => format!(" [{}]", warnings::places_in_short(places, judged)),
    };
    paragraph(
        page,
        warning.label(),
        ansi,
        PLAIN,
        &format!("{}: {}{places}", warning.about(), warning.evidence),
    );
    if let Some(remedy) = &warning.remedy {
        arrow(page, remedy);
    }
}

/// The facts that fit into a few lines, and how many more there are; all where all is asked for.
fn told_in_short(page: &Page, facts: &[String]) -> String {
    let told = |n: usize| match facts.len() - n {
        0 => facts.join(" · "),
        more => format!("{} · {more} more with -v", facts[..n].join(" · ")),
    };
    let fits =
        |n: &usize| wrap(&page.spell(&told(*n)), page.width().saturating_sub(LABEL)).len() <= TRUST_LINES;
    let most = (1..=facts.len()).rev().find(|n| page.style.full || fits(n));
    told(most.unwrap_or(1))
}

pub(super) fn sentences(page: &mut Page, record: &Record, verdict: &Verdict) {
    for (i, sentence) in sentences::of_run(record, verdict).iter().enumerate() {
        let label = if i == 0 { "Verdict" } else { "" };
        paragraph(page, label, HEADING, if i == 0 { HEADING } else { PLAIN }, sentence);
    }
    page.line(&[]);
}

/// What has to be said before anything else: nothing where the figures may be used.
pub(super) fn warning(page: &mut Page, verdict: &Verdict) {
    for sentence in sentences::warning(verdict) {
        paragraph(page, "Verdict", HEADING, HEADING, &sentence);
        page.line(&[]);
    }
}

/// Where figures of others are from, and what follows from them and ours.
pub(super) fn theirs(page: &mut Page, source: &str, sentences: &[String]) {
    paragraph(page, "Theirs", HEADING, PLAIN, source);
    for (i, sentence) in sentences.iter().enumerate() {
        paragraph(page, if i == 0 { "Scaled" } else { "" }, HEADING, PLAIN, sentence);
    }
    page.line(&[]);
}

/// Says what joined client and server, unless it was what everybody expects.
pub(super) fn link(page: &mut Page, record: &Record) {
    if let Some(facts) = &record.link_facts {
        paragraph(page, "Link", HEADING, PLAIN, &words::link_in_words(&record.link_text(), facts));
        page.line(&[]);
    }
    for (i, facts) in record.networks.iter().enumerate() {
        let cable = facts
            .link_facts
            .as_ref()
            .map(|link| words::link_in_words(&facts.network.link().to_string(), link));
        let cable = cable.map(|cable| format!("; {cable}")).unwrap_or_default();
        let label = if i == 0 { "Networks" } else { "" };
        let words =
            format!("{}: {}{cable}", facts.network, words::network_in_words(facts.network, &record.host));
        paragraph(page, label, HEADING, PLAIN, &words);
    }
    if !record.networks.is_empty() {
        page.line(&[]);
    }
}

/// Says when the run is not whole, and when it waited.
pub(super) fn state(page: &mut Page, record: &Record) {
    if let Some(text) = words::state_in_words(record.state) {
        paragraph(page, "Partial", CAUTION, PLAIN, text);
        page.line(&[]);
    }
    if record.paused_ns > Nanos::ZERO {
        let told =
            format!("for {} by hand, which is no part of the budget", format::span(record.paused_ns.0));
        paragraph(page, "Paused", HEADING, PLAIN, &told);
        page.line(&[]);
    }
}

pub(super) fn paragraph(page: &mut Page, label: &str, label_style: Ansi, style: Ansi, text: &str) {
    let text = page.spell(text);
    for (i, line) in wrap(&text, page.width() - LABEL).iter().enumerate() {
        let label = if i == 0 { label } else { "" };
        let label = format!(" {label}{}", " ".repeat(LABEL - 1 - width(label)));
        page.line(&[(label_style, &label), (style, line)]);
    }
}

/// A paragraph without a label, its further lines indented.
pub(crate) fn hanging(page: &mut Page, style: Ansi, text: &str) {
    let (text, room) = (page.spell(text), page.width() - HANGING.len());
    for (i, line) in wrap(&text, room).iter().enumerate() {
        // A word longer than the terminal, such as a file's name, is cut.
        let line = elide(line, room, page.ellipsis());
        page.line(&[(style, &format!("{}{line}", if i == 0 { " " } else { HANGING }))]);
    }
}

/// A remedy, under what it mends.
fn arrow(page: &mut Page, remedy: &str) {
    let text = page.spell(&format!("→ {remedy}"));
    for (i, line) in wrap(&text, page.width() - LABEL - 2).iter().enumerate() {
        let indent = " ".repeat(if i == 0 { LABEL } else { LABEL + 2 });
        page.line(&[(PLAIN, &indent), (FAINT, line)]);
    }
}
