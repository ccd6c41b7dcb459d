//! Every rule of HTTP/2 can be broken: for each there is a server that breaks it and is right in all else; ours keeps them.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use assay_check::{Pace, Patience, Rule, Target, Tempo, ask, of_http2};
use assay_model::conformance::{Conformance, RuleFinding, Ruling};

use crate::ours::credulous;
use crate::strict::{AT_EXPECTATION, Manner, Strict};

/// Short, because servers that never answer are among them.
const PATIENCE: Patience = Patience {
    answer: Duration::from_millis(700),
    end: Duration::from_millis(400),
    piece: Duration::from_micros(300),
    ..Patience::LONG
};
/// Between pieces that a server must not find together, although the machine is busy.
const LONG_PIECE: Duration = Duration::from_millis(20);
/// For a server that is right, however busy the machine is.
const LONG: Patience =
    Patience { answer: Duration::from_secs(60), rule: Duration::from_secs(300), ..PATIENCE };
/// Times that a server is asked whose fault shows only when pieces reach it apart or together.
const ATTEMPTS: usize = 5;
const DEPENDS_ON_PIECES: [&str; 5] =
    ["h2-preface-apart", "h2-frames-apart", "h2-frames-together", "h2-half-close", "h2-goaway"];
/// Servers at once; most of the time they are waited for.
const THREADS: usize = 8;

fn target(server: &Strict) -> Target {
    Target::new(&server.address.to_string(), "/").expect("target").over_http2()
}

fn asked(target: &Target, rules: &[&'static Rule]) -> Conformance {
    ask(target, rules, Pace::Full, &|| true).expect("an answer")
}

fn rule(id: &str) -> &'static Rule {
    of_http2().find(|rule| rule.id == id).unwrap_or_else(|| panic!("no rule {id}"))
}

/// What the rule finds at a server that breaks it; why it has nothing to vary, where that is so.
fn finding(rule: &'static Rule) -> Result<RuleFinding, String> {
    finding_at(&target(&Strict::start(rule.id)), rule)
}

/// What the rule finds at a server.
fn finding_at(target: &Target, rule: &'static Rule) -> Result<RuleFinding, String> {
    let piece = if DEPENDS_ON_PIECES.contains(&rule.id) { LONG_PIECE } else { PATIENCE.piece };
    let target = target.clone().patience(Patience { piece, ..PATIENCE });
    // On a busy machine a server answers late.
    let mut asked = (0..ATTEMPTS).map(|_| ask(&target, &[rule], Pace::Full, &|| true));
    let conformance = asked.find_map(Result::ok).ok_or("no answer")?;
    conformance.findings.into_iter().next().ok_or_else(|| "nothing was found".to_owned())
}

#[test]
fn every_rule_is_broken_by_a_server_that_breaks_it() {
    let rules: Vec<&'static Rule> = of_http2().collect();
    let (next, problems) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(rule) = rules.get(next.fetch_add(1, Ordering::Relaxed)) {
            let attempts = if DEPENDS_ON_PIECES.contains(&rule.id) { ATTEMPTS } else { 1 };
            let mut last = None;
            for _ in 0..attempts {
                last = Some(finding(rule));
                if last.as_ref().is_some_and(|found| found.as_ref().is_ok_and(|f| f.ruling == Ruling::Broken))
                {
                    break;
                }
            }
            let problem = match last {
                Some(Ok(found)) if found.ruling == Ruling::Broken && found.rule == rule.id => {
                    let evidence = found.evidence.unwrap_or_default();
                    (evidence.is_empty() || evidence.len() > 3000)
                        .then(|| format!("its evidence is {evidence}"))
                }
                other => Some(format!("{other:?}")),
            };
            if let Some(problem) = problem {
                problems.lock().expect("problems").push(format!("{}: {problem}", rule.id));
            }
        }
    };
    std::thread::scope(|scope| (0..THREADS).for_each(|_| drop(scope.spawn(work))));
    let problems = problems.into_inner().expect("problems");
    assert!(problems.is_empty(), "{} of {}:\n{}", problems.len(), rules.len(), problems.join("\n"));
}

