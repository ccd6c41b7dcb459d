//! Each rule of trust, firing and not firing, on records made up.

use std::collections::BTreeMap;

use assay_model::check::{Check, CheckOutcome};
use assay_model::evidence::Evidence;
use assay_model::link::{Flow, LinkFacts, LinkShape, LinkUse};
use assay_model::load::ErrorClass;
use assay_model::record::{DatabaseUsage, MAX_GENERATOR_DELAY_SHARE, Measurement, Record, Warmup};
use assay_model::units::Nanos;
use assay_model::usage::{Counted, Usage};
use assay_model::verdict::Verdict;

use super::{check, noisy, of, spoil};
use crate::testing::{judged, record};
use crate::*;
use assay_model::rule::Rule;

/// Six rounds of `a`, beside a limit that is four times as fast.
fn sound() -> Record {
    let limit: Vec<f64> = noisy(80_000.0, 4, 6);
    record(&[("limit", &limit), ("a", &noisy(20_000.0, 5, 6))])
}

/// A record with every window of `a` spoilt.
pub(super) fn spoilt(how: impl FnMut(&mut Measurement)) -> Record {
    let mut record = sound();
    spoil(&mut record, "a", how);
    record
}

pub(super) fn server(window: &mut Measurement) -> &mut Usage {
    window.server.as_mut().expect("observed")
}

/// A rule's outcome in `a`'s row; a pass is not in it.
fn in_row(verdict: &Verdict, rule: &str) -> Option<CheckOutcome> {
    of(verdict, "a").checks.iter().find(|check| check.rule.name() == rule).map(|check| check.outcome)
}

fn void_rules(record: &Record) -> Vec<&'static str> {
    let run = record.rounds[0].runs.iter().find(|run| run.contender == "a").expect("a ran");
    run.cells[0].void_rules().into_iter().map(Rule::name).collect()
}

#[test]
fn a_sound_record_has_no_objection() {
    let record = sound();
    let verdict = judged(&record);
    assert_eq!(void_rules(&record), Vec::<&str>::new());
    assert!(of(&verdict, "a").checks.is_empty(), "{:?}", of(&verdict, "a").checks);
    let objecting = verdict.trust.iter().filter(|check| check.outcome != CheckOutcome::Pass);
    assert_eq!(objecting.map(|check| check.rule.name()).collect::<Vec<_>>(), ["noise-floor"]);
}

#[test]
fn a_generator_that_waits_for_its_cpu_voids_the_window() {
    let waiting = |share: f64| {
        spoilt(move |window| {
            window.load.generator.run_delay_ns = Some(Nanos((window.load.window_ns.0 as f64 * share) as u64));
        })
    };
    for (share, void, row) in [
        (0.009, vec![], None),
        (0.02, vec![], Some(CheckOutcome::Warn)),
        (MAX_GENERATOR_DELAY_SHARE + 0.01, vec!["generator-disturbed"], Some(CheckOutcome::Warn)),
    ] {
        let record = waiting(share);
        let verdict = judged(&record);
        assert_eq!((void_rules(&record), in_row(&verdict, "generator-disturbed")), (void.clone(), row));
        assert_eq!(of(&verdict, "a").withheld.is_some(), !void.is_empty(), "at {share}");
    }
    let verdict = judged(&waiting(0.3));
    assert_eq!(
        check(&verdict.trust, "generator-disturbed").outcome,
        CheckOutcome::Warn,
        "the limit's windows count"
    );
    assert_eq!(ending(&waiting(0.3), &verdict, false), Ending::Fine);
}

