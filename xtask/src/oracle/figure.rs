//! Figures that a trial has, and how far each may be from the truth.

use assay_model::load::ErrorClass;

/// One figure, its truth, and what it may be below and above that.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) figure: Figure,
    pub(super) expected: f64,
    pub(super) below: f64,
    pub(super) above: f64,
}

/// A figure's name, or how to read it off a trial.
#[derive(Clone, Copy, Debug)]
pub(super) enum Figure {
    /// Right answers per second.
    Throughput,
    /// Mean of the response time, or of the service time in a closed loop, in ms.
    Mean,
    /// Quantile of the response time, or of the service time in a closed loop, in ms.
    Time(f64),
    /// The quantile in ms if it is known only to be at least that, else nothing.
    LowerBound(f64),
    /// Mean of the service time under an open model, in ms.
    ServiceMean,
    /// Quantile of the service time under an open model, in ms.
    Service(f64),
    /// Quantile of the wait for a connection, in ms.
    PoolWait(f64),
    /// Quantile of the generator's own lag, in ms.
    ClientLag(f64),
    /// Requests of a class in percent of all.
    Percent(ErrorClass),
    /// Requests of a class less those that the stub spoilt so.
    Miscounted(ErrorClass),
    /// Right answers in percent of all requests.
    RightPercent,
    /// Bytes of right bodies.
    BodyBytes,
    /// Requests that the stub received.
    Requests,
    /// Standard deviation over mean of the gaps between them, in percent.
    GapVariation,
    /// Percent of slow requests in a mix of 1 ms and 10 ms.
    SlowPercent,
    /// Whether the run calls itself void: 1, or 0.
    Void,
    /// How far the books of generator and stub are apart: requests, right answers, bytes, connections.
    Books,
    /// A figure that no trial gives.
    Named(&'static str),
}

/// A line with what came of it.
pub(super) struct Verdict {
    pub(super) line: Line,
    pub(super) measured: f64,
    pub(super) holds: Holds,
}

/// How a line compares with the truth.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    Right,
    Wrong,
    /// Wrong, in a run that says itself that its times are not to be believed.
    Void,
}

impl Holds {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Wrong => "WRONG",
            Self::Void => "void",
        }
    }
}

impl Verdict {
    /// A time that is wrong in a void run is void; a count stays wrong.
    pub(super) fn excuse(&mut self) {
        if self.holds == Holds::Wrong && self.line.figure.is_about_time() {
            self.holds = Holds::Void;
        }
    }
}

/// A time on a quiet host: docs/method/oracle.md#tolerances allows 0.05 ms more at the median, 0.15 ms in the tail, and
/// half a bucket.
pub(super) const fn time(figure: Figure, expected: f64) -> Line {
    let more = match figure {
        Figure::Time(q) | Figure::Service(q) | Figure::PoolWait(q) if q <= 0.5 => 0.05,
        _ => 0.15,
    };
    let resolution = expected * 0.005;
    Line { figure, expected, below: resolution, above: resolution + more }
}

/// A time that varies from run to run by the given share.
pub(super) const fn sampled(figure: Figure, expected: f64, share: f64) -> Line {
    Line { figure, expected, below: expected * share, above: expected * share + 0.15 }
}

/// A figure that may be off by so much in both directions.
pub(super) const fn within(figure: Figure, expected: f64, allowed: f64) -> Line {
    Line { figure, expected, below: allowed, above: allowed }
}

/// A figure that has to be so to the last digit.
pub(super) const fn exactly(figure: Figure, expected: f64) -> Line {
    within(figure, expected, 0.0)
}

impl Line {
    pub(super) fn judge(self, measured: f64) -> Verdict {
        let right = measured >= self.expected - self.below && measured <= self.expected + self.above;
        Verdict { line: self, measured, holds: if right { Holds::Right } else { Holds::Wrong } }
    }
}

impl Figure {
    pub(super) fn name(self) -> String {
        let percentile = |q: f64| (q * 1e5).round() / 1e3;
        match self {
            Self::Throughput => "throughput /s".to_owned(),
            Self::Mean => "mean ms".to_owned(),
            Self::Time(q) => format!("p{} ms", percentile(q)),
            Self::LowerBound(q) => format!("p{} ms, at least", percentile(q)),
            Self::ServiceMean => "service mean ms".to_owned(),
            Self::Service(q) => format!("service p{} ms", percentile(q)),
            Self::PoolWait(q) => format!("pool wait p{} ms", percentile(q)),
            Self::ClientLag(q) => format!("client lag p{} ms", percentile(q)),
            Self::Percent(class) => format!("{class} %"),
            Self::Miscounted(class) => format!("{class}, miscounted"),
            Self::RightPercent => "right %".to_owned(),
            Self::BodyBytes => "body bytes".to_owned(),
            Self::Requests => "requests".to_owned(),
            Self::GapVariation => "gap variation %".to_owned(),
            Self::SlowPercent => "slow %".to_owned(),
            Self::Void => "void by its own word".to_owned(),
            Self::Books => "books apart".to_owned(),
            Self::Named(name) => name.to_owned(),
        }
    }

    fn is_about_time(self) -> bool {
        match self {
            Self::Throughput | Self::Mean | Self::Time(_) | Self::LowerBound(_) | Self::ServiceMean => true,
            Self::Service(_) | Self::PoolWait(_) | Self::ClientLag(_) | Self::GapVariation => true,
            Self::Percent(_) | Self::Miscounted(_) | Self::RightPercent | Self::BodyBytes => false,
            Self::Requests | Self::SlowPercent | Self::Void | Self::Books | Self::Named(_) => false,
        }
    }
}
