//! What a proxy costs, in records made up for it.

use assay_model::evidence::Evidence;
use assay_model::load::{Arrival, ErrorClass, LoadTurn};
use assay_model::record::{Run, Turn};
use assay_model::units::Nanos;
use assay_model::upstream::{Upstream, UpstreamUsage};
use assay_model::usage::Usage;
use assay_model::verdict::{Call, LimitedBy, Verdict};
use assay_stats::Histogram;

use super::*;
use crate::testing;

const EVEN: [f64; 6] = [1000.0, 1010.0, 995.0, 1004.0, 998.0, 1007.0];

/// The reference server alone at four times the rate of a proxy before it, which gets all answers from its upstream.
fn record() -> Record {
    let mut record = testing::record(&[("limit", &EVEN.map(|rate| rate * 4.0)), ("nginx-proxy", &EVEN)]);
    record.upstream =
        Some(Upstream { contender: "limit".to_owned(), cpus: "0".to_owned(), beside_generator: true });
    record.contenders[1].identity.kind = Kind::Proxy;
    for window in proxys(&mut record).flat_map(|run| &mut run.cells) {
        let usage = Usage { user_ns: Nanos::from_millis(200), ..Usage::default() };
        let requests = Some(window.load.books.ok);
        window.upstream = Some(UpstreamUsage { usage, beside_generator: true, requests });
    }
    record
}

fn proxys(record: &mut Record) -> impl Iterator<Item = &mut Run> {
    record.rounds.iter_mut().flat_map(|round| &mut round.runs).filter(|run| run.contender == "nginx-proxy")
}

/// Adds a window at a rate in each round and one straight to the upstream: 10,000 responses, a fiftieth of them slower.
fn offer(record: &mut Record, straight_us: impl Fn(u64) -> u64, added_us: impl Fn(u64) -> u64) {
    let cell = Cell { offered: "10000/s".parse().expect("load"), ..Cell::closed("hello", 64) };
    record.experiment.measures[0].rates = vec![Default::default(), cell.offered];
    for (round, run) in (0..).zip(proxys(record)) {
        let mut through = run.cells[0].clone();
        through.cell = cell.clone();
        through.load.arrival = Arrival::Poisson { per_second: 10_000.0 };
        let mut straight = through.clone();
        respond(&mut straight, straight_us(round));
        respond(&mut through, straight_us(round) + added_us(round));
        through.straight = Some(Box::new(straight));
        run.cells.push(through);
    }
}

fn respond(window: &mut Measurement, us: u64) {
    let mut histogram = Histogram::new();
    histogram.record_n(us * 1000, 9_800);
    histogram.record_n(us * 3000, 200);
    let coded = Some(histogram.to_hdr_base64().expect("histogram"));
    window.load.latency.response_hdr.clone_from(&coded);
    window.load.latency.response_from_sent_hdr = coded;
}

fn only<T>(mut of: Vec<T>) -> T {
    assert_eq!(of.len(), 1);
    of.remove(0)
}

fn of_proxy(verdict: &Verdict) -> &Standing {
    let standings = &verdict.cells[0].standings;
    standings.iter().find(|standing| standing.contender == "nginx-proxy").expect("a standing")
}

#[test]
fn a_proxy_is_compared_with_the_server_behind_it_alone_and_their_cpu_times_are_told_apart() {
    let verdict = testing::judged(&record());
    let cost = only(verdict.proxy_cost.clone());
    assert_eq!((cost.contender.as_str(), cost.straight.as_str()), ("nginx-proxy", "limit"));
    assert!(cost.ratio.is_some_and(|ratio| (ratio.estimate - 0.25).abs() < 0.005), "{cost:?}");
    assert_eq!((cost.call, &cost.withheld), (Some(Call::Distinct), &None));
    let (own, upstream) =
        (cost.cpu_per_request_ns.expect("own"), cost.upstream_cpu_per_request_ns.expect("its"));
    assert!((own / upstream / (990.0 / 200.0) - 1.0).abs() < 0.01, "{own} {upstream}");
    assert_eq!(verdict.added_latency, []);
}

#[test]
fn load_that_leads_in_is_no_part_of_what_an_answer_costs() {
    let mut record = record();
    for window in proxys(&mut record).flat_map(|run| &mut run.cells) {
        let answered = window.load.books.ok;
        let load =
            LoadTurn { answered, ok: answered, window_ns: window.load.window_ns, ..LoadTurn::default() };
        window.turns = vec![Turn { load, ..Turn::default() }];
        // As much again came before the first turn.
        window.load.books.ok *= 2;
        window.load.books.issued *= 2;
        let upstream = window.upstream.as_mut().expect("upstream");
        upstream.requests = Some(window.load.books.ok);
    }
    let cost = only(testing::judged(&record).proxy_cost);
    let (own, upstream) =
        (cost.cpu_per_request_ns.expect("own"), cost.upstream_cpu_per_request_ns.expect("its"));
    assert!(
        (own / 990_000.0 - 1.0).abs() < 0.02 && (upstream / 200_000.0 - 1.0).abs() < 0.02,
        "{own} {upstream}"
    );
}

