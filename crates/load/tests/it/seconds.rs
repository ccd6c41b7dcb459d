//! What is told second by second.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::support::{Act, Server, answer, hello, plan};
use assay_load::{LoadPlan, News, Second, Span, run};
use assay_model::load::{Arrival, LoadReport, Phase};
use assay_model::units::Nanos;

fn measure(plan: &LoadPlan) -> (LoadReport, Vec<Second>) {
    let mut seconds = Vec::new();
    let report = run(plan, &AtomicBool::new(false), |news| {
        if let News::Second(second) = news {
            seconds.push(*second);
        }
    });
    (report.unwrap(), seconds)
}

#[test]
fn the_seconds_add_up_to_the_whole() {
    let server = Server::start(|seen| match seen.number % 10 {
        9 => Act::Answer(answer(500, "")),
        _ => Act::AnswerAfter(Duration::from_millis(1), hello()),
    });
    let ms = Nanos::from_millis;
    for arrival in [Arrival::Closed, Arrival::Constant { per_second: 400.0 }] {
        let common = plan(&server, 1);
        let cpus = vec![common.cpus[0]; 2];
        let plan = LoadPlan {
            connections: 8,
            arrival: arrival.clone(),
            warmup: ms(200),
            span: Span::Time(ms(1300)),
            seconds: true,
            cpus,
            ..common
        };
        let (report, seconds) = measure(&plan);
        let sum = |of: &dyn Fn(&Second) -> u64| seconds.iter().map(of).sum::<u64>();
        assert_eq!(sum(&|s| s.line.issued), report.books.issued);
        assert_eq!(sum(&|s| s.line.ok), report.books.ok);
        assert_eq!(sum(&|s| s.line.errors.values().sum()), report.books.failed());
        assert_eq!(sum(&|s| s.line.received_bytes), report.books.received_bytes);
        assert_eq!(sum(&|s| s.service.count()), report.books.ok);
        let window = seconds.iter().filter(|s| s.line.phase == Phase::Window);
        assert_eq!(window.map(|s| s.line.ok).sum::<u64>(), report.window.ok);
        assert!(seconds.iter().all(|s| s.response.is_some() == (arrival != Arrival::Closed)));
        let spans: Vec<_> = seconds.iter().map(|s| (s.line.offset_ns, s.line.length_ns)).collect();
        assert_eq!(spans[..2], [(ms(0), ms(200)), (ms(200), ms(1000))]);
        // A schedule whose last request is answered early ends early.
        assert!(spans[2].0 == ms(1200) && spans[2].1 <= ms(300), "{spans:?}");
        assert!(seconds[1].line.p50_ns <= seconds[1].line.p99_ns && seconds[1].line.connections == 8);
    }
}

#[test]
fn nothing_is_told_that_nobody_asked_for() {
    let server = Server::start(|_| Act::Answer(hello()));
    assert!(measure(&plan(&server, 10)).1.is_empty());
}
