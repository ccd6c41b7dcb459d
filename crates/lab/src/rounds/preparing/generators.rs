//! The generators of others that are to load servers beside ours: which are there, and what each of them leaves out.

use std::path::Path;

use assay_model::record::{GeneratorEntry, NotRun, Stage};

use crate::event::Event;
use crate::generator::{LoadGenerator, foreign, version};
use crate::log;
use crate::plan::RunPlan;
use crate::rounds::Runner;

impl Runner<'_> {
    /// Says which generators will not take part, before anybody waits for them.
    pub(crate) fn tell_of_missing_generators(&self) {
        for entry in &self.record.generators {
            log::generator(entry);
            if let Some(reason) = &entry.not_run {
                let contender = entry.name.name();
                self.telling.notice(&Event::Dropped { contender, setting: None, reason });
            }
        }
    }
}

/// The generators of others that a run asks for: which are there, and what each leaves out.
pub(crate) fn entries(plan: &RunPlan, work: &Path) -> Vec<GeneratorEntry> {
    let names = plan.experiment.other_generators().into_iter();
    let known = names.filter_map(foreign);
    known.map(|generator| entry(plan, generator, work)).collect()
}

fn entry(plan: &RunPlan, generator: &dyn LoadGenerator, work: &Path) -> GeneratorEntry {
    let missing = generator.tool().filter(|tool| tool.find().is_none());
    let not_run = missing.map(|tool| NotRun {
        stage: Stage::Needs,
        reason: format!("{} is not on the PATH", tool.program),
        remedy: Some(tool.install.to_owned()),
        log_tail: Vec::new(),
    });
    let version = if not_run.is_none() { version(generator, &plan.tools, work) } else { None };
    GeneratorEntry { name: generator.name(), version, not_run, left_out: plan.left_out_by(generator) }
}
