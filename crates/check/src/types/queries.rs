//! Several rows, each read with a query of its own.

use assay_model::conformance::Severity::{Must, Should};

use super::{common, rows};
use crate::objection::Keeping;
use crate::route::TestType::Queries;
use crate::rule::{Rule, Tempo};
use crate::site::Site;

const SOURCE: &str = "TechEmpower, queries";
/// Rows of each request whose statements are counted.
const COUNTED_ROWS: u64 = 20;

pub(super) const RULES: &[Rule] = rows::rules_of_rows!(
    Queries, "queries", SOURCE,
    // The length of `/queries/`, and what `/queries?queries=` has at least.
    path of 9,
    [
        Rule::new(
            "queries-statements",
            Must,
            SOURCE,
            "512 requests for 20 rows each are 10240 statements that read 10240 rows.",
            statements,
        )
        .at(Tempo::Alone),
    ]
);

fn statements(site: &Site) -> Keeping {
    let counts = rows::counts_of_burst(site, Queries, Some(&COUNTED_ROWS.to_string()))?;
    rows::at_least(counts.selects, rows::BURST * COUNTED_ROWS, "statements that read")?;
    rows::at_least(counts.rows_read, rows::BURST * COUNTED_ROWS, "rows read")
}
