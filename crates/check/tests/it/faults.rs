//! Every rule can be broken: for each there is a server that breaks it and is right in all else.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use assay_check::{Pace, Patience, Planted, Route, Rule, Target, Tempo, TestType, ask, of_http};
use assay_model::conformance::{RuleFinding, Ruling, Severity};

use crate::faulty::Fault::{self, *};
use crate::faulty::{Faulty, page};

/// Short, because servers that never answer are among them.
const PATIENCE: Patience = Patience {
    answer: Duration::from_millis(400),
    end: Duration::from_millis(400),
    piece: Duration::from_micros(300),
    ..Patience::LONG
};
/// Between pieces that a server must not find together, although the machine is busy.
const LONG_PIECE: Duration = Duration::from_millis(20);
/// Times that a server is asked: on a busy machine pieces that should reach it apart come together, and it answers late.
const ATTEMPTS: usize = 5;
/// Servers at once; most of the time they are waited for.
const THREADS: usize = 12;

/// Rules, each with the faults that break it.
const BROKEN_BY: &[(&str, &[Fault])] = &[
    ("split-anywhere", &[OneRead]),
    ("lines-apart", &[OneRead]),
    ("bytes-apart", &[OneRead]),
    ("pipeline-order", &[ForgetsPipelined]),
    ("pipeline-pieces", &[OneRead]),
    ("empty-line-first", &[RefusesEmptyLine]),
    ("keep-alive", &[AlwaysCloses]),
    ("hundred-requests", &[TiresSoon, RetiresSoon]),
    ("concurrent", &[OneConnection]),
    ("close", &[IgnoresClose]),
    ("close-said", &[ClosesWordlessly]),
    ("nothing-after-close", &[AnswersAfterClose, IgnoresClose]),
    ("close-http10", &[KeepsHttp10]),
    ("keep-alive-http10", &[KeepsHttp10]),
    ("no-chunks-http10", &[ChunksAlways]),
    ("half-close", &[DropsOnHalfClose]),
    ("head-method", &[NoHead]),
    ("head-no-content", &[HeadWithContent]),
    ("head-length", &[HeadTellsZero]),
    ("date", &[NoDate, BadDate]),
    ("date-moves", &[FrozenDate]),
    ("body-length", &[NoBodies, EndlessHints]),
    ("body-chunked", &[NoChunks, NoBodies]),
    ("body-chunk-parts", &[NoExtensions, OneTrailer, LineBehindTrailer]),
    ("body-bytes-apart", &[OneRead, NoBodies]),
    ("body-get-length", &[BodilessGets, NoBodies]),
    ("body-get-chunked", &[BodilessGets, NoBodies]),
    ("expect-continue", &[IgnoresExpect]),
    ("expect-continue-http10", &[ContinuesHttp10]),
    ("unknown-path", &[EverythingExists]),
    ("unknown-method", &[AnyMethod]),
    ("method-case", &[AnyCase]),
    ("allow", &[NoAllow]),
    ("absolute-target", &[NoAbsoluteTarget]),
    ("long-target", &[ShortTargets]),
    ("huge-target", &[HangsOnHuge]),
    ("no-escape", &[AnyFile]),
    ("length-and-chunked", &[Rough]),
    ("chunked-and-length", &[PrefersLength]),
    ("chunked-http10", &[Rough, IgnoresCodings]),
    ("two-lengths", &[Rough]),
    ("length-no-number", &[Rough]),
    ("length-overflow", &[Rough]),
    ("coding-not-chunked", &[Rough, IgnoresCodings]),
    ("coding-spelling", &[Rough, IgnoresCodings]),
    ("chunk-size", &[Rough]),
    ("chunk-size-tail", &[Rough]),
    ("chunk-overflow", &[Rough]),
    ("chunk-end", &[SkipsToChunkEnd]),
    ("chunk-line-end", &[LfEndsChunkLine]),
    ("no-host", &[Rough]),
    ("two-hosts", &[Rough]),
    ("bad-host", &[Rough]),
    ("space-before-colon", &[Rough]),
    ("folded-line", &[Rough]),
    ("space-first", &[Rough]),
    ("bare-cr", &[CrEndsLine]),
    ("bare-lf", &[WaitsAtLf]),
    ("nul", &[NulEndsLine, DiesOfNul]),
    ("bad-field", &[Rough]),
    ("bad-request-line", &[Rough]),
    ("bad-version", &[Rough]),
    ("huge-head", &[HangsOnHuge]),
    ("slow-clients", &[OneConnection]),
    ("json-status", &[WrongStatus]),
    ("json-value", &[WrongBody]),
    ("json-type", &[WrongType]),
    ("json-length", &[NoLength]),
    ("json-server", &[NoServer]),
    ("json-date", &[NoDate, BadDate]),
    ("json-date-moves", &[FrozenDate]),
    ("plaintext-status", &[WrongStatus]),
    ("plaintext-body", &[WrongBody, ForgetsPipelined]),
    ("plaintext-type", &[WrongType]),
    ("plaintext-length", &[NoLength]),
    ("plaintext-server", &[NoServer]),
    ("plaintext-date", &[NoDate, BadDate]),
    ("plaintext-date-moves", &[FrozenDate]),
    ("db-status", &[WrongStatus]),
    ("db-row", &[NumberOutOfRange]),
    ("db-random", &[SameRow]),
    ("db-statements", &[AsksNothing]),
    ("db-type", &[WrongType]),
    ("db-length", &[NoLength]),
    ("db-server", &[NoServer]),
    ("db-date", &[NoDate, BadDate]),
    ("db-date-moves", &[FrozenDate]),
    ("queries-status", &[WrongStatus]),
    ("queries-count", &[NumberOutOfRange]),
    ("queries-random", &[SameRow]),
    ("queries-clamped", &[NeverClamps]),
    ("queries-hostile", &[StumblesOverNumbers]),
    ("queries-statements", &[AsksNothing]),
    ("queries-type", &[WrongType]),
    ("queries-length", &[NoLength]),
    ("queries-server", &[NoServer]),
    ("queries-date", &[NoDate, BadDate]),
    ("queries-date-moves", &[FrozenDate]),
    ("cached-status", &[WrongStatus]),
    ("cached-count", &[NumberOutOfRange]),
    ("cached-random", &[SameRow]),
    ("cached-clamped", &[NeverClamps]),
    ("cached-hostile", &[StumblesOverNumbers]),
    ("cached-type", &[WrongType]),
    ("cached-length", &[NoLength]),
    ("cached-server", &[NoServer]),
    ("cached-date", &[NoDate, BadDate]),
    ("cached-date-moves", &[FrozenDate]),
    ("updates-status", &[WrongStatus]),
    ("updates-count", &[NumberOutOfRange]),
    ("updates-random", &[SameRow]),
    ("updates-clamped", &[NeverClamps]),
    ("updates-hostile", &[StumblesOverNumbers]),
    ("updates-statements", &[AsksNothing]),
    ("updates-written", &[WritesNothing]),
    ("updates-returned", &[ReturnsOtherNumbers]),
    ("updates-type", &[WrongType]),
    ("updates-length", &[NoLength]),
    ("updates-server", &[NoServer]),
    ("updates-date", &[NoDate, BadDate]),
    ("updates-date-moves", &[FrozenDate]),
    ("fortunes-status", &[WrongStatus]),
    ("fortunes-statements", &[AsksNothing]),
    ("fortunes-escaped", &[Unescaped]),
    ("fortunes-order", &[Unsorted]),
    ("fortunes-page", &[OtherPage, Unsorted]),
    ("fortunes-type", &[WrongType]),
    ("fortunes-length", &[NoLength]),
    ("fortunes-server", &[NoServer]),
    ("fortunes-date", &[NoDate, BadDate]),
    ("fortunes-date-moves", &[FrozenDate]),
    ("chat-read-back", &[KeepsNoMessages]),
    ("chat-order", &[OldestMessages, KeepsNoMessages]),
    ("chat-login", &[AnyPassword]),
    ("chat-session", &[AnySession]),
    ("chat-room", &[AnyPassword, OpenRooms]),
    ("chat-escaped", &[Unescaped]),
    ("chat-body", &[AnyMessage]),
    ("ws-accept", &[WrongAccept]),
    ("ws-any-case", &[FussyCase]),
    ("ws-version", &[AnyVersion]),
    ("ws-version-told", &[AnyVersion, VersionUntold]),
    ("ws-key", &[AnyKey]),
    ("ws-asked-for", &[OpensUnasked]),
    ("ws-method", &[OpensPosts]),
    ("ws-http10", &[OpensHttp10]),
    ("ws-extension", &[ForcesExtension]),
    ("ws-protocol", &[ForcesProtocol]),
    ("ws-text", &[TextsAreBinary, EndlessPings]),
    ("ws-binary", &[BinaryIsText]),
    ("ws-empty", &[DropsEmpty]),
    ("ws-lengths", &[SixteenBits]),
    ("ws-unmasked", &[MasksAnswers]),
    ("ws-order", &[NewestFirst]),
    ("ws-bytes-apart", &[OneRead]),
    ("ws-fragments", &[FramesAreMessages]),
    ("ws-fragments-empty", &[EmptyFrameEnds]),
    ("ws-cut-character", &[FramesAreTexts]),
    ("ws-ping", &[NoPongs]),
    ("ws-ping-longest", &[ShortPongs, NoPongs]),
    ("ws-ping-inside", &[PongsLate]),
    ("ws-pings", &[FirstPongOnly]),
    ("ws-pong", &[PongIsBreach]),
    ("ws-close", &[NoCloses]),
    ("ws-close-empty", &[NoEmptyCloses]),
    ("ws-close-reason", &[NoReasons]),
    ("ws-close-codes", &[RegisteredCodes]),
    ("ws-close-code", &[AlwaysNormal, NoCloses]),
    ("ws-close-last", &[TalksAfterClose]),
    ("ws-close-ends", &[StaysOpen]),
    ("ws-mask", &[AnyMask]),
    ("ws-reserved-bits", &[AnyBits]),
    ("ws-reserved-opcodes", &[AnyOpcode]),
    ("ws-control-long", &[LongControls]),
    ("ws-control-fragmented", &[FragmentedControls]),
    ("ws-continuation", &[ContinuesNothing]),
    ("ws-interleaved", &[Interleaves]),
    ("ws-length-highest", &[TopBit]),
    ("ws-length-shortest", &[AnyLength]),
    ("ws-utf8", &[AnyText]),
    ("ws-utf8-fragments", &[AnyText]),
    ("ws-close-short", &[ShortCloses]),
    ("ws-close-forbidden", &[RepeatsAnyCode]),
    ("ws-says-why", &[EndsSilently, AnyBits, AnyText]),
    ("ws-huge", &[DiesOfHuge]),
    ("ws-many", &[OneConnection]),
    ("ws-dropped", &[DiesOfHalves]),
];
/// Rules about the target, which no server can break.
const OF_THE_PATH: [&str; 7] = [
    "json-route",
    "plaintext-route",
    "db-route",
    "queries-route",
    "fortunes-route",
    "updates-route",
    "cached-route",
];
/// Where the types are answered, and paths that would save bytes.
const PATHS: [(TestType, &str, &str); 9] = [
    (TestType::Json, "/json", "/j"),
    (TestType::Plaintext, "/plaintext", "/p"),
    (TestType::Db, "/db", "/d"),
    (TestType::Queries, "/queries?queries=1", "/q?n=1"),
    (TestType::Fortunes, "/fortunes", "/f"),
    (TestType::Updates, "/updates?queries=1", "/u?n=1"),
    (TestType::Cached, "/cached-queries?count=1", "/c?n=1"),
    (TestType::Chat, "/rooms", "/r"),
    (TestType::WebSocket, "/ws", "/ws"),
];

