//! What server, database, upstream, link and machine did while the generator was at work.

use std::time::Duration;

use assay_host::census::{Census, Spent};
use assay_host::cgroup::{self, Throttling};
use assay_host::energy;
use assay_host::memory::proportional;
use assay_host::sampler::Sampler;
use assay_host::system::{SystemDelta, SystemSample};
use assay_host::window::Window;
use assay_link::Meter;
use assay_model::check::{Check, CheckOutcome};
use assay_model::cpuset::CpuSet;
use assay_model::energy::Energy;
use assay_model::evidence::Evidence;
use assay_model::experiment::Cell;
use assay_model::link::LinkUse;
use assay_model::load::{LoadReport, LoadTurn, StackCounts};
use assay_model::record::{DatabaseUsage, Machine, Measurement, Throttled, TimeTaken};
use assay_model::rule::Rule;
use assay_model::speed::{CpuSpeed, Gauged, WindowSpeed};
use assay_model::units::Nanos;
use assay_model::upstream::UpstreamUsage;
use assay_model::usage::Usage;

use super::remote_use::RemoteUse;
use super::server_run::{Age, ServerRun};
use crate::contender::{Sampling, Server, of_sum};
use crate::database::Observed;
use crate::hosts::message::Detail;
use crate::hosts::remote_host::JobSpan;

/// A look at everything just before the generator begins.
pub(super) struct Watch {
    /// In what detail the server's use is read: by thread in a window, by clock in a turn.
    detail: Detail,
    /// The server by thread, or by another host on which it lives; absent where it cannot be seen, and in a turn on this host, for which
    /// the census is enough.
    server: Option<Sampling>,
    /// Everybody process by process.
    census: Census,
    database: Option<CompanionWatch>,
    upstream: Option<CompanionWatch>,
    meter: Option<Meter>,
    system: SystemSample,
    counted: StackCounts,
    quotas: Quotas,
    speed: Vec<CpuSpeed>,
    energy: Option<energy::Look>,
}

/// What was done since then.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    server: Option<Usage>,
    /// What the clocks of its processes showed, in turns.
    pub(super) spent: Option<Spent>,
    /// CPU time of all others that may run on the server's CPUs, where all can be seen.
    others_ns: Option<Nanos>,
    database: Option<DatabaseUsage>,
    upstream: Option<UpstreamUsage>,
    link_use: Option<LinkUse>,
    system: SystemDelta,
    stack: Option<StackCounts>,
    /// What quotas did to the server, and to assay.
    throttled: [Option<Throttled>; 2],
    /// The server's processes at the end.
    processes: Vec<u32>,
    /// CPU time of the server's CPUs that assay's own gauge took.
    gauge_ns: Nanos,
    /// Where the busy threads of a server that ran already were seen.
    seen_on: Option<CpuSet>,
    /// What the machine took, where that is counted.
    pub(super) energy: Option<Energy>,
    /// What the machine of a server on another host did.
    remote: Option<RemoteUse>,
    /// How fast the machine was before and after; of the latest span only.
    pub(super) speed: Option<WindowSpeed>,
}

impl Watch {
    /// Looks before a window of `cell`.
    pub(super) fn start(server_run: &ServerRun<'_>, server: &Server, cell: &Cell) -> Self {
        Self::begin(server_run, server, cell, Detail::ByThread, Census::take)
    }

    /// Looks before a turn, after all of which the server's whole share is added ([`Seen::with`]); `census` was taken shortly before.
    pub(super) fn start_turn(
        server_run: &ServerRun<'_>,
        server: &Server,
        cell: &Cell,
        census: &Census,
    ) -> Self {
        Self::begin(server_run, server, cell, Detail::ByClock, || census.again(&server.first_processes()))
    }

    fn begin(
        server_run: &ServerRun<'_>,
        server: &Server,
        cell: &Cell,
        detail: Detail,
        census: impl FnOnce() -> Census,
    ) -> Self {
        // The probe has its CPUs to itself only before everything else begins.
        let speed = server_run.probe.run().unwrap_or_default();
        let here = match detail {
            Detail::ByThread => server.watch_here(),
            Detail::ByClock => None,
        };
        Self {
            speed,
            detail,
            census: census(),
            database: server_run
                .database_of(cell)
                .and_then(|access| CompanionWatch::start(&access.seen, access.beside_generator, detail)),
            upstream: server.upstream().and_then(|upstream| {
                let seen = Observed::Here(upstream.pid()?);
                CompanionWatch::start(&seen, server_run.is_upstream_beside_generator(), detail)
            }),
            meter: Meter::start(server_run.link),
            counted: server.stack_counts().unwrap_or_default(),
            quotas: Quotas::of(server.pid()),
            // As late as can be, so that little else is in them.
            server: here.or_else(|| server.watch_there(detail)),
            system: look(server),
            energy: server_run.energy.and_then(energy::Counters::look),
        }
    }

