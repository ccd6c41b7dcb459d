use assay_model::evidence::Withheld;
use assay_model::experiment::{Cell, Experiment, Measure};
use assay_model::family::Family;
use assay_model::record::{Measurement, Record};
use assay_model::verdict::{Call, Verdict};
use assay_model::workload::Workload;

use crate::testing;
use crate::testing::judged;

const EVEN: [f64; 6] = [1000.0, 1010.0, 995.0, 1004.0, 998.0, 1007.0];

/// A record in which `nginx` and the limit were measured in the same rounds: on each workload with so many times the
/// throughput of the kernel's network on the user-space one.
fn record(networks: [&str; 2], factors: &[(&str, f64)]) -> Record {
    let mut record = testing::record(&[("limit", &EVEN.map(|rate| rate * 4.0)), ("nginx", &EVEN)]);
    let measures = factors.iter().map(|(workload, _)| measure(workload, networks));
    record.experiment = Experiment::new("t", measures.collect());
    for round in &mut record.rounds {
        let kernels = std::mem::take(&mut round.runs);
        for run in kernels {
            for (index, name) in networks.iter().enumerate() {
                let network = Some(name.parse().expect("network"));
                let mut own = run.clone();
                own.network = network;
                own.cells = factors
                    .iter()
                    .map(|(workload, factor)| {
                        let factor = if index == 0 { 1.0 } else { *factor };
                        let cell = Cell { workload: (*workload).to_owned(), network, ..Cell::closed("", 64) };
                        scaled(&run.cells[0], cell, factor)
                    })
                    .collect();
                round.runs.push(own);
            }
        }
    }
    record
}

fn measure(workload: &str, networks: [&str; 2]) -> Measure {
    let networks = networks.map(|name| name.parse().expect("network")).to_vec();
    Measure { networks, ..Measure::capacity(workload, vec![64]) }
}

fn scaled(window: &Measurement, cell: Cell, factor: f64) -> Measurement {
    let per_second = window.load.window.ok as f64 * factor;
    Measurement { cell, load: testing::load_report(64, per_second), ..window.clone() }
}

fn verdict(networks: [&str; 2], factors: &[(&str, f64)]) -> Verdict {
    judged(&record(networks, factors))
}

#[test]
fn a_contender_is_compared_with_itself_on_the_other_stack() {
    let verdict = verdict(["kernel/veth", "user/xdp"], &[("hello", 2.5)]);
    let costs: Vec<_> = verdict.stack_cost.iter().map(|cost| cost.contender.as_str()).collect();
    assert_eq!(costs, ["limit", "nginx"]);
    let cost = &verdict.stack_cost[1];
    assert!(cost.same_wire && cost.kernel.to_string() == "kernel/veth");
    assert!(cost.ratio.is_some_and(|ratio| (ratio.estimate - 2.5).abs() < 0.01), "{cost:?}");
    assert_eq!((cost.call, cost.withheld.as_ref()), (Some(Call::Distinct), None));
    assert!(cost.p50_ratio.is_some_and(|ratio| (ratio - 0.4).abs() < 0.02), "{cost:?}");
}

#[test]
fn shares_of_the_limit_are_those_of_the_same_network() {
    let verdict = verdict(["kernel/loopback", "user/ring"], &[("hello", 10.0)]);
    assert!(verdict.stack_cost.iter().all(|cost| !cost.same_wire));
    for cell in &verdict.cells {
        let nginx = cell.standings.iter().find(|standing| standing.contender == "nginx").expect("nginx");
        let share = nginx.share_of_limit.expect("a limit on the same network").estimate;
        assert!((share - 0.25).abs() < 1e-3, "{} {share}", cell.cell);
        assert!(cell.pairs.is_empty(), "nobody is paired across networks");
    }
}

#[test]
fn networks_that_are_no_counterparts_are_not_compared() {
    assert!(verdict(["kernel/veth", "user/ring"], &[("hello", 2.0)]).stack_cost.is_empty());
    assert!(verdict(["kernel/veth", "kernel/loopback"], &[("hello", 2.0)]).stack_cost.is_empty());
}

#[test]
fn what_is_withheld_on_one_stack_has_no_ratio() {
    let mut record = record(["kernel/veth", "user/xdp"], &[("hello", 2.0)]);
    for run in record.rounds.iter_mut().flat_map(|round| &mut round.runs) {
        if run.contender == "nginx" && run.network.is_some_and(|network| network.to_string() == "user/xdp") {
            run.cells[0].machine.steal_share = 1.0;
        }
    }
    let cost = judged(&record).stack_cost.into_iter().find(|cost| cost.contender == "nginx").expect("told");
    assert_eq!((cost.ratio, cost.call), (None, None));
    assert!(matches!(cost.withheld, Some(Withheld::OnStack { user_space: true, .. })));
}

fn member(value: u32) -> Workload {
    let family = Family { name: "body".to_owned(), parameter: "bytes".to_owned(), value };
    Workload { name: format!("body-{value}"), family: Some(family), ..Workload::default() }
}

#[test]
fn a_crossing_lies_between_the_sizes_at_which_each_stack_is_shown_to_be_faster() {
    let sizes = [13, 1024, 8192, 16384, 65536];
    let factors =
        [("body-13", 3.0), ("body-1024", 2.0), ("body-8192", 1.0), ("body-16384", 0.5), ("body-65536", 0.2)];
    let mut record = record(["kernel/veth", "user/xdp"], &factors);
    record.workloads = sizes.map(member).to_vec();
    let verdict = judged(&record);
    let of_nginx: Vec<_> = verdict.crossings.iter().filter(|one| one.contender == "nginx").collect();
    let [crossing] = of_nginx.as_slice() else { panic!("{of_nginx:?}") };
    assert_eq!((crossing.after, crossing.before, crossing.user_is_faster_below), (1024, 16384, true));
    assert_eq!((crossing.family.as_str(), crossing.parameter.as_str()), ("body", "bytes"));
    let estimate = crossing.estimate.expect("both sides are known");
    assert!((8000.0..8400.0).contains(&estimate), "{estimate}");
}

#[test]
fn without_a_change_of_the_winner_there_is_no_crossing() {
    let mut record = record(["kernel/veth", "user/xdp"], &[("body-13", 3.0), ("body-1024", 2.0)]);
    record.workloads = [13, 1024].map(member).to_vec();
    let verdict = judged(&record);
    assert_eq!((verdict.stack_cost.len(), verdict.crossings.len()), (4, 0));
}
