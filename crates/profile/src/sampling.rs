//! Stacks, waits and TCP's counts of a server, gathered while it is under load.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use assay_host::counters::reason;
use assay_host::sampler::Sampler;
use assay_model::profile::{Clock, Facet, Refused, Sampled};
use assay_model::units::Nanos;
use perf_event::events::{Hardware, Software};
use perf_event::{Builder, SampleFlag};

use crate::gathered::{Gathered, RawStack};
use crate::looking::Looking;
use crate::naming;
use crate::ring::{Place, Ring, bytes_of_a_thread};
use crate::runtimes;
use crate::target::{Target, name_of, threads};
use crate::tcp;
use crate::waits::Waits;

/// Time between two samples by the kernel's timer; no whole number of its ticks, so that it keeps step with nothing that they
/// begin. Seldom enough that samples cost the server little: docs/method/profile.md#what-profiling-costs.
const INTERVAL_NS: u64 = 1_499_977;
/// Cycles between two samples by the CPU's counter: about as much at 2 to 3 GHz.
const CYCLES: u64 = 3_899_123;
/// Size of the ring of one CPU, in bytes: more than a second of samples with deep stacks.
const RING: usize = 1 << 20;
/// Time between two looks at rings and sleeping threads.
const LOOK: Duration = Duration::from_millis(40);
/// Looks after which processes are sought that have come: that reads of every process of the machine.
const LOOKS_TO_COME: u32 = 10;

/// A server's samples, being gathered.
#[derive(Debug)]
pub struct Sampling {
    target: Target,
    usage: Option<Sampler>,
    tcp: Option<BTreeMap<String, u64>>,
    over: Arc<AtomicBool>,
    gathering: JoinHandle<Outcome>,
    looking: Looking,
}

/// What was gathered.
#[derive(Debug)]
struct Outcome {
    gathered: Gathered,
    waits: Waits,
    /// Names of the threads that were seen.
    threads: BTreeMap<u32, String>,
    /// Most of its threads that were alive at once.
    most_threads: usize,
    /// All processes of the server that were seen.
    processes: BTreeSet<u32>,
    view: Result<View, String>,
    /// Why a thread that came was not watched, if one was not.
    unwatched: Option<String>,
}

/// The rings of what is watched, as threads come and go.
#[derive(Default)]
struct Rings {
    open: BTreeMap<Place, Ring>,
    /// Those of threads that had ended at the last look, whose last samples are still to be read.
    ended: BTreeSet<Place>,
    /// Why one could not be opened.
    refused: Option<String>,
}

/// How samples are taken.
#[derive(Clone, Copy, Debug)]
struct View {
    clock: Clock,
    by_cpu: bool,
    with_kernel: bool,
}

impl Sampling {
    /// Begins to gather. What is not allowed is told by [`finish`](Self::finish).
    pub fn start(target: Target) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let looking = Looking::start(&target, &target.processes());
        let usage = Sampler::start_all(&target.roots).ok();
        let tcp = target.roots.first().and_then(|root| tcp::counts(*root));
        let (rings, view) = match open(&target) {
            Ok((open, view)) => (Rings { open, ..Rings::default() }, Ok(view)),
            Err(why) => (Rings::default(), Err(why)),
        };
        let gathering = std::thread::spawn({
            let (target, over) = (target.clone(), Arc::clone(&over));
            move || {
                target.keep_clear();
                gather(&target, rings, view, &over)
            }
        });
        Self { target, usage, tcp, over, gathering, looking }
    }

    /// Ends the gathering; `answers` were given in the meantime. The server should still live, or its functions have no names.
    pub fn finish(self, answers: u64) -> (Sampled, Vec<Refused>) {
        self.over.store(true, Ordering::Relaxed);
        let window = self.usage.and_then(|sampler| sampler.finish().ok());
        let now = self.target.roots.first().and_then(|root| tcp::counts(*root));
        let (awaited, unseen) = self.looking.finish();
        let Ok(outcome) = self.gathering.join() else {
            let why = "the thread that gathers samples has failed".to_owned();
            return (Sampled::default(), vec![Refused { what: Facet::Samples, why }]);
        };
        let (mut sampled, mut refused) = named(outcome, &self.target);
        (sampled.answers, sampled.awaited) = (answers, awaited);
        refused.extend(unseen);
        // The busiest thread comes first.
        let busiest = window.as_ref().and_then(|window| window.threads.first());
        sampled.busiest_thread = busiest.map(|thread| thread.name.clone());
        sampled.busiest_thread_delay_ns = busiest.and_then(|thread| thread.wait_ns);
        sampled.usage = window.map(|window| window.usage).unwrap_or_default();
        let sees_kernel = refused.iter().all(|refused| refused.what != Facet::Kernel);
        sampled.interval_ns = interval(&sampled, sees_kernel);
        sampled.cpus = self.target.cpus.map_or(0, |cpus| u32::try_from(cpus.len()).unwrap_or(u32::MAX));
        match self.tcp.zip(now) {
            Some((before, after)) => sampled.tcp = tcp::since(&before, after),
            None => refused.push(gone(Facet::Tcp, "what TCP counted in its network namespace")),
        }
        (sampled, refused)
    }
}

