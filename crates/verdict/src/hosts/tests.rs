//! Made-up loads of several hosts: which host is named, which is not, and whether a network is full.

use assay_model::check::{Check, CheckOutcome};
use assay_model::database::DatabaseKind;
use assay_model::evidence::{Evidence, HostApart, HostMeasure, HostsAlike};
use assay_model::fleet::ClockOffset;
use assay_model::host_link::{Carried, CarriedToServer, HostLink};
use assay_model::hosts::HostStanding;
use assay_model::lab::{GeneratorHost, HostRole, PlacedHost};
use assay_model::load::GeneratorShare;
use assay_model::record::{Database, DatabaseOrigin, DatabaseUsage, NotRun, Record, Stage};
use assay_model::rule::Rule;
use assay_model::units::Nanos;
use assay_model::usage::Usage;
use assay_model::verdict::LimitedBy;

use crate::testing::{judged, load_report, record};

const NAMES: [&str; 3] = ["box1", "box2", "box3"];

/// A record of six rounds in which each host has so many times the throughput that is its due; it varies by some percent.
fn loaded_from(speeds: &[f64]) -> Record {
    let mut record = record(&[("a", &[8000.0; 6]), ("b", &[4000.0; 6])]);
    record.server_hosts = vec![PlacedHost { name: "box0".to_owned(), ..PlacedHost::default() }];
    record.generator_hosts = NAMES[..speeds.len()]
        .iter()
        .map(|name| GeneratorHost { name: (*name).to_owned(), ..GeneratorHost::default() })
        .collect();
    let windows = record.rounds.iter_mut().flat_map(|round| &mut round.runs).flat_map(|run| &mut run.cells);
    for (number, window) in windows.enumerate() {
        let per_second = window.load.window.ok as f64 / speeds.len() as f64;
        let share = |(host, (name, speed)): (usize, (&&str, &f64))| {
            let jitter = 1.0 + 0.02 * ((number * 5 + host * 3) % 7) as f64 / 6.0;
            let own = load_report(64 / speeds.len() as u32, per_second * speed * jitter);
            GeneratorShare {
                name: (*name).to_owned(),
                clock: ClockOffset {
                    error_ns: Nanos::from_micros(20 + number as u64),
                    ..ClockOffset::default()
                },
                began_ns: Some(if host == 0 { -3000 } else { 1000 }),
                lost: None,
                report: Some(Box::new(own)),
            }
        };
        window.load.generators = NAMES.iter().zip(speeds).enumerate().map(share).collect();
        window.load.window.ok = window
            .load
            .generators
            .iter()
            .filter_map(|share| share.report.as_ref())
            .map(|own| own.window.ok)
            .sum();
    }
    record
}

fn effects(record: &Record) -> Vec<Check> {
    judged(record).trust.into_iter().filter(|check| check.rule == Rule::HostEffect).collect()
}

fn host(record: &Record, name: &str) -> HostStanding {
    judged(record).hosts.into_iter().find(|host| host.name == name).expect("a host")
}

#[test]
fn hosts_that_are_alike_are_told_so() {
    let checks = effects(&loaded_from(&[1.0, 1.0, 1.0]));
    let [
        Check {
            outcome: CheckOutcome::Pass,
            evidence:
                Evidence::HostsAlike(HostsAlike { of_servers: false, hosts: 3, windows: 12, of_one_load: false }),
            ..
        },
    ] = checks.as_slice()
    else {
        panic!("{checks:?}")
    };
    assert!(effects(&loaded_from(&[1.0])).is_empty(), "nobody to compare with");
}

#[test]
fn the_slow_one_of_three_is_named_and_no_other() {
    let record = loaded_from(&[1.0, 0.8, 1.0]);
    let checks = effects(&record);
    let [Check { outcome: CheckOutcome::Warn, evidence: Evidence::HostApart(found), .. }] = checks.as_slice()
    else {
        panic!("{checks:?}")
    };
    let HostApart { host: name, other, measure, ratio, low_ratio, high_ratio, windows, .. } = found;
    assert_eq!((name.as_str(), other, *measure, *windows), ("box2", &None, HostMeasure::Throughput, 12));
    assert!((*low_ratio..*high_ratio).contains(ratio) && (0.78..0.82).contains(ratio), "{found:?}");
    assert!(host(&record, "box2").is_odd() && !host(&record, "box1").is_odd());
}

