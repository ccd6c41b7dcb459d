//! Figures of evidence in words.

/// 0.8649 as "86 %"; small shares with the digits that matter, and from a thousand per cent on a quotient.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        _ if percent == 0.0 => "0 %".to_owned(),
        p if p < 0.01 => "less than 0.01 %".to_owned(),
        p if p < 1.0 => format!("{p:.2} %"),
        p if p < 10.0 => format!("{p:.1} %"),
        p if p < 1000.0 => format!("{p:.0} %"),
        _ => format!("{share:.0}×"),
    }
}

/// 12.34 as "12.3 times"; from a hundred on a fraction tells nobody anything.
pub(crate) fn times(factor: f64) -> String {
    if factor < 100.0 { format!("{factor:.1} times") } else { format!("{factor:.0} times") }
}

/// A quotient near 1 in thousandths, one of many thousands without.
pub(crate) fn exactly(quotient: f64) -> String {
    let digits = match quotient {
        near if near < 10.0 => 3,
        far if far < 1000.0 => 1,
        _ => 0,
    };
    format!("{quotient:.digits$}")
}

/// "1 round", "3 rounds".
pub(crate) fn count_of(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_the_digits_that_matter() {
        assert_eq!(
            [0.0, 0.00005, 0.0049, 0.8649].map(percent),
            ["0 %", "less than 0.01 %", "0.49 %", "86 %"]
        );
        assert_eq!([2.0, 2_094_880.4].map(times), ["2.0 times", "2094880 times"]);
        assert_eq!([1.0042, 34.41, 174_466.2].map(exactly), ["1.004", "34.4", "174466"]);
        assert_eq!(percent(2451.2), "2451×");
    }
}
