//! The arguments of `assay plan`.

use clap::Args;

use super::{Comparing, Rounds, RunArguments, value};

/// Tell which differences a run would show, and how long it would take to show a given one; measure nothing.
///
/// Takes the arguments of `assay run`. How noisy restarts and windows are is taken from the latest run of this machine on the
/// same CPUs (of those in the folder of all runs); where there is none, from what is usual.
///
/// Of commands (`--cmd OLD --cmd NEW`) it tells besides what `assay compare` would show in the same time, which may measure
/// both at once and so shows far smaller differences. How much their ratio varies is taken from the latest such comparison.
#[derive(Args)]
pub(crate) struct PlanArguments {
    /// The difference for which a time is wanted
    #[arg(long, value_name = "SHARE", value_parser = value::share, default_value = "2%")]
    pub(crate) difference: f64,
    #[command(flatten)]
    pub(crate) run: RunArguments,
}

impl PlanArguments {
    /// The commands as `assay compare` would measure them; `None` where there are not two, or others take part.
    pub(crate) fn compared(&self) -> Option<RunArguments> {
        let given = self.run.rounds.filter(|rounds| matches!(rounds, Rounds::Exactly(_)));
        let run = RunArguments {
            rounds: Some(given.unwrap_or(Rounds::Exactly(super::compare::ROUNDS))),
            precision: None,
            quick: false,
            least_contenders: self.run.cmd.len(),
            comparing: Comparing::AsFits,
            one_at_a_time: false,
            no_check: true,
            ..self.run.clone()
        };
        (self.run.cmd.len() > 1 && self.run.selectors.is_empty()).then_some(run)
    }
}
