//! What a person asks for: `loopback`, `veth`, `veth:1gbit`.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Slowest and fastest link that can be asked for, in bits per second. Below, one packet takes more than a tenth of a
/// second; above, no single machine moves that much between two processes.
const BITS_PER_SECOND: std::ops::RangeInclusive<u64> = 100_000..=400_000_000_000;
/// Units as tc(8) has them: powers of ten, of bits.
const UNITS: [(&str, u64); 3] = [("gbit", 1_000_000_000), ("mbit", 1_000_000), ("kbit", 1_000)];

/// How client and server are to be joined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spec {
    /// By the loopback device of the machine, or whatever leads to a server that is running already.
    #[default]
    Loopback,
    /// By a pair of virtual Ethernet devices (veth(4)) between two network namespaces.
    Veth {
        /// What it carries in each direction, in bits per second; as much as the CPUs can when absent.
        bits_per_second: Option<u64>,
    },
}

/// Text that names no link.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{0}` is no link; write loopback, veth, or veth:RATE with a rate from 100kbit to 400gbit, such as veth:1gbit"
)]
pub struct SpecError(String);

impl FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let unknown = || SpecError(text.to_owned());
        match text.split_once(':') {
            None if text == "loopback" => Ok(Self::Loopback),
            None if text == "veth" => Ok(Self::Veth { bits_per_second: None }),
            Some(("veth", rate)) => {
                Ok(Self::Veth { bits_per_second: Some(bits_per_second(rate).ok_or_else(unknown)?) })
            }
            _ => Err(unknown()),
        }
    }
}

fn bits_per_second(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let (number, unit) = UNITS.iter().find_map(|(name, unit)| Some((lower.strip_suffix(name)?, *unit)))?;
    let bits = number.parse::<f64>().ok()? * unit as f64;
    let bits = bits.is_finite().then_some(bits.round() as u64)?;
    BITS_PER_SECOND.contains(&bits).then_some(bits)
}

impl fmt::Display for Spec {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Loopback => out.write_str("loopback"),
            Self::Veth { bits_per_second: None } => out.write_str("veth"),
            Self::Veth { bits_per_second: Some(bits) } => {
                let fits = |(_, unit): &&(&str, u64)| bits >= *unit;
                let (name, unit) = UNITS.iter().find(fits).copied().unwrap_or(UNITS[2]);
                write!(out, "veth:{}{name}", bits as f64 / unit as f64)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_asked_for_is_read_and_written() {
        for (text, wanted) in [
            ("loopback", Spec::Loopback),
            ("veth", Spec::Veth { bits_per_second: None }),
            ("veth:1gbit", Spec::Veth { bits_per_second: Some(1_000_000_000) }),
            ("veth:2.5gbit", Spec::Veth { bits_per_second: Some(2_500_000_000) }),
            ("veth:200mbit", Spec::Veth { bits_per_second: Some(200_000_000) }),
            ("veth:100kbit", Spec::Veth { bits_per_second: Some(100_000) }),
        ] {
            assert_eq!(text.parse(), Ok(wanted));
            assert_eq!(wanted.to_string(), text);
        }
        assert_eq!("veth:1Gbit".parse(), Ok(Spec::Veth { bits_per_second: Some(1_000_000_000) }));
        assert_eq!("veth:1000mbit".parse::<Spec>().map(|spec| spec.to_string()), Ok("veth:1gbit".to_owned()));
    }

    #[test]
    fn everything_else_is_refused() {
        for text in [
            "",
            "lo",
            "veth:",
            "veth:1",
            "veth:gbit",
            "veth:-1gbit",
            "veth:0mbit",
            "veth:NaNgbit",
            "veth:infgbit",
            "veth:1tbit",
            "veth:99kbit",
            "veth:401gbit",
            "loopback:1gbit",
            "veth: 1gbit ",
        ] {
            assert!(text.parse::<Spec>().is_err(), "{text}");
        }
    }
}
