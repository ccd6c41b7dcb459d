//! Frames in a file that tcpdump and Wireshark read (draft-ietf-opsawg-pcap, "PCAP Capture File Format").

use std::io::{self, Write};

use assay_model::units::Nanos;

/// Says that times are in nanoseconds; its place in memory tells the order of octets.
const MAGIC: u32 = 0xa1b2_3c4d;
const VERSION: [u16; 2] = [2, 4];
/// The longest frame that a reader need expect.
const SNAP_BYTES: u32 = 262_144;
/// LINKTYPE_ETHERNET.
const LINK_TYPE: u32 = 1;

/// Writes what a file begins with.
pub(crate) fn write_header(out: &mut impl Write) -> io::Result<()> {
    let mut header = [0; 24];
    header[..4].copy_from_slice(&MAGIC.to_le_bytes());
    header[4..6].copy_from_slice(&VERSION[0].to_le_bytes());
    header[6..8].copy_from_slice(&VERSION[1].to_le_bytes());
    header[16..20].copy_from_slice(&SNAP_BYTES.to_le_bytes());
    header[20..].copy_from_slice(&LINK_TYPE.to_le_bytes());
    out.write_all(&header)
}

/// Writes a frame that was seen at `time` since 1970. Returns how many bytes that took.
pub(crate) fn write_frame(out: &mut impl Write, time: Nanos, frame: &[u8]) -> io::Result<u64> {
    let kept = &frame[..frame.len().min(SNAP_BYTES as usize)];
    let words = [time.0 / 1_000_000_000, time.0 % 1_000_000_000, kept.len() as u64, frame.len() as u64];
    let mut header = [0; 16];
    for (place, word) in header.chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&(word as u32).to_le_bytes());
    }
    out.write_all(&header)?;
    out.write_all(kept)?;
    Ok((header.len() + kept.len()) as u64)
}
