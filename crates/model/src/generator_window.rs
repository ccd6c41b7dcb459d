//! Windows of load that generators made one after the other on one server: whether its figures are the generator's.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::experiment::Cell;
use crate::generator::{GeneratorName, Told};
use crate::units::Nanos;

/// One window of load by one generator, as it says and as others saw it. Ours is measured here as all others are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GeneratorWindow {
    /// The cell.
    #[serde(flatten)]
    pub cell: Cell,
    /// The generator that loaded the server.
    pub generator: GeneratorName,
    /// When it began, after the start of the whole run.
    pub offset_ns: Nanos,
    /// What the generator says; absent where it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<Told>,
    /// Requests that the server counted over the generator's whole life; absent where it does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_counted: Option<u64>,
    /// CPU time of the generator's processes over its whole life, from the first instruction to the last answer; absent where it is not
    /// known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ns: Option<Nanos>,
    /// Share of the CPUs' time that a hypervisor took away, 0 to 1.
    pub steal_share: f64,
    /// Share of the server CPUs' time that other programs used, 0 to 1.
    pub other_share: f64,
    /// Why it failed, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// Who counted the answers that are a throughput.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CountedBy {
    /// The server's own.
    Server,
    /// The generator's, as nobody else counted.
    Generator,
}

impl GeneratorWindow {
    /// Right answers, and whose count that is: the server's without those that the generator calls failed, where the server
    /// counts; `None` where the generator said nothing.
    pub fn right(&self) -> Option<(u64, CountedBy)> {
        let told = self.told.as_ref()?;
        Some(match self.server_counted {
            Some(counted) => (counted.saturating_sub(told.failed), CountedBy::Server),
            None => (told.right, CountedBy::Generator),
        })
    }

    /// Right answers per second; `None` where there were none.
    pub fn per_second(&self) -> Option<f64> {
        let (right, _) = self.right()?;
        Some(self.told.as_ref()?.window_ns.rate_of(right)).filter(|rate| *rate > 0.0)
    }

    /// Right answers per second of the generator's CPU time; `None` where either is not known.
    pub fn per_cpu_second(&self) -> Option<f64> {
        Some(self.cpu_ns?.rate_of(self.right()?.0)).filter(|rate| *rate > 0.0)
    }

    /// By how much the generator's count of answers leaves the server's, beyond what may have been in flight at its end, as a
    /// share of the server's; 0 where they agree, `None` where the server counted nothing.
    pub fn miscount(&self) -> Option<f64> {
        let (told, counted) = (self.told.as_ref()?, self.server_counted.filter(|counted| *counted > 0)?);
        let answered = told.right.saturating_add(told.failed);
        // Requests in flight at the end reached the server and were never counted as answers.
        let unanswered = u64::from(self.cell.in_flight());
        let apart = match answered > counted {
            true => answered - counted,
            false => (counted - answered).saturating_sub(unanswered),
        };
        Some(apart as f64 / counted as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(right: u64, failed: u64, counted: Option<u64>) -> GeneratorWindow {
        GeneratorWindow {
            cell: Cell::closed("hello", 16),
            generator: GeneratorName::Wrk,
            offset_ns: Nanos::ZERO,
            told: Some(Told { right, failed, window_ns: Nanos::from_millis(500), ..Told::default() }),
            server_counted: counted,
            cpu_ns: Some(Nanos::from_millis(250)),
            steal_share: 0.0,
            other_share: 0.0,
            failure: None,
        }
    }

    #[test]
    fn the_servers_count_goes_before_the_generators() {
        assert_eq!(window(1000, 0, Some(1010)).per_second(), Some(2020.0));
        assert_eq!(window(1000, 10, Some(1010)).right(), Some((1000, CountedBy::Server)));
        assert_eq!(window(1000, 0, None).right(), Some((1000, CountedBy::Generator)));
        assert_eq!(window(1000, 0, None).per_cpu_second(), Some(4000.0));
        assert_eq!(GeneratorWindow { told: None, ..window(0, 0, Some(7)) }.per_second(), None);
    }

    #[test]
    fn a_count_may_miss_what_was_in_flight_and_nothing_else() {
        assert_eq!(window(1000, 0, Some(1016)).miscount(), Some(0.0));
        assert_eq!(window(900, 100, Some(1000)).miscount(), Some(0.0));
        assert_eq!(window(1500, 0, Some(1000)).miscount(), Some(0.5), "more answers than requests");
        assert_eq!(window(484, 0, Some(1000)).miscount(), Some(0.5));
        assert_eq!((window(1, 0, None).miscount(), window(1, 0, Some(0)).miscount()), (None, None));
    }

    #[test]
    fn a_window_is_read_as_it_was_written() {
        let window = window(1, 2, Some(3));
        let text = serde_json::to_string(&window).expect("json");
        assert_eq!(serde_json::from_str::<GeneratorWindow>(&text).expect("a window"), window);
    }
}
