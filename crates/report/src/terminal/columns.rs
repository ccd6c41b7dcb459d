//! The columns of a standings table, and which of them fit.

use assay_model::verdict::{CellVerdict, Standing};

use super::GAP;
use crate::{format, notes, text};

/// One column, measured for one cell's standings.
pub(super) struct Column {
    pub(super) head: String,
    pub(super) width: usize,
    pub(super) is_service_time: bool,
    pub(super) cell: fn(&Standing) -> String,
    left: bool,
}

/// What a column shows, and how gladly it is given up: the highest number goes first.
struct Plan {
    head: &'static str,
    drop: u8,
    cell: fn(&Standing) -> String,
}

/// In the order in which they stand. A closed loop's p50 goes early: by Little's law it repeats the throughput.
const PLANS: [Plan; 16] = [
    Plan {
        head: "req/s",
        drop: 0,
        cell: |s| or_dash(s.throughput_per_second, |t| format::rate_interval(&t).estimate),
    },
    Plan {
        head: "95 % interval",
        drop: 3,
        cell: |s| or_dash(s.throughput_per_second, |t| format::rate_interval(&t).interval),
    },
    Plan { head: TRIMMED, drop: 4, cell: |s| or_dash(s.trimmed_mean_per_second, format::rate) },
    Plan { head: "of limit", drop: 2, cell: |s| or_dash(s.share_of_limit, |l| format::percent(l.estimate)) },
    Plan {
        head: "interval",
        drop: 13,
        cell: |s| or_dash(s.share_of_limit, |l| format::percent_interval(&l).interval),
    },
    Plan { head: "p50", drop: 8, cell: |s| or_dash(s.p50_ns, |t| format::duration(t.estimate)) },
    Plan { head: "p99", drop: 5, cell: |s| or_dash(s.p99_ns, |t| format::duration(t.estimate)) },
    Plan {
        head: "p99 interval",
        drop: 12,
        cell: |s| or_dash(s.p99_ns, |t| format::duration_interval(&t).interval),
    },
    Plan { head: "cpu/req", drop: 6, cell: |s| or_dash(s.cpu_per_request_ns, format::duration) },
    Plan { head: "rss", drop: 7, cell: |s| or_dash(s.rss_peak_bytes, format::bytes) },
    Plan { head: "start-up", drop: 9, cell: |s| or_dash(s.startup_ns, format::duration) },
    Plan { head: CONFORM, drop: 7, cell: |s| or_dash(s.conformance, |score| format::score(&score)) },
    Plan { head: FAILED, drop: 4, cell: |s| format::count(s.failed) },
    Plan { head: "limited by", drop: 10, cell: |s| notes::limit_in_words(s.limited_by).to_owned() },
    Plan { head: "tier", drop: 1, cell: |s| or_dash(s.tier, |tier| tier.to_string()) },
    Plan { head: LETTERS, drop: 11, cell: |s| s.letters.clone() },
];

/// Needs an explanation below the tables.
pub(super) const LETTERS: &str = "letters";
/// Shown only where the experiment asks for it.
const TRIMMED: &str = "trimmed";
/// What stands for a figure that is not known; a column of nothing else is not shown.
const UNKNOWN: &str = "–";
/// Shown only where something failed.
const FAILED: &str = "failed";
/// Shown only where somebody was asked.
const CONFORM: &str = "conform";

/// The columns that fit into `room`, each with its gap before it; `spell` gives a text its final form.
pub(super) fn fitting(cell: &CellVerdict, room: usize, spell: impl Fn(&str) -> String) -> Vec<Column> {
    let anything_failed = cell.standings.iter().any(|standing| standing.failed > 0);
    let any_trimmed = cell.standings.iter().any(|standing| standing.trimmed_mean_per_second.is_some());
    let anybody_asked = cell.standings.iter().any(|standing| standing.conformance.is_some());
    let is_known = |plan: &&Plan| {
        cell.standings.iter().any(|one| !["", UNKNOWN, "unknown"].contains(&(plan.cell)(one).as_str()))
    };
    let tells = |plan: &&Plan| match plan.head {
        TRIMMED => any_trimmed,
        FAILED => anything_failed,
        CONFORM => anybody_asked,
        // Of figures that were imported nothing else is known.
        _ => plan.drop == 0 || is_known(plan),
    };
    let plans = PLANS.iter().filter(tells);
    let mut chosen: Vec<(u8, Column)> =
        plans.map(|plan| (plan.drop, measured(plan, &cell.standings, &spell))).collect();
    let total = |chosen: &[(u8, Column)]| -> usize { chosen.iter().map(|(_, c)| GAP.len() + c.width).sum() };
    while chosen.len() > 1 && total(&chosen) > room {
        let Some(worst) = (0..chosen.len()).max_by_key(|&i| chosen[i].0) else { break };
        chosen.remove(worst);
    }
    chosen.into_iter().map(|(_, column)| column).collect()
}

fn measured(plan: &Plan, standings: &[Standing], spell: impl Fn(&str) -> String) -> Column {
    let shown = standings.iter().filter(|standing| standing.withheld.is_none());
    let widest = shown.map(|standing| text::width(&spell(&(plan.cell)(standing)))).max().unwrap_or(0);
    Column {
        head: plan.head.to_owned(),
        width: widest.max(plan.head.len()),
        is_service_time: plan.head.starts_with('p'),
        cell: plan.cell,
        left: matches!(plan.head, "limited by" | LETTERS),
    }
}

impl Column {
    /// A text filled up to the column's width.
    pub(super) fn align(&self, text: &str) -> String {
        let space = " ".repeat(self.width.saturating_sub(text::width(text)));
        if self.left { format!("{text}{space}") } else { format!("{space}{text}") }
    }
}

fn or_dash<T>(value: Option<T>, format: impl Fn(T) -> String) -> String {
    value.map_or_else(|| UNKNOWN.to_owned(), format)
}
