//! Each limit, found and not found, on records made up.

use assay_model::check::CheckOutcome;
use assay_model::database::DatabaseKind;
use assay_model::evidence::{Bottleneck, Busiest};
use assay_model::link::Flow;
use assay_model::record::{Database, DatabaseOrigin, DatabaseUsage, Measurement};
use assay_model::units::Nanos;
use assay_model::usage::Usage;
use assay_model::verdict::{LimitedBy, Verdict};

use super::trust::{link_facts, over_a_link, server, spoilt};
use super::{check, of};
use crate::testing::judged;

/// A record whose server has four CPUs, used as told; `others` are in the cell with more connections.
fn limit_of(how: impl FnMut(&mut Measurement)) -> (LimitedBy, Bottleneck) {
    let mut record = spoilt(how);
    record.isolation.server_cpus = "4-7".to_owned();
    let verdict = judged(&record);
    let a = of(&verdict, "a");
    (a.limited_by, a.limit_evidence.clone())
}

fn busiest(evidence: Bottleneck) -> Option<Busiest> {
    let Bottleneck::Busy { busiest, .. } = evidence else { panic!("{evidence:?}") };
    busiest
}

/// `busy` of the four CPUs' time, `thread` of it by the busiest thread.
fn used(window: &mut Measurement, busy: f64, thread: f64) {
    let second = window.load.window_ns.0 as f64;
    let usage = server(window);
    usage.user_ns = Nanos((second * 4.0 * busy) as u64);
    usage.system_ns = Nanos::ZERO;
    usage.busiest_thread_ns = Some(Nanos((second * thread) as u64));
    window.machine.server_idle_share = 1.0 - busy;
    window.machine.server_cpu_busy_shares = vec![busy; 4];
    window.load.generator.user_ns = Nanos(1_000_000);
}

#[test]
fn what_was_the_limit_is_told_with_its_evidence() {
    let (by, evidence) = limit_of(|window| used(window, 0.97, 0.97));
    let Bottleneck::Busy { cpus: 4, server_share: Some(0.97), busiest: None, .. } = evidence else {
        panic!("{evidence:?}")
    };
    assert_eq!(by, LimitedBy::Server);

    let (by, evidence) = limit_of(|window| used(window, 0.26, 0.99));
    assert_eq!((by, busiest(evidence)), (LimitedBy::ServerCore, Some(Busiest::Thread { share: 0.99 })));

    let (by, evidence) = limit_of(|window| {
        used(window, 0.3, 0.3);
        window.machine.server_cpu_busy_shares = vec![0.1, 0.98, 0.06, 0.06];
    });
    assert_eq!((by, busiest(evidence)), (LimitedBy::ServerCore, Some(Busiest::Cpu { share: 0.98 })));

    let (by, evidence) = limit_of(|window| {
        used(window, 0.3, 0.3);
        window.load.thread_busy_shares = vec![0.5, 0.99];
    });
    assert_eq!(by, LimitedBy::Generator);
    assert!(matches!(evidence, Bottleneck::Busy { generator_share: 0.99, .. }), "{evidence:?}");

    assert_eq!(limit_of(|window| used(window, 0.1, 0.1)).0, LimitedBy::Neither);

    let (by, evidence) = limit_of(|window| {
        used(window, 0.1, 0.1);
        (window.machine.server_idle_share, window.machine.server_other_share) = (0.83, 0.07);
        window.machine.server_cpu_busy_shares = vec![0.98, 0.0, 0.0, 0.0];
    });
    assert_eq!(by, LimitedBy::Neither, "that CPU was others': {evidence:?}");

    let (by, evidence) = limit_of(|window| {
        used(window, 0.4, 0.4);
        (window.machine.server_idle_share, window.machine.server_other_share) = (0.11, 0.09);
    });
    assert_eq!(by, LimitedBy::Server, "it used what others had left: {evidence:?}");

    let (by, evidence) = limit_of(|window| window.machine.server_other_share = 0.5);
    assert_eq!((by, evidence), (LimitedBy::Unknown, Bottleneck::NoWindow));
    let (by, _) = limit_of(|window| window.server = None);
    assert_eq!(by, LimitedBy::Unknown);
}