fn gone(what: Facet, lost: &str) -> Refused {
    Refused { what, why: format!("the server ended in the slice, and with it {lost}") }
}

/// What a sample stands for: the time of the timer, or of the CPU's cycles what they took.
fn interval(sampled: &Sampled, sees_kernel: bool) -> Nanos {
    let samples = sampled.samples_of(assay_model::profile::Owner::Server);
    match sampled.clock {
        Clock::Software => Nanos(INTERVAL_NS),
        Clock::Hardware => {
            let seen = if sees_kernel { sampled.usage.cpu_ns() } else { sampled.usage.user_ns };
            Nanos(seen.0.checked_div(samples).unwrap_or(0))
        }
    }
}

/// Opens the best view that is allowed: of CPUs, where interrupts and new threads are seen too, else of threads, else of what these do in
/// their programs. Where the CPU shows its cycles they are the clock.
fn open(target: &Target) -> Result<(BTreeMap<Place, Ring>, View), String> {
    let cpus = || target.cpus.iter().flat_map(|cpus| cpus.iter()).map(Place::Cpu).collect::<Vec<_>>();
    let own = || {
        let threads = threads(&target.processes()).into_iter();
        threads.map(|(_, tid)| Place::Thread(tid)).collect::<Vec<_>>()
    };
    let mut why = "there is no such process".to_owned();
    for (places, with_kernel) in [(cpus(), true), (own(), true), (own(), false)] {
        for clock in [Clock::Hardware, Clock::Software] {
            let view = View { clock, by_cpu: matches!(places.first(), Some(Place::Cpu(_))), with_kernel };
            match rings(&places, view) {
                Ok(rings) if !rings.is_empty() => return Ok((rings, view)),
                Ok(_) => {}
                Err(error) => why = reason(&error),
            }
        }
    }
    Err(why)
}

/// The rings of all places; a thread that has ended since it was seen has none.
fn rings(places: &[Place], view: View) -> std::io::Result<BTreeMap<Place, Ring>> {
    let bytes = if view.by_cpu { RING } else { bytes_of_a_thread(places.len()) };
    let open = |place: &Place| match Ring::open(&event(view), *place, bytes) {
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => None,
        opened => Some(opened.map(|ring| (*place, ring))),
    };
    places.iter().filter_map(open).collect()
}

fn event(view: View) -> Builder<'static> {
    let mut builder = match view.clock {
        Clock::Hardware => Builder::new(Hardware::CPU_CYCLES),
        Clock::Software => Builder::new(Software::CPU_CLOCK),
    };
    builder.sample_period(match view.clock {
        Clock::Hardware => CYCLES,
        Clock::Software => INTERVAL_NS,
    });
    builder.exclude_kernel(!view.with_kernel).exclude_hv(true);
    builder.exclude_callchain_kernel(!view.with_kernel);
    builder.sample(SampleFlag::TID | SampleFlag::CALLCHAIN);
    builder
}

