//! The seconds of all generators as those of one, and how far the load is, as far as they tell.

use assay_fleet::line;
use assay_load::{Progress, Second, Seconds};
use assay_stats::{Histogram, StatsError};

/// What was told so far.
pub(super) struct Told {
    seconds: Seconds,
    /// Seconds that each has told of.
    counts: Vec<usize>,
    progress: Progress,
}

impl Told {
    pub(super) fn new(generators: u32) -> Self {
        let generators = generators as usize;
        Self { seconds: Seconds::new(generators), counts: vec![0; generators], progress: Progress::default() }
    }

    /// Takes a second of one of them.
    ///
    /// # Errors
    /// Why it cannot be understood.
    pub(super) fn hear(&mut self, generator: usize, second: line::Second) -> Result<(), String> {
        let second = decoded(second).map_err(|error| error.to_string())?;
        self.seconds.add(self.counts[generator], second);
        self.counts[generator] += 1;
        Ok(())
    }

    /// The next second of which all have told or, at the end, any.
    pub(super) fn next(&mut self, is_end: bool) -> Option<Second> {
        let second = self.seconds.next(is_end)?;
        let line = &second.line;
        self.progress = Progress {
            phase: line.phase,
            elapsed: line.offset_ns + line.length_ns,
            issued: self.progress.issued + line.issued,
            ok: self.progress.ok + line.ok,
            failed: self.progress.failed + line.errors.values().sum::<u64>(),
            in_flight: line.in_flight,
            connections: line.connections,
            ..self.progress
        };
        Some(second)
    }

    /// How far the load was at the end of the last second.
    pub(super) fn progress(&self) -> Progress {
        self.progress
    }
}

/// A second as a generator tells of it.
pub(super) fn encoded(second: &Second) -> Result<line::Second, StatsError> {
    Ok(line::Second {
        line: second.line.clone(),
        service_hdr: second.service.to_hdr_base64()?,
        response_hdr: second.response.as_ref().map(Histogram::to_hdr_base64).transpose()?,
    })
}

fn decoded(second: line::Second) -> Result<Second, StatsError> {
    Ok(Second {
        line: second.line,
        service: Histogram::from_hdr_base64(&second.service_hdr)?,
        response: second.response_hdr.as_deref().map(Histogram::from_hdr_base64).transpose()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::load::LoadSecond;
    use assay_model::units::Nanos;

    fn second(ns: u64, ok: u64) -> line::Second {
        let mut service = Histogram::new();
        service.record_n(ns, ok);
        let line =
            LoadSecond { ok, issued: ok, length_ns: Nanos::from_millis(1000), ..LoadSecond::default() };
        encoded(&Second { line, service, response: None }).expect("encoded")
    }

    #[test]
    fn a_second_is_told_when_all_have_told_of_it_with_percentiles_of_the_sum() {
        let mut told = Told::new(2);
        told.hear(0, second(100, 99)).expect("read");
        told.hear(0, second(100, 5)).expect("read");
        assert!(told.next(false).is_none());
        told.hear(1, second(10_000, 1)).expect("read");
        let both = told.next(false).expect("a second");
        assert_eq!((both.line.ok, both.line.p50_ns, both.service.count()), (100, Some(Nanos(100)), 100));
        assert!(both.line.max_ns.is_some_and(|max| max.0 >= 10_000), "{both:?}");
        assert!(told.next(false).is_none());
        assert_eq!((told.next(true).map(|second| second.line.ok), told.progress().ok), (Some(5), 105));
        let broken = line::Second { service_hdr: "HISTFAAA".to_owned(), ..line::Second::default() };
        assert!(told.hear(1, broken).is_err());
    }
}
