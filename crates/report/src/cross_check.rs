//! Other generators on the same servers: the texts of every format, and Markdown.

use assay_model::cross_check::{CrossCheck, CrossCheckStanding};
use assay_model::generator::GeneratorName;
use assay_model::generator_window::CountedBy;
use assay_model::record::{GeneratorEntry, Record};
use assay_model::verdict::Verdict;

use crate::{foreign, format, notes};

/// What a table shows; percentiles are each generator's own.
pub(crate) fn title(crossed: &CrossCheck) -> String {
    format!("{}: by generator", notes::cell_title(&crossed.cell))
}

/// A column behind the contender's name.
pub(crate) struct Column {
    pub(crate) head: &'static str,
    /// How gladly it is given up where there is no room, the highest first.
    pub(crate) drop: u8,
    pub(crate) text: fn(&CrossCheckStanding) -> String,
}

/// All columns.
pub(crate) const COLUMNS: [Column; 8] = [
    Column { head: "generator", drop: 0, text: |standing| standing.generator.to_string() },
    Column {
        head: "req/s",
        drop: 1,
        text: |standing| or_dash(standing.per_second.map(|of| of.estimate), format::rate),
    },
    Column {
        head: "of ours",
        drop: 2,
        text: |standing| or_dash(standing.to_ours.map(|of| of.estimate), format::close_ratio),
    },
    Column {
        head: "95 % interval",
        drop: 4,
        text: |standing| or_dash(standing.to_ours, |of| format::quotient_interval(&of).interval),
    },
    Column { head: "per CPU-s", drop: 3, text: |standing| or_dash(standing.per_cpu_second, format::rate) },
    Column { head: "told p50", drop: 6, text: |standing| or_dash(standing.told_p50_ns, format::duration) },
    Column { head: "told p99", drop: 5, text: |standing| or_dash(standing.told_p99_ns, format::duration) },
    Column { head: "failed", drop: 7, text: |standing| format::count(standing.failed) },
];

/// The text of what is there.
fn or_dash<T>(value: Option<T>, text: impl Fn(T) -> String) -> String {
    value.map_or_else(|| "–".to_owned(), text)
}

/// What must be known of a table: whose counts, what its generators do not do, and which of them failed.
pub(crate) fn footnotes(crossed: &CrossCheck) -> Vec<String> {
    let mut notes = vec![
        "told p50, p99: each generator's own, by its own idea of a response time; they do not compare"
            .to_owned(),
    ];
    notes.extend(counted(crossed));
    let mut names: Vec<GeneratorName> = crossed.standings.iter().map(|standing| standing.generator).collect();
    names.sort_unstable();
    names.dedup();
    notes.extend(names.into_iter().filter_map(caution).map(str::to_owned));
    notes.extend(void(crossed));
    notes.extend(crossed.standings.iter().filter_map(saturated));
    notes.extend(crossed.standings.iter().filter_map(failure));
    notes.extend(crossed.standings.iter().filter_map(miscount));
    notes
}

/// A note on who counted the answers.
fn counted(crossed: &CrossCheck) -> Option<String> {
    let by = |by: CountedBy| {
        let counted = crossed.standings.iter().filter(|standing| standing.counted_by == Some(by));
        let mut names: Vec<&str> = counted.map(|standing| standing.contender.as_str()).collect();
        names.dedup();
        names.join(", ")
    };
    Some(match (by(CountedBy::Server), by(CountedBy::Generator)) {
        (server, generator) if server.is_empty() && generator.is_empty() => return None,
        (server, generator) if server.is_empty() => {
            format!("req/s: counted by each generator ({generator} do not count)")
        }
        (server, generator) if generator.is_empty() => format!("req/s: counted by the servers ({server})"),
        (server, generator) => {
            format!(
                "req/s: counted by the server where it counts ({server}), else by each generator ({generator})"
            )
        }
    })
}

/// How many windows do not count.
fn void(crossed: &CrossCheck) -> Option<String> {
    let void = crossed.standings.iter().map(|standing| standing.void).sum::<u32>();
    let all = crossed.standings.iter().map(|standing| standing.void + standing.rounds + standing.failures);
    let all = all.sum::<u32>();
    (void > 0).then(|| format!("{void} of {all} windows do not count: other programs used the CPUs"))
}

/// What a generator does not do, which its figures do not show.
pub(crate) fn caution(name: GeneratorName) -> Option<&'static str> {
    Some(match name {
        GeneratorName::Assay => return None,
        GeneratorName::Wrk => {
            "wrk checks no bodies, and its times leave out what it did not send while it waited (coordinated omission)"
        }
        GeneratorName::Wrk2 => "wrk2 checks no bodies; its times count from when a request was due",
        GeneratorName::H2load => "h2load checks no bodies and tells no percentiles",
        GeneratorName::Oha => {
            "oha checks no bodies, and in a closed loop its times leave out what it did not send while it waited"
        }
        GeneratorName::Ab => "ab checks no bodies, is a single thread and tells whole milliseconds",
        GeneratorName::Bombardier => {
            "bombardier checks no bodies, and its times leave out what it did not send while it waited"
        }
        GeneratorName::Autocannon => {
            "autocannon checks no bodies, and its times leave out what it did not send while it waited"
        }
    })
}

fn saturated(standing: &CrossCheckStanding) -> Option<String> {
    let share = standing.busy_share.filter(|_| standing.is_saturated && !standing.generator.is_ours())?;
    let (generator, contender) = (standing.generator, &standing.contender);
    Some(format!(
        "{generator} used {} of its CPU on {contender}: its own speed, not the server's",
        format::percent(share)
    ))
}

