//! Other generators on the same servers: the texts of every format, and Markdown.

use assay_model::cross_check::{CrossCheck, CrossCheckStanding};
use assay_model::generator::GeneratorName;
use assay_model::generator_window::CountedBy;
use assay_model::record::{GeneratorEntry, Record};

use crate::table::{Column, Row, Table, or_dash};
use crate::{foreign, format, titles, words};

/// What a table shows; percentiles are each generator's own.
pub(crate) fn title(crossed: &CrossCheck) -> String {
    format!("{}: by generator", titles::cell_title(&crossed.cell))
}

/// The table of one cell.
pub(crate) fn table<'v>(record: &Record, crossed: &'v CrossCheck) -> Table<'v, CrossCheckStanding> {
    Table::new("contender", &crossed.standings, |of| Row::of(record, &of.contender, None))
        .column(Column::labels("generator"), |of| of.generator.to_string())
        .column(Column::numbers("req/s").drop(1), |of| {
            or_dash(of.per_second.map(|of| of.estimate), format::rate)
        })
        .column(Column::numbers("of ours").drop(2), |of| {
            or_dash(of.to_ours.map(|of| of.estimate), format::close_ratio)
        })
        .column(Column::numbers("95 % interval").drop(4), |of| {
            or_dash(of.to_ours, |of| format::quotient_interval(&of).interval)
        })
        .column(Column::numbers("per CPU-s").drop(3), |of| or_dash(of.per_cpu_second, format::rate))
        .column(Column::numbers("told p50").drop(6), |of| or_dash(of.told_p50_ns, format::duration))
        .column(Column::numbers("told p99").drop(5), |of| or_dash(of.told_p99_ns, format::duration))
        .column(Column::numbers("failed").drop(7), |of| format::count(of.failed))
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
        let remedy = entry.not_run.as_ref().and_then(|why| why.remedy.as_deref());
        Some(words::with_remedy(&absence(entry)?, remedy))
    });
    told.collect()
}

/// One cell in Markdown.
pub(crate) fn markdown(record: &Record, crossed: &CrossCheck) -> String {
    table(record, crossed).markdown(&title(crossed)) + "\n" + &foreign::markdown_list(&footnotes(crossed))
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
