//! What the types have in common that answer with rows of the table `world`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::common;
use crate::dialogue::Dialogue;
use crate::objection::{Keeping, Objection, shown};
use crate::route::TestType;
use crate::site::Site;
use crate::target::Counts;

/// Rows of the table, and the greatest number in it.
const ROWS: i64 = 10_000;
/// The most rows that are given at a time.
pub(super) const MOST: usize = 500;
/// Requests of one burst whose statements are counted.
pub(super) const BURST: u64 = 512;
/// Connections on which they are sent.
const CONNECTIONS: u64 = 16;

/// The rules of a type whose answers are as many rows as asked for: four that all such types have, and its own behind them.
macro_rules! rules_of_rows {
    ($kind:ident, $name:literal, $source:expr, path of $shortest:literal, [$($own:expr),* $(,)?]) => {
        common::rules_of_type!(
            $kind, $name, $source,
            type "application/json" by |site| common::media_type(site, $kind, "application/json"),
            path of $shortest,
            [
                Rule::new(
                    concat!($name, "-count"),
                    Must,
                    $source,
                    "There are as many rows as asked for, each with both numbers 1 to 10000.",
                    |site| rows::counted(site, $kind),
                ),
                Rule::new(
                    concat!($name, "-clamped"),
                    Must,
                    $source,
                    "A number that is missing, none, or less than 1 counts as 1; more than 500 as 500.",
                    |site| rows::clamped(site, $kind),
                ),
                Rule::new(
                    concat!($name, "-hostile"),
                    Should,
                    "assay",
                    "Escaped digits are digits; numbers that are negative, huge or oddly written never fell the server or yield more.",
                    |site| rows::hostile(site, $kind),
                ),
                Rule::new(concat!($name, "-random"), Must, $source, "The rows are drawn anew for every request.", |site| {
                    rows::random(site, $kind)
                }),
                $($own,)*
            ]
        )
    };
}
pub(super) use rules_of_rows;

/// A row: its id and its number.
pub(super) type Row = (i64, i64);

/// The request for so many rows, or for whatever `count` says.
fn request(site: &Site, kind: TestType, count: &str) -> Result<Vec<u8>, Objection> {
    let path = &common::route_of(site, kind)?.path;
    let (before, _) = path
        .rsplit_once('=')
        .ok_or_else(|| Objection::not_applicable(format!("the path `{path}` has no parameter")))?;
    Ok(site.request_for("GET", &format!("{before}={count}"), "", ""))
}

/// The rows that are given when `count` stands where a number should.
pub(super) fn ask(site: &Site, kind: TestType, count: &str) -> Result<(Dialogue, Vec<Row>), Objection> {
    listed(site, &request(site, kind, count)?)
}

/// Asks for rows without saying how many.
fn ask_without(site: &Site, kind: TestType) -> Result<(Dialogue, Vec<Row>), Objection> {
    let path = &common::route_of(site, kind)?.path;
    let bare = path.split('?').next().unwrap_or(path);
    listed(site, &site.request_for("GET", bare, "", ""))
}

fn listed(site: &Site, request: &[u8]) -> Result<(Dialogue, Vec<Row>), Objection> {
    let mut talk = site.open()?;
    talk.send(request)?;
    let answer = talk.answer()?;
    talk.demand(answer.status() == 200, &format!("status {} instead of 200", answer.status()))?;
    let rows = serde_json::from_slice(&answer.body)
        .map_err(|error| format!("the body is no JSON ({error})"))
        .and_then(|value: Value| match value {
            Value::Array(values) => values.iter().map(row).collect(),
            other => Err(format!("the body is no list but {}", shown(other.to_string().as_bytes()))),
        });
    rows.map_err(|problem| talk.fault(&problem)).map(|rows| (talk, rows))
}

/// A row with its two numbers in their ranges, and nothing else.
pub(super) fn row(value: &Value) -> Result<Row, String> {
    let object = value.as_object().ok_or_else(|| format!("{value} is no object"))?;
    let number = |key: &str| {
        let found = object.get(key).ok_or_else(|| format!("{value} has no `{key}`"))?;
        let number = found.as_i64().ok_or_else(|| format!("`{key}` of {value} is no integer"))?;
        let in_range = (1..=ROWS).contains(&number);
        in_range.then_some(number).ok_or_else(|| format!("`{key}` of {value} is not within 1 and {ROWS}"))
    };
    let row = (number("id")?, number("randomNumber")?);
    if object.len() == 2 { Ok(row) } else { Err(format!("{value} has other keys than id and randomNumber")) }
}

/// Demands that each of these counts yields so many rows.
pub(super) fn yields(site: &Site, kind: TestType, cases: &[(&str, usize)]) -> Keeping {
    cases.iter().try_for_each(|(count, wanted)| {
        let (talk, rows) = ask(site, kind, count).map_err(|objection| objection.on(format!("`{count}`")))?;
        talk.demand(
            rows.len() == *wanted,
            &format!("`{count}` yields {} rows instead of {wanted}", rows.len()),
        )
    })
}

/// The rule that as many rows come as were asked for.
pub(super) fn counted(site: &Site, kind: TestType) -> Keeping {
    yields(site, kind, &[("1", 1), ("2", 2), ("20", 20), ("500", MOST)])
}

/// What is no number, or less than 1, is 1; more than 500 is 500.
pub(super) fn clamped(site: &Site, kind: TestType) -> Keeping {
    yields(site, kind, &[("0", 1), ("foo", 1), ("", 1), ("501", MOST)])?;
    let (talk, rows) = ask_without(site, kind)?;
    talk.demand(rows.len() == 1, &format!("without a parameter there are {} rows instead of 1", rows.len()))
}

