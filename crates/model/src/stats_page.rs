//! The stats page: what stacks have counted, in rows that others can read while they are written and after their writer was killed; the
//! format alone.
//!
//! A stack has the row of its queue of the wire. A row is words in the machine's own order, each written whole: its reader
//! may see one number before another, never half of one.

use crate::load::StackCounts;

/// Rows of a file: a wire has no more queues.
pub const ROWS: usize = 256;
/// Words of a row: two cache lines, so that no two stacks write to the same.
pub const WORDS: usize = 16;
/// Bytes of a file.
pub const BYTES: usize = ROWS * WORDS * size_of::<u64>();
/// The first word of a row that is used.
const MARK: u64 = u64::from_be_bytes(*b"asStats1");

/// One row.
pub type StatsRow = [u64; WORDS];

/// What a row is to say.
pub fn row(counts: &StackCounts) -> StatsRow {
    let mut row = [0; WORDS];
    row[..15].copy_from_slice(&[
        MARK,
        counts.lossless.into(),
        counts.received_frames,
        counts.sent_frames,
        counts.retransmitted_segments,
        counts.retransmission_timeouts,
        counts.wire_full,
        counts.dropped_frames,
        counts.system_calls,
        counts.tail_loss_probes,
        counts.loss_recoveries,
        counts.dropped_requests,
        counts.forgotten_handshakes,
        counts.memory_shortages,
        counts.memory_resets,
    ]);
    row
}

/// The row of a stack that goes on where another was at `base`, whatever was there.
pub fn behind(base: &StatsRow, mut row: StatsRow) -> StatsRow {
    if base[0] == MARK {
        row.iter_mut().zip(base).skip(2).for_each(|(word, base)| *word = word.wrapping_add(*base));
    }
    row
}

/// All rows of a file together, as of the stacks of one wire; `None` when none is used. What comes after the last whole row is not
/// looked at.
pub fn total(file: &[u8], wire: &str) -> Option<StackCounts> {
    let word = |bytes: &[u8]| bytes.try_into().map(u64::from_ne_bytes).unwrap_or_default();
    let rows = file.chunks_exact(WORDS * size_of::<u64>()).take(ROWS).filter_map(|row| {
        let [mark, lossless, received_frames, sent_frames, retransmitted_segments, rest @ ..]: StatsRow =
            std::array::from_fn(|n| word(&row[n * size_of::<u64>()..][..size_of::<u64>()]));
        let [retransmission_timeouts, wire_full, dropped_frames, system_calls, rest @ ..] = rest;
        let [tail_loss_probes, loss_recoveries, dropped_requests, forgotten_handshakes, rest @ ..] = rest;
        let [memory_shortages, memory_resets, ..] = rest;
        (mark == MARK).then(|| StackCounts {
            wire: wire.to_owned(),
            lossless: lossless == 1,
            received_frames,
            sent_frames,
            retransmitted_segments,
            retransmission_timeouts,
            tail_loss_probes,
            loss_recoveries,
            wire_full,
            dropped_frames,
            system_calls,
            dropped_requests,
            forgotten_handshakes,
            memory_shortages,
            memory_resets,
        })
    });
    rows.reduce(|one, other| one.plus(&other))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(n: u64) -> StackCounts {
        StackCounts {
            wire: "ring:/a".to_owned(),
            lossless: true,
            received_frames: n,
            sent_frames: n + 1,
            retransmitted_segments: n + 2,
            retransmission_timeouts: n + 3,
            wire_full: n + 4,
            dropped_frames: n + 5,
            system_calls: n + 6,
            tail_loss_probes: n + 7,
            loss_recoveries: n + 8,
            dropped_requests: n + 9,
            forgotten_handshakes: n + 10,
            memory_shortages: n + 11,
            memory_resets: n + 12,
        }
    }

    fn file(rows: &[StatsRow]) -> Vec<u8> {
        rows.iter().flatten().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn what_was_written_is_read() {
        let rows = [row(&counts(1)), [0; WORDS], row(&counts(10))];
        assert_eq!(total(&file(&rows), "ring:/a"), Some(counts(1).plus(&counts(10))));
        let lossy = StackCounts { lossless: false, ..counts(1) };
        let together = total(&file(&[row(&counts(1)), row(&lossy)]), "ring:/a");
        assert!(together.is_some_and(|all| !all.lossless));
    }

    #[test]
    fn a_successor_goes_on() {
        let first = row(&counts(5));
        let second = behind(&first, row(&counts(1)));
        assert_eq!(total(&file(&[second]), "ring:/a"), Some(counts(5).plus(&counts(1))));
        assert_eq!(behind(&[7; WORDS], first), first, "rubbish is nobody's");
    }

    #[test]
    fn rubbish_is_nothing_or_numbers() {
        for bytes in [vec![], vec![0; BYTES], vec![0xff; BYTES], vec![1; 127], b"asStats1".to_vec()] {
            assert_eq!(total(&bytes, ""), None);
        }
        let most = behind(&[u64::MAX; WORDS], row(&counts(u64::MAX - 12)));
        let twice = total(&file(&[most, most]), "");
        assert!(twice.is_some_and(|counts| counts.sent_frames >= u64::MAX - 11));
    }
}
