//! What can be told only while no other test has the CPUs: how much passes in a time.

use super::{run_apart, two_hosts_over};
use crate::support::{Lab, stdout};

#[test]
fn what_a_network_of_known_rate_carries_is_found_before_the_first_round() {
    let lab = Lab::new();
    let Some(link) = two_hosts_over(&lab, "veth:100mbit".parse().expect("a link")) else { return };
    let sends = "name = \"hello\"\nabout = \"\"\n[[request]]\nmethod = \"POST\"\npath = \"/upload\"\nbody = \"abc\"\n\
                 expect = { status = 200 }\n";
    lab.write("workloads/hello.toml", sends);
    let mut run = assert_cmd::Command::from_std(run_apart(&lab, &link, &["--rounds", "1", "-d", "100ms"]));
    run.assert().code(0);
    let record = lab.record();
    let [link] = record.host_links.as_slice() else { panic!("{:?}", record.host_links) };
    assert!(link.hosts.is_empty() && link.problem.is_none() && link.round_trip_ns.is_some(), "{link:?}");
    // No more than its rate, the burst after a pause included; less where this machine is slow.
    for carried in [link.carried, link.to_server.map(|way| way.carried)] {
        let bytes = carried.expect("carried").wire_bytes_per_second();
        assert!((0.35 * 12.5e6..=1.2 * 12.5e6).contains(&bytes), "{link:?}");
    }
    let told = stdout(&lab.assay(&["export", "--format", "md"]).assert());
    assert!(told.contains("from this host to box1"), "{told}");
}
