//! Text that others wrote: in one place, so that whoever must look at all of it, say for secrets, misses none.

use crate::conformance::{CheckedServer, Conformance};
use crate::learnt::Learnt;
use crate::load::LoadReport;
use crate::record::{Entry, NotRun, Origin, Record, Run};
use crate::workload::{RequestKind, Workload};

/// Something that holds text which we did not write: words of people, programs and servers.
pub trait Foreign {
    /// Calls `look` with each such text, which it may change.
    fn each_text(&mut self, look: &mut dyn FnMut(&mut String));
}

impl Foreign for NotRun {
    fn each_text(&mut self, look: &mut dyn FnMut(&mut String)) {
        look(&mut self.reason);
        self.remedy.iter_mut().chain(&mut self.log_tail).for_each(look);
    }
}

impl Foreign for Conformance {
    fn each_text(&mut self, look: &mut dyn FnMut(&mut String)) {
        self.findings.iter_mut().filter_map(|finding| finding.evidence.as_mut()).for_each(look);
    }
}

impl Foreign for CheckedServer {
    fn each_text(&mut self, look: &mut dyn FnMut(&mut String)) {
        look(&mut self.title);
        look(&mut self.path);
        self.not_run.each_text(look);
        self.conformance.each_text(look);
    }
}

impl Foreign for Entry {
    fn each_text(&mut self, look: &mut dyn FnMut(&mut String)) {
        look(&mut self.title);
        look(&mut self.about);
        if let Origin::Url(url) = &mut self.origin {
            look(url);
        }
        self.command
            .iter_mut()
            .chain(&mut self.tuning)
            .chain(self.versions.values_mut())
            .for_each(&mut *look);
        self.conformance.each_text(look);
        self.not_run.each_text(look);
        self.not_run_on.iter_mut().for_each(|absence| absence.why.each_text(look));
    }
}

impl Foreign for RequestKind {
    fn each_text(&mut self, look: &mut dyn FnMut(&mut String)) {
        look(&mut self.path);
        self.headers.iter_mut().for_each(|(_, value)| look(value));
        self.body.iter_mut().for_each(look);
    }
}

impl Foreign for Workload {
    fn each_text(&mut self, look: &mut dyn FnMut(&mut String)) {
        look(&mut self.about);
        self.before.iter_mut().for_each(&mut *look);
        self.requests.iter_mut().for_each(|request| request.each_text(look));
    }
}

impl Foreign for Learnt {
    fn each_text(&mut self, look: &mut dyn FnMut(&mut String)) {
        let known = [&mut self.content_type, &mut self.content_encoding, &mut self.location, &mut self.shape];
        known.into_iter().flatten().for_each(&mut *look);
        look(&mut self.excerpt);
    }
}

impl Foreign for LoadReport {
    fn each_text(&mut self, look: &mut dyn FnMut(&mut String)) {
        self.learnt.iter_mut().for_each(|learnt| learnt.each_text(look));
        for sample in &mut self.samples {
            look(&mut sample.detail);
            look(&mut sample.received);
        }
    }
}

impl Foreign for Run {
    fn each_text(&mut self, look: &mut dyn FnMut(&mut String)) {
        self.learnt.iter_mut().for_each(|learnt| learnt.each_text(look));
        self.cells.iter_mut().for_each(|window| window.load.each_text(look));
        self.failure.each_text(look);
    }
}

impl Foreign for Record {
    fn each_text(&mut self, look: &mut dyn FnMut(&mut String)) {
        self.command.iter_mut().for_each(&mut *look);
        self.workloads.iter_mut().for_each(|workload| workload.each_text(look));
        if let Some(database) = &mut self.database {
            database.version.iter_mut().for_each(&mut *look);
            database.not_run.each_text(look);
        }
        self.networks.iter_mut().for_each(|facts| facts.not_run.each_text(look));
        self.contenders.iter_mut().for_each(|entry| entry.each_text(look));
        let rounds = self.rounds.iter_mut().chain(&mut self.long_look);
        rounds.flat_map(|round| &mut round.runs).for_each(|run| run.each_text(look));
    }
}

impl<T: Foreign> Foreign for Option<T> {
    fn each_text(&mut self, look: &mut dyn FnMut(&mut String)) {
        if let Some(whole) = self {
            whole.each_text(look);
        }
    }
}
