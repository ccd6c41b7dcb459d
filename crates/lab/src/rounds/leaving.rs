//! Who takes part: how many are left, and who is given up because it cannot be measured.

use std::collections::BTreeSet;

use assay_model::contender::Kind;
use assay_model::identity::Origin;
use assay_model::record::{NotRun, NotRunOn, Run, Stage};
use assay_model::setting::Setting;
use assay_model::units::Nanos;

use super::Runner;
use crate::event::Event;
use crate::log;
use crate::network::ProvisionedSetting;

/// Failures in a row after which a contender is not started again.
const MAX_FAILURES: u32 = 2;

impl Runner<'_> {
    /// Contenders that were not given up. A/A controls are nothing without their originals, nor is the limit beside others: with these
    /// gone there is nothing left to find out.
    pub(super) fn alive(&self) -> usize {
        let own = || self.record.contenders.iter().filter(|entry| entry.control_of.is_none());
        let is_alone = own().all(|entry| entry.identity.kind == Kind::Limit);
        let counted = own().filter(|entry| is_alone || entry.identity.kind != Kind::Limit);
        counted.filter(|entry| entry.not_run.is_none()).count()
    }

    pub(super) fn nobody_left(&self) -> bool {
        self.alive() < self.bench.plan.least_contenders.max(1)
    }

    /// Contenders that have a window in the last round, the limit aside.
    pub(super) fn measured(&self) -> usize {
        let runs = self.record.rounds.last().into_iter().flat_map(|round| &round.runs);
        let is_limit = |name: &str| self.subjects.iter().any(|of| of.is_limit() && of.identity.name == name);
        let measured = runs.filter(|run| !run.cells.is_empty() && !is_limit(&run.contender));
        measured.map(|run| run.contender.as_str()).collect::<BTreeSet<_>>().len()
    }

    /// Contenders of the last round, in each setting once, however many groups one lived in.
    pub(super) fn took_part(&self) -> usize {
        let runs = self.record.rounds.last().into_iter().flat_map(|round| &round.runs);
        runs.map(|run| (&run.contender, run.setting())).collect::<BTreeSet<_>>().len()
    }

    pub(super) fn taking_part(&self) -> usize {
        let within = |provisioned: &ProvisionedSetting| {
            (0..self.subjects.len()).filter(|&subject| !self.is_out(subject, provisioned.setting)).count()
        };
        self.bench.settings.iter().map(within).sum()
    }

    /// Files a run, and drops a contender that cannot be measured: at once where another try would end alike, else after it failed
    /// twice in a row.
    pub(super) fn file_run(&mut self, subject: usize, mut run: Run) {
        self.bench.plan.tools.secrets.hide_in(&mut run);
        // A run that a person ended before its first window is no evidence of anything.
        if self.bench.stop.is_requested() && run.cells.is_empty() {
            return;
        }
        let (failure, setting, replica) = (run.failure.clone(), run.setting(), run.replica);
        if let Some(round) = self.record.rounds.last_mut() {
            round.runs.push(run);
        }
        if replica > 0 {
            // That it cannot live beside another is nothing against the contender.
            if let Some(reason) = failure {
                log::failed(&self.subjects[subject].identity.name, &reason, 0, false);
            }
            return;
        }
        let Some(reason) = failure else {
            self.known.failures.remove(&(subject, setting));
            return;
        };
        let failures = self.known.failures.entry((subject, setting)).or_default();
        *failures += 1;
        let failures = *failures;
        let lasts = matches!(reason.stage, Stage::Answer | Stage::Needs)
            || self.cannot_start(subject, setting, &reason);
        let hopeless = lasts || failures >= MAX_FAILURES;
        log::failed(&self.subjects[subject].identity.name, &reason, failures, hopeless);
        if hopeless {
            return self.drop_out_on(subject, setting, reason);
        }
        // What happens to an A/A control happens to its original as well, and is reported of that.
        if self.record.contenders[subject].control_of.is_none() {
            let contender = self.subjects[subject].identity.name.as_str();
            let setting = Some(setting).filter(|_| self.bench.settings.len() > 1);
            self.telling.notice(&Event::Failed { contender, setting, reason: &reason });
        }
    }

    /// Whether a command of the user's own will not start however often it is tried: it has never been ready, and a typing error, a
    /// missing package or another port does not mend itself. What started once may start again.
    pub(super) fn cannot_start(&self, subject: usize, setting: Setting, reason: &NotRun) -> bool {
        let entry = &self.record.contenders[subject];
        let is_own = entry.identity.origin == Origin::Command && entry.control_of.is_none();
        let mut runs = self.record.rounds.iter().flat_map(|round| &round.runs);
        let was_ready = |run: &Run| {
            run.contender == entry.identity.name && run.setting() == setting && run.startup_ns > Nanos::ZERO
        };
        is_own && matches!(reason.stage, Stage::Start | Stage::Needs) && !runs.any(was_ready)
    }

    pub(super) fn drop_out(&mut self, subject: usize, mut reason: NotRun) {
        self.bench.plan.tools.secrets.hide_in(&mut reason);
        let contender = self.subjects[subject].identity.name.as_str();
        self.telling.notice(&Event::Dropped { contender, setting: None, reason: &reason });
        self.record.contenders[subject].not_run = Some(reason);
    }

    /// Gives up one setting of several; who is in none any more is given up.
    pub(super) fn drop_out_on(&mut self, subject: usize, setting: Setting, why: NotRun) {
        if self.bench.settings.len() == 1 {
            return self.drop_out(subject, why);
        }
        let contender = self.subjects[subject].identity.name.as_str();
        self.telling.notice(&Event::Dropped { contender, setting: Some(setting), reason: &why });
        let entry = &mut self.record.contenders[subject];
        let Setting { network, protocol } = setting;
        entry.not_run_on.push(NotRunOn { network, protocol, why: why.clone() });
        if self.bench.settings.iter().all(|provisioned| entry.absence_on(provisioned.setting).is_some()) {
            entry.not_run = Some(why);
        }
    }
}
