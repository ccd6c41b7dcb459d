//! Whether memory is flat: pure.

/// Growth that is no growth: of garbage that is not collected yet, of tables that double.
const GROWTH_SHARE: f64 = 0.05;
const GROWTH_BYTES: u64 = 16 << 20;

/// How much more the last quarter needed than the second, by the most that was seen in each, in bytes. The first quarter is left
/// out: there memory is taken for the first time. `None` with fewer than four samples, and when it is flat.
pub(crate) fn growth(samples: &[u64]) -> Option<u64> {
    let quarter = samples.len() / 4;
    let most = |part: usize| samples.get(part * quarter..(part + 1) * quarter)?.iter().max().copied();
    let (early, late) = (most(1)?, most(3)?);
    let allowed = early + GROWTH_BYTES.max((early as f64 * GROWTH_SHARE) as u64);
    (late > allowed).then(|| late - early)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn what_levels_off_is_flat_and_what_goes_on_is_not() {
        assert_eq!(growth(&[]), None);
        let levels: Vec<u64> = (0..40).map(|n| 100 * MIB + n.min(10) * 20 * MIB + n % 7 * MIB).collect();
        assert_eq!(growth(&levels), None);
        let leaks: Vec<u64> = (0..40).map(|n| 100 * MIB + n * 2 * MIB).collect();
        assert_eq!(growth(&leaks), Some(40 * MIB));
    }
}
