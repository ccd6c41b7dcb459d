//! The standings at capacity: one list of columns for the terminal, Markdown and CSV.

use assay_model::check::Check;
use assay_model::record::Record;
use assay_model::rule::Rule;
use assay_model::verdict::{Ages, CellVerdict, Interval, Standing};
use assay_stats::tiers::LEAST_MARGIN;

use crate::table::{self, DASH, Row, Table, Weight, or_dash};
use crate::{format, sentences, words};

/// One column: what people see, and what a program reads.
pub(crate) struct Column {
    /// What it is headed with.
    pub(crate) head: &'static str,
    /// How gladly it is given up where there is no room: the highest number goes first.
    pub(crate) drop: u8,
    /// Whether it is words and no number.
    pub(crate) is_text: bool,
    /// Whether a pull request wants it.
    pub(crate) in_markdown: bool,
    /// The text of a standing.
    pub(crate) text: fn(&Standing) -> String,
    /// The figures for a program, by the names of their fields; none of a figure that is withheld.
    pub(crate) fields: &'static [Field],
}

/// A field of a file: its name, and its value where it is known.
pub(crate) type Field = (&'static str, fn(&Standing) -> Option<Value>);

/// What a field holds.
pub(crate) enum Value {
    /// A number of ours, which no program takes for anything else.
    Figure(String),
    /// Words, of others too.
    Words(String),
}

/// Needs an explanation below the tables.
pub(crate) const LETTERS: &str = "letters";

const PLAIN: Column =
    Column { head: "", drop: 0, is_text: false, in_markdown: true, text: |_| String::new(), fields: &[] };

/// In the order in which they stand. A closed loop's p50 goes early: by Little's law it repeats the throughput.
pub(crate) const COLUMNS: [Column; 19] = [
    Column {
        head: "req/s",
        text: |s| or_dash(s.throughput_per_second, |t| format::rate_interval(&t).estimate),
        fields: &[
            ("rounds", |s| told(Some(s.rounds_per_second.iter().flatten().count()))),
            ("per_second", |s| told(s.throughput_per_second.map(|of| of.estimate))),
        ],
        ..PLAIN
    },
    Column {
        head: "95 % interval",
        drop: 3,
        text: |s| or_dash(s.throughput_per_second, |t| format::rate_interval(&t).interval),
        fields: &[
            ("per_second_low", |s| told(low(s.throughput_per_second))),
            ("per_second_high", |s| told(high(s.throughput_per_second))),
            ("confidence", |s| told(s.throughput_per_second.map(|of| of.confidence))),
        ],
        ..PLAIN
    },
    Column { head: "trimmed", drop: 4, text: |s| or_dash(s.trimmed_mean_per_second, format::rate), ..PLAIN },
    Column {
        head: "of limit",
        drop: 2,
        text: |s| or_dash(s.share_of_limit, |l| format::percent(l.estimate)),
        fields: &[("share_of_limit", |s| told(s.share_of_limit.map(|of| of.estimate)))],
        ..PLAIN
    },
    Column {
        head: "interval",
        drop: 13,
        in_markdown: false,
        text: |s| or_dash(s.share_of_limit, |l| format::percent_interval(&l).interval),
        fields: &[
            ("share_of_limit_low", |s| told(low(s.share_of_limit))),
            ("share_of_limit_high", |s| told(high(s.share_of_limit))),
        ],
        ..PLAIN
    },
    Column {
        head: "p50",
        drop: 8,
        text: |s| or_dash(s.p50_ns, |t| format::duration(t.estimate)),
        fields: &[("service_p50_ns", |s| known(s, s.p50_ns.map(|of| of.estimate)))],
        ..PLAIN
    },
    Column {
        head: "p99",
        drop: 5,
        text: |s| or_dash(s.p99_ns, |t| format::duration(t.estimate)),
        fields: &[("service_p99_ns", |s| known(s, s.p99_ns.map(|of| of.estimate)))],
        ..PLAIN
    },
    Column {
        head: "p99 interval",
        drop: 12,
        in_markdown: false,
        text: |s| or_dash(s.p99_ns, |t| format::duration_interval(&t).interval),
        fields: &[
            ("service_p99_low_ns", |s| known(s, low(s.p99_ns))),
            ("service_p99_high_ns", |s| known(s, high(s.p99_ns))),
        ],
        ..PLAIN
    },
    Column {
        head: "cpu/req",
        drop: 6,
        text: |s| or_dash(s.cpu_per_request_ns, format::duration),
        fields: &[("cpu_per_request_ns", |s| known(s, s.cpu_per_request_ns))],
        ..PLAIN
    },
    Column {
        head: "per million",
        drop: 6,
        text: |s| s.price_per_million.as_ref().map_or_else(|| DASH.to_owned(), format::money),
        fields: &[
            ("price_per_million", |s| known(s, s.price_per_million.as_ref().map(|of| of.amount.estimate))),
            ("currency", |s| {
                let price = s.price_per_million.as_ref().filter(|_| s.withheld.is_none());
                in_words(price.map(|of| of.currency.clone()))
            }),
        ],
        ..PLAIN
    },
    Column {
        head: "energy/req",
        drop: 6,
        text: |s| or_dash(s.energy, |of| format::energy(of.whole_uj.estimate)),
        fields: &[
            ("energy_per_request_uj", |s| known(s, s.energy.map(|of| of.whole_uj.estimate))),
            ("energy_per_request_low_uj", |s| known(s, low(s.energy.map(|of| of.whole_uj)))),
            ("energy_per_request_high_uj", |s| known(s, high(s.energy.map(|of| of.whole_uj)))),
            ("idle_energy_per_request_uj", |s| known(s, s.energy.and_then(|of| of.idle_uj))),
        ],
        ..PLAIN
    },
    Column {
        head: "memory",
        drop: 7,
        text: |s| or_dash(s.memory_bytes, format::bytes),
        fields: &[("memory_bytes", |s| known(s, s.memory_bytes))],
        ..PLAIN
    },
    Column {
        head: "start-up",
        drop: 9,
        in_markdown: false,
        text: |s| or_dash(s.startup_ns, format::duration),
        fields: &[("startup_ns", |s| known(s, s.startup_ns))],
        ..PLAIN
    },
    Column {
        head: "conform",
        drop: 7,
        text: |s| or_dash(s.conformance, |score| format::score(&score)),
        fields: &[
            ("rules_kept", |s| told(s.conformance.map(|score| score.kept))),
            ("rules_applicable", |s| told(s.conformance.map(|score| score.applicable))),
        ],
        ..PLAIN
    },
    Column {
        head: "failed",
        drop: 4,
        text: |s| format::count(s.failed),
        fields: &[("failed", |s| told(Some(s.failed)))],
        ..PLAIN
    },
    Column {
        head: "limited by",
        drop: 10,
        is_text: true,
        text: |s| words::limit_in_words(s.limited_by).to_owned(),
        fields: &[
            ("limited_by", |s| {
                in_words(s.withheld.is_none().then(|| words::limit_in_words(s.limited_by).to_owned()))
            }),
            ("headroom", |s| known(s, s.headroom)),
        ],
        ..PLAIN
    },
    Column {
        head: "tier",
        drop: 1,
        text: |s| or_dash(s.tier, |tier| tier.to_string()),
        fields: &[("tier", |s| told(s.tier))],
        ..PLAIN
    },
    Column {
        head: LETTERS,
        drop: 11,
        is_text: true,
        in_markdown: false,
        text: |s| s.letters.clone(),
        fields: &[("letters", |s| in_words(Some(s.letters.clone())))],
    },
    // Told below the tables, where people read; a program wants them in the row.
    Column {
        head: "checks",
        drop: u8::MAX,
        in_markdown: false,
        text: |_| DASH.to_owned(),
        fields: &[
            ("checks", |s| in_words(Some(words::rules_text(s.checks.iter().map(|check| check.rule))))),
            ("withheld", |s| in_words(s.withheld.as_ref().map(words::withheld))),
        ],
        ..PLAIN
    },
];

/// The table of a cell, of the columns that tell something of it.
pub(crate) fn table<'v>(record: &Record, cell: &'v CellVerdict) -> Table<'v, Standing> {
    let row = |standing: &Standing| {
        let row = Row::of(record, &standing.contender, standing.withheld.as_ref());
        let is_first = sentences::leads(cell, standing) && row.weight == Weight::Plain;
        if is_first { row.weighing(Weight::Good) } else { row }
    };
    let in_flight = format!("p50 at {} in flight", cell.cell.in_flight());
    telling(cell).fold(Table::new("contender", &cell.standings, row), |table, column| {
        let of = if column.is_text {
            table::Column::words(column.head)
        } else {
            table::Column::numbers(column.head)
        };
        let of = of.drop(column.drop).in_files_if(column.in_markdown);
        let of = if column.head == "p50" { of.in_files_as(&in_flight) } else { of };
        // What is withheld takes no room.
        table.column(of, |of| if of.withheld.is_none() { (column.text)(of) } else { String::new() })
    })
}

