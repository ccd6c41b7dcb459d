//! Redlines in sentences.

use assay_model::experiment::Cell;
use assay_model::offered::Offered;
use assay_model::record::Record;
use assay_model::verdict::{RedlineEnd, RedlineStanding, RedlineVerdict};

use crate::format;
use crate::words::count_of;

/// A sentence for each contender whose redline was searched.
pub(super) fn sentences(record: &Record, verdicts: &[RedlineVerdict]) -> Vec<String> {
    let of = |verdict: &RedlineVerdict| {
        let told = verdict
            .standings
            .iter()
            .map(|standing| sentence(&verdict.cell, standing, &lack(record, standing)));
        told.collect::<Vec<_>>()
    };
    verdicts.iter().flat_map(of).collect()
}

/// What kept a search from its end.
fn lack(record: &Record, standing: &RedlineStanding) -> String {
    match (standing.end, standing.windows) {
        (RedlineEnd::TooManyVoid, 0) => {
            "every window in which its capacity was to be measured is void, and the search begins there"
                .to_owned()
        }
        (RedlineEnd::TooManyVoid, _) => "too many windows in a row were void".to_owned(),
        _ => too_early(record),
    }
}

/// What a search lacked that did not come to its end: servers, of which each round starts one, or time.
fn too_early(record: &Record) -> String {
    let experiment = &record.experiment;
    let spent = !experiment.until_settled && record.rounds.len() >= experiment.rounds as usize;
    match spent {
        true => format!(
            "each round starts one server, and {} were too few for the search; leave --rounds out",
            experiment.rounds
        ),
        false => "the search was over too early; give it more time with --budget".to_owned(),
    }
}

fn sentence(cell: &Cell, standing: &RedlineStanding, why: &str) -> String {
    let Offered::Redline(slo) = cell.offered else { return String::new() };
    let [kept, missed] =
        [standing.kept_per_second, standing.missed_per_second].map(|of| of.map(format::rate));
    let (name, at) = (&standing.contender, format!("{} at {}", cell.workload, cell.width()));
    let servers = match standing.servers {
        0 => "on one server that was never restarted".to_owned(),
        n => format!("on {}", count_of(n as usize, "server")),
    };
    match (standing.end, kept, missed) {
        (RedlineEnd::Confirmed, Some(kept), Some(missed)) => {
            format!(
                "{name} keeps {slo} up to {kept} requests per second and misses it from {missed} on ({at}, {servers}){}.",
                recovery(standing)
            )
        }
        (RedlineEnd::AboveHighest, Some(kept), _) => {
            format!(
                "{name} keeps {slo} at {kept} requests per second and all below; more was not offered ({at})."
            )
        }
        (RedlineEnd::BelowLowest, _, Some(missed)) => {
            let alone = alone(standing).unwrap_or_default();
            format!(
                "{name} cannot keep {slo} at any rate: it is missed even at {missed} requests per second{alone} ({at})."
            )
        }
        (_, Some(kept), Some(missed)) => format!(
            "The redline of {name} for {slo} lies between {kept} and {missed} requests per second so far, not \
             confirmed: {why} ({at})."
        ),
        (_, Some(kept), None) => format!(
            "{name} keeps {slo} at {kept} requests per second, and from where on it misses it was not found: {why} ({at})."
        ),
        _ => format!("The redline of {name} for {slo} was not found: {why} ({at})."),
    }
}

/// How long an answer takes where nothing waits for anything else: the median, or the fastest where they were few.
fn alone(standing: &RedlineStanding) -> Option<String> {
    let median =
        standing.median_at_missed_ns.map(|ns| format!(", where p50 alone is {}", format::duration(ns)));
    let fastest = || {
        Some(format!(", where the fastest answer took {}", format::duration(standing.fastest_at_missed_ns?)))
    };
    median.or_else(fastest)
}

/// What an overload leaves behind.
fn recovery(standing: &RedlineStanding) -> String {
    match (standing.recovered_per_second, standing.kept_per_second) {
        (Some(0.0), _) => "; once overloaded it does not recover at any rate".to_owned(),
        (Some(recovered), Some(kept)) if recovered < kept => {
            format!("; once overloaded it recovers at {}", format::rate(recovered))
        }
        (Some(_), _) => "; an overload leaves nothing behind".to_owned(),
        (None, _) => "; whether it recovers from an overload was not found out".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::verdict::Verdict;
    use assay_verdict::testing;

    /// A search in a run all of whose windows, or none, are void.
    fn searched(is_void: bool) -> (Record, Verdict) {
        let mut record = testing::record(&[("a", &[1000.0, 1000.0, 1000.0])]);
        record.experiment.measures[0].rates = vec!["redline:p99<10ms".parse().expect("a load")];
        record.experiment.until_settled = true;
        let windows =
            record.rounds.iter_mut().flat_map(|round| &mut round.runs).flat_map(|run| &mut run.cells);
        windows.for_each(|window| window.machine.steal_share = if is_void { 0.5 } else { 0.0 });
        let verdict = assay_verdict::judge(&record).expect("a verdict");
        (record, verdict)
    }

    #[test]
    fn a_search_that_found_nothing_is_told_first_and_with_its_reason() {
        for (is_void, reason) in [(true, "is void"), (false, "give it more time with --budget")] {
            let (record, verdict) = searched(is_void);
            let told = crate::sentences::of_run(&record, &verdict);
            let at =
                told.iter().position(|told| told.starts_with("The redline of a for p99<10ms was not found"));
            let at = at.unwrap_or_else(|| panic!("{told:#?}"));
            assert!(told[at].contains(reason), "{told:#?}");
            let standings = told.iter().position(|told| told.starts_with("On hello"));
            assert!(standings.is_none_or(|standings| at < standings), "{told:#?}");
        }
    }

    #[test]
    fn no_recovery_is_told_from_one_that_was_not_found_out() {
        let (record, verdict) = searched(false);
        let told = |recovered| {
            let standing = RedlineStanding {
                kept_per_second: Some(1_000.0),
                missed_per_second: Some(1_020.0),
                recovered_per_second: recovered,
                end: RedlineEnd::Confirmed,
                ..verdict.redlines[0].standings[0].clone()
            };
            let verdict = RedlineVerdict { standings: vec![standing], ..verdict.redlines[0].clone() };
            sentences(&record, &[verdict]).remove(0)
        };
        for (recovered, words) in [
            (Some(1_000.0), "; an overload leaves nothing behind."),
            (Some(800.0), "; once overloaded it recovers at 800."),
            (Some(0.0), "; once overloaded it does not recover at any rate."),
            (None, "; whether it recovers from an overload was not found out."),
        ] {
            assert!(told(recovered).ends_with(words), "{}", told(recovered));
        }
    }

    #[test]
    fn a_search_without_an_end_says_what_it_lacked() {
        let mut record = testing::record(&[("a", &[1000.0, 1000.0, 1000.0])]);
        (record.experiment.rounds, record.experiment.until_settled) = (3, false);
        assert!(too_early(&record).contains("3 were too few for the search; leave --rounds out"));
        record.experiment.rounds = 4;
        assert!(too_early(&record).contains("--budget"));
        (record.experiment.rounds, record.experiment.until_settled) = (3, true);
        assert!(too_early(&record).contains("--budget"));
    }
}
