//! When a response is due: from arrival, service time, queue and stall. Pure.

use std::str::FromStr;

use assay_model::units::Nanos;

/// Whether requests wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// Each is served at once: an infinite number of servers.
    Parallel,
    /// One server takes them one after the other, first come first served.
    Fifo,
}

/// A rest at the end of every period: what is due inside it leaves at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// How long nothing leaves.
    pub length: Nanos,
    /// From the end of one to the end of the next.
    pub every: Nanos,
}

/// `100ms/1s`: 100 ms in every second.
impl FromStr for Stall {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (length, every) = text.split_once('/').ok_or("write for example 100ms/1s")?;
        let (length, every) = (length.parse()?, every.parse()?);
        if length > Nanos::ZERO && length < every {
            Ok(Self { length, every })
        } else {
            Err(format!("`{text}`: a stall is longer than 0 and shorter than its period"))
        }
    }
}

/// The clockwork of one thread.
pub(super) struct Timing {
    discipline: Discipline,
    stall: Option<Stall>,
    /// When the periods of the stall began: with the first request.
    origin: Option<Nanos>,
    /// When the one server has served all that came before.
    free_at: Nanos,
}

impl Timing {
    pub(super) fn new(discipline: Discipline, stall: Option<Stall>) -> Self {
        Self { discipline, stall, origin: None, free_at: Nanos::ZERO }
    }

    /// When the response to a request that arrived at `arrival`, no earlier than those before it, is due.
    pub(super) fn due(&mut self, arrival: Nanos, service: Nanos) -> Nanos {
        let origin = *self.origin.get_or_insert(arrival);
        match self.discipline {
            Discipline::Parallel => self.after_stall(origin, arrival + service),
            Discipline::Fifo => {
                self.free_at = self.after_stall(origin, arrival.max(self.free_at) + service);
                self.free_at
            }
        }
    }

    fn after_stall(&self, origin: Nanos, due: Nanos) -> Nanos {
        let Some(Stall { length, every }) = self.stall else { return due };
        let to_the_end = Nanos(every.0 - (due - origin).0 % every.0);
        if to_the_end <= length { due + to_the_end } else { due }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(timing: &mut Timing, arrivals: &[u64], service: u64) -> Vec<u64> {
        arrivals.iter().map(|&at| timing.due(Nanos(at), Nanos(service)).0).collect()
    }

    #[test]
    fn in_parallel_each_request_has_its_own_time_and_in_a_queue_it_waits() {
        let mut parallel = Timing::new(Discipline::Parallel, None);
        assert_eq!(due(&mut parallel, &[100, 101, 150], 10), [110, 111, 160]);
        let mut fifo = Timing::new(Discipline::Fifo, None);
        assert_eq!(due(&mut fifo, &[100, 101, 150], 10), [110, 120, 160]);
    }

    #[test]
    fn what_is_due_in_a_stall_leaves_at_its_end() {
        let stall = Some("20ns/100ns".parse().unwrap());
        let mut timing = Timing::new(Discipline::Parallel, stall);
        assert_eq!(
            due(&mut timing, &[1000, 1069, 1070, 1089, 1090, 1185], 10),
            [1010, 1079, 1100, 1100, 1100, 1200]
        );
        let mut fifo = Timing::new(Discipline::Fifo, stall);
        assert_eq!(due(&mut fifo, &[1000, 1075, 1076], 10), [1010, 1100, 1110]);
    }

    #[test]
    fn impossible_stalls_are_refused() {
        for bad in ["100ms", "0/1s", "1s/1s", "2s/1s", "x/1s"] {
            assert!(bad.parse::<Stall>().is_err(), "{bad}");
        }
    }
}