#[test]
fn the_host_of_a_database_is_as_busy_as_its_cpus_in_the_windows_that_needed_it() {
    let mut record = record(&[("a", &[8000.0; 2]), ("b", &[4000.0; 2])]);
    let host = PlacedHost { name: "box9".to_owned(), cpus: "0-3".to_owned(), ..PlacedHost::default() };
    record.database = Some(Database {
        kind: DatabaseKind::Postgresql,
        origin: DatabaseOrigin::Private,
        version: None,
        settings: Vec::new(),
        cpus: Some(host.cpus.clone()),
        host: Some(host),
        beside_generator: false,
        not_run: None,
    });
    let wall_ns = Nanos::from_millis(200);
    let usage = Usage { wall_ns, user_ns: Nanos(wall_ns.0 * 3), ..Usage::default() };
    record.rounds[1].runs[0].cells[0].database = Some(DatabaseUsage { usage, beside_generator: false });
    let verdict = judged(&record);
    let [told] = verdict.hosts.as_slice() else { panic!("{:?}", verdict.hosts) };
    assert_eq!((told.name.as_str(), told.role, told.windows), ("box9", HostRole::Database, 1));
    assert!(told.busy_share.is_some_and(|share| (share - 0.75).abs() < 1e-9), "{told:?}");
}

#[test]
fn of_two_that_differ_both_are_named_once() {
    let checks = effects(&loaded_from(&[1.0, 0.5]));
    let [Check { evidence: Evidence::HostApart(found), .. }] = checks.as_slice() else {
        panic!("{checks:?}")
    };
    assert_eq!((found.host.as_str(), found.other.as_deref()), ("box1", Some("box2")));
    assert!((1.9..2.1).contains(&found.ratio), "{found:?}");
}

#[test]
fn differences_between_contenders_are_none_between_hosts() {
    let mut record = loaded_from(&[1.0, 1.0, 1.0]);
    for run in record.rounds.iter_mut().flat_map(|round| &mut round.runs).filter(|run| run.contender == "b") {
        for share in run.cells.iter_mut().flat_map(|window| &mut window.load.generators) {
            **share.report.as_mut().expect("a report") = load_report(21, 300.0);
        }
    }
    assert!(effects(&record).iter().all(|check| check.outcome == CheckOutcome::Pass));
}

#[test]
fn what_a_host_did_is_told() {
    let mut record = loaded_from(&[1.0, 1.0, 2.0]);
    let saturated = Evidence::BusiestThread { busy_share: 0.99 };
    for window in record.rounds[0].runs.iter_mut().flat_map(|run| &mut run.cells) {
        let own = window.load.generators[2].report.as_mut().expect("a report");
        own.checks.push(Check::objection(Rule::GeneratorSaturated, CheckOutcome::Warn, saturated.clone()));
        own.thread_busy_shares = vec![0.4, 0.99];
        let late = Evidence::Generators {
            generators: 3,
            lost: Vec::new(),
            apart_ns: Nanos::from_millis(5),
            latest: "box3".to_owned(),
            clock_error_ns: Nanos::ZERO,
        };
        window.load.checks.push(Check::objection(Rule::Generators, CheckOutcome::Warn, late));
    }
    let lost = &mut record.rounds[1].runs[0].cells[0].load.generators[1];
    (lost.report, lost.lost) = (None, Some("it ended with signal 9 (SIGKILL)".to_owned()));
    let reason = NotRun::lost_host_reason("box2", "its host is lost");
    let failure = NotRun { stage: Stage::Load, reason, remedy: None, log_tail: Vec::new() };
    record.rounds[2].runs[0].failure = Some(failure);
    let [server, one, two, three] = judged(&record).hosts.try_into().expect("four hosts");
    assert_eq!((server.role, server.windows, server.answers_share), (HostRole::Server, 12, None));
    assert_eq!((one.began_ns, one.clock_error_ns), (Some(-3000), Nanos::from_micros(20)));
    assert!(one.answers_share.is_some_and(|share| (0.24..0.26).contains(&share)), "{one:?}");
    assert_eq!((two.lost, two.lost_for.as_deref()), (2, Some("it ended with signal 9 (SIGKILL)")));
    assert_eq!((three.late, three.saturated, three.disturbed), (2, 2, 0));
    assert!(three.busy_share.is_some_and(|share| (share - 0.5).abs() < 1e-9), "{three:?}");
}

/// Hosts of servers take turns, and each of them loads the others in their rounds; the last is so many times as fast as the first.
fn by_turns(hosts: usize, times: f64) -> Record {
    let rates = |rate: f64| -> Vec<f64> {
        (0..9)
            .map(|round| {
                rate * (1.0 + 0.01 * (round % 4) as f64)
                    * if round % hosts == hosts - 1 { times } else { 1.0 }
            })
            .collect()
    };
    let mut record = record(&[("a", &rates(8000.0)), ("b", &rates(4000.0))]);
    record.server_hosts = NAMES[..hosts]
        .iter()
        .map(|name| PlacedHost { name: (*name).to_owned(), ..PlacedHost::default() })
        .collect();
    record.generator_hosts = record
        .server_hosts
        .iter()
        .map(|host| GeneratorHost { name: host.name.clone(), ..GeneratorHost::default() })
        .collect();
    for round in &mut record.rounds {
        let server = NAMES[round.index as usize % hosts];
        round.server_host = Some(server.to_owned());
        for window in round.runs.iter_mut().flat_map(|run| &mut run.cells) {
            let per_second = window.load.window.ok as f64 / (hosts - 1) as f64;
            let share = |name: &&str| GeneratorShare {
                name: (*name).to_owned(),
                clock: ClockOffset::default(),
                began_ns: Some(0),
                lost: None,
                report: Some(Box::new(load_report(32, per_second))),
            };
            window.load.generators =
                NAMES[..hosts].iter().filter(|name| **name != server).map(share).collect();
        }
    }
    record
}

