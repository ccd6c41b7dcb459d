//! What server, database, upstream, link and machine did while the generator was at work.

use std::time::Duration;

use assay_host::census::Spent;
use assay_host::cgroup::{self, Throttling};
use assay_host::energy;
use assay_host::system::{SystemDelta, SystemSample};
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

use super::server_run::{Age, ServerRun};
use crate::contender::Server;
use crate::hosts::host::{HostSpan, JobHandle};
use crate::hosts::message::{ClockUse, Detail, HostUse, JobUse, ThreadUse};

/// A look at everything just before the generator begins.
pub(crate) struct Watch {
    /// The server's host, the server, and those of its companions that live there; absent where that host does not answer.
    span: Option<HostSpan>,
    /// Whether the server's processes can be seen, so that they are the first of that span.
    is_seen: bool,
    database: Option<CompanionWatch>,
    upstream: Option<CompanionWatch>,
    meter: Option<Meter>,
    /// This host, where the server lives on another one.
    here: Option<SystemSample>,
    counted: StackCounts,
    /// What quotas had done to assay; the generator, and whatever else it starts, is bound by those of assay itself.
    own_quota: Option<Throttling>,
    speed: Vec<CpuSpeed>,
    energy: Option<energy::Look>,
}

/// What was done since then.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    server: Option<Usage>,
    /// What the clocks of its processes showed, in turns.
    pub(crate) spent: Option<Spent>,
    /// CPU time of all others that may run on the server's CPUs, where all can be seen.
    others_ns: Option<Nanos>,
    database: Option<DatabaseUsage>,
    upstream: Option<UpstreamUsage>,
    link_use: Option<LinkUse>,
    /// What the server's host did; absent where that did not answer.
    system: Option<SystemDelta>,
    /// What this host did, where the server lives on another one.
    here: Option<SystemDelta>,
    stack: Option<StackCounts>,
    /// What quotas did to the server, and to assay.
    throttled: [Option<Throttled>; 2],
    /// CPU time of the server's CPUs that assay's own gauge took.
    gauge_ns: Nanos,
    /// Where the busy threads of a server that ran already were seen.
    seen_on: Option<CpuSet>,
    /// What the machine took, where that is counted.
    pub(crate) energy: Option<Energy>,
    /// How fast the machine was before and after; of the latest span only.
    pub(crate) speed: Option<WindowSpeed>,
}

impl Watch {
    /// Looks before a window of `cell`, at the server thread by thread.
    pub(crate) fn start(server_run: &ServerRun<'_>, server: &Server, cell: &Cell) -> Self {
        Self::begin(server_run, server, cell, Detail::ByThread)
    }

    /// Looks before a turn, by clock; after all turns the server's whole share is added ([`Seen::with`]).
    pub(crate) fn start_turn(server_run: &ServerRun<'_>, server: &Server, cell: &Cell) -> Self {
        Self::begin(server_run, server, cell, Detail::ByClock)
    }

    fn begin(server_run: &ServerRun<'_>, server: &Server, cell: &Cell, detail: Detail) -> Self {
        // The probe has its CPUs to itself only before everything else begins.
        let speed = server_run.bench.probe.run().unwrap_or_default();
        let mut jobs: Vec<&JobHandle> = server.seen().into_iter().collect();
        let database = server_run.database_of(cell).and_then(|access| {
            CompanionWatch::start(access.seen.as_ref()?, access.beside_generator, detail, &mut jobs)
        });
        let beside_generator = server_run.is_upstream_beside_generator();
        let upstream = server.upstream().and_then(|upstream| {
            CompanionWatch::start(upstream.seen()?, beside_generator, detail, &mut jobs)
        });
        Self {
            speed,
            is_seen: server.seen().is_some(),
            database,
            upstream,
            meter: Meter::start(&server_run.provisioned.link),
            here: server.host().is_remote().then(SystemSample::take),
            counted: server.stack_counts().unwrap_or_default(),
            own_quota: own_quota(),
            // As late as can be, so that little else is in it.
            span: server.host().begin(&jobs, detail, Some(server_run.server_cpus())),
            energy: server_run.bench.energy.as_ref().and_then(energy::EnergyCounters::look),
        }
    }

