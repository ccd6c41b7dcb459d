use assay_model::check::CheckOutcome;
use assay_model::evidence::{
    Bottleneck, Busiest, HeldBack, InFlight, Neighbour, Partial, PropertyDifference, RestartsUnknown, Rounds,
    ServerEnded, Withheld,
};
use assay_model::experiment::Cell;
use assay_model::record::State;
use assay_model::rule::Rule;
use assay_model::running::Running;
use assay_model::tls::Agreed;
use assay_model::units::Nanos;
use assay_model::verdict::{Ages, Interval, LimitedBy, SelfRatio};
use serde_json::{Value, json};

use super::*;
use crate::words::{in_words, remedy, withheld};

fn told(rule: Rule, outcome: CheckOutcome, of: Evidence) -> String {
    evidence(&Check::objection(rule, outcome, of))
}

#[test]
fn figures_of_a_window_read_as_sentences() {
    let (pass, warn) = (CheckOutcome::Pass, CheckOutcome::Warn);
    let errors = [(assay_model::load::ErrorClass::EarlyEof, 7)].into();
    for (rule, outcome, of, sentence) in [
        (
            Rule::Answers,
            pass,
            Evidence::RightAnswers { ok: 12_345 },
            "12,345 right answers came in the window",
        ),
        (
            Rule::Failures,
            warn,
            Evidence::Failures { ok: 93, errors },
            "7 of 100 requests failed: 7 ended too early",
        ),
        (
            Rule::SendLag,
            warn,
            Evidence::SendLag { lag_p99_ns: Nanos(306_000), unknown: vec![0.5, 0.999], apart_share: 0.2 },
            "requests left at most 306 µs late in 99 of 100 cases; not known to 5 % or 50 µs for that: p50 and p99.9",
        ),
        (
            Rule::Unfinished,
            warn,
            Evidence::Unanswered { unanswered: 5, requests: 10_000 },
            "5 of 10,000 requests were unanswered when the generator stopped waiting; percentiles above 99.95 are lower \
             bounds",
        ),
        (
            Rule::InFlight,
            pass,
            Evidence::InFlight(InFlight { mean: 63.84, wanted: 64.0, ..InFlight::default() }),
            "on average 63.8 of 64 requests were in flight",
        ),
        (
            Rule::ServerEnded,
            CheckOutcome::Void,
            Evidence::ServerEnded(ServerEnded {
                program: "node".to_owned(),
                pid: 12,
                after_ns: Nanos::from_millis(1200),
            }),
            "the server, node (process 12), ended after 1.2 s",
        ),
        (
            Rule::Drift,
            warn,
            Evidence::Drift { ratio: 0.8 },
            "throughput fell by 20 % from the first to the last third of a window",
        ),
        (
            Rule::Headroom,
            warn,
            Evidence::Headroom { times: 1.2, contender: None },
            "the generator could send only 1.20 times as much",
        ),
    ] {
        assert_eq!(told(rule, outcome, of), sentence);
    }
}

#[test]
fn several_generators_are_told_with_how_far_apart_they_began() {
    let of = Evidence::Generators {
        generators: 3,
        lost: Vec::new(),
        apart_ns: Nanos(1_250_000),
        latest: "2".to_owned(),
        clock_error_ns: Nanos(20_000),
    };
    let sentence = "3 generators began within 1.25 ms, 2 last; their clocks are known to 20.0 µs";
    assert_eq!(told(Rule::Generators, CheckOutcome::Warn, of), sentence);
}