/// What the generator counted of its longest-waiting thread and what the runner counted of all are one rule, told once.
#[test]
fn two_witnesses_of_a_disturbed_generator_are_told_once() {
    let both = |own: CheckOutcome, share: f64| {
        spoilt(move |window| {
            window.load.generator.run_delay_ns = Some(Nanos((window.load.window_ns.0 as f64 * share) as u64));
            let evidence = Evidence::ThreadWaited {
                beside_upstream: false,
                beside_server: None,
                waiting_share: 0.2,
                involuntary_switches: 9,
                beside_database: false,
            };
            window.load.checks.push(Check::objection(Rule::GeneratorDisturbed, own, evidence));
        })
    };
    for (own, share, void, is_own) in [
        (CheckOutcome::Void, 0.3, true, false),
        (CheckOutcome::Void, 0.005, true, true),
        (CheckOutcome::Warn, 0.005, false, true),
        (CheckOutcome::Warn, 0.02, false, false),
    ] {
        let record = both(own, share);
        let verdict = judged(&record);
        let rules = if void { vec![Rule::GeneratorDisturbed.name()] } else { Vec::new() };
        assert_eq!(void_rules(&record), rules, "{own:?} at {share}");
        let told: Vec<&Check> =
            of(&verdict, "a").checks.iter().filter(|check| check.rule == Rule::GeneratorDisturbed).collect();
        let [told] = told.as_slice() else { panic!("told {} times", told.len()) };
        assert!(
            matches!(&told.evidence, Evidence::GeneratorWaited { own: Some(_), only_own, .. } if *only_own == is_own),
            "{told:?}"
        );
    }
}

#[test]
fn where_waiting_is_not_counted_switches_speak() {
    let switched = |times| spoilt(move |window| window.load.generator.involuntary_switches = times);
    assert!(void_rules(&switched(10)).is_empty());
    assert_eq!(void_rules(&switched(1000)), ["generator-disturbed"]);
    // A kernel that counts knows better than a guess.
    let counted = spoilt(|window| {
        window.load.generator.involuntary_switches = 1000;
        window.load.generator.run_delay_ns = Some(Nanos(1000));
    });
    assert!(void_rules(&counted).is_empty());
}

#[test]
fn other_programs_and_steal_are_told_before_they_void() {
    for (share, outcome, void) in [
        (0.02, CheckOutcome::Pass, false),
        (0.05, CheckOutcome::Warn, false),
        (0.2, CheckOutcome::Warn, true),
    ] {
        let busy = spoilt(|window| window.machine.server_other_share = share);
        assert_eq!(check(&judged(&busy).trust, "other-programs").outcome, outcome, "{share}");
        assert_eq!(!void_rules(&busy).is_empty(), void, "{share}");
    }
    for (share, outcome) in [(0.005, CheckOutcome::Pass), (0.02, CheckOutcome::Warn)] {
        let stolen = spoilt(|window| window.machine.steal_share = share);
        assert_eq!(check(&judged(&stolen).trust, "steal").outcome, outcome, "{share}");
    }
    let mut all = sound();
    for name in ["a", "limit"] {
        spoil(&mut all, name, |window| window.machine.server_other_share = 0.6);
    }
    let verdict = judged(&all);
    assert_eq!(check(&verdict.trust, "other-programs").outcome, CheckOutcome::Void);
    assert!(
        verdict.trust.iter().all(|check| check.rule != Rule::Headroom),
        "no window counts, so nothing is known of it"
    );
    assert_eq!(ending(&all, &verdict, true), Ending::Void);
}

#[test]
fn failures_in_a_void_window_are_not_held_against_the_server() {
    let mut first = true;
    let record = spoilt(|window| {
        if std::mem::take(&mut first) {
            window.load.books.errors.insert(ErrorClass::HeadTimeout, 100);
            window.load.books.issued += 100;
            window.machine.server_other_share = 0.9;
        }
    });
    let verdict = judged(&record);
    assert_eq!((in_row(&verdict, "errors"), ending(&record, &verdict, true)), (None, Ending::Fine));
    assert!(of(&verdict, "a").withheld.is_none());
}

