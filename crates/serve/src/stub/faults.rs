//! Answers that are spoilt on purpose, by rate.

use std::str::FromStr;

use rand::Rng;

use super::service::unit;

/// The share of requests that meets each fault, 0 to 1; together no more than 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Faults {
    /// One byte of the body is changed.
    pub wrong_byte: f64,
    /// The status is 500.
    pub status_500: f64,
    /// The connection is reset in the middle of the body.
    pub reset_in_body: f64,
    /// No answer ever comes.
    pub never: f64,
}

/// What happens to one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    WrongByte,
    Status500,
    ResetInBody,
    Never,
}

impl Faults {
    /// Draws the fate of one request. Without faults it takes no random number.
    pub(super) fn draw(&self, rng: &mut impl Rng) -> Fault {
        if *self == Self::default() {
            return Fault::None;
        }
        let mut left = unit(rng);
        let rates = [
            (self.wrong_byte, Fault::WrongByte),
            (self.status_500, Fault::Status500),
            (self.reset_in_body, Fault::ResetInBody),
            (self.never, Fault::Never),
        ];
        for (rate, fault) in rates {
            if left < rate {
                return fault;
            }
            left -= rate;
        }
        Fault::None
    }
}

/// A payload with one byte that is another, or one too many where there is none. A text stays one: the lowest bit makes no
/// continuation of what is none.
pub(super) fn changed(payload: &[u8]) -> Vec<u8> {
    let mut payload = payload.to_vec();
    match payload.last_mut() {
        Some(last) => *last ^= 1,
        None => payload.push(b'!'),
    }
    payload
}

/// `wrong-byte=0.001,never=0.01`: rates by name, of `wrong-byte`, `status-500`, `reset-in-body` and `never`.
impl FromStr for Faults {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut faults = Self::default();
        for part in text.split(',') {
            let (name, rate) = part.split_once('=').ok_or_else(|| format!("`{part}`: write fault=rate"))?;
            let rate: f64 = rate.parse().map_err(|_| format!("`{rate}` is no rate; write 0 to 1"))?;
            let place = match name {
                "wrong-byte" => &mut faults.wrong_byte,
                "status-500" => &mut faults.status_500,
                "reset-in-body" => &mut faults.reset_in_body,
                "never" => &mut faults.never,
                _ => {
                    return Err(format!("no fault `{name}`; wrong-byte, status-500, reset-in-body, never"));
                }
            };
            *place = rate;
        }
        let rates = [faults.wrong_byte, faults.status_500, faults.reset_in_body, faults.never];
        let valid = rates.iter().all(|rate| *rate >= 0.0) && rates.iter().sum::<f64>() <= 1.0;
        if valid { Ok(faults) } else { Err(format!("`{text}`: rates are 0 to 1, and so is their sum")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha8Rng;
    use rand::SeedableRng;

    #[test]
    fn faults_come_at_their_rates() {
        let faults: Faults = "wrong-byte=0.1,status-500=0.2,reset-in-body=0.3,never=0.05".parse().unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut counts = [0u32; 5];
        let n = 100_000;
        (0..n).for_each(|_| counts[faults.draw(&mut rng) as usize] += 1);
        for (count, p) in counts.into_iter().zip([0.35, 0.1, 0.2, 0.3, 0.05]) {
            let sigma = (f64::from(n) * p * (1.0 - p)).sqrt();
            assert!((f64::from(count) - f64::from(n) * p).abs() < 4.0 * sigma, "{counts:?}");
        }
    }

    #[test]
    fn impossible_rates_are_refused() {
        for bad in ["", "never", "never=x", "never=-1", "never=0.6,wrong-byte=0.6", "gone=0.1", "never=NaN"] {
            assert!(bad.parse::<Faults>().is_err(), "{bad}");
        }
    }
}
