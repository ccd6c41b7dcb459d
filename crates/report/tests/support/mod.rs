//! A made-up run that holds everything a report must cope with: a limit, tiers and a tie, a contender that is not
//! installed, one that dies under load, one whose numbers are withheld, a void window, hostile text.
//!
//! The figures are invented but coherent: times obey Little's law and the verdict follows from the rounds.

pub(crate) mod judge;

use std::collections::BTreeMap;

use assay_model::conformance::{Conformance, RuleFinding, Ruling, Severity};
use assay_model::contender::Kind;
use assay_model::experiment::{Cell, Experiment, Measure};
use assay_model::host::{HostFacts, Isolation};
use assay_model::identity::{Identity, Origin};
use assay_model::load::{Arrival, Books, ErrorClass, LOAD_SCHEMA, Latency, LoadReport, Series, WindowCounts};
use assay_model::record::{
    Entry, Machine, Measurement, NotRun, Program, RECORD_SCHEMA, Record, Round, Run, Stage, State,
};
use assay_model::units::Nanos;
use assay_model::usage::{Usage, UsageSource};
use assay_model::verdict::Verdict;
use assay_model::workload::{Expect, RequestKind, Workload};
use assay_stats::Histogram;

pub(crate) const ROUNDS: u32 = 6;
pub(crate) const LEVELS: [u32; 3] = [16, 64, 256];
pub(crate) const WITHHELD: &str = "fasthttp";
pub(crate) const DYING: &str = "apache";
pub(crate) const NOT_INSTALLED: &str = "vertx";
pub(crate) const LIMIT: &str = "assay";
/// Text that must never be run, obeyed or lost.
pub(crate) const HOSTILE: &str = "</script><script>alert('x')</script> \u{1b}[31m <b>&amp;";

const WINDOW_NS: u64 = 1_000_000_000;

