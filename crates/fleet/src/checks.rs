//! What several generators have to say about their trustworthiness, as one: pure functions from their checks to those of all.

use std::collections::BTreeMap;

use assay_model::check::{Check, CheckOutcome};
use assay_model::evidence::Evidence as E;
use assay_model::load::{ErrorClass, GeneratorShare};
use assay_model::rule::Rule;
use assay_model::units::Nanos;

/// Share of the window by which generators may begin apart without a word: at each end of it so long only a part of the load was on.
const APART_LIMIT_WARN: f64 = 0.001;

/// Share from which on that voids the window: as much as throughput may be off for it.
const APART_LIMIT_VOID: f64 = 0.01;

/// Beginning apart by less than this is no more than threads take to notice that they may.
const APART_FLOOR: Nanos = Nanos::from_millis(1);

/// Each rule once, over all reports: figures are added up or the worst is taken, and the worst outcome stands, for a load of which one
/// generator's part was not made is not the load that was asked for.
pub(crate) fn together(reports: &[&[Check]]) -> Vec<Check> {
    let mut all: Vec<Check> = Vec::new();
    for check in reports.iter().copied().flatten() {
        match all.iter_mut().find(|known| known.rule == check.rule) {
            Some(known) => *known = both(known, check),
            None => all.push(check.clone()),
        }
    }
    all
}

fn both(one: &Check, other: &Check) -> Check {
    let outcome = match one.rule {
        // One right answer is one.
        Rule::Answers => one.outcome.min(other.outcome),
        _ => one.outcome.max(other.outcome),
    };
    let worse = if other.outcome > one.outcome { other } else { one };
    let evidence = sum(&one.evidence, &other.evidence).unwrap_or_else(|| worse.evidence.clone());
    Check { rule: one.rule, outcome, evidence }
}

/// The figures of both; `None` where these cannot be put together.
fn sum(one: &E, other: &E) -> Option<E> {
    Some(match (one.clone(), other.clone()) {
        (E::RightAnswers { ok: a }, E::RightAnswers { ok: b }) => E::RightAnswers { ok: a + b },
        (E::BusiestThread { busy_share: a }, E::BusiestThread { busy_share: b }) => {
            E::BusiestThread { busy_share: a.max(b) }
        }
        (
            E::ThreadWaited {
                waiting_share: a,
                involuntary_switches: m,
                beside_database,
                beside_upstream,
                beside_server,
            },
            E::ThreadWaited { waiting_share: b, involuntary_switches: n, .. },
        ) => {
            let (waiting_share, involuntary_switches) = (a.max(b), m + n);
            E::ThreadWaited {
                waiting_share,
                involuntary_switches,
                beside_database,
                beside_upstream,
                beside_server,
            }
        }
        (E::Failures { ok: a, errors: m }, E::Failures { ok: b, errors: n }) => {
            E::Failures { ok: a + b, errors: added(m, &n) }
        }
        (E::Unanswered { unanswered: a, requests: m }, E::Unanswered { unanswered: b, requests: n }) => {
            E::Unanswered { unanswered: a + b, requests: m + n }
        }
        (E::Offered { due: a, sent: m, given_up: x }, E::Offered { due: b, sent: n, given_up: y }) => {
            E::Offered { due: a + b, sent: m + n, given_up: x + y }
        }
        (one, other) => return sum_of_rest(one, &other),
    })
}

fn sum_of_rest(one: E, other: &E) -> Option<E> {
    Some(match (one, other.clone()) {
        (E::InFlight(one), E::InFlight(other)) => E::InFlight(one.plus(other)),
        (E::WindowLength { responses: a, mean_ns: m }, E::WindowLength { responses: b, mean_ns: n }) => {
            E::WindowLength { responses: a.min(b), mean_ns: m.max(n) }
        }
        (
            E::LittlesLaw { in_flight: a, throughput_times_latency: m },
            E::LittlesLaw { in_flight: b, throughput_times_latency: n },
        ) => E::LittlesLaw { in_flight: a + b, throughput_times_latency: m + n },
        (E::Unsolicited { connections: a }, E::Unsolicited { connections: b }) => {
            E::Unsolicited { connections: a + b }
        }
        (E::Connections { asked: a, opened: m }, E::Connections { asked: b, opened: n }) => {
            E::Connections { asked: a + b, opened: m + n }
        }
        (E::NoPort { requests: a }, E::NoPort { requests: b }) => E::NoPort { requests: a + b },
        _ => return None,
    })
}

