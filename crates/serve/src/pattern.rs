//! The bytes of sized bodies: 64 letters over and over, so that a piece that is missing, doubled or misplaced
//! shows unless the mistake is a multiple of 64 bytes.

const PERIOD: &[u8; 64] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";

/// A block of the pattern, long enough that any piece of a body up to the length it was made for is one slice.
pub(crate) struct Pattern(Box<[u8]>);

impl Pattern {
    /// A pattern whose pieces may be `longest` bytes long.
    pub(crate) fn new(longest: usize) -> Self {
        Self(PERIOD.iter().copied().cycle().take(longest + PERIOD.len()).collect())
    }

    /// The `len` bytes of a body that begin at `offset`; fewer if `len` is more than the pattern was made for.
    pub(crate) fn piece(&self, offset: u64, len: usize) -> &[u8] {
        let phase = (offset % PERIOD.len() as u64) as usize;
        let rest = self.0.get(phase..).unwrap_or_default();
        rest.get(..len).unwrap_or(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_join_to_the_body_wherever_it_is_cut() {
        let pattern = Pattern::new(1000);
        let whole: Vec<u8> = PERIOD.iter().copied().cycle().take(1000).collect();
        for cut in 0..=1000 {
            let joined = [pattern.piece(0, cut), pattern.piece(cut as u64, 1000 - cut)].concat();
            assert!(joined == whole, "cut at {cut}");
        }
    }
}