fn failure(standing: &CrossCheckStanding) -> Option<String> {
    let why = standing.failure.as_ref()?;
    let times =
        if standing.failures == 1 { "once".to_owned() } else { format!("{} times", standing.failures) };
    Some(format!("{} failed {times} on {}: {why}", standing.generator, standing.contender))
}

/// Share by which two counts may differ before it is told.
const NOTICEABLE_MISCOUNT: f64 = 0.01;

fn miscount(standing: &CrossCheckStanding) -> Option<String> {
    let share = standing.miscount.filter(|share| *share > NOTICEABLE_MISCOUNT)?;
    let (generator, contender) = (standing.generator, &standing.contender);
    Some(format!("{generator}'s count of answers leaves {contender}'s own by {}", format::percent(share)))
}

/// A generator that was not run, or made only a part of the cells, in words.
pub(crate) fn absence(entry: &GeneratorEntry) -> Option<String> {
    if let Some(why) = &entry.not_run {
        return Some(format!("{} was to load the servers too: {}", entry.name, why.reason));
    }
    let first = entry.left_out.first()?;
    let (cell, reason) = (&first.cell, &first.reason);
    Some(match entry.left_out.len() {
        1 => format!("{} {reason}: {cell} is left out", entry.name),
        more => format!("{} {reason}: {cell} and {} more are left out", entry.name, more - 1),
    })
}

/// Every such generator of a run, each with its remedy.
pub(crate) fn absences(record: &Record) -> Vec<String> {
    let told = record.generators.iter().filter_map(|entry| {
        let remedy = entry.not_run.as_ref().and_then(|why| why.remedy.as_ref());
        let remedy = remedy.map(|remedy| format!(" → {remedy}")).unwrap_or_default();
        Some(absence(entry)? + &remedy)
    });
    told.collect()
}

/// All cells as Markdown tables.
pub(crate) fn markdown(record: &Record, verdict: &Verdict) -> String {
    verdict.cross_checks.iter().map(|crossed| markdown_table(record, crossed)).collect()
}

fn markdown_table(record: &Record, crossed: &CrossCheck) -> String {
    let heads: String = COLUMNS.iter().map(|column| format!(" {} |", column.head)).collect();
    let mut out = format!("\n### {}\n\n| contender |{heads}\n", foreign::markdown(&title(crossed)));
    out += &format!("|:--|:--|{}\n", "--:|".repeat(COLUMNS.len() - 1));
    for standing in &crossed.standings {
        let limit = if notes::is_limit(record, &standing.contender) { " (limit)" } else { "" };
        let texts: String = COLUMNS.iter().map(|column| format!(" {} |", (column.text)(standing))).collect();
        out += &format!("| {}{limit} |{texts}\n", foreign::markdown(&standing.contender));
    }
    out += "\n";
    footnotes(crossed).iter().for_each(|note| out += &format!("- {}\n", foreign::markdown(note)));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::experiment::Cell;
    use assay_model::record::{LeftOut, NotRun, Stage};

    fn standing(contender: &str, generator: GeneratorName, by: CountedBy) -> CrossCheckStanding {
        CrossCheckStanding {
            contender: contender.to_owned(),
            generator,
            rounds: 2,
            void: 1,
            per_second: None,
            counted_by: Some(by),
            to_ours: None,
            per_cpu_second: Some(100_000.0),
            busy_share: Some(0.99),
            is_saturated: true,
            told_p50_ns: None,
            told_p99_ns: Some(1e6),
            failed: 0,
            miscount: Some(0.2),
            failures: 1,
            failure: Some("it printed nothing".to_owned()),
        }
    }

    #[test]
    fn footnotes_say_whose_count_whose_times_and_what_went_wrong() {
        let crossed = CrossCheck {
            cell: Cell::closed("hello", 64),
            standings: vec![
                standing("assay", GeneratorName::Wrk, CountedBy::Server),
                standing("nginx", GeneratorName::Wrk, CountedBy::Generator),
            ],
            pairs: Vec::new(),
        };
        let notes = footnotes(&crossed).join("\n");
        for words in [
            "they do not compare",
            "where it counts (assay), else by each generator (nginx)",
            "coordinated omission",
            "2 of 8 windows do not count",
            "wrk used 99 % of its CPU on nginx: its own speed",
            "wrk failed once on nginx: it printed nothing",
            "leaves assay's own by 20 %",
        ] {
            assert!(notes.contains(words), "{words}:\n{notes}");
        }
    }

    #[test]
    fn who_is_missing_or_leaves_cells_out_is_told() {
        let cell = Cell::closed("json", 8);
        let left_out = LeftOut { cell: cell.clone(), reason: "has no rate, only a closed loop".to_owned() };
        let mut entry = GeneratorEntry {
            name: GeneratorName::Wrk,
            version: None,
            not_run: None,
            left_out: vec![left_out.clone(), left_out],
        };
        assert_eq!(
            absence(&entry).as_deref(),
            Some("wrk has no rate, only a closed loop: json at 8 and 1 more are left out")
        );
        let reason = "wrk is not on the PATH".to_owned();
        entry.not_run = Some(NotRun { stage: Stage::Needs, reason, remedy: None, log_tail: Vec::new() });
        assert_eq!(
            absence(&entry).as_deref(),
            Some("wrk was to load the servers too: wrk is not on the PATH")
        );
        let all = GeneratorEntry { not_run: None, left_out: Vec::new(), ..entry };
        assert_eq!(absence(&all), None);
    }
}
