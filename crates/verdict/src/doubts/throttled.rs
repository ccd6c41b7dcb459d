//! Whether a quota of CPU time held server or generator back. When a period's quota is used up, everything under it stands
//! still until the next period (kernel: scheduler/sched-bwc.rst), so rates are the quota's and tails are its periods.

use assay_model::check::{Check, CheckOutcome};
use assay_model::evidence::{Evidence, HeldBack, Proportion};
use assay_model::record::{Measurement, Throttled};
use assay_model::rule::Rule;

/// What quotas did in these windows; `None` where there was none.
pub(crate) fn check(windows: &[&Measurement]) -> Option<Check> {
    let quotas = windows.iter().flat_map(|window| of(window));
    let tightest = quotas.map(|(_, quota)| quota.quota_cpus).reduce(f64::min)?;
    let held = |window: &&&Measurement| of(window).any(|(_, quota)| quota.throttled_ns.0 > 0);
    let count = windows.iter().filter(held).count();
    if count == 0 {
        return Some(Check::pass(Rule::Throttled, Evidence::Quota { cpus: tightest, held: None }));
    }
    let shares =
        windows.iter().flat_map(|window| of(window).map(|(who, quota)| (share(window, quota), who, quota)));
    let (share, server, quota) = shares.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let held = Some(HeldBack { server, windows: Proportion::new(count, windows.len()), share });
    let evidence = Evidence::Quota { cpus: quota.quota_cpus, held };
    Some(Check::objection(Rule::Throttled, CheckOutcome::Warn, evidence))
}

/// Each quota, and whether it is the server's.
fn of(window: &Measurement) -> impl Iterator<Item = (bool, Throttled)> {
    let machine = &window.machine;
    let quotas = [(true, machine.server_throttled), (false, machine.own_throttled)];
    quotas.into_iter().filter_map(|(who, quota)| Some((who, quota?)))
}

fn share(window: &Measurement, quota: Throttled) -> f64 {
    quota.throttled_ns.0 as f64 / window.load.window_ns.0.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use assay_model::units::Nanos;

    fn told(server: Option<u64>, own: Option<u64>) -> Option<(CheckOutcome, Evidence)> {
        let mut record = testing::record(&[("a", &[100.0, 100.0])]);
        let quota = |ms: u64| Throttled { quota_cpus: 1.5, throttled_ns: Nanos::from_millis(ms) };
        let machine = &mut record.rounds[0].runs[0].cells[0].machine;
        (machine.server_throttled, machine.own_throttled) = (server.map(quota), own.map(quota));
        let windows: Vec<_> = record.rounds.iter().flat_map(|round| &round.runs[0].cells).collect();
        check(&windows).map(|check| (check.outcome, check.evidence))
    }

    #[test]
    fn a_window_that_was_held_back_is_told_with_its_quota() {
        assert_eq!(told(None, None), None, "no quota, no rule");
        let quota = |held| Some(Evidence::Quota { cpus: 1.5, held });
        let evidence = |server, own| told(Some(server), Some(own)).map(|told| told.1);
        assert_eq!(
            (told(Some(0), Some(0)).map(|told| told.0), evidence(0, 0)),
            (Some(CheckOutcome::Pass), quota(None))
        );
        let held = |server, share| quota(Some(HeldBack { server, windows: Proportion::new(1, 2), share }));
        assert_eq!(told(Some(250), Some(20)).map(|told| told.0), Some(CheckOutcome::Warn));
        assert_eq!(evidence(250, 20), held(true, 0.25));
        assert_eq!(evidence(0, 20), held(false, 0.02));
    }
}
