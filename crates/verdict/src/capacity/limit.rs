//! What held a contender's capacity where it is: server, generator, database, upstream, link, connections, or none of them.
//!
//! The bottleneck of a closed system is the resource that is busy all the time; if none is, requests wait for something
//! else, or there are too few of them (Denning and Buzen, The Operational Analysis of Queueing Network Models, ACM
//! Computing Surveys 10(3), 1978).

use assay_model::cpuset::CpuSet;
use assay_model::evidence::{Bottleneck, Busiest};
use assay_model::link::{Flow, LinkUse};
use assay_model::network::Stack;
use assay_model::record::{Measurement, Record};
use assay_model::units::Nanos;
use assay_model::usage::Usage;
use assay_model::verdict::LimitedBy;

use crate::evidence::sample::Sample;
use crate::evidence::turns::throughput;
use crate::hosts::full_network;
use crate::{GENERATOR_SATURATED, SERVER_SATURATED, median};

/// Share of the time under load above which a single thread counts as saturated. It is told exactly, so it need not be
/// as low as [`SERVER_SATURATED`], which allows for the moments of connecting.
pub(crate) const THREAD_SATURATED: f64 = 0.92;
/// Share of a request's life spent on a CPU from which it hardly waits for anything: more requests would be served.
const MOSTLY_ON_CPU: f64 = 0.5;
/// Share of its rate from which a shaped link counts as full. What it carries is counted exactly, headers included; the rest
/// allows for the moments between an answer and the next request.
const LINK_FULL: f64 = 0.95;
/// Times as much that more connections must have brought, for fewer to have been the limit.
const GROWTH: f64 = 1.1;

/// What was the limit, and what that is concluded from.
pub(crate) struct Limit {
    pub by: LimitedBy,
    pub because: Bottleneck,
}

/// Judges medians over the windows whose rate counts, because it is the rate that was limited; `wider` is the same contender with the
/// next greater number of connections.
pub(crate) fn limit(record: &Record, sample: &Sample<'_>, wider: Option<&Sample<'_>>) -> Limit {
    if sample.rated().next().is_none() {
        return Limit { by: LimitedBy::Unknown, because: Bottleneck::NoWindow };
    }
    let busy = Busy::of(record, sample);
    let by = busy.limited_by();
    let is_servers = matches!(by, LimitedBy::Server | LimitedBy::ServerCore | LimitedBy::Both);
    // A stack in user space looks for frames all the time, so that a busy CPU says nothing of it.
    let is_busy = is_servers && !is_in_user_space(record, sample);
    if let Some(link) = full_link(record, &sample.rated().collect::<Vec<_>>()).filter(|_| !is_busy) {
        return Limit { by: LimitedBy::Link, because: busy.and(Some(link)) };
    }
    let too_few = too_few_in_flight(sample, wider).filter(|_| by == LimitedBy::Neither);
    match too_few {
        Some(because) => Limit { by: LimitedBy::Connections, because },
        None => Limit { by, because: busy.and(busy.busiest(by)) },
    }
}

/// How busy everybody was: medians over rounds, 0 to 1.
struct Busy {
    /// Server and generator had the same CPUs.
    shared: bool,
    /// CPUs of the server.
    cpus: usize,
    /// All CPUs of the server; absent when it could not be observed.
    server: Option<f64>,
    /// What other programs left of them.
    left: f64,
    /// Busiest thread of the server.
    thread: f64,
    /// Busiest CPU of the server.
    cpu: f64,
    /// The generator's busiest thread.
    generator: f64,
    database: Option<CompanionBusy>,
    upstream: Option<CompanionBusy>,
}

/// How busy a database or an upstream was: medians over rounds.
struct CompanionBusy {
    /// CPUs that it used.
    used: f64,
    /// CPUs that it could use, those that the generator used of them taken off.
    of: f64,
    /// Busiest process or thread of the companion, 0 to 1.
    busiest: f64,
    beside_generator: bool,
}

impl Busy {
    fn of(record: &Record, sample: &Sample<'_>) -> Self {
        let shared = record.isolation.server_cpus == record.isolation.generator_cpus;
        let over_windows = |of: fn(&Measurement) -> Option<f64>| {
            median(&sample.rated().filter_map(of).collect::<Vec<f64>>()).unwrap_or(0.0)
        };
        let all = over_windows(|window| Some(own_share(window, 1.0 - window.machine.server_idle_share, 1)));
        Self {
            shared,
            cpus: sample.server_cpus,
            // Interrupt work for its sockets is charged to no process, but where the generator works on the same CPUs they
            // tell nothing of the server alone.
            server: median(&sample.server_busy()).map(|own| if shared { own } else { own.max(all) }),
            left: 1.0 - over_windows(|window| Some(window.machine.server_other_share)).clamp(0.0, 1.0),
            thread: over_windows(busiest_thread),
            cpu: if shared { 0.0 } else { over_windows(busiest_cpu) },
            generator: median(&sample.generator_busy()).unwrap_or(0.0),
            database: CompanionBusy::database(record, sample),
            upstream: CompanionBusy::upstream(record, sample),
        }
    }

