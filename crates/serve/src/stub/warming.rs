//! A server that gets faster while it works, as one whose compiler goes on does. Pure.

use std::str::FromStr;

use assay_model::units::Nanos;

/// How slow a server is at first, and how soon it gets over that.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Warming {
    /// How many times as long the first request is served as the last.
    pub times: f64,
    /// Time of service after which a third of that is left (1/e).
    pub time_constant: Nanos,
}

/// `2x/10s`: half as fast at first, with a time constant of ten seconds of work.
impl FromStr for Warming {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (times, time_constant) = text.split_once("x/").ok_or("write for example 2x/10s")?;
        let times: f64 =
            times.parse().map_err(|_| format!("`{times}` is no number: write for example 2x/10s"))?;
        let time_constant: Nanos = time_constant.parse()?;
        match times.is_finite() && times >= 1.0 && time_constant > Nanos::ZERO {
            true => Ok(Self { times, time_constant }),
            false => {
                Err(format!("`{text}`: a server is at least 1 times as slow at first, for longer than 0"))
            }
        }
    }
}

/// What one thread has worked.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Warmth {
    worked: Nanos,
}

impl Warmth {
    /// How long a request is served that takes `service` when the server is warm.
    pub(super) fn serve(&mut self, warming: Option<Warming>, service: Nanos) -> Nanos {
        let Some(Warming { times, time_constant }) = warming else { return service };
        let cold = (-(self.worked.0 as f64) / time_constant.0 as f64).exp();
        // The rate, not the time, comes near its end exponentially.
        let rate = 1.0 - (1.0 - 1.0 / times) * cold;
        let takes = Nanos((service.0 as f64 / rate) as u64);
        self.worked += takes;
        takes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_gets_faster_with_the_time_that_it_has_worked() {
        let warming = Some("2x/10s".parse().unwrap());
        let mut warmth = Warmth::default();
        let service = Nanos::from_millis(100);
        assert_eq!(warmth.serve(warming, service), Nanos::from_millis(200));
        while warmth.worked < Nanos::from_millis(10_000) {
            warmth.serve(warming, service);
        }
        // 1 − 0.5 / e of its rate.
        let now = warmth.serve(warming, service).as_secs_f64();
        assert!((now - 0.1 / 0.816).abs() < 0.001, "{now}");
        assert_eq!(warmth.serve(None, service), service);
    }

    #[test]
    fn what_is_no_warming_is_refused() {
        for bad in ["2x", "2/10s", "0.5x/10s", "2x/0s", "nanx/1s", "infx/1s", "2x/x"] {
            assert!(bad.parse::<Warming>().is_err(), "{bad}");
        }
    }
}
