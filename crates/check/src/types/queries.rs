//! Several rows, each read with a query of its own.

use assay_model::conformance::Severity::{Must, Should};

use super::{common, rows};
use crate::objection::Keeping;
use crate::route::TestType::Queries;
use crate::rule::{Rule, Tempo};
use crate::site::Site;

const SOURCE: &str = "TechEmpower, queries";
/// Length of `/queries/`, and what `/queries?queries=` has at least.
const SHORTEST_PATH: usize = 9;
/// Rows of each request whose statements are counted.
const COUNTED_ROWS: u64 = 20;

pub(super) const RULES: &[Rule] = &[
    Rule::new("queries-status", Must, SOURCE, "The answer has status 200 and a body.", |s| {
        common::status(s, Queries)
    }),
    Rule::new(
        "queries-count",
        Must,
        SOURCE,
        "There are as many rows as asked for, each with both numbers 1 to 10000.",
        |s| rows::counted(s, Queries),
    ),
    Rule::new(
        "queries-clamped",
        Must,
        SOURCE,
        "A number that is missing, none, or less than 1 counts as 1; more than 500 as 500.",
        |s| rows::clamped(s, Queries),
    ),
    Rule::new(
        "queries-hostile",
        Should,
        "assay",
        "Escaped digits are digits; numbers that are negative, huge or oddly written never fell the server or yield more.",
        |s| rows::hostile(s, Queries),
    ),
    Rule::new("queries-random", Must, SOURCE, "The rows are drawn anew for every request.", |s| {
        rows::random(s, Queries)
    }),
    Rule::new(
        "queries-statements",
        Must,
        SOURCE,
        "512 requests for 20 rows each are 10240 statements that read 10240 rows.",
        statements,
    )
    .at(Tempo::Alone),
    Rule::new("queries-type", Must, SOURCE, "Content-Type is application/json.", |s| {
        common::media_type(s, Queries, "application/json")
    }),
    Rule::new("queries-length", Must, SOURCE, "The answer tells its length or is chunked.", |s| {
        common::length(s, Queries)
    }),
    Rule::new("queries-server", Must, SOURCE, "The answer has a Server.", |s| common::server(s, Queries)),
    Rule::new("queries-date", Must, SOURCE, "The answer has a Date that is an HTTP date.", |s| {
        common::date(s, Queries)
    }),
    Rule::new("queries-date-moves", Must, SOURCE, "The Date has changed after 3 s.", |s| {
        common::date_moves(s, Queries)
    })
    .at(Tempo::Slow),
    Rule::new("queries-route", Must, SOURCE, "The path has at least 9 characters.", |s| {
        common::route(s, Queries, SHORTEST_PATH)
    }),
];

fn statements(site: &Site) -> Keeping {
    let counts = rows::counts_of_burst(site, Queries, Some(&COUNTED_ROWS.to_string()))?;
    rows::at_least(counts.selects, rows::BURST * COUNTED_ROWS, "statements that read")?;
    rows::at_least(counts.rows_read, rows::BURST * COUNTED_ROWS, "rows read")
}
