//! Where the time goes: the texts of every format.

use assay_model::JsonSchema;
use assay_model::experiment::Cell;
use assay_model::network::{Network, Stack};
use assay_model::part::Part;
use assay_model::record::{Entry, Record};
use assay_model::verdict::{Interval, Verdict};
use assay_model::why::{CountDifference, Difference, Event, PartDifference, Spending, Unnamed, Why};
use serde::Serialize;

use crate::table::{Column, Row, Table};
use crate::words::count_of;
use crate::{foreign, format, text, titles, words};

/// Most events of a server that are told of one answer.
const MOST_EVENTS: usize = 6;
/// Least often that an event must happen for each answer to be told.
const LEAST_EVENTS: f64 = 0.01;
/// How far from the CPU time the time that samples stand for may lie before it is said, and by how much a profile may change what
/// an answer costs: what the method demands (docs/method/why.md#what-a-budget-must-keep).
const FAITHFUL: f64 = 0.05;

/// What stands over a cell's figures.
pub(crate) fn title(cell: &Cell) -> String {
    format!(
        "Where the time of an answer goes: {}, at {}",
        titles::cell_title(cell),
        titles::load_in_words(cell.offered)
    )
}

/// A part as a table names it.
pub(crate) fn part_name(part: Part) -> &'static str {
    match part {
        Part::Receive => "TCP receive",
        Part::Send => "TCP send",
        Part::Network => "interfaces, queues",
        Part::Scheduling => "scheduling, wake-ups",
        Part::Sockets => "sockets and epoll",
        Part::Entry => "entering the kernel",
        Part::Copying => "copying",
        Part::Memory => "kernel's memory",
        Part::Files => "files",
        Part::Tls => "TLS",
        Part::Libc => "C library",
        Part::Runtime => "runtime",
        Part::Collector => "garbage collection",
        Part::Jit => "compiled at run time",
        Part::Application => "own code",
        Part::Unassigned => "not assigned",
    }
}

/// What happens for an answer, as people call it, behind a number.
pub(crate) fn event_name(event: &Event) -> &str {
    match event {
        Event::SystemCall { name } => name,
        Event::VoluntarySwitch => "waits of a thread",
        Event::InvoluntarySwitch => "threads taken off their CPU",
        Event::PageFault => "page faults",
    }
}

/// One line of a table of differences.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Line {
    /// The part, or what stands for several.
    pub name: String,
    /// The base's time.
    pub base: String,
    /// The other's.
    pub contender: String,
    /// The other's less the base's.
    pub difference: String,
    /// Its interval.
    pub interval: String,
    /// What is done more often there.
    pub because: String,
}

/// The base and the other as people call them: by their names, and their stacks where both are one contender.
pub(crate) fn sides(difference: &Difference) -> [String; 2] {
    let Difference { base, contender, base_network, contender_network, .. } = difference;
    let of = |name: &str, network: Option<Network>| match network.map(Network::stack) {
        Some(Stack::Kernel) => format!("{name} on the kernel's stack"),
        Some(Stack::User) => format!("{name} on the user-space stack"),
        None => name.to_owned(),
    };
    [of(base, *base_network), of(contender, *contender_network)]
}

/// All differences of a cell: between contenders, then those of each to itself on the kernel's stack.
pub(crate) fn differences(why: &Why) -> impl Iterator<Item = &Difference> {
    why.differences.iter().chain(&why.stacks)
}

