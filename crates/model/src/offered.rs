//! How much load is offered: as much as is answered, a rate, or a rate to be searched for.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::slo::Slo;

/// Behind a number of requests.
const REQUESTS: &str = " requests";

/// Most requests per second of a load: one each 10 ns, about as long as a thread takes to draw when the next one is due.
pub const MAX_PER_SECOND: u32 = 100_000_000;

/// The load offered in a cell, as people write it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub enum Offered {
    /// `max`: a closed loop, in which the next request follows the last response. What it yields is the capacity.
    #[default]
    Capacity,
    /// `50%`: so many thousandths of the contender's own capacity in the same cell.
    Share(u16),
    /// `common`: one rate for all, which the slowest can serve.
    Common,
    /// `5000/s`: requests per second.
    Rate(u32),
    /// `13000 requests`: a closed loop that ends with so many, each of them accounted for.
    Requests(u32),
    /// `redline:p99<10ms`: the highest rate that keeps an objective, searched for.
    Redline(Slo),
}

impl Offered {
    /// Whether this is the closed loop.
    pub fn is_capacity(&self) -> bool {
        *self == Self::Capacity
    }

    /// Whether the next request follows the last response.
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Capacity | Self::Requests(_))
    }

    /// Whether it is a rate, known or to be told by a capacity.
    pub fn is_rate(&self) -> bool {
        matches!(self, Self::Share(_) | Self::Common | Self::Rate(_))
    }

    /// Whether the highest rate is searched at which an objective is kept.
    pub fn is_search(&self) -> bool {
        matches!(self, Self::Redline(_))
    }

    /// Why nobody can offer it, and what to write instead. It is no part of reading one: a record may hold it that was made before.
    pub fn fault(&self) -> Option<String> {
        let is_too_much = matches!(self, Self::Rate(per_second) if *per_second > MAX_PER_SECOND);
        is_too_much
            .then(|| format!("no generator can offer {self}; write at most {}M", MAX_PER_SECOND / 1_000_000))
    }

    /// Whether the rate follows from what a closed loop in the same cell yields.
    pub fn needs_capacity(&self) -> bool {
        matches!(self, Self::Share(_) | Self::Common | Self::Redline(_))
    }
}

impl fmt::Display for Offered {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capacity => out.write_str("max"),
            Self::Share(thousandths) => write!(out, "{}%", f64::from(*thousandths) / 10.0),
            Self::Common => out.write_str("common"),
            Self::Rate(per_second) => write!(out, "{per_second}/s"),
            Self::Requests(n) => write!(out, "{n}{REQUESTS}"),
            Self::Redline(slo) => write!(out, "redline:{slo}"),
        }
    }
}

impl FromStr for Offered {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(slo) = text.strip_prefix("redline:") {
            return slo.parse().map(Self::Redline);
        }
        if let Some(percent) = text.strip_suffix('%') {
            return share(percent).ok_or_else(|| {
                format!("`{text}` is no share of a capacity; write 0.1% to 100%, in steps of 0.1%")
            });
        }
        if let Some(number) = text.strip_suffix(REQUESTS) {
            let usable = number.parse().ok().filter(|n| *n > 0);
            return usable.map(Self::Requests).ok_or_else(|| {
                format!("`{text}` is no number of requests; write for example 13000 requests")
            });
        }
        match text {
            "max" => Ok(Self::Capacity),
            "common" => Ok(Self::Common),
            _ => rate(text.strip_suffix("/s").unwrap_or(text)).ok_or_else(|| {
                format!("`{text}` is no load; write max, 5000, 5k/s, 50%, common, 13000 requests or redline:p99<10ms")
            }),
        }
    }
}

fn share(percent: &str) -> Option<Offered> {
    let thousandths = percent.trim().parse::<f64>().ok()? * 10.0;
    let whole = (thousandths - thousandths.round()).abs() < 1e-6;
    (whole && (1.0..=1000.0).contains(&thousandths)).then(|| Offered::Share(thousandths.round() as u16))
}

fn rate(text: &str) -> Option<Offered> {
    let (number, factor) = match text.strip_suffix(['k', 'K']) {
        Some(number) => (number, 1e3),
        None => text.strip_suffix('M').map_or((text, 1.0), |number| (number, 1e6)),
    };
    let per_second = number.parse::<f64>().ok()? * factor;
    let usable = per_second.fract() == 0.0 && (1.0..=f64::from(u32::MAX)).contains(&per_second);
    usable.then_some(Offered::Rate(per_second as u32))
}

impl TryFrom<String> for Offered {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Offered> for String {
    fn from(offered: Offered) -> Self {
        offered.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_read_as_people_write_them_and_written_so_again() {
        for (text, offered, written) in [
            ("max", Offered::Capacity, "max"),
            ("50%", Offered::Share(500), "50%"),
            ("12.5%", Offered::Share(125), "12.5%"),
            ("common", Offered::Common, "common"),
            ("5k/s", Offered::Rate(5000), "5000/s"),
            ("13000 requests", Offered::Requests(13_000), "13000 requests"),
            ("1.5M", Offered::Rate(1_500_000), "1500000/s"),
        ] {
            assert_eq!(text.parse(), Ok(offered));
            assert_eq!(offered.to_string(), written);
            assert_eq!(written.parse(), Ok(offered));
        }
        assert_eq!(Offered::Rate(MAX_PER_SECOND).fault(), None);
        let told = Offered::Rate(4_000_000_000).fault().unwrap_or_default();
        assert_eq!(told, "no generator can offer 4000000000/s; write at most 100M");
        let redline: Offered = "redline:p99<10ms".parse().unwrap();
        assert_eq!(redline.to_string().parse(), Ok(redline));
        for bad in [
            "",
            "0",
            "0 requests",
            "1.5 requests",
            "-5",
            "1.5",
            "0%",
            "101%",
            "0.05%",
            "fast",
            "5G",
            "redline:",
            "redline:p98<1s",
        ] {
            assert!(bad.parse::<Offered>().is_err(), "{bad}");
        }
    }
}
