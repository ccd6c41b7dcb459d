//! Cells and settings that an experiment comes to.

use super::*;

#[test]
fn a_rate_that_depends_on_the_capacity_brings_it_along_and_comes_after_it() {
    let rates = ["50%", "common"].map(|rate| rate.parse().unwrap()).to_vec();
    let measure = Measure { rates, ..Measure::capacity("hello", vec![16, 64]) };
    let names: Vec<String> = measure.cells().map(|cell| cell.to_string()).collect();
    let of =
        |n: u32| [format!("hello at {n}"), format!("hello at {n}, 50%"), format!("hello at {n}, common")];
    assert_eq!(names, [of(16), of(64)].concat());
    let fixed = Measure { rates: vec![Offered::Rate(5000)], ..Measure::capacity("hello", vec![16]) };
    assert_eq!(fixed.cells().count(), 1);
}

#[test]
fn in_full_only_what_is_named_changes() {
    let full = Full {
        window_requests: Some(1_000_000),
        budget_s: Some(7200.0),
        measures: vec![Measure::capacity("hello", vec![512])],
        ..Full::default()
    };
    let own = Experiment { rounds: 5, ..Experiment::new("e", vec![Measure::capacity("hello", vec![64])]) };
    assert_eq!(own.in_full(), None);
    let in_full = Experiment { full: Some(full), ..own.clone() }.in_full().unwrap();
    assert_eq!((in_full.rounds, in_full.warmup_s, in_full.full.is_none()), (5, own.warmup_s, true));
    assert_eq!(in_full.cells(), [Cell::closed("hello", 512)]);
    assert_eq!(in_full.window_at(Offered::Capacity), Span::Requests(1_000_000));
    assert_eq!(in_full.window_at(Offered::Common), Span::Seconds(own.window_s));
    assert_eq!(own.window_at(Offered::Capacity), Span::Seconds(own.window_s));
}

#[test]
fn every_network_is_a_cell_of_its_own() {
    let networks = ["kernel/veth", "user/xdp"].map(|name| name.parse().unwrap()).to_vec();
    let measure = Measure { networks, ..Measure::capacity("hello", vec![1, 2]) };
    let names: Vec<String> = measure.cells().map(|cell| cell.to_string()).collect();
    let of = |network: &str| [1, 2].map(|n| format!("hello at {n} on {network}"));
    assert_eq!(names, [of("kernel/veth"), of("user/xdp")].concat());
    let experiment = Experiment::new("e", vec![measure, Measure::capacity("hello", vec![1])]);
    let named: Vec<String> =
        experiment.networks().iter().map(|n| n.map_or("-".to_owned(), |n| n.to_string())).collect();
    assert_eq!(named, ["kernel/veth", "user/xdp", "-"]);
    let cell = &experiment.cells()[2];
    let json = serde_json::to_string(cell).unwrap();
    assert_eq!(json, r#"{"workload":"hello","connections":1,"network":"user/xdp"}"#);
    assert_eq!(serde_json::from_str::<Cell>(&json).unwrap(), *cell);
}

#[test]
fn a_measure_may_be_for_some_contenders_only() {
    let alone = Measure {
        contenders: vec!["assay".to_owned()],
        networks: vec!["user/ring".parse().unwrap()],
        ..Measure::capacity("hello", vec![64])
    };
    let experiment = Experiment::new("e", vec![Measure::capacity("hello", vec![64]), alone]);
    let takes =
        |contender| experiment.cells().iter().map(|c| experiment.takes(contender, c)).collect::<Vec<_>>();
    assert_eq!((takes("assay"), takes("gin")), (vec![true, true], vec![true, false]));
}

#[test]
fn a_cell_of_an_older_record_is_a_closed_loop() {
    let old: Cell = serde_json::from_str(r#"{"workload":"hello","connections":64}"#).unwrap();
    assert_eq!(old, Cell::closed("hello", 64));
    assert_eq!(serde_json::to_string(&old).unwrap(), r#"{"workload":"hello","connections":64}"#);
    let deep = Cell { pipeline: 8, offered: Offered::Share(500), ..old };
    let text = serde_json::to_string(&deep).unwrap();
    assert_eq!(text, r#"{"workload":"hello","connections":64,"pipeline":8,"offered":"50%"}"#);
    assert_eq!(serde_json::from_str::<Cell>(&text).unwrap(), deep);
}

#[test]
fn a_search_stands_alone_where_nothing_else_is_asked() {
    let of = |rates: &[&str]| {
        let rates = rates.iter().map(|rate| rate.parse().unwrap()).collect();
        let experiment = Experiment::new("e", vec![Measure { rates, ..Measure::capacity("hello", vec![1]) }]);
        (experiment.searches(), experiment.searches_alone())
    };
    assert_eq!(of(&["redline:p99<20ms"]), (true, true));
    assert_eq!(of(&["redline:p99<20ms", "max"]), (true, false));
    assert_eq!(of(&["max"]), (false, false));
    assert_eq!(of(&[]), (false, false));
}