fn routes(saving: bool) -> Vec<Route> {
    let route = |(kind, path, short): (TestType, &str, &str)| {
        let path = if saving { short } else { path }.to_owned();
        Route { kind, path, page: Some(page()) }
    };
    PATHS.map(route).to_vec()
}

fn rule(id: &str) -> &'static Rule {
    let types = TestType::ALL.into_iter().flat_map(TestType::rules);
    of_http().chain(types).find(|rule| rule.id == id).unwrap_or_else(|| panic!("no rule {id}"))
}

fn finding(fault: Fault, rule: &'static Rule, routes: Vec<Route>) -> RuleFinding {
    let folder = tempfile::tempdir().expect("folder");
    let root = folder.path().join("root");
    std::fs::create_dir(&root).expect("root");
    let planted = Planted { name: "planted.txt".to_owned(), secret: "nobody may read this".to_owned() };
    std::fs::write(folder.path().join(&planted.name), &planted.secret).expect("planted");
    let server = Faulty::start(fault, root);
    let target =
        Target::new(&server.address.to_string(), "/").expect("target").database(server.table.clone());
    let piece = if fault == OneRead { LONG_PIECE } else { PATIENCE.piece };
    let target = target.patience(Patience { piece, ..PATIENCE }).planted(planted).routes(routes);
    let mut asked = (0..ATTEMPTS).map(|_| ask(&target, &[rule], Pace::Full, &|| true));
    let conformance = asked.find_map(Result::ok).expect("an answer");
    conformance.findings.into_iter().next().expect("a finding")
}

