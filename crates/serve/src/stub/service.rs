//! How long a request is served.

use std::str::FromStr;

use assay_model::units::Nanos;
use rand::Rng;

/// The distribution of service times.
#[derive(Clone, Debug, PartialEq)]
pub enum Service {
    /// Always the same.
    Fixed(Nanos),
    /// A list of times in turn, over and over; none means no time.
    List(Vec<Nanos>),
    /// Exponential with this mean.
    Exponential(Nanos),
    /// Drawn by weight.
    Mixture(Vec<(f64, Nanos)>),
}

impl Service {
    /// The time of request number `number`.
    pub(super) fn draw(&self, number: u64, rng: &mut impl Rng) -> Nanos {
        match self {
            Self::Fixed(time) => *time,
            Self::List(times) => {
                let index = number.checked_rem(times.len() as u64).unwrap_or(0);
                times.get(index as usize).copied().unwrap_or_default()
            }
            Self::Exponential(mean) => Nanos((-unit(rng).ln() * mean.0 as f64) as u64),
            Self::Mixture(parts) => {
                let mut left = unit(rng) * parts.iter().map(|part| part.0).sum::<f64>();
                let chosen = parts.iter().find(|part| {
                    left -= part.0;
                    left <= 0.0
                });
                chosen.or(parts.last()).map(|part| part.1).unwrap_or_default()
            }
        }
    }
}

/// A number in (0, 1], from 53 random bits; never 0, so that its logarithm is finite.
pub(super) fn unit(rng: &mut impl Rng) -> f64 {
    ((rng.next_u64() >> 11) + 1) as f64 * f64::EPSILON / 2.0
}

/// `1ms`, `exp:1ms`, `list:1ms,2ms` or `mix:1ms*99,100ms*1`.
impl FromStr for Service {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None => Ok(Self::Fixed(text.parse()?)),
            Some(("exp", mean)) => Ok(Self::Exponential(mean.parse()?)),
            Some(("list", times)) => {
                times.split(',').map(str::parse).collect::<Result<_, _>>().map(Self::List)
            }
            Some(("mix", parts)) => {
                parts.split(',').map(weighted).collect::<Result<_, _>>().map(Self::Mixture)
            }
            Some((kind, _)) => Err(format!("no distribution `{kind}`; write 1ms, exp:, list: or mix:")),
        }
    }
}

fn weighted(part: &str) -> Result<(f64, Nanos), String> {
    let (time, weight) = part.split_once('*').ok_or_else(|| format!("`{part}`: write time*weight"))?;
    match weight.parse::<f64>() {
        Ok(weight) if weight > 0.0 && weight.is_finite() => Ok((weight, time.parse()?)),
        _ => Err(format!("`{weight}` is no weight; write a number above 0")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha8Rng;
    use rand::SeedableRng;

    fn draws(service: &str, n: u64) -> Vec<u64> {
        let service: Service = service.parse().unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        (0..n).map(|number| service.draw(number, &mut rng).0).collect()
    }

    #[test]
    fn distributions_are_what_they_say() {
        assert_eq!(draws("5us", 2), [5000, 5000]);
        assert_eq!(draws("list:1us,2us", 3), [1000, 2000, 1000]);
        let n = 100_000;
        let exponential = draws("exp:1ms", n);
        let mean = exponential.iter().sum::<u64>() as f64 / n as f64;
        assert!((mean / 1e6 - 1.0).abs() < 0.015, "{mean}");
        let beyond = exponential.iter().filter(|&&time| time > 2_000_000).count() as f64 / n as f64;
        assert!((beyond - (-2f64).exp()).abs() < 0.005, "{beyond}");
        let slow = draws("mix:1ms*99,100ms*1", n).iter().filter(|&&time| time == 100_000_000).count();
        assert!((880..1120).contains(&slow), "{slow}");
    }

    #[test]
    fn what_is_no_distribution_is_refused() {
        for bad in ["", "exp:", "list:1ms,x", "mix:1ms", "mix:1ms*0", "gauss:1ms"] {
            assert!(bad.parse::<Service>().is_err(), "{bad}");
        }
    }
}