#[test]
fn the_same_server_without_a_fault_keeps_every_rule() {
    let server = Strict::start("none");
    let rules: Vec<&'static Rule> = of_http2().collect();
    let conformance = asked(&target(&server).patience(LONG), &rules);
    let others: Vec<&RuleFinding> =
        conformance.findings.iter().filter(|f| f.ruling != Ruling::Kept).collect();
    assert!(others.is_empty(), "{others:#?}");
    assert!(rules.len() >= 145, "fewer than h2spec asks for");
}

#[test]
fn the_method_lists_every_rule_by_its_number() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/method/http2-rules.md");
    let page = std::fs::read_to_string(page).expect("the page");
    for (number, Rule { id, sentence, source, severity, .. }) in (1..).zip(of_http2()) {
        let severity = format!("{severity:?}").to_lowercase();
        let row = format!("| {number} | `{id}` | {severity} | {source} | {sentence} |");
        assert!(page.contains(&row), "docs/method/http2-rules.md lacks: {row}");
    }
}

#[test]
fn evidence_tells_frame_by_frame_what_was_sent_and_what_came() {
    let evidence = finding(rule("h2-data-on-zero")).expect("a finding").evidence.expect("evidence");
    for words in [
        "it went on as if nothing were wrong",
        "sent the preface, SETTINGS (",
        "DATA on stream 0 (END_STREAM, \"data\")",
    ] {
        assert!(evidence.contains(words), "{evidence}");
    }
}

/// Rules that apply to no server without a table.
const NEED_A_TABLE: [&str; 13] = [
    "h2-head-bomb",
    "h2-hpack-evicts-all",
    "h2-hpack-evicts-oldest",
    "h2-hpack-remembers",
    "h2-hpack-remembers-in-block",
    "h2-hpack-remembers-names",
    "h2-hpack-remembers-refused",
    "h2-hpack-remembers-reset",
    "h2-hpack-remembers-trailers",
    "h2-hpack-resize",
    "h2-hpack-resize-evicts",
    "h2-hpack-resize-keeps",
    "h2-hpack-resize-twice",
];

/// Rules about what follows the head of a request, which do not apply to a server that has answered that.
const BEHIND_THE_HEAD: [&str; 12] = [
    "h2-length-before-trailers",
    "h2-length-of-parts",
    "h2-length-too-long",
    "h2-length-too-short",
    "h2-pseudo-in-trailers",
    "h2-reset-data",
    "h2-reset-headers",
    "h2-second-headers",
    "h2-trailers-connection",
    "h2-trailers-uppercase",
    "h2-window-overflow-by-settings",
    "h2-window-overflow-on-stream",
];

/// Rules about requests beside each other, which do not apply to a server that takes one at a time.
const NEED_STREAMS: [&str; 7] = [
    "h2-frames-together",
    "h2-hpack-remembers-refused",
    "h2-hpack-remembers-trailers",
    "h2-stream-error-spares",
    "h2-streams-in-turn",
    "h2-streams-interleaved",
    "h2-window-of-connection",
];

/// Every rule but those that take a server long, which have nothing to do with a manner.
fn is_quick(rule: &&'static Rule) -> bool {
    rule.tempo == Tempo::Together || rule.id == "h2-head-bomb"
}

/// Demands that a server of this manner keeps all that applies to it, and that no other rules do not apply.
fn assert_keeps(manner: Manner, not_applicable: &[&str]) {
    let server = Strict::right(manner);
    let rules: Vec<&'static Rule> = of_http2().filter(is_quick).collect();
    let conformance = asked(&target(&server).patience(LONG), &rules);
    let broken: Vec<&RuleFinding> = conformance.broken().collect();
    assert!(broken.is_empty(), "{manner:?}: {broken:#?}");
    let others = conformance.findings.iter().filter(|found| found.ruling == Ruling::NotApplicable);
    let others: BTreeSet<&str> = others.map(|found| found.rule.as_str()).collect();
    let expected: BTreeSet<&str> = not_applicable.iter().copied().collect();
    assert_eq!(others, expected, "{manner:?}");
}

