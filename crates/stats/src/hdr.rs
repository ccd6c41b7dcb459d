//! Histograms as text that every HdrHistogram tool reads: base64 of the "V2 with deflate" payload.
//!
//! Format: `HdrHistogram` reference implementation, `AbstractHistogram.encodeIntoCompressedByteBuffer`,
//! cookie `0x1c849304`, which base64 turns into the familiar `HISTFAAA…`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram as Hdr;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2DeflateSerializer};

use crate::{Histogram, StatsError};

/// What makes another histogram's buckets equal to ours.
const SIGNIFICANT_FIGURES: u8 = 2;
/// The least size that an HdrHistogram tells from 0; with 1, buckets below 256 hold one value each.
const LOWEST: u64 = 1;
/// Just large enough for the overflow bucket to become an ordinary one, so that saturated counts survive the
/// journey.
const HIGHEST: u64 = Histogram::LIMIT;

impl Histogram {
    /// The standard HdrHistogram text, `HISTFAAA…`.
    ///
    /// Every bucket and its count survives, including [`Self::saturated`]. The exact sum, least and greatest
    /// value are not part of the format; store them beside it where they matter.
    ///
    /// # Errors
    /// [`StatsError::CannotEncode`] when a bucket's count exceeds 2⁶³ − 1, the most the format can hold.
    pub fn to_hdr_base64(&self) -> Result<String, StatsError> {
        let cannot = |reason: String| StatsError::CannotEncode { reason };
        let mut hdr = Hdr::<u64>::new_with_bounds(LOWEST, HIGHEST, SIGNIFICANT_FIGURES)
            .map_err(|e| cannot(e.to_string()))?;
        for bucket in self.buckets() {
            hdr.record_n(bucket.low, bucket.count).map_err(|e| cannot(e.to_string()))?;
        }
        let mut payload = Vec::new();
        V2DeflateSerializer::new().serialize(&hdr, &mut payload).map_err(|e| cannot(e.to_string()))?;
        Ok(BASE64.encode(payload))
    }

    /// Reads what [`Self::to_hdr_base64`] wrote, or any HdrHistogram V2 text, compressed or plain, with two
    /// significant figures and lowest discernible value 1.
    ///
    /// Because the text carries no exact values, the least and greatest value become the outer edges of the
    /// outermost buckets ([`Histogram::LIMIT`] at most), and the sum that of the buckets' midpoints, within
    /// 0.39 %.
    ///
    /// # Errors
    /// [`StatsError::BadHistogram`] when the text is no such payload or its buckets are not ours.
    pub fn from_hdr_base64(text: &str) -> Result<Self, StatsError> {
        let bad = |reason: String| StatsError::BadHistogram { reason };
        let payload = BASE64.decode(text.trim()).map_err(|e| bad(e.to_string()))?;
        let hdr: Hdr<u64> =
            Deserializer::new().deserialize(&mut payload.as_slice()).map_err(|e| bad(e.to_string()))?;
        if (hdr.sigfig(), hdr.low()) != (SIGNIFICANT_FIGURES, LOWEST) {
            let (figures, low) = (hdr.sigfig(), hdr.low());
            return Err(bad(format!(
                "it has {figures} significant figures and lowest value {low}, \
                 ours have {SIGNIFICANT_FIGURES} and {LOWEST}"
            )));
        }
        let mut histogram = Self::new();
        for entry in hdr.iter_recorded() {
            histogram.record_bucket(entry.value_iterated_to(), entry.count_at_value());
        }
        Ok(histogram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_starts_as_other_tools_expect() {
        let text = Histogram::new().to_hdr_base64().unwrap();
        assert!(text.starts_with("HISTFAAA"), "{text}");
        assert!(Histogram::from_hdr_base64(&text).unwrap().is_empty());
    }

    #[test]
    fn saturated_counts_survive() {
        let mut h = Histogram::new();
        [7, Histogram::LIMIT - 1, Histogram::LIMIT, u64::MAX].into_iter().for_each(|v| h.record(v));
        let back = Histogram::from_hdr_base64(&h.to_hdr_base64().unwrap()).unwrap();
        assert_eq!((back.count(), back.saturated()), (4, 2));
        assert!(back.buckets().eq(h.buckets()));
        assert_eq!((back.min(), back.max()), (Some(7), Some(Histogram::LIMIT)));
    }

    #[test]
    fn foreign_layouts_and_rubbish_are_refused_with_the_reason() {
        let mut payload = Vec::new();
        V2DeflateSerializer::new().serialize(&Hdr::<u64>::new(3).unwrap(), &mut payload).unwrap();
        let foreign = Histogram::from_hdr_base64(&BASE64.encode(payload)).unwrap_err().to_string();
        assert!(foreign.contains("3 significant figures"), "{foreign}");
        for rubbish in ["", "§", "HISTFAAAA", "aGVsbG8gd29ybGQ="] {
            assert!(matches!(Histogram::from_hdr_base64(rubbish), Err(StatsError::BadHistogram { .. })));
        }
    }
}
