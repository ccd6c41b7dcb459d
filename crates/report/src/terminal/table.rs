//! A table as it fits into a terminal: columns for which there is no room are left out, those without a figure first, then the least
//! telling.

use std::ops::RangeInclusive;

use anstyle::Style as Ansi;

use super::{CAUTION, FAINT, GAP, HEADING, NAME_WIDTH, PLAIN, Page};
use crate::table::{Column, DASH, Kind, Row, Table, Weight};
use crate::tables::TableWriter;
use crate::text::{elide, elide_apart, width};

/// How the names of rows stand before the columns.
pub(crate) struct Names {
    /// Columns before them.
    pub(crate) indent: usize,
    /// Columns that they take at least, and at most where other columns want room.
    pub(crate) width: RangeInclusive<usize>,
    /// Whether they have a head.
    pub(crate) is_headed: bool,
}

/// Names of contenders, which need no head.
pub(super) const CONTENDERS: Names = Names { indent: 1, width: 10..=NAME_WIDTH, is_headed: false };

/// A table with the columns that fit, all texts spelt as the terminal shows them.
pub(crate) struct Fitted<'t> {
    rows: &'t [Row],
    /// What stands over the names, which are as wide.
    head: String,
    names: Vec<String>,
    columns: Vec<Fit<'t>>,
}

/// A column, or the names of the rows, without the space before it.
struct Fit<'t> {
    of: &'t Column,
    head: String,
    texts: Vec<String>,
    width: usize,
}

/// Below a table stands an empty line.
impl TableWriter for Page {
    fn table<R>(&mut self, title: &str, table: &Table<'_, R>) {
        let title = elide(&format!(" {}", self.spell(title)), self.style.width, self.ellipsis());
        self.line(&[(HEADING, &title)]);
        Fitted::new(self, table, &CONTENDERS).write(self);
        self.line(&[]);
    }
}

impl<'t> Fitted<'t> {
    /// The columns that fit beside the names, and the names in what these leave over.
    pub(crate) fn new<R>(page: &Page, table: &'t Table<'_, R>, names: &Names) -> Self {
        let titles: Vec<String> = table.rows.iter().map(|row| page.spell(&row.title())).collect();
        let head = if names.is_headed { page.spell(&table.head) } else { String::new() };
        let widest = titles.iter().chain([&head]).map(|text| width(text)).max().unwrap_or(0);
        let least = widest.clamp(*names.width.start(), *names.width.end());
        let room = page.style.width.saturating_sub(names.indent + least);
        let columns = fitting(table, room, page);
        let left = room.saturating_sub(columns.iter().map(Fit::room).sum());
        let name_width = widest.clamp(least, least + left);
        let before = |name: &String| format!("{}{name}{}", " ".repeat(names.indent), space(name_width, name));
        let titles = elide_apart(&titles, name_width, page.ellipsis());
        Self {
            rows: &table.rows,
            head: before(&elide(&head, name_width, page.ellipsis())),
            names: titles.iter().map(before).collect(),
            columns,
        }
    }

    /// The heads of its columns.
    pub(crate) fn heads(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.of.head.as_str())
    }

    /// How wide it is, in columns of the terminal.
    pub(crate) fn width(&self) -> usize {
        width(&self.head) + self.columns.iter().map(Fit::room).sum::<usize>()
    }

    /// Writes heads and rows.
    pub(crate) fn write(&self, page: &mut Page) {
        page.line(&[(FAINT, &self.line(&self.head, |column| &column.head))]);
        for (index, (row, name)) in self.rows.iter().zip(&self.names).enumerate() {
            match &row.withheld {
                Some(reason) => withheld(page, name, reason),
                None => page.line(&[(colour(row.weight), &self.line(name, |column| &column.texts[index]))]),
            }
        }
    }

    fn line(&self, name: &str, text: impl for<'f> Fn(&'f Fit<'t>) -> &'f str) -> String {
        let texts: String = self.columns.iter().map(|column| column.align(text(column))).collect();
        format!("{name}{texts}")
    }
}

fn withheld(page: &mut Page, name: &str, reason: &str) {
    let room = page.style.width.saturating_sub(width(name) + GAP.len());
    let reason = elide(&page.spell(&format!("withheld: {reason}")), room, page.ellipsis());
    page.line(&[(PLAIN, name), (PLAIN, GAP), (CAUTION, &reason)]);
}

fn colour(weight: Weight) -> Ansi {
    match weight {
        Weight::Limit => FAINT,
        Weight::Plain => PLAIN,
        Weight::Good => HEADING,
        Weight::Bad => CAUTION,
    }
}

/// The columns that fit into `room`, at least one: each for which those that tell more leave room.
fn fitting<'t, R>(table: &'t Table<'_, R>, room: usize, page: &Page) -> Vec<Fit<'t>> {
    let columns: Vec<&Column> = table.columns.iter().filter(|of| of.is_on_terminals()).collect();
    let heads: Vec<String> = columns.iter().map(|of| page.spell(&of.head)).collect();
    let heads = elide_apart(&heads, NAME_WIDTH, page.ellipsis());
    let fits = columns.into_iter().zip(heads).map(|(of, head)| Fit::new(of, head, page));
    let mut fits: Vec<(usize, Fit<'t>)> = fits.enumerate().collect();
    fits.sort_by_key(|(_, fit)| (fit.is_blank(&table.rows), fit.of.drop));
    let mut left = room.max(fits.first().map_or(0, |(_, most)| most.room()));
    fits.retain(|(_, fit)| {
        let rest = left.checked_sub(fit.room());
        left = rest.unwrap_or(left);
        rest.is_some()
    });
    fits.sort_by_key(|(place, _)| *place);
    fits.into_iter().map(|(_, fit)| fit).collect()
}

impl<'t> Fit<'t> {
    fn new(of: &'t Column, head: String, page: &Page) -> Self {
        let texts: Vec<String> = of.texts.iter().map(|text| page.spell(text)).collect();
        let width = texts.iter().chain([&head]).map(|text| width(text)).max().unwrap_or(0);
        Self { of, head, texts, width }
    }

    /// Whether it tells nothing of any row that is shown, such as a figure that nobody has yet.
    fn is_blank(&self, rows: &[Row]) -> bool {
        let mut texts = rows.iter().zip(&self.of.texts).filter(|(row, _)| row.withheld.is_none());
        texts.all(|(_, text)| ["", DASH].contains(&text.as_str()))
    }

    /// With the gap before it.
    fn room(&self) -> usize {
        GAP.len() + self.width
    }

    fn align(&self, text: &str) -> String {
        let space = space(self.width, text);
        match self.of.kind {
            Kind::Words => format!("{GAP}{text}{space}"),
            Kind::Number | Kind::Interval | Kind::Label => format!("{GAP}{space}{text}"),
        }
    }
}

/// What is missing to so many columns.
fn space(columns: usize, text: &str) -> String {
    " ".repeat(columns.saturating_sub(width(text)))
}