#[test]
fn age_is_told_with_how_much_and_when() {
    let s = |n: u64| Nanos::from_millis(n * 1000);
    let [slow, long] = [0.09, -0.2].map(|change_share| {
        let (low_share, high_share) = (change_share - 0.04, change_share + 0.04);
        (change_share, low_share, high_share)
    });
    let mode = |(change_share, low_share, high_share)| Evidence::SlowMode {
        change_share,
        low_share,
        high_share,
        from_ns: s(2),
        to_ns: s(7),
    };
    let gains = Check::objection(Rule::SlowModes, CheckOutcome::Warn, mode(slow));
    assert_eq!(
        evidence(&gains),
        "it gets faster with age: from 2.00 s to 7.00 s under load by 9.0 % (5.0 % to 13 %)"
    );
    assert!(remedy(&gains).is_some_and(|remedy| remedy.contains("--warmup")));
    let (change_share, low_share, high_share) = long;
    let later = Evidence::LongLook {
        change_share,
        low_share,
        high_share,
        young_ns: s(7),
        late_ns: s(40),
        end_ns: s(60),
    };
    assert_eq!(
        told(Rule::SlowModes, CheckOutcome::Warn, later),
        "it gets slower later: after 40.0 s to 60.0 s under load by 20 % (16 % to 24 %) than in its first 7.00 s, in which \
         it was measured"
    );
    let ages = Ages { loaded_from_ns: s(2), loaded_to_ns: s(7), lived_from_ns: s(3), lived_to_ns: s(50) };
    let of = |could_show_share, long_look_ns| Evidence::Ages { ages, could_show_share, long_look_ns };
    assert_eq!(
        told(Rule::Ages, CheckOutcome::Pass, of(Some(0.04), Some(s(60)))),
        "servers were measured after 2.00 s to 7.00 s under load, 3.00 s to 50.0 s after their start; a change of 4.0 % over \
         that time would have been seen; one life of each was looked at for 60.0 s under load"
    );
    assert!(told(Rule::Ages, CheckOutcome::Pass, of(None, None)).ends_with("get faster or slower with age"));
    let pauses = Evidence::Pauses {
        pauses: 9,
        watched_ns: s(20),
        least_ns: Nanos::from_millis(50),
        longest_ns: Nanos::from_millis(120),
        others: 1,
        others_watched_ns: s(90),
    };
    assert_eq!(
        told(Rule::Pauses, CheckOutcome::Warn, pauses),
        "it stood still 9 times for 50.0 ms or longer, once for 120 ms at least, in 20.0 s under load; the others 1 time in \
         90.0 s"
    );
}

#[test]
fn a_limit_is_told_with_what_was_busy() {
    let busy =
        |server_share, busiest| Bottleneck::Busy { cpus: 4, server_share, generator_share: 0.4, busiest };
    let own = "the server used 26 % of its 4 CPUs";
    let both = format!("{own}, the generator's busiest thread used 40 % of its CPU");
    let thread = Some(Busiest::Thread { share: 0.99 });
    let database = Some(Busiest::Database { share: 0.98, beside_generator: true });
    for (by, because, sentence) in [
        (LimitedBy::Server, busy(Some(0.26), None), own.to_owned()),
        (LimitedBy::ServerCore, busy(Some(0.26), thread), format!("one thread used 99 % of a CPU; {own}")),
        (
            LimitedBy::Database,
            busy(Some(0.26), database),
            format!("the database used 98 % of what the generator left of its CPUs; {both}"),
        ),
        (LimitedBy::Neither, busy(Some(0.26), None), format!("{both}: requests waited for something else")),
        (
            LimitedBy::Connections,
            Bottleneck::MoreWithMore { times: 2.0 },
            "with more connections it served 2.00 times as much".into(),
        ),
    ] {
        assert_eq!(bottleneck(by, &because), sentence);
    }
}

#[test]
fn what_runs_differ_in_is_told_with_both_values() {
    let between = vec![
        PropertyDifference { property: "cpu_model".into(), base: Value::Null, new: json!("another") },
        PropertyDifference { property: "window_s".into(), base: json!(1.0), new: json!(3.0) },
    ];
    assert_eq!(
        told(Rule::Machine, CheckOutcome::Void, Evidence::Differences { between }),
        "they ran on different machines: CPU unknown → \"another\"; seconds of a window 1.0 → 3.0"
    );
}

