use super::*;
use assay_model::check::CheckOutcome;
use assay_model::evidence::{Evidence, Withheld};

const FIXTURE: &str = include_str!("../../tests/fixtures/techempower-results.json");

/// The fixture after `change`, imported.
fn imported(change: impl Fn(&str) -> String) -> Result<Record, LabError> {
    let folder = tempfile::tempdir().expect("folder");
    let file = folder.path().join("results.json");
    std::fs::write(&file, change(FIXTURE)).expect("file");
    let program = Program { version: "1".to_owned(), profile: "release".to_owned() };
    let store = Store::new(folder.path().join("runs"));
    let record = import(&file, None, &store, vec!["assay".to_owned()], program)?;
    assert_eq!(store.open("last").expect("stored"), record);
    Ok(record)
}

fn window<'r>(record: &'r Record, name: &str, workload: &str, connections: u32) -> &'r Measurement {
    let run = record.rounds[0].runs.iter().find(|run| run.contender == name).expect(name);
    let is_it = |cell: &&Measurement| cell.cell.workload == workload && cell.cell.connections == connections;
    run.cells.iter().find(is_it).expect(workload)
}

#[test]
fn every_type_becomes_a_cell_of_ours_at_its_levels() {
    let record = imported(str::to_owned).expect("imported");
    let cells: Vec<String> = record.experiment.cells().iter().map(ToString::to_string).collect();
    let wanted = [
        "json at 16",
        "json at 512",
        "db at 16",
        "db at 512",
        "queries-1 at 512",
        "queries-20 at 512",
        "fortunes at 16",
        "fortunes at 512",
        "updates-1 at 512",
        "updates-20 at 512",
        "plaintext at 256×16",
        "plaintext at 1024×16",
        "cached-1 at 512",
        "cached-100 at 512",
    ];
    assert_eq!(cells, wanted);
    assert_eq!(record.id, "20231114-221320-imported-techempower");
    let origin = record.imported.expect("origin").to_string();
    assert!(origin.starts_with("not measured here") && origin.contains("An invented round"), "{origin}");
}

#[test]
fn throughput_is_the_sources_good_answers_over_the_length_asked_for() {
    let record = imported(str::to_owned).expect("imported");
    let db = &window(&record, "swift", "db", 512).load;
    assert_eq!((db.window.ok, db.window_ns), (900_000 - 150, Nanos(15_000_000_000)));
    assert_eq!(db.books.errors[&ErrorClass::UnexpectedStatus], 150);
    let json = &window(&record, "steady", "json", 512).load;
    assert_eq!((json.window.ok, json.books.failed()), (3_000_000, 10));
    assert!(json.books.balance());
}

#[test]
fn nothing_is_ranked_and_everything_says_where_it_comes_from() {
    let record = imported(str::to_owned).expect("imported");
    let verdict = assay_verdict::testing::judged(&record);
    let rules: Vec<&str> = verdict.trust.iter().map(|check| check.rule.name()).collect();
    assert_eq!(rules, ["imported", "single-run"]);
    for cell in &verdict.cells {
        assert!(cell.pairs.is_empty());
        for standing in &cell.standings {
            if let Some(reason) = &standing.withheld {
                assert_eq!((standing.contender.as_str(), reason), ("swift-raw", &Withheld::SourceSilent));
                continue;
            }
            let rate = standing.throughput_per_second.expect("a figure");
            assert_eq!((standing.tier, rate.confidence, standing.letters.as_str()), (None, 0.0, ""));
        }
    }
    let json = &verdict.cells[1].standings;
    let rates: Vec<f64> = json.iter().map(|one| one.throughput_per_second.expect("rate").estimate).collect();
    assert_eq!(rates, [300_000.0, 200_000.0]);
    let (errors, steady) = (&json[1].checks[0], &json[1].contender);
    assert_eq!((errors.outcome, steady.as_str()), (CheckOutcome::Warn, "steady"));
    let Evidence::SourceErrors { errors: counted } = &errors.evidence else { panic!("{errors:?}") };
    let mut counts: Vec<u64> = counted.values().copied().collect();
    counts.sort_unstable();
    assert_eq!(counts, [3, 7]);
}

#[test]
fn a_window_that_holds_nothing_is_told_with_its_reason() {
    let record = imported(str::to_owned).expect("imported");
    let empty = window(&record, "swift-raw", "db", 512);
    assert_eq!((empty.load.books.ok, empty.load.books.failed()), (0, 0));
    let verdict = assay_verdict::testing::judged(&record);
    let db = verdict.cells.iter().find(|judged| judged.cell == empty.cell).expect("db at 512");
    let told: Vec<(&str, bool)> =
        db.standings.iter().map(|one| (one.contender.as_str(), one.withheld.is_some())).collect();
    assert_eq!(told, [("swift", false), ("swift-raw", true)]);
    let raw = record.rounds[0].runs.iter().find(|run| run.contender == "swift-raw").expect("swift-raw");
    assert_eq!(raw.offset_ns, Nanos::from_millis(100_000), "that of the window that tells when it was");
    let silent = |text: &str| text.replace("\"totalRequests\"", "\"nothing\"");
    let error = imported(silent).expect_err("no window holds anything").to_string();
    assert!(error.contains("it holds no window"), "{error}");
}

