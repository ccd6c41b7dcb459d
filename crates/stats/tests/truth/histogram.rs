//! T15: known samples from 1 µs to 60 s, merging, and agreement with the reference implementation.
#![allow(clippy::unwrap_used, reason = "a helper may fail as loudly as the test that calls it")]

use assay_stats::Histogram;
use chacha20::ChaCha8Rng;
use chacha20::rand_core::SeedableRng as _;
use hdrhistogram::Histogram as Hdr;
use proptest::collection::vec;
use proptest::prelude::*;

const QUANTILES: [f64; 15] =
    [0.0, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9999, 0.99999, 1.0];

/// 200,000 durations in ns whose logarithm is uniform between those of 1 µs and 60 s.
fn known_samples() -> Vec<u64> {
    let mut rng = ChaCha8Rng::seed_from_u64(15);
    let (low, high) = (1e3_f64.ln(), 60e9_f64.ln());
    (0..200_000).map(|_| rng.random_range(low..high).exp() as u64).collect()
}

fn histogram_of(values: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    values.iter().for_each(|&value| histogram.record(value));
    histogram
}

/// The reference, with room for everything that ours tells apart.
fn reference_of(values: &[u64]) -> Hdr<u64> {
    let mut reference = Hdr::new_with_bounds(1, Histogram::LIMIT, 2).unwrap();
    values.iter().for_each(|&value| reference.record(value).unwrap());
    reference
}

#[test]
fn quantiles_of_known_samples_are_within_0_4_percent() {
    let mut samples = known_samples();
    let histogram = histogram_of(&samples);
    samples.sort_unstable();
    for q in QUANTILES {
        let rank = ((q * samples.len() as f64).ceil() as usize).max(1);
        let (truth, got) = (samples[rank - 1] as f64, histogram.quantile(q).unwrap() as f64);
        assert!((got / truth - 1.0).abs() <= 0.004, "quantile {q}: {got} instead of {truth}");
    }
    assert_eq!((histogram.min(), histogram.max()), (samples.first().copied(), samples.last().copied()));
    assert_eq!(histogram.sum(), samples.iter().map(|&v| u128::from(v)).sum());
    assert_eq!((histogram.count(), histogram.saturated()), (200_000, 0));
}

#[test]
fn every_value_is_represented_within_0_4_percent() {
    let edges = (0..43).flat_map(|n| [(1u64 << n) - 1, 1 << n, (1 << n) + 1, (1 << n) * 129 / 128 - 1]);
    for value in edges.chain(known_samples()).filter(|v| (1..Histogram::LIMIT).contains(v)) {
        let mut histogram = histogram_of(&[value]);
        histogram.record(0);
        histogram.record(u64::MAX);
        let got = histogram.quantile(0.5).unwrap() as f64;
        assert!((got / value as f64 - 1.0).abs() <= 0.004, "{value} is shown as {got}");
    }
}

#[test]
fn buckets_and_quantiles_agree_with_the_reference_implementation() {
    let samples = known_samples();
    let (ours, reference) = (histogram_of(&samples), reference_of(&samples));
    let theirs = reference.iter_recorded().map(|entry| (entry.value_iterated_to(), entry.count_at_value()));
    assert!(ours.buckets().map(|b| (b.high, b.count)).eq(theirs));
    for q in (0..=1000).map(|i| f64::from(i) / 1000.0).chain(QUANTILES) {
        let (mine, upper_edge) = (ours.quantile(q).unwrap(), reference.value_at_quantile(q));
        assert!(reference.equivalent(mine, upper_edge), "quantile {q}: {mine} and {upper_edge}");
    }
    for value in [0, 255, 1_000, 123_456_789, 1 << 40] {
        assert_eq!(ours.count_at_or_below(value), reference.count_between(0, value), "at or below {value}");
    }
}

#[test]
fn text_is_read_by_the_reference_implementation_and_back() {
    let samples = known_samples();
    let (ours, reference) = (histogram_of(&samples), reference_of(&samples));
    let text = ours.to_hdr_base64().unwrap();
    assert!(text.starts_with("HISTFAAA"));
    let payload = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, &text).unwrap();
    let decoded: Hdr<u64> =
        hdrhistogram::serialization::Deserializer::new().deserialize(&mut payload.as_slice()).unwrap();
    assert_eq!(decoded, reference);

    let back = Histogram::from_hdr_base64(&text).unwrap();
    assert!(back.buckets().eq(ours.buckets()));
    assert_eq!(back.to_hdr_base64().unwrap(), text);
    assert!((back.mean().unwrap() / ours.mean().unwrap() - 1.0).abs() <= 0.004);
    assert!(back.min() <= ours.min() && back.max() >= ours.max());
}

fn merged(parts: [&Histogram; 2]) -> Histogram {
    let mut sum = parts[0].clone();
    sum.merge(parts[1]);
    sum
}

proptest! {
    #[test]
    fn merging_is_associative_commutative_and_the_same_as_recording_together(
        a in vec(any::<u64>(), 0..40), b in vec(0u64..1 << 44, 0..40), c in vec(0u64..100_000, 0..40),
    ) {
        let (x, y, z) = (histogram_of(&a), histogram_of(&b), histogram_of(&c));
        let left = merged([&merged([&x, &y]), &z]);
        prop_assert_eq!(&left, &merged([&x, &merged([&y, &z])]));
        prop_assert_eq!(&left, &merged([&z, &merged([&y, &x])]));
        prop_assert_eq!(&left, &histogram_of(&[a, b, c].concat()));
    }

    #[test]
    fn every_bucket_survives_the_round_trip(values in vec((any::<u64>(), 1u64..1 << 40), 0..60)) {
        let mut histogram = Histogram::new();
        for (value, n) in values {
            // Shifting by the value's own low bits spreads values over all octaves.
            histogram.record_n(value >> (value % 64), n);
        }
        let back = Histogram::from_hdr_base64(&histogram.to_hdr_base64().unwrap()).unwrap();
        prop_assert!(back.buckets().eq(histogram.buckets()));
        prop_assert_eq!((back.count(), back.saturated()), (histogram.count(), histogram.saturated()));
    }
}
