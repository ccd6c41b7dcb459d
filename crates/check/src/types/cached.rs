//! Several rows from the server's memory.

use assay_model::conformance::Severity::{Must, Should};

use super::{common, rows};
use crate::route::TestType::Cached;
use crate::rule::{Rule, Tempo};

const SOURCE: &str = "TechEmpower, cached queries";
/// Length of `/cached-queries`.
const SHORTEST_PATH: usize = 15;

pub(super) const RULES: &[Rule] = &[
    Rule::new("cached-status", Must, SOURCE, "The answer has status 200 and a body.", |s| {
        common::status(s, Cached)
    }),
    Rule::new(
        "cached-count",
        Must,
        SOURCE,
        "There are as many rows as asked for, each with both numbers 1 to 10000.",
        |s| rows::counted(s, Cached),
    ),
    Rule::new(
        "cached-clamped",
        Must,
        SOURCE,
        "A number that is missing, none, or less than 1 counts as 1; more than 500 as 500.",
        |s| rows::clamped(s, Cached),
    ),
    Rule::new(
        "cached-hostile",
        Should,
        "assay",
        "Escaped digits are digits; numbers that are negative, huge or oddly written never fell the server or yield more.",
        |s| rows::hostile(s, Cached),
    ),
    Rule::new("cached-random", Must, SOURCE, "The rows are drawn anew for every request.", |s| {
        rows::random(s, Cached)
    }),
    Rule::new("cached-type", Must, SOURCE, "Content-Type is application/json.", |s| {
        common::media_type(s, Cached, "application/json")
    }),
    Rule::new("cached-length", Must, SOURCE, "The answer tells its length or is chunked.", |s| {
        common::length(s, Cached)
    }),
    Rule::new("cached-server", Must, SOURCE, "The answer has a Server.", |s| common::server(s, Cached)),
    Rule::new("cached-date", Must, SOURCE, "The answer has a Date that is an HTTP date.", |s| {
        common::date(s, Cached)
    }),
    Rule::new("cached-date-moves", Must, SOURCE, "The Date has changed after 3 s.", |s| {
        common::date_moves(s, Cached)
    })
    .at(Tempo::Slow),
    Rule::new("cached-route", Must, SOURCE, "The path has at least 15 characters.", |s| {
        common::route(s, Cached, SHORTEST_PATH)
    }),
];
