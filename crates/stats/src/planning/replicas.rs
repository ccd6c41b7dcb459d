//! How many processes of a contender take turns for it in a round (docs/method/carousel.md#replicas).

use crate::robust::middle;
use crate::table::Restlessness;
use crate::tiers::LEAST_MARGIN;

/// Most processes of one contender in a round: each has to be started and led in, and needs turns by which it can be judged.
pub const MOST_REPLICAS: usize = 3;

/// The processes that each contender has in the next round, by what each of its tables says of it: as many as bring what its restarts
/// vary by down to what a typical contender's level varies by, or what its own windows add.
///
/// One whose restarts vary less than twice as much has one process, and so has one whose restarts vary by less than a difference that
/// is none. Where there are no more than two contenders, their variances cannot be told apart.
pub fn replicas(contenders: &[Vec<Restlessness>]) -> Vec<usize> {
    let means: Vec<Option<Restlessness>> =
        contenders.iter().map(|tables| Restlessness::mean(tables)).collect();
    let typical = middle(&mut means.iter().flatten().map(|of| of.level).collect::<Vec<_>>()).unwrap_or(0.0);
    let number = |of: Option<Restlessness>| {
        let Some(Restlessness { restarts, windows, .. }) = of else { return 1 };
        let enough = typical.max(windows).max(LEAST_MARGIN.powi(2));
        // `as` saturates, and so many times a variance is no whole number.
        ((restarts / enough) as usize).clamp(1, MOST_REPLICAS)
    };
    means.into_iter().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In two tables.
    fn varies(restarts: f64, windows: f64) -> Vec<Restlessness> {
        let of = |times: f64| Restlessness { restarts: restarts * times, windows, level: restarts + windows };
        vec![of(0.5), of(1.5)]
    }

    #[test]
    fn a_contender_has_the_more_processes_the_more_its_restarts_vary_beside_those_of_others() {
        let calm = varies(0.0004, 0.0006);
        let of = |contender| replicas(&[calm.clone(), calm.clone(), calm.clone(), contender])[3];
        let restless = |times: f64| of(varies(0.001 * times, 0.0));
        assert_eq!([1.0, 1.9, 2.1, 3.5, 40.0].map(restless), [1, 1, 2, 3, MOST_REPLICAS]);
        assert_eq!(
            of(varies(0.004, 0.0019)),
            2,
            "windows add half as much, however many processes there are"
        );
        assert_eq!(replicas(&[calm.clone(), Vec::new()]), [1, 1], "one that was not measured");
        assert_eq!(replicas(&[Vec::new()]), [1], "nothing is known");
        assert_eq!(replicas(&[varies(0.0, 0.0), varies(0.0, 0.0)]), [1, 1], "nothing varies");
        let steady = varies(1e-9, 0.0);
        assert_eq!(replicas(&[steady.clone(), steady, varies(1e-4, 0.0)]), [1; 3], "nobody minds 1 %");
    }
}
