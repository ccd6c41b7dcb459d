//! How much more the generator could have sent: its own ceiling over what it sent.
//!
//! The ceiling is its rate against the limit — a server that costs next to nothing, with the same bytes, connections and
//! CPUs — over the busy share of its busiest thread there. Against a slow server the generator's cost per request is higher,
//! because fewer answers come with each wake, so a busy share seen there would tell of a ceiling that is too low; it is
//! used only where the limit was not measured.

use assay_model::check::{Check, CheckOutcome};
use assay_model::evidence::{Evidence, Withheld};
use assay_model::record::Measurement;
use assay_model::rule::Rule;
use assay_model::verdict::CellVerdict;

use crate::evidence::sample::Sample;
use crate::evidence::turns::throughput;
use crate::{AT_LIMIT, LEAST_HEADROOM, median};

/// The headroom of a contender; `None` where nothing was sent.
pub(crate) fn headroom(sample: &Sample<'_>, limit: Option<&Sample<'_>>) -> Option<f64> {
    let rates: Vec<f64> = sample.rates().into_iter().flatten().collect();
    let ceiling = limit.and_then(ceiling).or_else(|| ceiling(sample))?;
    median(&rates).map(|rate| ceiling / rate)
}

/// What the generator could send: the median over rounds.
fn ceiling(sample: &Sample<'_>) -> Option<f64> {
    let of = |window: &Measurement| {
        let busiest = window.load.thread_busy_shares.iter().copied().fold(0.0, f64::max);
        throughput(window).filter(|_| busiest > 0.0).map(|rate| rate / busiest)
    };
    median(&sample.rated().filter_map(of).collect::<Vec<_>>())
}

/// Objects when the generator was close to its ceiling. The limit itself is meant to drive it there.
pub(crate) fn check(sample: &Sample<'_>, headroom: Option<f64>) -> Option<Check> {
    let headroom = headroom.filter(|headroom| *headroom < LEAST_HEADROOM && !sample.is_limit())?;
    let evidence = Evidence::Headroom { times: headroom, contender: None };
    Some(Check::objection(Rule::Headroom, CheckOutcome::Warn, evidence))
}

/// Two or more contenders at the generator's ceiling were not told apart by their own speed: all of them are withheld.
pub(crate) fn withhold_the_bunched(cell: &mut CellVerdict, is_limit: impl Fn(&str) -> bool) {
    let at_ceiling = |standing: &&mut assay_model::verdict::Standing| {
        standing.withheld.is_none()
            && !is_limit(&standing.contender)
            && standing.headroom.is_some_and(|headroom| headroom * AT_LIMIT <= 1.0)
    };
    let bunched: Vec<_> = cell.standings.iter_mut().filter(at_ceiling).collect();
    if bunched.len() < 2 {
        return;
    }
    let evidence = Evidence::Bunched { contenders: bunched.len() as u64 };
    let void = Check::objection(Rule::Bunched, CheckOutcome::Void, evidence);
    for standing in bunched {
        standing.checks.push(void.clone());
        standing.withheld = Some(Withheld::void(&void));
        standing.throughput_per_second = None;
        standing.share_of_limit = None;
    }
}