/// What limits beside a database on two CPUs that used so many of them, its busiest process `process` of one.
fn limit_with_database(busy: f64, process: f64, beside_generator: bool) -> (LimitedBy, Bottleneck) {
    let mut record = spoilt(|window| {
        used(window, 0.3, 0.3);
        window.load.thread_busy_shares = vec![0.4];
        let second = window.load.window_ns.0 as f64;
        let usage = Usage {
            user_ns: Nanos((second * busy) as u64),
            busiest_thread_ns: Some(Nanos((second * process) as u64)),
            ..Usage::default()
        };
        window.database = Some(DatabaseUsage { usage, beside_generator });
    });
    record.isolation.server_cpus = "4-7".to_owned();
    record.database = Some(Database {
        kind: DatabaseKind::default(),
        origin: DatabaseOrigin::Private,
        version: Some("15".to_owned()),
        settings: Vec::new(),
        cpus: Some("2-3".to_owned()),
        host: None,
        beside_generator,
        not_run: None,
    });
    let verdict = judged(&record);
    let a = of(&verdict, "a");
    (a.limited_by, a.limit_evidence.clone())
}

#[test]
fn a_database_is_the_limit_when_its_cpus_or_one_of_its_processes_are_busy() {
    let (by, evidence) = limit_with_database(1.96, 0.3, false);
    assert_eq!(by, LimitedBy::Database);
    assert_eq!(busiest(evidence), Some(Busiest::Database { share: 0.98, beside_generator: false }));

    let (by, evidence) = limit_with_database(1.0, 0.99, false);
    assert_eq!(by, LimitedBy::Database);
    assert_eq!(busiest(evidence), Some(Busiest::DatabaseProcess { share: 0.99 }));

    let (by, evidence) = limit_with_database(1.58, 0.3, true);
    assert_eq!(by, LimitedBy::Database, "the generator has the rest: {evidence:?}");
    let Some(Busiest::Database { beside_generator: true, .. }) = busiest(evidence) else {
        panic!("not told")
    };

    assert_ne!(limit_with_database(1.0, 0.3, false).0, LimitedBy::Database);
}

/// `busy` of the server's CPUs are used; the link carries `share` of 100 Mbit/s towards the generator.
fn limit_over_a_link(busy: f64, share: f64) -> Verdict {
    let mut record = spoilt(|window| {
        used(window, busy, busy);
        over_a_link(window, Flow { peak_bytes_per_second: share * 12.5e6, ..Flow::default() });
    });
    record.isolation.server_cpus = "4-7".to_owned();
    record.link = Some("veth:100mbit".parse().expect("link"));
    record.link_facts = Some(link_facts(None));
    judged(&record)
}

#[test]
fn a_full_link_is_the_limit_unless_the_server_is() {
    let verdict = limit_over_a_link(0.2, 0.97);
    let a = of(&verdict, "a");
    assert_eq!(a.limited_by, LimitedBy::Link);
    let Some(Busiest::Link { link, from_server: true, .. }) = busiest(a.limit_evidence.clone()) else {
        panic!("{a:?}")
    };
    assert_eq!(link, "veth:100mbit");
    assert_eq!(check(&a.checks, "link-saturated").outcome, CheckOutcome::Warn);
    assert!(a.withheld.is_none(), "the rate was part of the question");
    assert_ne!(of(&limit_over_a_link(0.2, 0.9), "a").limited_by, LimitedBy::Link);
    assert_eq!(of(&limit_over_a_link(0.97, 0.97), "a").limited_by, LimitedBy::Server);
}

#[test]
fn too_few_connections_are_told_by_their_time_on_a_cpu() {
    let (by, evidence) = limit_of(|window| {
        used(window, 0.2, 0.2);
        window.load.connections = 1;
    });
    assert_eq!(by, LimitedBy::Connections);
    assert!(matches!(evidence, Bottleneck::OnCpu { in_flight: 1, .. }), "{evidence:?}");
}

#[test]
fn too_few_connections_are_told_by_what_more_of_them_brought() {
    let with_more = |factor: f64| {
        let mut record = spoilt(|window| used(window, 0.2, 0.2));
        record.isolation.server_cpus = "4-7".to_owned();
        record.experiment.measures[0].connections = vec![64, 256];
        for run in record.rounds.iter_mut().flat_map(|round| &mut round.runs) {
            let mut wider = run.cells[0].clone();
            wider.cell.connections = 256;
            wider.load.window.ok = (wider.load.window.ok as f64 * factor) as u64;
            run.cells.push(wider);
        }
        let verdict = judged(&record);
        let standing =
            verdict.cells[0].standings.iter().find(|standing| standing.contender == "a").expect("a");
        (standing.limited_by, standing.limit_evidence.clone())
    };
    let (by, evidence) = with_more(2.0);
    assert_eq!((by, evidence), (LimitedBy::Connections, Bottleneck::MoreWithMore { times: 2.0 }));
    assert_eq!(with_more(1.02).0, LimitedBy::Neither);
}
