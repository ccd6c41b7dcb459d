//! What the generator has to say about its own trustworthiness
//! (docs/method/generator.md#what-does-the-generator-check-of-itself): pure functions from observations to checks.

use assay_fleet::{Late, lag};
use assay_model::check::{Check, CheckOutcome};
use assay_model::evidence::{Evidence, InFlight};
use assay_model::load::{ErrorClass, StackCounts};
use assay_model::rule::Rule;
use assay_model::units::Nanos;

use crate::recorder::{Recorder, Waits};

/// A thread that is busier than this cannot keep a schedule.
const BUSY_LIMIT_OPEN: f64 = 0.80;

/// A thread that is busier than this may be what limits a closed loop.
const BUSY_LIMIT_CLOSED: f64 = 0.95;

/// Share of the time that a thread may wait for its CPU without a word.
const WAITING_LIMIT_WARN: f64 = 0.01;

/// Share of the time from which on its waiting voids a run: as much as others may take of a server's CPUs.
const WAITING_LIMIT_VOID: f64 = 0.10;

/// Waiting for less than this is nothing that a measurement could suffer from, however short it is.
const WAITING_FLOOR: Nanos = Nanos::from_millis(5);

/// Share of the requests that a closed loop should have in flight which it may keep back while it deals with answers. Where the
/// server is the slower side, N requests go round in N/X on average, X being its throughput, and what the generator keeps them
/// is missing in the service time: a share kept back makes it too short by that share. A twentieth is what any percentile may be
/// off for a late request. A sound window keeps back less than a fortieth.
const KEPT_BACK: f64 = 0.05;

/// Fewer requests than this are no other number in flight: of one or two connections the generator always keeps back a part.
const KEPT_BACK_FLOOR: f64 = 1.0;

/// Share of the requests that may need a connection of their own without a word: while one is made nothing is in flight on it, and
/// that does not depend on the generator's speed.
const REOPENED: f64 = 0.05;

/// A window is at least so many times as long as a response takes on average: else its throughput is as much a matter of where its
/// ends cut as of the server's speed.
const LEAST_RESPONSES: f64 = 10.0;

/// Share of the due requests that must have been sent in the window.
const OFFERED_SHARE: f64 = 0.999;

/// A window with fewer due requests may miss as many as one of this size.
const EDGE_REQUESTS: u64 = 2000;

/// Relative difference between both sides of Little's law that voids a run.
const LITTLE_LIMIT: f64 = 0.01;

/// What the checks are made from.
pub(crate) struct Observations<'a> {
    pub(crate) is_open: bool,
    /// Length of all windows together.
    pub(crate) window: Nanos,
    /// Length of the shortest of them; absent where a number of requests was asked for instead of a time.
    pub(crate) shortest: Option<Nanos>,
    pub(crate) recorder: &'a Recorder,
    pub(crate) busy_shares: &'a [f64],
    /// Share of the window in which each thread could have run but another one had its CPU.
    pub(crate) waiting_shares: &'a [f64],
    /// Times that a thread was taken off its CPU.
    pub(crate) involuntary_switches: u64,
    pub(crate) intended_in_window: u64,
    pub(crate) given_up: u64,
    pub(crate) mean_in_flight: Option<f64>,
    /// What a closed loop has in flight at least between two of its turns, if nothing of it is the generator's own delay;
    /// absent where something else sets that number.
    pub(crate) in_flight_wanted: Option<f64>,
    /// Connections asked for.
    pub(crate) connections: u32,
    /// Connections made.
    pub(crate) opened: u64,
    /// Our own TCP stack, if it worked.
    pub(crate) stack: Option<&'a StackCounts>,
}

/// All rules that apply, in a fixed order.
pub(crate) fn all(observed: &Observations<'_>) -> Vec<Check> {
    let mut checks = vec![
        answers(observed),
        saturation(observed),
        disturbance(observed),
        failures(observed),
        unfinished(observed),
    ];
    if observed.is_open {
        checks.extend([send_lag(observed), offered_load(observed)]);
    }
    let wanted = observed.in_flight_wanted.filter(|_| are_connections_kept(observed));
    checks.extend(wanted.map(|wanted| in_flight(observed, wanted)));
    checks.extend(observed.shortest.and_then(|shortest| window_length(observed, shortest)));
    checks.extend([
        littles_law(observed),
        unsolicited(observed),
        connections(observed),
        local_ports(observed),
    ]);
    checks.extend(observed.stack.map(retransmissions));
    checks
}

