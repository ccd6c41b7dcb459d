//! What a run would show, in words: for `assay plan`, and for whoever is about to run.

use std::iter;

use assay_model::outlook::{DuetOutlook, Foresight, Outlook};
use assay_model::verdict::Noise;

use crate::error::ReportError;
use crate::text::wrap;
use crate::words::{count_of, restarts_vary};
use crate::{foreign, format};

/// Shares of two designs' differences from which the better one is worth a line.
const WORTH_TELLING: f64 = 0.95;
const MINUTE_NS: u64 = 60_000_000_000;
/// Columns of a label.
const LABEL: usize = 12;

/// The outlook as JSON.
///
/// # Errors
/// [`ReportError::Json`] when a value cannot be written.
pub fn json(outlook: &Outlook) -> Result<String, ReportError> {
    Ok(foreign::json(&serde_json::to_string_pretty(outlook)?) + "\n")
}

/// One sentence without its full stop: which differences the run would show, and by whose noise; of a comparison by duets, which
/// changes these would show.
pub fn sentence(outlook: &Outlook) -> String {
    outlook.duet.as_ref().map_or_else(|| of_tables(outlook), of_duets)
}

fn of_duets(duet: &DuetOutlook) -> String {
    let whose = match &duet.noise_of {
        Some(run) => format!("if the ratio varies as in {run}"),
        None => "if the ratio varies as it usually does".to_owned(),
    };
    match duet.run.shows {
        Some(shows) => format!("would show changes from about {}, {whose}", format::percent(shows)),
        None => format!("would show no change, {whose}: it needs more rounds"),
    }
}

fn of_tables(outlook: &Outlook) -> String {
    let whose = match &outlook.noise_of {
        Some(run) => format!("if as noisy as {run}"),
        None => "if as noisy as machines usually are".to_owned(),
    };
    match outlook.run.shows {
        Some(shows) => format!("would show differences from about {}, {whose}", format::percent(shows)),
        None => format!("would show no difference, {whose}: it needs more rounds, or longer ones"),
    }
}

/// The whole of it, one fact a paragraph, in lines of at most `width` columns.
pub fn text(outlook: &Outlook, width: usize) -> String {
    let tables = count_of(outlook.tables as usize, "table");
    let mut facts = vec![
        (
            "experiment".to_owned(),
            format!(
                "{}: {} contenders in {tables}, compared with {} confidence in all statements together",
                outlook.experiment,
                outlook.contenders,
                format::percent(outlook.confidence)
            ),
        ),
        ("noise".to_owned(), noise(outlook)),
        ("this run".to_owned(), format!("{}: {}", design(&outlook.run), of_tables(outlook))),
    ];
    if let Some(best) = better(outlook) {
        let shows = best.shows.map(format::percent).unwrap_or_default();
        let told = format!(
            "{}: from about {shows} in the same time, with --rounds {} --budget {}",
            design(best),
            best.rounds,
            budget(outlook.run.takes_ns.0)
        );
        facts.push(("better".to_owned(), told));
    }
    if let Some(difference) = outlook.difference {
        facts.push((format::percent(difference), enough(outlook)));
    }
    if let Some(duet) = &outlook.duet {
        facts.extend(compared(outlook, duet));
    }
    facts.iter().map(|(label, fact)| paragraph(label, fact, width)).collect()
}

/// What `assay compare` would show of the same commands.
fn compared(outlook: &Outlook, duet: &DuetOutlook) -> Vec<(String, String)> {
    let Noise { restart_cv, window_cv, .. } = duet.noise;
    let noise = format!(
        "{} from restart to restart, {} from one pair of windows to the next",
        format::percent(restart_cv),
        format::percent(window_cv)
    );
    let told = format!("both at once, {}: {} ({noise})", in_pairs(&duet.run), of_duets(duet));
    let mut facts = vec![("compare".to_owned(), told)];
    if let Some(difference) = outlook.difference {
        let enough = match &duet.enough {
            Some(enough) => {
                let budget = budget(enough.takes_ns.0);
                format!("takes {}: --rounds {} --budget {budget}", in_pairs(enough), enough.rounds)
            }
            None => no_time(outlook, difference),
        };
        facts.push((format!("  {}", format::percent(difference)), enough));
    }
    facts
}

/// `6 restarts of 60 pairs of windows, 2 min 0 s`.
fn in_pairs(of: &Foresight) -> String {
    design(of).replacen(" windows", " pairs of windows", 1)
}

/// A label, and beside it what is told.
fn paragraph(label: &str, fact: &str, width: usize) -> String {
    let indent = LABEL.max(label.chars().count() + 1);
    let lines = wrap(fact, width.saturating_sub(indent).max(LABEL));
    let labels = iter::once(label).chain(iter::repeat(""));
    lines.iter().zip(labels).map(|(line, label)| format!("{label:<indent$}{line}\n")).collect()
}

fn noise(outlook: &Outlook) -> String {
    let Noise { restart_cv, window_cv, .. } = outlook.noise;
    let restarts = restarts_vary(restart_cv);
    let windows = match window_cv > 0.0 {
        true => format!(", windows of one restart by {}", format::percent(window_cv)),
        false => String::new(),
    };
    match &outlook.noise_of {
        Some(run) => format!("{restarts}{windows}, in {run}"),
        None => format!(
            "{restarts}{windows}: what is usual; after a run like this one on this machine and these CPUs, its own noise \
             counts"
        ),
    }
}

/// `4 restarts of 20 windows, 3 min 55 s`.
fn design(of: &Foresight) -> String {
    let windows = if of.windows > 1 { format!(" of {} windows", of.windows) } else { String::new() };
    let restarts = count_of(of.rounds as usize, "restart");
    format!("{restarts}{windows}, {}", format::span(of.takes_ns.0))
}

