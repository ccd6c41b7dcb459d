//! Histograms as text that every HdrHistogram tool reads: base64 of the "V2 with deflate" payload.
//!
//! Format: `HdrHistogram` reference implementation, `AbstractHistogram.encodeIntoCompressedByteBuffer`,
//! cookie `0x1c849304`, which base64 turns into the familiar `HISTFAAA…`.
//!
//! A text comes from a record, and a record from anybody. Its header says how much memory its reader shall take, so all
//! sizes are looked at before anything is made of it: whatever the text, reading it takes less than a megabyte.

use std::io::Read as _;
use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::read::ZlibDecoder;
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

/// Cookies of a payload as it is, and of a compressed one.
const PLAIN: u32 = 0x1c84_9303 | 0x10;
const COMPRESSED: u32 = 0x1c84_9304 | 0x10;
/// Octets of a plain payload before its counts: cookie, length, offset, figures, lowest and highest value, ratio.
const HEADER_BYTES: usize = 40;
/// Octets that a count takes at most (LEB128 of 64 bits in nine).
const COUNT_BYTES: usize = 9;
/// A skip over 2⁶³ buckets, the one number whose negation the library forgets to check.
const ENDLESS_ZEROS: [u8; COUNT_BYTES] = [0xff; COUNT_BYTES];
/// Counts of two significant figures for all values of 64 bits: 256 and 128 for each octave from 2⁸ on.
const MAX_COUNTS: usize = 256 + 56 * 128;
/// Longest payload that a histogram with our buckets can have.
const MAX_PAYLOAD_BYTES: usize = HEADER_BYTES + COUNT_BYTES * MAX_COUNTS;
/// Longest text: deflate adds next to nothing to what it cannot compress, base64 a third.
const MAX_TEXT_BYTES: usize = MAX_PAYLOAD_BYTES * 3 / 2;

impl Histogram {
    /// The standard HdrHistogram text, `HISTFAAA…`.
    ///
    /// Every bucket and its count survives, including [`Self::saturated`]. The exact sum, least and greatest
    /// value are not part of the format; store them beside it where they matter.
    ///
    /// # Errors
    /// [`StatsError::CannotEncode`] when a bucket's count exceeds 2⁶³ − 1, the most the format can hold.
    pub fn to_hdr_base64(&self) -> Result<String, StatsError> {
        // A record has many of these, and compressing one of no values takes as long as one of thousands.
        static OF_NOTHING: OnceLock<String> = OnceLock::new();
        match OF_NOTHING.get() {
            Some(known) if self.is_empty() => Ok(known.clone()),
            None if self.is_empty() => self.encoded().map(|text| OF_NOTHING.get_or_init(|| text).clone()),
            _ => self.encoded(),
        }
    }

    fn encoded(&self) -> Result<String, StatsError> {
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
        let payload = plain_payload(text.trim()).and_then(checked).map_err(bad)?;
        let hdr: Hdr<u64> =
            Deserializer::new().deserialize(&mut payload.as_slice()).map_err(|e| bad(e.to_string()))?;
        let mut histogram = Self::new();
        for entry in hdr.iter_recorded() {
            histogram.record_bucket(entry.value_iterated_to(), entry.count_at_value());
        }
        Ok(histogram)
    }
}

/// The payload without base64 and compression.
fn plain_payload(text: &str) -> Result<Vec<u8>, String> {
    if text.len() > MAX_TEXT_BYTES {
        return Err(format!("it has {} characters, {MAX_TEXT_BYTES} at most", text.len()));
    }
    let bytes = BASE64.decode(text).map_err(|error| error.to_string())?;
    if word(&bytes, 0)? != COMPRESSED {
        return Ok(bytes);
    }
    let mut payload = Vec::new();
    let compressed = bytes.get(8..).unwrap_or_default();
    let whole = ZlibDecoder::new(compressed).take(MAX_PAYLOAD_BYTES as u64 + 1).read_to_end(&mut payload);
    whole.map_err(|error| error.to_string())?;
    Ok(payload)
}

/// A payload whose header asks for no more than its own length and our buckets.
fn checked(payload: Vec<u8>) -> Result<Vec<u8>, String> {
    if word(&payload, 0)? != PLAIN {
        return Err("it does not begin as an HdrHistogram does".to_owned());
    }
    if payload.len() > MAX_PAYLOAD_BYTES {
        return Err(format!("it unpacks to more than {MAX_PAYLOAD_BYTES} octets"));
    }
    let (counts, figures) = (word(&payload, 4)? as usize, word(&payload, 12)?);
    let low = u64::from(word(&payload, 16)?) << 32 | u64::from(word(&payload, 20)?);
    if (figures, low) != (SIGNIFICANT_FIGURES.into(), LOWEST) {
        return Err(format!(
            "it has {figures} significant figures and lowest value {low}, \
             ours have {SIGNIFICANT_FIGURES} and {LOWEST}"
        ));
    }
    if payload.len() < HEADER_BYTES || counts > payload.len() - HEADER_BYTES {
        return Err(format!("it speaks of {counts} octets of counts and has fewer"));
    }
    if payload[HEADER_BYTES..].windows(COUNT_BYTES).any(|octets| octets == ENDLESS_ZEROS) {
        return Err("it skips more buckets than there can be".to_owned());
    }
    Ok(payload)
}

/// The word that begins at this octet.
fn word(bytes: &[u8], at: usize) -> Result<u32, String> {
    let octets = bytes.get(at..at + 4).and_then(|octets| octets.try_into().ok());
    octets.map(u32::from_be_bytes).ok_or_else(|| "it ends early".to_owned())
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