/// A window without a single right answer has measured nothing.
fn answers(observed: &Observations<'_>) -> Check {
    let ok = observed.recorder.window.ok;
    check(Rule::Answers, ok == 0, CheckOutcome::Void, Evidence::RightAnswers { ok })
}

/// Whether a thread of the generator was the limit. For a closed loop only the runner can tell, who sees the server's CPUs
/// too: a warning is evidence for it.
fn saturation(observed: &Observations<'_>) -> Check {
    let busiest = observed.busy_shares.iter().copied().fold(0.0, f64::max);
    let (limit, outcome) = match observed.is_open {
        true => (BUSY_LIMIT_OPEN, CheckOutcome::Void),
        false => (BUSY_LIMIT_CLOSED, CheckOutcome::Warn),
    };
    let seen = Evidence::BusiestThread { busy_share: busiest };
    check(Rule::GeneratorSaturated, busiest > limit, outcome, seen)
}

/// Whether other programs had the generator's CPUs while it wanted them.
fn disturbance(observed: &Observations<'_>) -> Check {
    let longest = observed.waiting_shares.iter().copied().fold(0.0, f64::max);
    let outcome = if longest > WAITING_LIMIT_VOID { CheckOutcome::Void } else { CheckOutcome::Warn };
    let seen = Evidence::ThreadWaited {
        waiting_share: longest,
        involuntary_switches: observed.involuntary_switches,
        beside_database: false,
        beside_upstream: false,
        beside_server: None,
    };
    let is_long = longest * observed.window.0 as f64 > WAITING_FLOOR.0 as f64;
    check(Rule::GeneratorDisturbed, is_long && longest > WAITING_LIMIT_WARN, outcome, seen)
}

/// Requests that failed never count as throughput, but the server did other work than intended.
fn failures(observed: &Observations<'_>) -> Check {
    let window = &observed.recorder.window;
    let seen = Evidence::Failures { ok: window.ok, errors: window.errors() };
    check(Rule::Failures, window.failed() > 0, CheckOutcome::Warn, seen)
}

/// Requests without an end have a latency that is only known to be long. What was due in the window and never sent is among the times,
/// too, so these tell of how many percentiles are bounds.
fn unfinished(observed: &Observations<'_>) -> Check {
    let Recorder { censored, times, total, .. } = observed.recorder;
    let unsent = total.errors().get(&ErrorClass::UnsentEnd).copied().unwrap_or_default();
    let unanswered = (*censored).max(times.censored.count());
    let seen = Evidence::Unanswered { unanswered, requests: unanswered + times.service.count() };
    check(Rule::Unfinished, censored + unsent > 0, CheckOutcome::Warn, seen)
}

/// Requests that left late. Both ends of a response time are known then, from the moment it was due and from the one when it
/// left, and the truth lies between: only a percentile at which they differ is not known. Which these are follows from the
/// histograms again wherever one is printed.
fn send_lag(observed: &Observations<'_>) -> Check {
    let recorder = observed.recorder;
    let nothing = Waits::default();
    let waits = recorder.waits.as_ref().unwrap_or(&nothing);
    let (seen, is_unknown) = lag(&Late {
        response: &waits.response,
        response_from_sent: &waits.response_from_sent,
        censored: &recorder.times.censored,
        client_lag: &waits.client_lag,
    });
    check(Rule::SendLag, is_unknown, CheckOutcome::Warn, seen)
}

/// Whether requests went one after another on the connections that were asked for. Where a server closes them, or requests fail, what
/// is in flight is a matter of how long it takes to connect again.
fn are_connections_kept(observed: &Observations<'_>) -> bool {
    let total = &observed.recorder.total;
    let reopened = observed.opened.saturating_sub(u64::from(observed.connections)) as f64;
    total.failed() == 0 && reopened <= REOPENED * total.ok as f64
}