    fn limited_by(&self) -> LimitedBy {
        let generator = self.generator >= GENERATOR_SATURATED;
        let Some(server) = self.server else {
            return if generator { LimitedBy::Generator } else { LimitedBy::Unknown };
        };
        // Their only CPU was busy with both.
        if self.shared && server + self.generator >= SERVER_SATURATED {
            return LimitedBy::Both;
        }
        let one = self.cpus > 1 && (self.thread >= THREAD_SATURATED || self.cpu >= THREAD_SATURATED);
        match (server >= SERVER_SATURATED * self.left, generator) {
            (true, true) => LimitedBy::Both,
            (true, false) => LimitedBy::Server,
            (false, _) if one && generator => LimitedBy::Both,
            (false, _) if one => LimitedBy::ServerCore,
            (false, true) => LimitedBy::Generator,
            (false, false) if self.database.as_ref().is_some_and(CompanionBusy::is_saturated) => {
                LimitedBy::Database
            }
            (false, false) if self.upstream.as_ref().is_some_and(CompanionBusy::has_no_cpu_left) => {
                LimitedBy::Upstream
            }
            (false, false) => LimitedBy::Neither,
        }
    }

    /// The part that was busier than the rest, where that is what limits.
    fn busiest(&self, by: LimitedBy) -> Option<Busiest> {
        match by {
            LimitedBy::ServerCore if self.thread >= THREAD_SATURATED => {
                Some(Busiest::Thread { share: self.thread })
            }
            LimitedBy::ServerCore => Some(Busiest::Cpu { share: self.cpu }),
            LimitedBy::Database => self.database.as_ref().map(CompanionBusy::busiest_of_database),
            LimitedBy::Upstream => self.upstream.as_ref().map(|upstream| Busiest::Upstream {
                share: upstream.share(),
                beside_generator: upstream.beside_generator,
            }),
            _ => None,
        }
    }

    fn and(&self, busiest: Option<Busiest>) -> Bottleneck {
        Bottleneck::Busy {
            cpus: self.cpus as u64,
            server_share: self.server,
            generator_share: self.generator,
            busiest,
        }
    }
}

impl CompanionBusy {
    fn database(record: &Record, sample: &Sample<'_>) -> Option<Self> {
        let cpus = record.database.as_ref()?.cpus.as_ref()?;
        Self::of(cpus, sample, |window| {
            let database = window.database.as_ref()?;
            Some((&database.usage, database.beside_generator))
        })
    }

    fn upstream(record: &Record, sample: &Sample<'_>) -> Option<Self> {
        Self::of(&record.upstream.as_ref()?.cpus, sample, |window| {
            let upstream = window.upstream.as_ref()?;
            Some((&upstream.usage, upstream.beside_generator))
        })
    }

    /// A companion with these CPUs; `usage` tells what it used in a window, and whether beside the generator.
    fn of(
        cpus: &str,
        sample: &Sample<'_>,
        usage: impl Fn(&Measurement) -> Option<(&Usage, bool)>,
    ) -> Option<Self> {
        let cpus = cpus.parse::<CpuSet>().ok()?.len() as f64;
        let over_windows = |of: &dyn Fn(&Measurement) -> Option<f64>| {
            median(&sample.rated().filter_map(of).collect::<Vec<f64>>())
        };
        let loaded = |window: &Measurement| (window.load.warmup_ns + window.load.window_ns).as_secs_f64();
        let per_loaded = |window: &Measurement, ns: Nanos| {
            Some(ns.as_secs_f64() / loaded(window)).filter(|share| share.is_finite())
        };
        let used = over_windows(&|window| per_loaded(window, usage(window)?.0.cpu_ns()))?;
        let busiest = over_windows(&|window| per_loaded(window, usage(window)?.0.busiest_thread_ns?));
        let beside_generator = sample.rated().filter_map(&usage).any(|(_, is_beside)| is_beside);
        let generators =
            over_windows(&|window| Some(window.load.thread_busy_shares.iter().sum())).unwrap_or(0.0);
        let of = if beside_generator { (cpus - generators).max(0.0) } else { cpus };
        Some(Self { used, of, busiest: busiest.unwrap_or(0.0).min(1.0), beside_generator })
    }

