//! The made-up run (`support`) as JUnit, OpenMetrics, a summary for a spreadsheet and a drawing, each read by a parser that
//! is not ours where there is one.

mod support;

use assay_model::imported::Imported;
use assay_report::export::{Choice, badge, junit, markdown, openmetrics, summary};
use support::{DYING, LIMIT, NOT_INSTALLED, WITHHELD, sample};

#[test]
fn openmetrics_is_read_by_another_parser_with_the_figures_of_the_verdict() {
    let (record, verdict) = sample();
    let text = openmetrics(&record, &verdict);
    let exposition =
        openmetrics_parser::openmetrics::parse_openmetrics(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let family = &exposition.families["assay_throughput_requests_per_second"];
    assert_eq!(family.unit, "requests_per_second");
    let nginx: Vec<f64> = (family.iter_samples())
        .filter(|sample| {
            let set = sample.get_labelset().unwrap();
            set.get_label_value("contender") == Some("nginx")
                && set.get_label_value("workload") == Some("hello")
                && set.get_label_value("connections") == Some("64")
        })
        .map(|sample| match &sample.value {
            openmetrics_parser::OpenMetricsValue::Gauge(number) => number.as_f64(),
            other => panic!("{other:?}"),
        })
        .collect();
    let cell = verdict.cells.iter().find(|cell| cell.cell.to_string() == "hello at 64").unwrap();
    let standing = cell.standings.iter().find(|one| one.contender == "nginx").unwrap();
    assert_eq!(nginx, [standing.throughput_per_second.unwrap().estimate]);
    assert!(text.ends_with("\n# EOF\n"));
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
    let nginx = table.lines().find(|line| line.contains(",hello,64,1,max,kernel/loopback,nginx,c,")).unwrap();
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
    verdict.trust[0].outcome = assay_model::check::Outcome::Void;
    assert_eq!([false, true].map(|strict| failures(&verdict, strict)), [before[0], before[1] + 1]);
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
