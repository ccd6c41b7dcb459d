//! Where two contenders can be set against each other: in a block in which both lived, or, in a round that was split into
//! groups, through a third that lived in the groups of both.

use super::lives::Lives;

/// How two contenders met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meeting {
    /// The two lived in this block.
    Together(usize),
    /// In one round they lived in these blocks, the first of the pair first, and this third contender lived in both.
    Through { third: usize, blocks: [usize; 2] },
}

/// All meetings of a pair: in each round the blocks that it shared, or else one through a third. `rounds` holds the round of
/// each block.
pub(super) fn meetings(lives: &Lives, rounds: &[usize], (i, j): (usize, usize)) -> Vec<Meeting> {
    let lived = |contender: usize, block: usize| lives[contender].get(block).is_some_and(Option::is_some);
    let last = rounds.iter().max().map_or(0, |last| last + 1);
    let in_round = |round: usize| {
        let of_round = |contender: usize| -> Vec<usize> {
            (0..rounds.len()).filter(|&block| rounds[block] == round && lived(contender, block)).collect()
        };
        let (of_i, of_j) = (of_round(i), of_round(j));
        let shared: Vec<Meeting> =
            of_i.iter().filter(|block| of_j.contains(block)).map(|&block| Meeting::Together(block)).collect();
        if !shared.is_empty() {
            return shared;
        }
        let others = (0..lives.len()).filter(|third| ![i, j].contains(third));
        let through = others.filter_map(|third| {
            let beside = |of: &[usize]| of.iter().copied().find(|&block| lived(third, block));
            Some(Meeting::Through { third, blocks: [beside(&of_i)?, beside(&of_j)?] })
        });
        through.take(1).collect()
    };
    (0..last).flat_map(in_round).collect()
}
