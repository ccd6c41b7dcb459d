//! Several rows read one by one, each given a new number, written and returned.

use assay_model::conformance::Severity::{Must, Should};

use super::{common, rows};
use crate::objection::Keeping;
use crate::route::TestType::Updates;
use crate::rule::{Rule, Tempo};
use crate::site::Site;

const SOURCE: &str = "TechEmpower, updates";
/// Rows of each request whose statements are counted.
const COUNTED_ROWS: u64 = 20;
/// The part of the rows asked for that must be changed. Some are drawn twice, some given the number that they have.
const CHANGED_SHARE: f64 = 0.9;
/// The part of the counted rows that must be: a row that is drawn twice in a request may be written once.
const WRITTEN_SHARE: f64 = 0.95;

pub(super) const RULES: &[Rule] = rows::rules_of_rows!(
    Updates, "updates", SOURCE,
    path of 8,
    [
        Rule::new(
            "updates-written",
            Must,
            SOURCE,
            "After a request for 501 rows, more than 90 % of 500 rows in the table have changed.",
            written,
        )
        .at(Tempo::Alone),
        Rule::new("updates-returned", Must, "assay", "The numbers in the answer are those in the table.", returned)
            .at(Tempo::Alone),
        Rule::new(
            "updates-statements",
            Must,
            SOURCE,
            "512 requests for 20 rows each read 10240 rows with as many statements, and write them one by one or 20 at a time.",
            statements,
        )
        .at(Tempo::Alone),
    ]
);

fn written(site: &Site) -> Keeping {
    let before = rows::table(site)?;
    let (talk, _) = rows::ask(site, Updates, "501")?;
    let after = rows::table(site)?;
    let changed = before.iter().filter(|(id, number)| after.get(id) != Some(number)).count();
    let enough = changed as f64 > CHANGED_SHARE * rows::MOST as f64;
    talk.demand(enough, &format!("{changed} rows of the table have changed instead of {}", rows::MOST))
}

fn returned(site: &Site) -> Keeping {
    rows::table(site)?;
    let (talk, given) = rows::ask(site, Updates, "500")?;
    let table = rows::table(site)?;
    let same = given.iter().filter(|(id, number)| table.get(id) == Some(number)).count();
    let enough = same as f64 > CHANGED_SHARE * given.len() as f64;
    talk.demand(enough, &format!("{same} of {} rows in the answer are so in the table", given.len()))
}

/// One statement for each row, or one for all rows of a request: both are right.
fn statements(site: &Site) -> Keeping {
    let counts = rows::counts_of_burst(site, Updates, Some(&COUNTED_ROWS.to_string()))?;
    let all = rows::BURST * COUNTED_ROWS;
    rows::at_least(counts.selects, all, "statements that read")?;
    rows::at_least(counts.rows_read, all, "rows read")?;
    rows::at_least(counts.updates, rows::BURST, "statements that write")?;
    let least = (all as f64 * WRITTEN_SHARE) as u64;
    rows::at_least(counts.rows_changed, least, "rows changed")
}