/// The parts that differ, then what is folded, then all together.
pub(crate) fn lines(difference: &Difference) -> Vec<Line> {
    let mut lines: Vec<Line> = difference.parts.iter().map(line).collect();
    if difference.alike > 0 {
        let told_of = |of: fn(&PartDifference) -> f64| difference.parts.iter().map(of).sum::<f64>();
        let (base, contender) = (told_of(|part| part.base_ns), told_of(|part| part.contender_ns));
        lines.push(Line {
            name: if lines.is_empty() {
                "all parts".to_owned()
            } else {
                count_of(difference.alike as usize, "other")
            },
            base: format::duration((difference.base_ns - base).max(0.0)),
            contender: format::duration((difference.contender_ns - contender).max(0.0)),
            difference: format::added_duration(&alone(difference.alike_ns)).estimate,
            interval: "not shown, or small".to_owned(),
            because: String::new(),
        });
    }
    let total = format::added_duration(&difference.total_ns);
    lines.push(Line {
        name: "together".to_owned(),
        base: format::duration(difference.base_ns),
        contender: format::duration(difference.contender_ns),
        difference: total.estimate,
        interval: total.interval,
        because: String::new(),
    });
    lines
}

fn line(part: &PartDifference) -> Line {
    let told = format::added_duration(&part.difference_ns);
    Line {
        name: part_name(part.part).to_owned(),
        base: format::duration(part.base_ns),
        contender: format::duration(part.contender_ns),
        difference: told.estimate,
        interval: told.interval,
        because: part.because.iter().map(because).collect::<Vec<_>>().join(", "),
    }
}

/// How often the one does something, and the other.
pub(crate) fn because(count: &CountDifference) -> String {
    let [more, less] = if count.contender > count.base {
        [count.contender, count.base]
    } else {
        [count.base, count.contender]
    };
    format!("{} {} instead of {}", format::quotient(more), event_name(&count.event), format::quotient(less))
}

fn alone(estimate: f64) -> Interval {
    Interval { estimate, low: estimate, high: estimate, confidence: 0.0 }
}

/// What a server does for an answer, and how its threads wait.
pub(crate) fn doing(spending: &Spending) -> String {
    let counts = spending.counts.iter().filter(|count| count.per_answer >= LEAST_EVENTS).take(MOST_EVENTS);
    let mut told: Vec<String> = counts
        .map(|count| format!("{} {}", format::quotient(count.per_answer), event_name(&count.event)))
        .collect();
    if let Some(delay) = spending.run_delay_ns {
        told.push(format!("{} ready but without a CPU", format::duration(delay)));
    }
    let asleep: Vec<String> = (spending.waits.iter().take(2))
        .map(|wait| format!("{} of the time asleep in {}", format::percent(wait.share), wait.channel))
        .collect();
    let for_answer =
        if told.is_empty() { Vec::new() } else { vec![format!("for each answer {}", told.join(", "))] };
    for_answer.into_iter().chain(asleep).collect::<Vec<_>>().join("; ")
}

/// What its figures rest on, and what speaks against them.
pub(crate) fn grounds(spending: &Spending) -> String {
    let sampled = format::percent(spending.sampled_share);
    let of_what = if spending.unseen_ns > 0.0 { "its CPU time outside the kernel" } else { "its CPU time" };
    let mut told = vec![
        format!(
            "{} samples in {}",
            format::count(spending.samples),
            count_of(spending.restarts as usize, "restart")
        ),
        match is_far(spending.sampled_share - 1.0) {
            true => format!("they stand for {sampled} of {of_what}, which is too far from all of it"),
            false => format!("they stand for {sampled} of {of_what}"),
        },
        format!("{} of them have a name", format::percent(1.0 - spending.unnamed_share)),
    ];
    told.push(spending.watching.as_ref().map_or_else(|| unwatched(spending), watched));
    if spending.unseen_ns > 0.0 {
        let unseen = format::duration(spending.unseen_ns);
        told.push(format!(
            "{unseen} for each answer were spent in the kernel, unseen, and stand under `not assigned`"
        ));
    }
    if spending.others_share > FAITHFUL {
        let share = format::percent(spending.others_share);
        told.push(format!("other programs ran on its CPUs for {share} of the time"));
    }
    told.extend(spending.unnamed.iter().map(unnamed));
    told.extend(spending.refused.iter().cloned());
    told.join("; ")
}

