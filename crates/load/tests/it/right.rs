//! Right answers in every shape, exact counts, and what the report says about them.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use crate::support::{Act, Server, answer, get, hello, measure, plan};
use assay_engine::{Config, EngineKind, Uring};
use assay_load::{LoadPlan, News, Reuse, Span, run};
use assay_model::check::CheckOutcome;
use assay_model::evidence::Evidence;
use assay_model::load::{Arrival, ErrorClass};
use assay_model::rule::Rule;
use assay_model::units::Nanos;
use assay_model::workload::{Expect, RequestKind};
use assay_stats::Histogram;

fn histogram(text: &str) -> Histogram {
    Histogram::from_hdr_base64(text).unwrap()
}

fn all_right(plan: &LoadPlan, server: &Server, n: u64) {
    let before = server.requests();
    let report = measure(plan);
    assert_eq!((report.books.issued, report.books.ok), (n, n), "{:?} {:?}", report.books, report.samples);
    assert_eq!(server.requests() - before, n);
    assert_eq!((report.window.ok, histogram(&report.latency.service_hdr).count()), (n, n));
    assert_eq!(report.series.ok.iter().sum::<u64>(), n);
    assert!(
        report.checks.iter().all(|c| c.rule != Rule::LittlesLaw || c.outcome == CheckOutcome::Pass),
        "{:?}",
        report.checks
    );
}

