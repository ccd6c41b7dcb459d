//! Whether links lost as many frames as they were asked to lose. What TCP then sends again, and timers that run out, were asked for
//! with it, and nobody objects to them there.

use assay_model::check::{Check, CheckOutcome};
use assay_model::evidence::Evidence;
use assay_model::link::{Flow, LinkUse};
use assay_model::record::{Measurement, Record};
use assay_model::rule::Rule;
use assay_model::units::total;

/// Standard deviations of a binomial count by which the frames lost may differ from those expected.
const DEVIATIONS: f64 = 6.0;
/// Frames that may be on their way while the counters are read.
const ON_THEIR_WAY: f64 = 100.0;

/// What was lost where a loss was asked for, over all windows; `None` where none was.
pub(crate) fn check(record: &Record, windows: &[&Measurement]) -> Option<Check> {
    let asked = windows.iter().filter_map(|window| {
        let share = record.link_facts_of(&window.cell)?.loss_per_million?;
        Some((f64::from(share) / 1e6, window.link_use.as_ref()?))
    });
    let asked: Vec<(f64, &LinkUse)> = asked.collect();
    if asked.is_empty() {
        return None;
    }
    let flows =
        asked.iter().flat_map(|(share, used)| [(*share, used.to_server), (*share, used.to_generator)]);
    let (mut lost, mut all, mut expected, mut variance) = (0.0, 0.0, 0.0, 0.0);
    for (share, flow) in flows {
        let offered = offered(&flow);
        lost += flow.lost_frames as f64;
        all += offered;
        expected += share * offered;
        variance += share * (1.0 - share) * offered;
    }
    let evidence = Evidence::LinkLoss {
        lost: lost as u64,
        frames: all as u64,
        asked_share: expected / f64::max(all, 1.0),
    };
    let is_as_asked = (lost - expected).abs() <= DEVIATIONS * variance.sqrt() + ON_THEIR_WAY;
    let outcome = if is_as_asked { CheckOutcome::Pass } else { CheckOutcome::Warn };
    Some(Check { rule: Rule::LinkLoss, outcome, evidence })
}

/// Frames that came to where they could be lost.
fn offered(flow: &Flow) -> f64 {
    total([flow.packets, flow.lost_frames, flow.overflowed_frames]) as f64
}
