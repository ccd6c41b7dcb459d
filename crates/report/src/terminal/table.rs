//! A table as it fits into a terminal: columns for which there is no room are left out, the least telling first.

use std::ops::RangeInclusive;

use anstyle::Style as Ansi;

use super::{CAUTION, FAINT, GAP, HEADING, NAME_WIDTH, PLAIN, Page};
use crate::table::{Column, Kind, Row, Table, Weight};
use crate::text::{elide, width};

/// How the names of rows stand before the columns.
pub(crate) struct Names {
    /// Columns before them.
    pub(crate) indent: usize,
    /// Columns that they take at least, and at most.
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

impl Page {
    /// Writes a table below its title, and an empty line.
    pub(super) fn table<R>(&mut self, title: &str, table: &Table<'_, R>) {
        let title = elide(&format!(" {}", self.spell(title)), self.style.width, self.ellipsis());
        self.line(&[(HEADING, &title)]);
        Fitted::new(self, table, &CONTENDERS).write(self);
        self.line(&[]);
    }
}

impl<'t> Fitted<'t> {
    /// The columns that fit beside the names.
    pub(crate) fn new<R>(page: &Page, table: &'t Table<'_, R>, names: &Names) -> Self {
        let titles: Vec<String> = table.rows.iter().map(|row| page.spell(&row.title())).collect();
        let head = if names.is_headed { page.spell(&table.head) } else { String::new() };
        let widest = titles.iter().chain([&head]).map(|text| width(text)).max().unwrap_or(0);
        let name_width = widest.clamp(*names.width.start(), *names.width.end());
        let before = |name: &String| {
            let name = elide(name, name_width, page.ellipsis());
            format!("{}{name}{}", " ".repeat(names.indent), space(name_width, &name))
        };
        let room = page.style.width.saturating_sub(names.indent + name_width);
        Self {
            rows: &table.rows,
            head: before(&head),
            names: titles.iter().map(before).collect(),
            columns: fitting(table.columns.iter().filter(|of| of.is_on_terminals()), room, page),
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

/// The columns that fit into `room`.
fn fitting<'t>(columns: impl Iterator<Item = &'t Column>, room: usize, page: &Page) -> Vec<Fit<'t>> {
    let mut columns: Vec<Fit<'t>> = columns.map(|column| Fit::new(column, page)).collect();
    while columns.len() > 1 && columns.iter().map(Fit::room).sum::<usize>() > room {
        let Some(worst) = (0..columns.len()).max_by_key(|&index| columns[index].of.drop) else { break };
        columns.remove(worst);
    }
    columns
}

impl<'t> Fit<'t> {
    fn new(of: &'t Column, page: &Page) -> Self {
        let head = elide(&page.spell(&of.head), NAME_WIDTH, page.ellipsis());
        let texts: Vec<String> = of.texts.iter().map(|text| page.spell(text)).collect();
        let width = texts.iter().chain([&head]).map(|text| width(text)).max().unwrap_or(0);
        Self { of, head, texts, width }
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