#[test]
fn every_rule_is_broken_by_a_server_that_breaks_it() {
    let cases: Vec<(&str, Fault)> =
        BROKEN_BY.iter().flat_map(|(id, faults)| faults.iter().map(move |fault| (*id, *fault))).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some((id, fault)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            // Where the machine is busy, pieces may reach a server together after all, and it answers rightly.
            let attempts = if *fault == OneRead { ATTEMPTS } else { 1 };
            let mut asked = (0..attempts).map(|_| finding(*fault, rule(id), routes(false)));
            let broken = asked.find(|found| found.ruling == Ruling::Broken);
            let broken = broken.unwrap_or_else(|| panic!("{fault:?} does not break {id}"));
            // Four times 260 bytes are shown at most, each as `\xff` at worst.
            assert!(broken.evidence.is_some_and(|evidence| evidence.len() < 5000), "{id}");
        }
    };
    std::thread::scope(|scope| (0..THREADS).for_each(|_| drop(scope.spawn(work))));
}

#[test]
fn no_rule_is_without_a_server_that_breaks_it() {
    let types = TestType::ALL.into_iter().flat_map(TestType::rules);
    let all: BTreeSet<&str> = of_http().chain(types).map(|rule| rule.id).collect();
    let broken: BTreeSet<&str> = BROKEN_BY.iter().map(|(id, _)| *id).chain(OF_THE_PATH).collect();
    assert_eq!(all, broken);
}

