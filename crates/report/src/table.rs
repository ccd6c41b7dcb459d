//! A table: whom its rows are about, its columns, and its form in Markdown and HTML. `terminal::table` fits it into a terminal.

use assay_model::evidence::Withheld;
use assay_model::record::Record;

use crate::{foreign, words};

/// What stands for a figure that is not known.
pub(crate) const DASH: &str = "–";

/// Rows of a kind, and what each column tells of them.
pub(crate) struct Table<'r, R> {
    /// What the names of the rows are headed with.
    pub(crate) head: String,
    of: Vec<&'r R>,
    /// The rows: whom each is about.
    pub(crate) rows: Vec<Row>,
    /// In the order in which they stand, behind the names.
    pub(crate) columns: Vec<Column>,
}

/// A row: whom it is about, and whether there is something to tell.
pub(crate) struct Row {
    name: String,
    /// How it stands out.
    pub(crate) weight: Weight,
    /// Why there is nothing to tell, if so.
    pub(crate) withheld: Option<String>,
}

/// How a row stands out among the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// The row of the machine's limit, which is no contender.
    Limit,
    /// A row like most.
    Plain,
    /// Good news.
    Good,
    /// Bad news.
    Bad,
}

/// A column: its head, where it stands, and its texts, one for each row.
pub(crate) struct Column {
    /// What it is headed with.
    pub(crate) head: String,
    head_in_files: Option<String>,
    /// How gladly it is given up where there is no room: the highest number goes first.
    pub(crate) drop: u8,
    /// What its texts are.
    pub(crate) kind: Kind,
    /// Whether it stands on a terminal and in files.
    places: [bool; 2],
    is_foreign: bool,
    is_always_told: bool,
    /// What it tells of each row.
    pub(crate) texts: Vec<String>,
}

/// What the texts of a column are, and so on which side they stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Numbers, on the right.
    Number,
    /// Two numbers each, in the middle; on a terminal on the right.
    Interval,
    /// Words, on the left.
    Words,
    /// Short words, on the left; on a terminal on the right, beside the numbers that they belong to.
    Label,
}

impl<'r, R> Table<'r, R> {
    /// A table without columns; `row` tells whom a row is about.
    pub(crate) fn new(
        head: impl Into<String>,
        rows: impl IntoIterator<Item = &'r R>,
        row: impl Fn(&R) -> Row,
    ) -> Self {
        let of: Vec<&R> = rows.into_iter().collect();
        let rows = of.iter().map(|of| row(of)).collect();
        Self { head: head.into(), of, rows, columns: Vec::new() }
    }

    /// With one more column.
    pub(crate) fn column(mut self, column: Column, text: impl Fn(&R) -> String) -> Self {
        let texts = self.of.iter().map(|of| text(of)).collect();
        self.columns.push(Column { texts, ..column });
        self
    }

    /// The table as GitHub-flavoured Markdown, below a title.
    pub(crate) fn markdown(&self, title: &str) -> String {
        format!("\n### {}\n\n{}", foreign::markdown(title), self.markdown_lines())
    }

    /// The lines of the table in Markdown.
    pub(crate) fn markdown_lines(&self) -> String {
        let columns: Vec<&Column> = self.in_files().collect();
        let heads: String = columns
            .iter()
            .map(|column| format!(" {} |", foreign::markdown(column.head_in_files())))
            .collect();
        let sides: String = columns.iter().map(|column| column.kind.in_markdown()).collect();
        let mut out = format!("| {} |{heads}\n|:--|{sides}\n", foreign::markdown(&self.head));
        for (index, row) in self.rows.iter().enumerate() {
            let texts: String = match &row.withheld {
                None => columns.iter().map(|column| format!(" {} |", column.markdown(index))).collect(),
                Some(reason) => withheld(&columns, index, reason),
            };
            out += &format!("| {} |{texts}\n", foreign::markdown(&row.title()));
        }
        out
    }

    /// The table as HTML.
    pub(crate) fn html(&self) -> String {
        let markup = foreign::markup;
        let columns: Vec<&Column> = self.in_files().collect();
        let head = |head: &str| format!("<th scope=\"col\">{}</th>", markup(head));
        let heads: String = columns.iter().map(|column| head(&column.head)).collect();
        let row = |(index, row): (usize, &Row)| {
            let texts: String = match &row.withheld {
                None => columns
                    .iter()
                    .map(|column| format!("<td>{}</td>", markup(&column.texts[index])))
                    .collect(),
                Some(reason) => {
                    format!(
                        "<td class=\"across\" colspan=\"{}\">withheld: {}</td>",
                        columns.len(),
                        markup(reason)
                    )
                }
            };
            format!("<tr><th scope=\"row\">{}</th>{texts}</tr>\n", markup(&row.name))
        };
        let rows: String = self.rows.iter().enumerate().map(row).collect();
        format!(
            "<table><thead><tr>{}{heads}</tr></thead>\n<tbody>\n{rows}</tbody></table>\n",
            head(&self.head)
        )
    }

