//! Figures as programs print them for people.

/// The number behind a label, wherever it stands: `number("Requests/sec:  12.5", "Requests/sec:")` is 12.5.
pub(super) fn number(text: &str, label: &str) -> Option<f64> {
    let rest = text.split_once(label)?.1.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// A time with its unit in ms: `1.06ms`, `493.15us`, `2.1s`, `1.00m`.
pub(super) fn time_ms(text: &str) -> Option<f64> {
    let split = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(split);
    let factor = match unit {
        "us" => 1e-3,
        "ms" => 1.0,
        "s" => 1e3,
        "m" => 60e3,
        "h" => 3600e3,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times_are_found() {
        assert_eq!(number("a: 1\nRequests/sec:  12.5\n", "Requests/sec:"), Some(12.5));
        assert_eq!(number("Failed requests:        0", "Failed requests:"), Some(0.0));
        assert_eq!(number("nothing", "Requests/sec:"), None);
        assert_eq!(time_ms("493.15us"), Some(0.49315));
        assert_eq!(time_ms("2.50s"), Some(2500.0));
        assert_eq!((time_ms("2.50"), time_ms("2x")), (None, None));
    }
}
