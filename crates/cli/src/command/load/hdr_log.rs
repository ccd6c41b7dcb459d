//! Lines of an HdrHistogram interval log, version 1.3: what HistogramLogReader and the plotters around it read
//! (<https://github.com/HdrHistogram/HdrHistogram>, HistogramLogWriter).

use std::time::{Duration, SystemTime};

use assay_model::units::Nanos;
use assay_stats::{Histogram, StatsError};

/// What stands before the first line of a log whose first request was due at `start`.
pub(super) fn header(start: SystemTime) -> String {
    let since_epoch = start.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs_f64();
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "#[Logged with assay {version}; values are nanoseconds, Interval_Max is in milliseconds]\n\
         #[Histogram log format version 1.3]\n\
         #[StartTime: {since_epoch:.3} (seconds since epoch)]\n\
         \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n"
    )
}

/// One interval; `from` is counted from the start.
pub(super) fn line(
    tag: &str,
    from: Nanos,
    length: Nanos,
    histogram: &Histogram,
) -> Result<String, StatsError> {
    let max_ms = histogram.max().unwrap_or(0) as f64 / 1e6;
    let (from, length) = (from.as_secs_f64(), length.as_secs_f64());
    Ok(format!("Tag={tag},{from:.3},{length:.3},{max_ms:.3},{}\n", histogram.to_hdr_base64()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    fn payload(text: &str) -> hdrhistogram::Histogram<u64> {
        use base64::Engine as _;
        let bytes = base64::engine::general_purpose::STANDARD.decode(text).expect("base64");
        Deserializer::new().deserialize(&mut bytes.as_slice()).expect("a histogram")
    }

    #[test]
    fn an_independent_reader_reads_it() {
        let mut histogram = Histogram::new();
        (1..=1000u64).for_each(|n| histogram.record(n * 1_000_000));
        let start = SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_125);
        let ms = Nanos::from_millis;
        let log = header(start) + &line("service", ms(2000), ms(1000), &histogram).expect("encoded");
        let entries: Vec<LogEntry<'_>> =
            IntervalLogIterator::new(log.as_bytes()).map(|entry| entry.expect("a line")).collect();
        assert!(
            matches!(entries[0], LogEntry::StartTime(t) if t == Duration::from_millis(1_700_000_000_125))
        );
        let LogEntry::Interval(interval) = &entries[1] else { panic!("{entries:?}") };
        assert_eq!(interval.tag().map(|tag| tag.as_str().to_owned()).as_deref(), Some("service"));
        assert_eq!(interval.start_timestamp(), Duration::from_secs(2));
        assert_eq!((interval.duration(), interval.max()), (Duration::from_secs(1), 1000.0));
        let read = payload(interval.encoded_histogram());
        assert_eq!(read.len(), 1000);
        assert!(read.value_at_quantile(0.5).abs_diff(500_000_000) < 500_000_000 / 64);
    }
}
