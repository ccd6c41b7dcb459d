//! What a person asks for: `loopback`, `veth`, `veth:1gbit`, `veth:1gbit,loss=0.1%`.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::rate::Rate;

/// Slowest and fastest link that can be asked for, in bits per second. Below, one packet takes more than a tenth of a
/// second; above, no single machine moves that much between two processes.
const BITS_PER_SECOND: std::ops::RangeInclusive<u64> = 100_000..=400_000_000_000;
/// Greatest loss that can be asked for, in parts per million: with more, TCP does little but wait.
const MAX_LOSS_PER_MILLION: u32 = 500_000;
/// Units as tc(8) has them: powers of ten, of bits.
const UNITS: [(&str, u64); 3] = [("gbit", 1_000_000_000), ("mbit", 1_000_000), ("kbit", 1_000)];

/// How client and server are to be joined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spec {
    /// By the loopback device of the machine, or whatever leads to a server that is running already.
    #[default]
    Loopback,
    /// By virtual Ethernet devices (veth(4)) between two network namespaces.
    Veth(Cable),
}

/// What a cable of virtual Ethernet devices does to frames, the same in both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cable {
    /// What it carries, in bits per second; as much as the CPUs can when absent.
    pub bits_per_second: Option<u64>,
    /// The share of frames that it loses, at random.
    pub loss: Rate,
}

/// Text that names no link.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SpecError {
    /// Not one of the kinds.
    #[error("`{0}` is no link; write loopback, veth, veth:RATE, veth:loss=SHARE or veth:RATE,loss=SHARE")]
    Kind(String),
    /// Loopback as something else than it is.
    #[error(
        "`{0}`: loopback has no rate and loses nothing; write veth:1gbit or veth:loss=0.1% for a link that does"
    )]
    Loopback(String),
    /// Not an option of a cable, or a second time.
    #[error(
        "`{0}` is neither a rate from 100kbit to 400gbit (such as veth:1gbit) nor a loss from 0.0001% to 50% (such as \
         veth:loss=0.1%), or there are two of a kind"
    )]
    Option(String),
}

impl Spec {
    /// Several, divided by commas, as `loopback,veth:1gbit,loss=1%`: what has a `=` belongs to the link before it.
    ///
    /// # Errors
    /// One of them is none.
    pub fn list(text: &str) -> Result<Vec<Self>, SpecError> {
        let mut links: Vec<String> = Vec::new();
        for part in text.split(',') {
            match links.last_mut().filter(|_| part.contains('=') && !part.contains(':')) {
                Some(link) => *link = format!("{link},{part}"),
                None => links.push(part.to_owned()),
            }
        }
        links.iter().map(|link| link.parse()).collect()
    }
}

impl FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let (kind, options) = text.split_once(':').map_or((text, None), |(kind, rest)| (kind, Some(rest)));
        match (kind, options) {
            ("loopback", None) => Ok(Self::Loopback),
            ("loopback", Some(_)) => Err(SpecError::Loopback(text.to_owned())),
            ("veth", options) => Ok(Self::Veth(Cable::of(options)?)),
            _ => Err(SpecError::Kind(text.to_owned())),
        }
    }
}

impl Cable {
    /// Whether it takes frames as they come: no rate to hold, no loss.
    pub fn is_plain(self) -> bool {
        self == Self::default()
    }

    /// From the options behind a colon, if there are any.
    pub(super) fn of(options: Option<&str>) -> Result<Self, SpecError> {
        let mut cable = Self::default();
        for option in options.into_iter().flat_map(|options| options.split(',')) {
            cable.set(option).ok_or_else(|| SpecError::Option(option.to_owned()))?;
        }
        Ok(cable)
    }

    fn set(&mut self, option: &str) -> Option<()> {
        if let Some(share) = option.strip_prefix("loss=") {
            let loss = share.parse::<Rate>().ok()?;
            let is_new = self.loss == Rate::ZERO;
            self.loss = loss;
            return (is_new && (1..=MAX_LOSS_PER_MILLION).contains(&loss.per_million())).then_some(());
        }
        let rate = bits_per_second(option)?;
        self.bits_per_second.replace(rate).is_none().then_some(())
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
        match self {
            Self::Loopback => out.write_str("loopback"),
            Self::Veth(cable) => write!(out, "veth{cable}"),
        }
    }
}