#[test]
fn a_contender_against_itself_and_a_quota_are_told_with_their_sizes() {
    let ratio = Interval { estimate: 1.0312, low: 1.02, high: 1.0422, confidence: 0.95 };
    let apart = Some(SelfRatio { cell: Cell::closed("hello", 64), ratio });
    let noise = Evidence::NoiseFloor {
        restart_cv: Some(0.012),
        restarts_unknown: None,
        contender: Some("a".into()),
        is_compared: true,
        apart,
    };
    let sentence = told(Rule::NoiseFloor, CheckOutcome::Warn, noise);
    assert!(
        sentence.ends_with("restarted it was 1.031 times as fast, between 1.020 and 1.042"),
        "{sentence}"
    );
    let replicated = vec!["node".to_owned(), "fastify".to_owned()];
    let rounds = Rounds { complete: 4, counting: None, replicated };
    assert_eq!(
        told(Rule::Rounds, CheckOutcome::Pass, Evidence::Rounds(rounds)),
        "4 complete rounds, each with fresh processes of all that assay starts, and several at once of node and fastify, \
         whose restarts varied much"
    );
    let of = |restart_cv, is_compared| Evidence::NoiseFloor {
        restart_cv,
        restarts_unknown: None,
        contender: Some("a".into()),
        is_compared,
        apart: None,
    };
    let alike = of(Some(0.0), true);
    assert_eq!(
        told(Rule::NoiseFloor, CheckOutcome::Pass, alike),
        "restarts vary by no more than their windows explain; A/A control: a is not shown to differ from itself"
    );
    assert_eq!(
        told(Rule::NoiseFloor, CheckOutcome::Warn, of(None, false)),
        "no two contenders count together in two rounds, which would tell how much restarts vary; a and its A/A control count \
         together in too few rounds to be compared"
    );
    let held = Some(HeldBack { server: true, windows: Proportion::new(1, 2), share: 0.25 });
    assert_eq!(
        told(Rule::Throttled, CheckOutcome::Warn, Evidence::Quota { cpus: 1.5, held }),
        "a quota of 1.5 CPUs held the server back in 1 of 2 windows, for 25 % of one of them in sum over the CPUs"
    );
}

#[test]
fn rounds_that_do_not_count_are_told_beside_those_that_do() {
    let of = |outcome, complete, counting| {
        let rounds = Rounds { complete, counting, replicated: Vec::new() };
        let check = Check::objection(Rule::Rounds, outcome, Evidence::Rounds(rounds));
        (evidence(&check), remedy(&check).unwrap_or_default())
    };
    let (pass, warn) = (CheckOutcome::Pass, CheckOutcome::Warn);
    assert_eq!(
        of(pass, 6, Some(4)).0,
        "6 complete rounds, of which 4 count, each with fresh processes of all that assay starts"
    );
    let few =
        ("1 round complete: nothing can be said of differences", "measure at least two rounds, better six");
    assert_eq!(of(warn, 1, None), (few.0.to_owned(), few.1.to_owned()));
    let (told, remedy) = of(warn, 3, Some(1));
    assert_eq!(told, "3 rounds complete, but only 1 counts: nothing can be said of differences");
    assert!(remedy.starts_with("see what voids the rounds that do not count"), "{remedy}");
    assert_eq!(
        of(warn, 3, Some(0)).0,
        "3 rounds complete, but none counts: nothing can be said of differences"
    );
}

/// What is missing is asked for, and nothing that is there.
#[test]
fn without_a_control_the_remedy_asks_for_what_is_missing() {
    let of = |restart_cv, restarts_unknown| {
        let (contender, is_compared, apart) = (None, false, None);
        let noise = Evidence::NoiseFloor { restart_cv, restarts_unknown, contender, is_compared, apart };
        let check = Check::objection(Rule::NoiseFloor, CheckOutcome::Warn, noise);
        (evidence(&check), remedy(&check).unwrap_or_default())
    };
    let (told, remedy) = of(Some(0.072), None);
    assert_eq!(told, "restarts vary by 7.2 %; no contender took part twice as an A/A control");
    assert_eq!(remedy, "measure one contender twice in each round (the A/A control)");
    for (why, sentence, remedy) in [
        (None, "no two contenders count together in two rounds", "measure the same contenders in two rounds"),
        (
            Some(RestartsUnknown::FewRounds),
            "too few rounds count to tell how much",
            "measure two rounds at least that count",
        ),
        (
            Some(RestartsUnknown::OneContender),
            "only one contender counts, and how much",
            "measure another contender beside it",
        ),
        (
            Some(RestartsUnknown::Apart),
            "no two contenders count together in two rounds",
            "measure contenders in the same rounds",
        ),
    ] {
        let (told, helps) = of(None, why);
        assert!(told.starts_with(sentence) && helps.starts_with(remedy), "{told}: {helps}");
    }
    assert!(of(Some(0.000_003), None).0.starts_with("restarts vary by less than 0.01 %"));
}

