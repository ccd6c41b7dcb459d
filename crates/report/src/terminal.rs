//! The summary on a terminal: standings per cell, the verdict in words, who did not run, trust, warnings with remedies.

mod columns;
mod cross_check;
mod hosts;
pub mod live;
pub(crate) mod prose;
mod protocol;
mod proxy;
mod published;
mod rates;
mod stack;
mod table;
mod why;

use anstyle::{AnsiColor, Style as Ansi};
use assay_model::conformance::Earlier;
use assay_model::profiling::Profiling;
use assay_model::record::Record;
use assay_model::verdict::{CellVerdict, Standing, Verdict};

use crate::standings::LETTERS;
use crate::text::{ascii, elide, width};
use crate::{foreign, notes, words};
use columns::{Column, fitting};

/// What the terminal can do, as whoever prints has found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns; fewer than 40 count as 40.
    pub width: usize,
    /// Whether to write ANSI colours.
    pub colour: bool,
    /// Whether to stay within ASCII.
    pub ascii: bool,
    /// Whether every place of a warning is told, however many there are.
    pub full: bool,
}

/// Between two columns.
pub(crate) const GAP: &str = "  ";
/// Longest name before it is shortened.
const NAME_WIDTH: usize = 20;

pub(crate) const PLAIN: Ansi = Ansi::new();
pub(crate) const HEADING: Ansi = Ansi::new().bold();
pub(crate) const FAINT: Ansi = Ansi::new().dimmed();
pub(crate) const CAUTION: Ansi = AnsiColor::Yellow.on_default();
pub(crate) const ALARM: Ansi = AnsiColor::Red.on_default();

/// The whole summary, lines ending in `\n`. No row of a table is ever wrapped: columns that do not fit are left out, the
/// least telling first.
pub fn render(record: &Record, verdict: &Verdict, style: &Style) -> String {
    render_after(record, verdict, &Earlier::new(), style)
}

/// Renders for whoever knows what the contenders kept of the rules `earlier`: only what changed is news.
pub fn render_after(record: &Record, verdict: &Verdict, earlier: &Earlier, style: &Style) -> String {
    let mut page = Page::new(style);
    let mut letters = false;
    for cell in verdict.cells.iter().filter(|cell| !cell.standings.is_empty()) {
        letters |= page.standings(record, cell);
    }
    for cell in &verdict.latency {
        rates::response_times(&mut page, record, cell);
    }
    for cell in &verdict.redlines {
        rates::redlines(&mut page, record, cell);
    }
    for cell in &verdict.answered {
        published::answered(&mut page, record, cell);
    }
    if let Some(published) = &verdict.published {
        published::figures(&mut page, record, published);
    }
    for crossed in &verdict.cross_checks {
        cross_check::by_generator(&mut page, record, crossed);
    }
    for comparison in crate::stack::comparisons(record, verdict) {
        stack::cost(&mut page, record, &comparison);
    }
    for comparison in crate::protocol::comparisons(verdict) {
        protocol::cost(&mut page, record, &comparison);
    }
    crate::proxy::costs(verdict).iter().for_each(|costs| proxy::costs(&mut page, record, costs));
    crate::proxy::added(verdict).iter().for_each(|added| proxy::added(&mut page, record, added));
    // What was looked at once, and by the way, is a sentence here; the page has its bars.
    if record.experiment.profile != Profiling::Once {
        verdict.why.iter().for_each(|of| why::bars(&mut page, record, of));
    }
    if letters {
        page.line(&[(FAINT, " Two contenders that share a letter are not shown to differ.")]);
        page.line(&[]);
    }
    hosts::table_of_hosts(&mut page, record, verdict);
    prose::link(&mut page, record);
    prose::state(&mut page, record);
    prose::sentences(&mut page, record, verdict);
    prose::not_run(&mut page, record);
    prose::conformance(&mut page, record, earlier);
    prose::trust(&mut page, verdict);
    page.finish()
}

/// Where the time of each server goes, and where one spends more of it than another: nothing but the explanation, lines ending in
/// `\n`. `None` where nobody was profiled.
pub fn explanation(record: &Record, verdict: &Verdict, style: &Style) -> Option<String> {
    let mut page = Page::new(style);
    why::explained(&mut page, record, &verdict.why);
    prose::state(&mut page, record);
    prose::not_run(&mut page, record);
    (!verdict.why.is_empty()).then(|| page.finish())
}

/// The text so far, and how to add to it.
pub(crate) struct Page {
    style: Style,
    out: String,
}

