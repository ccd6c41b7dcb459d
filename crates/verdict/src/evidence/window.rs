//! A record with the histograms of its windows decoded: once, and by one rule.

mod counting;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Deref;

use assay_model::experiment::Cell;
use assay_model::load::Latency;
use assay_model::record::{Measurement, Record, Round, Run};
use assay_model::units::{Nanos, total};
use assay_stats::censored::Quantile;
use assay_stats::gauge::Reading;
use assay_stats::lag::{Bounds, bounds};
use assay_stats::order::is_resolved_among;
use assay_stats::{Histogram, StatsError};

use crate::evidence::turns::{Counting, log_rates, readings, throughput, typical_rate};
use counting::count;

/// A histogram of a record cannot be read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "the histogram of {contender} in round {round} ({cell}) cannot be read: {source}; the record was changed or cut short \
     after it was written, so restore it or measure again"
)]
pub struct Unreadable {
    /// The contender's name.
    pub contender: String,
    /// Number of the round, from 1.
    pub round: u32,
    /// The cell.
    pub cell: Box<Cell>,
    /// What is wrong with it.
    pub source: StatsError,
}

/// How long the requests of a window took, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// From sending to the last byte, of those that were answered.
    pub service: Histogram,
    /// From the moment when they were due; absent in a closed loop.
    pub response: Option<Histogram>,
    /// Response times less what the generator was late with each; absent in records from before both were kept.
    pub response_from_sent: Option<Histogram>,
    /// Of those that were given up: each would have taken longer.
    pub censored: Histogram,
}

/// A window with its times; in everything else the measurement.
#[derive(Clone, Debug)]
pub struct Window<'r> {
    /// The measurement as it is in the record.
    pub measured: &'r Measurement,
    /// Histograms of the window.
    pub times: Times,
    /// Histograms of the window beside it that went straight to a proxy's upstream, where there was one.
    pub straight_times: Option<Times>,
    /// What counts of its turns; all that was ordered, where other windows were not asked.
    pub counting: Counting,
}

/// One life of a contender with its windows.
#[derive(Clone, Debug)]
pub struct ServerRun<'r> {
    /// The life as it is in the record.
    pub run: &'r Run,
    /// In the order in which they were measured.
    pub windows: Vec<Window<'r>>,
}

/// A record, decoded.
#[derive(Clone, Debug)]
pub struct DecodedRecord<'r> {
    /// The record as it is on disk.
    pub record: &'r Record,
    /// The lives of each round, in the order of the record's rounds and runs.
    pub rounds: Vec<Vec<ServerRun<'r>>>,
    /// The long life of each contender, where there was one.
    pub long_look: Vec<ServerRun<'r>>,
}

/// Servers that lived at once, no two of one contender: the replicas with one number in a round, or in one group of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Block {
    /// Place of the round in the record.
    pub round: usize,
    /// The number of the group in its round.
    pub group: u32,
    /// The number of the replicas.
    pub replica: u32,
}

impl Times {
    /// Decodes the histograms; one that is not there is empty.
    ///
    /// # Errors
    /// [`StatsError::BadHistogram`] when one of them cannot be read.
    pub fn of(latency: &Latency) -> Result<Self, StatsError> {
        let decoded = |text: &str| match text {
            "" => Ok(Histogram::new()),
            text => Histogram::from_hdr_base64(text),
        };
        Ok(Self {
            service: decoded(&latency.service_hdr)?,
            response: latency.response_hdr.as_deref().map(decoded).transpose()?,
            response_from_sent: latency.response_from_sent_hdr.as_deref().map(decoded).transpose()?,
            censored: decoded(latency.censored_hdr.as_deref().unwrap_or_default())?,
        })
    }

    /// The times of two windows together. Response times are kept where both have them.
    pub(crate) fn together<'t>(one: Cow<'t, Self>, other: Cow<'t, Self>) -> Cow<'t, Self> {
        let both = |own: Option<Histogram>, other: &Option<Histogram>| {
            own.zip(other.as_ref()).map(|(own, other)| joined(own, other))
        };
        let own = one.into_owned();
        Cow::Owned(Self {
            service: joined(own.service, &other.service),
            response: both(own.response, &other.response),
            response_from_sent: both(own.response_from_sent, &other.response_from_sent),
            censored: joined(own.censored, &other.censored),
        })
    }

    /// A quantile of the service time, where enough requests lie beyond it.
    pub fn service_quantile(&self, q: f64) -> Option<u64> {
        self.service_quantile_among(q, 1)
    }

    /// A quantile of the service time that is told with those of other rounds, where enough requests lie beyond it for that.
    pub(crate) fn service_quantile_among(&self, q: f64, rounds: usize) -> Option<u64> {
        self.service.quantile(q).filter(|_| is_resolved_among(self.service.count(), q, rounds))
    }

    /// A quantile of the response time from both ends, those among the requests that were given up; where enough lie beyond it.
    pub fn response_bounds(&self, q: f64) -> Option<Bounds> {
        self.response_bounds_among(q, 1)
    }

