//! The field `grpc-timeout`: how long a client waits.

use std::time::Duration;

/// Digits of a timeout at most.
const MOST_DIGITS: usize = 8;

/// The time that a value tells: one to eight digits and a unit, of which there are H, M, S, m, u and n; `None` when it is none.
pub fn read(value: &[u8]) -> Option<Duration> {
    let (unit, digits) = value.split_last()?;
    let is_number = (1..=MOST_DIGITS).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    let number: u64 = std::str::from_utf8(digits).ok().filter(|_| is_number)?.parse().ok()?;
    Some(match unit {
        b'H' => Duration::from_secs(number * 3600),
        b'M' => Duration::from_secs(number * 60),
        b'S' => Duration::from_secs(number),
        b'm' => Duration::from_millis(number),
        b'u' => Duration::from_micros(number),
        b'n' => Duration::from_nanos(number),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_and_a_unit() {
        for (value, nanos) in [
            ("1n", 1),
            ("2u", 2_000),
            ("3m", 3_000_000),
            ("4S", 4_000_000_000),
            ("5M", 300_000_000_000),
            ("99999999H", 99_999_999 * 3_600_000_000_000),
            ("0S", 0),
        ] {
            assert_eq!(read(value.as_bytes()).map(|time| time.as_nanos()), Some(nanos), "{value}");
        }
        for bad in ["", "S", "1", "1s", "123456789S", "-1S", "1.5S", " 1S", "1 S"] {
            assert_eq!(read(bad.as_bytes()), None, "{bad}");
        }
    }
}
