//! The rate of each contender at every age at which it was seen.

use std::collections::BTreeMap;

use assay_model::contender::Kind;
use assay_model::experiment::Cell;
use assay_model::record::{Entry, Measurement};
use assay_model::units::{Nanos, total};
use assay_stats::ageing::Look;

use crate::closed;
use crate::evidence::sample::mean_response_s;
use crate::evidence::turns::log_rates;
use crate::evidence::window::{DecodedRecord, ServerRun, Window};

/// A window in one piece is looked at in parts of this length at least.
const PART: Nanos = Nanos::from_millis(500);
/// How many responses a part must be as long as, or it shows the wave in which a closed loop's answers come.
const RESPONSES_OF_A_PART: f64 = 20.0;

/// All looks at a contender over the rounds; the lives of its control are lives of it.
///
/// Where the machine's limit had a turn in the same rotation, the rate is that over the limit's: what the machine did to both
/// within a second cancels, and the limit neither compiles nor collects. Who takes turns beside a server that gets faster is
/// not held against that one, so nobody seems to get slower because another gets faster. A window beside which the limit's does not count
/// has another level, and so is one of another cell.
pub(super) fn looks(evidence: &DecodedRecord<'_>, entry: &Entry) -> Vec<Look> {
    let cells = closed(evidence.record);
    let is_its = |server_run: &&ServerRun<'_>| {
        let name = &server_run.run.contender;
        let control = evidence.record.contenders.iter().find(|other| other.identity.name == *name);
        *name == entry.identity.name
            || control.is_some_and(|other| other.control_of.as_ref() == Some(&entry.identity.name))
    };
    let mut found = Vec::new();
    let server_runs = evidence
        .rounds
        .iter()
        .flat_map(|round| round.iter().filter(is_its).map(move |server_run| (round, server_run)));
    for (number, (round, server_run)) in server_runs.enumerate() {
        let is_cold = is_cold_to_its_end(server_run);
        for (index, cell) in cells.iter().enumerate() {
            let Some(window) = server_run.window(cell).filter(|window| window.counts()) else { continue };
            let limit = limit_beside(evidence, round, server_run, cell);
            let points = if is_cold { points(&with_cold(window), limit) } else { points(window, limit) };
            let cell = if limit.is_some() { index } else { cells.len() + index };
            found.extend(points.into_iter().map(|(age_s, log_rate)| Look {
                life: number,
                cell,
                age_s,
                log_rate,
            }));
        }
    }
    found
}

/// Whether a life was still cold in its last turns, after a quarter of them: nothing says that the rest is warm. So all its
/// turns are looked at.
fn is_cold_to_its_end(server_run: &ServerRun<'_>) -> bool {
    let turned = server_run.windows.iter().filter(|window| !window.measured.turns.is_empty());
    let Some(last) = turned.max_by_key(|window| window.measured.loaded_ns) else { return false };
    let turns = &last.measured.turns;
    let first = turns.iter().position(|turn| last.counting.length(turn) > Nanos::ZERO);
    first.is_some_and(|first| first > 0 && first >= turns.len() / 4)
}

fn with_cold<'r>(window: &Window<'r>) -> Window<'r> {
    Window { counting: window.counting.with_cold(), ..window.clone() }
}

/// Age and log rate in the long look at a contender, in the order of time; empty where there was none.
pub(super) fn long_look(evidence: &DecodedRecord<'_>, entry: &Entry) -> Vec<(f64, f64)> {
    let server_runs = &evidence.long_look;
    let Some(server_run) =
        server_runs.iter().find(|server_run| server_run.run.contender == entry.identity.name)
    else {
        return Vec::new();
    };
    let windows = server_run.windows.iter().filter(|window| window.counts());
    let beside = windows
        .map(|window| (window, limit_beside(evidence, server_runs, server_run, &window.measured.cell)));
    let (over_limit, alone): (Vec<_>, Vec<_>) = beside.partition(|(_, limit)| limit.is_some());
    // Rates over the limit's and rates as they are have no level in common.
    let alike = if over_limit.is_empty() { alone } else { over_limit };
    alike.into_iter().flat_map(|(window, limit)| points(window, limit)).collect()
}