#[test]
fn a_path_that_saves_bytes_is_found() {
    for id in OF_THE_PATH {
        assert_eq!(finding(None, rule(id), routes(true)).ruling, Ruling::Broken, "{id}");
        assert_eq!(finding(None, rule(id), routes(false)).ruling, Ruling::Kept, "{id}");
    }
}

#[test]
fn the_same_server_without_a_fault_keeps_every_rule() {
    let types = TestType::ALL.into_iter().flat_map(TestType::rules);
    let rules: Vec<&'static Rule> = of_http().chain(types).collect();
    let server = Faulty::start(None, std::env::temp_dir());
    let target = Target::new(&server.address.to_string(), "/").expect("target");
    let target = target.routes(routes(false)).database(server.table.clone());
    let conformance = ask(&target, &rules, Pace::Full, &|| true).expect("an answer");
    let broken: Vec<&RuleFinding> = conformance.broken().collect();
    assert!(broken.is_empty(), "{broken:#?}");
    assert_eq!(conformance.score().kept as usize, rules.len());
}

/// What others did at the same time may have been the cause.
#[test]
fn a_rule_that_could_not_be_asked_for_alone_is_not_broken() {
    let server = Faulty::start(Rough, std::env::temp_dir());
    let target = Target::new(&server.address.to_string(), "/").expect("target").patience(PATIENCE);
    let asked = AtomicUsize::new(0);
    let once = || asked.fetch_add(1, Ordering::Relaxed) == 0;
    let conformance = ask(&target, &[rule("no-host")], Pace::Full, &once).expect("an answer");
    let found = &conformance.findings[0];
    assert_eq!(found.ruling, Ruling::NotApplicable, "{found:#?}");
    assert!(found.evidence.as_ref().is_some_and(|why| why.contains("broken beside others")), "{found:#?}");
}

