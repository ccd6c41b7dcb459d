//! A run that goes on: what is being done, the standings so far, what is still open, and what may be pressed.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::check::CheckOutcome;
use assay_model::experiment::Cell;
use assay_model::record::Record;
use assay_model::verdict::{Call, CellVerdict, Interval, Pair, Standing, Verdict};
use assay_stats::robust::median;
use assay_verdict::Settling;

use super::{Block, cut, drawn};
use crate::table::{Column, Row, Table, or_dash};
use crate::tables::TableWriter;
use crate::terminal::{ALARM, CAUTION, FAINT, HEADING, PLAIN, Page, Style};
use crate::words::place_of_round;
use crate::{format, rates, titles, warnings};

/// Warnings of which there is a line each.
const WARNINGS: usize = 2;
/// Columns of a label.
const LABEL: usize = 10;

/// What is known of a run that goes on.
#[derive(Clone, Debug, Default)]
pub struct Board {
    /// What is being done, and to whom: `nginx: building`.
    pub doing: String,
    /// For how long that has gone on, where it may take a while, in nanoseconds.
    pub since_ns: Option<u64>,
    /// Number of the present round, the first being 1, and how many there will probably be.
    pub round: Option<(u32, u32)>,
    /// Whether it is known how many rounds there will be, if all goes well.
    pub has_fixed_rounds: bool,
    /// Time until the run ends, probably, in nanoseconds; absent while that is not known.
    pub left_ns: Option<u64>,
    /// The pairs that are settled, where the run goes on until all are.
    pub settling: Option<Settling>,
    /// What the person at the keyboard wishes.
    pub wish: Wish,
    /// Whether the keys are read.
    pub has_keys: bool,
    /// Whether the keys are explained, in place of the standings.
    pub is_help: bool,
    /// Share of one CPU that drawing took so far, 0 to 1.
    pub cpu_share: f64,
    cell: Option<Cell>,
    windows: BTreeMap<String, Vec<f64>>,
    /// By contender and workload.
    warmups: BTreeMap<(String, String), f64>,
    record: Option<Record>,
    verdict: Option<Verdict>,
    warnings: Vec<warnings::Warning>,
}

/// What a person wishes of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wish {
    /// The run is to go on.
    #[default]
    GoOn,
    /// The run is to wait before the next window.
    Pause,
    /// The run is to wait on, as it does already.
    Paused {
        /// Seconds since it began to wait.
        seconds: u64,
    },
    /// The present round is to be the last one.
    LastRound,
    /// The run is to end with the present window.
    Stop,
}

impl Board {
    /// Takes note of the verdict so far. Of the record only what stands beside the rounds is kept.
    pub fn judge(&mut self, record: &Record, verdict: &Verdict) {
        match &mut self.record {
            Some(known) => known.contenders.clone_from(&record.contenders),
            None => self.record = Some(record.clone()),
        }
        self.warnings = warnings::warnings(verdict);
        self.warnings.retain(|warning| !warning.places.is_empty());
        self.warnings.truncate(WARNINGS);
        self.verdict = Some(verdict.clone());
    }

    /// A round begins: what windows told so far is in the verdict.
    pub fn begin_round(&mut self, number: u32, of: u32) {
        self.round = Some((number, of));
        self.windows.clear();
        self.warmups.clear();
    }

    /// Somebody is about to be measured in a cell, whose standings are shown from now on.
    pub fn turn_to(&mut self, cell: &Cell) {
        if self.cell.as_ref() != Some(cell) {
            self.cell = Some(cell.clone());
            self.windows.clear();
        }
    }

    /// A contender got warm on a workload, at a rate that is shown in parentheses until there is a window.
    pub fn add_warmup(&mut self, contender: &str, workload: &str, per_second: f64) {
        self.warmups.insert((contender.to_owned(), workload.to_owned()), per_second);
    }

    /// A window of the present cell is over, in which so many right answers came per second.
    pub fn add_window(&mut self, contender: &str, per_second: f64) {
        self.windows.entry(contender.to_owned()).or_default().push(per_second);
    }

    /// A cell was measured in one piece, or all turns in it are over, which are known then.
    pub fn add_whole(&mut self, contender: &str, per_second: f64) {
        self.windows.entry(contender.to_owned()).or_insert_with(|| vec![per_second]);
    }

    /// The lines to show on a terminal of that style, at most `height` of them and none wider than it.
    pub fn lines(&self, style: &Style, height: usize) -> Vec<String> {
        let head = drawn(style, |page| self.status(page));
        let body = drawn(style, |page| match self.is_help {
            true => self.help(page),
            false => self.standings(page),
        });
        let foot = drawn(style, |page| {
            self.open_pairs(page);
            self.warnings(page);
            self.keys(page);
        });
        Block { head, body, foot }.lines(height)
    }

