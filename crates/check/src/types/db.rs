//! A random row of a table.

use assay_model::conformance::Severity::Must;

use super::{common, rows};
use crate::objection::Keeping;
use crate::route::TestType::Db;
use crate::rule::{Rule, Tempo};
use crate::site::Site;

const SOURCE: &str = "TechEmpower, db";
/// Requests of which not all can yield the same row by chance.
const DRAWS: usize = 8;

pub(super) const RULES: &[Rule] = common::rules_of_type!(
    Db, "db", SOURCE,
    type "application/json" by |site| common::media_type(site, Db, "application/json"),
    path of 3,
    [
        Rule::new("db-row", Must, SOURCE, "The body is one row: id and randomNumber, both 1 to 10000.", row),
        Rule::new("db-random", Must, SOURCE, "The row is drawn anew for every request.", random),
        Rule::new(
            "db-statements",
            Must,
            SOURCE,
            "512 requests are 512 statements that read 512 rows.",
            statements,
        )
        .at(Tempo::Alone),
    ]
);

fn row(site: &Site) -> Keeping {
    ask(site).map(drop)
}

fn ask(site: &Site) -> Result<rows::Row, crate::objection::Objection> {
    let (talk, answer) = common::ask(site, Db)?;
    let row = serde_json::from_slice(&answer.body)
        .map_err(|error| format!("the body is no JSON ({error})"))
        .and_then(|value| rows::row(&value));
    row.map_err(|problem| talk.fault(&problem))
}

fn random(site: &Site) -> Keeping {
    let (first_talk, _) = common::ask(site, Db)?;
    let first = ask(site)?;
    for _ in 1..DRAWS {
        if ask(site)? != first {
            return Ok(());
        }
    }
    Err(first_talk.fault(&format!("{DRAWS} requests yield the same row")))
}

fn statements(site: &Site) -> Keeping {
    let counts = rows::counts_of_burst(site, Db, None)?;
    rows::at_least(counts.selects, rows::BURST, "statements that read")?;
    rows::at_least(counts.rows_read, rows::BURST, "rows read")
}
