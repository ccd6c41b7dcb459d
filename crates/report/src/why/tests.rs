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
    let runtime = "; 1,100 samples are in code that was compiled at run time and that no perf map names: start Node.js with \
        --perf-basic-prof";
    assert!(told.contains(runtime), "{told}");
    assert!(told.contains("; 1,100 of 1,200 samples in server have no name"), "{told}");
}

#[test]
fn what_speaks_against_the_figures_is_said_in_words_too() {
    let own = spending(&[(Part::Send, 10_000.0)]);
    assert_eq!(
        grounds(&own),
        "1,300 samples in 1 restart; they stand for 100 % of its CPU time; 100 % of them have a name"
    );
    let bad = Spending { sampled_share: 0.8, unwatched_cpu_ns: Some(8_000.0), ..own.clone() };
    let told = grounds(&bad);
    assert!(told.contains("80 % of its CPU time, which is too far from all of it"), "{told}");
    assert!(told.contains("profiling changed its CPU time by +25 %, which is too much"), "{told}");
    let good = Spending { sampled_share: 0.96, unwatched_cpu_ns: Some(9_900.0), ..own };
    assert!(
        is_faithful(&good) && !is_faithful(&bad) && !grounds(&good).contains("too"),
        "{}",
        grounds(&good)
    );
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