    /// Looks after it; what it measured was `length` long.
    pub(crate) fn finish(self, server_run: &ServerRun<'_>, server: &Server, length: Duration) -> Seen {
        let counters = server_run.bench.energy.as_ref();
        let energy = counters.and_then(|of| of.between(self.energy.as_ref()?, &of.look()?));
        let used = self.span.and_then(|span| span.finish());
        let (here, counts) = (self.here.map(|here| SystemSample::take().since(&here)), server.stack_counts());
        let database = self.database.and_then(|watch| watch.finish(used.as_ref()));
        let database = database.map(|(usage, beside_generator)| DatabaseUsage { usage, beside_generator });
        let upstream = self.upstream.and_then(|watch| watch.finish(used.as_ref()));
        let upstream = upstream.map(|(usage, beside_generator)| UpstreamUsage {
            usage,
            beside_generator,
            requests: None,
        });
        let of_server = used.as_ref().filter(|_| self.is_seen).and_then(|used| used.jobs.first()?.clone());
        let seen = Seen {
            seen_on: None,
            server: None,
            spent: None,
            others_ns: used.as_ref().and_then(|used| used.others_ns),
            database,
            upstream,
            link_use: self.meter.and_then(|meter| meter.finish(length)),
            here,
            stack: counts.map(|counts| counts.since(&self.counted)),
            throttled: [
                used.as_ref().and_then(|used| used.throttled),
                own_quota().map(|quota| quota.since(self.own_quota)),
            ],
            system: used.map(|used| used.system),
            gauge_ns: Nanos::ZERO,
            energy,
            speed: speed_around(self.speed, server_run.bench.probe.run().unwrap_or_default()),
        };
        match of_server {
            Some(JobUse::ByThread(threads)) => seen.with(server, *threads),
            Some(JobUse::ByClock(clocks)) => Seen { spent: Some(spent(clocks)), ..seen },
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
    /// With the server, at this place among the jobs of its span.
    With(usize),
    /// By itself, because it lives on another host.
    Apart(HostSpan),
}

impl CompanionWatch {
    /// One that lives with those `jobs` of which the server is the first joins them. In a turn the clocks of its processes are read: a
    /// database has one for each connection of every server that lives, and reading their files would take longer than the turn.
    fn start<'j>(
        job: &'j JobHandle,
        beside_generator: bool,
        detail: Detail,
        jobs: &mut Vec<&'j JobHandle>,
    ) -> Option<Self> {
        let is_with_server = jobs.first().is_some_and(|server| server.host().is(job.host()));
        let look = if is_with_server {
            jobs.push(job);
            Look::With(jobs.len() - 1)
        } else {
            Look::Apart(job.begin(detail)?)
        };
        Some(Self { look, beside_generator })
    }

    /// What it used, and whether beside the generator.
    fn finish(self, with_server: Option<&HostUse>) -> Option<(Usage, bool)> {
        let used = match self.look {
            Look::With(place) => with_server?.jobs.get(place)?.clone()?,
            Look::Apart(span) => span.finish_without_memory()?.jobs.into_iter().next()??,
        };
        let usage = match used {
            JobUse::ByThread(threads) => threads.usage,
            JobUse::ByClock(ClockUse { wall_ns, cpu_ns, busiest_ns, .. }) => {
                Usage { wall_ns, user_ns: cpu_ns, busiest_thread_ns: Some(busiest_ns), ..Usage::default() }
            }
        };
        Some((usage, self.beside_generator))
    }
}

/// What the clocks of the server's processes showed.
fn spent(ClockUse { wall_ns, cpu_ns, is_steady, .. }: ClockUse) -> Spent {
    Spent { wall: wall_ns.into(), cpu_ns: is_steady.then_some(cpu_ns) }
}

/// What quotas have done to assay.
fn own_quota() -> Option<Throttling> {
    cgroup::throttling(std::process::id())
}

/// The machine's speed before and after; a probe that failed says nothing against the window.
fn speed_around(before: Vec<CpuSpeed>, after: Vec<CpuSpeed>) -> Option<WindowSpeed> {
    (!before.is_empty() && !after.is_empty()).then_some(WindowSpeed { before, after })
}

impl Seen {
    /// With what assay's own gauge took of the server's CPUs meanwhile, which is no other program's.
    #[must_use]
    pub(crate) fn with_gauge(self, gauged: Option<&Gauged>) -> Self {
        Self { gauge_ns: gauged.map_or(Nanos::ZERO, |gauged| gauged.used_ns), ..self }
    }