#[test]
fn every_shape_of_a_right_answer_counts() {
    let server = Server::start(|seen| {
        let fields = "HTTP/1.1 200 OK\r\nContent-Type: Text/Plain; charset=utf-8\r\n";
        let chunked =
            format!("{fields}Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;a=b\r\nllo\r\n0\r\nT: v\r\n\r\n");
        let interim = [b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n".to_vec(), hello()].concat();
        match seen.number % 6 {
            0 => Act::Trickle(hello()),
            1 => Act::Trickle(chunked.into_bytes()),
            2 => Act::Answer(interim),
            3 => Act::End(format!("{fields}\r\nhello").into_bytes()),
            4 => {
                Act::End(format!("{fields}Connection: close\r\nContent-Length: 5\r\n\r\nhello").into_bytes())
            }
            _ => Act::Answer(hello()),
        }
    });
    all_right(&LoadPlan { connections: 3, ..plan(&server, 60) }, &server, 60);
}

#[test]
fn counts_are_exact_at_any_depth_and_number_of_threads() {
    let server = Server::start(|_| Act::Answer(hello()));
    for (connections, pipeline, threads) in [(1, 1, 1), (7, 1, 2), (2, 16, 1), (3, 100, 2), (50, 2, 1)] {
        for engine in engines() {
            let plan = plan(&server, 1003);
            let cpus = vec![plan.cpus[0]; threads];
            all_right(&LoadPlan { connections, pipeline, cpus, stack: engine.into(), ..plan }, &server, 1003);
        }
    }
}

/// The engines that this machine has.
pub(crate) fn engines() -> Vec<EngineKind> {
    match Uring::new(Config { max_connections: 1 }) {
        Ok(_) => vec![EngineKind::Epoll, EngineKind::IoUring],
        Err(error) => {
            assay_skip::skip("uring", format_args!("no io_uring here: {error}"));
            vec![EngineKind::Epoll]
        }
    }
}

#[test]
fn a_body_longer_than_the_receive_view_is_compared_to_its_end() {
    let body: String = (0..300_000).map(|n| format!("{n} ")).collect();
    let mut wrong = body.clone();
    wrong.replace_range(body.len() - 1.., "!");
    let (right, kind) =
        (body.clone(), RequestKind { expect: Expect { body: Some(body), ..Expect::default() }, ..get("/") });
    let server = Server::start(move |seen| {
        Act::Answer(answer(200, if seen.number % 2 == 0 { &right } else { &wrong }))
    });
    let report = measure(&LoadPlan { requests: vec![kind], ..plan(&server, 6) });
    assert_eq!((report.books.ok, report.books.failed()), (3, 3));
    assert_eq!(report.books.errors.keys().next(), Some(&ErrorClass::WrongBody));
}

#[test]
fn a_large_request_arrives_whole() {
    let body = "0123456789abcdef".repeat(1 << 16);
    let expected = body.clone();
    let server = Server::start(move |seen| {
        Act::Answer(if seen.text.ends_with(&format!("\r\n\r\n{expected}")) {
            hello()
        } else {
            answer(400, "")
        })
    });
    let kind = RequestKind { method: "POST".into(), body: Some(body), ..get("/") };
    all_right(&LoadPlan { requests: vec![kind], pipeline: 3, ..plan(&server, 12) }, &server, 12);
}

#[test]
fn connections_are_used_as_often_as_planned() {
    let server = Server::start(|seen| {
        if seen.text.contains("\r\nConnection: close\r\n") { Act::End(hello()) } else { Act::Answer(hello()) }
    });
    for (per_connection, pipeline, connections) in [(1, 1, 20), (3, 1, 7), (3, 2, 7), (100, 1, 1)] {
        let before = server.connections();
        let plan = LoadPlan { reuse: Reuse::Requests(per_connection), pipeline, ..plan(&server, 20) };
        all_right(&plan, &server, 20);
        assert_eq!(server.connections() - before, connections, "{per_connection} per connection");
    }
}

#[test]
fn no_more_are_told_to_be_in_flight_than_a_connection_takes() {
    let server = Server::start(|_| Act::Answer(hello()));
    let reuses =
        [(Reuse::Always, 5), (Reuse::Requests(1), 1), (Reuse::Requests(3), 3), (Reuse::Requests(9), 5)];
    for (reuse, depth) in reuses {
        let report = measure(&LoadPlan { reuse, pipeline: 5, ..plan(&server, 20) });
        assert_eq!((report.pipeline, report.books.ok), (depth, 20), "{reuse:?}");
    }
}

#[test]
fn a_seed_gives_one_sequence_of_requests() {
    let drawn = |seed| {
        let server = Server::start(|_| Act::Answer(hello()));
        let requests =
            vec![RequestKind { weight: 3, ..get("/a") }, get("/b"), RequestKind { weight: 0, ..get("/c") }];
        measure(&LoadPlan { requests, seed, ..plan(&server, 200) });
        server.paths()
    };
    let paths = drawn(5);
    let b = paths.iter().filter(|path| *path == "/b").count();
    // 50 expected; six standard deviations are 37.
    assert!((13..=87).contains(&b) && !paths.contains(&"/c".to_owned()));
    assert_eq!(paths, drawn(5));
    assert_ne!(paths, drawn(6));
}

#[test]
fn an_open_model_issues_its_schedule_whatever_the_server_does() {
    let server = Server::start(|seen| match seen.number {
        100 => Act::AnswerAfter(Duration::from_millis(150), hello()),
        _ => Act::Answer(hello()),
    });
    let arrival = Arrival::Constant { per_second: 1000.0 };
    let span = Span::Time(Nanos::from_millis(400));
    let report = measure(&LoadPlan { arrival, span, ..plan(&server, 1) });
    assert_eq!((report.books.issued, report.books.ok, server.requests()), (400, 400, 400));
    let [response, lag, wait] = [
        report.latency.response_hdr.as_deref(),
        report.latency.client_lag_hdr.as_deref(),
        report.latency.pool_wait_hdr.as_deref(),
    ]
    .map(|text| histogram(text.unwrap()));
    assert_eq!([response.count(), lag.count(), wait.count()], [400; 3]);
    // The stall delays not one request but all that were due in it: some 150, of which half waited half of it.
    let waited = 400 - response.count_at_or_below(75_000_000);
    assert!(waited >= 60, "{waited} requests waited more than half the stall");
    assert!(response.max() >= Some(150_000_000) && wait.max() >= Some(140_000_000));
}

#[test]
fn poisson_arrivals_follow_the_seed_and_a_count() {
    let server = Server::start(|_| Act::Answer(hello()));
    let arrival = Arrival::Poisson { per_second: 3000.0 };
    let timed = |seed| {
        let span = Span::Time(Nanos::from_millis(200));
        let plan = LoadPlan { arrival: arrival.clone(), connections: 8, span, seed, ..plan(&server, 1) };
        measure(&plan).books.issued
    };
    let issued = timed(1);
    assert_eq!(issued, timed(1));
    // Six standard deviations of a Poisson count of 600.
    assert!((453..=747).contains(&issued), "{issued}");
    all_right(&LoadPlan { arrival, connections: 8, pipeline: 2, ..plan(&server, 300) }, &server, 300);
}

#[test]
fn a_warm_up_is_in_the_books_and_not_in_the_window() {
    let server = Server::start(|_| Act::Answer(hello()));
    let ms = Nanos::from_millis;
    let plan = LoadPlan { connections: 4, warmup: ms(100), span: Span::Time(ms(200)), ..plan(&server, 1) };
    let report = measure(&plan);
    assert_eq!((report.books.issued, report.books.ok), (server.requests(), server.requests()));
    assert!(report.window.ok > 0 && report.window.ok < report.books.ok);
    assert_eq!((report.window_ns, report.series.ok.len()), (ms(200), 2));
    // Times are of the requests that began in the window, answers of those that ended in it.
    assert!(histogram(&report.latency.service_hdr).count().abs_diff(report.window.ok) <= 4);
    let little = report.checks.iter().find(|check| check.rule == Rule::LittlesLaw).unwrap();
    assert_eq!(little.outcome, CheckOutcome::Pass, "{little:?}");
    assert!(report.generator.cpu_ns() > Nanos::ZERO && report.thread_busy_shares[0] > 0.0);
}

#[test]
fn a_short_warm_up_is_load_and_no_rest() {
    let server = Server::start(|_| Act::Answer(hello()));
    let warmup = Nanos::from_millis(90);
    let plan = LoadPlan { connections: 2, warmup, span: Span::Time(warmup), ..plan(&server, 1) };
    let report = measure(&plan);
    // What was in flight at the window's end was answered after it, and nothing else.
    let before = report.books.ok - report.window.ok;
    assert!(before > 2, "{before} answers outside the window, {:?}", report.books);
}

#[test]
fn a_stop_ends_the_load_and_keeps_what_was_measured() {
    let server = Server::start(|_| Act::Answer(hello()));
    let hour = Nanos::from_secs_f64(3600.0);
    let plan = LoadPlan { connections: 2, span: Span::Time(hour), ..plan(&server, 1) };
    let stop = AtomicBool::new(false);
    let mut last = None;
    let report = run(&plan, &stop, |news| {
        if let News::Progress(progress) = news {
            stop.store(progress.ok > 50, SeqCst);
            last = Some(progress);
        }
    });
    let report = report.unwrap();
    assert!(report.books.balance() && report.window.ok > 50 && report.window_ns < hour);
    let last = last.unwrap();
    assert_eq!((last.ok, last.issued), (report.books.ok, report.books.issued));
    assert!(last.system_calls >= last.ok);
}

#[test]
fn what_is_unanswered_at_the_end_is_censored() {
    let server =
        Server::start(|seen| if seen.number < 10 { Act::Answer(hello()) } else { Act::Stall(Vec::new()) });
    let ms = Nanos::from_millis;
    let plan = LoadPlan { connections: 3, span: Span::Time(ms(300)), drain: ms(50), ..plan(&server, 1) };
    let report = measure(&plan);
    assert_eq!((report.books.ok, report.books.censored, server.requests()), (10, 3, 13));
    let arrival = Arrival::Constant { per_second: 1000.0 };
    let report = measure(&LoadPlan { arrival, ..plan });
    assert_eq!((report.books.issued, report.books.censored), (300, 3));
    assert_eq!(report.books.errors[&ErrorClass::UnsentEnd], 297);
    let unfinished = report.checks.iter().find(|check| check.rule == Rule::Unfinished).expect("checked");
    let all = Evidence::Unanswered { unanswered: 300, requests: 300 };
    assert_eq!(unfinished.evidence, all, "what was due and never sent makes bounds of percentiles, too");
}
