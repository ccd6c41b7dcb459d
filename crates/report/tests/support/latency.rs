//! Response times for the made-up run.

use assay_model::evidence::{Proportion, Withheld};
use assay_model::experiment::Cell;
use assay_model::rule::Rule;
use assay_model::verdict::{
    Interval, LatencyStanding, LatencyVerdict, RedlineEnd, RedlineStanding, RedlineVerdict, ResponseQuantile,
};

use crate::support::ROUNDS;

/// What the made-up contenders would answer at half of their own capacity and at one rate for all.
pub(crate) fn latency() -> Vec<LatencyVerdict> {
    let quantile = |quantile: f64, ms: f64| ResponseQuantile {
        quantile,
        response_ns: Interval { estimate: ms * 1e6, low: ms * 0.9e6, high: ms * 1.2e6, confidence: 0.969 },
        is_lower_bound: ms > 1000.0,
    };
    let standing = |name: &str, slowness: f64| LatencyStanding {
        contender: name.to_owned(),
        offered_per_second: Some(30_500.0),
        share_of_capacity: Some(0.39 * slowness),
        rounds: ROUNDS,
        quantiles: vec![
            quantile(0.5, 0.11 * slowness),
            quantile(0.9, 0.21),
            quantile(0.99, 0.34 * slowness.powi(20)),
        ],
        energy: None,
        failed: 0,
        checks: Vec::new(),
        withheld: (name == "gin")
            .then(|| Withheld::FewWindows { windows: Proportion::new(2, 6), rules: vec![Rule::SendLag] }),
    };
    let of = |load: &str| LatencyVerdict {
        cell: Cell { offered: load.parse().unwrap_or_default(), ..Cell::closed("hello", 64) },
        standings: [("nginx", 1.0), ("node", 1.7), ("gin", 1.2)]
            .map(|(name, slow)| standing(name, slow))
            .to_vec(),
        pairs: Vec::new(),
    };
    vec![of("50%"), of("common")]
}

/// A redline that was found, and one that was not.
pub(crate) fn redlines() -> Vec<RedlineVerdict> {
    let standing = |name: &str, kept: Option<f64>, end| RedlineStanding {
        contender: name.to_owned(),
        kept_per_second: kept,
        missed_per_second: kept.map(|kept| kept * 1.018),
        median_at_missed_ns: None,
        fastest_at_missed_ns: None,
        recovered_per_second: kept.map(|kept| kept * 0.9),
        share_of_capacity: kept.map(|kept| kept / 80_000.0),
        trials: 23,
        servers: 9,
        windows: 240,
        void_windows: 3,
        end,
    };
    let cell = Cell { offered: "redline:p99<10ms".parse().unwrap_or_default(), ..Cell::closed("hello", 64) };
    let found = standing("nginx", Some(63_210.0), RedlineEnd::Confirmed);
    vec![RedlineVerdict { cell, standings: vec![found, standing("node", None, RedlineEnd::TooManyVoid)] }]
}
