//! A page of all rows of a table and one more, sorted by message and escaped.

use assay_model::conformance::Severity::Must;
use assay_model::html::Page;

use super::{common, rows};
use crate::objection::{Keeping, Objection};
use crate::route::TestType::Fortunes;
use crate::rule::{Rule, Tempo};
use crate::site::Site;

const SOURCE: &str = "TechEmpower, fortunes";
/// Rows of the table.
const ROWS: u64 = 12;
/// The ids in the order of the messages; 0 is the fortune that the request adds.
const ORDER: [&str; 13] = ["11", "4", "5", "2", "8", "0", "3", "7", "10", "6", "9", "1", "12"];

pub(super) const RULES: &[Rule] = common::rules_of_type!(
    Fortunes, "fortunes", SOURCE,
    type "text/html; charset=utf-8" by media_type,
    path of 9,
    [
        Rule::new(
            "fortunes-escaped",
            Must,
            SOURCE,
            "Messages are escaped: no tag of theirs is one of the page.",
            escaped,
        ),
        Rule::new("fortunes-order", Must, SOURCE, "The thirteen rows are sorted by message.", order),
        Rule::new("fortunes-page", Must, SOURCE, "The page is the right one, however it is written.", page),
        Rule::new(
            "fortunes-statements",
            Must,
            SOURCE,
            "512 requests are 512 statements that read 6144 rows.",
            statements,
        )
        .at(Tempo::Alone),
    ]
);

fn escaped(site: &Site) -> Keeping {
    let (talk, answer) = common::ask(site, Fortunes)?;
    let text = String::from_utf8_lossy(&answer.body);
    let has_tag = text.to_ascii_lowercase().contains("<script");
    talk.demand(!has_tag, "the page has a script: a message was not escaped")?;
    let page = Page::read(&text).ok_or_else(|| talk.fault("a tag has no end"))?;
    let told = page.texts().any(|text| text.contains("<script>"));
    talk.demand(told, "the message with a script in it is missing")
}

fn order(site: &Site) -> Keeping {
    let (talk, answer) = common::ask(site, Fortunes)?;
    let text = String::from_utf8(answer.body).map_err(|_| talk.fault("the page is no UTF-8"))?;
    let page = Page::read(&text).ok_or_else(|| talk.fault("a tag has no end"))?;
    let is_id = |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let ids: Vec<&str> = page.texts().filter(is_id).collect();
    talk.demand(ids == ORDER, &format!("the ids are {} instead of {}", ids.join(" "), ORDER.join(" ")))
}

fn page(site: &Site) -> Keeping {
    let right = common::route_of(site, Fortunes)?.page.as_deref().and_then(Page::read);
    let right = right.ok_or_else(|| Objection::not_applicable("the right page is not known"))?;
    let (talk, answer) = common::ask(site, Fortunes)?;
    let text = String::from_utf8(answer.body).map_err(|_| talk.fault("the page is no UTF-8"))?;
    let difference = right.difference(&text);
    difference.map_or(Ok(()), |(given, wanted)| Err(talk.fault(&format!("{given} instead of {wanted}"))))
}

fn media_type(site: &Site) -> Keeping {
    common::media_type(site, Fortunes, "text/html")?;
    let (talk, answer) = common::ask(site, Fortunes)?;
    let given = answer.field("Content-Type").unwrap_or_default().to_ascii_lowercase();
    talk.demand(given.replace([' ', '"'], "").ends_with("charset=utf-8"), "Content-Type has no charset=utf-8")
}

fn statements(site: &Site) -> Keeping {
    let counts = rows::counts_of_burst(site, Fortunes, None)?;
    rows::at_least(counts.selects, rows::BURST, "statements that read")?;
    rows::at_least(counts.rows_read, rows::BURST * ROWS, "rows read")
}