    /// What people wait for stands first: the end of the line is cut where the terminal is narrow.
    fn status(&self, page: &mut Page) {
        let left = self.left_ns.filter(|left| *left > 0).map(|left| format!("{} left", format::span(left)));
        let round = self.round.map(|(number, of)| place_of_round(number, of, self.has_fixed_rounds));
        let since = self.since_ns.map(|since| format!(", {}", format::span(since))).unwrap_or_default();
        let doing = Some(format!("{}{since}", self.doing)).filter(|_| !self.doing.is_empty());
        let parts: Vec<String> = [left, round, doing].into_iter().flatten().collect();
        cut(page, &[(HEADING, format!(" {}", parts.join(" · ")))]);
    }

    /// The table of the present cell: what was found in the rounds so far, and what the windows of the present one say.
    fn standings(&self, page: &mut Page) {
        let (Some(record), Some(verdict)) = (&self.record, &self.verdict) else { return };
        let Some(cell) = self.cell.as_ref().or(verdict.cells.first().map(|of| &of.cell)) else { return };
        if let Some(of) = verdict.latency.iter().find(|of| of.cell == *cell) {
            return page.table(&titles::latency_title(record, cell), &rates::response_times(record, of));
        }
        if let Some(of) = verdict.redlines.iter().find(|of| of.cell == *cell) {
            return page.table(&titles::redline_title(cell), &rates::redlines(record, of));
        }
        let judged = verdict.cells.iter().find(|of| of.cell == *cell);
        let known: &[Standing] = judged.map(|of| of.standings.as_slice()).unwrap_or_default();
        let names = self.names(known, cell);
        if names.is_empty() {
            return;
        }
        let withheld = |name: &str| standing(known, name).and_then(|of| of.withheld.as_ref());
        let table = Table::new("contender", &names, |name: &&str| Row::of(record, name, withheld(name)));
        page.table(&titles::cell_title(cell), &self.columns(table, known, cell));
    }

    /// Contenders that have a standing, in the order of the standings, and behind them those that have windows or a warm-up only, the
    /// fastest first.
    fn names<'b>(&'b self, known: &'b [Standing], cell: &Cell) -> Vec<&'b str> {
        let warm = self.warmups.keys().filter(|(_, workload)| *workload == cell.workload);
        let new: BTreeSet<&str> =
            self.windows.keys().chain(warm.map(|(name, _)| name)).map(String::as_str).collect();
        let is_new = |name: &&str| standing(known, name).is_none() && !self.is_control(name);
        let mut new: Vec<&str> = new.into_iter().filter(is_new).collect();
        let rate = |name: &str| self.median_of_windows(name).or(self.warm_rate(name, cell)).unwrap_or(0.0);
        new.sort_by(|one, other| rate(other).total_cmp(&rate(one)));
        known.iter().map(|of| of.contender.as_str()).chain(new).collect()
    }

    /// An A/A control is no contender of its own.
    fn is_control(&self, name: &str) -> bool {
        let entries = self.record.iter().flat_map(|record| &record.contenders);
        entries.into_iter().any(|entry| entry.identity.name == name && entry.control_of.is_some())
    }

