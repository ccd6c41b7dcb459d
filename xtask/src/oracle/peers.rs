//! The tests put to the generators of others: what each answers, beside the truth.
//!
//! A generator that has a rate is given the rate; one that has not runs the closed loop that people run with it. A dash
//! is a figure that it does not print, or a load that it cannot make; "no result" is one that gave up or broke off.

use assay_model::generator::Told;
use assay_model::load::Arrival;
use assay_serve::stub::{BODY, Counts};

use super::Options;
use super::trial::Stub;
use crate::measure::client::{self, Client, FOREIGN, Load};
use crate::measure::{Testbed, workload};

/// Length of a load whose times are read, and of one whose answers are only counted.
const SECONDS: u32 = 5;
const SECONDS_TO_COUNT: u32 = 2;

/// A programme for the stub, a load, and what is read off each answer.
struct Test {
    name: &'static str,
    stub: &'static str,
    path: &'static str,
    connections: u32,
    /// Even arrivals per second, for those that have a rate.
    rate: Option<f64>,
    /// The rest is asked only of those that have a rate.
    needs_rate: bool,
    timeout_seconds: u32,
    seconds: u32,
    rows: &'static [Row],
}

/// A figure and its truth.
struct Row {
    figure: Figure,
    truth: Truth,
}

#[derive(Clone, Copy)]
enum Truth {
    /// By theory.
    Is(f64),
    /// By the stub's own count in the very run.
    StubCounted,
}

#[derive(Clone, Copy)]
enum Figure {
    Throughput,
    MeanMs,
    /// In tenths of a percent: 990 is p99.
    PercentileMs(u32),
    /// Requests that it calls failed, beside those that the stub spoilt or never answered.
    Failed,
    /// Answers that it calls right, beside those that were.
    Right,
    /// Right answers in percent of all that it counts.
    RightPercent,
    /// Requests that reached the stub.
    Requests,
    /// How uneven they came, in percent of the mean gap.
    GapVariation,
}

use Figure::{Failed, GapVariation, MeanMs, PercentileMs, Requests, Right, RightPercent, Throughput};
use Truth::{Is, StubCounted};

const fn is(figure: Figure, truth: f64) -> Row {
    Row { figure, truth: Is(truth) }
}

const fn counted(figure: Figure) -> Row {
    Row { figure, truth: StubCounted }
}

/// A closed loop of 16 connections.
const fn test(name: &'static str, stub: &'static str, rows: &'static [Row]) -> Test {
    let (path, connections, timeout_seconds, seconds) = ("/", 16, 5, SECONDS);
    Test { name, stub, path, connections, rate: None, needs_rate: false, timeout_seconds, seconds, rows }
}

const fn framing(name: &'static str, path: &'static str) -> Test {
    Test { path, seconds: SECONDS_TO_COUNT, ..test(name, "", ALL_RIGHT) }
}

const ALL_RIGHT: &[Row] = &[is(RightPercent, 100.0)];

const TESTS: &[Test] = &[
    test(
        "T1 1 ms, fixed",
        "--service 1ms",
        &[is(MeanMs, 1.0), is(PercentileMs(500), 1.0), is(PercentileMs(990), 1.0)],
    ),
    Test {
        rate: Some(5000.0),
        connections: 1200,
        ..test(
            "T2 stall of 100 ms in each second",
            "--service 1ms --stall 100ms/1s",
            &[is(MeanMs, 6.0), is(PercentileMs(990), 91.0)],
        )
    },
    test("T2c the same, 16 connections", "--service 1ms --stall 100ms/1s", &[is(Throughput, 14_400.0)]),
    Test {
        rate: Some(1000.0),
        connections: 10,
        ..test(
            "T3 the same, 5 ms, 10 connections",
            "--service 5ms --stall 100ms/1s",
            &[is(MeanMs, 14.6), is(PercentileMs(900), 53.0), is(PercentileMs(990), 98.0)],
        )
    },
    test(
        "T4 1 ms, one in 100 takes 100 ms",
        "--service mix:1ms*99,100ms*1",
        &[is(MeanMs, 1.99), is(PercentileMs(900), 1.0)],
    ),
    Test {
        rate: Some(800.0),
        needs_rate: true,
        connections: 400,
        ..test(
            "T5 queue, even arrivals, load 0.8",
            "--service exp:1ms --discipline fifo",
            &[is(MeanMs, 2.69), is(PercentileMs(990), 12.40)],
        )
    },
    Test {
        connections: 8,
        ..test(
            "T6 queue, 8 connections",
            "--service exp:1ms --discipline fifo",
            &[is(Throughput, 1000.0), is(MeanMs, 8.0), is(PercentileMs(990), 16.0)],
        )
    },
    Test {
        timeout_seconds: 1,
        connections: 64,
        ..test("T9 1 % never answered", "--service 1ms --faults never=0.01", &[counted(Failed)])
    },
    test(
        "T10 0.1 % with a wrong byte",
        "--service 1ms --faults wrong-byte=0.001",
        &[counted(Failed), counted(Right)],
    ),
    test(
        "T10 0.1 % with status 500",
        "--service 1ms --faults status-500=0.001",
        &[counted(Failed), counted(Right)],
    ),
    test(
        "T10 0.1 % reset in the body",
        "--service 1ms --faults reset-in-body=0.001",
        &[counted(Failed), counted(Right)],
    ),
    Test {
        rate: Some(10_000.0),
        needs_rate: true,
        connections: 200,
        ..test("T12 10,000/s, even", "", &[is(Requests, 50_000.0), is(GapVariation, 0.0)])
    },
    framing("T13 a byte at a time", "/trickle"),
    framing("T13 split at each offset", "/split"),
    framing("T13 100 fields", "/fields"),
    framing("T13 head of 64 KiB", "/long-head"),
    framing("T13 chunks with trailers", "/chunked"),
    framing("T13 interim responses", "/interim"),
    framing("T13 ended by closing", "/close"),
    framing("T13 204", "/204"),
    test("T14 all that was answered", "--service 1ms", &[counted(Right)]),
];

