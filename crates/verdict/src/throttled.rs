//! Whether a quota of CPU time held server or generator back. When a period's quota is used up, everything under it stands
//! still until the next period (kernel: scheduler/sched-bwc.rst), so rates are the quota's and tails are its periods.

use assay_model::check::{Check, Outcome};
use assay_model::record::{Measurement, Throttled};
use assay_model::rule::Rule;

use super::words::{count_of, percent};
use super::{objection, pass};

const REMEDY: &str =
    "lift the quota (cpu.max, docker --cpus, CPUQuota=), or give whole CPUs instead; `assay doctor` shows it";

/// What quotas did in these windows; `None` where there was none.
pub(crate) fn check(windows: &[&Measurement]) -> Option<Check> {
    let quotas = windows.iter().flat_map(|window| of(window));
    let tightest = quotas.map(|(_, quota)| quota.quota_cpus).reduce(f64::min)?;
    let held = |window: &&&Measurement| of(window).any(|(_, quota)| quota.throttled_ns.0 > 0);
    let count = windows.iter().filter(held).count();
    if count == 0 {
        return Some(pass(Rule::Throttled, format!("a quota of {} CPUs held nobody back", tenths(tightest))));
    }
    let shares =
        windows.iter().flat_map(|window| of(window).map(|(who, quota)| (share(window, quota), who, quota)));
    let (worst, who, quota) = shares.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let evidence = format!(
        "a quota of {} CPUs held {who} back in {count} of {}, for {} of one of them in sum over the CPUs",
        tenths(quota.quota_cpus),
        count_of(windows.len(), "window"),
        percent(worst)
    );
    Some(objection(Rule::Throttled, Outcome::Warn, evidence, REMEDY))
}

/// Finer than that nobody sets a quota.
fn tenths(cpus: f64) -> f64 {
    (cpus * 10.0).round() / 10.0
}

fn of(window: &Measurement) -> impl Iterator<Item = (&'static str, Throttled)> {
    let machine = &window.machine;
    let quotas = [("the server", machine.server_throttled), ("assay itself", machine.own_throttled)];
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

    fn told(server: Option<u64>, own: Option<u64>) -> Option<(Outcome, String)> {
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
        let (outcome, evidence) = told(Some(0), Some(0)).expect("a quota");
        assert_eq!((outcome, evidence.as_str()), (Outcome::Pass, "a quota of 1.5 CPUs held nobody back"));
        let (outcome, evidence) = told(Some(250), Some(20)).expect("a quota");
        assert_eq!(outcome, Outcome::Warn);
        assert!(evidence.contains("held the server back in 1 of 2 windows, for 25 %"), "{evidence}");
        let (_, evidence) = told(Some(0), Some(20)).expect("a quota");
        assert!(evidence.contains("assay itself"), "{evidence}");
    }
}
