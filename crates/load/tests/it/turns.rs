//! Several windows on the same connections.

use std::cell::{Cell, RefCell};
use std::io::Read;
use std::net::TcpListener;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::thread::sleep;
use std::time::Duration;

use crate::right::engines;
use crate::support::{self, Act, Server, hello};
use assay_load::{LoadError, LoadPlan, News, Span, WindowOrder, run_windows};
use assay_model::check::CheckOutcome;
use assay_model::load::{LoadReport, LoadTurn};
use assay_model::rule::Rule;
use assay_model::units::Nanos;
use assay_stats::Histogram;

const TURNS: usize = 4;

/// A plan whose windows have the lengths of their orders.
fn plan(server: &Server, requests: u64) -> LoadPlan {
    LoadPlan { span: Span::Time(Nanos::MAX), ..support::plan(server, requests) }
}

fn order() -> WindowOrder {
    WindowOrder { settle: Nanos::from_millis(50), length: Nanos::from_millis(40), start: None }
}

/// Measures [`TURNS`] windows; `between` is done before each.
fn measure(plan: &LoadPlan, between: impl Fn()) -> Result<(LoadReport, Vec<LoadTurn>), LoadError> {
    let turns = RefCell::new(Vec::new());
    let orders = (0..TURNS).map(|_| {
        between();
        order()
    });
    let report = run_windows(plan, orders, &AtomicBool::new(false), |news| {
        if let News::Turn(turn) = news {
            turns.borrow_mut().push(*turn);
        }
    })?;
    Ok((report, turns.into_inner()))
}

fn slices(plan: LoadPlan) -> LoadPlan {
    LoadPlan { series_interval: Nanos::from_millis(10), series_from_start: true, ..plan }
}

#[test]
fn the_books_of_all_windows_together_are_the_servers() {
    let server = Server::start(|_| Act::Answer(hello()));
    for threads in [1, 2] {
        let (before, connections) = (server.requests(), server.connections());
        let plan = slices(LoadPlan { connections: 5, cpus: vec![0; threads], ..plan(&server, 1) });
        let (report, turns) = measure(&plan, || ()).expect("report");
        assert_eq!(server.requests() - before, report.books.issued);
        assert_eq!(server.connections() - connections, 5, "they stay open");
        assert_eq!((report.books.ok, report.books.connections_opened), (report.books.issued, 5));
        assert_eq!(turns.len(), TURNS);
        let sum = |of: fn(&LoadTurn) -> u64| turns.iter().map(of).sum::<u64>();
        assert_eq!((sum(|turn| turn.ok), sum(|turn| turn.answered)), (report.window.ok, report.books.ok));
        // Times are of the requests that began in a window, answers of those that ended in it.
        let times = Histogram::from_hdr_base64(&report.latency.service_hdr).expect("hdr").count();
        assert!(times.abs_diff(report.window.ok) <= 5 * TURNS as u64, "{times} of {}", report.window.ok);
        assert_eq!(report.window_ns, Nanos::from_millis(40 * TURNS as u64));
        assert_eq!(report.series.ok.len(), 4 * TURNS);
        assert_eq!(report.series.ok.iter().sum::<u64>(), report.window.ok);
        for turn in &turns {
            assert_eq!((turn.slices.ok.len(), turn.failed), (9, 0), "{turn:?}");
            assert_eq!(turn.slices.ok[5..].iter().sum::<u64>(), turn.ok);
        }
        let settling = sum(|turn| turn.slices.ok[..5].iter().sum());
        assert!(settling > 0, "there is load before a window too: {turns:?}");
        let little = report.checks.iter().find(|check| check.rule == Rule::LittlesLaw).expect("checked");
        assert_eq!(little.outcome, CheckOutcome::Pass, "{little:?}");
    }
}

#[test]
fn load_without_a_window_counts_in_the_books_alone() {
    let server = Server::start(|_| Act::Answer(hello()));
    let plan = slices(LoadPlan { connections: 3, ..plan(&server, 1) });
    let turns = RefCell::new(Vec::new());
    let lead_in = WindowOrder { settle: Nanos::from_millis(60), length: Nanos::ZERO, start: None };
    let report = run_windows(&plan, [lead_in, order()].into_iter(), &AtomicBool::new(false), |news| {
        if let News::Turn(turn) = news {
            turns.borrow_mut().push(*turn);
        }
    });
    let (report, turns) = (report.expect("report"), turns.into_inner());
    assert!(turns[0].answered > 0, "{turns:?}");
    assert_eq!((turns[0].ok, turns[0].window_ns, turns[0].settle_ns), (0, Nanos::ZERO, lead_in.settle));
    assert_eq!(report.books.ok, turns[0].answered + turns[1].answered);
    assert_eq!((report.window.ok, report.series.ok.len()), (turns[1].ok, 4));
    assert_eq!((report.window_ns, report.warmup_ns), (order().length, order().settle));
    let objects = |rule: Rule| {
        report.checks.iter().any(|check| check.rule == rule && check.outcome != CheckOutcome::Pass)
    };
    assert!(!objects(Rule::WindowLength) && !objects(Rule::LittlesLaw), "{:?}", report.checks);
}