    /// A quantile from both ends, of the response time or, where nothing was due at a time, of the service time, whose ends are one.
    pub fn quantile(&self, q: f64) -> Option<Bounds> {
        self.quantile_among(q, 1)
    }

    /// The quantile where it is told with those of other rounds.
    pub(crate) fn quantile_among(&self, q: f64, rounds: usize) -> Option<Bounds> {
        if self.response.is_some() {
            return self.response_bounds_among(q, rounds);
        }
        let value = self.service_quantile_among(q, rounds)?;
        Some(Bounds { from_sent: value, from_due: Quantile { value, is_lower_bound: false } })
    }

    /// Bounds of the response time where they are told with those of other rounds, and enough requests lie beyond them for that.
    pub(crate) fn response_bounds_among(&self, q: f64, rounds: usize) -> Option<Bounds> {
        let count = self.response.as_ref()?.count().saturating_add(self.censored.count());
        self.response_ends(q).filter(|_| is_resolved_among(count, q, rounds))
    }

    /// Bounds of the response time, of however few requests.
    pub fn response_ends(&self, q: f64) -> Option<Bounds> {
        // The service time is without the wait for a free connection.
        let sent = self.response_from_sent.as_ref().unwrap_or(&self.service);
        bounds(self.response.as_ref()?, sent, &self.censored, q)
    }
}

fn joined(mut histogram: Histogram, other: &Histogram) -> Histogram {
    histogram.merge(other);
    histogram
}

impl Block {
    /// Whether these are replicas that lived beside the other ones.
    pub(crate) fn is_beside(self, other: Self) -> bool {
        Self { replica: other.replica, ..self } == other
    }
}

impl<'r> Window<'r> {
    /// A window of `contender` in a round, counted from 0, decoded.
    ///
    /// # Errors
    /// [`Unreadable`] when one of its histograms cannot be read.
    pub fn of(contender: &str, round: u32, measured: &'r Measurement) -> Result<Self, Unreadable> {
        let decoded = |window: &Measurement| {
            Times::of(&window.load.latency).map_err(|source| Unreadable {
                contender: contender.to_owned(),
                round: round.saturating_add(1),
                cell: Box::new(window.cell.clone()),
                source,
            })
        };
        let straight_times = measured.straight.as_deref().map(decoded).transpose()?;
        Ok(Self { measured, times: decoded(measured)?, straight_times, counting: Counting::default() })
    }

    /// Right answers per second in the part that counts; `None` when there was none.
    pub(crate) fn rate(&self) -> Option<f64> {
        match self.measured.turns.as_slice() {
            [] => throughput(self.measured),
            _ => typical_rate(self.measured, &self.counting),
        }
    }

    /// The logarithm of its rate, in one piece or by rotation.
    pub(crate) fn log_rates(&self) -> Vec<Option<f64>> {
        match self.measured.turns.as_slice() {
            [] => vec![self.rate().map(f64::ln)],
            _ => log_rates(self.measured, &self.counting),
        }
    }

    /// What the gauge showed, for each of these rates.
    pub(crate) fn readings(&self) -> Vec<Option<Reading>> {
        match self.measured.turns.as_slice() {
            [] => vec![None],
            _ => readings(self.measured, &self.counting),
        }
    }

    /// Requests that failed in it and are not among those of which it is known how long they were waited for in vain.
    pub(crate) fn failed_otherwise(&self) -> u64 {
        let errors = self.load.window.errors.iter().filter(|(class, _)| !class.is_cut_off());
        total(errors.map(|(_, count)| *count))
    }

    /// Whether its throughput is not void.
    pub(crate) fn rate_counts(&self) -> bool {
        self.measured.rate_void_rules().is_empty()
    }

    /// Whether it is not void as a whole, with its percentiles and all that is known of no single turn.
    pub(crate) fn counts(&self) -> bool {
        self.measured.void_rules().is_empty()
    }
}

impl Deref for Window<'_> {
    type Target = Measurement;

    fn deref(&self) -> &Measurement {
        self.measured
    }
}

impl<'r> DecodedRecord<'r> {
    /// Decodes all windows of a record.
    ///
    /// # Errors
    /// [`Unreadable`] when a histogram cannot be read.
    pub fn of(record: &'r Record) -> Result<Self, Unreadable> {
        let server_run = |round: u32, run: &'r Run| -> Result<ServerRun<'r>, Unreadable> {
            let windows = run.cells.iter().map(|window| Window::of(&run.contender, round, window));
            Ok(ServerRun { run, windows: windows.collect::<Result<_, _>>()? })
        };
        let server_runs = |round: &'r Round| -> Result<Vec<ServerRun<'r>>, Unreadable> {
            round.runs.iter().map(|run| server_run(round.index, run)).collect()
        };
        let mut rounds = record.rounds.iter().map(server_runs).collect::<Result<Vec<_>, _>>()?;
        let long_look = record.long_look.as_ref().map(server_runs).transpose()?.unwrap_or_default();
        count(&mut rounds, Nanos::from_secs_f64(record.experiment.settle_s));
        Ok(Self { record, rounds, long_look })
    }

