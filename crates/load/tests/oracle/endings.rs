//! Servers of a few lines that end connections without a word, or do not read what is sent: no request is to blame for what the
//! generator could have known.

use assay_engine::{Config, Conn, Engine as _, Event};
use assay_load::{LoadPlan, run_on};
use assay_model::load::{Arrival, ErrorClass, LoadReport};
use assay_model::units::Nanos;
use assay_model::workload::RequestKind;
use assay_serve::stub::BODY;
use assay_sim::{Driven, Network, Pace, SimEngine, Weather};

use crate::spoken::Spoken;
use crate::support::{WAY, constant};

const MS: Nanos = Nanos::from_millis(1);
const CONFIG: Config = Config { max_connections: 64 };

/// What a server does about a request.
#[derive(Clone, Copy)]
enum Manner {
    /// Answers, and ends all other connections after this time.
    EndsTheOthers(Nanos),
    /// Answers and ends the connection, without having said so.
    EndsBehindItsAnswer,
    /// Answers when the first bytes have come, and reads no more.
    AnswersTheFirstBytes,
    /// Reads nothing.
    ReadsNothing,
}

struct Server {
    engine: SimEngine<Driven>,
    manner: Manner,
    open: Vec<Conn>,
    /// Connections to be ended, and when.
    endings: Vec<(Nanos, Conn)>,
}

impl Server {
    fn turn(&mut self) {
        let next = self.endings.iter().map(|ending| ending.0).min().unwrap_or(Nanos::MAX);
        let mut events = Vec::new();
        let now = self.engine.poll(next, &mut events).unwrap();
        for (_, conn) in self.endings.extract_if(.., |ending| ending.0 <= now) {
            self.open.retain(|&open| open != conn);
            self.engine.close(conn);
        }
        for event in events {
            match event {
                Event::Accepted(conn) => self.open.push(conn),
                Event::Readable(conn) => self.heard(conn, now),
                Event::Eof(conn) | Event::Closed(conn, _) => {
                    self.open.retain(|&open| open != conn);
                    self.engine.close(conn);
                }
                Event::Connected(_) | Event::Writable(_) => {}
            }
        }
    }

    fn heard(&mut self, conn: Conn, now: Nanos) {
        if matches!(self.manner, Manner::ReadsNothing) || self.endings.iter().any(|ending| ending.1 == conn) {
            return;
        }
        let bytes = self.engine.receive(conn).len();
        self.engine.consume(conn, bytes);
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{BODY}", BODY.len());
        self.engine.send(conn, &[answer.as_bytes()]);
        match self.manner {
            Manner::EndsTheOthers(after) => {
                let others = self.open.iter().filter(|&&open| open != conn);
                self.endings.extend(others.map(|&other| (now + after, other)));
            }
            Manner::EndsBehindItsAnswer => self.engine.close(conn),
            Manner::AnswersTheFirstBytes => self.endings.push((Nanos::MAX, conn)),
            Manner::ReadsNothing => {}
        }
    }
}

/// A load on such a server; each direction of a connection holds so many bytes.
fn run(manner: Manner, window_bytes: usize, plan: &LoadPlan) -> LoadReport {
    let network = Network::new(0, Weather { window_bytes, ..Weather::still(WAY) });
    let mut engine = network.driven(CONFIG);
    let target = engine.listen("10.0.0.1:80".parse().unwrap()).unwrap();
    let mut server = Server { engine, manner, open: Vec::new(), endings: Vec::new() };
    let engine = network.driving(CONFIG, Pace::EXACT, || server.turn());
    let plan = LoadPlan { target, host: target.to_string(), ..plan.clone() };
    let report = run_on(&plan, engine, |_| ()).unwrap();
    assert!(report.books.balance(), "{:?}", report.books);
    report
}

/// The end of an idle connection comes at the very time at which the next request is due.
#[test]
fn no_request_is_sent_on_a_connection_whose_end_came_with_the_same_wake() {
    let plan = Spoken::Http1.plan(2, constant(1_000.0), 50);
    // The request took one way, and the end takes another.
    let report = run(Manner::EndsTheOthers(MS - WAY - WAY), 1 << 18, &plan);
    assert_eq!((report.books.ok, report.books.failed()), (50, 0), "{:?}", report.books);
    assert!(report.books.connections_opened > 4, "{:?}", report.books);
}

#[test]
fn no_request_is_sent_on_a_connection_whose_end_came_with_its_last_answer() {
    for arrival in [Arrival::Closed, constant(10_000.0)] {
        let report = run(Manner::EndsBehindItsAnswer, 1 << 18, &Spoken::Http1.plan(3, arrival, 60));
        assert_eq!((report.books.ok, report.books.failed()), (60, 0), "{:?}", report.books);
        assert!(report.books.connections_opened >= 60, "{:?}", report.books);
    }
}

/// Requests with a body that neither side's buffers hold; the engine's own queue does.
fn uploads(n: u64) -> LoadPlan {
    let body = Some("x".repeat(20_000));
    let kind = RequestKind { method: "POST".into(), body, ..Spoken::Http1.request("/") };
    let timeout = Nanos(100 * MS.0);
    LoadPlan { requests: vec![kind], timeout, ..Spoken::Http1.plan(1, Arrival::Closed, n) }
}

#[test]
fn a_request_that_the_engine_holds_has_not_left() {
    let errors = run(Manner::ReadsNothing, 1_000, &uploads(3)).books.errors;
    assert_eq!(errors.into_iter().collect::<Vec<_>>(), [(ErrorClass::SendTimeout, 3)]);
}

#[test]
fn an_answer_to_a_request_that_the_engine_holds_is_the_last_of_its_connection() {
    let books = run(Manner::AnswersTheFirstBytes, 1_000, &uploads(3)).books;
    assert_eq!((books.ok, books.failed(), books.connections_opened), (3, 0, 3), "{books:?}");
}