#[test]
fn a_wrong_answer_in_a_void_window_is_held_against_the_server() {
    let record = spoilt(|window| {
        window.load.books.errors.insert(ErrorClass::WrongBody, window.load.books.ok);
        window.load.books.issued += window.load.books.ok;
        window.machine.server_other_share = 0.9;
    });
    let verdict = judged(&record);
    assert_eq!(
        (in_row(&verdict, "errors"), ending(&record, &verdict, false)),
        (Some(CheckOutcome::Void), Ending::WrongAnswer)
    );
}

#[test]
fn pressure_is_others_only_as_far_as_our_own_waiting_does_not_explain_it() {
    let pressed = |own_ms: u64| {
        let mut record = sound();
        for name in ["a", "limit"] {
            spoil(&mut record, name, |window| {
                window.machine.cpu_pressure_share = Some(0.5);
                window.load.generator.run_delay_ns = Some(Nanos::ZERO);
                server(window).run_delay_ns = Some(Nanos::from_millis(own_ms));
            });
        }
        judged(&record)
    };
    assert_eq!(check(&pressed(0).trust, "pressure").outcome, CheckOutcome::Warn);
    assert_eq!(
        check(&pressed(490).trust, "pressure").outcome,
        CheckOutcome::Pass,
        "its threads waited for each other"
    );
    assert!(
        judged(&sound()).trust.iter().all(|check| check.rule != Rule::Pressure),
        "the kernel did not tell"
    );
}

#[test]
fn want_of_ports_is_the_generators_fault() {
    let record = spoilt(|window| {
        window.load.books.errors.insert(ErrorClass::AddressExhausted, 3);
        window.load.books.issued += 3;
    });
    assert_eq!(void_rules(&record), ["ports"]);
    let verdict = judged(&record);
    assert_eq!(in_row(&verdict, "ports"), Some(CheckOutcome::Void));
    assert_eq!(in_row(&verdict, "errors"), None, "the server did nothing wrong");
    assert_eq!(
        (ending(&record, &verdict, false), ending(&record, &verdict, true)),
        (Ending::Fine, Ending::Void)
    );
}

#[test]
fn retransmits_and_overflows_ask_for_caution() {
    let sent_again = |segments| judged(&spoilt(move |window| window.machine.tcp_retransmits = segments));
    assert_eq!(in_row(&sent_again(1), "tcp"), None);
    assert_eq!(in_row(&sent_again(10), "tcp"), Some(CheckOutcome::Warn));
    let on_a_lossy_link = judged(&spoilt(|window| {
        window.machine.tcp_retransmits = 10;
        let to_server = Flow { lost_frames: 1, ..Flow::default() };
        window.link_use = Some(LinkUse { to_server, ..LinkUse::default() });
    }));
    assert_eq!(in_row(&on_a_lossy_link, "tcp"), None);
    let overflow = judged(&spoilt(|window| window.machine.listen_overflows = 1));
    assert_eq!(
        (in_row(&overflow, "tcp"), check(&overflow.trust, "tcp").outcome),
        (Some(CheckOutcome::Warn), CheckOutcome::Warn)
    );
}

#[test]
fn the_kernel_does_not_speak_for_a_user_space_stack() {
    let strangers = |window: &mut Measurement| {
        window.machine.tcp_retransmits = 1000;
        window.cell.network = "user/ring".parse().ok();
    };
    let mut record = spoilt(strangers);
    let told = check(&judged(&record).trust, "tcp").clone();
    assert_eq!(told.outcome, CheckOutcome::Pass, "{told:?}");
    assert!(told.evidence == Evidence::Tcp { retransmitted: 0, dropped: 0 }, "{told:?}");
    spoil(&mut record, "limit", strangers);
    assert!(judged(&record).trust.iter().all(|check| check.rule != Rule::Tcp), "it saw no segment at all");
}

