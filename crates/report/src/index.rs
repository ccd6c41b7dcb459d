//! One page over many runs: a list that leads to their reports, and the trend of every contender over them.
//!
//! It is plain HTML with drawings in it, without a script, so it opens from a disk, prints, and reads aloud as it is.

mod drawing;
mod trend;

use std::fmt::Write as _;

use assay_model::record::Record;
use assay_model::verdict::Verdict;

use crate::foreign::markup;
use crate::listing::is_anybody_measured;
use crate::table::scrolling;
use crate::{format, sentences, words};
use trend::{Machine, Section, Trend};

const STYLE: &str = include_str!("../assets/index.css");
/// The policy of the page, as in the report: nothing may be loaded from anywhere, and nothing may run.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// Stands at the top of every index.
const MARK: &str = "<header><p><b>assay</b> <span>";

/// A run of the list.
#[derive(Clone, Debug)]
pub struct Listed<'a> {
    /// What was measured.
    pub record: &'a Record,
    /// What it means.
    pub verdict: &'a Verdict,
    /// Where its report is, relative to the index; absent where there is none.
    pub href: Option<String>,
}

/// The index of `runs`, the oldest first, as one HTML file.
pub fn index(runs: &[Listed<'_>]) -> String {
    let mut runs = runs.to_vec();
    runs.sort_by(|a, b| a.record.started_at.cmp(&b.record.started_at));
    let machines = trend::machines(&runs);
    let (sections, once): (Vec<Section>, Vec<Section>) =
        trend::sections(&runs, &machines).into_iter().partition(|section| section.runs.len() > 1);
    let mut out = opening(&runs);
    out += &list(&runs, &machines);
    out += &contents(&sections, &once);
    sections.iter().for_each(|section| out += &trends(&runs, section));
    out + "</main>\n</body>\n</html>\n"
}

/// Whether a text is an index of ours, of this version or an earlier one.
pub fn is_index(text: &str) -> bool {
    text.contains(MARK)
}

fn opening(runs: &[Listed<'_>]) -> String {
    let count = words::count_of(runs.len(), "run");
    let days: Vec<String> = runs.iter().map(|run| markup(day(run.record))).collect();
    let span = match days.as_slice() {
        [] => String::new(),
        [only] => format!(", {only}"),
        [first, .., last] if first == last => format!(", {first}"),
        [first, .., last] => format!(", {first} to {last}"),
    };
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <title>assay: {count}{span}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         {MARK}{count}{span}</span></p></header>\n<main>\n"
    )
}

/// Every run, the newest first.
fn list(runs: &[Listed<'_>], machines: &[Machine]) -> String {
    let mut out = format!(
        "<section>\n<h1>Runs</h1>\n{}<table class=\"runs\">\n<thead><tr><th>when (UTC)</th>\
         <th>experiment</th><th class=\"n\">contenders</th><th class=\"n\">rounds</th><th>machine</th>\
         <th>finding</th></tr></thead>\n<tbody>\n",
        scrolling("Runs")
    );
    for run in runs.iter().rev() {
        out += &row(run, machines);
    }
    out += "</tbody></table></div>\n";
    if machines.len() > 1 {
        let keys = machines
            .iter()
            .enumerate()
            .map(|(index, machine)| format!("<li>{} {}</li>\n", drawing::key(index), markup(&machine.name)));
        let _ = write!(out, "<ul class=\"keys\">\n{}</ul>\n", keys.collect::<String>());
    }
    out + "</section>\n"
}

fn row(run: &Listed<'_>, machines: &[Machine]) -> String {
    let record = run.record;
    let when = markup(record.started_at.get(..16).unwrap_or(&record.started_at)).replace('T', " ");
    let when = match &run.href {
        Some(href) => format!("<a href=\"{}\">{when}</a>", markup(href)),
        None => when,
    };
    let proper = record
        .contenders
        .iter()
        .filter(|entry| entry.control_of.is_none() && entry.not_run.is_none() && !entry.identity.is_limit());
    let sentences = sentences::of_run(run.record, run.verdict);
    let without = if is_anybody_measured(record) { "no finding" } else { "nothing was measured" };
    let finding = sentences.first().map_or(without, String::as_str);
    let state =
        words::state_in_words(record.state).map(|words| format!("<br><small>{}</small>", markup(words)));
    let machine =
        machines.iter().find(|machine| machine.is_that_of(record)).map_or("", |one| one.name.as_str());
    format!(
        "<tr><td class=\"when\">{when}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td>\
         <td class=\"finding\">{}{}</td></tr>\n",
        markup(&record.experiment.name),
        proper.count(),
        run.verdict.rounds,
        markup(machine),
        markup(finding),
        state.unwrap_or_default(),
    )
}

/// What can be followed over runs, and what was measured only once.
fn contents(sections: &[Section], once: &[Section]) -> String {
    let name = |section: &Section| markup(&section.cell.to_string());
    let links: String = (sections.iter())
        .map(|section| format!("<a href=\"#cell-{}\">{}</a>\n", section.index, name(section)))
        .collect();
    let alone = once.iter().map(name).collect::<Vec<_>>().join(", ");
    let how = "Requests per second, run by run. A bar is a 95 % interval; a mark without one is a single round. A line \
               joins runs of one machine over one link, and no others. Each contender has a scale of its own, given at its \
               left. A hollow mark is a number that was withheld.";
    let mut out = "<section>\n<h1>Trends</h1>\n".to_owned();
    if !links.is_empty() {
        let _ = write!(out, "<p class=\"note\">{how}</p>\n<nav>{links}</nav>\n");
    }
    if !alone.is_empty() {
        let _ = writeln!(out, "<p class=\"note once\">Measured in one run only: {alone}.</p>");
    }
    out + "</section>\n"
}

fn trends(runs: &[Listed<'_>], section: &Section) -> String {
    let mut out = format!(
        "<section id=\"cell-{}\">\n<h2>{}</h2>\n<div class=\"trends\">\n",
        section.index,
        markup(&section.cell.to_string())
    );
    section.trends.iter().for_each(|trend| out += &card(runs, trend));
    out + "</div>\n" + &table(runs, section) + "</section>\n"
}

fn card(runs: &[Listed<'_>], trend: &Trend) -> String {
    let last = trend.points.iter().rev().find_map(|point| point.rate);
    let last = last.map_or_else(|| "withheld".to_owned(), |rate| format::rate_interval(&rate).estimate);
    format!(
        "<figure>\n<figcaption><b>{}</b> <span>{last}</span></figcaption>\n{}</figure>\n",
        markup(&trend.name),
        drawing::trend(runs, trend)
    )
}

/// The runs of a section as a table, for readers who cannot see drawings or want to copy figures.
fn table(runs: &[Listed<'_>], section: &Section) -> String {
    let heads =
        section.runs.iter().map(|&run| format!("<th class=\"n\">{}</th>", markup(day(runs[run].record))));
    let mut out = format!(
        "<details>\n<summary>As a table</summary>\n{}<table>\n<thead><tr><th>contender</th>{}</tr></thead>\n<tbody>\n",
        scrolling(&section.cell.to_string()),
        heads.collect::<String>()
    );
    for trend in &section.trends {
        let cells = section.runs.iter().map(|run| {
            let point = trend.points.iter().find(|point| point.run == *run);
            let told = point.map_or(String::new(), |point| match point.rate {
                Some(rate) => {
                    let of = format::rate_interval(&rate);
                    format!("{} <small>{}</small>", of.estimate, of.interval)
                }
                None => "withheld".to_owned(),
            });
            format!("<td class=\"n\">{told}</td>")
        });
        let _ = writeln!(out, "<tr><td>{}</td>{}</tr>", markup(&trend.name), cells.collect::<String>());
    }
    out + "</tbody></table></div>\n</details>\n"
}

fn day(record: &Record) -> &str {
    record.started_at.get(..10).unwrap_or(&record.started_at)
}