    /// With what a close look at the server found, over a span that holds all others. Where clocks were read in the parts of
    /// it in which there was load, its CPU time is theirs; everything else happens under load only.
    #[must_use]
    pub(crate) fn with(self, server: &Server, ThreadUse { usage, seen_on }: ThreadUse) -> Self {
        let under_load = self.spent.and_then(|spent| Some((Nanos::from(spent.wall), spent.cpu_ns?)));
        let usage = match under_load {
            Some((wall_ns, cpu_ns)) => usage.of_part(wall_ns, cpu_ns),
            None => usage,
        };
        let seen_on = seen_on.parse().ok().filter(|_| !server.is_own());
        Self { server: Some(usage), seen_on, ..self }
    }

    /// With what a close look at the database found, over a span that holds the turns of all: what clocks showed in these is their
    /// part of it. Without such a look that is all that is known.
    #[must_use]
    pub(crate) fn with_database(self, whole: Option<&Usage>) -> Self {
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

    /// This span and a later one together, one after the other.
    pub(crate) fn then(&self, later: &Self) -> Self {
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
            system: self.system.as_ref().zip(later.system.as_ref()).map(|(a, b)| a.then(b)),
            here: self.here.as_ref().zip(later.here.as_ref()).map(|(a, b)| a.then(b)),
            stack: self.stack.clone().zip(later.stack.as_ref()).map(|(a, b)| a.plus(b)),
            throttled: [0, 1].map(|who| Some(self.throttled[who]?.then(later.throttled[who]?))),
            gauge_ns: self.gauge_ns + later.gauge_ns,
            seen_on: self.seen_on.as_ref().zip(later.seen_on.as_ref()).map(|(a, b)| a.union(b)),
            energy: self.energy.zip(later.energy).map(|(a, b)| a.then(&b)),
            speed: later.speed.clone(),
        }
    }

    /// What others took from a turn in which the generator saw this; none where the server's host did not answer.
    pub(crate) fn taken(&self, server_run: &ServerRun<'_>, load: &LoadTurn) -> Option<TimeTaken> {
        let own = self.spent.and_then(|spent| Some(Usage { user_ns: spent.cpu_ns?, ..Usage::default() }));
        let machine = self.counters(server_run, self.system.as_ref()?, own.as_ref());
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

    /// What the machine did; of the server's CPUs that they were idle, where their host did not answer.
    pub(crate) fn machine(&self, server_run: &ServerRun<'_>) -> Machine {
        let machine = match &self.system {
            Some(system) => self.counters(server_run, system, self.server.as_ref()),
            None => self
                .with_generators_host(server_run, Machine { server_idle_share: 1.0, ..Machine::default() }),
        };
        let [server_throttled, own_throttled] = self.throttled;
        Machine { server_throttled, own_throttled, ..machine }
    }

    /// What the counters of the server's host show where the server `used` so much.
    fn counters(&self, server_run: &ServerRun<'_>, system: &SystemDelta, used: Option<&Usage>) -> Machine {
        let known = used.map(|used| Usage { user_ns: used.user_ns + self.gauge_ns, ..used.clone() });
        let (server, generator) = (server_run.server_cpus(), &server_run.bench.plan.isolation.generator);
        // The generator's CPUs are those of this host.
        let generator = if self.here.is_none() { generator } else { &CpuSet::new() };
        let apart = server_run.interrupts_apart();
        let machine = system.machine(server, generator, known.as_ref(), apart, self.others_ns);
        self.with_generators_host(server_run, machine)
    }

    /// What the machine of a server on another host did, with what this one, the generator's, did.
    fn with_generators_host(&self, server_run: &ServerRun<'_>, there: Machine) -> Machine {
        let Some(here) = &self.here else { return there };
        let of_generator = here.shares(&server_run.bench.plan.isolation.generator);
        Machine {
            steal_share: there.steal_share.max(of_generator.steal),
            generator_idle_share: of_generator.idle,
            ..there
        }
    }

    /// The window of `cell` in which this was seen, and `load` by the generator.
    pub(crate) fn into_measurement(
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
            server: self.server,
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
