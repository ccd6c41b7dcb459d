//! How many requests a server has received, as a file of words that others can read while it serves and after it was killed: the
//! format alone.
//!
//! Each thread has a cache line of its own, whose first word says that it is used and whose second is the count, in the machine's own
//! order.

/// Threads that a file has room for.
pub const LINES: usize = 1024;
/// Words of a line: one cache line, so that no two threads write to the same.
pub const WORDS: usize = 8;
/// Bytes of a file.
pub const BYTES: usize = LINES * WORDS * size_of::<u64>();
/// The first word of a line that is used.
pub const MARK: u64 = u64::from_be_bytes(*b"asReqst1");

/// The requests of all threads together; `None` when no line is used. What comes after the last whole line is not looked at.
pub fn total(file: &[u8]) -> Option<u64> {
    let word = |bytes: &[u8]| bytes.try_into().map(u64::from_ne_bytes).unwrap_or_default();
    let lines = file.chunks_exact(WORDS * size_of::<u64>()).take(LINES);
    let used = lines.map(|line| (word(&line[..8]), word(&line[8..16]))).filter(|(mark, _)| *mark == MARK);
    used.map(|(_, count)| count).reduce(u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(lines: &[[u64; 2]]) -> Vec<u8> {
        let whole = lines.iter().map(|[mark, count]| [*mark, *count, 0, 0, 0, 0, 0, 0]);
        whole.flatten().flat_map(u64::to_ne_bytes).collect()
    }

    #[test]
    fn the_counts_of_all_threads_add_up() {
        assert_eq!(total(&file(&[[MARK, 3], [0, 0], [MARK, 4]])), Some(7));
        assert_eq!(total(&file(&[[MARK, u64::MAX], [MARK, 4]])), Some(u64::MAX));
    }

    #[test]
    fn rubbish_is_nothing() {
        for bytes in [vec![], vec![0; BYTES], vec![0xff; BYTES], vec![1; 63], b"asReqst1".to_vec()] {
            assert_eq!(total(&bytes), None);
        }
        assert_eq!(total(&file(&[[MARK, 1]])[..63]), None, "a line cut short");
    }
}
