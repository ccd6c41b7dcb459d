//! Parts of sentences.

use assay_model::verdict::Interval;

use crate::format;

/// Half-width, as a share of the estimate, from which an interval is told by its ends.
const WIDE: f64 = 0.1;
/// Half-width, as a share of the estimate: nobody measures ratios more exactly, however well a few rounds agree by chance.
const LEAST_HALF_WIDTH: f64 = 0.001;
/// Ratios below this are as good as nothing.
const LEAST_TOLD: f64 = 1e-6;
/// Ratios from which a fraction tells nobody anything.
const LARGE: f64 = 1000.0;

/// A number of things in words: "1 round", "3 rounds"; "1024 connections", as a cell's name has them.
pub fn count_of(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

/// A counted number of things in words, which may be large: "1 request", "12,345 requests".
pub(crate) fn counted(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", format::count(n), if n == 1 { "" } else { "s" })
}

/// What is wrong, and behind an arrow what to do about it, where that is known.
pub(crate) fn with_remedy(wrong: &str, remedy: Option<&str>) -> String {
    remedy.map_or_else(|| wrong.to_owned(), |remedy| format!("{wrong} → {remedy}"))
}

/// The place of a round in a run: "round 3 of 12", or "round 3 of about 12" where there may be more of them, or fewer.
pub fn place_of_round(number: u32, of: u32, is_fixed: bool) -> String {
    let about = if is_fixed || number >= of { "" } else { "about " };
    format!("round {number} of {about}{of}")
}

/// "1.27 ± 0.02": as many digits as the half-width allows. A wide interval is lopsided; then its ends are told.
pub(crate) fn plus_minus(ratio: &Interval) -> String {
    let half = ((ratio.high - ratio.low) / 2.0).max(LEAST_HALF_WIDTH * ratio.estimate.max(1.0));
    if half > WIDE * ratio.estimate {
        let size = if ratio.low < LEAST_TOLD { ratio.high } else { ratio.low };
        let digits = two_digits(size).max(usize::from(ratio.high < LARGE));
        let digits = if hides_a_difference(ratio, digits) { digits + 1 } else { digits };
        let whole = if ratio.high < LARGE { digits } else { 0 };
        return format!("{:.digits$} to {:.whole$}", ratio.low, ratio.high);
    }
    let digits = if half >= 0.95 || ratio.estimate >= LARGE {
        0
    } else if half >= 0.095 {
        1
    } else if half >= 0.0095 {
        2
    } else {
        3
    };
    format!("{:.digits$} ± {half:.digits$}", ratio.estimate)
}

/// Whether an end beside 1 would read as 1 with so many decimals, as if nothing had been shown.
fn hides_a_difference(ratio: &Interval, digits: usize) -> bool {
    let unit = 10f64.powi(-(digits as i32));
    let reads_as_one = |end: f64| (end - 1.0).abs() < unit / 2.0 && (end - 1.0).abs() >= unit / 20.0;
    (ratio.low > 1.0 && reads_as_one(ratio.low)) || (ratio.high < 1.0 && reads_as_one(ratio.high))
}

/// Decimals with which two significant digits are seen.
fn two_digits(value: f64) -> usize {
    let magnitude = value.max(LEAST_TOLD).log10().floor();
    (1.0 - magnitude).max(0.0) as usize
}

/// "a", "a and b", "a, b and c".
pub(crate) fn all_of(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_is_one_of_about_so_many_where_their_number_may_change() {
        let told =
            [(1, 40, false), (7, 7, false), (1, 3, true)].map(|(n, of, fixed)| place_of_round(n, of, fixed));
        assert_eq!(told, ["round 1 of about 40", "round 7 of 7", "round 1 of 3"]);
    }

    #[test]
    fn ratios_and_lists_for_people() {
        let of = |estimate: f64, half: f64| {
            plus_minus(&Interval { estimate, low: estimate - half, high: estimate + half, confidence: 0.95 })
        };
        assert_eq!(of(1.2699, 0.021), "1.27 ± 0.02");
        assert_eq!(of(1.002, 0.0012), "1.002 ± 0.001");
        assert_eq!(of(14.26, 0.3), "14.3 ± 0.3");
        assert_eq!(of(2.3151, 0.0001), "2.315 ± 0.002");
        assert_eq!(of(2.0, 0.5), "1.5 to 2.5");
        assert_eq!(of(1_730_184.2, 900_000.0), "830184 to 2630184");
        assert_eq!(of(1_400.26, 0.3), "1400 ± 1");
        assert_eq!(of(0.3, 0.04), "0.26 to 0.34", "what costs leaves less than 1");
        assert_eq!(of(0.034, 0.006), "0.028 to 0.040");
        assert_eq!(of(0.5, 0.46), "0.040 to 0.960");
        assert_eq!(of(20.0, 3.0), "17.0 to 23.0");
        assert_eq!(of(1.21, 0.2), "1.01 to 1.41", "1.0 would read as no difference");
        assert_eq!([of(0.79, 0.2), of(0.59, 0.408)], ["0.59 to 0.99", "0.182 to 0.998"]);
        assert_eq!(of(1_000.0, 999.7), "0.30 to 2000");
        assert_eq!([of(0.5, 0.5), of(0.005, 0.005)], ["0.0 to 1.0", "0.000 to 0.010"]);
        assert_eq!(of(0.0, 0.0), "0.0000000 to 0.0000000", "a ratio of nothing");
        assert_eq!(all_of(&["a".into(), "b".into(), "c".into()]), "a, b and c");
        assert_eq!((count_of(1, "round"), count_of(3, "round")), ("1 round".into(), "3 rounds".into()));
    }
}
