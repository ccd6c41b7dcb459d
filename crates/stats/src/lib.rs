//! The statistics of a benchmark as pure functions: histograms of latencies, intervals and verdicts.
//!
//! **Invariants.** Every function here is deterministic: the same numbers in give the same numbers out, on
//! every machine. Nothing reads a clock, a file or the environment, and randomness is a generator that the
//! caller seeds and passes in, or has a fixed seed ([`simultaneous`], which also remembers its answers). Numbers
//! that cannot be analysed (too few rounds, a throughput of zero, series of unequal length) are an error that
//! says which, never a `NaN` that travels on.
//!
//! **The unit of replication is a restart** (docs/method/rounds.md#restarts-are-the-unit-of-replication). A *round* is
//! one randomised complete block: it measures every contender once. A *series* holds one contender's results, one
//! number per round, and the `r`-th numbers of all series come from the same round. Throughput is analysed on the
//! logarithmic scale, because disturbances of a machine multiply a speed rather than add to it, so intervals are
//! intervals of ratios.
//!
//! Must not know: any other crate of assay, HTTP, files; a contender is an index.
//!
//! | question | module |
//! |---|---|
//! | how long did requests take? | [`histogram`] |
//! | and if some were never answered? | [`censored`] |
//! | and if requests left late? | [`lag`] |
//! | how fast is one contender, and how sure is that? | [`interval`], [`order`], [`robust`] |
//! | who is faster than whom, in a table of windows, lives and rounds? | [`table`], [`moderation`] |
//! | what of that did the machine do, as a gauge shows? | [`gauge`] |
//! | and of two builds that ran at once? | [`duet`] |
//! | how often would all this be wrong? | [`simulation`] |
//! | how much faster is one than another? | [`ratio`]; of another experiment: [`unpaired`] |
//! | how much more does one spend than another? | [`difference`] |
//! | and among many, compared at once? | [`simultaneous`], [`tiers`], [`letters`] |
//! | what will a run show, and how long must it be? | [`planning`] |
//! | what load does a server bear? | [`redline`] |
//! | may the experiment stop here? | [`sequential`] |
//! | did the machine's own speed change? | [`speed`] |
//! | does a server's, with its age? | [`ageing`] |
//! | does it stand still more often than others? | [`rare`] |
#![forbid(unsafe_code)]

pub mod ageing;
pub mod beside;
pub mod censored;
pub mod difference;
pub mod duet;
mod error;
pub mod gauge;
mod hdr;
pub mod histogram;
pub mod interval;
pub mod lag;
pub mod letters;
pub mod moderation;
pub mod order;
pub mod planning;
pub mod rare;
pub mod ratio;
pub mod redline;
pub mod robust;
pub mod sequential;
pub mod simulation;
pub mod simultaneous;
pub mod speed;
mod student;
pub mod table;
pub mod tiers;
pub mod unpaired;

pub use error::StatsError;
pub use histogram::Histogram;
pub use interval::Interval;
pub use ratio::Ratio;
