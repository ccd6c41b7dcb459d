//! Hostile text in every string of a record and its verdict, through every format: it stays text.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::sync::LazyLock;

use assay_model::record::Record;
use assay_model::verdict::Verdict;
use assay_report::export::{Choice, badge, csv, json, junit, markdown, openmetrics, summary};
use assay_report::index::{Listed, index};
use assay_report::terminal::{Style, render};
use assay_report::{foreign, html};
use base64::Engine as _;
use serde_json::Value;

use crate::planting::{Ground, PLANTS, assert_tame, skeleton_of_markdown, skeleton_of_xml};
use crate::{exposition, latency, networks, published, support};

/// The made-up runs, with everything that a verdict can hold, and few rounds.
fn runs() -> Vec<(Record, Verdict)> {
    let mut plain = support::sample();
    plain.1.latency = latency::latency();
    plain.1.redlines = latency::redlines();
    (plain.1.published, plain.1.answered) = (Some(published::figures()), published::answered());
    let mut runs = vec![plain, networks::on_networks(support::sample())];
    runs.iter_mut().for_each(|(record, _)| record.rounds.truncate(1));
    runs
}

/// Each run as it is and with hostile text, for every plant; planted once for all tests.
static PAIRS: LazyLock<Vec<[(Record, Verdict); 2]>> = LazyLock::new(|| {
    let with_all = |run: &(Record, Verdict)| {
        let (record, verdict) = (Ground::of(&run.0), Ground::of(&run.1));
        PLANTS.map(|plant| [run.clone(), (record.planted(plant), verdict.planted(plant))])
    };
    runs().iter().flat_map(with_all).collect()
});

fn each(check: impl Fn(&(Record, Verdict), &(Record, Verdict))) {
    PAIRS.iter().for_each(|[plain, hostile]| check(plain, hostile));
}

fn style(colour: bool, ascii: bool) -> Style {
    Style { width: 100, colour, ascii, full: false }
}

#[test]
fn every_text_of_a_record_is_planted_but_what_is_a_choice_of_words() {
    let chosen = [
        "arrival",
        "checking",
        "binding",
        "call",
        "crossing",
        "end",
        "figures",
        "kind",
        "limited_by",
        "link",
        "model",
        "network",
        "networks.*",
        "offered",
        "origin",
        "outcome",
        "protocol",
        "ruling",
        "severity",
        "source",
        "stage",
        "state",
        "user",
        "kernel",
        "stop",
        "body",
    ];
    for (record, verdict) in runs() {
        let (of_record, of_verdict) = (Ground::of(&record).refused, Ground::of(&verdict).refused);
        let kept: Vec<&String> = of_record.iter().chain(&of_verdict).collect();
        let unexpected: Vec<&&String> = kept
            .iter()
            .filter(|place| !chosen.iter().any(|name| place.ends_with(&format!(".{name}"))))
            .collect();
        assert!(unexpected.is_empty(), "{unexpected:?}");
    }
}

#[test]
fn terminal() {
    each(|_, (record, verdict)| {
        assert_tame(&render(record, verdict, &style(false, false)));
        assert!(render(record, verdict, &style(false, true)).is_ascii());
        let coloured = render(record, verdict, &style(true, false));
        // Our own colours are numbers and an m (ECMA-48, SGR); the one of a plant is 31 or 32 within another text.
        let left: String = coloured
            .split("\u{1b}[")
            .map(|part| part.split_once('m').map_or(part, |(_, rest)| rest))
            .collect();
        assert_tame(&left);
    });
}

#[test]
fn markdown_has_the_same_elements() {
    each(|(record, verdict), (hostile, told)| {
        let text = markdown(hostile, told);
        assert_tame(&text);
        assert_eq!(skeleton_of_markdown(&text), skeleton_of_markdown(&markdown(record, verdict)), "{text}");
    });
}

#[test]
fn tables_for_spreadsheets_have_the_same_rows_and_no_formula() {
    each(|(record, verdict), (hostile, told)| {
        let pairs = [
            (csv(record).unwrap(), csv(hostile).unwrap()),
            (summary(record, verdict), summary(hostile, told)),
        ];
        for (plain, hostile) in pairs {
            assert_tame(&hostile.replace("\r\n", "\n"));
            let rows = |text: &str| -> Vec<csv::StringRecord> {
                csv::Reader::from_reader(text.as_bytes()).records().map(|row| row.unwrap()).collect()
            };
            assert_eq!(rows(&plain).len(), rows(&hostile).len());
            let fields = rows(&hostile);
            for field in
                fields.iter().flatten().filter(|field| field.trim_start().starts_with(['=', '+', '-', '@']))
            {
                assert!(field.parse::<f64>().is_ok(), "{field}");
            }
        }
    });
}