/// Whether what should be nothing is more than the method allows.
fn is_far(share: f64) -> bool {
    share.abs() > FAITHFUL
}

/// Code of which many functions have no name, and how they get one.
fn unnamed(Unnamed { module, samples, unnamed }: &Unnamed) -> String {
    let (unnamed, samples) = (format::count(*unnamed), format::count(*samples));
    match module {
        Some(module) => format!(
            "{unnamed} of {samples} samples in {module} have no name, because it was stripped of its symbols: install its debug \
             symbols, or build it without stripping"
        ),
        None => format!(
            "{unnamed} samples are in code that was compiled at run time and whose names its runtime does not tell: start Node.js with \
             --perf-basic-prof, Python with -X perf, another one with what has it write /tmp/perf-PID.map"
        ),
    }
}

/// How an answer's CPU time differed while it was profiled, and what may be concluded from that.
fn watched(change: &Interval) -> String {
    let beside = |share: f64| share + 1.0;
    let [estimate, low, high] = [change.estimate, change.low, change.high].map(beside);
    let told = format::change(&Interval { estimate, low, high, ..*change });
    let change_told = format!("profiling changed the CPU time of an answer by {}", told.estimate);
    if change.confidence <= 0.0 {
        return format!("{change_told} in the only restart whose windows count, which may be chance");
    }
    let is_shown = change.excludes_zero();
    let verdict = match (is_too_much(change), is_shown) {
        (true, _) => ", which is too much",
        (false, true) if is_far(change.estimate) => ", which may be too much",
        (false, false) if is_far(change.low) || is_far(change.high) => ", which is not told from chance",
        (false, _) => "",
    };
    format!("{change_told} {}{verdict}", told.interval)
}

/// That what profiling changed is not known, beside what is known of windows in which nobody looked.
fn unwatched(spending: &Spending) -> String {
    let unknown = "what profiling changed is not known, because no window of the profiled restart counts";
    let Some(ns) = spending.unwatched_cpu_ns else { return unknown.to_owned() };
    let elsewhere = format!("in windows of others an answer took {} of CPU time", format::duration(ns));
    let far = if is_far_from_windows(spending) { ", which is too far from what it took here" } else { "" };
    format!("{unknown}; {elsewhere}{far}")
}

/// Whether, where no restart has both slice and windows, an answer cost far more or less in other restarts' windows.
fn is_far_from_windows(spending: &Spending) -> bool {
    let elsewhere = spending.unwatched_cpu_ns.filter(|ns| spending.watching.is_none() && *ns > 0.0);
    elsewhere.is_some_and(|ns| is_far(spending.cpu_ns.estimate / ns - 1.0))
}

/// Whether profiling is shown to have changed what an answer costs by more than the method allows.
fn is_too_much(change: &Interval) -> bool {
    change.confidence > 0.0 && (change.low > FAITHFUL || change.high < -FAITHFUL)
}

/// Whether samples stand for the CPU time, and taking them changed little, as far as that is known.
pub(crate) fn is_faithful(spending: &Spending) -> bool {
    !is_far(spending.sampled_share - 1.0)
        && !spending.watching.as_ref().is_some_and(is_too_much)
        && !is_far_from_windows(spending)
}

/// What the figures of every cell of a verdict rest on: the rules by which functions belong to parts, and the counters of energy.
pub(crate) fn footing(record: &Record, why: &Why) -> String {
    let rules = format!("Functions belong to parts by the rules of version {}.", why.rules_version);
    let told = record.contenders.iter().filter_map(tells_names);
    let metered = record.energy.as_ref().map(words::energy::footing);
    std::iter::once(rules).chain(told).chain(metered).collect::<Vec<_>>().join(" ")
}

