//! Processes that get no CPU for a while, as after SIGSTOP.

use assay_model::units::Nanos;

/// When a user of an engine does nothing at all, while its connections live on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freeze {
    /// When it begins.
    pub from: Nanos,
    /// How long it lasts.
    pub length: Nanos,
    /// From its beginning to the next one's; [`Nanos::MAX`] for once.
    pub every: Nanos,
}

impl Freeze {
    /// When it is over, if it is going on at `now`.
    pub fn thaws_at(&self, now: Nanos) -> Option<Nanos> {
        let since = now - self.from;
        let phase = Nanos(since.0 % self.every.0.max(1));
        (now >= self.from && phase < self.length).then(|| now + (self.length - phase))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_lasts_as_long_as_it_says_and_comes_again() {
        let once = Freeze { from: Nanos(100), length: Nanos(30), every: Nanos::MAX };
        let again = Freeze { every: Nanos(100), ..once };
        let at =
            |freeze: Freeze| [99, 100, 129, 130, 205].map(|now| freeze.thaws_at(Nanos(now)).map(|t| t.0));
        assert_eq!(at(once), [None, Some(130), Some(130), None, None]);
        assert_eq!(at(again), [None, Some(130), Some(130), None, Some(230)]);
    }
}
