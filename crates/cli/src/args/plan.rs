//! The arguments of `assay plan`.

use clap::Args;

use super::{RunArguments, value};

/// Tell, before anything is measured, which differences a run would show, and how long it would take to show a given one.
///
/// Takes the arguments of `assay run`, and measures nothing. How noisy restarts and windows are is taken from the latest run
/// of this machine on the same CPUs (of those in the folder of all runs); where there is none, from what is usual.
///
/// `assay compare` may measure both sides at once, which shows far smaller differences in the same time; of that no plan is
/// made here.
#[derive(Args)]
pub(crate) struct PlanArguments {
    /// The difference for which a time is wanted
    #[arg(long, value_name = "SHARE", value_parser = value::share, default_value = "2%")]
    pub(crate) difference: f64,
    #[command(flatten)]
    pub(crate) run: RunArguments,
}
