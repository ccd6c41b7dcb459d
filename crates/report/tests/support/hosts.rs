//! The made-up run with its server on one host and load from two others, of which one was lost once and is slower.

use assay_model::evidence::HostMeasure;
use assay_model::fleet::ClockOffset;
use assay_model::host_link::{Carried, CarriedToServer, HostLink};
use assay_model::hosts::{BesideHosts, HostStanding};
use assay_model::interval::Interval;
use assay_model::lab::{GeneratorHost, HostRole, PlacedHost};
use assay_model::record::Record;
use assay_model::units::Nanos;
use assay_model::verdict::Verdict;

/// The run on hosts.
pub(crate) fn on_hosts((mut record, mut verdict): (Record, Verdict)) -> (Record, Verdict) {
    let clock = ClockOffset { offset_ns: 12_000_000, error_ns: Nanos::from_micros(110), round_trips: 50 };
    let (host, cpus) = (record.host.clone(), "0-7".to_owned());
    let name = |name: &str| name.to_owned();
    record.server_hosts = vec![PlacedHost {
        name: name("box1"),
        address: "10.0.0.1".to_owned(),
        cpus: cpus.clone(),
        host: host.clone(),
        clock,
    }];
    record.generator_hosts = ["box2", "box3"]
        .map(|of| GeneratorHost { name: name(of), cpus: cpus.clone(), host: host.clone(), clock })
        .to_vec();
    let carried =
        |bytes_per_second: f64| Carried { bytes_per_second, answers_per_second: bytes_per_second / 1e6 };
    let link = |hosts: &[&str], of: f64, is_at_least| HostLink {
        server: None,
        hosts: hosts.iter().map(|host| name(host)).collect(),
        round_trip_ns: (hosts.len() == 1).then_some(Nanos::from_micros(84)),
        carried: Some(carried(of)),
        is_at_least,
        to_server: (hosts == ["box2"]).then(|| CarriedToServer { carried: carried(55e6), is_at_least: true }),
        problem: None,
    };
    record.host_links = vec![
        link(&["box2"], 117e6, false),
        link(&["box3"], 60e6, true),
        link(&["box2", "box3"], 118e6, false),
    ];
    verdict.hosts = vec![standing("box1", HostRole::Server), standing("box2", HostRole::Generator), slow()];
    (record, verdict)
}

fn standing(name: &str, role: HostRole) -> HostStanding {
    let is_generator = role == HostRole::Generator;
    HostStanding {
        name: name.to_owned(),
        role,
        clock_error_ns: Nanos::from_micros(104),
        windows: 48,
        lost: 0,
        lost_for: None,
        late: 0,
        saturated: 0,
        disturbed: 0,
        began_ns: is_generator.then_some(-31_000),
        answers_share: is_generator.then_some(0.56),
        busy_share: is_generator.then_some(0.41),
        delay_share: is_generator.then_some(0.002),
        lag_p99_ns: None,
        beside: Vec::new(),
    }
}

fn slow() -> HostStanding {
    let ratio = Interval { estimate: 0.79, low: 0.77, high: 0.81, confidence: 0.99 };
    let beside = BesideHosts { measure: HostMeasure::Throughput, ratio, windows: 47, is_apart: true };
    HostStanding {
        lost: 1,
        lost_for: Some("its host is lost (its transport ended with exit status: 255)".to_owned()),
        late: 2,
        answers_share: Some(0.44),
        beside: vec![beside],
        ..standing("box3", HostRole::Generator)
    }
}