/// Another design for the same time, when it shows notably more.
fn better(outlook: &Outlook) -> Option<&Foresight> {
    let best = outlook.best.as_ref()?;
    let is_better = match (best.shows, outlook.run.shows) {
        (Some(best), Some(run)) => best < WORTH_TELLING * run,
        (best, _) => best.is_some(),
    };
    is_better.then_some(best)
}

fn enough(outlook: &Outlook) -> String {
    let Some(enough) = &outlook.enough else {
        return no_time(outlook, outlook.difference.unwrap_or(outlook.margin));
    };
    let how = match enough.windows {
        1 => format!("--rounds {}", enough.rounds),
        _ => format!("--rounds {} --budget {}", enough.rounds, budget(enough.takes_ns.0)),
    };
    format!("takes {}: {how}", design(enough))
}

/// Why no time is named for a difference.
fn no_time(outlook: &Outlook, difference: f64) -> String {
    if difference <= outlook.margin {
        format!("never: differences up to {} are called none", format::percent(outlook.margin))
    } else {
        "takes more than a day; name fewer contenders or loads, or a greater --difference".to_owned()
    }
}

/// In whole minutes, as `--budget` takes it.
fn budget(ns: u64) -> String {
    format!("{}m", ns.div_ceil(MINUTE_NS))
}

#[cfg(test)]
mod tests {
    use assay_model::outlook::OUTLOOK_SCHEMA;
    use assay_model::units::Nanos;

    use super::*;

    fn foresight(rounds: u32, windows: u32, minutes: u64, shows: Option<f64>) -> Foresight {
        Foresight { rounds, windows, takes_ns: Nanos(minutes * MINUTE_NS), shows }
    }

    fn outlook() -> Outlook {
        Outlook {
            schema: OUTLOOK_SCHEMA.to_owned(),
            experiment: "showdown".to_owned(),
            contenders: 6,
            tables: 4,
            confidence: 0.95,
            margin: 0.01,
            noise: Noise { restart_cv: 0.015, window_cv: 0.23, windows_per_life: 20.0 },
            noise_of: Some("20261122-010203-showdown".to_owned()),
            run: foresight(4, 20, 4, Some(0.171)),
            best: Some(foresight(8, 9, 4, Some(0.15))),
            difference: Some(0.02),
            enough: Some(foresight(30, 200, 600, Some(0.02))),
            duet: None,
        }
    }

    #[test]
    fn commands_that_are_compared_at_once_have_a_plan_of_their_own() {
        let duet = DuetOutlook {
            noise: Noise { restart_cv: 0.0044, window_cv: 0.021, windows_per_life: 60.0 },
            noise_of: None,
            run: foresight(12, 60, 5, Some(0.013)),
            enough: Some(foresight(5, 20, 1, Some(0.02))),
        };
        let compared = Outlook { duet: Some(duet), ..outlook() };
        let told = text(&compared, 200);
        for words in [
            "this run    4 restarts of 20 windows, 4 min 0 s: would show differences from about 17 %",
            "compare     both at once, 12 restarts of 60 pairs of windows, 5 min 0 s: would show changes from about 1.3 %, if \
             the ratio varies as it usually does",
            "  2.0 %     takes 5 restarts of 20 pairs of windows, 1 min 0 s: --rounds 5 --budget 1m\n",
        ] {
            let flat = told.replace("\n            ", " ");
            assert!(flat.contains(words), "{words}:\n{told}");
        }
        assert!(
            sentence(&compared).starts_with("would show changes from about 1.3 %"),
            "{}",
            sentence(&compared)
        );
    }

    #[test]
    fn a_plan_reads_as_what_the_run_would_show_and_what_more_takes() {
        let told = text(&outlook(), 200);
        for words in [
            "showdown: 6 contenders in 4 tables",
            "restarts vary by 1.5 %, windows of one restart by 23 %, in 20261122-010203-showdown\n",
            "this run    4 restarts of 20 windows, 4 min 0 s: would show differences from about 17 %, if as noisy as",
            "from about 15 % in the same time, with --rounds 8 --budget 4m",
            "2.0 %       takes 30 restarts of 200 windows, 10 h 0 min: --rounds 30 --budget 600m\n",
        ] {
            assert!(told.contains(words), "{words}:\n{told}");
        }
    }

    #[test]
    fn what_cannot_be_promised_is_said() {
        let usual = Outlook { noise_of: None, run: foresight(1, 1, 1, None), enough: None, ..outlook() };
        let told = text(&usual, 200);
        assert!(told.contains("what is usual") && told.contains("would show no difference"), "{told}");
        assert!(told.contains("2.0 %       takes more than a day"), "{told}");
        let fine = text(&Outlook { difference: Some(0.005), enough: None, ..outlook() }, 200);
        assert!(fine.contains("never: differences up to 1.0 % are called none"), "{fine}");
        let tiny = text(&Outlook { difference: Some(1e-5), enough: None, ..outlook() }, 200);
        assert!(tiny.contains(" % never: "), "a long label stands apart: {tiny}");
        let plain = text(&Outlook { difference: None, best: None, enough: None, ..outlook() }, 200);
        assert_eq!(plain.lines().count(), 3, "{plain}");
    }

    #[test]
    fn narrow_terminals_get_narrow_lines() {
        let told = text(&outlook(), 60);
        assert!(told.lines().all(|line| line.chars().count() <= 60), "{told}");
        assert!(told.contains("this run    4 restarts") && told.contains("\n            "), "{told}");
    }
}