/// What a hasty reader of numbers stumbles over. A reader may take the digits in front of what it does not understand, or
/// refuse the whole: both are some number from 1 to 500, and neither is an error.
pub(super) fn hostile(site: &Site, kind: TestType) -> Keeping {
    yields(site, kind, &[("-1", 1), ("%32%30", 20), ("-9223372036854775808", 1)])?;
    let most =
        ["99999999999999999999", "18446744073709551617", "4294967297", "1e2", "2.5", "+3", "%00", "5%"];
    for count in most.into_iter().chain([&*"9".repeat(200), "3&queries=4&count=4"]) {
        let told = |objection: Objection| objection.on(format!("`{count}`"));
        let (talk, rows) = ask(site, kind, count)
            .or_else(|objection| refused(site, kind, count, objection))
            .map_err(told)?;
        let allowed = (1..=MOST).contains(&rows.len());
        talk.demand(allowed, &format!("{} rows instead of 1 to {MOST}", rows.len())).map_err(told)?;
    }
    Ok(())
}

/// A refusal with 4xx is as good as one row.
fn refused(
    site: &Site,
    kind: TestType,
    count: &str,
    objection: Objection,
) -> Result<(Dialogue, Vec<Row>), Objection> {
    let mut talk = site.open()?;
    talk.send(&request(site, kind, count)?)?;
    match talk.answer_or_end()? {
        Some(answer) if (400..500).contains(&answer.status()) => Ok((talk, vec![(1, 1)])),
        _ => Err(objection),
    }
}

/// The rows must be drawn anew for every request, and from the whole table.
pub(super) fn random(site: &Site, kind: TestType) -> Keeping {
    let (first_talk, first) = ask(site, kind, "500")?;
    let (_, second) = ask(site, kind, "500")?;
    let ids = |rows: &[Row]| rows.iter().map(|row| row.0).collect::<Vec<_>>();
    first_talk.demand(ids(&first) != ids(&second), "two requests yield the same 500 rows")?;
    // Of 500 uniform draws hardly fewer than 460 differ (birthday problem), and all in one half is out of the question.
    let distinct: std::collections::BTreeSet<i64> = ids(&first).into_iter().collect();
    let halves = distinct.range(..=ROWS / 2).count();
    let spread = distinct.len() >= 400 && halves > 0 && halves < distinct.len();
    first_talk.demand(spread, "500 rows are not drawn from the whole table")
}

/// What the database did during one burst of [`BURST`] requests for so many rows each, or for the plain path.
pub(super) fn counts_of_burst(site: &Site, kind: TestType, count: Option<&str>) -> Result<Counts, Objection> {
    let books = site.target.database.as_ref();
    let books = books.ok_or_else(|| Objection::not_applicable("its database is not known"))?;
    let silent =
        |problem: String| Objection::not_applicable(format!("what its database did is not known: {problem}"));
    let request = match count {
        Some(count) => request(site, kind, count)?,
        None => common::request(site, kind)?,
    };
    let before = books.ask(|ledger| ledger.counts()).map_err(silent)?;
    burst(site, &request)?;
    let after = books.ask(|ledger| ledger.counts()).map_err(silent)?;
    Ok(after.since(before))
}

fn burst(site: &Site, request: &[u8]) -> Keeping {
    let send = || -> Keeping {
        let mut talk = site.open()?;
        for _ in 0..BURST / CONNECTIONS {
            talk.send(request)?;
            let answer = talk.answer()?;
            talk.demand(answer.status() == 200, &format!("status {} instead of 200", answer.status()))?;
            if answer.is_last() {
                talk = site.open()?;
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..CONNECTIONS).map(|_| scope.spawn(send)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|_| Err(broken_off())))
    })
}

fn broken_off() -> Objection {
    Objection::not_applicable("the burst broke off")
}

/// Demands that something was done at least so often.
pub(super) fn at_least(done: u64, wanted: u64, what: &str) -> Keeping {
    if done >= wanted {
        return Ok(());
    }
    let evidence =
        format!("the database counts {done} {what} for {BURST} requests, at least {wanted} are right");
    Err(Objection::Broken(evidence))
}

/// The numbers in the table, by id.
pub(super) fn table(site: &Site) -> Result<BTreeMap<i64, i64>, Objection> {
    let books = site.target.database.as_ref();
    let books = books.ok_or_else(|| Objection::not_applicable("its database is not known"))?;
    let numbers = books.ask(|ledger| ledger.numbers());
    let numbers = numbers.map_err(|problem| {
        Objection::not_applicable(format!("what its database did is not known: {problem}"))
    })?;
    Ok((1..).zip(numbers.into_iter().map(i64::from)).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rows_have_two_numbers_in_their_ranges() {
        assert_eq!(row(&json!({"randomNumber": 10_000, "id": 1})), Ok((1, 10_000)));
        for wrong in [
            json!([1, 2]),
            json!({"id": 1}),
            json!({"id": 1, "randomnumber": 2}),
            json!({"id": 0, "randomNumber": 2}),
            json!({"id": 1, "randomNumber": 10_001}),
            json!({"id": "1", "randomNumber": 2}),
            json!({"id": 1, "randomNumber": 2.5}),
            json!({"id": 1, "randomNumber": 2, "x": 0}),
        ] {
            assert!(row(&wrong).is_err(), "{wrong}");
        }
    }
}