#[test]
fn what_the_source_says_of_a_test_is_kept() {
    let record = imported(str::to_owned).expect("imported");
    let entry = |name: &str| record.entry_of(name).expect(name);
    assert_eq!(
        (entry("swift").identity.title.as_str(), entry("swift").identity.language.as_str()),
        ("Swift One", "zig")
    );
    assert_eq!(entry("steady").identity.about, "Fullstack, approach Realistic, platform GNAT");
    let broken = |name: &str| {
        let conformance = entry(name).conformance.as_ref().expect(name);
        conformance.broken().map(|finding| (finding.rule.clone(), finding.severity)).collect::<Vec<_>>()
    };
    assert_eq!(broken("swift"), [("techempower-db".to_owned(), Severity::Should)]);
    assert_eq!(broken("steady"), [("techempower-db".to_owned(), Severity::Must)]);
    let reason = &entry("absent").not_run.as_ref().expect("not run").reason;
    assert!(reason.contains("Problem starting absent"), "{reason}");
    assert!(entry("swift-raw").not_run.is_none());
}

#[test]
fn both_spellings_of_the_cached_type_and_of_a_duration_are_read() {
    let older = |text: &str| {
        text.replace("cached-query", "cached_query").replace("\"duration\": 15", "\"duration\": \"15\"")
    };
    let record = imported(older).expect("imported");
    assert_eq!(window(&record, "swift", "cached-100", 512).load.window.ok, 120_000);
}

#[test]
fn a_malformed_file_is_told_with_its_place() {
    let cases: [(&str, &str, &[&str]); 11] = [
        ("\"duration\": 15,", "", &["missing field `duration`"]),
        ("\"duration\": 15", "\"duration\": \"soon\"", &["results.json:34:", "a number of seconds"]),
        ("\"duration\": 15", "\"duration\": 0", &["results.json: duration`: 0 s"]),
        ("\"totalRequests\": 1500000", "\"totalRequests\": -1", &["results.json:42:", "invalid value"]),
        ("\"5xx\": 150", "\"5xx\": 900001", &["rawData.db.swift[1]", "more than all"]),
        (
            "\"concurrencyLevels\": [\n    16,\n    512\n  ]",
            "\"concurrencyLevels\": [16]",
            &["rawData.json.", "for 1 levels"],
        ),
        (
            "\"concurrencyLevels\": [\n    16,\n    512\n  ]",
            "\"concurrencyLevels\": [16, 16]",
            &["results.json: concurrencyLevels`: 16 stands in it twice"],
        ),
        (
            "\"pipelineConcurrencyLevels\": [\n    256,",
            "\"pipelineConcurrencyLevels\": [0,",
            &["pipelineConcurrencyLevels`: 0 is no level"],
        ),
        ("\"queryIntervals\": [\n    1,", "\"queryIntervals\": [20,", &["queryIntervals`: 20 stands in it"]),
        ("\"startTime\": 1700000000000,", "", &["startTime", "how old"]),
        ("\"rawData\": {", "\"rawData\": [", &["results.json:3"]),
    ];
    for (from, to, words) in cases {
        assert!(FIXTURE.contains(from), "{from}");
        let error = imported(|text| text.replacen(from, to, 1)).expect_err(to).to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{words:?} in {error}");
    }
}

#[test]
fn descriptions_may_come_from_a_file_of_their_own() {
    let folder = tempfile::tempdir().expect("folder");
    let (file, metadata) = (folder.path().join("results.json"), folder.path().join("test_metadata.json"));
    std::fs::write(&file, FIXTURE).expect("file");
    std::fs::write(&metadata, r#"[{"name": "swift", "display_name": "The Swift"}]"#).expect("file");
    let program = Program { version: "1".to_owned(), profile: "release".to_owned() };
    let store = Store::new(folder.path().join("runs"));
    let record = import(&file, Some(&metadata), &store, Vec::new(), program).expect("imported");
    assert_eq!(record.contenders[0].identity.title, "The Swift");
    std::fs::write(&metadata, "{}").expect("file");
    let error = import(&file, Some(&metadata), &store, Vec::new(), record.assay).expect_err("no list");
    assert!(error.to_string().contains("test_metadata.json:1:"), "{error}");
}
