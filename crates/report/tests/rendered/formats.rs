//! The made-up run (`support`) as JUnit, OpenMetrics, a summary for a spreadsheet and a drawing, each read by a parser that
//! is not ours where there is a good one.

use assay_model::check::{Check, CheckOutcome};
use assay_model::evidence::{Evidence, Withheld};
use assay_model::experiment::Cell;
use assay_model::imported::Imported;
use assay_model::rule::Rule;
use assay_model::verdict::{AnsweredStanding, AnsweredVerdict};
use assay_report::export::{Choice, badge, junit, markdown, openmetrics, summary};

use crate::exposition;
use crate::latency::{latency, redlines};
use crate::support::{DYING, LIMIT, NOT_INSTALLED, WITHHELD, sample};

#[test]
fn openmetrics_keeps_the_grammar_and_has_the_figures_of_the_verdict() {
    let (record, verdict) = sample();
    let text = openmetrics(&record, &verdict);
    let families = exposition::read(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let family = &families["assay_throughput_requests_per_second"];
    assert_eq!(family.unit.as_deref(), Some("requests_per_second"));
    let here = [("contender", "nginx"), ("workload", "hello"), ("connections", "64")];
    let nginx: Vec<f64> = (family.samples.iter())
        .filter(|sample| here.iter().all(|(name, value)| sample.labels[*name] == *value))
        .map(|sample| sample.value)
        .collect();
    let cell = verdict.cells.iter().find(|cell| cell.cell.to_string() == "hello at 64").unwrap();
    let standing = cell.standings.iter().find(|one| one.contender == "nginx").unwrap();
    assert_eq!(nginx, [standing.throughput_per_second.unwrap().estimate]);
}

#[test]
fn openmetrics_has_no_measured_figure_of_a_contender_that_is_withheld() {
    let (record, verdict) = sample();
    let families = exposition::read(&openmetrics(&record, &verdict)).unwrap();
    let told = |name: &str| {
        let of = |contender: &str| {
            let samples = families[name].samples.iter();
            samples.filter(|sample| sample.labels["contender"] == contender).count() > 0
        };
        (of("nginx"), of(WITHHELD))
    };
    for name in ["assay_memory_peak_bytes", "assay_startup_seconds", "assay_cpu_per_request_seconds"] {
        assert_eq!(told(name), (true, false), "{name}");
    }
    assert_eq!(told("assay_withheld"), (true, true));
}

/// The judge of the tests above is ours, so it is judged too.
#[test]
fn what_is_no_openmetrics_is_refused() {
    let good =
        "# TYPE a_bytes gauge\n# UNIT a_bytes bytes\n# HELP a_bytes What.\na_bytes{x=\"1\"} 2.5\n# EOF\n";
    let family = &exposition::read(good).unwrap()["a_bytes"];
    assert_eq!((family.samples[0].labels["x"].as_str(), family.samples[0].value), ("1", 2.5));
    for (from, to, rule) in [
        ("# EOF\n", "", "# EOF"),
        ("2.5\n", "2.5", "does not end"),
        ("2.5", "NaN", "no finite number"),
        (" 2.5", "2.5", "no space"),
        ("\"1\"", "\"1\"2\"", "no comma"),
        ("\"1\"", "\"\\q\"", "escape"),
        ("\"1\"", "\"1\\\"", "does not end"),
        ("{x", "{9x", "name of a label"),
        ("x=\"1\"", "x=\"1\",x=\"2\"", "twice"),
        ("a_bytes bytes", "a_bytes seconds", "end with the unit"),
        ("a_bytes gauge", "a_bytes info", "another family"),
        ("a_bytes gauge", "a_bytes counter", "neither"),
        ("# UNIT a_bytes bytes\n", "# UNIT a_bytes bytes\n# UNIT a_bytes bytes\n", "twice"),
        ("# HELP a_bytes What.\n", "", "no help"),
        ("# HELP a_bytes", "# HELP b", "another family"),
        ("a_bytes{x=\"1\"} 2.5\n", "a_bytes 1\na_bytes 2\n", "same labels"),
        ("# TYPE", "#TYPE", "before its descriptors"),
        ("# EOF", "# HELP a_bytes More.\n# EOF", "behind samples"),
    ] {
        let bad = good.replacen(from, to, 1);
        assert_ne!(bad, good);
        let error = exposition::read(&bad).err().unwrap_or_else(|| panic!("accepted: {bad}"));
        assert!(error.contains(rule), "{error} for {bad}");
    }
}

#[test]
fn a_withheld_number_has_no_sample_and_no_place_in_the_summary() {
    let (record, verdict) = sample();
    let text = openmetrics(&record, &verdict);
    let of = |name: &str| {
        text.lines()
            .filter(|line| line.starts_with(name) && line.contains(&format!("\"{WITHHELD}\"")))
            .count()
    };
    assert_eq!((of("assay_throughput"), of("assay_service_time"), of("assay_cpu")), (0, 0, 0));
    assert_eq!(of("assay_withheld{"), verdict.cells.len());
    let table = summary(&record, &verdict);
    let heads: Vec<&str> = table.lines().next().unwrap().split(',').collect();
    let place = |name: &str| heads.iter().position(|head| *head == name).unwrap();
    let mut withheld = 0;
    for line in table.lines().filter(|line| line.contains(&format!(",{WITHHELD},"))) {
        let fields: Vec<&str> = line.splitn(heads.len(), ',').collect();
        assert_eq!([fields[place("per_second")], fields[place("service_p99_ns")]], ["", ""], "{line}");
        withheld += 1;
    }
    assert_eq!(withheld, verdict.cells.len());
}

#[test]
fn a_summary_has_a_row_for_each_contender_in_each_cell() {
    let (record, verdict) = sample();
    let table = summary(&record, &verdict);
    let rows: usize = verdict.cells.iter().map(|cell| cell.standings.len()).sum();
    assert_eq!(table.lines().count(), rows + 1);
    let nginx =
        table.lines().find(|line| line.contains(",hello,64,1,max,kernel/loopback,h1,nginx,c,")).unwrap();
    assert!(nginx.starts_with(&format!("{},{},,showdown", record.id, record.started_at)), "{nginx}");
}

#[test]
fn junit_tells_failures_from_what_is_missing() {
    let (record, verdict) = sample();
    let xml = junit(&record, &verdict, false).unwrap();
    let case = |xml: &str, name: &str| {
        let from =
            xml.find(&format!("<testcase name=\"{name}\"")).unwrap_or_else(|| panic!("{name} in {xml}"));
        xml[from..].split("<testcase").nth(1).unwrap().to_owned()
    };
    assert!(
        case(&xml, NOT_INSTALLED).contains("<skipped") && case(&xml, NOT_INSTALLED).contains("openjdk-17")
    );
    assert!(case(&xml, WITHHELD).contains("<skipped message=\"withheld: "));
    assert!(case(&xml, "nginx").contains("requests/s [") && !case(&xml, "nginx").contains("<failure"));
    assert!(case(&xml, DYING).contains("<failure message=\"failed under load"), "{}", case(&xml, DYING));
    assert!(xml.contains(&format!("<testcase name=\"{LIMIT}\"")));
    assert!(!xml.contains('\u{1b}') && !xml.contains("<script>"));
    let strict = junit(&record, &verdict, true).unwrap();
    let failures = |xml: &str| xml.matches("<failure").count();
    assert!(failures(&strict) >= failures(&xml));
}

#[test]
fn a_void_number_fails_only_where_strictness_is_asked_for() {
    let (record, mut verdict) = sample();
    let failures = |verdict: &_, strict| junit(&record, verdict, strict).unwrap().matches("<failure").count();
    let before = [false, true].map(|strict| failures(&verdict, strict));
    verdict.trust[0].outcome = CheckOutcome::Void;
    assert_eq!([false, true].map(|strict| failures(&verdict, strict)), [before[0], before[1] + 1]);
}

#[test]
fn what_is_withheld_at_a_rate_or_not_confirmed_fails_only_where_strictness_is_asked_for() {
    let (record, mut verdict) = sample();
    let failures = |verdict: &_, strict| junit(&record, verdict, strict).unwrap().matches("<failure").count();
    let by_strictness = |verdict: &_| failures(verdict, true) - failures(verdict, false);
    let before = by_strictness(&verdict);
    verdict.latency = latency();
    assert_eq!(by_strictness(&verdict), before + 2, "gin in two cells");
    verdict.redlines = redlines();
    assert_eq!(by_strictness(&verdict), before + 3, "node has no redline");
    verdict.answered = vec![AnsweredVerdict {
        cell: Cell::closed("hello", 64),
        within_ms: vec![10.0],
        standings: vec![AnsweredStanding {
            contender: "gin".to_owned(),
            rounds: 0,
            shares: Vec::new(),
            slowest_ns: None,
            requests: 0,
            unanswered: 0,
            withheld: verdict.latency[0].standings[2].withheld.clone(),
        }],
    }];
    assert_eq!(by_strictness(&verdict), before + 4, "nor is it told how soon gin answers");
    // Without a void check there may be a reason too.
    let standing = verdict.cells[0].standings.iter_mut().find(|one| one.contender == "nginx").unwrap();
    standing.withheld = Some(Withheld::NoRightAnswer);
    assert_eq!(by_strictness(&verdict), before + 5, "nginx at capacity");
}

#[test]
fn wrong_answers_at_a_rate_fail() {
    let (record, mut verdict) = sample();
    verdict.latency = latency();
    let failures = |verdict: &_| junit(&record, verdict, false).unwrap().matches("<failure").count();
    let before = failures(&verdict);
    let evidence = Evidence::Errors { failed: 9, requests: 10, example: None, checked: Vec::new() };
    let wrong = Check::objection(Rule::Errors, CheckOutcome::Void, evidence);
    verdict.latency[0].standings[0].checks.push(wrong);
    assert_eq!(failures(&verdict), before + 1);
}

#[test]
fn a_drawing_shows_intervals_to_scale_and_no_withheld_number() {
    let (record, verdict) = sample();
    let choice = Choice { workload: Some("hello"), connections: Some(64) };
    let svg = badge(&record, &verdict, choice).unwrap();
    let cell = verdict.cells.iter().find(|cell| cell.cell.to_string() == "hello at 64").unwrap();
    let ranked = cell.standings.iter().filter(|one| one.withheld.is_none() && one.contender != LIMIT).count();
    assert_eq!(svg.matches("class=\"interval\"").count(), ranked);
    assert!(svg.contains("prefers-color-scheme:dark") && svg.contains("limit 90"), "{svg}");
    assert!(svg.contains(">withheld<") && !svg.contains("84."), "{svg}");
    assert!(!svg.contains("<script") && svg.matches("://").count() == 1, "{svg}");
    let from_zero = |line: &str| -> [f64; 2] {
        let path = line.split("class=\"interval\" d=\"M").nth(1).unwrap();
        let (left, rest) = path.split_once(' ').unwrap();
        let right = rest.split_once('H').unwrap().1.split('"').next().unwrap();
        [left, right].map(|x| x.parse::<f64>().unwrap() - 150.0)
    };
    let standing = cell.standings.iter().find(|one| one.contender == "nginx").unwrap();
    let number = format!(
        ">{}<",
        assay_report::format::rate_interval(&standing.throughput_per_second.unwrap()).estimate
    );
    let (rate, [low, high]) = (
        standing.throughput_per_second.unwrap(),
        from_zero(svg.lines().find(|line| line.contains("interval") && line.contains(&number)).unwrap()),
    );
    assert!((low / high - rate.low / rate.high).abs() < 1e-3, "{low} {high}");
    assert!(badge(&record, &verdict, Choice { workload: Some("nothing"), connections: None }).is_none());
}

#[test]
fn what_was_imported_says_so_in_every_format() {
    let (mut record, verdict) = sample();
    let origin = Imported {
        source: "Some Others".to_owned(),
        title: "Round 1".to_owned(),
        environment: String::new(),
        file: "results.json".to_owned(),
        revision: None,
    };
    record.imported = Some(origin);
    let drawing = badge(&record, &verdict, Choice::default()).unwrap();
    for text in
        [openmetrics(&record, &verdict), summary(&record, &verdict), markdown(&record, &verdict), drawing]
    {
        assert!(text.to_lowercase().contains("not measured here") && text.contains("Some Others"), "{text}");
    }
}
