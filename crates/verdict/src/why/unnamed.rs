//! Code whose functions have no names: it is told where there is much of it, because a budget knows no more of it than the file.

use std::collections::BTreeMap;

use assay_model::profile::{FrameKind, Owner, Sampled};
use assay_model::why::Unnamed;

/// Share of a file's samples without a name from which on it is told.
const LEAST_SHARE: f64 = 0.2;
/// Fewest such samples that are told.
const LEAST_SAMPLES: u64 = 20;

/// Samples in a file's own code, and those of them in functions without a name; `None` is code that was compiled at run time.
pub(super) type ByFile = BTreeMap<Option<String>, [u64; 2]>;

/// Counts the samples of a server by the file of the innermost function.
pub(super) fn by_file(sampled: &Sampled) -> ByFile {
    let mut counted = ByFile::new();
    for stack in sampled.stacks.iter().filter(|stack| stack.owner == Owner::Server) {
        let is_code = |kind| matches!(kind, FrameKind::Native | FrameKind::Jit);
        let Some(frame) = sampled.innermost(stack).filter(|frame| is_code(frame.kind)) else { continue };
        let [all, unnamed] = counted.entry(frame.module.clone()).or_default();
        *all = all.saturating_add(stack.samples);
        *unnamed = unnamed.saturating_add(if frame.symbol.is_none() { stack.samples } else { 0 });
    }
    counted
}

/// Files in which many samples of all restarts together have no name.
pub(super) fn unnamed<'s>(restarts: impl Iterator<Item = &'s ByFile>) -> Vec<Unnamed> {
    let mut sums = ByFile::new();
    for (file, [all, unnamed]) in restarts.flatten() {
        let sum = sums.entry(file.clone()).or_default();
        *sum = [sum[0] + all, sum[1] + unnamed];
    }
    let is_told =
        |of: &Unnamed| of.unnamed >= LEAST_SAMPLES && of.unnamed as f64 > LEAST_SHARE * of.samples as f64;
    let files = sums.into_iter();
    files.map(|(module, [samples, unnamed])| Unnamed { module, samples, unnamed }).filter(is_told).collect()
}

#[cfg(test)]
mod tests {
    use assay_model::profile::{CallStack, Frame};

    use super::*;

    /// A restart with so many samples in a program with and without names, in code compiled at run time, and where there is no code.
    fn restart(counts: [u64; 4]) -> ByFile {
        let frame = |symbol: Option<&str>, module: Option<&str>, kind| Frame {
            symbol: symbol.map(str::to_owned),
            module: module.map(str::to_owned),
            kind,
        };
        let frames = vec![
            frame(Some("main"), Some("server"), FrameKind::Native),
            frame(None, Some("server"), FrameKind::Native),
            frame(None, None, FrameKind::Jit),
            frame(None, None, FrameKind::Unknown),
        ];
        let stack =
            |(samples, frame)| CallStack { owner: Owner::Server, thread: 0, frames: vec![frame], samples };
        let stacks = counts.into_iter().zip(0..).map(stack).collect();
        by_file(&Sampled { frames, stacks, ..Sampled::default() })
    }

    fn told(restarts: &[[u64; 4]]) -> Vec<Unnamed> {
        let all: Vec<ByFile> = restarts.iter().map(|counts| restart(*counts)).collect();
        unnamed(all.iter())
    }

    #[test]
    fn a_file_is_told_once_with_the_counts_of_all_restarts() {
        let of = |module: Option<&str>, samples, unnamed| Unnamed {
            module: module.map(str::to_owned),
            samples,
            unnamed,
        };
        let both = [of(None, 70, 70), of(Some("server"), 75, 55)];
        assert_eq!(told(&[[10, 30, 40, 0], [10, 25, 30, 0]]), both);
    }

    #[test]
    fn few_samples_are_not_worth_a_word_and_no_code_is_no_runtimes() {
        assert!(told(&[[0, 15, 15, 0]]).is_empty(), "too few");
        assert!(told(&[[200, 30, 0, 0]]).is_empty(), "most have a name");
        assert!(told(&[[0, 0, 0, 500]]).is_empty(), "what is nowhere was compiled by nobody");
    }
}
