//! What a tree of processes uses over a span.

use assay_model::usage::Usage;

use crate::snapshot::{Gone, Snapshot};
use crate::window::Window;

/// What the tree of `root` has consumed since its start, ended workers included as far as they were waited
/// for. `wall_ns` is zero: take a [`Sampler`] for a span.
///
/// # Errors
/// When `root` has ended.
pub fn tree_usage(root: u32) -> Result<Usage, Gone> {
    let snapshot = Snapshot::of_tree(root)?;
    let nothing = Snapshot { at: snapshot.at, processes: Vec::new(), steady: true };
    Ok(snapshot.since(&nothing).with_memory().usage)
}

/// Reads one tree, or several, before and after a span.
#[derive(Clone, Debug)]
pub struct Sampler {
    roots: Vec<u32>,
    before: Snapshot,
}

impl Sampler {
    /// Begins a span for `root` and all below it.
    ///
    /// # Errors
    /// When `root` has ended.
    pub fn start(root: u32) -> Result<Self, Gone> {
        Self::start_all(&[root])
    }

    /// Begins a span for several processes and all below them.
    ///
    /// # Errors
    /// When one of `roots` has ended.
    pub fn start_all(roots: &[u32]) -> Result<Self, Gone> {
        Ok(Self { roots: roots.to_vec(), before: Snapshot::of_trees(roots)? })
    }

    /// What was used since the start. May be called again for a longer span.
    ///
    /// # Errors
    /// When a root has ended.
    pub fn finish(&self) -> Result<Window, Gone> {
        Ok(Snapshot::of_trees(&self.roots)?.since(&self.before))
    }
}
