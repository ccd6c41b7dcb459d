//! Figures as programs print them for people. Whoever printed them is not trusted: a number that is none is absent, one that is
//! too large for its type is the largest, and no time is negative.

use assay_model::generator::ToldPercentile;
use assay_model::units::Nanos;

/// Most percentiles that are kept of one generator.
const MOST_PERCENTILES: usize = 32;

/// The number behind a label, wherever it stands: `number("Requests/sec:  12.5", "Requests/sec:")` is 12.5.
pub(super) fn number(text: &str, label: &str) -> Option<f64> {
    let rest = text.split_once(label)?.1.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// The count behind a label; a fraction is cut.
pub(super) fn count(text: &str, label: &str) -> Option<u64> {
    // `as` saturates.
    number(text, label).map(|count| count as u64)
}

/// A time with its unit: `1.06ms`, `493.15us`, `2.1s`, `1.00m`.
pub(super) fn time(text: &str) -> Option<Nanos> {
    let split = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(split);
    let unit_ns = match unit {
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" => 60e9,
        "h" => 3600e9,
        _ => return None,
    };
    // `as` saturates.
    number.parse::<f64>().ok().map(|number| Nanos((number * unit_ns).round() as u64))
}

/// The percentiles in rising order, those left out that mean nothing.
pub(super) fn percentiles(found: impl Iterator<Item = (f64, Nanos)>) -> Vec<ToldPercentile> {
    let all = found.map(|(quantile, time_ns)| ToldPercentile { quantile, time_ns });
    let mut told: Vec<_> = all.filter(|told| (0.0..=1.0).contains(&told.quantile)).collect();
    told.sort_by(|a, b| a.quantile.total_cmp(&b.quantile));
    told.truncate(MOST_PERCENTILES);
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times_are_found() {
        assert_eq!(number("a: 1\nRequests/sec:  12.5\n", "Requests/sec:"), Some(12.5));
        assert_eq!(count("Failed requests:        0", "Failed requests:"), Some(0));
        assert_eq!(number("nothing", "Requests/sec:"), None);
        assert_eq!(time("493.15us"), Some(Nanos(493_150)));
        assert_eq!(time("2.50s"), Some(Nanos::from_millis(2500)));
        assert_eq!((time("2.50"), time("2x"), time("ms"), time("")), (None, None, None, None));
    }

    #[test]
    fn what_cannot_be_is_absent_or_the_least_or_the_greatest() {
        assert_eq!(count(&format!("n: {}", "9".repeat(400)), "n:"), Some(u64::MAX));
        assert_eq!((count("n: 1.2.3", "n:"), count("n: -1", "n:"), count("n: é", "n:")), (None, None, None));
        assert_eq!(time("-3ms"), Some(Nanos::ZERO));
        assert_eq!(time(&format!("{}h", "9".repeat(400))), Some(Nanos::MAX));
        let told = percentiles(
            [(0.99, Nanos(2)), (-1.0, Nanos(1)), (f64::NAN, Nanos(1)), (0.5, Nanos(1))].into_iter(),
        );
        assert_eq!(told.iter().map(|told| told.quantile).collect::<Vec<_>>(), [0.5, 0.99]);
        assert_eq!(percentiles((0..1000).map(|n| (f64::from(n) / 1e3, Nanos(1)))).len(), MOST_PERCENTILES);
    }
}