    /// Looks after it; what it measured was `length` long.
    pub(super) fn finish(self, server_run: &ServerRun<'_>, server: &Server, length: Duration) -> Seen {
        let counters = server_run.energy;
        let energy = counters.and_then(|of| of.between(self.energy.as_ref()?, &of.look()?));
        let (system, counts) = (look(server), server.stack_counts());
        let used_there = self.server.as_ref().and_then(Sampling::finish_there);
        let (is_turn, roots) = (self.detail == Detail::ByClock, server.first_processes());
        let census = if is_turn { self.census.again(&roots) } else { Census::take() };
        let used_here = self.server.as_ref().and_then(Sampling::finish_here);
        let (used_there, remote) = used_there.map(|of| (of.usage, RemoteUse::from(of.machine))).unzip();
        let window = used_here.or_else(|| used_there.flatten().map(of_sum));
        let database = self.database.and_then(|watch| watch.finish(&self.census, &census));
        let database = database.map(|(usage, beside_generator)| DatabaseUsage { usage, beside_generator });
        let upstream = self.upstream.and_then(|watch| watch.finish(&self.census, &census));
        let upstream = upstream.map(|(usage, beside_generator)| UpstreamUsage {
            usage,
            beside_generator,
            requests: None,
        });
        let seen = Seen {
            processes: Vec::new(),
            seen_on: None,
            server: None,
            spent: match &remote {
                Some(remote) => Some(remote.spent()),
                None => self.census.spent(&census, &roots).filter(|_| !roots.is_empty()),
            }
            .filter(|_| is_turn),
            others_ns: self
                .census
                .others(&census, &server_run.plan.isolation.server, &roots)
                .filter(|_| !server.is_remote()),
            database,
            upstream,
            link_use: self.meter.and_then(|meter| meter.finish(length)),
            system: system.since(&self.system),
            stack: counts.map(|counts| counts.since(&self.counted)),
            throttled: self.quotas.finish(),
            gauge_ns: Nanos::ZERO,
            energy,
            remote,
            speed: beside(self.speed, server_run.probe.run().unwrap_or_default()),
        };
        match window {
            Some(window) => seen.with(server, window),
            None => seen,
        }
    }
}

/// A look at a companion of servers, a database or an upstream.
struct CompanionWatch {
    look: Look,
    beside_generator: bool,
}

/// How a companion is looked at.
enum Look {
    /// At its threads.
    Closely(Sampler),
    /// In a turn, by the clocks of this process and those below it: a database has one for each connection of every server that lives,
    /// and reading their files would take longer than the turn.
    ByClocks(u32),
    /// By its host, which is asked before and after.
    There(JobSpan),
}

impl CompanionWatch {
    fn start(seen: &Observed, beside_generator: bool, detail: Detail) -> Option<Self> {
        let look = match (seen, detail) {
            (Observed::Here(root), Detail::ByThread) => Look::Closely(Sampler::start(*root).ok()?),
            (Observed::Here(root), Detail::ByClock) => Look::ByClocks(*root),
            // By thread in a turn as well: there is no closer look at it over all turns.
            (Observed::There(job), _) => Look::There(job.begin(Detail::ByThread)?),
            (Observed::Nowhere, _) => return None,
        };
        Some(Self { look, beside_generator })
    }

    /// What it used, and whether beside the generator.
    fn finish(self, before: &Census, after: &Census) -> Option<(Usage, bool)> {
        let usage = match self.look {
            Look::Closely(sampler) => sampler.finish().ok()?.usage,
            Look::ByClocks(root) => {
                let used = before.used(after, &[root])?;
                let (wall_ns, busiest_thread_ns) = (used.wall.into(), Some(used.busiest_ns));
                Usage { wall_ns, user_ns: used.cpu_ns, busiest_thread_ns, ..Usage::default() }
            }
            Look::There(span) => span.finish_soon()?.usage?,
        };
        Some((usage, self.beside_generator))
    }
}

/// The machine's speed before and after; a probe that failed says nothing against the window.
fn beside(before: Vec<CpuSpeed>, after: Vec<CpuSpeed>) -> Option<WindowSpeed> {
    (!before.is_empty() && !after.is_empty()).then_some(WindowSpeed { before, after })
}

/// TCP counts by network namespace: that of the server, which is not ours on a link.
fn look(server: &Server) -> SystemSample {
    server.pid().map_or_else(SystemSample::take, SystemSample::take_beside)
}

impl Seen {
    /// With what assay's own gauge took of the server's CPUs meanwhile, which is no other program's.
    #[must_use]
    pub(super) fn with_gauge(self, gauged: Option<&Gauged>) -> Self {
        Self { gauge_ns: gauged.map_or(Nanos::ZERO, |gauged| gauged.used_ns), ..self }
    }