/// Gathers until it is over. Looking every now and then costs less than to be woken for each sample, and the rings are large enough.
fn gather(target: &Target, mut rings: Rings, view: Result<View, String>, over: &AtomicBool) -> Outcome {
    let (mut gathered, mut waits, mut names) = (Gathered::default(), Waits::default(), BTreeMap::new());
    let (mut looked, mut looks, mut processes) = (Instant::now(), 0, target.processes());
    let mut most_threads = 0;
    loop {
        let is_last = over.load(Ordering::Relaxed);
        if is_last {
            rings.open.values_mut().for_each(Ring::stop);
        }
        rings.drain(&mut gathered, &mut names);
        if is_last {
            let unwatched = rings.refused;
            return Outcome { gathered, waits, threads: names, most_threads, processes, view, unwatched };
        }
        looks += 1;
        if looks % LOOKS_TO_COME == 0 {
            processes.extend(target.processes());
        }
        let alive = threads(&processes);
        most_threads = most_threads.max(alive.len());
        if let Ok(view) = view.as_ref()
            && !view.by_cpu
        {
            rings.follow(&alive, *view);
        }
        std::thread::sleep(LOOK);
        let now = Instant::now();
        waits.look(&alive, now - looked);
        looked = now;
    }
}

impl Rings {
    /// Reads all, and gives back those of threads that have ended: the memory that may be locked for rings is little.
    fn drain(&mut self, gathered: &mut Gathered, threads: &mut BTreeMap<u32, String>) {
        for ring in self.open.values_mut() {
            gathered.lost += drain(ring, gathered, threads);
        }
        let ended = std::mem::take(&mut self.ended);
        self.open.retain(|place, _| !ended.contains(place));
    }

    /// Looks at threads that have come; one that has gone again meanwhile is missed.
    fn follow(&mut self, alive: &[(u32, u32)], view: View) {
        let places: BTreeSet<Place> = alive.iter().map(|(_, tid)| Place::Thread(*tid)).collect();
        self.ended = self.open.keys().filter(|place| !places.contains(place)).copied().collect();
        for place in places {
            if self.open.contains_key(&place) {
                continue;
            }
            match Ring::open(&event(view), place, bytes_of_a_thread(alive.len())) {
                Ok(ring) => drop(self.open.insert(place, ring)),
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                Err(error) => self.refused = Some(reason(&error)),
            }
        }
    }
}

fn drain(ring: &mut Ring, gathered: &mut Gathered, threads: &mut BTreeMap<u32, String>) -> u64 {
    ring.drain(|sample| {
        let (Some(pid), Some(tid)) = (sample.pid(), sample.tid()) else { return };
        // Named at once, because it may end before the others do.
        threads.entry(tid).or_insert_with(|| name_of(pid, tid));
        gathered.add(RawStack::of(pid, tid, sample.callchain().unwrap_or_default()));
    })
}

/// Gives names to all that was gathered.
fn named(outcome: Outcome, target: &Target) -> (Sampled, Vec<Refused>) {
    let Outcome { gathered, waits, threads, most_threads, mut processes, view, unwatched } = outcome;
    let mut refused = Vec::new();
    let most_threads = u32::try_from(most_threads).unwrap_or(u32::MAX);
    let mut sampled = Sampled { waits: waits.longest_first(), most_threads, ..Sampled::default() };
    match view {
        Err(why) => refused.push(Refused { what: Facet::Samples, why }),
        Ok(view) => {
            sampled.clock = view.clock;
            refused.extend(unseen(view, target));
        }
    }
    let not_all = |why| format!("not all threads that came in the slice were watched: {why}");
    refused.extend(unwatched.map(|why| Refused { what: Facet::Samples, why: not_all(why) }));
    processes.extend(target.processes());
    refused.extend(naming::name(&mut sampled, gathered, &threads, &processes, runtimes::compiled));
    (sampled, refused)
}

