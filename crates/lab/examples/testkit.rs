//! Stands in for the `assay` program in this crate's tests: the real supervisor, a small but real load generator, and a server
//! with programmed misbehaviour. `testkit supervise …`, `testkit hold-netns LINK QUEUES`, `testkit load …`, `testkit serve MODE`,
//! `testkit agent`, which is an agent of version 1.0.0 or the carrier of one, and `testkit own FOLDER COMMAND…`, which has a command
//! kept as assay has it, until it is killed.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program of tests"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use assay_lab::generator::CONNECTED;
use assay_lab::hosts::agent::{self, AgentPart};
use assay_lab::hosts::carrier;
use assay_lab::supervisor::{self, Supervised, SupervisorOptions};
use assay_model::load::{
    Arrival, Books, ErrorClass, LOAD_SCHEMA, Latency, LoadReport, LoadTurn, Series, WindowCounts,
};
use assay_model::units::Nanos;
use assay_model::usage::Usage;
use assay_model::workload::Workload;
use assay_stats::Histogram;

fn main() {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next().and_then(|word| word.into_string().ok()).as_deref() {
        Some("supervise") => {
            let options = SupervisorOptions::from_arguments(arguments).expect("options");
            supervisor::run(&options, &mut std::io::stdout()).expect("kept");
        }
        Some("hold-netns") => {
            let mut word = || arguments.next().and_then(|word| word.into_string().ok()).expect("word");
            let Ok(assay_link::Spec::Veth(cable)) = word().parse() else { panic!("a cable") };
            let queues = word().parse().expect("queues");
            let control = std::io::stdin().as_fd().try_clone_to_owned().expect("stdin");
            assay_link::hold_netns(cable, queues, control.into()).expect("held");
        }
        Some("load") => load(&arguments.map(|word| word.into_string().expect("text")).collect::<Vec<_>>()),
        Some("serve") => {
            serve(arguments.next().and_then(|mode| mode.into_string().ok()).as_deref().unwrap_or("ok"))
        }
        Some("own") => own(arguments),
        Some("agent") => {
            let mut arguments = arguments.peekable();
            if arguments.next_if(|word| word == "--carry").is_some() {
                let command: Vec<_> = arguments.skip_while(|word| word == "--").collect();
                panic!("{}", carrier::run(&command));
            }
            let words: Vec<String> = arguments.map(|word| word.into_string().expect("text")).collect();
            let part = match &words[..] {
                [] => AgentPart::Outer,
                [_, parent, _, work] => {
                    AgentPart::Inner { parent: parent.parse().expect("a process"), work: work.into() }
                }
                other => panic!("{other:?}"),
            };
            agent::run(part, "1.0.0").expect("an agent");
        }
        _ => panic!("supervise, hold-netns, load, serve, own or agent"),
    }
}

/// Has a command kept for good, as long as it lives, with the folder's `input` and `output` where there are such.
fn own(mut arguments: impl Iterator<Item = std::ffi::OsString>) {
    let folder = std::path::PathBuf::from(arguments.next().expect("a folder"));
    let mut options = SupervisorOptions::new(folder.join("log"), arguments.collect());
    options.grace = Duration::from_millis(100);
    options.scratch = vec![folder.join("scratch")];
    options.processes = 200;
    let named = |name: &str| Some(folder.join(name)).filter(|path| path.exists());
    (options.stdin, options.stdout) = (named("input"), named("output"));
    let assay = std::env::current_exe().expect("this program");
    let mut supervised = Supervised::start(&assay, &options, &folder, []).expect("started");
    println!("started");
    while supervised.wait(Duration::from_secs(1000)).is_none() {}
    supervised.stop();
    println!("stopped");
    std::thread::sleep(Duration::from_secs(1000));
}