/// Counts by class, added up.
pub(crate) fn added(
    mut one: BTreeMap<ErrorClass, u64>,
    other: &BTreeMap<ErrorClass, u64>,
) -> BTreeMap<ErrorClass, u64> {
    for (class, count) in other {
        *one.entry(*class).or_default() += count;
    }
    one
}

/// Whether all generators took part to the end and began together; `window` is what was measured.
pub(crate) fn generators(shares: &[GeneratorShare], window: Nanos) -> Check {
    let lost: Vec<String> = shares
        .iter()
        .filter_map(|share| Some(format!("{} ({})", share.name, share.lost.as_ref()?)))
        .collect();
    let latest = shares.iter().max_by_key(|share| share.began_ns);
    let apart = apart(shares);
    let share = apart.0 as f64 / window.0.max(1) as f64;
    let outcome = match apart > APART_FLOOR {
        _ if !lost.is_empty() => CheckOutcome::Void,
        true if share > APART_LIMIT_VOID => CheckOutcome::Void,
        true if share > APART_LIMIT_WARN => CheckOutcome::Warn,
        _ => CheckOutcome::Pass,
    };
    let evidence = E::Generators {
        generators: shares.len() as u64,
        lost,
        apart_ns: apart,
        latest: latest.map(|share| share.name.clone()).unwrap_or_default(),
        clock_error_ns: shares.iter().map(|share| share.clock.error_ns).max().unwrap_or_default(),
    };
    Check { rule: Rule::Generators, outcome, evidence }
}

/// From the first generator's begin to the last one's.
fn apart(shares: &[GeneratorShare]) -> Nanos {
    let began = || shares.iter().filter_map(|share| share.began_ns);
    let (first, last) = (began().min().unwrap_or(0), began().max().unwrap_or(0));
    Nanos(last.abs_diff(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(name: &str, began_ns: i64) -> GeneratorShare {
        GeneratorShare { name: name.to_owned(), began_ns: Some(began_ns), ..GeneratorShare::default() }
    }

    #[test]
    fn beginning_apart_matters_by_the_length_of_the_window() {
        let second = Nanos::from_millis(1000);
        let outcome = |apart_us: i64, window| {
            generators(&[share("1", -100), share("2", apart_us * 1000 - 100)], window).outcome
        };
        assert_eq!(outcome(900, Nanos::from_millis(10)), CheckOutcome::Pass, "below the floor");
        assert_eq!(outcome(1001, second), CheckOutcome::Warn);
        assert_eq!(outcome(1001, Nanos::from_millis(10_000)), CheckOutcome::Pass);
        assert_eq!(outcome(10_100, second), CheckOutcome::Void);
    }

    #[test]
    fn who_was_lost_and_who_was_last_is_named() {
        let lost = GeneratorShare { lost: Some("killed".to_owned()), ..share("2", 0) };
        let check = generators(&[share("1", 0), lost, share("3", 7)], Nanos::from_millis(1000));
        let E::Generators { lost, latest, generators, .. } = check.evidence else { panic!("{check:?}") };
        assert_eq!(
            (check.outcome, lost, latest.as_str(), generators),
            (CheckOutcome::Void, vec!["2 (killed)".to_owned()], "3", 3)
        );
    }

    #[test]
    fn the_worst_of_all_stands_with_the_figures_of_all() {
        let offered = |due, sent, outcome| Check {
            rule: Rule::OfferedLoad,
            outcome,
            evidence: E::Offered { due, sent, given_up: 0 },
        };
        let answers = |ok, outcome| Check { rule: Rule::Answers, outcome, evidence: E::RightAnswers { ok } };
        let one = [answers(0, CheckOutcome::Void), offered(100, 50, CheckOutcome::Void)];
        let other = [answers(9, CheckOutcome::Pass), offered(100, 100, CheckOutcome::Pass)];
        assert_eq!(
            together(&[&one, &other]),
            [answers(9, CheckOutcome::Pass), offered(200, 150, CheckOutcome::Void)]
        );
    }
}