#[test]
fn headroom_is_measured_against_the_limit() {
    // Half busy at 80 000 a second, the generator could send 160 000: eight times what `a` took.
    let verdict = judged(&sound());
    assert!(of(&verdict, "a").headroom.is_some_and(|headroom| (7.5..8.5).contains(&headroom)), "{verdict:?}");
    assert!(matches!(
        &check(&verdict.trust, "headroom").evidence,
        Evidence::Headroom { contender: Some(name), .. } if name == "a"
    ));
    // Without a limit its own busy share must do.
    let alone = judged(&record(&[("a", &noisy(20_000.0, 5, 6))]));
    assert!(of(&alone, "a").headroom.is_some_and(|headroom| (1.9..2.1).contains(&headroom)));
    let mut close = sound();
    spoil(&mut close, "limit", |window| window.load.thread_busy_shares = vec![0.94]);
    let fast = record(&[("limit", &noisy(80_000.0, 4, 6)), ("a", &noisy(70_000.0, 5, 6))]);
    close.rounds = fast.rounds;
    spoil(&mut close, "limit", |window| window.load.thread_busy_shares = vec![0.94]);
    let verdict = judged(&close);
    assert_eq!(in_row(&verdict, "headroom"), Some(CheckOutcome::Warn), "{:?}", of(&verdict, "a"));
    assert!(of(&verdict, "a").withheld.is_none());
    assert_eq!(check(&verdict.trust, "headroom").outcome, CheckOutcome::Warn);
}

#[test]
fn contenders_at_the_generators_ceiling_are_not_told_apart() {
    let series = |seed| noisy(80_000.0, seed, 6);
    let mut bunched = record(&[
        ("limit", &series(1)),
        ("a", &series(2)),
        ("b", &series(3)),
        ("slow", &noisy(20_000.0, 4, 6)),
    ]);
    let with_ceiling = |record: &mut Record, busy: f64| {
        for name in ["limit", "a", "b", "slow"] {
            spoil(record, name, |window| window.load.thread_busy_shares = vec![busy]);
        }
        judged(record)
    };
    let verdict = with_ceiling(&mut bunched, 1.0);
    for name in ["a", "b"] {
        assert!(format!("{:?}", of(&verdict, name).withheld).contains("Bunched"), "{verdict:?}");
        assert_eq!((of(&verdict, name).tier, of(&verdict, name).throughput_per_second), (None, None));
    }
    assert_eq!(of(&verdict, "slow").tier, Some(1));
    let verdict = with_ceiling(&mut bunched, 0.5);
    assert!(of(&verdict, "a").withheld.is_none(), "the generator had as much again to give");
}

#[test]
fn a_tired_machine_shows_in_the_order() {
    let names: Vec<String> = (0..5).map(|index| format!("c{index}")).collect();
    let series: Vec<Vec<f64>> = (0..5).map(|index| noisy(20_000.0, 30 + index, 8)).collect();
    let field: Vec<(&str, &[f64])> =
        names.iter().map(String::as_str).zip(series.iter().map(Vec::as_slice)).collect();
    let mut tired = record(&field);
    for (index, round) in tired.rounds.iter_mut().enumerate() {
        round.runs.rotate_left(index % 5);
        for (place, run) in round.runs.iter_mut().enumerate() {
            let slower = 1.0 - 0.02 * place as f64;
            run.cells
                .iter_mut()
                .for_each(|window| window.load.window.ok = (window.load.window.ok as f64 * slower) as u64);
        }
    }
    let verdict = judged(&tired);
    assert_eq!(check(&verdict.trust, "order").outcome, CheckOutcome::Warn, "{:?}", verdict.trust);
    assert_eq!(check(&judged(&record(&field)).trust, "trend").outcome, CheckOutcome::Pass);
    assert!(
        judged(&record(&[("a", &[1.0, 2.0, 3.0])])).trust.iter().all(|check| check.rule != Rule::Order),
        "too few rounds"
    );
}

#[test]
fn waiting_for_a_database_on_the_same_cpus_is_no_disturbance() {
    let with = |beside_generator: bool| {
        let record = spoilt(|window| {
            let half = Nanos(window.load.window_ns.0 / 2);
            window.load.generator.run_delay_ns = Some(half);
            let usage = Usage { user_ns: half, ..Usage::default() };
            window.database = Some(DatabaseUsage { usage, beside_generator });
        });
        void_rules(&record)
    };
    assert_eq!(with(true), Vec::<&str>::new());
    assert_eq!(with(false), ["generator-disturbed"]);
}

