//! Blocks: everything once per round, so that whatever drifts with the hour hits all alike.

use assay_stats::ratio::paired_log_ratio;
use assay_stats::robust::median;

use crate::measure::client::{self, Client, Finished, Load};
use crate::measure::server::Server;
use crate::measure::{Testbed, under_way};

const CONFIDENCE: f64 = 0.95;

/// One client's figures from one run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// Right answers per second.
    pub(super) per_second: f64,
    /// Right answers per second of the client's CPU time.
    pub(super) per_cpu_second: f64,
    /// Requests that failed by the client's own word.
    pub(super) failed: u64,
}

/// One figure of one subject in every round; absent where it could not be measured.
pub(super) type Series = Vec<Option<f64>>;

/// Something that is measured beside others.
pub(super) trait Titled {
    /// The name that it has in tables.
    fn title(&self) -> &str;
}

impl Titled for Client {
    fn title(&self) -> &str {
        (**self).title()
    }
}

impl Titled for Box<dyn Server> {
    fn title(&self) -> &str {
        self.name()
    }
}

/// Measures every subject once per round, forwards and backwards in turn, and says which; `words` tell the cell. Gives for each subject its
/// results by round.
///
/// # Errors
/// The first error of `measure`, which ends everything.
pub(super) fn measure_in_blocks<S: Titled, M>(
    rounds: u32,
    words: &[String],
    subjects: &[S],
    mut measure: impl FnMut(&S) -> Result<M, String>,
) -> Result<Vec<Vec<M>>, String> {
    let mut results: Vec<Vec<M>> = subjects.iter().map(|_| Vec::new()).collect();
    for round in 0..rounds {
        for place in 0..subjects.len() {
            let index = if round % 2 == 0 { place } else { subjects.len() - 1 - place };
            let (subject, cell) = (&subjects[index], words.join(", "));
            under_way(&format!("{cell}, round {} of {rounds}: {}", round + 1, subject.title()));
            results[index].push(measure(subject)?);
        }
    }
    Ok(results)
}

/// Runs a client; a failure, of the client or for the server's sake, is told and leaves a gap.
///
/// # Errors
/// When a person asks to end.
pub(super) fn sample(client: Client, load: &Load, testbed: &Testbed) -> Result<Option<Sample>, String> {
    match client::run(client, load, testbed) {
        Ok(Finished { told, cpu_ns, .. }) => Ok(Some(Sample {
            per_second: told.per_second(),
            per_cpu_second: cpu_ns.unwrap_or_default().rate_of(told.right),
            failed: told.failed,
        })),
        Err(why) => {
            testbed.go_on()?;
            eprintln!("left out: {why}");
            Ok(None)
        }
    }
}

/// How many times the first is the second, over the rounds that have both: `1.31 (1.28–1.34)`, with the 95 % interval of
/// the paired ratio; `–` when fewer than two rounds have both.
pub(super) fn ratio(ours: &Series, theirs: &Series) -> String {
    let pairs = ours.iter().zip(theirs).filter_map(|(ours, theirs)| Some(((*ours)?, (*theirs)?)));
    let (ours, theirs): (Vec<f64>, Vec<f64>) = pairs.unzip();
    match paired_log_ratio(&ours, &theirs, CONFIDENCE) {
        Ok(ratio) => {
            let interval = ratio.interval;
            format!("{:.2} ({:.2}–{:.2})", interval.estimate, interval.low, interval.high)
        }
        Err(_) => "–".to_owned(),
    }
}

/// The middle one of those that could be measured.
pub(super) fn middle(series: &Series) -> Option<f64> {
    median(&series.iter().flatten().copied().collect::<Vec<_>>()).ok()
}

/// A figure of a subject's samples.
pub(super) fn series(samples: &[Option<Sample>], figure: impl Fn(Sample) -> f64) -> Series {
    samples.iter().map(|sample| sample.map(&figure)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Titled for char {
        fn title(&self) -> &str {
            "a letter"
        }
    }

    #[test]
    fn every_round_measures_each_once_and_the_order_turns_round() {
        let mut order = Vec::new();
        let results = measure_in_blocks(3, &[], &['a', 'b'], |subject| {
            order.push(*subject);
            Ok(order.len())
        });
        assert_eq!(order, ['a', 'b', 'b', 'a', 'a', 'b']);
        assert_eq!(results, Ok(vec![vec![1, 4, 5], vec![2, 3, 6]]));
    }

    #[test]
    fn a_ratio_is_of_rounds_that_have_both() {
        let ours = vec![Some(2.0), Some(4.0), None, Some(6.0)];
        let theirs = vec![Some(1.0), Some(2.0), Some(9.0), None];
        assert_eq!(ratio(&ours, &theirs), "2.00 (2.00–2.00)");
        assert_eq!(ratio(&ours[..1].to_vec(), &theirs), "–");
    }
}