/// A server without a table refuses what tells it to keep more, and the first block if that does not say how little it is (RFC 9113 §4.3.1).
#[test]
fn a_server_may_keep_no_table() {
    assert_keeps(Manner::WithoutTable, &NEED_A_TABLE);
}

#[test]
fn a_server_may_use_what_settings_allow() {
    assert_keeps(Manner::Lavish, &[]);
}

#[test]
fn a_server_may_answer_before_the_body_has_come() {
    assert_keeps(Manner::Early, &BEHIND_THE_HEAD);
}

#[test]
fn a_server_may_take_one_request_at_a_time() {
    assert_keeps(Manner::Solitary, &NEED_STREAMS);
}

/// RFC 9113 §6.7 forbids to answer an answer to a PING, not to end the connection at one.
#[test]
fn a_server_may_end_the_connection_at_an_answer_to_no_ping() {
    assert_keeps(Manner::Wary, &[]);
}

/// A server that retires connections breaks the rule, but leaves no request without an answer.
#[test]
fn of_a_server_that_retires_connections_that_is_told() {
    let server = Strict::right(Manner::Retiring);
    let found = finding_at(&target(&server), rule("h2-requests-many")).expect("a finding");
    let evidence = found.evidence.unwrap_or_default();
    assert!(evidence.starts_with("its GOAWAY says that it takes none behind stream 19;"), "{evidence}");
}

/// A server that takes any name refuses it there as it refuses everything.
#[test]
fn refusals_tell_nothing_at_a_path_that_there_is_not() {
    let server = Strict::start("h2-name-uppercase");
    let target = Target::new(&server.address.to_string(), "/assay-check/nothing").expect("target");
    let found = finding_at(&target.over_http2(), rule("h2-name-uppercase")).expect("a finding");
    assert_eq!(found.ruling, Ruling::NotApplicable, "{found:#?}");
    assert!(found.evidence.as_ref().is_some_and(|why| why.contains("404")), "{found:#?}");
}

/// An end is told at once, and neither a frame of the stream nor early hints are 100.
#[test]
fn what_says_neither_100_nor_a_status_lets_no_client_go_on() {
    for fault in AT_EXPECTATION {
        let server = Strict::start(fault);
        let found = finding_at(&target(&server), rule("h2-expect-continue")).expect("a finding");
        assert_eq!(found.ruling, Ruling::Broken, "{fault}: {found:#?}");
    }
}

#[test]
fn a_server_that_speaks_something_else_breaks_one_rule() {
    let server = Strict::start("h2-spoken");
    let conformance = asked(&target(&server).patience(PATIENCE), &of_http2().collect::<Vec<_>>());
    let [finding] = conformance.findings.as_slice() else { panic!("{:#?}", conformance.findings) };
    assert_eq!((finding.rule.as_str(), finding.ruling), ("h2-spoken", Ruling::Broken));
    assert!(
        finding.evidence.as_ref().is_some_and(|evidence| evidence.contains("HTTP/1.1 400")),
        "{finding:#?}"
    );
}

/// Over TLS a server says so by an alert (RFC 7301 §3.2).
#[test]
fn a_server_that_agrees_on_no_protocol_breaks_one_rule() {
    const NO_APPLICATION_PROTOCOL: [u8; 7] = [21, 3, 3, 0, 2, 2, 120];
    let listener = TcpListener::bind("127.0.0.1:0").expect("port");
    let address = listener.local_addr().expect("address").to_string();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("connection");
        let _ = stream.read(&mut [0; 4096]);
        stream.write_all(&NO_APPLICATION_PROTOCOL).expect("alert");
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let target = Target::new(&address, "/").expect("target").secured(credulous()).over_http2();
    let conformance = asked(&target.patience(PATIENCE), &of_http2().collect::<Vec<_>>());
    let [finding] = conformance.findings.as_slice() else { panic!("{:#?}", conformance.findings) };
    assert_eq!((finding.rule.as_str(), finding.ruling), ("h2-spoken", Ruling::Broken));
    assert!(finding.evidence.as_ref().is_some_and(|evidence| evidence.contains("ALPN")), "{finding:#?}");
}