#[test]
fn what_was_agreed_on_otherwise_is_told_beside_what_was_asked_for() {
    let asked = Agreed {
        version: "TLS 1.3".into(),
        cipher: "TLS_AES_256_GCM_SHA384".into(),
        group: Some("X25519".into()),
        key: "ECDSA P-256".into(),
        protocol: None,
    };
    let older = Agreed { version: "TLS 1.2".into(), cipher: "TLS_OTHER".into(), ..asked.clone() };
    let of = |agreed: &Agreed| {
        let (asked, agreed) = (asked.clone(), agreed.clone());
        told(
            Rule::TlsOtherwise,
            CheckOutcome::Warn,
            Evidence::TlsOtherwise { asked, agreed, windows: Proportion::new(2, 3) },
        )
    };
    assert_eq!(
        of(&older),
        "its connections agreed on TLS 1.2 instead of TLS 1.3, TLS_OTHER instead of TLS_AES_256_GCM_SHA384, in 2 of 3 windows"
    );
    assert!(
        of(&asked).starts_with("some connections agreed on something else than TLS 1.3, "),
        "{}",
        of(&asked)
    );
}

#[test]
fn where_a_running_server_may_run_is_told_with_the_cpus_that_it_shares() {
    let found = |shared: &str| {
        let running = Running::Found {
            program: "node".to_owned(),
            pids: vec![12],
            processes: 3,
            cpus: "0-1".to_owned(),
        };
        let (contender, shared_cpus) = ("app".to_owned(), shared.to_owned());
        told(Rule::RunningServer, CheckOutcome::Warn, Evidence::Running { contender, running, shared_cpus })
    };
    let alone = "app is node (process 12, 3 in all), which may run on CPUs 0-1";
    assert_eq!((found(""), found("1")), (alone.to_owned(), format!("{alone}, the generator's 1 among them")));
}

#[test]
fn what_others_took_is_told_with_the_turns_and_windows_that_it_cost() {
    let taken = |rule, windows, turns: Option<u64>| {
        let (void, turns) =
            (Proportion { hits: windows, of: 20 }, turns.map(|hits| Proportion { hits, of: 160 }));
        told(rule, CheckOutcome::Warn, Evidence::Taken { share: 0.12, void, turns })
    };
    let used = "other programs used up to 12 % of the server's CPUs";
    assert_eq!(taken(Rule::OtherPrograms, 0, None), used);
    assert_eq!(taken(Rule::OtherPrograms, 1, None), format!("{used}; 1 of 20 windows does not count"));
    assert_eq!(taken(Rule::OtherPrograms, 0, Some(7)), format!("{used}; 7 of 160 turns do not count"));
    assert_eq!(taken(Rule::OtherPrograms, 0, Some(1)), format!("{used}; 1 of 160 turns does not count"));
    let times_alone = format!("{used}; the percentiles of 1 of 20 windows do not count");
    assert_eq!(taken(Rule::OtherPrograms, 1, Some(0)), times_alone);
    assert_eq!(
        taken(Rule::Steal, 1, Some(7)),
        "a hypervisor took up to 12 % of a window's CPU time; 7 of 160 turns do not count, nor do the percentiles of 1 of 20 \
         windows"
    );
}

#[test]
fn who_objects_says_what_to_do_and_the_nearer_evidence_says_it_better() {
    let waited = |beside_database| Evidence::ThreadWaited {
        beside_upstream: false,
        beside_server: None,
        waiting_share: 0.2,
        involuntary_switches: 1,
        beside_database,
    };
    let over = |only_own| Evidence::GeneratorWaited {
        share: 0.2,
        noticeable: Proportion::new(1, 2),
        void: 1,
        turns: None,
        own: Some(Box::new(waited(true))),
        only_own,
        beside_server: None,
    };
    let remedy =
        |outcome, of| remedy(&Check::objection(Rule::GeneratorDisturbed, outcome, of)).unwrap_or_default();
    assert_eq!(remedy(CheckOutcome::Pass, waited(false)), "");
    assert!(remedy(CheckOutcome::Warn, waited(false)).contains("--cpus"));
    assert!(remedy(CheckOutcome::Warn, over(true)).contains("three physical cores"));
    assert!(remedy(CheckOutcome::Warn, over(false)).contains("assay doctor"));
    let said = |of| evidence(&Check::objection(Rule::GeneratorDisturbed, CheckOutcome::Warn, of));
    let own = "a thread of the generator waited for its CPU 20 % of the time; 1 involuntary switch; the database has the same CPUs";
    assert_eq!(said(over(true)), format!("{own}; noticeably in 1 of 2 windows, 1 of which does not count"));
    let both = format!(
        "the generator waited for its CPU up to 20 % of a window, noticeably in 1 of 2 windows, 1 of which does not count; it \
         says itself: {own}"
    );
    assert_eq!(said(over(false)), both);
    let beside = |processes, others: &str| {
        let (program, shared_cpus, other_cpus) = ("node".to_owned(), "0".to_owned(), others.to_owned());
        Some(Neighbour { program, pid: 12, processes, shared_cpus, other_cpus })
    };
    let shared = |server| {
        let mut waited = waited(false);
        if let Evidence::ThreadWaited { beside_server, .. } = &mut waited {
            *beside_server = server;
        }
        remedy(CheckOutcome::Void, waited)
    };
    assert_eq!(
        shared(beside(1, "1")),
        "node (process 12) may run on the generator's CPU 0: `taskset -acp 1 12` keeps it off"
    );
    assert!(shared(beside(5, "1")).contains("start it with `taskset -c 1`"));
    assert!(
        shared(beside(1, "")).ends_with("on no other: give each CPUs of its own (`taskset -acp`, --cpus)")
    );
    let mut over_all = over(false);
    if let Evidence::GeneratorWaited { beside_server, .. } = &mut over_all {
        *beside_server = beside(1, "1");
    }
    assert!(remedy(CheckOutcome::Warn, over_all).contains("`taskset -acp 1 12`"));
    let older = Evidence::Told { sentence: "It waited.".to_owned() };
    assert!(
        remedy(CheckOutcome::Void, older.clone()).contains("assay doctor"),
        "a record of before has no figures"
    );
    assert_eq!(told(Rule::GeneratorDisturbed, CheckOutcome::Void, older), "It waited");
}

