//! Where the time goes, in sentences: what the cheapest spends it on, what each other spends more, and what holds them up.

mod causes;

use assay_model::experiment::Cell;
use assay_model::part::Part;
use assay_model::profiling::Profiling;
use assay_model::record::Record;
use assay_model::verdict::Interval;
use assay_model::why::{Difference, PartDifference, Spending, Why};

use super::protocol::over;
use super::standings::within;
use crate::format;
use crate::titles::load_in_words;
use crate::why::{because, part_name, sides};
use crate::words::energy;
use crate::words::phrases::all_of;

/// Most parts that one sentence names: whoever wants all reads the table.
const MOST_PARTS: usize = 4;
/// Share of what an answer costs from which a part of one server is named.
const NOTEWORTHY: f64 = 0.05;

/// The sentences of every cell; where servers were profiled once and by the way, one for all.
pub(super) fn sentences(record: &Record, all: &[Why]) -> Vec<String> {
    match record.experiment.profile {
        Profiling::Once => all.iter().filter_map(|why| briefly(record, why)).take(1).collect(),
        _ => all.iter().flat_map(of_cell).collect(),
    }
}

/// On what the cheapest contender spends its time, and where the others' is told. The limit is none.
fn briefly(record: &Record, why: &Why) -> Option<String> {
    let cheapest = why.spendings.iter().find(|of| !record.is_limit(&of.contender));
    let spends = spends(cheapest.or(why.spendings.first())?, &place(&why.cell));
    Some(format!("{spends} `assay show --why` tells it of all."))
}

/// What is said of one cell.
pub(crate) fn of_cell(why: &Why) -> Vec<String> {
    let place = place(&why.cell);
    let mut told: Vec<String> =
        why.spendings.first().map(|spending| spends(spending, &place)).into_iter().collect();
    told.extend(why.differences.iter().map(|difference| differs(difference, &place)));
    told.extend(why.stacks.iter().map(|difference| differs(difference, &place_of_both_stacks(&why.cell))));
    told.extend(why.spendings.iter().filter_map(|spending| costs(spending, &place)));
    told.extend(why.spendings.iter().filter_map(|spending| {
        Some(energy::sentence(&spending.contender, spending.energy.as_ref()?, &place))
    }));
    told.extend(causes::sentences(&why.spendings, &place));
    let compared = |spending: &&Spending| why.differences.iter().any(|of| of.contender == spending.contender);
    let alone: Vec<String> = (why.spendings.iter().skip(1))
        .filter(|spending| !compared(spending))
        .map(|spending| spending.contender.clone())
        .collect();
    if !alone.is_empty() {
        let were = if alone.len() == 1 { "was" } else { "were" };
        told.push(format!(
            "On {place}, {} {were} profiled in too few restarts to be compared; `assay why` profiles five of each.",
            all_of(&alone)
        ));
    }
    told
}

/// On what one server spends its time.
fn spends(Spending { contender, cpu_ns, parts, .. }: &Spending, place: &str) -> String {
    let noteworthy =
        parts.iter().take(MOST_PARTS).filter(|of| of.ns.estimate >= NOTEWORTHY * cpu_ns.estimate);
    let told: Vec<String> =
        noteworthy.map(|of| format!("{} {}", format::duration(of.ns.estimate), place_of(of.part))).collect();
    let total = format::duration(cpu_ns.estimate);
    format!("On {place}, {contender} spends {total} of CPU time on an answer: {}.", all_of(&told))
}

/// What its answers cost, where somebody said what an hour of a CPU does.
fn costs(Spending { contender, price_per_million, .. }: &Spending, place: &str) -> Option<String> {
    let price = price_per_million.as_ref()?;
    let [amount, interval] = [format::money(price), format::money_interval(price)];
    Some(format!("On {place}, a million answers of {contender} cost {amount} {interval} by their CPU time."))
}

/// Where one server spends more than another, or less.
fn differs(difference: &Difference, place: &str) -> String {
    let ([base, contender], total_ns) = (sides(difference), &difference.total_ns);
    let [size, way, interval] = sized(total_ns);
    let named: Vec<String> = difference.parts.iter().take(MOST_PARTS).map(part).collect();
    let head = match total_ns.excludes_zero() {
        true => format!(
            "On {place}, {contender} spends {size} {way} CPU time on an answer than {base} {interval}"
        ),
        false => format!(
            "On {place}, {contender} is not shown to spend more or less CPU time on an answer than {base} {interval}"
        ),
    };
    let tail = match (named.is_empty(), total_ns.excludes_zero()) {
        (true, _) => ", and no single part of it is shown to differ".to_owned(),
        (false, true) => format!(": {}", all_of(&named)),
        (false, false) => format!("; it spends {}", all_of(&named)),
    };
    let more = match difference.parts.len().saturating_sub(MOST_PARTS) {
        0 => String::new(),
        1 => "; 1 part differs by less".to_owned(),
        several => format!("; {several} parts differ by less"),
    };
    format!("{head}{tail}{more}.")
}

fn part(of: &PartDifference) -> String {
    let [size, way, _] = sized(&of.difference_ns);
    let why = of.because.first().map(|count| format!(" ({})", because(count))).unwrap_or_default();
    format!("{size} {way} {}{why}", place_of(of.part))
}

/// A difference without its sign, the word for its direction, and its interval with signs.
fn sized(ns: &Interval) -> [String; 3] {
    let told = format::added_duration(ns);
    let size = told.estimate.trim_start_matches(['+', '−']).to_owned();
    let way = if ns.estimate < 0.0 { "less" } else { "more" };
    [size, way.to_owned(), told.interval]
}

/// A part within a sentence.
fn place_of(part: Part) -> String {
    match part {
        Part::Network => "in interfaces and queues".to_owned(),
        Part::Scheduling => "in scheduling and wake-ups".to_owned(),
        Part::Memory => "in the kernel's memory".to_owned(),
        Part::Libc => "in the C library".to_owned(),
        Part::Runtime => "in its runtime".to_owned(),
        Part::Jit => "in code that it compiled at run time".to_owned(),
        Part::Application => "in its own code".to_owned(),
        Part::Unassigned => "in what nothing assigns".to_owned(),
        named => format!("in {}", part_name(named)),
    }
}

fn place(cell: &Cell) -> String {
    place_with(cell, &within(cell.setting()))
}

/// Where a server is set against itself on the other stack: each side names its own.
fn place_of_both_stacks(cell: &Cell) -> String {
    place_with(cell, &over(cell.protocol))
}

fn place_with(cell: &Cell, setting: &str) -> String {
    let under = match cell.offered.is_capacity() {
        true => String::new(),
        false => format!(" at {}", load_in_words(cell.offered)),
    };
    format!("{} at {}{setting}{under}", cell.workload, cell.connections_in_words())
}

#[cfg(test)]
mod tests;
