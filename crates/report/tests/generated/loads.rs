//! Reports of single loads, of all kinds, told: nothing senseless, no share beyond all, and no line denies another.

use assay_model::check::{Check, CheckOutcome};
use assay_model::evidence::{Evidence, InFlight, Neighbour, ServerEnded};
use assay_model::load::{
    Arrival, BodyChecks, Books, ErrorClass, ErrorSample, Latency, LoadReport, SystemCalls, WindowCounts,
};
use assay_model::rule::Rule;
use assay_model::running::Running;
use assay_model::units::Nanos;
use assay_model::usage::Usage;
use assay_report::load::{Asked, summary};
use assay_report::terminal::Style;
use assay_report::words::{evidence, remedy};
use assay_stats::Histogram;
use proptest::prelude::*;

use super::sense::nonsense;

/// What a load is made of.
#[derive(Clone, Debug)]
struct Kind {
    /// Right answers of the window, those before and after it, wrong answers, requests that timed out, and such without an end.
    counts: [u64; 5],
    /// Logarithm to base 10 of a right answer's nanoseconds, and of the window's.
    times: [f64; 2],
    connections: u32,
    per_second: Option<f64>,
    /// Shares of busy and of waiting threads, and of what is wrong with Little's law.
    shares: [f64; 3],
    /// CPU time of generator and server, in windows.
    cpu: [f64; 2],
    /// Whether connections were opened anew, and the server was found, was on the generator's CPUs, ended.
    flags: [bool; 4],
}

fn kinds() -> impl Strategy<Value = Kind> {
    let count = || prop_oneof![2 => Just(0_u64), 1 => 1..9_u64, 2 => 1..30_000_000_u64];
    let share = || prop_oneof![Just(0.0), Just(1.0), 0.0..1.0_f64];
    let counts = [count(), count(), count(), count(), count()];
    let flags = [0.5, 0.5, 0.5, 0.2].map(prop::bool::weighted);
    let load = (1..60_000_u32, prop::option::of(0.1..3e6_f64));
    (
        counts,
        [2.0..11.0_f64, 6.0..12.0_f64],
        load,
        [share(), share(), share()],
        [0.0..64.0_f64, 0.0..64.0_f64],
        flags,
    )
        .prop_map(|(counts, times, (connections, per_second), shares, cpu, flags)| Kind {
            counts,
            times,
            connections,
            per_second,
            shares,
            cpu,
            flags,
        })
}

impl Kind {
    fn report(&self) -> LoadReport {
        let [ok, outside, wrong, timeouts, censored] = self.counts;
        let [busy, _, _] = self.shares;
        let [is_reopened, is_found, is_beside, _] = self.flags;
        let window_ns = Nanos(10_f64.powf(self.times[1]) as u64);
        let errors = [(ErrorClass::UnexpectedStatus, wrong), (ErrorClass::HeadTimeout, timeouts)];
        let errors = errors.into_iter().filter(|(_, n)| *n > 0).collect::<std::collections::BTreeMap<_, _>>();
        let used = |windows: f64| Usage {
            wall_ns: window_ns,
            user_ns: Nanos((window_ns.0 as f64 * windows) as u64),
            ..Usage::default()
        };
        let cpus = if is_beside { "0-1" } else { "1" }.to_owned();
        let running = Running::Found { program: "node".to_owned(), pids: vec![12], processes: 3, cpus };
        LoadReport {
            target: "http://127.0.0.1:8080".to_owned(),
            engine: "epoll".to_owned(),
            cpus: "0".to_owned(),
            arrival: self.per_second.map_or(Arrival::Closed, |per_second| Arrival::Poisson { per_second }),
            connections: self.connections,
            pipeline: 1,
            window_ns,
            books: Books {
                issued: ok + outside + wrong + timeouts + censored,
                ok: ok + outside,
                errors: errors.clone(),
                censored,
                connections_opened: if is_reopened { ok + wrong } else { self.connections.into() },
                ..Books::default()
            },
            window: WindowCounts { ok, errors, body_bytes: ok * 5, failed_later: None },
            latency: self.latency(),
            generator: used(self.cpu[0]),
            thread_busy_shares: vec![busy, busy / 2.0],
            bodies: BodyChecks { unjudged: ok, ..BodyChecks::default() },
            samples: (wrong > 0).then(not_found).into_iter().collect(),
            system_calls: SystemCalls { sends: 28_376, ..SystemCalls::default() },
            running: is_found.then_some(running),
            server: is_found.then(|| used(self.cpu[1])),
            checks: self.checks(),
            ..LoadReport::default()
        }
    }

