//! The summary on a terminal: standings per cell, the verdict in words, who did not run, trust, warnings with remedies.

pub mod live;
pub(crate) mod prose;
pub(crate) mod table;
mod why;

use anstyle::{AnsiColor, Style as Ansi};
use assay_model::conformance::Earlier;
use assay_model::profiling::Profiling;
use assay_model::record::Record;
use assay_model::verdict::{CellVerdict, Verdict};

use crate::standings::LETTERS;
use crate::tables::TableWriter;
use crate::text::{ascii, width};
use crate::{cross_check, foreign, hosts, published, standings, tables, titles, words};
use table::{CONTENDERS, Fitted};

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
/// Longest name that is not shortened for the sake of columns.
const NAME_WIDTH: usize = 20;
/// Columns of a line of prose at most: a longer one is hard to follow back.
const PROSE_WIDTH: usize = 110;

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
    tables::response(record, verdict, &mut page);
    if let Some(beside) = &verdict.published {
        page.table(&published::title(beside), &published::table(beside));
        prose::theirs(&mut page, &beside.source, &words::published::scaled(record, beside));
    }
    for crossed in &verdict.cross_checks {
        page.table(&cross_check::title(crossed), &cross_check::table(record, crossed));
        page.notes(&cross_check::footnotes(crossed));
    }
    tables::costs(record, verdict, &mut page);
    // What was looked at once, and by the way, is a sentence here; the page has its bars.
    if record.experiment.profile != Profiling::Once {
        verdict.why.iter().for_each(|of| why::bars(&mut page, record, of));
    }
    if letters {
        page.notes(&["Two contenders that share a letter are not shown to differ.".to_owned()]);
    }
    page.hosts(record, verdict);
    prose::link(&mut page, record);
    prose::state(&mut page, record);
    prose::sentences(&mut page, record, verdict);
    prose::not_run(&mut page, record);
    prose::conformance(&mut page, record, earlier);
    prose::trust(&mut page, verdict);
    page.finish()
}

/// Where the time of each server goes, and where one spends more of it than another: nothing but the explanation, lines ending in
/// `\n`, and what makes it void. `None` where nobody was profiled.
pub fn explanation(record: &Record, verdict: &Verdict, style: &Style) -> Option<String> {
    let mut page = Page::new(style);
    prose::warning(&mut page, verdict);
    why::explained(&mut page, record, &verdict.why);
    prose::state(&mut page, record);
    prose::not_run(&mut page, record);
    prose::void(&mut page, verdict);
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

    /// Columns for prose; tables and drawings may take more.
    pub(crate) fn width(&self) -> usize {
        self.style.width.min(PROSE_WIDTH)
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

    /// Notes below a table, and an empty line.
    fn notes(&mut self, notes: &[String]) {
        notes.iter().for_each(|note| prose::hanging(self, FAINT, note));
        self.line(&[]);
    }

    /// The standings of a cell; tells whether they show letters.
    fn standings(&mut self, record: &Record, cell: &CellVerdict) -> bool {
        let table = standings::table(record, cell);
        let fitted = Fitted::new(self, &table, &CONTENDERS);
        let title = format!(" {}", titles::cell_title(&cell.cell));
        let note = format!("service time at {} in flight", cell.cell.in_flight());
        let shows_times = fitted.heads().any(|head| head.starts_with('p'));
        let space = fitted.width().saturating_sub(width(&title) + width(&note));
        match shows_times && space >= GAP.len() {
            true => self.line(&[(HEADING, &title), (PLAIN, &" ".repeat(space)), (FAINT, &note)]),
            false => self.line(&[(HEADING, &title)]),
        }
        fitted.write(self);
        self.notes(&standings::footnotes(cell));
        fitted.heads().any(|head| head == LETTERS)
    }

    /// All hosts; nothing where all was on one.
    fn hosts(&mut self, record: &Record, verdict: &Verdict) {
        let all = hosts::hosts(record, verdict);
        if all.is_empty() {
            return;
        }
        self.table(hosts::TITLE, &hosts::table(&all));
        for note in hosts::footnotes(record, verdict) {
            prose::paragraph(self, "", FAINT, FAINT, &note);
        }
        self.line(&[]);
    }
}
