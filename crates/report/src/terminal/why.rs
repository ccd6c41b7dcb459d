//! Where the time goes: a bar for each contender on one scale, then a table of parts for each who spends more than the first.

use assay_model::part::Part;
use assay_model::record::Record;
use assay_model::why::{Difference, Spending, Why};

use super::prose::hanging;
use super::{CAUTION, FAINT, GAP, HEADING, NAME_WIDTH, PLAIN, Page};
use crate::table::Row;
use crate::tables::TableWriter;
use crate::text::{elide_apart, width, wrap};
use crate::why;
use crate::{format, sentences};

/// Columns of the label of a total: `11.7 µs` with a gap on both sides.
const TOTAL_WIDTH: usize = 10;

/// One cell as everybody sees it: the bars and what they stand for.
pub(super) fn bars(page: &mut Page, record: &Record, why: &Why) {
    hanging(page, HEADING, &why::title(&why.cell));
    let names: Vec<String> =
        why.spendings.iter().map(|of| page.spell(&Row::of(record, &of.contender, None).title())).collect();
    let name_width = names.iter().map(|name| width(name)).max().unwrap_or(0).clamp(10, NAME_WIDTH);
    let room = page.style.width.saturating_sub(1 + name_width + GAP.len() + TOTAL_WIDTH);
    let dearest = why.spendings.iter().map(|of| of.cpu_ns.estimate).fold(f64::MIN_POSITIVE, f64::max);
    let names = elide_apart(&names, name_width, page.ellipsis());
    for (spending, name) in why.spendings.iter().zip(&names) {
        let name = format!(" {name}{}", " ".repeat(name_width.saturating_sub(width(name))));
        let bar = bar(spending, dearest, room);
        let total = format!("{GAP}{}", format::duration(spending.cpu_ns.estimate));
        page.line(&[(PLAIN, &name), (PLAIN, GAP), (PLAIN, &bar), (PLAIN, &total)]);
    }
    legend(page, why, name_width);
    page.line(&[]);
}

/// Every cell for whoever asks why, and what all of it rests on.
pub(super) fn explained(page: &mut Page, record: &Record, cells: &[Why]) {
    cells.iter().for_each(|why| explained_cell(page, record, why));
    if let Some(why) = cells.first() {
        hanging(page, FAINT, &why::footing(record, why));
        page.line(&[]);
    }
}

/// One cell: bars, differences, sentences, and what all of it rests on.
fn explained_cell(page: &mut Page, record: &Record, why: &Why) {
    bars(page, record, why);
    why::differences(why).for_each(|of| difference(page, of));
    for sentence in sentences::why::of_cell(why) {
        hanging(page, HEADING, &sentence);
    }
    page.line(&[]);
    for spending in &why.spendings {
        let name = &spending.contender;
        hanging(page, PLAIN, &format!("{name}: {}", why::doing(spending)));
        let ansi = if why::is_faithful(spending) { FAINT } else { CAUTION };
        hanging(page, ansi, &format!("{name}: {}", why::grounds(spending)));
    }
    page.line(&[]);
}

/// The parts that differ.
fn difference(page: &mut Page, difference: &Difference) {
    page.table(&why::subtraction(difference), &why::table(difference, &why::lines(difference)));
}

/// The letters of all parts that anybody has, with their names.
fn legend(page: &mut Page, why: &Why, name_width: usize) {
    let mut parts = why::parts(why);
    parts.sort();
    let told: Vec<String> = parts
        .into_iter()
        .map(|part| format!("{}\u{a0}{}", letter(part), why::part_name(part).replace(' ', "\u{a0}")))
        .collect();
    let indent = " ".repeat(1 + name_width);
    for line in wrap(&told.join(", "), page.width().saturating_sub(indent.len() + GAP.len())) {
        page.line(&[(FAINT, &indent), (FAINT, GAP), (FAINT, &line.replace('\u{a0}', " "))]);
    }
}

/// The parts of a server as letters, in the same order for all, on a scale on which `dearest` fills `room`.
fn bar(spending: &Spending, dearest: f64, room: usize) -> String {
    let mut parts: Vec<_> = spending.parts.iter().collect();
    parts.sort_by_key(|spent| spent.part);
    let column = |ns: f64| ((ns / dearest * room as f64).round() as usize).min(room);
    let (mut bar, mut sum, mut at) = (String::new(), 0.0, 0);
    for spent in parts {
        sum += spent.ns.estimate;
        let end = column(sum);
        bar.extend(std::iter::repeat_n(letter(spent.part), end.saturating_sub(at)));
        at = end.max(at);
    }
    bar
}

/// The letter of a part in a bar; no two have the same.
fn letter(part: Part) -> char {
    match part {
        Part::Receive => 'r',
        Part::Send => 's',
        Part::Network => 'n',
        Part::Scheduling => 'w',
        Part::Sockets => 'e',
        Part::Entry => 'k',
        Part::Copying => 'c',
        Part::Memory => 'm',
        Part::Files => 'f',
        Part::Tls => 't',
        Part::Libc => 'L',
        Part::Runtime => 'R',
        Part::Collector => 'G',
        Part::Jit => 'J',
        Part::Application => 'A',
        Part::Unassigned => '.',
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::why::tests::spending;

    #[test]
    fn a_bar_is_as_long_as_its_share_of_the_dearest_and_in_the_order_of_all_bars() {
        let own = spending(&[(Part::Application, 5_000.0), (Part::Receive, 3_000.0), (Part::Send, 2_000.0)]);
        assert_eq!(bar(&own, 10_000.0, 10), "rrrssAAAAA");
        assert_eq!(bar(&own, 20_000.0, 10), "rrsAA", "each end is rounded where it is");
        assert_eq!(bar(&spending(&[]), 10_000.0, 10), "");
        assert_eq!(bar(&own, 1.0, 4).len(), 4, "a figure beyond the scale");
    }
}