    fn in_files(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter(|column| column.places[1])
    }
}

/// The text of a figure, or a dash where it is not known.
pub(crate) fn or_dash<T>(value: Option<T>, format: impl Fn(T) -> String) -> String {
    value.map_or_else(|| DASH.to_owned(), format)
}

/// Opens the place of a table in HTML that may be too wide; the keyboard reaches it, too, and scrolls it.
pub(crate) fn scrolling(name: &str) -> String {
    format!("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">", foreign::markup(name))
}

/// The reason in place of all that is not told anyway.
fn withheld(columns: &[&Column], index: usize, reason: &str) -> String {
    let told = columns.iter().filter(|column| column.is_always_told);
    let told: Vec<String> = told.map(|column| format!(" {} |", column.markdown(index))).collect();
    let rest = " |".repeat((columns.len() - told.len()).saturating_sub(1));
    format!("{} withheld: {} |{rest}", told.concat(), foreign::markdown(reason))
}

impl Row {
    /// A contender of a run.
    pub(crate) fn of(record: &Record, contender: &str, withheld: Option<&Withheld>) -> Self {
        let weight = if record.is_limit(contender) { Weight::Limit } else { Weight::Plain };
        Self { name: contender.to_owned(), weight, withheld: withheld.map(words::withheld) }
    }

    /// What is no contender.
    pub(crate) fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), weight: Weight::Plain, withheld: None }
    }

    /// Standing out in another way.
    pub(crate) fn weighing(self, weight: Weight) -> Self {
        Self { weight, ..self }
    }

    /// The name, and whether it is the limit's.
    pub(crate) fn title(&self) -> String {
        format!("{}{}", self.name, if self.weight == Weight::Limit { " (limit)" } else { "" })
    }
}

impl Column {
    fn of(kind: Kind, head: impl Into<String>) -> Self {
        Self {
            head: head.into(),
            head_in_files: None,
            drop: 0,
            kind,
            places: [true, true],
            is_foreign: false,
            is_always_told: false,
            texts: Vec::new(),
        }
    }

    /// A column of numbers.
    pub(crate) fn numbers(head: impl Into<String>) -> Self {
        Self::of(Kind::Number, head)
    }

    /// A column of intervals.
    pub(crate) fn intervals(head: impl Into<String>) -> Self {
        Self::of(Kind::Interval, head)
    }

    /// A column of words.
    pub(crate) fn words(head: impl Into<String>) -> Self {
        Self::of(Kind::Words, head)
    }

    /// A column of short words beside numbers.
    pub(crate) fn labels(head: impl Into<String>) -> Self {
        Self::of(Kind::Label, head)
    }

    /// Given up where there is no room, the highest number first.
    pub(crate) fn drop(self, drop: u8) -> Self {
        Self { drop, ..self }
    }

    /// With another head in Markdown, where there is more room.
    pub(crate) fn in_files_as(self, head: impl Into<String>) -> Self {
        Self { head_in_files: Some(head.into()), ..self }
    }

    /// In files only if that is so.
    pub(crate) fn in_files_if(self, is_so: bool) -> Self {
        Self { places: [self.places[0], is_so], ..self }
    }

    /// On a terminal only if that is so.
    pub(crate) fn on_terminals_if(self, is_so: bool) -> Self {
        Self { places: [is_so, self.places[1]], ..self }
    }

    /// With texts of which not all are ours.
    pub(crate) fn foreign(self) -> Self {
        Self { is_foreign: true, ..self }
    }

    /// In Markdown told also of rows that are withheld.
    pub(crate) fn always_told(self) -> Self {
        Self { is_always_told: true, ..self }
    }

    /// Whether it stands on a terminal.
    pub(crate) fn is_on_terminals(&self) -> bool {
        self.places[0]
    }

    fn head_in_files(&self) -> &str {
        self.head_in_files.as_deref().unwrap_or(&self.head)
    }

    /// The text of a row in Markdown. A text of ours stays as it is: the brackets of an interval make no link.
    fn markdown(&self, index: usize) -> String {
        let text = &self.texts[index];
        if self.is_foreign { foreign::markdown(text) } else { text.clone() }
    }
}

impl Kind {
    /// The side on which it stands in Markdown.
    fn in_markdown(self) -> &'static str {
        match self {
            Self::Number => "--:|",
            Self::Interval => ":-:|",
            Self::Words | Self::Label => ":--|",
        }
    }
}