#[test]
fn of_servers_hosts_that_take_turns_the_slow_one_is_named() {
    let checks = effects(&by_turns(2, 0.7));
    let [Check { outcome: CheckOutcome::Warn, evidence: Evidence::HostApart(found), .. }] = checks.as_slice()
    else {
        panic!("{checks:?}")
    };
    let HostApart { host: name, other, measure, ratio, windows, .. } = found;
    assert_eq!((name.as_str(), other.as_deref()), ("box1", Some("box2")));
    assert_eq!((*measure, *windows), (HostMeasure::Served, 9), "rounds");
    assert!((1.38..1.48).contains(ratio), "{found:?}");
    let alike = effects(&by_turns(2, 1.0));
    let [
        Check {
            outcome: CheckOutcome::Pass,
            evidence: Evidence::HostsAlike(HostsAlike { of_servers, hosts, windows, .. }),
            ..
        },
    ] = alike.as_slice()
    else {
        panic!("{alike:?}")
    };
    assert_eq!((*of_servers, *hosts, *windows), (true, 2, 9));
}

/// A host that has the servers gives no load in that round: the others are compared all the same.
#[test]
fn hosts_that_take_turns_are_compared_in_both_roles() {
    let record = by_turns(3, 1.0);
    let found: Vec<_> =
        judged(&record).hosts.iter().map(|host| (host.role, host.windows, host.beside.len())).collect();
    assert_eq!(found[..3], [(HostRole::Server, 6, 1); 3]);
    assert_eq!(found[3..], [(HostRole::Generator, 12, 2); 3], "throughput and median");
    let checks = effects(&record);
    let alike = |check: &Check| matches!(check.evidence, Evidence::HostsAlike(HostsAlike { hosts: 3, .. }));
    assert!(checks.len() == 2 && checks.iter().all(alike), "{checks:?}");
}

/// A network of known capacity alone can be full, and it says from where to where.
#[test]
fn a_full_network_between_hosts_is_the_limit() {
    let limit = |share: f64, is_at_least: bool, is_from_server: bool| {
        let mut record = loaded_from(&[1.0, 1.0]);
        let windows =
            record.rounds.iter_mut().flat_map(|round| &mut round.runs).flat_map(|run| &mut run.cells);
        for window in windows {
            window.load.thread_busy_shares = vec![0.3];
            window.server.as_mut().expect("used").user_ns = Nanos::ZERO;
            window.machine.server_idle_share = 0.5;
            for own in window.load.generators.iter_mut().filter_map(|share| share.report.as_mut()) {
                let bytes = 1448 * own.books.ok;
                let (large, small) = (&mut own.books.received_bytes, &mut own.books.sent_bytes);
                let (large, small) = if is_from_server { (large, small) } else { (small, large) };
                (*large, *small) = (bytes, bytes / 20);
            }
        }
        // What host 1 got of `a` in the least of its windows.
        let carried =
            Carried { bytes_per_second: 1448.0 * 4000.0 / share, answers_per_second: 4000.0 / share };
        let (hosts, known) = (vec!["box1".to_owned()], HostLink::default());
        record.host_links = vec![match is_from_server {
            true => HostLink { hosts, carried: Some(carried), is_at_least, ..known },
            false => HostLink { hosts, to_server: Some(CarriedToServer { carried, is_at_least }), ..known },
        }];
        let verdict = judged(&record);
        let standing =
            verdict.cells[0].standings.iter().find(|standing| standing.contender == "a").expect("a");
        (standing.limited_by, format!("{:?}", standing.checks))
    };
    for is_from_server in [true, false] {
        let (by, because) = limit(0.97, false, is_from_server);
        let way = format!("from_server: {is_from_server}");
        assert!(by == LimitedBy::Link && because.contains("the network between box0 and box1"), "{because}");
        assert!(because.contains(&way), "{because}");
        assert_ne!(limit(0.8, false, is_from_server).0, LimitedBy::Link);
        assert_ne!(limit(0.97, true, is_from_server).0, LimitedBy::Link);
    }
}