    fn is_saturated(&self) -> bool {
        self.has_no_cpu_left() || self.busiest >= THREAD_SATURATED
    }

    fn has_no_cpu_left(&self) -> bool {
        self.used > 0.0 && self.used >= SERVER_SATURATED * self.of
    }

    /// Share of what it could have that it used.
    fn share(&self) -> f64 {
        (self.used / self.of.max(f64::MIN_POSITIVE)).min(1.0)
    }

    fn busiest_of_database(&self) -> Busiest {
        match self.has_no_cpu_left() {
            false => Busiest::DatabaseProcess { share: self.busiest },
            true => Busiest::Database { share: self.share(), beside_generator: self.beside_generator },
        }
    }
}

/// The part of the time under load that the server's busiest thread was on a CPU.
fn busiest_thread(window: &Measurement) -> Option<f64> {
    let loaded = (window.load.warmup_ns + window.load.window_ns).as_secs_f64();
    let used = window.server.as_ref()?.busiest_thread_ns?.as_secs_f64();
    (loaded > 0.0).then(|| (used / loaded).min(1.0))
}

/// The busy share of its busiest CPU, interrupt work included.
fn busiest_cpu(window: &Measurement) -> Option<f64> {
    let shares = &window.machine.server_cpu_busy_shares;
    let busiest = shares.iter().copied().reduce(f64::max)?;
    Some(own_share(window, busiest, shares.len()))
}

/// What is left of a busy share without other programs' part of it, all of which may have been on one of `cpus` CPUs.
fn own_share(window: &Measurement, busy: f64, cpus: usize) -> f64 {
    (busy - window.machine.server_other_share * cpus as f64).max(0.0)
}

fn is_in_user_space(record: &Record, sample: &Sample<'_>) -> bool {
    sample.measured().next().is_some_and(|window| {
        record.network_of(&window.cell).is_some_and(|network| network.stack() == Stack::User)
    })
}

/// How full the link between server and generator, or the network between their hosts, was in these windows of one contender, if it was
/// full.
pub(crate) fn full_link(record: &Record, windows: &[&Measurement]) -> Option<Busiest> {
    full_cable(record, windows).or_else(|| full_network(record, windows)).filter(is_full)
}

fn is_full(link: &Busiest) -> bool {
    matches!(link, Busiest::Link { share, .. } if *share >= LINK_FULL)
}

/// How full a link of ours was, in the direction that was fuller; nothing of one without a rate.
fn full_cable(record: &Record, windows: &[&Measurement]) -> Option<Busiest> {
    let cell = &windows.first()?.cell;
    let rate = record.link_facts_of(cell)?.shape.as_ref()?.bits_per_second;
    let link = record.network_of(cell)?.link();
    let share = |direction: fn(&LinkUse) -> Flow| -> Option<f64> {
        let of = |window: &&Measurement| Some(direction(window.link_use.as_ref()?).peak_share_of(rate));
        median(&windows.iter().filter_map(of).collect::<Vec<_>>())
    };
    let (from, to) = (share(|used| used.to_generator)?, share(|used| used.to_server)?);
    Some(Busiest::Link { link: link.to_string(), share: from.max(to), from_server: from >= to })
}

/// Why more connections would be served more, if so: they were, or what was in flight hardly waited.
fn too_few_in_flight(sample: &Sample<'_>, wider: Option<&Sample<'_>>) -> Option<Bottleneck> {
    let in_flight = in_flight(sample.rated().next()?);
    let rate = |sample: &Sample<'_>| median(&sample.rates().into_iter().flatten().collect::<Vec<_>>());
    if let Some((own, more)) =
        rate(sample).zip(wider.and_then(rate)).filter(|(own, more)| *more >= own * GROWTH)
    {
        return Some(Bottleneck::MoreWithMore { times: more / own });
    }
    let on_cpu = median(&sample.rated().filter_map(share_on_cpu).collect::<Vec<_>>())?;
    (on_cpu >= MOSTLY_ON_CPU).then_some(Bottleneck::OnCpu { in_flight, share: on_cpu })
}

/// CPU time that server and generator gave a request, over the time it was in flight (Little's law).
fn share_on_cpu(window: &Measurement) -> Option<f64> {
    let in_flight_ns = f64::from(in_flight(window)) / throughput(window)? * 1e9;
    let per = |ns: u64, answers: u64| ns as f64 / answers.max(1) as f64;
    let server = per(window.server.as_ref()?.cpu_ns().0, window.answers_watched());
    let generator = per(window.load.generator.cpu_ns().0, window.load.window.ok);
    Some((server + generator) / in_flight_ns)
}

fn in_flight(window: &Measurement) -> u32 {
    window.load.connections.saturating_mul(window.load.pipeline)
}