    fn latency(&self) -> Latency {
        let [ok, outside, _, timeouts, censored] = self.counts;
        let text = |times: &Histogram| times.to_hdr_base64().unwrap();
        let (mut ended, mut given_up) = (Histogram::new(), Histogram::new());
        let right = 10_f64.powf(self.times[0]) as u64;
        ended.record_n(right, (ok + outside) / 2);
        ended.record_n(right * 2, ok + outside - (ok + outside) / 2);
        given_up.record_n(5_020_000_000, timeouts + censored);
        let response = self.per_second.map(|_| text(&ended));
        Latency {
            service_hdr: text(&ended),
            response_from_sent_hdr: response.clone(),
            response_hdr: response,
            censored_hdr: (timeouts + censored > 0).then(|| text(&given_up)),
            ..Latency::default()
        }
    }

    /// Checks as the generator makes them: of each rule at most one, whatever it says.
    fn checks(&self) -> Vec<Check> {
        let [ok, _, wrong, timeouts, censored] = self.counts;
        let [busy, waiting, share] = self.shares;
        let [_, is_found, is_beside, is_ended] = self.flags;
        let neighbour = Neighbour {
            program: "node".to_owned(),
            pid: 12,
            processes: 3,
            shared_cpus: "0".to_owned(),
            other_cpus: "1".to_owned(),
        };
        let waited = Evidence::ThreadWaited {
            waiting_share: waiting,
            involuntary_switches: ok,
            beside_database: false,
            beside_upstream: false,
            beside_server: Some(neighbour).filter(|_| is_found && is_beside),
        };
        let wanted = f64::from(self.connections);
        let in_flight =
            InFlight { mean: wanted * share, wanted, busy_share: Some(busy), waiting_share: Some(waiting) };
        let law =
            Evidence::LittlesLaw { in_flight: wanted * share, throughput_times_latency: wanted * waiting };
        let length = Evidence::WindowLength {
            responses: 10_f64.powf(self.times[1] - self.times[0]),
            mean_ns: Nanos(ok),
        };
        let ended = ServerEnded { program: "node".to_owned(), pid: 12, after_ns: Nanos(1_200_000_000) };
        let errors = [(ErrorClass::UnexpectedStatus, wrong)].into();
        let (warn, void) = (CheckOutcome::Warn, CheckOutcome::Void);
        let objections = [
            (is_ended, Rule::ServerEnded, void, Evidence::ServerEnded(ended)),
            (ok == 0, Rule::Answers, void, Evidence::RightAnswers { ok }),
            (busy > 0.95, Rule::GeneratorSaturated, warn, Evidence::BusiestThread { busy_share: busy }),
            (waiting > 0.1, Rule::GeneratorDisturbed, void, waited),
            (wrong > 0, Rule::Failures, warn, Evidence::Failures { ok, errors }),
            (
                censored > 0,
                Rule::Unfinished,
                warn,
                Evidence::Unanswered { unanswered: censored, requests: ok + wrong + timeouts + censored },
            ),
            (share < 0.95, Rule::InFlight, warn, Evidence::InFlight(in_flight)),
            (self.times[1] < self.times[0] + 1.0, Rule::WindowLength, warn, length),
            ((waiting - share).abs() > 0.01, Rule::LittlesLaw, void, law),
        ];
        let made = |(objects, rule, outcome, evidence): (bool, Rule, CheckOutcome, Evidence)| Check {
            rule,
            outcome: if objects { outcome } else { CheckOutcome::Pass },
            evidence,
        };
        objections.into_iter().filter(|of| of.0 || of.1 != Rule::ServerEnded).map(made).collect()
    }
}