/// Puts every client to every test and prints a table.
///
/// # Errors
/// When the stub or our own client fails, or a person asks to end.
pub(super) fn run(options: &Options, testbed: &Testbed) -> Result<(), String> {
    let clients = installed();
    let names: Vec<&str> = clients.iter().map(|client| client.title()).collect();
    println!("| test | figure | truth | {} |", names.join(" | "));
    println!("|---|---|---|{}", "---|".repeat(names.len()));
    for test in TESTS.iter().filter(|test| options.wants(test.name)) {
        let mut answers = Vec::new();
        for client in &clients {
            answers.push(ask(*client, test, testbed)?);
        }
        for row in test.rows {
            let cells: Vec<String> = answers.iter().map(|answer| row.cell(answer)).collect();
            println!(
                "| {} | {} | {} | {} |",
                test.name,
                row.figure.name(),
                row.truth.name(),
                cells.join(" | ")
            );
        }
    }
    Ok(())
}

/// Ours, and all of others, whatever they can do.
fn installed() -> Vec<Client> {
    client::with_ours(&FOREIGN.map(|generator| generator.name()))
}

/// What came of putting a client to a test.
enum Outcome {
    /// The peer cannot make such a load.
    Unable,
    /// The peer ended without a result.
    Failed,
    /// What it says, and what the stub counted.
    Said(Box<(Told, Counts)>),
}

fn ask(client: Client, test: &Test, testbed: &Testbed) -> Result<Outcome, String> {
    let stub = Stub::start(test.stub, testbed)?;
    let Some(load) = load_for(client, test, &stub, testbed)? else { return Ok(Outcome::Unable) };
    match client::run(client, &load, testbed) {
        Ok(finished) => Ok(Outcome::Said(Box::new((finished.told, stub.stop(testbed)?)))),
        Err(why) if client.name().is_ours() => Err(why),
        Err(why) => {
            testbed.go_on()?;
            eprintln!("{}: {why}", test.name);
            Ok(Outcome::Failed)
        }
    }
}

/// The open load if the client can make it, else the closed loop that is run in its place.
fn load_for(client: Client, test: &Test, stub: &Stub, testbed: &Testbed) -> Result<Option<Load>, String> {
    let body = (test.path != "/204").then_some(BODY);
    let closed = Load {
        timeout_s: test.timeout_seconds,
        workload: body.map(|body| workload::write(testbed, &[test.path], Some(body))).transpose()?,
        ..Load::closed(format!("{}{}", stub.url, test.path), test.connections, test.seconds)
    };
    if let Some(per_second) = test.rate {
        let open = Load { arrival: Arrival::Constant { per_second }, ..closed.clone() };
        if client.refusal(&open).is_none() {
            return Ok(Some(open));
        }
    }
    // Nobody holds a thousand connections in a closed loop to ask for a latency.
    let closed = Load { connections: closed.connections.min(64), ..closed };
    Ok((!test.needs_rate && client.refusal(&closed).is_none()).then_some(closed))
}

impl Row {
    fn cell(&self, outcome: &Outcome) -> String {
        let (answer, counts) = match outcome {
            Outcome::Unable => return "–".to_owned(),
            Outcome::Failed => return "no result".to_owned(),
            Outcome::Said(said) => &**said,
        };
        match (self.figure.read(answer, counts), self.truth, self.figure.counted(counts)) {
            (None, ..) => "–".to_owned(),
            (Some(said), StubCounted, Some(counted)) => format!("{said:.0} of {counted}"),
            (Some(said), ..) if said >= 1000.0 => format!("{said:.0}"),
            (Some(said), ..) => format!("{said:.2}"),
        }
    }
}

impl Truth {
    fn name(self) -> String {
        match self {
            Is(truth) if truth >= 1000.0 => format!("{truth:.0}"),
            Is(truth) => format!("{truth:.2}"),
            StubCounted => "the second number".to_owned(),
        }
    }
}

impl Figure {
    fn name(self) -> String {
        match self {
            Throughput => "answers per second".to_owned(),
            MeanMs => "mean ms".to_owned(),
            PercentileMs(tenths) => format!("p{} ms", f64::from(tenths) / 10.0),
            Failed => "failed".to_owned(),
            Right => "right".to_owned(),
            RightPercent => "right %".to_owned(),
            Requests => "requests".to_owned(),
            GapVariation => "gap variation %".to_owned(),
        }
    }

    fn read(self, answer: &Told, counts: &Counts) -> Option<f64> {
        Some(match self {
            Throughput => answer.per_second(),
            MeanMs => answer.mean_ns?.as_secs_f64() * 1e3,
            PercentileMs(tenths) => answer.percentile(f64::from(tenths) / 1e3)?.as_secs_f64() * 1e3,
            Failed => answer.failed as f64,
            Right => answer.right as f64,
            RightPercent => 100.0 * answer.right as f64 / (answer.right + answer.failed).max(1) as f64,
            Requests => counts.requests as f64,
            GapVariation => counts.gap_variation()? * 100.0,
        })
    }

    /// What the stub knows of it.
    fn counted(self, counts: &Counts) -> Option<u64> {
        match self {
            Failed => {
                Some(counts.wrong_byte + counts.status_500 + counts.reset_in_body + counts.never_answered)
            }
            Right => Some(counts.right),
            _ => None,
        }
    }
}