#[test]
fn junit_has_the_same_elements() {
    each(|(record, verdict), (hostile, told)| {
        let of = |record, verdict| skeleton_of_xml(&junit(record, verdict, true).unwrap());
        assert_eq!(of(hostile, told), of(record, verdict));
    });
}

#[test]
fn openmetrics_has_the_same_families_and_samples() {
    each(|(record, verdict), (hostile, told)| {
        let counts = |record, verdict| -> BTreeSet<(String, usize)> {
            let text = openmetrics(record, verdict);
            assert_tame(&text);
            let families = exposition::read(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
            families.into_iter().map(|(name, family)| (name, family.samples.len())).collect()
        };
        let (mut hostile, mut plain) = (counts(hostile, told), counts(record, verdict));
        // A time that is none has no sample.
        for set in [&mut hostile, &mut plain] {
            set.retain(|(name, _)| name != "assay_run_start_timestamp_seconds");
        }
        assert_eq!(hostile, plain);
    });
}

#[test]
fn drawings_have_the_same_elements() {
    each(|(record, verdict), (hostile, told)| {
        let of = |record, verdict| badge(record, verdict, Choice::default()).map(|svg| skeleton_of_xml(&svg));
        assert_eq!(of(hostile, told), of(record, verdict));
    });
}

#[test]
fn an_index_has_the_same_tags_and_leads_nowhere_else() {
    each(|plain, hostile| {
        let page = |run: &(Record, Verdict)| {
            let href = Some(foreign::relative_address(&format!("{}/report.html", run.0.id)));
            let listed = |record, verdict| Listed { record, verdict, href: href.clone() };
            let mut later = run.0.clone();
            later.started_at = format!("9{}", later.started_at);
            index(&[listed(&run.0, &run.1), listed(&later, &run.1)])
        };
        let (plain, hostile) = (page(plain), page(hostile));
        assert_tame(&hostile);
        assert_eq!(skeleton_of_html(&hostile), skeleton_of_html(&plain));
        assert!(hostile.split("href=\"").skip(1).all(|address| address.starts_with(['.', '#'])));
    });
}

#[test]
fn a_page_has_the_same_tags_and_tame_data() {
    each(|(record, verdict), (hostile, told)| {
        let (plain, hostile) = (html::page(record, verdict).unwrap(), html::page(hostile, told).unwrap());
        assert_eq!(skeleton_of_html(&hostile).len(), skeleton_of_html(&plain).len());
        let data = hostile.split_once(r#"<script id="assay-data" type="application/json">"#).unwrap().1;
        let data: Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
        let run = &data["runs"][0];
        let parts = run["findings"].as_array().unwrap().iter().chain([&run["head"]]);
        parts.for_each(|part| assert_tame_strings(&unpacked(part.as_str().unwrap())));
    });
}

fn unpacked(part: &str) -> Value {
    let bytes = base64::engine::general_purpose::STANDARD.decode(part).unwrap();
    let mut json = String::new();
    flate2::read::ZlibDecoder::new(bytes.as_slice()).read_to_string(&mut json).unwrap();
    serde_json::from_str(&json).unwrap()
}

fn assert_tame_strings(value: &Value) {
    match value {
        Value::String(text) => assert_tame(text),
        Value::Array(items) => items.iter().for_each(assert_tame_strings),
        Value::Object(fields) => fields.iter().for_each(|(name, field)| {
            assert_tame(name);
            assert_tame_strings(field);
        }),
        _ => {}
    }
}

#[test]
fn json_is_tame_and_means_the_same() {
    each(|_, (hostile, told)| {
        let text = json(hostile, told).unwrap();
        assert_tame(&text);
        let read: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::from_value::<Record>(read["record"].clone()).unwrap(), *hostile);
    });
}

/// HTML without its words: the beginning of every tag, comment and declaration.
fn skeleton_of_html(text: &str) -> Vec<&str> {
    let end = |tag: &str| tag.find(|c: char| c.is_whitespace() || c == '>').unwrap_or(tag.len());
    text.split('<').skip(1).map(|tag| &tag[..end(tag)]).collect()
}