    /// With what a close look at the server found, over a span that holds all others. Where clocks were read in the parts of
    /// it in which there was load, its CPU time is theirs; everything else happens under load only.
    #[must_use]
    pub(super) fn with(self, server: &Server, window: Window) -> Self {
        let under_load = self.spent.and_then(|spent| Some((Nanos::from(spent.wall), spent.cpu_ns?)));
        let usage = match under_load {
            Some((wall_ns, cpu_ns)) => window.usage.of_part(wall_ns, cpu_ns),
            None => window.usage.clone(),
        };
        Self {
            processes: window.processes.iter().map(|process| process.pid).collect(),
            seen_on: (!server.is_own()).then(|| window.seen_on()),
            server: Some(usage),
            ..self
        }
    }

    /// With what a close look at the database found, over a span that holds the turns of all: what clocks showed in these is their
    /// part of it. Without such a look that is all that is known.
    #[must_use]
    pub(super) fn with_database(self, whole: Option<&Usage>) -> Self {
        let of_part = |part: DatabaseUsage, whole: &Usage| {
            let busiest_ns = part.usage.busiest_thread_ns.unwrap_or_default();
            let usage = whole.of_share(part.usage.wall_ns, part.usage.cpu_ns(), busiest_ns);
            DatabaseUsage { usage, ..part }
        };
        let database = match (self.database, whole) {
            (Some(part), Some(whole)) => Some(of_part(part, whole)),
            (part, _) => part,
        };
        Self { database, ..self }
    }

    /// Where what was loaded is an upstream, on whose CPUs the generator may wait by plan.
    #[must_use]
    pub(super) fn of_upstream(self, beside_generator: bool) -> Self {
        let usage = self.server.clone();
        let upstream = usage.map(|usage| UpstreamUsage { usage, beside_generator, requests: None });
        Self { upstream, ..self }
    }

    /// Both together, one after the other.
    pub(super) fn then(&self, later: &Self) -> Self {
        let both = |a: &Option<Usage>, b: &Option<Usage>| Some(a.as_ref()?.then(b.as_ref()?));
        let database = self.database.as_ref().zip(later.database.as_ref());
        let upstream = self.upstream.as_ref().zip(later.upstream.as_ref());
        Self {
            server: both(&self.server, &later.server),
            spent: self.spent.zip(later.spent).map(|(a, b)| a.then(b)),
            others_ns: self.others_ns.zip(later.others_ns).map(|(a, b)| a + b),
            database: database.map(|(a, b)| DatabaseUsage { usage: a.usage.then(&b.usage), ..*b }),
            upstream: upstream.map(|(a, b)| UpstreamUsage { usage: a.usage.then(&b.usage), ..b.clone() }),
            link_use: self.link_use.zip(later.link_use).map(|(a, b)| a.then(&b)),
            system: self.system.then(&later.system),
            stack: self.stack.clone().zip(later.stack.as_ref()).map(|(a, b)| a.plus(b)),
            throttled: [0, 1].map(|who| Some(self.throttled[who]?.then(later.throttled[who]?))),
            gauge_ns: self.gauge_ns + later.gauge_ns,
            processes: later.processes.clone(),
            seen_on: self.seen_on.as_ref().zip(later.seen_on.as_ref()).map(|(a, b)| a.union(b)),
            energy: self.energy.zip(later.energy).map(|(a, b)| a.then(&b)),
            remote: self.remote.as_ref().zip(later.remote.as_ref()).map(|(a, b)| a.then(b)),
            speed: later.speed.clone(),
        }
    }

    /// What others took from a turn in which the generator saw this; none where the server's CPUs are those of another host, whose agent
    /// does not tell.
    pub(super) fn taken(&self, server_run: &ServerRun<'_>, load: &LoadTurn) -> Option<TimeTaken> {
        if server_run.remote.is_some() && self.remote.is_none() {
            return None;
        }
        let own = self.spent.and_then(|spent| Some(Usage { user_ns: spent.cpu_ns?, ..Usage::default() }));
        let machine = self.beside_remote(self.counters(server_run, own.as_ref()));
        let database = self.database.as_ref().filter(|database| database.beside_generator);
        let upstream = self.upstream.as_ref().filter(|upstream| upstream.beside_generator);
        let by_plan = [database.map(|of| &of.usage), upstream.map(|of| &of.usage)].into_iter().flatten();
        let by_plan: f64 = by_plan.map(|used| used.cpu_ns().0 as f64 / used.wall_ns.0.max(1) as f64).sum();
        Some(TimeTaken {
            steal_share: machine.steal_share,
            server_other_share: machine.server_other_share,
            generator_delay_share: (load.generator_delay_share - by_plan).max(0.0),
        })
    }