/// Whether a closed loop had in flight what it is said to have. What the generator takes between an answer and the next
/// request is missing, and then the times are those at fewer in flight.
fn in_flight(observed: &Observations<'_>, wanted: f64) -> Check {
    let mean = observed.mean_in_flight.unwrap_or(0.0);
    let is_short = wanted - mean > (wanted * KEPT_BACK).max(KEPT_BACK_FLOOR);
    let greatest = |shares: &[f64]| Some(shares.iter().copied().fold(0.0, f64::max));
    let (busy_share, waiting_share) = (greatest(observed.busy_shares), greatest(observed.waiting_shares));
    let seen = Evidence::InFlight(InFlight { mean, wanted, busy_share, waiting_share });
    check(Rule::InFlight, is_short, CheckOutcome::Warn, seen)
}

/// Whether a window is many times as long as a response, wrong ones and those that were given up included. Absent where nothing was sent.
fn window_length(observed: &Observations<'_>, shortest: Nanos) -> Option<Check> {
    let times = &observed.recorder.times;
    let mut all = times.service.clone();
    all.merge(&times.wrong);
    all.merge(&times.censored);
    let (mean, length) = (all.mean()?, shortest.0 as f64);
    let seen = Evidence::WindowLength { responses: length / mean.max(1.0), mean_ns: Nanos(mean as u64) };
    Some(check(Rule::WindowLength, length < LEAST_RESPONSES * mean, CheckOutcome::Warn, seen))
}

fn offered_load(observed: &Observations<'_>) -> Check {
    let (intended, sent) = (observed.intended_in_window, observed.recorder.flow.entered_in_window());
    // A request that was due just before the end may be sent just after it.
    let missing = intended.saturating_sub(sent) as f64;
    let short = missing > (1.0 - OFFERED_SHARE) * intended.max(EDGE_REQUESTS) as f64 || observed.given_up > 0;
    let seen = Evidence::Offered { due: intended, sent, given_up: observed.given_up };
    check(Rule::OfferedLoad, short, CheckOutcome::Void, seen)
}

/// Little's law, L = λW: the mean number in flight, integrated over time, against throughput times mean latency, with the
/// parts of latencies that lie outside the window left out on both sides. Both sides are made of the same two stamps of each
/// request, so this proves that none was lost or counted twice, and nothing about when the stamps were taken. The latencies are those of
/// the requests that ended in the window; the histograms hold those that began in it.
fn littles_law(observed: &Observations<'_>) -> Check {
    let recorder = observed.recorder;
    let lambda_w = recorder.edges.apply(recorder.ended_ns) / observed.window.0.max(1) as f64;
    let l = observed.mean_in_flight.unwrap_or(0.0);
    let difference = if l > 0.0 { (l - lambda_w).abs() / l } else { 0.0 };
    let seen = Evidence::LittlesLaw { in_flight: l, throughput_times_latency: lambda_w };
    check(Rule::LittlesLaw, difference > LITTLE_LIMIT, CheckOutcome::Void, seen)
}

fn unsolicited(observed: &Observations<'_>) -> Check {
    let connections = observed.recorder.unsolicited;
    check(Rule::UnsolicitedBytes, connections > 0, CheckOutcome::Warn, Evidence::Unsolicited { connections })
}

fn connections(observed: &Observations<'_>) -> Check {
    let (asked, opened) = (u64::from(observed.connections), observed.opened);
    check(Rule::Connections, opened < asked, CheckOutcome::Warn, Evidence::Connections { asked, opened })
}

/// Without a free local port nothing is sent, which is no fault of the server's.
fn local_ports(observed: &Observations<'_>) -> Check {
    let requests = observed.recorder.total.count(ErrorClass::AddressExhausted);
    check(Rule::LocalPorts, requests > 0, CheckOutcome::Void, Evidence::NoPort { requests })
}

/// Where nothing is lost, a retransmission timer that ran out is a stall of one of the two ends, and of a second at least.
fn retransmissions(stack: &StackCounts) -> Check {
    let seen = Evidence::Retransmissions {
        wire: stack.wire.clone(),
        timeouts: stack.retransmission_timeouts,
        segments: stack.retransmitted_segments,
        windows: None,
    };
    check(Rule::Retransmissions, stack.has_stalled(), CheckOutcome::Void, seen)
}