/// Demands that a server keeps every rule that is asked beside others.
fn assert_keeps_all(fault: Fault) {
    let server = Faulty::start(fault, std::env::temp_dir());
    let target = Target::new(&server.address.to_string(), "/").expect("target");
    let rules: Vec<&'static Rule> = of_http().filter(|rule| rule.tempo == Tempo::Together).collect();
    let conformance = ask(&target, &rules, Pace::Full, &|| true).expect("an answer");
    let others: Vec<&RuleFinding> =
        conformance.findings.iter().filter(|f| f.ruling != Ruling::Kept).collect();
    assert!(others.is_empty(), "{others:#?}");
}

#[test]
fn early_hints_are_no_answer() {
    assert_keeps_all(EarlyHints);
}

/// An application that wants JSON answers 400 to anything else, however well that was read.
#[test]
fn a_server_may_refuse_what_a_body_holds() {
    assert_keeps_all(PickyAboutContent);
}

/// RFC 9112 §9.6: what was sent behind such an answer, the client sends again.
#[test]
fn of_a_server_that_retires_connections_that_is_told() {
    let found = finding(RetiresSoon, rule("hundred-requests"), routes(false));
    let evidence = found.evidence.unwrap_or_default();
    assert!(evidence.starts_with("answer 10 says that it is the last on its connection;"), "{evidence}");
}

/// RFC 9112 §2.2: a server MAY take LF for the end of a line, and SHOULD refuse what it takes for no request; nothing is a MUST.
#[test]
fn a_server_that_waits_at_lf_breaks_no_must() {
    let found = finding(WaitsAtLf, rule("bare-lf"), routes(false));
    assert_eq!((found.ruling, found.severity), (Ruling::Broken, Severity::Should), "{found:#?}");
}

/// RFC 9110 §9.3.1: "might lead some implementations to reject the request and close the connection".
#[test]
fn a_server_may_want_no_body_of_a_get() {
    assert_keeps_all(DropsBodiesOfGet);
}

/// Every request for such a path is refused, however wrong it is, so no refusal tells that the server has seen the fault.
#[test]
fn refusals_tell_nothing_at_a_path_that_there_is_not() {
    let server = Faulty::start(Rough, std::env::temp_dir());
    let target = Target::new(&server.address.to_string(), "/nothing").expect("target").patience(PATIENCE);
    let rules = ["no-host", "two-lengths", "length-and-chunked", "folded-line", "method-case"].map(rule);
    let conformance = ask(&target, &rules, Pace::Full, &|| true).expect("an answer");
    for found in &conformance.findings {
        assert_eq!(found.ruling, Ruling::NotApplicable, "{found:#?}");
        assert!(found.evidence.as_ref().is_some_and(|why| why.contains("404")), "{found:#?}");
    }
}

#[test]
fn a_server_that_falls_over_is_told_where() {
    let found = finding(DiesOfNul, rule("nul"), routes(false));
    assert!(found.evidence.is_some_and(|evidence| evidence.contains("afterwards")));
}