/// `right`, `wrong` (another body), `error` (500), `garbage`, `mortal` (dies after 50 answers), `deaf` (never listens).
fn serve(mode: &str) {
    eprintln!("mode {mode}, scratch {}", std::env::var("SCRATCH").unwrap_or_default());
    if mode == "deaf" {
        std::thread::sleep(Duration::from_secs(1000));
    }
    let address =
        format!("{}:{}", std::env::var("ADDRESS").expect("ADDRESS"), std::env::var("PORT").expect("PORT"));
    let listener = TcpListener::bind(address).expect("address");
    let answer = match mode {
        "wrong" => "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHELLO",
        "error" => "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n",
        "garbage" => "220 smtp.example ready\r\n\r\n",
        _ => "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    };
    let left =
        std::sync::Arc::new(std::sync::atomic::AtomicU32::new(if mode == "mortal" { 50 } else { u32::MAX }));
    for stream in listener.incoming().flatten() {
        let left = left.clone();
        std::thread::spawn(move || {
            let mut input = BufReader::new(stream.try_clone().expect("clone"));
            let mut output = stream;
            let mut line = String::new();
            while input.read_line(&mut line).is_ok_and(|n| n > 0) {
                if line == "\r\n" {
                    if left.fetch_sub(1, std::sync::atomic::Ordering::Relaxed) == 1 {
                        eprintln!("fatal: out of answers");
                        std::process::exit(3);
                    }
                    if output.write_all(answer.as_bytes()).is_err() {
                        return;
                    }
                }
                line.clear();
            }
        });
    }
}

fn load(arguments: &[String]) {
    let value =
        |name: &str| arguments[arguments.iter().position(|word| word == name).expect(name) + 1].as_str();
    let seconds = |name: &str| Duration::from(value(name).parse::<assay_model::units::Nanos>().expect(name));
    assert_eq!(arguments[1], "--json");
    let is_asked = arguments.iter().any(|word| word == "--on-request");
    let (mut histogram, mut books, mut lengths) =
        (Histogram::new(), Books::default(), [seconds("--warmup"), seconds("-d")]);
    let mut streams: Vec<Option<TcpStream>> =
        (0..value("-c").parse::<u32>().expect("-c")).map(|_| None).collect();
    if is_asked {
        streams.iter_mut().for_each(|stream| *stream = TcpStream::connect(authority(arguments)).ok());
        lengths = [Duration::ZERO; 2];
        println!("{CONNECTED}");
        for line in std::io::stdin().lines().map_while(Result::ok) {
            let ns = line.split(' ').map(|ns| Duration::from_nanos(ns.parse().expect("ns")));
            let [settle, length]: [Duration; 2] = ns.collect::<Vec<_>>().try_into().expect("two");
            let turn = turn(arguments, &mut streams, [settle, length], &mut histogram, &mut books);
            println!("{}", serde_json::to_string(&turn).expect("json"));
            lengths = [lengths[0] + settle, lengths[1] + length];
        }
    } else {
        turn(arguments, &mut streams, lengths, &mut histogram, &mut books);
    }
    books.errors.retain(|_, n| *n > 0);
    books.issued = books.ok + books.failed();
    let connections: u32 = value("-c").parse().expect("-c");
    let rate = arguments.iter().position(|word| word == "-r");
    let arrival = rate.map_or(Arrival::Closed, |at| {
        assert_eq!(value("--arrival"), "poisson");
        Arrival::Poisson { per_second: arguments[at + 1].parse().expect("-r") }
    });
    let open = rate.map(|_| histogram.to_hdr_base64().expect("histogram"));
    let report = LoadReport {
        schema: LOAD_SCHEMA.to_owned(),
        target: arguments[0].clone(),
        engine: "threads".to_owned(),
        arrival,
        cpus: value("--cpus").to_owned(),
        connections,
        pipeline: 1,
        window_ns: lengths[1].into(),
        warmup_ns: lengths[0].into(),
        window: WindowCounts { ok: histogram.count(), ..WindowCounts::default() },
        latency: Latency {
            service_hdr: histogram.to_hdr_base64().expect("histogram"),
            response_hdr: open,
            ..Latency::default()
        },
        books,
        series: Series { interval_ns: Nanos::from_millis(100), ok: Vec::new() },
        generator: Usage::default(),
        thread_busy_shares: vec![0.5],
        samples: Vec::new(),
        checks: Vec::new(),
        ..LoadReport::default()
    };
    println!("{}", serde_json::to_string(&report).expect("json"));
}

fn authority(arguments: &[String]) -> &str {
    arguments[0].strip_prefix("http://").expect("url")
}

/// One window after some load, over the connections that are there; the others are made first.
fn turn(
    arguments: &[String],
    streams: &mut Vec<Option<TcpStream>>,
    [settle, length]: [Duration; 2],
    histogram: &mut Histogram,
    books: &mut Books,
) -> LoadTurn {
    let value =
        |name: &str| arguments[arguments.iter().position(|word| word == name).expect(name) + 1].as_str();
    let workload: Workload =
        serde_json::from_str(&std::fs::read_to_string(value("--workload")).expect("workload"))
            .expect("workload");
    let request = workload.requests[0].clone();
    let begin = Instant::now() + settle;
    let end = begin + length;
    let clients: Vec<_> = streams
        .drain(..)
        .map(|stream| {
            let (authority, path) = (authority(arguments).to_owned(), request.path.clone());
            let body = request.expect.body.clone().unwrap_or_default();
            std::thread::spawn(move || {
                let mut stream = stream.or_else(|| TcpStream::connect(&authority).ok());
                let seen = client(stream.as_mut(), &authority, &path, &body, [begin, end]);
                (stream.filter(|_| seen.2 == 0), seen)
            })
        })
        .collect();
    let mut turn = LoadTurn { settle_ns: settle.into(), window_ns: length.into(), ..LoadTurn::default() };
    for (stream, (own, ok, failed)) in clients.into_iter().map(|client| client.join().expect("client")) {
        streams.push(stream);
        turn.ok += own.count();
        turn.failed += failed;
        turn.answered += ok;
        histogram.merge(&own);
        books.ok += ok;
        *books.errors.entry(ErrorClass::EarlyEof).or_default() += failed;
    }
    if length.is_zero() {
        // Of load without a window the slices alone tell what was answered in it.
        turn.slices = Series { interval_ns: turn.settle_ns, ok: vec![turn.answered] };
    }
    turn
}

fn client(
    stream: Option<&mut TcpStream>,
    authority: &str,
    path: &str,
    body: &str,
    [begin, end]: [Instant; 2],
) -> (Histogram, u64, u64) {
    let (mut histogram, mut ok, mut failed) = (Histogram::new(), 0, 0);
    let wanted = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let mut answer = vec![0; wanted.len()];
    let Some(stream) = stream else { return (histogram, 0, 1) };
    while Instant::now() < end {
        let sent = Instant::now();
        let request = format!("GET {path} HTTP/1.1\r\nHost: {authority}\r\n\r\n");
        if stream.write_all(request.as_bytes()).and_then(|()| stream.read_exact(&mut answer)).is_err() {
            failed += 1;
            break;
        }
        if answer != wanted.as_bytes() {
            failed += 1;
            continue;
        }
        ok += 1;
        if sent >= begin {
            histogram.record(u64::try_from(sent.elapsed().as_nanos()).expect("short"));
        }
    }
    (histogram, ok, failed)
}
