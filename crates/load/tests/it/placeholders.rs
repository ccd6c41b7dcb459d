//! Requests that differ, and answers that differ with them.

use std::collections::BTreeSet;

use crate::support::{Act, Server, answer, errors, get, measure, plan};
use assay_load::{LoadPlan, Reuse};
use assay_model::load::ErrorClass;
use assay_model::workload::{Expect, RequestKind};

fn expecting(path: &str, expect: Expect) -> RequestKind {
    RequestKind { expect, ..get(path) }
}

/// Answers each request with its target and its body.
fn echo() -> Server {
    Server::start(|seen| {
        let target = seen.text.split(' ').nth(1).unwrap_or_default();
        let body = seen.text.split("\r\n\r\n").nth(1).unwrap_or_default();
        Act::Answer(answer(200, &format!("{target} {body}")))
    })
}

#[test]
fn sequence_numbers_are_unique_over_threads_and_connections() {
    let server = echo();
    let kind = expecting("/users/${sequence:95}", Expect::default());
    let plan = plan(&server, 300);
    let cpus = vec![plan.cpus[0]; 3];
    measure(&LoadPlan { requests: vec![kind], connections: 7, pipeline: 3, cpus, ..plan });
    let seen: Vec<String> = server.paths();
    let unique: BTreeSet<&String> = seen.iter().collect();
    assert_eq!((seen.len(), unique.len()), (300, 300));
    // Three threads with a hundred requests each.
    assert_eq!(unique, (95..395).map(|n| format!("/users/{n}")).collect::<Vec<_>>().iter().collect());
}

#[test]
fn an_answer_that_repeats_its_request_is_right_and_any_other_wrong() {
    let server = echo();
    let answer = |text: &str| Expect { body: Some(text.into()), ..Expect::default() };
    let kind = |text: &str| RequestKind {
        method: "POST".into(),
        body: Some("{\"id\": ${id}, \"n\": ${sequence:0}}".into()),
        ..expecting("/${id=random:1..12345}", answer(text))
    };
    let right = kind("/${id} {\"id\": ${id}, \"n\": ${sequence:0}}");
    for (pipeline, reuse) in [(1, Reuse::Always), (16, Reuse::Always), (4, Reuse::Requests(3))] {
        let plan = LoadPlan { requests: vec![right.clone()], pipeline, reuse, ..plan(&server, 200) };
        let report = measure(&plan);
        assert_eq!(report.books.ok, 200, "{:?} {:?}", report.books, report.samples);
    }
    let wrong = kind("/${id} {\"id\": ${id}, \"n\": 7}");
    let report = measure(&LoadPlan { requests: vec![wrong], ..plan(&server, 10) });
    assert_eq!((report.books.ok, report.books.failed()), (1, 9), "{:?}", report.samples);
    assert_eq!(errors(&report, ErrorClass::WrongBody), 9);
}

#[test]
fn a_large_body_with_placeholders_is_sent_in_parts() {
    let server = echo();
    let padding = "x".repeat(200_000);
    let text = format!("${{sequence}}{padding}${{sequence}}");
    let kind = RequestKind {
        method: "POST".into(),
        body: Some(text.clone()),
        ..expecting("/", Expect { body: Some(format!("/ {text}")), ..Expect::default() })
    };
    let report = measure(&LoadPlan { requests: vec![kind], pipeline: 3, ..plan(&server, 12) });
    assert_eq!(report.books.ok, 12, "{:?}", report.samples);
}

#[test]
fn rows_are_checked_in_every_answer() {
    let row = |id: u64| format!(r#"{{"id":{id},"randomNumber":{}}}"#, id % 10_000 + 1);
    let server = Server::start(move |seen| match seen.number % 5 {
        0 => Act::Answer(answer(200, &format!("[{},{}]", row(1), row(10_000)))),
        1 => Act::Trickle(answer(200, &format!("[ {} , {} ]", row(7), row(seen.number)))),
        2 => Act::Answer(answer(200, &format!("[{},{}]", row(0), row(1)))),
        3 => Act::Answer(answer(200, &format!("[{}]", row(1)))),
        _ => Act::Answer(answer(200, &format!("[{},{}", row(1), row(1)))),
    });
    let shape = r#"[2 * {"id": 1..10000, "randomNumber": 1..10000}]"#;
    let kind = expecting("/queries?queries=2", Expect { shape: Some(shape.into()), ..Expect::default() });
    let report = measure(&LoadPlan { requests: vec![kind], ..plan(&server, 50) });
    assert_eq!((report.books.ok, errors(&report, ErrorClass::WrongBody)), (20, 30), "{:?}", report.samples);
}