/// What went over a link towards the generator.
pub(super) fn over_a_link(window: &mut Measurement, to_generator: Flow) {
    window.link_use = Some(LinkUse { to_generator, ..LinkUse::default() });
}

/// Of a link of 100 Mbit/s that loses so many of a million frames.
pub(super) fn link_facts(loss_per_million: Option<u32>) -> LinkFacts {
    let shape = LinkShape { bits_per_second: 100_000_000, burst_bytes: 16_384, queue_bytes: 1 << 20 };
    LinkFacts {
        server_address: "198.18.0.1".to_owned(),
        generator_address: "198.18.0.2".to_owned(),
        mtu_bytes: 1500,
        gso_max_bytes: 65_536,
        shape: Some(shape),
        loss_per_million,
        middle: true,
        sysctls: BTreeMap::new(),
        user_namespace: false,
    }
}

#[test]
fn a_link_must_lose_what_it_was_asked_to_lose_and_nothing_else() {
    let trust = |asked: Option<u32>, lost_frames: u64, overflowed_frames: u64| {
        let mut record = spoilt(|window| {
            let packets = 1_000_000 - lost_frames;
            over_a_link(window, Flow { packets, lost_frames, overflowed_frames, ..Flow::default() });
        });
        record.link_facts = Some(link_facts(asked));
        judged(&record)
    };
    let as_asked = trust(Some(1000), 1010, 0);
    assert_eq!(check(&as_asked.trust, "link-loss").outcome, CheckOutcome::Pass);
    let Evidence::LinkLoss { asked_share, .. } = check(&as_asked.trust, "link-loss").evidence else {
        panic!("{:?}", as_asked.trust)
    };
    assert!((asked_share - 0.001).abs() < 1e-9);
    assert_eq!(check(&trust(Some(1000), 2000, 0).trust, "link-loss").outcome, CheckOutcome::Warn);
    assert!(trust(None, 0, 0).trust.iter().all(|check| check.rule != Rule::LinkLoss));
    let overflowed = trust(None, 0, 7);
    assert_eq!(check(&of(&overflowed, "a").checks, "link-overflow").outcome, CheckOutcome::Warn);
    assert!(of(&as_asked, "a").checks.iter().all(|check| check.rule != Rule::LinkOverflow));
}

#[test]
fn the_price_of_an_answer_is_told_as_far_as_it_is_known() {
    let mut record = spoilt(|window| {
        let answers = window.load.books.ok;
        let usage = server(window);
        usage.voluntary_switches = answers / 2;
        usage.minor_faults = answers / 4;
    });
    for run in record.rounds.iter_mut().flat_map(|round| &mut round.runs) {
        let counted = Counted {
            answers: 100,
            system_calls: Some(250),
            absent: vec!["cycles: no".to_owned()],
            ..Counted::default()
        };
        let warmup = Warmup {
            workload: "hello".to_owned(),
            per_second: Vec::new(),
            settled: true,
            counted: Some(counted),
        };
        run.warmups.push(warmup);
        run.idle = Some(Usage { rss_bytes: 5 << 20, ..Usage::default() });
    }
    let price = of(&judged(&record), "a").price;
    assert_eq!(
        (price.system_calls, price.cycles, price.rss_idle_bytes),
        (Some(2.5), None, Some(f64::from(5 << 20)))
    );
    assert!(price.voluntary_switches.is_some_and(|n| (n - 0.5).abs() < 1e-3));
    assert!(price.page_faults.is_some_and(|n| (n - 0.25).abs() < 1e-3));
    assert!(price.user_ns.zip(price.system_ns).is_some_and(|(user, system)| user > 0.0 && system > user));
}