impl Page {
    pub(crate) fn new(style: &Style) -> Self {
        Self { style: Style { width: style.width.max(40), ..*style }, out: String::new() }
    }

    pub(crate) fn width(&self) -> usize {
        self.style.width
    }

    /// Whether it stays within ASCII.
    pub(crate) fn is_ascii(&self) -> bool {
        self.style.ascii
    }

    pub(crate) fn finish(self) -> String {
        self.out
    }

    /// One line of styled pieces, each made harmless; trailing space is cut.
    pub(crate) fn line(&mut self, pieces: &[(Ansi, &str)]) {
        let start = self.out.len();
        for (ansi, text) in pieces {
            let text = self.spell(text);
            match self.style.colour && *ansi != PLAIN && !text.trim().is_empty() {
                true => self.out.push_str(&format!("{ansi}{text}{ansi:#}")),
                false => self.out.push_str(&text),
            }
        }
        let end = start + self.out[start..].trim_end().len();
        self.out.truncate(end);
        self.out.push('\n');
    }

    /// The text as this terminal can show it.
    pub(crate) fn spell(&self, text: &str) -> String {
        let text = foreign::line(text);
        if self.style.ascii { ascii(&text) } else { text }
    }

    pub(crate) fn ellipsis(&self) -> &'static str {
        if self.style.ascii { ".." } else { "…" }
    }

    /// One table; tells whether it shows letters.
    fn standings(&mut self, record: &Record, cell: &CellVerdict) -> bool {
        let name_width = self.name_width(record, cell);
        let room = self.style.width.saturating_sub(1 + name_width);
        let columns = fitting(cell, room, |text| self.spell(text));
        self.cell_heading(cell, &columns, name_width);
        for standing in &cell.standings {
            self.row(record, standing, &columns, name_width);
        }
        for note in notes::footnotes(cell) {
            self.line(&[(FAINT, &format!(" {note}"))]);
        }
        self.line(&[]);
        columns.iter().any(|column| column.of.head == LETTERS)
    }

    fn title(&self, record: &Record, contender: &str) -> String {
        let limit = if notes::is_limit(record, contender) { " (limit)" } else { "" };
        self.spell(&format!("{contender}{limit}"))
    }

    fn name_width(&self, record: &Record, cell: &CellVerdict) -> usize {
        let names = cell.standings.iter().map(|standing| width(&self.title(record, &standing.contender)));
        names.max().unwrap_or(0).clamp(10, NAME_WIDTH)
    }

    fn cell_heading(&mut self, cell: &CellVerdict, columns: &[Column], name_width: usize) {
        let title = format!(" {}", notes::cell_title(&cell.cell));
        let note = format!("service time at {} in flight", cell.cell.in_flight());
        let table_width =
            1 + name_width + columns.iter().map(|column| GAP.len() + column.width).sum::<usize>();
        let shows_times = columns.iter().any(|column| column.of.head.starts_with('p'));
        let space = table_width.saturating_sub(width(&title) + width(&note));
        match shows_times && space >= GAP.len() {
            true => self.line(&[(HEADING, &title), (PLAIN, &" ".repeat(space)), (FAINT, &note)]),
            false => self.line(&[(HEADING, &title)]),
        }
        let heads = columns.iter().map(|column| column.align(column.of.head));
        let heads = heads.map(|head| format!("{GAP}{head}")).collect::<String>();
        self.line(&[(FAINT, &format!(" {:name_width$}{heads}", ""))]);
    }

    fn row(&mut self, record: &Record, standing: &Standing, columns: &[Column], name_width: usize) {
        let name = elide(&self.title(record, &standing.contender), name_width, self.ellipsis());
        let name = format!(" {name}{}", " ".repeat(name_width.saturating_sub(width(&name))));
        if let Some(reason) = &standing.withheld {
            let room = self.style.width.saturating_sub(width(&name) + GAP.len());
            let reason =
                elide(&self.spell(&format!("withheld: {}", words::withheld(reason))), room, self.ellipsis());
            return self.line(&[(PLAIN, &name), (PLAIN, GAP), (CAUTION, &reason)]);
        }
        let cells = columns.iter().map(|column| {
            let text = self.spell(&(column.of.text)(standing));
            format!("{GAP}{}", column.align(&text))
        });
        let cells = cells.collect::<String>();
        let ansi = match (notes::is_limit(record, &standing.contender), standing.tier) {
            (true, _) => FAINT,
            (false, Some(1)) => HEADING,
            _ => PLAIN,
        };
        self.line(&[(ansi, &name), (ansi, &cells)]);
    }
}