    fn columns<'b>(&self, table: Table<'b, &'b str>, known: &[Standing], cell: &Cell) -> Table<'b, &'b str> {
        let told = |text: fn(&Standing) -> String| move |name: &&str| or_dash(standing(known, name), text);
        table
            .column(Column::numbers("req/s"), told(|of| rate(of, |of| format::rate_interval(of).estimate)))
            .column(
                Column::numbers("95 % interval").drop(2),
                told(|of| rate(of, |of| format::rate_interval(of).interval)),
            )
            .column(
                Column::numbers("of limit").drop(4),
                told(|of| or_dash(of.share_of_limit, |share| format::percent(share.estimate))),
            )
            .column(
                Column::numbers("p99").drop(6),
                told(|of| or_dash(of.p99_ns, |ns| format::duration(ns.estimate))),
            )
            .column(Column::numbers("rounds").drop(5), told(rounds_in_words))
            .column(Column::numbers("tier").drop(1), told(|of| or_dash(of.tier, |tier| tier.to_string())))
            .column(Column::numbers("this round").drop(3), |name| self.in_this_round(name, cell))
    }

    /// The median of the windows of the present round; before there is any, the rate of the warm-up in parentheses.
    fn in_this_round(&self, name: &str, cell: &Cell) -> String {
        let warm = || self.warm_rate(name, cell).map(|rate| format!("({})", format::rate(rate)));
        or_dash(self.median_of_windows(name).map(format::rate).or_else(warm), |told| told)
    }

    fn median_of_windows(&self, name: &str) -> Option<f64> {
        median(self.windows.get(name)?).ok()
    }

    /// The rate at which a contender got warm, while nothing else is known of it.
    fn warm_rate(&self, name: &str, cell: &Cell) -> Option<f64> {
        self.warmups.get(&(name.to_owned(), cell.workload.clone())).copied()
    }

    /// The pair that is told apart next, and how many others are open.
    fn open_pairs(&self, page: &mut Page) {
        let Some(of) = self.shown_cell() else { return };
        let mut open: Vec<&Pair> = of.pairs.iter().filter(|pair| self.is_open(pair)).collect();
        open.sort_by(|one, other| half_width(one).total_cmp(&half_width(other)));
        let settled = self.settling.as_ref().map(settled_in_words);
        let told = match open.as_slice() {
            [] => settled,
            [next, others @ ..] => {
                let change = format::magnitude(&next.ratio);
                let others = match others.len() {
                    0 => String::new(),
                    1 => ", and 1 more pair".to_owned(),
                    more => format!(", and {more} more pairs"),
                };
                let settled = settled.map(|settled| format!("; {settled}")).unwrap_or_default();
                let (faster, slower) = (&next.faster, &next.slower);
                Some(format!(
                    "{faster} over {slower} by {} {}{others}{settled}",
                    change.estimate, change.interval
                ))
            }
        };
        let Some(told) = told else { return };
        cut(page, &[(HEADING, format!(" {:<1$}", "Open", LABEL - 1)), (PLAIN, told)]);
    }

    fn shown_cell(&self) -> Option<&CellVerdict> {
        let cells = &self.verdict.as_ref()?.cells;
        match &self.cell {
            Some(cell) => cells.iter().find(|of| of.cell == *cell),
            None => cells.first(),
        }
    }

    fn is_open(&self, pair: &Pair) -> bool {
        let is_wanted = |name: &String| self.settling.as_ref().is_none_or(|of| of.unsettled.contains(name));
        pair.call == Call::Tie && is_wanted(&pair.faster) && is_wanted(&pair.slower)
    }

    /// What speaks against windows so far, the worst first.
    fn warnings(&self, page: &mut Page) {
        for warning in &self.warnings {
            let label = warning.label();
            let ansi = if warning.outcome == CheckOutcome::Void { ALARM } else { CAUTION };
            let whose: BTreeSet<&str> = warning.places.iter().map(|place| place.contender.as_str()).collect();
            let whose = whose.into_iter().collect::<Vec<_>>().join(", ");
            // What is cut off at the right is the list of contenders, which the table also shows.
            let told = format!("{} [{whose}]", warning.evidence);
            cut(page, &[(ansi, format!(" {label:<0$}", LABEL - 1)), (PLAIN, told)]);
        }
    }

    fn keys(&self, page: &mut Page) {
        let told = match (self.wish, self.has_keys) {
            (Wish::Stop, _) => "finishing this window, then stopping · Ctrl-C again stops at once".to_owned(),
            (Wish::LastRound, _) => {
                "finishing this round, then stopping · Ctrl-C stops after this window".to_owned()
            }
            (Wish::Pause, _) => "pausing after this window · p goes on".to_owned(),
            (Wish::Paused { seconds }, _) => {
                format!(
                    "paused for {} · p goes on · q ends the run with this round",
                    format::span(seconds * 1_000_000_000)
                )
            }
            (Wish::GoOn, true) => "q finish this round and stop · p pause · ? help".to_owned(),
            (Wish::GoOn, false) => "Ctrl-C finishes this window and stops".to_owned(),
        };
        let ansi = if self.wish == Wish::GoOn { FAINT } else { CAUTION };
        cut(page, &[(ansi, format!(" {told}"))]);
    }

    fn help(&self, page: &mut Page) {
        let own = format!(
            "Drawing this has taken {} of one CPU, all of it between windows.",
            format::percent(self.cpu_share)
        );
        for line in [
            "q           finish this round and stop: the record is whole and judged",
            "p           wait before the next window, and go on; the budget waits as well",
            "?           back to the standings",
            "Ctrl-C      finish this window and stop; twice: stop at once",
            "",
            "req/s, 95 % interval, of limit, p99, tier: what all rounds say that are over",
            "rounds      those that count, of those measured",
            "this round  median of its windows so far; in parentheses its warm-up's rate",
            "Intervals of req/s and of pairs hold at whichever round you end the run;",
            "those of percentiles are as if these rounds had been planned.",
            &own,
        ] {
            cut(page, &[(PLAIN, format!(" {line}"))]);
        }
    }
}

fn standing<'s>(known: &'s [Standing], name: &str) -> Option<&'s Standing> {
    known.iter().find(|of| of.contender == name)
}

fn rate(of: &Standing, text: fn(&Interval) -> String) -> String {
    or_dash(of.throughput_per_second, |of| text(&of))
}

/// `5`, or `4 of 5` where one does not count. Behind the last one that does, it may not have been its turn yet.
fn rounds_in_words(of: &Standing) -> String {
    let all = of.rounds_per_second.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
    let counted = of.rounds_per_second.iter().flatten().count();
    if counted == all { all.to_string() } else { format!("{counted} of {all}") }
}

fn half_width(pair: &Pair) -> f64 {
    pair.ratio.high / pair.ratio.low
}

/// `4 of 6 pairs settled`; of nobody to compare with there is nothing to say.
pub fn settled_in_words(settling: &Settling) -> String {
    match settling.pairs {
        0 if settling.searches > 0 => "searching".to_owned(),
        0 => "no pairs to settle".to_owned(),
        1 if settling.open == 0 => "the pair settled".to_owned(),
        1 => "the pair open".to_owned(),
        pairs => format!("{} of {pairs} pairs settled", pairs - settling.open),
    }
}