/// With what a contender was started, in all of the run, that it would do without if it were not profiled.
fn tells_names(entry: &Entry) -> Option<String> {
    let arguments = Some(text::shell(&entry.profile_arguments)).filter(|arguments| !arguments.is_empty())?;
    let name = &entry.identity.name;
    Some(format!("{name} was started with `{arguments}`, so that what it compiles at run time has names."))
}

/// Every cell's parts and differences as Markdown, and what all of it rests on.
pub(crate) fn markdown(record: &Record, verdict: &Verdict) -> String {
    let cells = verdict.why.iter().map(markdown_cell);
    let footing = verdict.why.first().map(|why| footing(record, why));
    cells.chain(footing.map(|footing| format!("\n{}\n", foreign::markdown(&footing)))).collect()
}

fn markdown_cell(why: &Why) -> String {
    let mut out = format!("\n### {}\n\n", foreign::markdown(&title(&why.cell)));
    out += &markdown_parts(why);
    differences(why).for_each(|difference| out += &markdown_difference(difference));
    for spending in &why.spendings {
        let name = foreign::markdown(&spending.contender);
        let (doing, grounds) = (foreign::markdown(&doing(spending)), foreign::markdown(&grounds(spending)));
        out += &format!("\n- **{name}**: {doing}. {grounds}.");
    }
    out + "\n"
}

/// A row for each part, a column for each contender.
fn markdown_parts(why: &Why) -> String {
    let names: String =
        why.spendings.iter().map(|of| format!(" {} |", foreign::markdown(&of.contender))).collect();
    let mut out = format!("| part |{names}\n|:--|{}\n", "--:|".repeat(why.spendings.len()));
    for part in parts(why) {
        let times: String = why.spendings.iter().map(|of| format!(" {} |", time_of(of, part))).collect();
        out += &format!("| {} |{times}\n", part_name(part));
    }
    let totals = why.spendings.iter().map(|of| format!(" **{}** |", format::duration(of.cpu_ns.estimate)));
    out + &format!("| **together** |{}\n", totals.collect::<String>())
}

fn markdown_difference(difference: &Difference) -> String {
    format!("\n{}", table(difference, &lines(difference)).markdown_lines())
}

/// What stands over a table of differences: the other less the base.
pub(crate) fn subtraction(difference: &Difference) -> String {
    let [base, contender] = sides(difference);
    format!("{contender} less {base}")
}

/// The parts that differ, as a table of [`lines`].
pub(crate) fn table<'l>(difference: &Difference, lines: &'l [Line]) -> Table<'l, Line> {
    let [base, contender] = sides(difference);
    Table::new(subtraction(difference), lines, |line| Row::named(&line.name))
        .column(Column::numbers(base).drop(2), |line| line.base.clone())
        .column(Column::numbers(contender).drop(2), |line| line.contender.clone())
        .column(Column::numbers("difference"), |line| line.difference.clone())
        .column(Column::intervals("95 % interval").drop(1), |line| line.interval.clone())
        .column(Column::labels("for each answer").drop(3).in_files_as("because").foreign(), |line| {
            line.because.clone()
        })
}

/// The parts that anybody has, in the order of what they take from all.
pub(crate) fn parts(why: &Why) -> Vec<Part> {
    let mut sums: Vec<(Part, f64)> = Vec::new();
    for spent in why.spendings.iter().flat_map(|spending| &spending.parts) {
        match sums.iter_mut().find(|(part, _)| *part == spent.part) {
            Some((_, sum)) => *sum += spent.ns.estimate,
            None => sums.push((spent.part, spent.ns.estimate)),
        }
    }
    sums.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    sums.into_iter().map(|(part, _)| part).collect()
}

/// What a part takes of an answer of one contender.
pub(crate) fn time_of(spending: &Spending, part: Part) -> String {
    let spent = spending.parts.iter().find(|spent| spent.part == part);
    spent.map_or_else(|| "–".to_owned(), |spent| format::duration(spent.ns.estimate))
}

#[cfg(test)]
pub(crate) mod tests;