/// The window of the machine's limit that was measured in turns with those of a life.
fn limit_beside<'l, 'r>(
    evidence: &DecodedRecord<'_>,
    round: &'l [ServerRun<'r>],
    beside: &ServerRun<'_>,
    cell: &Cell,
) -> Option<&'l Window<'r>> {
    let is_limit = |server_run: &&ServerRun<'_>| {
        let run = server_run.run;
        let named = evidence.record.contenders.iter().find(|entry| entry.identity.name == run.contender);
        let lived_beside = run.group == beside.run.group && run.setting() == beside.run.setting();
        named.is_some_and(|entry| entry.identity.kind == Kind::Limit && entry.control_of.is_none())
            && lived_beside
    };
    let window = round.iter().find(is_limit)?.window(cell)?;
    (!window.measured.turns.is_empty() && window.counts()).then_some(window)
}

/// Age in seconds under load, and log rate.
fn points(window: &Window<'_>, limit: Option<&Window<'_>>) -> Vec<(f64, f64)> {
    if window.measured.turns.is_empty() {
        return parts(window.measured);
    }
    let own = log_rates(window.measured, &window.counting);
    let limits = limit.map(|limit| log_rates(limit.measured, &limit.counting));
    let ages: BTreeMap<u32, f64> = window
        .measured
        .turns
        .iter()
        .map(|turn| (turn.rotation, (turn.loaded_ns + turn.load.settle_ns).as_secs_f64()))
        .collect();
    let over_the_limit = |rotation: u32| {
        let at = rotation as usize;
        let log = own.get(at).copied().flatten()?;
        match &limits {
            None => Some(log),
            Some(limits) => Some(log - limits.get(at).copied().flatten()?),
        }
    };
    ages.into_iter().filter_map(|(rotation, age)| Some((age, over_the_limit(rotation)?))).collect()
}

/// A window in one piece, part by part; nothing of one that is too short to have several.
fn parts(window: &Measurement) -> Vec<(f64, f64)> {
    let (load, series) = (&window.load, &window.load.series);
    let interval_s = series.interval_ns.as_secs_f64();
    let part_s = PART.as_secs_f64().max(RESPONSES_OF_A_PART * mean_response_s(load));
    if !(interval_s > 0.0 && part_s.is_finite()) {
        return Vec::new();
    }
    // `as` saturates, and the value is a whole number.
    let each = (part_s / interval_s).ceil() as usize;
    let begin_s = (window.loaded_ns + load.warmup_ns).as_secs_f64();
    let middle_s = |part: usize| begin_s + (part as f64 + 0.5) * each as f64 * interval_s;
    let rate = |part: &[u64]| total(part.iter().copied()) as f64 / (each as f64 * interval_s);
    let parts = series.whole().chunks_exact(each.max(1)).enumerate();
    let told = parts.map(|(number, part)| (middle_s(number), rate(part)));
    told.filter(|(_, rate)| *rate > 0.0).map(|(age, rate)| (age, rate.ln())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_window_in_one_piece_is_looked_at_part_by_part() {
        let mut record = testing::record(&[("a", &[1000.0])]);
        let window = &mut record.rounds[0].runs[0].cells[0];
        window.loaded_ns = Nanos::from_millis(2000);
        window.load.connections = 1;
        window.load.window_ns = Nanos::from_millis(2050);
        window.load.window.ok = 2050;
        window.load.series.ok = [vec![100; 10], vec![200; 10], vec![50]].concat();
        let told = parts(window);
        let ages: Vec<f64> = told.iter().map(|(age, _)| *age).collect();
        assert_eq!(ages, [2.25, 2.75, 3.25, 3.75]);
        assert!((told[3].1 - told[0].1 - 2.0_f64.ln()).abs() < 1e-12);
        // Responses of 100 ms come in waves, and parts of 2 s are too long for this window.
        window.load.connections = 100;
        assert_eq!(parts(window).len(), 1);
        window.load.window.ok = 0;
        assert_eq!(parts(window), []);
    }
}