    /// What the machine did.
    pub(super) fn machine(&self, server_run: &ServerRun<'_>) -> Machine {
        let machine = self.counters(server_run, self.server.as_ref());
        let [server_throttled, own_throttled] = self.throttled;
        // The CPUs of a server on another host are not this machine's.
        let is_unseen = server_run.remote.is_some() && self.remote.is_none();
        let server_idle_share = if is_unseen { 1.0 } else { machine.server_idle_share };
        self.beside_remote(Machine { server_throttled, own_throttled, server_idle_share, ..machine })
    }

    /// What the machine of a server on another host did, beside what this one did.
    fn beside_remote(&self, here: Machine) -> Machine {
        match &self.remote {
            Some(remote) => remote.beside(here),
            None => here,
        }
    }

    /// What the machine's counters show where the server `used` so much.
    fn counters(&self, server_run: &ServerRun<'_>, used: Option<&Usage>) -> Machine {
        let (isolation, apart) = (&server_run.plan.isolation, server_run.record.host.interrupts_apart);
        let known = used.map(|used| Usage { user_ns: used.user_ns + self.gauge_ns, ..used.clone() });
        self.system.machine(&isolation.server, &isolation.generator, known.as_ref(), apart, self.others_ns)
    }

    /// Beside what the generator saw, with the memory that the server holds now: looking for that takes a while, so it is not
    /// done between turns.
    pub(super) fn beside(
        self,
        server_run: &ServerRun<'_>,
        cell: &Cell,
        Age { offset_ns, loaded_ns }: Age,
        mut load: LoadReport,
    ) -> Measurement {
        let database = self.database.as_ref().is_some_and(|database| database.beside_generator);
        let upstream = self.upstream.as_ref().is_some_and(|upstream| upstream.beside_generator);
        if database || upstream {
            excuse_waiting(&mut load.checks, database, upstream);
        }
        let machine = self.machine(server_run);
        Measurement {
            cell: cell.clone(),
            offset_ns,
            loaded_ns,
            load,
            machine,
            server: self.server.map(|used| match self.processes.is_empty() {
                true => used,
                false => Usage { pss_bytes: proportional(self.processes), ..used },
            }),
            server_stack: self.stack,
            database: self.database,
            upstream: self.upstream,
            straight: None,
            link_use: self.link_use,
            turns: Vec::new(),
            duet: Vec::new(),
            idle_busy_share: None,
            server_seen_on: self.seen_on.map(|cpus| cpus.to_string()),
            energy: self.energy,
            speed: self.speed,
        }
    }
}

/// The quotas of CPU time that bind server and generator, at the start of a window. The generator, and whatever else assay
/// starts, is bound by those of assay itself.
struct Quotas {
    pids: [Option<u32>; 2],
    before: [Option<Throttling>; 2],
}

impl Quotas {
    fn of(server: Option<u32>) -> Self {
        let pids = [server, Some(std::process::id())];
        Self { pids, before: pids.map(|pid| cgroup::throttling(pid?)) }
    }

    /// What they did to the server, and to assay.
    fn finish(self) -> [Option<Throttled>; 2] {
        let of = |index: usize| Some(cgroup::throttling(self.pids[index]?)?.since(self.before[index]));
        [of(0), of(1)]
    }
}

/// The generator cannot know that it waited for the database or the upstream, which has the same CPUs by plan. What is left without that
/// part is judged by [`Measurement::generator_delay_share`].
fn excuse_waiting(checks: &mut [Check], database: bool, upstream: bool) {
    for check in checks
        .iter_mut()
        .filter(|check| check.rule == Rule::GeneratorDisturbed && check.outcome == CheckOutcome::Void)
    {
        check.outcome = CheckOutcome::Warn;
        if let Evidence::ThreadWaited { beside_database, beside_upstream, .. } = &mut check.evidence {
            (*beside_database, *beside_upstream) = (database, upstream);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_for_the_database_beside_it_does_not_void_a_generators_window() {
        let check = |rule: Rule| Check {
            rule,
            outcome: CheckOutcome::Void,
            evidence: Evidence::ThreadWaited {
                waiting_share: 0.2,
                involuntary_switches: 1,
                beside_database: false,
                beside_upstream: false,
                beside_server: None,
            },
        };
        let mut checks = vec![check(Rule::GeneratorDisturbed), check(Rule::SendLag)];
        excuse_waiting(&mut checks, true, false);
        assert_eq!(
            checks.iter().map(|check| check.outcome).collect::<Vec<_>>(),
            [CheckOutcome::Warn, CheckOutcome::Void]
        );
        assert!(matches!(checks[0].evidence, Evidence::ThreadWaited { beside_database: true, .. }));
    }
}
