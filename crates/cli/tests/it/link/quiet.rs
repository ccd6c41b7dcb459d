//! What can be told only while no other test has the CPUs: beside others no window may count, and then nothing is said of the limit.

use assay_model::evidence::{Bottleneck, Busiest};
use assay_model::record::Record;
use assay_model::verdict::LimitedBy;
use assay_verdict::judge;

use super::{all_were_measured, is_possible, own, windows};
use crate::support::{Lab, stdout};

/// Slow, so that also a program built for tests fills it.
const RATE: u64 = 20_000_000;

/// A server whose answers fill a link.
fn lab_with_large_bodies() -> Lab {
    let lab = Lab::new();
    let large = "name = \"hello\"\nabout = \"16 KiB.\"\n[[request]]\npath = \"/bytes/16384\"\nexpect = { status = 200 }\n";
    lab.write("workloads/hello.toml", large);
    own(&lab, "one");
    lab
}

#[test]
fn a_full_link_is_named_as_the_limit() {
    if !is_possible() {
        return;
    }
    let lab = lab_with_large_bodies();
    let words = "one -s kernel,user --link veth:20mbit -c 16 -d 500ms --warmup 600ms";
    let assert = lab.run(&words.split(' ').collect::<Vec<_>>()).assert();
    let record = lab.record();
    if !all_were_measured(&record) {
        return;
    }
    let out = stdout(&assert.code(0));
    assert!(out.contains("kernel/veth:20mbit: the kernel's stack over veth:20mbit"), "{out}");
    shape_was_kept(&record);
    let verdict = judge(&record).expect("readable");
    assert_eq!(verdict.cells.len(), 2);
    for standing in verdict.cells.iter().map(|cell| &cell.standings[0]) {
        assert_eq!(standing.limited_by, LimitedBy::Link, "{standing:?}");
        assert!(
            matches!(
                &standing.limit_evidence,
                Bottleneck::Busy { busiest: Some(Busiest::Link { from_server: true, .. }), .. }
            ),
            "{standing:?}"
        );
    }
}

fn shape_was_kept(record: &Record) {
    for network in &record.networks {
        let facts = network.link_facts.as_ref().expect("facts");
        assert_eq!((facts.mtu_bytes, facts.server_address.as_str()), (1500, "198.18.0.1"));
        assert_eq!(facts.shape.as_ref().map(|shape| shape.bits_per_second), Some(RATE));
    }
    for (_, window) in windows(record) {
        assert!(window.load.target.starts_with("http://198.18.0.1:"), "{}", window.load.target);
        let used = window.link_use.as_ref().expect("counted");
        let bodies = window.load.books.ok * 16_384;
        assert!(used.to_generator.bytes > bodies && used.to_server.packets > 0, "{used:?}");
        // What may pass at once after a pause, and the time that a reading takes, come on top.
        assert!(used.to_generator.peak_bytes_per_second * 8.0 < RATE as f64 * 1.2, "{used:?}");
    }
}
