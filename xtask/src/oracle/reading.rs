//! How figures are read off a trial.

use assay_model::load::ErrorClass;
use assay_serve::stub::Counts;
use assay_stats::{Histogram, censored};

use super::cases::Case;
use super::figure::{Figure, Verdict, exactly};
use super::trial::Evidence;

/// All lines of a case, and the books, which every test has to balance (T14).
pub(super) fn judge(case: &Case, evidence: &Evidence) -> Vec<Verdict> {
    let lines = case.lines.iter().copied().chain([exactly(Figure::Books, 0.0)]);
    lines.map(|line| line.judge(line.figure.read(evidence).unwrap_or(f64::NAN))).collect()
}

impl Figure {
    fn read(self, evidence: &Evidence) -> Option<f64> {
        let (report, counts) = (&evidence.report, &evidence.counts);
        let (latency, books) = (&report.latency, &report.books);
        let main = || histogram(latency.response_hdr.as_ref().unwrap_or(&latency.service_hdr));
        let share = |part: u64, of: u64| (of > 0).then(|| 100.0 * part as f64 / of as f64);
        let errors = |class| books.errors.get(&class).copied().unwrap_or(0);
        Some(match self {
            Self::Throughput => report.window.ok as f64 / report.window_ns.as_secs_f64(),
            Self::Mean => main()?.mean()? / 1e6,
            Self::Time(q) => quantile_ms(&main()?, q)?,
            Self::LowerBound(q) => {
                let bound = censored::quantile(&main()?, &histogram(latency.censored_hdr.as_ref()?)?, q)?;
                bound.is_lower_bound.then_some(bound.value as f64 / 1e6)?
            }
            Self::ServiceMean => histogram(&latency.service_hdr)?.mean()? / 1e6,
            Self::Service(q) => quantile_ms(&histogram(&latency.service_hdr)?, q)?,
            Self::PoolWait(q) => quantile_ms(&histogram(latency.pool_wait_hdr.as_ref()?)?, q)?,
            Self::ClientLag(q) => quantile_ms(&histogram(latency.client_lag_hdr.as_ref()?)?, q)?,
            Self::Percent(class) => share(errors(class), books.issued)?,
            Self::Miscounted(class) => errors(class) as f64 - spoilt(counts, class)? as f64,
            Self::RightPercent => share(books.ok, books.issued)?,
            Self::BodyBytes => report.window.body_bytes as f64,
            Self::Requests => counts.requests as f64,
            Self::GapVariation => counts.gap_variation()? * 100.0,
            Self::SlowPercent => {
                (counts.programmed_ns as f64 / counts.right as f64 / 1e6 - 1.0) / 9.0 * 100.0
            }
            Self::Void => f64::from(u8::from(evidence.objections().next().is_some())),
            Self::Books => evidence.books_apart() as f64,
            Self::Named(_) => return None,
        })
    }
}

/// How many answers the stub spoilt so that they belong into a class.
fn spoilt(counts: &Counts, class: ErrorClass) -> Option<u64> {
    Some(match class {
        ErrorClass::WrongBody => counts.wrong_byte,
        ErrorClass::UnexpectedStatus => counts.status_500,
        ErrorClass::ResetInBody => counts.reset_in_body,
        ErrorClass::HeadTimeout => counts.never_answered,
        _ => return None,
    })
}

fn histogram(hdr: &str) -> Option<Histogram> {
    Histogram::from_hdr_base64(hdr).ok()
}

fn quantile_ms(histogram: &Histogram, q: f64) -> Option<f64> {
    Some(histogram.quantile(q)? as f64 / 1e6)
}