#[test]
fn a_proxy_that_answers_by_itself_is_found_by_its_upstreams_count() {
    let mut spoilt = record();
    for upstream in
        proxys(&mut spoilt).flat_map(|run| &mut run.cells).filter_map(|window| window.upstream.as_mut())
    {
        upstream.requests = upstream.requests.map(|requests| requests / 2);
    }
    let verdict = testing::judged(&spoilt);
    let standing = of_proxy(&verdict);
    let Some(Withheld::Void { check }) = &standing.withheld else { panic!("{:?}", standing.withheld) };
    assert!(
        matches!(check.evidence, Evidence::AnsweredByItself { answers, of } if answers * 2 >= of && of > 6000),
        "{check:?}"
    );
    assert!(matches!(only(verdict.proxy_cost).withheld, Some(Withheld::Void { .. })));
    // One more than was answered is a request that failed, or was sent twice.
    let mut honest = record();
    for upstream in
        proxys(&mut honest).flat_map(|run| &mut run.cells).filter_map(|window| window.upstream.as_mut())
    {
        upstream.requests = upstream.requests.map(|requests| requests + 3);
    }
    assert_eq!(of_proxy(&testing::judged(&honest)).withheld, None);
}

#[test]
fn what_a_proxy_adds_is_the_difference_of_each_pair_whatever_a_round_does_to_both() {
    let mut record = record();
    // From round to round the machine is twice as slow; the proxy always adds about 100 us.
    offer(&mut record, |round| 100 * (1 + round % 2), |round| 100 + round);
    let added = only(testing::judged(&record).added_latency);
    assert_eq!((added.pairs, added.offered_per_second), (6, 10_000.0));
    let told: Vec<f64> = added.quantiles.iter().map(|of| of.quantile).collect();
    assert_eq!(told, [0.5, 0.9, 0.99], "only 10 of 10,000 lie beyond the 99.9th percentile");
    let median = &added.quantiles[0];
    assert!((median.added_ns.estimate / 102_500.0 - 1.0).abs() < 0.03, "{median:?}");
    assert!(median.added_ns.low > 95_000.0 && median.added_ns.high < 110_000.0, "{median:?}");
    assert!((median.straight_ns / 150_000.0 - 1.0).abs() < 0.03, "{median:?}");
}

#[test]
fn what_the_generator_was_late_widens_the_interval() {
    let mut record = record();
    offer(&mut record, |_| 100, |_| 100);
    for window in proxys(&mut record).map(|run| &mut run.cells[1]) {
        let mut sent = Histogram::new();
        sent.record_n(170_000, 10_000);
        window.load.latency.response_from_sent_hdr = Some(sent.to_hdr_base64().expect("histogram"));
    }
    let median = only(testing::judged(&record).added_latency).quantiles.remove(0).added_ns;
    assert!((median.estimate / 100_000.0 - 1.0).abs() < 0.03, "{median:?}");
    assert!((median.low / 70_000.0 - 1.0).abs() < 0.05 && median.high < 103_000.0, "{median:?}");
}

#[test]
fn a_straight_window_that_does_not_count_spoils_its_pair_and_failures_withhold_all() {
    let mut few = record();
    offer(&mut few, |_| 100, |_| 100);
    for window in proxys(&mut few).take(4).map(|run| &mut run.cells[1]) {
        window.straight.as_mut().expect("straight").machine.steal_share = 0.5;
    }
    let added = only(testing::judged(&few).added_latency);
    assert_eq!((added.pairs, added.quantiles.len()), (2, 0));
    assert!(matches!(added.withheld, Some(Withheld::FewWindows { .. })), "{added:?}");

    let mut failing = record();
    offer(&mut failing, |_| 100, |_| 100);
    for window in proxys(&mut failing).map(|run| &mut run.cells[1]) {
        window.load.books.errors.insert(ErrorClass::UnexpectedStatus, 100);
    }
    let added = only(testing::judged(&failing).added_latency);
    assert!(matches!(added.withheld, Some(Withheld::Void { .. })), "{added:?}");
}

#[test]
fn an_upstream_that_uses_all_that_the_generator_leaves_is_the_limit() {
    let mut record = record();
    for window in proxys(&mut record).flat_map(|run| &mut run.cells) {
        let half = Nanos(window.load.window_ns.0 / 2);
        window.server = Some(Usage { user_ns: Nanos(half.0 / 2), ..Usage::default() });
        window.machine.server_idle_share = 0.7;
        let upstream = window.upstream.as_mut().expect("upstream");
        (upstream.usage.user_ns, upstream.usage.system_ns) = (half, Nanos::ZERO);
    }
    let verdict = testing::judged(&record);
    assert_eq!(of_proxy(&verdict).limited_by, LimitedBy::Upstream, "{:?}", of_proxy(&verdict).limit_evidence);
}
