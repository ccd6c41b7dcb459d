//! Numbers for people. Nothing else in assay turns a quantity into text, and the page's `format.ts` obeys the same
//! cases (`tests/format_cases.json`).
//!
//! Three significant digits with at most two decimals, in the largest unit in which the value is at least 1, or, for
//! durations, at least one half (so 0.75 ms, but 104 µs). An interval shows as many decimals as its half-width needs to
//! be visible: `100.3k [100.1k … 100.5k]`, never `100k [100k … 100k]`. Signs beyond ASCII (µ, …, ×) are kept; see
//! [`crate::text::ascii`] for terminals that lack them.

use assay_model::conformance::Score;
use assay_model::core_hour::Money;
use assay_model::verdict::Interval;

/// A scale: factors and the symbols behind the number, smallest first, with what decides between them.
struct Scale {
    units: &'static [(f64, &'static str)],
    /// Least value, counted in a unit, for which that unit is used.
    least: f64,
    decimals: fn(f64) -> usize,
}

const RATE: Scale =
    Scale { units: &[(1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G")], least: 1.0, decimals: three_digits };
const DURATION: Scale = Scale {
    units: &[(1.0, " ns"), (1e3, " µs"), (1e6, " ms"), (1e9, " s")],
    least: 0.5,
    decimals: three_digits,
};
const ENERGY: Scale = Scale {
    units: &[(1e-3, " nJ"), (1.0, " µJ"), (1e3, " mJ"), (1e6, " J"), (1e9, " kJ")],
    least: 1.0,
    decimals: three_digits,
};
const BYTES: Scale = Scale {
    units: &[(1.0, " B"), (1e3, " kB"), (1e6, " MB"), (1e9, " GB"), (1e12, " TB")],
    least: 1.0,
    decimals: two_digits,
};
const BIT_RATE: Scale = Scale {
    units: &[(1.0, " bit/s"), (1e3, " kbit/s"), (1e6, " Mbit/s"), (1e9, " Gbit/s")],
    least: 1.0,
    decimals: three_digits,
};
const QUOTIENT: Scale = Scale { units: &[(1.0, "")], least: 0.0, decimals: three_digits };
const PERCENT: Scale = Scale { units: &[(0.01, " %")], least: 0.0, decimals: percent_digits };

/// The share from which a percentage has too many digits.
const MOST_SHARE: f64 = 10.0;
/// The least share with two decimals as a percentage.
const LEAST_AT_MOST: f64 = 0.0001;
/// The least distance of a percentile from 100: a double has no more digits.
const LEAST_PERCENT: f64 = 1e-12;
/// How far apart the ends of an interval may be that are the same figure: sums of doubles are rounded at the sixteenth digit.
const ROUNDED_SHARE: f64 = 1e-9;

/// A throughput, without its unit: `78.0k`, `1.27M`.
pub fn rate(per_second: f64) -> String {
    if per_second == 0.0 { "0".to_owned() } else { RATE.one(per_second) }
}

/// A span from nanoseconds to minutes, given in nanoseconds: `11.7 µs`, `0.75 ms`.
pub fn duration(ns: f64) -> String {
    DURATION.one(ns)
}

/// An amount of energy, given in microjoules: `312 µJ`.
pub fn energy(uj: f64) -> String {
    ENERGY.one(uj)
}

/// An amount of energy in microjoules with its interval: `312 µJ`, `[305 … 319 µJ]`.
pub fn energy_interval(uj: &Interval) -> Estimate {
    ENERGY.with_unit_once(uj)
}

/// A size in powers of ten: `9.1 MB`.
pub fn bytes(bytes: u64) -> String {
    BYTES.one(bytes as f64)
}

/// What a network carries: `941 Mbit/s`.
pub fn bit_rate(bits_per_second: f64) -> String {
    BIT_RATE.one(bits_per_second)
}

/// A share as a percentage: 0.863 is `86 %`; from a thousand per cent on as a quotient, which is easier to grasp: `34.4×`. What is not
/// nothing is never told as nothing: `below 0.01 %`.
pub fn percent(share: f64) -> String {
    match share {
        0.0 => "0 %".to_owned(),
        _ if share >= MOST_SHARE => ratio(share),
        _ => match PERCENT.one(share) {
            told if told == "0.00 %" => "below 0.01 %".to_owned(),
            told => told,
        },
    }
}

/// A share of all, as a percentage: what is not all is never told as all: 0.9987 is `99.87 %`.
pub fn percent_of_all(share: f64) -> String {
    match percent(share) {
        all if all == "100 %" && share < 1.0 => format!("{:.2} %", (share * 1e4).floor() / 1e2),
        told => told,
    }
}

/// A share behind "up to" or "at most", as a percentage: what is not nothing is `0.01 %` at least.
pub fn percent_at_most(share: f64) -> String {
    percent(if share > 0.0 { share.max(LEAST_AT_MOST) } else { share })
}

/// A quotient: `1.27×`.
pub fn ratio(quotient: f64) -> String {
    format!("{quotient:.*}×", three_digits(quotient))
}

/// A quotient among others, without the sign: `1.27`.
pub fn quotient(quotient: f64) -> String {
    QUOTIENT.one(quotient)
}

/// A quotient with its interval: `1.27`, `[1.25 … 1.29]`.
pub fn quotient_interval(quotient: &Interval) -> Estimate {
    let [estimate, low, high] = QUOTIENT.three(quotient);
    Estimate { interval: brackets(quotient, &low, &high), estimate }
}

/// A quotient near 1, with its thousandths: `1.004`; one far from it with the digits that matter.
pub fn close_ratio(quotient: f64) -> String {
    let digits = match quotient {
        near if near < 10.0 => 3,
        far if far < 1000.0 => 1,
        _ => 0,
    };
    format!("{quotient:.digits$}")
}

/// A probability: `0.003`.
pub fn probability(p: f64) -> String {
    format!("{p:.3}")
}

/// The percentile that a share stands for: 0.9995 is `99.95`.
pub fn percentile(share: f64) -> String {
    let decimals = percentile_decimals(1.0 - share);
    trimmed(&format!("{:.decimals$}", share * 100.0))
}

/// The percentile beyond which so many of all lie, rounded down: of the last of 300,000 it is `99.99966`.
pub fn percentile_before(beyond: u64, of: u64) -> String {
    let of = of.max(1);
    let decimals = percentile_decimals(beyond as f64 / of as f64);
    let unit = 10_u128.pow(u32::try_from(decimals).unwrap_or(0));
    let units = u128::from(of.saturating_sub(beyond)) * 100 * unit / u128::from(of);
    trimmed(&format!("{}.{:0decimals$}", units / unit, units % unit))
}

/// Decimals that tell a percentile from 100, two digits of its distance, and at least three.
fn percentile_decimals(beyond: f64) -> usize {
    let magnitude = (beyond * 100.0).max(LEAST_PERCENT).log10().floor();
    (1.0 - magnitude).max(3.0) as usize
}

/// Without the zeros that say nothing.
fn trimmed(decimal: &str) -> String {
    decimal.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Rules kept of those that apply: `62/67`.
pub fn score(score: &Score) -> String {
    format!("{}/{}", score.kept, score.applicable)
}

/// A whole number with separators between thousands: `1,234,567`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A long span, given in nanoseconds: `3 min 14 s`.
pub fn span(ns: u64) -> String {
    let seconds = ns / 1_000_000_000;
    match seconds {
        0 if ns == 0 => "0 s".to_owned(),
        0..10 => format!("{:.1} s", ns as f64 / 1e9),
        10..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// An estimate and its interval as two texts with equal decimals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// `78.0k`
    pub estimate: String,
    /// `[77.1k … 78.9k]`; a dash when nothing is known but the estimate
    pub interval: String,
}

/// A throughput with its interval.
pub fn rate_interval(per_second: &Interval) -> Estimate {
    let [estimate, low, high] = RATE.three(per_second);
    Estimate { interval: brackets(per_second, &low, &high), estimate }
}

/// A duration in nanoseconds with its interval; the unit stands once: `[0.74 … 0.78 ms]`, unless the ends are far apart:
/// `[8.10 µs … 1.33 ms]`.
pub fn duration_interval(ns: &Interval) -> Estimate {
    DURATION.with_unit_once(ns)
}

/// A difference of durations in nanoseconds with its interval, in the unit of the greatest of the three: `+61.2 µs`,
/// `[+58.0 … +64.3 µs]`.
pub fn added_duration(ns: &Interval) -> Estimate {
    let ends = [ns.estimate, ns.low, ns.high];
    let (factor, symbol) = DURATION.unit_of(ends.into_iter().map(f64::abs).fold(0.0, f64::max));
    let decimals = if symbol == " ns" { 0 } else { DURATION.interval_decimals(ns, factor) };
    let [estimate, low, high] = ends.map(|end| signed(end / factor, decimals));
    let interval =
        if ns.confidence <= 0.0 { "–".to_owned() } else { format!("[{low} … {high}{symbol}]") };
    Estimate { estimate: format!("{estimate}{symbol}"), interval }
}

/// A share with its interval: `86 %`, `[85 … 87 %]`; where its ends are a thousand per cent or more, as quotients.
pub fn percent_interval(share: &Interval) -> Estimate {
    match PERCENT.with_unit_once(share) {
        _ if share.high >= MOST_SHARE => ratio_interval(share),
        told if is_too_wide(share) => Estimate { interval: brackets(share, "", ""), ..told },
        told => told,
    }
}

/// A quotient with its interval: `2.75×`, `[2.71 … 2.79]`.
pub fn ratio_interval(of: &Interval) -> Estimate {
    let digits = three_digits(of.estimate);
    let [low, high] = [of.low, of.high].map(|end| format!("{end:.digits$}"));
    Estimate { estimate: ratio(of.estimate), interval: brackets(of, &low, &high) }
}

/// How far a ratio lies from 1, with its interval: 0.968 is `−3.2 %`, `[−4.1 … −2.3 %]`; where its ends are a thousand per cent or
/// more, as a quotient.
pub fn change(ratio: &Interval) -> Estimate {
    if ratio.estimate - 1.0 >= MOST_SHARE || !is_too_wide(ratio) && ratio.high - 1.0 >= MOST_SHARE {
        return ratio_interval(ratio);
    }
    let decimals = change_decimals(ratio);
    let [estimate, low, high] =
        [ratio.estimate, ratio.low, ratio.high].map(|end| signed((end - 1.0) * 100.0, decimals));
    Estimate { estimate: format!("{estimate} %"), interval: brackets(ratio, &low, &format!("{high} %")) }
}

/// By how much a ratio exceeds or falls short of 1, for a sentence that says which: 0.968 is `3.2 %`, `[2.3 … 4.1 %]`. From two
/// times on, or down to a half, a quotient: 2.4 is `2.40 times`, `[2.35 … 2.45]`.
pub fn magnitude(ratio: &Interval) -> Estimate {
    if !(0.5..2.0).contains(&ratio.estimate) {
        let of = quotient_interval(ratio);
        return Estimate { estimate: format!("{} times", of.estimate), interval: of.interval };
    }
    let decimals = change_decimals(ratio);
    let sign = if ratio.estimate < 1.0 { -1.0 } else { 1.0 };
    let [estimate, one, other] =
        [ratio.estimate, ratio.low, ratio.high].map(|end| (end - 1.0) * 100.0 * sign);
    let text = |value: f64| signed(value, decimals).trim_start_matches('+').to_owned();
    let interval = brackets(ratio, &text(one.min(other)), &format!("{} %", text(one.max(other))));
    Estimate { estimate: format!("{} %", text(estimate)), interval }
}

/// Decimals of a percentage with which an interval of a ratio can be seen.
fn change_decimals(ratio: &Interval) -> usize {
    half_width(ratio).map_or(1, |half| (-(half * 100.0).log10().floor()).clamp(1.0, 3.0) as usize)
}

/// Half of what an interval covers; nothing where its ends differ by no more than their computation rounds.
fn half_width(of: &Interval) -> Option<f64> {
    let half = (of.high - of.low) / 2.0;
    (half.is_finite() && half > ROUNDED_SHARE * of.low.abs().max(of.high.abs())).then_some(half)
}

/// An amount of money to three digits, however small: `0.000111 EUR`; a price of a million answers is a small part of that of an
/// hour.
pub fn money(money: &Money) -> String {
    with_currency(&digits_of(money, money.amount.estimate), money)
}

/// The ends of its interval, `[0.000105 … 0.000117 EUR]`; a dash where there is none.
pub fn money_interval(money: &Money) -> String {
    let [low, high] = [money.amount.low, money.amount.high].map(|end| digits_of(money, end));
    brackets(&money.amount, &low, &with_currency(&high, money))
}

fn digits_of(money: &Money, amount: f64) -> String {
    let magnitude = money.amount.estimate.abs().max(f64::MIN_POSITIVE).log10().floor();
    let decimals = (2.0 - magnitude).clamp(0.0, 12.0) as usize;
    format!("{amount:.decimals$}")
}

fn with_currency(digits: &str, Money { currency, .. }: &Money) -> String {
    if currency.is_empty() { digits.to_owned() } else { format!("{digits} {currency}") }
}

/// A share as a signed percentage: −0.03 is `−3 %`.
pub fn signed_percent(share: f64) -> String {
    let percent = (share * 1e9).round() / 1e7;
    let sign = if percent < 0.0 { '−' } else { '+' };
    format!("{sign}{} %", percent.abs())
}

/// A figure with a real minus sign, and no sign for nothing.
fn with_minus(text: &str) -> String {
    match text.strip_prefix('-') {
        Some(rest) if has_digit(rest) => format!("−{rest}"),
        Some(rest) => rest.to_owned(),
        None => text.to_owned(),
    }
}

/// Whether any digit says more than nothing.
fn has_digit(text: &str) -> bool {
    text.bytes().any(|digit| (b'1'..=b'9').contains(&digit))
}

/// With a real minus sign, and no sign for nothing.
fn signed(value: f64, decimals: usize) -> String {
    let digits = format!("{:.decimals$}", value.abs());
    match has_digit(&digits) {
        false => digits,
        true if value < 0.0 => format!("−{digits}"),
        true => format!("+{digits}"),
    }
}

/// The number of a unit that is told in the next one.
const THOUSAND: f64 = 1000.0;

impl Scale {
    fn one(&self, value: f64) -> String {
        let (factor, symbol) = self.unit_of(value);
        let scaled = value / factor;
        let decimals = if symbol == " ns" || symbol == " B" { 0 } else { (self.decimals)(scaled) };
        format!("{scaled:.decimals$}{symbol}")
    }

    /// Estimate, low and high end in the estimate's unit, with decimals enough to see the interval.
    fn three(&self, of: &Interval) -> [String; 3] {
        let (factor, symbol) = self.unit_of(of.estimate);
        let decimals = self.interval_decimals(of, factor);
        [of.estimate, of.low, of.high].map(|value| format!("{:.decimals$}{symbol}", value / factor))
    }

    fn with_unit_once(&self, of: &Interval) -> Estimate {
        let (factor, symbol) = self.unit_of(of.estimate);
        let [estimate, low, high] = self.three(of).map(|text| with_minus(&text));
        if of.high / factor >= THOUSAND && self.unit_of(of.high).0 > factor {
            return Estimate {
                interval: whole_brackets(of, &self.one(of.low), &self.one(of.high)),
                estimate,
            };
        }
        let low = low.strip_suffix(symbol).unwrap_or(&low);
        Estimate { interval: whole_brackets(of, low, &high), estimate }
    }

    fn interval_decimals(&self, of: &Interval, factor: f64) -> usize {
        let usual = (self.decimals)(of.estimate / factor);
        let Some(half_width) = half_width(of) else { return usual };
        let needed = (-(half_width / factor).log10().floor()).max(0.0) as usize;
        // Whoever reads thousands has digits enough.
        let most = if of.estimate.abs() / factor >= THOUSAND { usual } else { usual + 2 };
        needed.clamp(usual, most)
    }

    fn unit_of(&self, value: f64) -> (f64, &'static str) {
        let fits = |(factor, _): &&(f64, &str)| thousandths(value.abs() / factor) >= self.least;
        self.units.iter().rev().find(fits).copied().unwrap_or(self.units[0])
    }
}

/// Beyond this ratio of its ends the interval of a ratio or a rate only says that there were too few rounds.
const TOO_WIDE: f64 = 10.0;

fn is_too_wide(of: &Interval) -> bool {
    of.low > 0.0 && of.high > TOO_WIDE * of.low
}

/// `[low … high]` of a ratio or a rate, unless it is too wide to say anything.
fn brackets(of: &Interval, low: &str, high: &str) -> String {
    if of.confidence > 0.0 && is_too_wide(of) {
        "[too wide]".to_owned()
    } else {
        whole_brackets(of, low, high)
    }
}

/// `[low … high]` of what may be nothing or less, or a dash for an interval that covers nothing: a single round has an estimate and no
/// more.
fn whole_brackets(of: &Interval, low: &str, high: &str) -> String {
    if of.confidence <= 0.0 { "–".to_owned() } else { format!("[{low} … {high}]") }
}

/// Rounds to three decimals, so that 999.6 is seen as the 1.00k that it is printed as.
fn thousandths(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// Decimals for three significant digits, but no more than two.
fn three_digits(value: f64) -> usize {
    match value.abs() {
        small if small < 9.995 => 2,
        middle if middle < 99.95 => 1,
        _ => 0,
    }
}

/// Decimals for two significant digits, but no more than one.
fn two_digits(value: f64) -> usize {
    usize::from(value.abs() < 9.95)
}

/// Decimals for two significant digits of a percentage, but no more than two.
fn percent_digits(value: f64) -> usize {
    if value.abs() < 0.995 { 2 } else { two_digits(value) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn cases(kind: &str) -> Vec<Vec<Value>> {
        let all: Value = serde_json::from_str(include_str!("../tests/format_cases.json")).unwrap();
        serde_json::from_value(all[kind].clone()).unwrap()
    }

    fn check(kind: &str, format: impl Fn(f64) -> String) {
        for case in cases(kind) {
            assert_eq!(format(case[0].as_f64().unwrap()), case[1].as_str().unwrap(), "{kind} {}", case[0]);
        }
    }

    fn check_interval(kind: &str, format: impl Fn(&Interval) -> Estimate) {
        for case in cases(kind) {
            let [estimate, low, high] = serde_json::from_value(case[0].clone()).unwrap();
            let got = format(&Interval { estimate, low, high, confidence: 0.95 });
            assert_eq!([&got.estimate, &got.interval], [&case[1], &case[2]], "{kind} {}", case[0]);
        }
    }

    #[test]
    fn numbers_read_as_the_shared_cases_say() {
        check("rate", rate);
        check("duration", duration);
        check("energy", energy);
        check("bytes", |x| bytes(x as u64));
        check("percent", percent);
        check("percent_of_all", percent_of_all);
        check("percentile", percentile);
        check("ratio", ratio);
        check("count", |x| count(x as u64));
        check("span", |x| span(x as u64));
    }

    #[test]
    fn a_share_that_is_a_bound_is_rounded_up_from_nothing() {
        assert_eq!([0.0, 0.000_003, 0.02].map(percent_at_most), ["0 %", "0.01 %", "2.0 %"]);
    }

    #[test]
    fn percentiles_below_a_hundred_are_never_told_as_a_hundred() {
        let named = [0.5, 0.9995, 0.999_999, 1.0].map(percentile);
        assert_eq!(named, ["50", "99.95", "99.9999", "100"]);
        let before =
            [(7, 100), (1, 3), (1, 200_000), (1, 300_000), (3, 700_001), (1, 40_000_000), (5, 4), (0, 0)];
        let told = before.map(|(beyond, of)| percentile_before(beyond, of));
        assert_eq!(told, ["93", "66.666", "99.9995", "99.99966", "99.99957", "99.9999975", "0", "100"]);
    }

    #[test]
    fn scores_read_as_the_shared_cases_say() {
        for case in cases("score") {
            let [kept, applicable] = serde_json::from_value(case[0].clone()).unwrap();
            assert_eq!(score(&Score { kept, applicable }), case[1].as_str().unwrap());
        }
    }

    #[test]
    fn amounts_of_money_read_as_the_shared_cases_say() {
        for case in cases("money") {
            let (estimate, currency) = serde_json::from_value(case[0].clone()).unwrap();
            let amount = Interval { estimate, low: estimate, high: estimate, confidence: 0.0 };
            assert_eq!(money(&Money { amount, currency }), case[1].as_str().unwrap());
        }
    }

    #[test]
    fn a_magnitude_stands_beside_a_word_for_its_direction() {
        let of = |estimate, low, high| {
            let text = magnitude(&Interval { estimate, low, high, confidence: 0.95 });
            [text.estimate, text.interval]
        };
        assert_eq!(of(0.979, 0.972, 0.986), ["2.1 %", "[1.4 … 2.8 %]"]);
        assert_eq!(of(1.03, 0.99, 1.07), ["3.0 %", "[−1.0 … 7.0 %]"]);
        assert_eq!(of(2.4, 2.3, 2.5), ["2.40 times", "[2.30 … 2.50]"]);
    }

    #[test]
    fn changes_have_signs_and_show_their_width() {
        let of = |estimate, low, high| {
            let text = change(&Interval { estimate, low, high, confidence: 0.95 });
            [text.estimate, text.interval]
        };
        assert_eq!(of(0.968, 0.959, 0.977), ["−3.2 %", "[−4.1 … −2.3 %]"]);
        assert_eq!(of(1.0001, 0.9995, 1.0007), ["+0.01 %", "[−0.05 … +0.07 %]"]);
        assert_eq!(of(1.25, 1.25, 1.25), ["+25.0 %", "[+25.0 … +25.0 %]"]);
        assert_eq!(of(1.25, 1.249_999_999_999_999_8, 1.25), ["+25.0 %", "[+25.0 … +25.0 %]"]);
        assert_eq!(of(1.0, 0.5, 20.0), ["0.0 %", "[too wide]"]);
        assert_eq!(of(40.0, 35.0, 45.0), ["40.0×", "[35.0 … 45.0]"]);
        assert_eq!([signed_percent(-0.03), signed_percent(0.1)], ["−3 %", "+10 %"]);
    }

    #[test]
    fn money_has_three_digits_however_little_it_is() {
        let of = |estimate: f64, confidence, currency: &str| {
            let amount = Interval { estimate, low: estimate * 0.9, high: estimate * 1.1, confidence };
            let money = Money { amount, currency: currency.to_owned() };
            [super::money(&money), money_interval(&money)]
        };
        assert_eq!(of(0.000_111_1, 0.95, "EUR"), ["0.000111 EUR", "[0.000100 … 0.000122 EUR]"]);
        assert_eq!(of(12.34, 0.95, "$"), ["12.3 $", "[11.1 … 13.6 $]"]);
        assert_eq!(of(1234.0, 0.0, ""), ["1234", "–"]);
    }

    #[test]
    fn an_estimate_of_a_single_round_has_no_interval() {
        let alone = Interval { estimate: 78_000.0, low: 78_000.0, high: 78_000.0, confidence: 0.0 };
        assert_eq!(rate_interval(&alone), Estimate { estimate: "78.0k".into(), interval: "–".into() });
        assert_eq!(duration_interval(&alone).interval, "–");
    }

    #[test]
    fn intervals_show_their_width() {
        check_interval("rate_interval", rate_interval);
        check_interval("energy_interval", energy_interval);
        check_interval("duration_interval", duration_interval);
        check_interval("percent_interval", percent_interval);
        check_interval("added_duration", added_duration);
    }
}