/// What stands under a table: which difference its pairs could have shown, which one counts as none where that is a greater one than
/// usual, and how old servers were where that matters to one of them.
pub(crate) fn footnotes(cell: &CellVerdict) -> Vec<String> {
    let power =
        cell.detectable.map(|least| format!("could show {}", words::differences_of_a_typical_pair(least)));
    let matters = |standing: &Standing| {
        let speaks = |check: &Check| matches!(check.rule, Rule::SlowModes | Rule::WarmUp);
        standing.checks.iter().any(speaks)
    };
    let ages =
        cell.standings.iter().filter(|standing| matters(standing)).filter_map(|standing| standing.ages);
    let is_wide = cell.margin > LEAST_MARGIN;
    let margin = is_wide.then(|| format!("here {}", words::margin_of_all(cell.margin)));
    let ages = ages.reduce(Ages::and).map(|ages| words::measured_under_load(&ages));
    power.into_iter().chain(margin).chain(ages).collect()
}

/// The columns that tell something of a cell: of figures that were imported little is known, and few experiments ask for all.
fn telling(cell: &CellVerdict) -> impl Iterator<Item = &'static Column> {
    // Of one server there is no order.
    let is_alone = cell.standings.iter().filter(|standing| standing.tier.is_some()).count() < 2;
    let is_known = |column: &&Column| {
        if is_alone && ["tier", LETTERS].contains(&column.head) {
            return false;
        }
        let texts = cell.standings.iter().map(|standing| (column.text)(standing));
        column.drop == 0 || texts.into_iter().any(|text| !["", DASH, "unknown", "0"].contains(&text.as_str()))
    };
    COLUMNS.iter().filter(is_known).collect::<Vec<_>>().into_iter()
}

fn told(value: Option<impl ToString>) -> Option<Value> {
    value.map(|value| Value::Figure(value.to_string()))
}

fn in_words(value: Option<String>) -> Option<Value> {
    value.map(Value::Words)
}

/// What goes with a throughput is withheld with it.
fn known(standing: &Standing, value: Option<impl ToString>) -> Option<Value> {
    told(value.filter(|_| standing.withheld.is_none()))
}

/// The lower end; a single figure has none.
fn low(of: Option<Interval>) -> Option<f64> {
    of.filter(|of| of.confidence > 0.0).map(|of| of.low)
}

fn high(of: Option<Interval>) -> Option<f64> {
    of.filter(|of| of.confidence > 0.0).map(|of| of.high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_whose_margin_is_wider_than_usual_says_so() {
        let record = assay_verdict::testing::record(&[("a", &[100.0, 101.0]), ("b", &[50.0, 51.0])]);
        let verdict = assay_verdict::judge(&record).expect("readable");
        let usual = &verdict.cells[0];
        let wide = CellVerdict { margin: 0.042, ..usual.clone() };
        let note = "here differences under 4.2 % count as none".to_owned();
        assert!(footnotes(&wide).contains(&note) && !footnotes(usual).contains(&note));
    }
}