/// Name, title, language, kind, hello requests per second at 64 connections, resident MB, start-up in ms.
type Maker = (&'static str, &'static str, &'static str, Kind, f64, u64, u64);
const MAKERS: [Maker; 8] = [
    ("assay", "assay serve", "rust", Kind::Limit, 90_400.0, 3, 4),
    ("fasthttp", "fasthttp", "go", Kind::Framework, 84_100.0, 14, 9),
    ("nginx", "nginx", "c", Kind::Server, 78_000.0, 9, 21),
    ("net-http", "Go net/http", "go", Kind::Framework, 61_900.0, 17, 11),
    ("gin", "Gin", "go", Kind::Framework, 61_300.0, 31, 14),
    ("apache", "Apache httpd", "c", Kind::Server, 41_200.0, 24, 96),
    ("node", "Node.js", "javascript", Kind::Framework, 33_500.0, 74, 63),
    ("vertx", "Vert.x", "java", Kind::Framework, 0.0, 0, 0),
];

/// The made-up record and the verdict that follows from it.
pub(crate) fn sample() -> (Record, Verdict) {
    let record = record();
    let verdict = judge::verdict(&record);
    (record, verdict)
}

fn record() -> Record {
    let mut noise = Noise(42);
    let mut clock = 0;
    Record {
        schema: RECORD_SCHEMA.to_owned(),
        id: "2026-11-20T22-07-31-showdown".to_owned(),
        started_at: "2026-11-20T22:07:31Z".to_owned(),
        paused_ns: Nanos::ZERO,
        state: State::Complete,
        assay: Program { version: "0.1.0".to_owned(), profile: "release".to_owned() },
        command: ["assay", "run", "-e", "showdown", "-w", "hello", "json", "--seed", "17446744073709551557"]
            .map(String::from)
            .to_vec(),
        seed: 17_446_744_073_709_551_557,
        experiment: experiment(),
        workloads: workloads(),
        host: host(),
        isolation: Isolation {
            server_cpus: "0".to_owned(),
            generator_cpus: "1".to_owned(),
            statement: "Server on CPU 0, generator on CPU 1: two whole cores; the kernel's own work is not kept off them."
                .to_owned(),
        },
        link: Some(assay_model::network::Spec::Loopback),
        database: None,
        upstream: None,
        link_facts: None,
        server_hosts: Vec::new(),
        generator_hosts: Vec::new(),
        host_links: Vec::new(),
        imported: None,
        generators: Vec::new(),
        networks: Vec::new(),
        tls: None,
        contenders: MAKERS.iter().map(entry).collect(),
        rounds: (0..ROUNDS).map(|index| round(index, &mut noise, &mut clock)).collect(),
        long_look: None,
        energy: None,
        elapsed_ns: Nanos(clock),
    }
}

fn experiment() -> Experiment {
    let measure = |workload: &str| Measure::capacity(workload, LEVELS.to_vec());
    Experiment {
        about: "Real servers answer a few bytes, kept alive, at rising numbers of connections.".to_owned(),
        contenders: vec!["*".to_owned()],
        rounds: ROUNDS,
        budget_s: Some(200.0),
        warmup_s: 1.5,
        settle_s: 0.1,
        window_s: 1.0,
        timeout_s: 5.0,
        ..Experiment::new("showdown", vec![measure("hello"), measure("json")])
    }
}

fn workloads() -> Vec<Workload> {
    let workload = |name: &str, about: &str, path: &str, body: &str| Workload {
        name: name.to_owned(),
        about: about.to_owned(),
        requests: vec![RequestKind {
            weight: 1,
            method: "GET".to_owned(),
            path: path.to_owned(),
            headers: Vec::new(),
            body: None,
            expect: Expect { status: Some(200), body: Some(body.to_owned()), ..Expect::default() },
        }],
        ..Workload::default()
    };
    vec![
        workload("hello", "Five bytes of text.", "/", "hello"),
        workload("json", "A small object, serialised anew.", "/json", r#"{"message":"Hello, World!"}"#),
    ]
}

fn host() -> HostFacts {
    HostFacts {
        kernel: Some("6.18.5".to_owned()),
        distribution: Some("Debian GNU/Linux 12 (bookworm)".to_owned()),
        cpu_model: Some("AMD EPYC 9B14".to_owned()),
        cpus: 2,
        cores: 2,
        numa_nodes: 1,
        smt: Some(false),
        memory_bytes: Some(25_276_518_400),
        hypervisor: Some("kvm".to_owned()),
        clock_source: Some("tsc".to_owned()),
        mitigations: vec![
            "spectre_v2: Retpolines".to_owned(),
            "spec_store_bypass: disabled via prctl".to_owned(),
        ],
        nofile: Some([1024, 1_048_576]),
        ephemeral_ports: Some([32_768, 60_999]),
        somaxconn: Some(4096),
        load_average: Some(0.21),
        ..HostFacts::default()
    }
}

fn entry(&(name, title, language, kind, ..): &Maker) -> Entry {
    let missing = NotRun {
        stage: Stage::Needs,
        reason: "a Java development kit, version 17 or newer, was not found (java: command not found)"
            .to_owned(),
        remedy: Some("apt install openjdk-17-jdk-headless maven".to_owned()),
        log_tail: vec!["sh: 1: java: not found".to_owned(), HOSTILE.to_owned()],
    };
    Entry {
        identity: Identity {
            name: name.to_owned(),
            title: title.to_owned(),
            language: language.to_owned(),
            kind,
            origin: Origin::Folder,
            about: format!("{title} as its documentation sets it up, one worker per CPU."),
            tuning: if name == "nginx" { vec!["access_log off".to_owned()] } else { Vec::new() },
            workloads: vec!["hello".to_owned(), "json".to_owned()],
        },
        versions: BTreeMap::from([(title.to_owned(), "1.22.1".to_owned())]),
        command: vec![format!("./{name}"), "--port".to_owned(), "${PORT}".to_owned()],
        profile_arguments: Vec::new(),
        running: None,
        control_of: None,
        conformance: (kind == Kind::Server).then(|| conformance(name)),
        not_run: (name == NOT_INSTALLED).then_some(missing),
        not_run_on: Vec::new(),
    }
}

/// Three rules, of which nginx breaks one that must be kept and one that should be.
fn conformance(name: &str) -> Conformance {
    let rules = [
        ("close", "RFC 9112 §9.6", Severity::Must, Ruling::Kept),
        ("bad-host", "RFC 9112 §3.2", Severity::Must, Ruling::Broken),
        ("bad-field", "RFC 9112 §2.2", Severity::Should, Ruling::Broken),
        ("allow", "RFC 9110 §15.5.6", Severity::Must, Ruling::NotApplicable),
    ];
    let findings = rules.map(|(rule, source, severity, ruling)| RuleFinding {
        rule: rule.to_owned(),
        sentence: "A rule.".to_owned(),
        source: source.to_owned(),
        severity,
        ruling: if ruling == Ruling::Broken && name != "nginx" { Ruling::Kept } else { ruling },
        evidence: None,
    });
    Conformance { elapsed_ns: Nanos::from_millis(900), findings: findings.into() }
}

fn round(index: u32, noise: &mut Noise, clock: &mut u64) -> Round {
    let shared = 1.0 + 0.006 * noise.normal();
    let mut makers: Vec<&Maker> = MAKERS.iter().filter(|maker| maker.0 != NOT_INSTALLED).collect();
    for last in (1..makers.len()).rev() {
        makers.swap(last, (noise.uniform() * (last + 1) as f64) as usize);
    }
    Round {
        index,
        server_host: None,
        runs: makers.into_iter().map(|maker| run(index, maker, shared, noise, clock)).collect(),
    }
}

fn run(round: u32, maker: &Maker, shared: f64, noise: &mut Noise, clock: &mut u64) -> Run {
    let &(name, _, _, _, _, rss_mb, startup_ms) = maker;
    let offset_ns = Nanos(*clock);
    let startup_ns = Nanos::from_millis(startup_ms + (noise.uniform() * 4.0) as u64);
    *clock += startup_ns.0 + 1_500_000_000;
    let dies = name == DYING && round == 3;
    let planned = experiment().cells();
    let reached = if dies { 2 } else { planned.len() };
    let mut measure = |cell: &Cell| {
        let offset_ns = Nanos(*clock);
        *clock += WINDOW_NS + 100_000_000;
        measurement(round, maker, cell.clone(), offset_ns, shared, noise)
    };
    let cells = planned.iter().take(reached).map(&mut measure).collect();
    let failure = dies.then(|| NotRun {
        stage: Stage::Load,
        reason: "the process ended with signal 11 (SIGSEGV) 0.4 s into the window".to_owned(),
        remedy: Some("read the log below; run `assay check apache` to reproduce without load".to_owned()),
        log_tail: vec![
            "AH00052: child pid 4211 exit signal Segmentation fault (11)".to_owned(),
            HOSTILE.to_owned(),
        ],
    });
    let idle = usage(0.0, rss_mb * 900_000);
    Run {
        contender: name.to_owned(),
        offset_ns,
        startup_ns,
        idle: Some(idle),
        cells,
        failure,
        ..Run::default()
    }
}

fn measurement(
    round: u32,
    maker: &Maker,
    cell: Cell,
    offset_ns: Nanos,
    shared: f64,
    noise: &mut Noise,
) -> Measurement {
    let level = [(16, 0.93), (64, 1.0), (256, 0.95)]
        .iter()
        .find(|(n, _)| *n == cell.connections)
        .map_or(1.0, |l| l.1);
    let codec = if cell.workload == "json" { 0.88 } else { 1.0 };
    let stolen = maker.0 == "node" && round == 1 && cell.connections == 256;
    let speed =
        maker.4 * level * codec * shared * (1.0 + 0.005 * noise.normal()) * if stolen { 0.71 } else { 1.0 };
    let ok = speed as u64;
    let failed = if maker.0 == "gin" && cell.connections == 256 && cell.workload == "json" { 3 } else { 0 };
    let load = load_report(maker, &cell, ok, failed);
    Measurement {
        offset_ns,
        server: Some(usage(0.985, maker.5 * 1_000_000 + u64::from(cell.connections) * 12_000)),
        machine: Machine {
            server_other_share: 0.0,
            steal_share: if stolen { 0.29 } else { 0.001 },
            server_idle_share: 0.01,
            generator_idle_share: 0.38,
            ..Machine::default()
        },
        ..Measurement::new(cell, load)
    }
}

fn load_report(maker: &Maker, cell: &Cell, ok: u64, failed: u64) -> LoadReport {
    let errors: BTreeMap<ErrorClass, u64> =
        [(ErrorClass::UnexpectedStatus, failed)].into_iter().filter(|e| e.1 > 0).collect();
    LoadReport {
        schema: LOAD_SCHEMA.to_owned(),
        target: "http://127.0.0.1:39817".to_owned(),
        engine: "io_uring".to_owned(),
        arrival: Arrival::Closed,
        cpus: "1".to_owned(),
        connections: cell.connections,
        pipeline: 1,
        window_ns: Nanos(WINDOW_NS),
        warmup_ns: Nanos(100_000_000),
        books: Books {
            issued: ok + failed,
            ok,
            errors: errors.clone(),
            connections_opened: u64::from(cell.connections),
            ..Books::default()
        },
        window: WindowCounts { ok, errors, body_bytes: ok * 5, failed_later: None },
        latency: Latency { service_hdr: service_hdr(cell.connections, ok), ..Latency::default() },
        series: Series { interval_ns: Nanos(100_000_000), ok: vec![ok / 10; 10] },
        generator: usage(0.61, 6_000_000),
        thread_busy_shares: vec![if maker.0 == WITHHELD { 0.998 } else { 0.61 }],
        samples: Vec::new(),
        checks: Vec::new(),
        ..LoadReport::default()
    }
}

/// Times around the mean that Little's law demands, log-normal with a tail.
fn service_hdr(connections: u32, ok: u64) -> String {
    let mean = f64::from(connections) / ok as f64 * 1e9;
    let mut histogram = Histogram::new();
    for step in 0..2000_u32 {
        let share = (f64::from(step) + 0.5) / 2000.0;
        let spread = (share / (1.0 - share)).ln() * 0.17;
        histogram.record_n((mean * 0.97 * spread.exp()) as u64, ok / 2000);
    }
    // An encoding failure would surface as a missing curve, which the tests look for.
    histogram.to_hdr_base64().unwrap_or_default()
}

fn usage(busy: f64, rss_bytes: u64) -> Usage {
    let cpu = WINDOW_NS as f64 * busy;
    Usage {
        wall_ns: Nanos(WINDOW_NS),
        user_ns: Nanos((cpu * 0.3) as u64),
        system_ns: Nanos((cpu * 0.7) as u64),
        rss_peak_bytes: rss_bytes,
        rss_bytes,
        processes: 1,
        threads: 1,
        source: UsageSource::Schedstat,
        ..Usage::default()
    }
}

/// A linear congruential generator (Knuth, MMIX): the same sample on every machine and for ever.
struct Noise(u64);

impl Noise {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Nearly normal: the sum of twelve uniforms.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}