fn check(rule: Rule, objection: bool, outcome: CheckOutcome, evidence: Evidence) -> Check {
    Check { rule, outcome: if objection { outcome } else { CheckOutcome::Pass }, evidence }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspection::Depth;
    use crate::slot::Flight;
    use chacha20::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    const WINDOW: Nanos = Nanos(1_000_000);

    fn recorder(is_open: bool) -> Recorder {
        let mut recorder = Recorder::new(is_open, Nanos(1000));
        recorder.begin(Nanos::ZERO, WINDOW, Nanos::ZERO);
        recorder
    }

    fn observed<'a>(is_open: bool, recorder: &'a Recorder, busy_shares: &'a [f64]) -> Observations<'a> {
        Observations {
            is_open,
            window: WINDOW,
            shortest: Some(WINDOW),
            recorder,
            busy_shares,
            waiting_shares: &[0.0],
            involuntary_switches: 0,
            intended_in_window: recorder.flow.entered_in_window(),
            given_up: 0,
            in_flight_wanted: (!is_open).then_some(1.0),
            mean_in_flight: recorder.flow.mean_in_flight(WINDOW),
            connections: 1,
            opened: 1,
            stack: None,
        }
    }

    fn outcome(checks: &[Check], rule: Rule) -> CheckOutcome {
        let check = checks.iter().find(|check| check.rule == rule).unwrap();
        check.outcome
    }

    /// Back-to-back requests of 1 µs, each late by `lag`.
    fn traffic(is_open: bool, lag: u64) -> Recorder {
        let mut recorder = recorder(is_open);
        for i in 0..999u64 {
            let at = Nanos(i * 1000 + lag);
            let flight = Flight {
                intended: Nanos(i * 1000),
                noticed: at,
                issued: at,
                sent: at,
                first_byte: at,
                ..Flight::default()
            };
            recorder.sent(flight.sent);
            recorder.succeeded(&flight, at + Nanos(1000), 0, Depth::Whole);
        }
        recorder
    }

    #[test]
    fn a_sound_run_passes_everything() {
        for is_open in [false, true] {
            let recorder = traffic(is_open, 0);
            let checks = all(&observed(is_open, &recorder, &[0.5, 0.79]));
            assert!(checks.iter().all(|check| check.outcome == CheckOutcome::Pass), "{checks:?}");
        }
    }

    #[test]
    fn a_busy_generator_voids_an_open_run_and_is_evidence_in_a_closed_one() {
        let recorder = recorder(true);
        assert_eq!(
            outcome(&all(&observed(true, &recorder, &[0.1, 0.81])), Rule::GeneratorSaturated),
            CheckOutcome::Void
        );
        assert_eq!(
            outcome(&all(&observed(false, &recorder, &[0.81])), Rule::GeneratorSaturated),
            CheckOutcome::Pass
        );
        assert_eq!(
            outcome(&all(&observed(false, &recorder, &[0.96])), Rule::GeneratorSaturated),
            CheckOutcome::Warn
        );
    }

    #[test]
    fn a_generator_that_must_wait_for_its_cpu_is_told() {
        let recorder = recorder(false);
        for (share, expected) in
            [(0.009, CheckOutcome::Pass), (0.02, CheckOutcome::Warn), (0.11, CheckOutcome::Void)]
        {
            let shares = [0.0, share];
            let waiting = |window| {
                let observed =
                    Observations { waiting_shares: &shares, window, ..observed(false, &recorder, &[0.1]) };
                outcome(&all(&observed), Rule::GeneratorDisturbed)
            };
            assert_eq!((waiting(Nanos::from_millis(1000)), waiting(WINDOW)), (expected, CheckOutcome::Pass));
        }
    }

    #[test]
    fn want_of_ports_voids() {
        let mut recorder = traffic(false, 0);
        recorder.failed_unsent(ErrorClass::AddressExhausted, 1, Nanos(5));
        assert_eq!(outcome(&all(&observed(false, &recorder, &[0.1])), Rule::LocalPorts), CheckOutcome::Void);
    }

    #[test]
    fn a_timer_that_ran_out_voids_where_nothing_is_lost() {
        let recorder = traffic(false, 0);
        for (lossless, timeouts, expected) in
            [(true, 0, CheckOutcome::Pass), (true, 1, CheckOutcome::Void), (false, 1, CheckOutcome::Pass)]
        {
            let stack = StackCounts { lossless, retransmission_timeouts: timeouts, ..StackCounts::default() };
            let observed = Observations { stack: Some(&stack), ..observed(false, &recorder, &[0.1]) };
            assert_eq!(
                outcome(&all(&observed), Rule::Retransmissions),
                expected,
                "{timeouts} timers, {lossless}"
            );
        }
    }

    #[test]
    fn a_late_generator_spoils_short_times() {
        let (late, in_time) = (traffic(true, 51_000), traffic(true, 49_000));
        assert_eq!(outcome(&all(&observed(true, &late, &[0.1])), Rule::SendLag), CheckOutcome::Warn);
        assert_eq!(outcome(&all(&observed(true, &in_time, &[0.1])), Rule::SendLag), CheckOutcome::Pass);
    }

    /// 120,000 requests through a queue with exponential gaps and service times, of which the slowest hundredth takes 15 ms and
    /// more; `lag` tells of each how late it left.
    fn queue(lag: impl Fn(u64) -> u64) -> Recorder {
        let mut recorder = Recorder::new(true, Nanos::from_millis(300_000));
        recorder.begin(Nanos::ZERO, Nanos::from_millis(300_000), Nanos::ZERO);
        let mut random = ChaCha8Rng::seed_from_u64(15);
        let mut exponential = |mean_ns: f64| (-mean_ns * (1.0 - random.random::<f64>()).ln()) as u64;
        let (mut due, mut free) = (0, 0);
        for i in 0..120_000 {
            due += exponential(1e6 / 0.7);
            let left = Nanos(due + lag(i));
            free = free.max(left.0) + exponential(1e6);
            let flight = Flight {
                intended: Nanos(due),
                noticed: left,
                issued: left,
                sent: left,
                first_byte: left,
                ..Flight::default()
            };
            recorder.sent(left);
            recorder.succeeded(&flight, Nanos(free), 0, Depth::Whole);
        }
        recorder
    }

    #[test]
    fn lag_spoils_only_the_percentiles_that_it_changes() {
        let spoilt = |recorder: &Recorder| {
            let checks = all(&observed(true, recorder, &[0.1]));
            let check = checks.into_iter().find(|check| check.rule == Rule::SendLag).unwrap();
            let Evidence::SendLag { unknown, .. } = check.evidence else { panic!("{check:?}") };
            unknown
        };
        // 306 us at the 99th percentile of lag, against 2.3 ms at the median and 15 ms at the 99th percentile.
        let seldom = queue(|i| if i % 50 == 0 { 306_000 } else { 4_000 });
        assert!(spoilt(&seldom).is_empty());
        assert_eq!(outcome(&all(&observed(true, &seldom, &[0.1])), Rule::SendLag), CheckOutcome::Pass);
        let always = queue(|_| 600_000);
        assert_eq!(spoilt(&always), [0.5, 0.9]);
        let checks = all(&observed(true, &always, &[0.1]));
        let check = checks.iter().find(|check| check.rule == Rule::SendLag).unwrap();
        assert!(
            check.outcome == CheckOutcome::Warn
                && matches!(&check.evidence, Evidence::SendLag { unknown, .. } if unknown == &[0.5, 0.9]),
            "{check:?}"
        );
    }

    #[test]
    fn a_closed_loop_that_keeps_requests_back_is_told() {
        let recorder = traffic(false, 0);
        let told = |mean, wanted| {
            let of = Observations {
                mean_in_flight: Some(mean),
                in_flight_wanted: Some(wanted),
                ..observed(false, &recorder, &[0.1])
            };
            outcome(&all(&of), Rule::InFlight)
        };
        let reopened = Observations {
            mean_in_flight: Some(0.1),
            in_flight_wanted: Some(64.0),
            opened: 700,
            ..observed(false, &recorder, &[0.1])
        };
        assert!(
            all(&reopened).iter().all(|check| check.rule != Rule::InFlight),
            "it is a matter of connecting"
        );
        let seldom = Observations { opened: 30, ..reopened };
        assert_eq!(outcome(&all(&seldom), Rule::InFlight), CheckOutcome::Warn);
        assert_eq!((told(61.0, 64.0), told(60.5, 64.0)), (CheckOutcome::Pass, CheckOutcome::Warn));
        assert_eq!(
            (told(0.8, 1.0), told(7.1, 8.0), told(6.9, 8.0)),
            (CheckOutcome::Pass, CheckOutcome::Pass, CheckOutcome::Warn)
        );
    }

    #[test]
    fn a_window_that_is_not_many_times_a_response_is_told() {
        // Each takes a thousandth of the window.
        let recorder = traffic(false, 0);
        for (length, expected) in [(10_000, CheckOutcome::Pass), (9_000, CheckOutcome::Warn)] {
            let observed =
                Observations { shortest: Some(Nanos(length)), ..observed(false, &recorder, &[0.1]) };
            assert_eq!(outcome(&all(&observed), Rule::WindowLength), expected, "{length}");
        }
        let counted = Observations { shortest: None, ..observed(false, &recorder, &[0.1]) };
        assert!(all(&counted).iter().all(|check| check.rule != Rule::WindowLength));
    }

    /// Of some answers that are wrong in no time and one that never came, the latter alone is no typical response.
    #[test]
    fn wrong_answers_are_responses_and_failures_set_no_number_in_flight() {
        let mut recorder = recorder(false);
        let ends = |from: u64, to: u64| (Flight { sent: Nanos(from), ..Flight::default() }, Nanos(to));
        let all_ends = (0..500).map(|n| ends(n * 1000, n * 1000 + 100));
        for (flight, end) in all_ends {
            recorder.sent(flight.sent);
            recorder.failed(&flight, ErrorClass::UnexpectedStatus, end);
        }
        let (flight, end) = ends(500_000, 5_500_000);
        recorder.sent(flight.sent);
        recorder.failed(&flight, ErrorClass::HeadTimeout, end);
        assert_eq!((recorder.times.wrong.count(), recorder.times.censored.count()), (500, 1));
        let checks = all(&observed(false, &recorder, &[0.1]));
        let found = checks.iter().find(|check| check.rule == Rule::WindowLength).expect("told");
        let Evidence::WindowLength { mean_ns, .. } = found.evidence else { panic!("{found:?}") };
        assert!((9_000..11_000).contains(&mean_ns.0) && found.outcome == CheckOutcome::Pass, "{found:?}");
        assert!(checks.iter().all(|check| check.rule != Rule::InFlight), "{checks:?}");
    }

    #[test]
    fn a_load_that_was_not_offered_voids_an_open_run() {
        let recorder = traffic(true, 0);
        let due = |n| Observations { intended_in_window: n, ..observed(true, &recorder, &[0.1]) };
        assert_eq!(outcome(&all(&due(1001)), Rule::OfferedLoad), CheckOutcome::Pass, "at the window's edge");
        assert_eq!(outcome(&all(&due(1002)), Rule::OfferedLoad), CheckOutcome::Void);
        let given_up = Observations { given_up: 1, ..observed(true, &recorder, &[0.1]) };
        assert_eq!(outcome(&all(&given_up), Rule::OfferedLoad), CheckOutcome::Void);
    }

    #[test]
    fn little_finds_requests_that_the_histograms_do_not_know() {
        for is_open in [false, true] {
            let mut recorder = traffic(is_open, 0);
            (0..20).for_each(|_| recorder.sent(Nanos(1000)));
            assert_eq!(
                outcome(&all(&observed(is_open, &recorder, &[0.1])), Rule::LittlesLaw),
                CheckOutcome::Void
            );
        }
    }

    #[test]
    fn failures_and_unfinished_requests_are_told() {
        let mut recorder = traffic(false, 0);
        recorder.failed_unsent(ErrorClass::ConnectRefused, 1, Nanos(5));
        recorder.censored = 1;
        recorder.unsolicited = 1;
        let observed = Observations { opened: 0, ..observed(false, &recorder, &[0.1]) };
        for rule in [Rule::Failures, Rule::Unfinished, Rule::UnsolicitedBytes, Rule::Connections] {
            assert_eq!(outcome(&all(&observed), rule), CheckOutcome::Warn, "{rule}");
        }
    }
}