#[test]
fn a_loop_that_is_short_of_requests_is_blamed_on_who_was_slow() {
    let remedy = |busy_share, waiting_share| {
        let found = InFlight { mean: 50.0, wanted: 64.0, busy_share, waiting_share };
        let check = Check::objection(Rule::InFlight, CheckOutcome::Warn, Evidence::InFlight(found));
        remedy(&check).unwrap_or_default()
    };
    assert!(remedy(Some(0.97), Some(0.0)).starts_with("the generator is the slower side"));
    assert!(remedy(Some(0.14), Some(0.0)).starts_with("the generator had time to spare"));
    assert!(remedy(Some(0.14), Some(0.3)).starts_with("the generator waited for its CPU"));
    assert!(!remedy(None, None).contains("slower"), "an older record does not tell");
}

#[test]
fn a_run_that_was_ended_by_hand_is_told_to_be_partial() {
    let partial = |state| Evidence::Partial(Partial { run: "one".to_owned(), state });
    assert_eq!(
        told(Rule::WholeRun, CheckOutcome::Warn, partial(State::Interrupted)),
        "one is partial: the run was stopped by hand; this is what was measured until then"
    );
    let spent =
        Check { rule: Rule::WholeRun, outcome: CheckOutcome::Pass, evidence: partial(State::BudgetSpent) };
    assert_eq!(remedy(&spent), None);
}

#[test]
fn a_document_has_the_sentence_beside_the_figures() {
    let check = Check::objection(Rule::Answers, CheckOutcome::Void, Evidence::RightAnswers { ok: 0 });
    let reason = Withheld::FewWindows { windows: Proportion::new(2, 6), rules: vec![Rule::Steal] };
    assert_eq!(withheld(&reason), "only 2 of 6 windows count (steal)");
    let document = in_words(json!({ "checks": [check], "standing": { "withheld_for": reason, "tier": 1 } }));
    assert_eq!(document["checks"][0]["evidence"], "0 right answers came in the window");
    assert_eq!(document["checks"][0]["remedy"], "look at the failures, or measure longer");
    assert_eq!(document["checks"][0]["found"]["ok"], 0);
    assert_eq!(document["standing"]["withheld"], "only 2 of 6 windows count (steal)");
    assert_eq!(document["standing"]["withheld_for"]["windows"]["hits"], 2);
    let read: Check = serde_json::from_value(document["checks"][0].clone()).expect("a check");
    assert_eq!(read, check);
}

#[test]
fn of_pairs_that_are_all_void_there_are_no_others() {
    let cell = Cell::closed("hello", 64);
    let told = |hits| {
        let (base, new, void) = ("old".to_owned(), "new".to_owned(), Proportion::new(hits, 12));
        let lost =
            Evidence::LostPairs { base, new, cell: cell.clone(), void, is_withheld: true, turns: None };
        evidence(&Check::objection(Rule::GeneratorDisturbed, CheckOutcome::Warn, lost))
    };
    assert!(told(9).ends_with("too many to believe the others"), "{}", told(9));
    assert!(told(12).ends_with("because a generator waited for its CPU"), "{}", told(12));
}