/// The options as they stand behind a kind: nothing, `:1gbit`, `:loss=0.1%`, `:1gbit,loss=0.1%`.
impl fmt::Display for Cable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = self.bits_per_second.map(|bits| {
            let (name, unit) =
                UNITS.iter().find(|(_, unit)| bits >= *unit).copied().unwrap_or(UNITS[UNITS.len() - 1]);
            format!("{}{name}", bits as f64 / unit as f64)
        });
        let loss = (self.loss > Rate::ZERO).then(|| format!("loss={}", self.loss));
        let options: Vec<String> = rate.into_iter().chain(loss).collect();
        if options.is_empty() { Ok(()) } else { write!(out, ":{}", options.join(",")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn veth(bits_per_second: Option<u64>, loss: &str) -> Spec {
        Spec::Veth(Cable { bits_per_second, loss: loss.parse().expect("loss") })
    }

    #[test]
    fn what_can_be_asked_for_is_read_and_written() {
        for (text, wanted) in [
            ("loopback", Spec::Loopback),
            ("veth", veth(None, "0%")),
            ("veth:1gbit", veth(Some(1_000_000_000), "0%")),
            ("veth:2.5gbit", veth(Some(2_500_000_000), "0%")),
            ("veth:200mbit", veth(Some(200_000_000), "0%")),
            ("veth:100kbit", veth(Some(100_000), "0%")),
            ("veth:loss=0.1%", veth(None, "0.1%")),
            ("veth:1gbit,loss=1%", veth(Some(1_000_000_000), "1%")),
        ] {
            assert_eq!(text.parse(), Ok(wanted));
            assert_eq!(wanted.to_string(), text);
        }
        assert_eq!("veth:1Gbit".parse(), Ok(veth(Some(1_000_000_000), "0%")));
        for (text, usual) in
            [("veth:1000mbit", "veth:1gbit"), ("veth:loss=1%,200mbit", "veth:200mbit,loss=1%")]
        {
            assert_eq!(text.parse::<Spec>().map(|spec| spec.to_string()), Ok(usual.to_owned()));
        }
    }

    #[test]
    fn everything_else_is_refused_with_what_would_do() {
        for (text, hint) in [
            ("", "write loopback"),
            ("lo", "write loopback"),
            ("veth:", "such as veth:1gbit"),
            ("veth:1", "such as veth:1gbit"),
            ("veth:gbit", "100kbit"),
            ("veth:-1gbit", "100kbit"),
            ("veth:0mbit", "100kbit"),
            ("veth:NaNgbit", "100kbit"),
            ("veth:infgbit", "100kbit"),
            ("veth:1tbit", "400gbit"),
            ("veth:99kbit", "100kbit"),
            ("veth:401gbit", "400gbit"),
            ("veth: 1gbit ", "100kbit"),
            ("veth:loss=0%", "0.0001%"),
            ("veth:loss=51%", "50%"),
            ("veth:loss=1", "loss=0.1%"),
            ("veth:loss", "loss=0.1%"),
            ("veth:1gbit,2gbit", "two of a kind"),
            ("veth:loss=1%,loss=1%", "two of a kind"),
            ("veth:delay=1ms", "neither a rate"),
            ("loopback:1gbit", "loopback has no rate"),
            ("loopback:loss=1%", "loses nothing"),
        ] {
            let error = text.parse::<Spec>().expect_err(text).to_string();
            assert!(error.contains(hint), "{text}: {error}");
        }
    }

    #[test]
    fn in_a_list_an_option_belongs_to_the_link_before_it() {
        let list = |text: &str| {
            let specs =
                Spec::list(text).map(|specs| specs.iter().map(ToString::to_string).collect::<Vec<_>>());
            specs.map(|names| names.join(" "))
        };
        assert_eq!(list("loopback,veth").as_deref(), Ok("loopback veth"));
        assert_eq!(
            list("loopback,veth:1gbit,loss=1%,veth:loss=2%,veth").as_deref(),
            Ok("loopback veth:1gbit,loss=1% veth:loss=2% veth")
        );
        for wrong in ["", "veth,", "loss=1%", "loopback,loss=1%", "veth,loss=1%"] {
            assert!(Spec::list(wrong).is_err(), "{wrong}");
        }
    }
}
