//! Wires by their names, with faults and traces.

use std::path::Path;

use assay_model::units::Nanos;
use assay_wire::{AnyWire, End, Wire, open};

use super::conformance;
use super::frames::{self, SHORTEST};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").expect("shared memory")
}

/// Two ends of a ring with these options.
fn ends(folder: &Path, options: [&str; 2]) -> (AnyWire, AnyWire) {
    let [first, second] = [End::First, End::Second].map(|end| {
        let options = options[usize::from(end == End::Second)];
        let spec = format!("ring:{}{options}", folder.join("ring").display());
        open(&spec.parse().expect("a wire"), end, 0, 1).expect("an end").0
    });
    (first, second)
}

#[test]
fn a_ring_by_its_name_conforms() {
    let folder = folder();
    let make = || ends(folder.path(), ["", ""]);
    conformance::of_any(make);
    conformance::of_a_lossless_one(make, 200_000);
}

#[test]
fn a_traced_and_delayed_ring_conforms() {
    let folder = folder();
    let trace = format!(",delay=20us,pcap={}", folder.path().join("trace").display());
    let make = || ends(folder.path(), [",delay=10us", &trace]);
    conformance::of_any(make);
    conformance::of_a_lossless_one(make, 200_000);
}

#[test]
fn the_ends_of_a_ring_are_different_stations_of_one_network() {
    let folder = folder();
    let spec = format!("ring:{}", folder.path().join("ring").display()).parse().expect("a wire");
    let (_a, one) = open(&spec, End::First, 0, 1).expect("an end");
    let (_b, other) = open(&spec, End::Second, 0, 1).expect("an end");
    assert_ne!(one.hardware, other.hardware);
    assert_eq!(one.addresses.len(), 2);
    for ((ours, bits), (theirs, same_bits)) in one.addresses.iter().zip(&other.addresses) {
        assert_ne!(ours, theirs);
        assert_eq!(bits, same_bits);
        assert_eq!(ours.is_ipv4(), theirs.is_ipv4());
    }
}

#[test]
fn a_wire_that_loses_frames_says_so() {
    let folder = folder();
    let (mut from, mut to) = ends(folder.path(), [",loss=20%,seed=3", ",loss=20%,seed=3"]);
    assert!(!from.facts().lossless && !to.facts().lossless);
    let mut arrived = Vec::new();
    for round in 0..10 {
        (0..500).for_each(|i| frames::send_surely(&mut from, round * 500 + i, SHORTEST));
        frames::flush(&mut from);
        while let Some((number, _)) = frames::receive(&mut to) {
            arrived.push(number);
        }
    }
    assert!(arrived.is_sorted());
    let lost = 5000 - arrived.len() as u64;
    // Five standard deviations of a binomial count are 141.
    assert!((859..=1141).contains(&lost), "{lost}");
    assert_eq!(to.statistics().dropped_frames, lost);
}

/// Direction is told by the number, time and length by the file.
#[test]
fn a_trace_has_every_frame_of_both_directions() {
    let folder = folder();
    let file = folder.path().join("trace.pcap");
    let (mut a, mut b) = ends(folder.path(), [&format!(",pcap={}", file.display()), ""]);
    let lengths = [SHORTEST, 60, 1514];
    for (number, length) in lengths.into_iter().enumerate() {
        frames::send_surely(&mut a, number as u64, length);
        frames::flush(&mut a);
        frames::receive_surely(&mut b);
        frames::send_surely(&mut b, number as u64 + 10, length);
        frames::flush(&mut b);
        frames::receive_surely(&mut a);
    }
    a.wait(Nanos::ZERO).expect("intact");
    let records = read_pcap(&std::fs::read(&file).expect("a file"));
    let expected: Vec<_> = lengths.iter().zip(0..).flat_map(|(l, n)| [(n, *l), (n + 10, *l)]).collect();
    assert_eq!(records.iter().map(|r| (r.number, r.length)).collect::<Vec<_>>(), expected);
    assert!(records.is_sorted_by_key(|record| record.time_ns));
    let now_ns = std::time::UNIX_EPOCH.elapsed().expect("after 1970").as_nanos();
    let age_ns = now_ns - u128::from(records[0].time_ns);
    assert!(age_ns < frames::PATIENCE.as_nanos(), "{age_ns}");
    if let Ok(output) = std::process::Command::new("tcpdump").arg("-nr").arg(&file).output() {
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(text.matches("ethertype Unknown (0x88b5)").count(), 6, "{output:?}");
    }
}

struct Record {
    time_ns: u64,
    number: u64,
    length: usize,
}

/// A reader as the format's draft has it, for files of this machine's order of octets.
fn read_pcap(mut bytes: &[u8]) -> Vec<Record> {
    let word = |bytes: &[u8], index: usize| {
        u32::from_le_bytes(bytes[index * 4..index * 4 + 4].try_into().expect("four bytes"))
    };
    assert_eq!((word(bytes, 0), word(bytes, 1), word(bytes, 5)), (0xa1b2_3c4d, 0x0004_0002, 1));
    bytes = &bytes[24..];
    let mut records = Vec::new();
    while !bytes.is_empty() {
        let time_ns = u64::from(word(bytes, 0)) * 1_000_000_000 + u64::from(word(bytes, 1));
        let length = word(bytes, 2) as usize;
        assert_eq!(word(bytes, 3) as usize, length);
        let frame = &bytes[16..16 + length];
        let number = u64::from_be_bytes(frame[14..22].try_into().expect("eight bytes"));
        records.push(Record { time_ns, number, length });
        bytes = &bytes[16 + length..];
    }
    records
}

#[test]
fn a_trace_that_cannot_be_written_is_told() {
    let folder = folder();
    let absent = format!("ring:{0}/ring,pcap={0}/absent/trace", folder.path().display());
    let error = open(&absent.parse().expect("a wire"), End::First, 0, 1).expect_err("no folder").to_string();
    assert!(error.contains("absent/trace"), "{error}");
    let full = format!("ring:{}/ring,pcap=/dev/full", folder.path().display());
    let (mut wire, _) = open(&full.parse().expect("a wire"), End::First, 0, 1).expect("an end");
    frames::send_surely(&mut wire, 0, 1000);
    let error = wire.wait(Nanos::ZERO).expect_err("nothing fits on /dev/full").to_string();
    assert!(error.contains("trace /dev/full"), "{error}");
}
