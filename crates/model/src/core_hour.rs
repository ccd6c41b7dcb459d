//! The price of a CPU for an hour, and what it makes of an answer.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::interval::Interval;

/// Longest name of a currency, in characters.
const LONGEST_CURRENCY: usize = 8;
const NS_PER_HOUR: f64 = 3.6e12;
const MILLION: f64 = 1e6;

/// What somebody pays for one CPU for an hour: `0.04 EUR`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct CoreHour {
    amount: f64,
    /// Currency as the user writes it; empty where they named none.
    currency: String,
}

/// An amount of money, with its interval where it is known how far restarts scatter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Money {
    /// How much.
    pub amount: Interval,
    /// Of what, as the price of an hour was written; empty where it was a bare number.
    pub currency: String,
}

impl CoreHour {
    /// What a million answers cost of which each takes so much CPU time, in nanoseconds.
    pub fn of_a_million(&self, cpu_ns: &Interval) -> Money {
        let price = |ns: f64| ns * MILLION / NS_PER_HOUR * self.amount;
        let Interval { estimate, low, high, confidence } = *cpu_ns;
        let amount = Interval { estimate: price(estimate), low: price(low), high: price(high), confidence };
        Money { amount, currency: self.currency.clone() }
    }
}

/// No price.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no price of a CPU for an hour; write a number above zero with or without its currency, such as 0.04 EUR or $0.04"
)]
pub struct CoreHourError(String);

impl FromStr for CoreHour {
    type Err = CoreHourError;

    fn from_str(text: &str) -> Result<Self, CoreHourError> {
        let wrong = || CoreHourError(text.to_owned());
        let is_number = |letter: char| letter.is_ascii_digit() || letter == '.';
        let trimmed = text.trim();
        let begin = trimmed.find(is_number).ok_or_else(wrong)?;
        let length = trimmed[begin..].find(|letter| !is_number(letter)).unwrap_or(trimmed.len() - begin);
        let amount: f64 = trimmed[begin..begin + length].parse().map_err(|_| wrong())?;
        let around = [trimmed[..begin].trim(), trimmed[begin + length..].trim()];
        let [before, after] = around;
        // `-` and `,` are no currencies: a price below zero, or digits in groups.
        let is_name = |name: &str| {
            name.chars().count() <= LONGEST_CURRENCY
                && name.chars().all(|letter| letter.is_alphabetic() || "$€£¥₹₽₩₺₿¢".contains(letter))
        };
        let is_one = before.is_empty() || after.is_empty();
        let is_price = amount.is_finite() && amount > 0.0 && is_one && around.into_iter().all(is_name);
        is_price.then(|| Self { amount, currency: around.concat() }).ok_or_else(wrong)
    }
}

impl TryFrom<String> for CoreHour {
    type Error = CoreHourError;

    fn try_from(text: String) -> Result<Self, CoreHourError> {
        text.parse()
    }
}

impl From<CoreHour> for String {
    fn from(price: CoreHour) -> Self {
        price.to_string()
    }
}

impl fmt::Display for CoreHour {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { amount, currency } = self;
        if currency.is_empty() { write!(out, "{amount}") } else { write!(out, "{amount} {currency}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_read_with_its_currency_on_either_side_and_written_so_that_it_is_read_again() {
        for (text, told) in
            [("0.04", "0.04"), ("0.04 EUR", "0.04 EUR"), ("$0.05", "0.05 $"), ("€ 1", "1 €"), ("3ct", "3 ct")]
        {
            let price: CoreHour = text.parse().expect(text);
            assert_eq!(price.to_string(), told);
            assert_eq!(told.parse(), Ok(price));
        }
    }

    #[test]
    fn what_is_no_price_is_refused() {
        let wrong = [
            "",
            "EUR",
            "0",
            "-1",
            "1,5",
            "1.2.3",
            "$1 EUR",
            "1 EUR/h",
            "1e3",
            "NaN",
            "1 <script>",
            "1 Zimbabwean",
        ];
        for wrong in wrong {
            assert!(wrong.parse::<CoreHour>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_million_answers_of_36_microseconds_take_a_hundredth_of_an_hour() {
        let price: CoreHour = "0.5 EUR".parse().expect("a price");
        let cpu_ns = Interval { estimate: 36_000.0, low: 18_000.0, high: 72_000.0, confidence: 0.95 };
        let Money { amount, currency } = price.of_a_million(&cpu_ns);
        let told = [amount.low, amount.estimate, amount.high].map(|of| (of * 1e6).round());
        assert_eq!((told, currency.as_str(), amount.confidence), ([2_500.0, 5_000.0, 10_000.0], "EUR", 0.95));
    }
}