/// What a view does not show.
fn unseen(view: View, target: &Target) -> Vec<Refused> {
    let of = |what, why: &str| Refused { what, why: why.to_owned() };
    if !view.with_kernel {
        // One sentence for both: it is told once.
        let why = "only what the server does in its own code may be seen, neither the kernel's work for it nor who else has its \
            CPUs: run as root, or set kernel.perf_event_paranoid to 0";
        return vec![of(Facet::Kernel, why), of(Facet::Others, why)];
    }
    let others = match (view.by_cpu, &target.cpus) {
        (true, _) => return Vec::new(),
        (false, Some(_)) => {
            "who else has the server's CPUs may not be seen: run as root, or set kernel.perf_event_paranoid to 0"
        }
        (false, None) => "who else has its CPUs is not known, because it shares them",
    };
    vec![of(Facet::Others, others)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_has_ended_does_not_keep_others_from_being_watched() {
        let mut gone = std::process::Command::new("true").spawn().expect("a process");
        gone.wait().expect("ended");
        let mut alive = std::process::Command::new("sleep").arg("60").spawn().expect("a process");
        let places = [gone.id(), alive.id()].map(Place::Thread);
        let view = View { clock: Clock::Software, by_cpu: false, with_kernel: false };
        let opened = rings(&places, view).map(|rings| rings.into_keys().collect::<Vec<_>>());
        alive.kill().expect("killed");
        alive.wait().expect("ended");
        match opened {
            Ok(opened) => assert_eq!(opened, places[1..]),
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => panic!("the one that has ended"),
            Err(error) => assay_skip::skip("counters", reason(&error)),
        }
    }

    #[test]
    fn rings_of_threads_that_have_ended_are_read_once_more_and_given_back() {
        let view = View { clock: Clock::Software, by_cpu: false, with_kernel: false };
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("sleep");
        let (mut rings, mut gathered, mut names) = (Rings::default(), Gathered::default(), BTreeMap::new());
        rings.follow(&[(child.id(), child.id())], view);
        let (opened, refused) = (rings.open.len(), rings.refused.clone());
        rings.drain(&mut gathered, &mut names);
        let alive = rings.open.len();
        child.kill().expect("killed");
        child.wait().expect("ended");
        if let Some(why) = refused {
            return assay_skip::skip("counters", why);
        }
        assert_eq!((opened, alive), (1, 1));
        rings.follow(&[], view);
        assert_eq!(rings.open.len(), 1, "its last samples may be in it");
        rings.drain(&mut gathered, &mut names);
        assert_eq!((rings.open.len(), rings.ended.len()), (0, 0));
        rings.follow(&[(child.id(), child.id())], view);
        assert_eq!((rings.open.len(), rings.refused), (0, None), "nobody is there to be watched");
    }

    #[test]
    fn a_thread_that_may_not_be_watched_is_told() {
        let view = View { clock: Clock::Software, by_cpu: false, with_kernel: false };
        let follow = move || {
            let nobody = rustix::process::Uid::from_raw(65_534);
            // Of this thread alone; whoever may not do that has few rights already.
            let _ = rustix::thread::set_thread_res_uid(nobody, nobody, nobody);
            let mut rings = Rings::default();
            // The first process of the machine, or of the container, is root's.
            rings.follow(&[(1, 1)], view);
            rings.refused
        };
        let refused = std::thread::spawn(follow).join().expect("a thread");
        let Some(why) = refused else { return assay_skip::skip("root", "everybody may be watched here") };
        let outcome = Outcome {
            gathered: Gathered::default(),
            waits: Waits::default(),
            threads: BTreeMap::new(),
            most_threads: 1,
            processes: BTreeSet::new(),
            view: Ok(view),
            unwatched: Some(why),
        };
        let (_, refused) = named(outcome, &Target { roots: Vec::new(), cpus: None });
        let samples = refused.iter().filter(|refused| refused.what == Facet::Samples);
        let whys: Vec<&str> = samples.map(|refused| &*refused.why).collect();
        assert!(matches!(whys[..], [why] if why.starts_with("not all threads")), "{refused:?}");
    }

    #[test]
    fn either_clock_samples_a_busy_thread() {
        for clock in [Clock::Software, Clock::Hardware] {
            let view = View { clock, by_cpu: false, with_kernel: false };
            let child = std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn();
            let mut child = child.expect("sh");
            let opened = Ring::open(&event(view), Place::Thread(child.id()), RING);
            let (mut samples, began) = (0, Instant::now());
            let told = opened.map(|mut ring| {
                while samples == 0 && began.elapsed() < Duration::from_secs(60) {
                    std::thread::sleep(LOOK);
                    ring.drain(|sample| samples += usize::from(sample.callchain().is_some()));
                }
            });
            child.kill().expect("killed");
            child.wait().expect("ended");
            match told {
                Ok(()) => assert!(samples > 0, "{clock:?}"),
                Err(error) => assay_skip::skip("counters", format_args!("{clock:?}: {}", reason(&error))),
            }
        }
    }
}
