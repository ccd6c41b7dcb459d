//! What can be wrong with the numbers, and the checks that find it.

use thiserror::Error;

/// Why numbers cannot be analysed.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum StatsError {
    /// Fewer values than the method can work with.
    #[error("{what} needs at least {needed} values but got {got}; measure more rounds")]
    TooFew {
        /// The statistic that was asked for.
        what: &'static str,
        /// The fewest values it can work with.
        needed: usize,
        /// How many it was given.
        got: usize,
    },
    /// A value that has no logarithm: zero, negative, infinite or not a number.
    #[error("value {index} is {value}, but a ratio needs finite values above zero; leave failed rounds out")]
    NotPositive {
        /// Position in the series, from 0.
        index: usize,
        /// The value found there.
        value: f64,
    },
    /// A value that is infinite or not a number.
    #[error("value {index} is {value}, which is not a finite number")]
    NotFinite {
        /// Position in the series, from 0.
        index: usize,
        /// The value found there.
        value: f64,
    },
    /// Two series that should hold one value for each round of the same experiment.
    #[error(
        "paired series must be equally long, but have {first} and {second} rounds; keep only complete rounds"
    )]
    UnequalLengths {
        /// Length of the first series.
        first: usize,
        /// Length of the other one.
        second: usize,
    },
    /// A parameter outside its range.
    #[error("{name} must be {range}, not {value}")]
    OutOfRange {
        /// The parameter.
        name: &'static str,
        /// What it may be, in words.
        range: &'static str,
        /// What it was.
        value: f64,
    },
    /// Text that is no HdrHistogram, or none with our layout.
    #[error("cannot read the histogram: {reason}; expected base64 of an HdrHistogram V2 payload (\"HIST…\")")]
    BadHistogram {
        /// What was wrong with it.
        reason: String,
    },
    /// A histogram that cannot be encoded.
    #[error("cannot encode the histogram: {reason}")]
    CannotEncode {
        /// What the encoder said.
        reason: String,
    },
}

/// Checks that there are at least `needed` of `values`.
pub(crate) fn at_least(what: &'static str, needed: usize, got: usize) -> Result<(), StatsError> {
    if got < needed { Err(StatsError::TooFew { what, needed, got }) } else { Ok(()) }
}

/// Checks that every value is a finite number.
pub(crate) fn finite(values: &[f64]) -> Result<(), StatsError> {
    match values.iter().position(|v| !v.is_finite()) {
        Some(index) => Err(StatsError::NotFinite { index, value: values[index] }),
        None => Ok(()),
    }
}

/// Checks that two paired series are equally long.
pub(crate) fn same_length(first: usize, second: usize) -> Result<(), StatsError> {
    if first == second { Ok(()) } else { Err(StatsError::UnequalLengths { first, second }) }
}

/// Checks that `value` lies strictly between 0 and 1, as a probability that leaves both outcomes possible
/// must.
pub(crate) fn open_unit(name: &'static str, value: f64) -> Result<(), StatsError> {
    if value > 0.0 && value < 1.0 {
        Ok(())
    } else {
        Err(StatsError::OutOfRange { name, range: "between 0 and 1, both excluded", value })
    }
}

/// Checks that `value` is a finite number of at least 0.
pub(crate) fn not_negative(name: &'static str, value: f64) -> Result<(), StatsError> {
    if value.is_finite() && value >= 0.0 {
        Ok(())
    } else {
        Err(StatsError::OutOfRange { name, range: "a finite number of at least 0", value })
    }
}

/// Checks that `value` is a finite number above 0.
pub(crate) fn positive(name: &'static str, value: f64) -> Result<(), StatsError> {
    if value.is_finite() && value > 0.0 {
        Ok(())
    } else {
        Err(StatsError::OutOfRange { name, range: "a finite number above 0", value })
    }
}

/// The natural logarithm of every value, all of which must be finite and above zero.
pub(crate) fn logarithms(values: &[f64]) -> Result<Vec<f64>, StatsError> {
    let log = |(index, &value): (usize, &f64)| {
        let positive = value.is_finite() && value > 0.0;
        if positive { Ok(value.ln()) } else { Err(StatsError::NotPositive { index, value }) }
    };
    values.iter().enumerate().map(log).collect()
}