#[test]
fn a_connection_that_the_server_closed_between_windows_is_made_again_before_the_next() {
    // Its 16th answer is each connection's last one, and the end comes while nobody listens.
    let server = Server::start(|seen| match seen.number % 16 {
        15 => Act::End(hello()),
        _ => Act::Answer(hello()),
    });
    let plan = slices(LoadPlan { connections: 2, ..plan(&server, 1) });
    let (report, turns) = measure(&plan, || sleep(Duration::from_millis(20))).expect("report");
    assert!(turns.iter().all(|turn| turn.ok > 0), "{turns:?}");
    assert_eq!(report.books.issued, report.books.ok + report.books.failed() + report.books.censored);
    assert!(server.connections() > 2);
}

#[test]
fn connections_that_were_idle_for_too_long_are_all_made_anew_and_no_request_fails() {
    let server = Server::start(|_| Act::Answer(hello()));
    let plan = slices(LoadPlan { connections: 8, ..plan(&server, 1) });
    let (report, turns) = measure(&plan, || server.hang_up()).expect("reachable at every window");
    assert!(turns.iter().all(|turn| turn.ok > 0), "{turns:?}");
    assert_eq!(report.books.failed(), 0, "{:?}", report.books);
    assert!(report.books.connections_opened >= 8 * TURNS as u64, "{:?}", report.books);
}

#[test]
fn what_is_unanswered_at_the_end_of_a_window_does_not_reach_the_next() {
    let server =
        Server::start(|seen| if seen.number == 10 { Act::Stall(Vec::new()) } else { Act::Answer(hello()) });
    let patience = Nanos::from_millis(50);
    let plan = slices(LoadPlan { connections: 2, drain: patience, ..plan(&server, 1) });
    let (report, turns) = measure(&plan, || ()).expect("report");
    assert_eq!((report.books.censored, report.books.failed()), (1, 0), "{:?}", report.books);
    assert_eq!(report.books.issued, report.books.ok + 1);
    assert_eq!(report.books.connections_opened, 3);
    assert!(turns.iter().all(|turn| turn.ok > 0), "{turns:?}");
}

/// While others are measured, a server is not to work on what was given up.
#[test]
fn what_is_unanswered_at_the_end_of_a_window_is_let_go_before_the_next() {
    for engine in engines() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let target = listener.local_addr().unwrap();
        let (told, ends) = channel();
        std::thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                // It reads requests and answers none, until the client goes.
                while stream.read(&mut [0; 1024]).is_ok_and(|n| n > 0) {}
                if told.send(()).is_err() {
                    return;
                }
            }
        });
        let server = Server::start(|_| Act::Answer(hello()));
        let plan =
            LoadPlan { target, drain: Nanos::from_millis(20), stack: engine.into(), ..plan(&server, 1) };
        let in_time = Cell::new(true);
        let orders = (0..2).map(|number| {
            let is_let_go = number == 0 || ends.recv_timeout(Duration::from_secs(5)).is_ok();
            in_time.set(in_time.get() && is_let_go);
            order()
        });
        let report = run_windows(&plan, orders, &AtomicBool::new(false), |_| ()).expect("report");
        assert!(in_time.get(), "{engine:?}");
        assert_eq!((report.books.issued, report.books.censored), (2, 2), "{engine:?} {:?}", report.books);
    }
}

#[test]
fn a_server_that_ends_between_windows_is_told() {
    let server = Server::start(|seen| match seen.number {
        0..50 => Act::Answer(hello()),
        _ => Act::Retire(hello()),
    });
    let timeout = Nanos::from_millis(500);
    let plan = slices(LoadPlan { connections: 2, timeout, drain: timeout, ..plan(&server, 1) });
    match measure(&plan, || ()) {
        Ok((report, _)) => assert!(report.books.failed() + report.books.censored > 0, "{:?}", report.books),
        Err(error) => assert!(matches!(error, LoadError::Unreachable { .. }), "{error}"),
    }
}
