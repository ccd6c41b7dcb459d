//! Figures of others beside ours, and shares answered in time, for the made-up run.

use assay_model::evidence::{Proportion, Withheld};
use assay_model::experiment::Cell;
use assay_model::network::{Network, Spec};
use assay_model::published::Figures;
use assay_model::rule::Rule;
use assay_model::verdict::{AnsweredStanding, AnsweredVerdict, Beside, BesideRow, Interval};

use crate::support::ROUNDS;

fn about(estimate: f64) -> Option<Interval> {
    Some(Interval { estimate, low: estimate * 0.98, high: estimate * 1.02, confidence: 0.95 })
}

/// Four published rows, one of them without a contender and one not run, and one contender that is ours alone.
pub(crate) fn figures() -> Beside {
    let row = |title: &str, contender: Option<&str>, theirs: Option<f64>, ours: Option<f64>| BesideRow {
        title: title.to_owned(),
        contender: contender.map(str::to_owned),
        network: None,
        values: vec![theirs.map(|ratio| ratio * 18_532.0), theirs.map(|ratio| ratio * 18_675.0)],
        ratio_to_baseline: vec![theirs; 2],
        ours: vec![ours.and_then(|ratio| about(ratio * 33_500.0)); 2],
        our_ratio: vec![ours.and_then(about); 2],
        not_run: ours.is_none().then(|| "no contender here".to_owned()),
        withheld: None,
    };
    Beside {
        source: "A talk of 2015: two cores, 1 Gbit/s Ethernet".to_owned(),
        quantity: "requests per second".to_owned(),
        figures: Figures::Throughput,
        baseline: Some("node".to_owned()),
        network: Network::kernel(Spec::Loopback),
        columns: vec!["50".to_owned(), "1000".to_owned()],
        rows: vec![
            row("Node.js", Some("node"), Some(1.0), Some(1.0)),
            row("Go (Gin)", Some("gin"), Some(3.2), Some(1.83)),
            row("Vert.x | 3", Some("vertx"), Some(4.36), None),
            row("Over DPDK", None, Some(7.3), None),
            BesideRow {
                network: Some(Network::user(Spec::Loopback)),
                ..row("nginx", Some("nginx"), None, Some(2.33))
            },
        ],
    }
}

/// One that answers soon, one that lets some wait for ever, and one whose windows do not count.
pub(crate) fn answered() -> Vec<AnsweredVerdict> {
    let standing = |name: &str, shares: [f64; 4], unanswered: u64| AnsweredStanding {
        contender: name.to_owned(),
        rounds: ROUNDS,
        shares: shares.iter().copied().filter_map(about).collect(),
        slowest_ns: Some(1.26e9),
        requests: 13_000 * u64::from(ROUNDS),
        unanswered,
        checks: Vec::new(),
        withheld: None,
    };
    let withheld = AnsweredStanding {
        shares: Vec::new(),
        slowest_ns: None,
        withheld: Some(Withheld::FewWindows { windows: Proportion::new(2, 6), rules: vec![Rule::Steal] }),
        ..standing("gin", [0.0; 4], 0)
    };
    let standings = vec![
        standing("nginx", [0.02, 0.31, 0.68, 1.0], 0),
        standing("node", [0.0, 0.1, 0.4, 0.97], 2340),
        withheld,
    ];
    let cell =
        Cell { offered: "13000 requests".parse().unwrap_or_default(), ..Cell::closed("index", 10_000) };
    vec![AnsweredVerdict { cell, within_ms: vec![10.0, 50.0, 100.0, 1000.0], standings }]
}