    /// All windows, in the order in which they were measured.
    pub(crate) fn windows(&self) -> impl Iterator<Item = &Window<'r>> {
        self.rounds.iter().flatten().flat_map(|server_run| &server_run.windows)
    }

    /// The blocks in which a cell was measured, in the order of the rounds. Where servers take turns these are the groups of each
    /// round, and in them the replicas with each number; what is measured in one piece is nobody's turn, so there a round is one block
    /// however it was split. Each round has a block, and each group one of first replicas.
    pub(crate) fn blocks(&self, cell: &Cell) -> Vec<Block> {
        let is_turned = self.record.experiment.is_turned(cell);
        let of_round = |(round, server_runs): (usize, &Vec<ServerRun<'r>>)| -> BTreeSet<Block> {
            let first = |group| Block { round, group, replica: 0 };
            let of_run = |server_run: &ServerRun<'r>| {
                let Run { group, replica, .. } = *server_run.run;
                [first(group), Block { replica, ..first(group) }]
            };
            let turned = server_runs.iter().filter(|_| is_turned).flat_map(of_run);
            let all: BTreeSet<Block> = turned.collect();
            if all.is_empty() { BTreeSet::from([first(0)]) } else { all }
        };
        self.rounds.iter().enumerate().flat_map(of_round).collect()
    }

    /// The life of a contender in each block of a cell; in a round that is one block, the one in which it was measured.
    pub(crate) fn server_runs(&self, contender: &str, cell: &Cell) -> Vec<Option<&ServerRun<'r>>> {
        let is_turned = self.record.experiment.is_turned(cell);
        let its = |of: &&ServerRun<'r>| of.run.contender == contender && of.run.setting() == cell.setting();
        let of_block = |block: &Block| {
            let server_runs = || self.rounds[block.round].iter().filter(its);
            match is_turned {
                true => server_runs().find(|server_run| {
                    server_run.run.group == block.group && server_run.run.replica == block.replica
                }),
                false => server_runs()
                    .find(|server_run| server_run.window(cell).is_some())
                    .or_else(|| server_runs().next()),
            }
        };
        self.blocks(cell).iter().map(of_block).collect()
    }
}

impl<'r> ServerRun<'r> {
    /// The window in a cell.
    pub(crate) fn window(&self, cell: &Cell) -> Option<&Window<'r>> {
        self.windows.iter().find(|window| window.cell == *cell)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{compare, precision, settling, testing};

    /// Numbers of groups and replicas are whatever a record says, and the blocks are no more than its runs.
    #[test]
    fn rounds_are_divided_by_the_groups_and_replicas_that_are_there() {
        let mut record = testing::record(&[("a", &[100.0, 110.0]), ("b", &[90.0, 95.0])]);
        let cell = Cell::closed("hello", 64);
        let again = |run: &Run, replica| Run { replica, ..run.clone() };
        let further = [1, u32::MAX].map(|replica| again(&record.rounds[1].runs[0], replica));
        record.rounds[1].runs.extend(further);
        let evidence = DecodedRecord::of(&record).expect("readable");
        let block = |round, group, replica| Block { round, group, replica };
        let all = [block(0, 0, 0), block(1, 0, 0), block(1, 0, 1), block(1, 0, u32::MAX)];
        assert_eq!(evidence.blocks(&cell), all);
        let there = |name| evidence.server_runs(name, &cell).iter().map(Option::is_some).collect::<Vec<_>>();
        assert_eq!((there("a"), there("b")), (vec![true; 4], vec![true, true, false, false]));
        record.rounds[0].runs[1].group = u32::MAX;
        let evidence = DecodedRecord::of(&record).expect("readable");
        assert_eq!(evidence.blocks(&cell)[..2], [block(0, 0, 0), block(0, u32::MAX, 0)]);
    }

    /// A record with a spoilt histogram has one error as its answer, whatever is asked of it.
    #[test]
    fn a_histogram_that_cannot_be_read_is_the_same_error_everywhere() {
        let mut record = testing::record(&[("a", &[100.0, 110.0]), ("b", &[100.0, 100.0])]);
        record.rounds[1].runs[0].cells[0].load.latency.service_hdr = "HISTFAAA".to_owned();
        let error = DecodedRecord::of(&record).expect_err("unreadable");
        let told = error.to_string();
        assert!(told.contains("the histogram of a in round 2 (hello at 64)"), "{told}");
        assert_eq!(crate::judge(&record).expect_err("judged"), error);
        assert_eq!(settling(&record).expect_err("settled"), error);
        assert_eq!(precision(&record).expect_err("told"), error);
        let side = |name: &str| compare::Side { record: record.clone(), contender: Some(name.to_owned()) };
        let compared = compare::compare(&side("a"), &[side("b")], &[]).expect_err("compared");
        assert_eq!(compared, compare::CompareError::Unreadable(error));
    }

    #[test]
    fn a_histogram_that_is_not_there_is_empty() {
        let times = Times::of(&Latency::default()).expect("empty");
        assert!(times.service.is_empty() && times.response.is_none() && times.censored.is_empty());
        assert_eq!((times.service_quantile(0.5), times.response_bounds(0.5)), (None, None));
    }
}
