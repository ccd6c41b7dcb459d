use assay_model::why::PartSpending;

use super::*;

/// One restart that spent this, and of which nothing else is known.
pub(crate) fn spending(parts: &[(Part, f64)]) -> Spending {
    Spending {
        contender: "a".to_owned(),
        restarts: 1,
        samples: 1_300,
        cpu_ns: alone(parts.iter().map(|(_, ns)| ns).sum()),
        unwatched_cpu_ns: None,
        watching: None,
        price_per_million: None,
        energy: None,
        unseen_ns: 0.0,
        others_share: 0.0,
        sampled_share: 1.0,
        unnamed_share: 0.0,
        unnamed: Vec::new(),
        parts: parts.iter().map(|(part, ns)| PartSpending { part: *part, ns: alone(*ns) }).collect(),
        counts: Vec::new(),
        run_delay_ns: None,
        waits: Vec::new(),
        held_up: Vec::new(),
        refused: Vec::new(),
    }
}

#[test]
fn what_has_no_name_says_how_it_gets_one() {
    let of =
        |module: Option<&str>| Unnamed { module: module.map(str::to_owned), samples: 1_200, unnamed: 1_100 };
    let told = grounds(&Spending { unnamed: vec![of(None), of(Some("server"))], ..spending(&[]) });
    let runtime = "; 1,100 samples are in code that was compiled at run time and whose names its runtime does not tell: start Node.js with \
        --perf-basic-prof";
    assert!(told.contains(runtime), "{told}");
    assert!(told.contains("; 1,100 of 1,200 samples in server have no name"), "{told}");
}

#[test]
fn what_speaks_against_the_figures_is_said_in_words_too() {
    let own = spending(&[(Part::Send, 10_000.0)]);
    assert_eq!(
        grounds(&own),
        "1,300 samples in 1 restart; they stand for 100 % of its CPU time; 100 % of them have a name; what profiling changed is not \
         known, because no window of the profiled restart counts"
    );
    let bad = Spending { sampled_share: 0.8, ..own.clone() };
    let told = grounds(&bad);
    assert!(told.contains("80 % of its CPU time, which is too far from all of it"), "{told}");
    let good = Spending { sampled_share: 0.96, ..own };
    assert!(
        is_faithful(&good) && !is_faithful(&bad) && !grounds(&good).contains("too"),
        "{}",
        grounds(&good)
    );
}

#[test]
fn a_budget_that_no_window_of_its_restart_confirms_says_so_and_is_held_against_others() {
    let of = |unwatched_ns| {
        let spending =
            Spending { unwatched_cpu_ns: Some(unwatched_ns), ..spending(&[(Part::Send, 10_000.0)]) };
        (is_faithful(&spending), grounds(&spending))
    };
    let unknown = "no window of the profiled restart counts; in windows of others an answer took";
    let (near, far) = (of(9_900.0), of(5_500.0));
    assert!(near.0 && near.1.ends_with(&format!("{unknown} 9.90 µs of CPU time")), "{near:?}");
    let told = format!("{unknown} 5.50 µs of CPU time, which is too far from what it took here");
    assert!(!far.0 && far.1.ends_with(&told), "{far:?}");
    let both = Interval { estimate: 0.02, low: 0.01, high: 0.03, confidence: 0.95 };
    let seen = Spending {
        unwatched_cpu_ns: Some(5_500.0),
        watching: Some(both),
        ..spending(&[(Part::Send, 10_000.0)])
    };
    assert!(is_faithful(&seen), "restarts differ, and within one nothing changed");
}

#[test]
fn profiling_is_blamed_for_what_its_interval_shows_and_for_no_more() {
    let of = |estimate, low, high, confidence| {
        let watching = Some(Interval { estimate, low, high, confidence });
        let spending = Spending { watching, ..spending(&[(Part::Send, 10_000.0)]) };
        (is_faithful(&spending), grounds(&spending))
    };
    for (told, is_faithful, end) in [
        (of(0.25, 0.20, 0.30, 0.95), false, "of an answer by +25.0 % [+20.0 … +30.0 %], which is too much"),
        (of(-0.20, -0.45, 0.05, 0.95), true, "[−45.0 … +5.0 %], which is not told from chance"),
        (of(0.08, 0.02, 0.14, 0.95), true, "which may be too much"),
        (of(0.02, 0.01, 0.03, 0.95), true, "[+1.0 … +3.0 %]"),
        (of(0.25, 0.25, 0.25, 0.0), true, "in the only restart whose windows count, which may be chance"),
    ] {
        assert!(told.0 == is_faithful && told.1.ends_with(end), "{told:?}: {end}");
    }
}

#[test]
fn a_kernel_that_was_not_seen_and_neighbours_are_told() {
    let told = grounds(&Spending { unseen_ns: 6_000.0, others_share: 0.3, ..spending(&[(Part::Send, 1.0)]) });
    assert!(told.contains("100 % of its CPU time outside the kernel"), "{told}");
    assert!(told.contains("6.00 µs for each answer were spent in the kernel, unseen"), "{told}");
    assert!(told.ends_with("other programs ran on its CPUs for 30 % of the time"), "{told}");
}

#[test]
fn a_single_part_that_is_folded_is_one_other() {
    let of = |part, base_ns: f64, contender_ns: f64| PartDifference {
        part,
        base_ns,
        contender_ns,
        difference_ns: alone(contender_ns - base_ns),
        because: Vec::new(),
    };
    let difference = Difference {
        base: "a".to_owned(),
        contender: "b".to_owned(),
        base_network: None,
        contender_network: None,
        restarts: 5,
        base_ns: 3_000.0,
        contender_ns: 5_000.0,
        total_ns: alone(2_000.0),
        parts: vec![of(Part::Send, 1_000.0, 3_000.0)],
        alike: 1,
        alike_ns: 0.0,
    };
    let names: Vec<String> = lines(&difference).into_iter().map(|line| line.name).collect();
    assert_eq!(names, ["TCP send", "1 other", "together"]);
}