/// A wrong answer as the generator tells it.
fn not_found() -> ErrorSample {
    ErrorSample {
        class: ErrorClass::UnexpectedStatus,
        detail: "expected a status from 200 to 299, got status 404 with 2 bytes".to_owned(),
        received: "HTTP/1.1 404 Not Found".to_owned(),
    }
}

/// The first share in a text that is more than all, or that is less than nothing.
fn impossible(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_negative = |word: &&&str| {
        let number = word.strip_prefix(['-', '−']);
        number.is_some_and(|number| number.starts_with(|c: char| c.is_ascii_digit()))
    };
    let percentages = words.windows(2).filter(|pair| pair[1].starts_with('%'));
    let beyond =
        percentages.map(|pair| pair[0].replace(',', "")).find(|n| n.parse().is_ok_and(|n: f64| n > 100.0));
    beyond.or_else(|| words.iter().find(is_negative).map(|word| (*word).to_owned()))
}

/// Where one line of a summary denies another, or what the report says.
fn contradiction(report: &LoadReport, text: &str) -> Option<&'static str> {
    let has = |words: &str| text.contains(words);
    let begins = |name: &str| text.lines().any(|line| line.starts_with(name));
    let is_void = report.checks.iter().any(Check::is_void);
    let is_ended = report.checks.iter().any(|check| check.rule == Rule::ServerEnded);
    let busy = report.thread_busy_shares.iter().copied().fold(0.0, f64::max);
    let rules = [
        (begins("void") != is_void, "what is void is told, and nothing else"),
        (has("nothing to object") && (begins("void") || begins("caution")), "there was something to object"),
        (has("believe these") && is_void && !has("do not believe"), "void numbers are to be believed"),
        (report.books.ok == 0 && (has("per answer") || has("mean ") || has("p50")), "of no answers"),
        (has("at 0 in flight") || has("percentile, "), "of nothing"),
        (has("is the slower side") && busy < 0.5, "an idle generator is blamed"),
        (has("end what else runs") && has("generator's CPU 0: "), "the server is no other program"),
        (
            is_ended && ["throughput", "service", "response", "caution"].iter().any(|name| begins(name)),
            "figures of the dead",
        ),
    ];
    rules.into_iter().find(|(is_broken, _)| *is_broken).map(|(_, what)| what)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_loads_summary_has_no_senseless_number_and_no_line_denies_another(kind in kinds()) {
        let report = kind.report();
        let asked = Asked { words: "GET /".to_owned(), authority: Some("localhost:8080".to_owned()) };
        let style = Style { width: 1000, colour: false, ascii: false, full: true };
        let text = summary(&report, &asked, &style).unwrap();
        prop_assert_eq!(nonsense(&text), None, "{}", text);
        prop_assert_eq!(impossible(&text), None, "{}", text);
        prop_assert_eq!(contradiction(&report, &text), None, "{}", text);
        let wrong = report.books.errors.contains_key(&ErrorClass::UnexpectedStatus);
        let is_ended = text.contains("ended after");
        let path = "nothing is at this path: give another in the URL";
        prop_assert_eq!(text.contains(path), wrong && !is_ended, "{}", text);
        // What programs read of it has the same words.
        for check in &report.checks {
            let words = evidence(check) + &remedy(check).unwrap_or_default();
            prop_assert_eq!((nonsense(&words), impossible(&words)), (None, None), "{}", words);
        }
    }
}

#[test]
fn what_cannot_be_is_found() {
    assert_eq!(impossible("waited up to 102 % of a window").as_deref(), Some("102"));
    assert_eq!(impossible("changed by −3 of 4").as_deref(), Some("−3"));
    assert_eq!(impossible("100 % busy, 1,234 of 5 - 7, CPUs 0-1 (-d)"), None);
}
