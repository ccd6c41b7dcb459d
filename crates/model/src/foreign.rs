//! Text that others wrote: in one place, so that whoever must look at all of it, say for secrets, misses none.

use crate::conformance::{CheckedServer, Conformance};
use crate::identity::{Identity, Origin};
use crate::learnt::Learnt;
use crate::load::LoadReport;
use crate::profile::{Profile, Sampled};
use crate::record::{Entry, GeneratorEntry, Measurement, NotRun, Record, Run};
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

impl Foreign for Identity {
    fn each_text(&mut self, look: &mut dyn FnMut(&mut String)) {
        look(&mut self.title);
        look(&mut self.about);
        if let Origin::Url(url) = &mut self.origin {
            look(url);
        }
        self.tuning.iter_mut().for_each(look);
    }
}

impl Foreign for Entry {
    fn each_text(&mut self, look: &mut dyn FnMut(&mut String)) {
        self.identity.each_text(look);
        self.command.iter_mut().chain(self.versions.values_mut()).for_each(&mut *look);
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
        for share in &mut self.generators {
            share.lost.iter_mut().for_each(&mut *look);
            share.report.iter_mut().for_each(|report| report.each_text(look));
        }
    }
}

impl Foreign for Measurement {
    fn each_text(&mut self, look: &mut dyn FnMut(&mut String)) {
        self.load.each_text(look);
        if let Some(straight) = &mut self.straight {
            straight.each_text(look);
        }
    }
}

impl Foreign for Run {
    fn each_text(&mut self, look: &mut dyn FnMut(&mut String)) {
        self.learnt.iter_mut().for_each(|learnt| learnt.each_text(look));
        self.cells.iter_mut().for_each(|window| window.each_text(look));
        self.by_generator.iter_mut().filter_map(|window| window.failure.as_mut()).for_each(&mut *look);
        self.profiles.iter_mut().for_each(|profile| profile.each_text(look));
        self.failure.each_text(look);
    }
}

/// Names of functions, files and threads are what the authors of a program chose.
impl Foreign for Profile {
    fn each_text(&mut self, look: &mut dyn FnMut(&mut String)) {
        let Sampled { threads, busiest_thread, frames, waits, awaited, .. } = &mut self.sampled;
        threads.iter_mut().chain(busiest_thread).for_each(&mut *look);
        let callers = self.traced.iter_mut().flat_map(|traced| {
            let locks = traced.locks.iter_mut().flat_map(|lock| &mut lock.callers);
            locks.chain(traced.parked.iter_mut().flat_map(|parked| &mut parked.callers))
        });
        awaited.iter_mut().filter_map(|awaited| awaited.class.as_mut()).for_each(&mut *look);
        let callers = callers.chain(awaited.iter_mut().flat_map(|awaited| &mut awaited.callers));
        frames
            .iter_mut()
            .chain(callers)
            .flat_map(|frame| [&mut frame.symbol, &mut frame.module])
            .flatten()
            .for_each(&mut *look);
        waits.iter_mut().for_each(|wait| look(&mut wait.thread));
        self.refused.iter_mut().for_each(|refused| look(&mut refused.why));
    }
}

impl Foreign for GeneratorEntry {
    fn each_text(&mut self, look: &mut dyn FnMut(&mut String)) {
        self.version.iter_mut().for_each(&mut *look);
        self.not_run.each_text(look);
        self.left_out.iter_mut().for_each(|left_out| look(&mut left_out.reason));
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
        self.generators.iter_mut().for_each(|entry| entry.each_text(look));
        self.host_links.iter_mut().filter_map(|link| link.problem.as_mut()).for_each(&mut *look);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Cell;
    use crate::generator::GeneratorName;
    use crate::generator_window::GeneratorWindow;
    use crate::load::Arrival;
    use crate::profile::{Awaited, Facet, Frame, FrameKind, Lock, Parked, Refused, Traced, Wait};
    use crate::record::{LeftOut, Stage};
    use crate::units::Nanos;

    fn texts(whole: &mut impl Foreign) -> Vec<String> {
        let mut found = Vec::new();
        whole.each_text(&mut |text| found.push(text.clone()));
        found
    }

    #[test]
    fn what_generators_of_others_say_is_looked_at() {
        let cell = Cell::closed("hello", 1);
        let not_run = NotRun {
            stage: Stage::Needs,
            reason: "absent".to_owned(),
            remedy: None,
            log_tail: vec!["last words".to_owned()],
        };
        let mut entry = GeneratorEntry {
            name: GeneratorName::Wrk,
            version: Some("4.1.0".to_owned()),
            not_run: Some(not_run),
            left_out: vec![LeftOut { cell: cell.clone(), reason: "has no rate".to_owned() }],
        };
        assert_eq!(texts(&mut entry), ["4.1.0", "absent", "last words", "has no rate"]);
        let window = GeneratorWindow {
            cell,
            generator: GeneratorName::Wrk,
            offset_ns: Nanos::ZERO,
            told: None,
            server_counted: None,
            cpu_ns: None,
            steal_share: 0.0,
            other_share: 0.0,
            failure: Some("it cannot connect".to_owned()),
        };
        let mut run = Run { by_generator: vec![window], ..Run::default() };
        assert_eq!(texts(&mut run), ["it cannot connect"]);
    }

    #[test]
    fn names_in_a_profile_are_looked_at() {
        let named = |symbol: Option<&str>, module: Option<&str>| Frame {
            symbol: symbol.map(str::to_owned),
            module: module.map(str::to_owned),
            kind: FrameKind::Native,
        };
        let sampled = Sampled {
            threads: vec!["worker".to_owned()],
            busiest_thread: Some("acceptor".to_owned()),
            frames: vec![named(Some("main"), Some("a.out")), named(None, None)],
            waits: vec![Wait {
                thread: "sleeper".to_owned(),
                channel: "ep_poll".to_owned(),
                time_ns: Nanos(1),
                count: 1,
            }],
            awaited: vec![Awaited {
                class: Some("Sync".to_owned()),
                callers: vec![named(Some("reserve"), None)],
                ..Awaited::default()
            }],
            ..Sampled::default()
        };
        let mut profile = Profile {
            cell: Cell::closed("hello", 1),
            arrival: Arrival::Closed,
            offset_ns: Nanos::ZERO,
            sampled,
            traced: Some(Traced {
                locks: vec![Lock { callers: vec![named(Some("lock"), None)], ..Lock::default() }],
                parked: vec![Parked { callers: vec![named(None, Some("b.so"))], ..Parked::default() }],
                ..Traced::default()
            }),
            refused: vec![Refused { what: Facet::Kernel, why: "no right".to_owned() }],
        };
        let told =
            ["worker", "acceptor", "Sync", "main", "a.out", "lock", "b.so", "reserve", "sleeper", "no right"];
        assert_eq!(texts(&mut profile), told);
    }
}
