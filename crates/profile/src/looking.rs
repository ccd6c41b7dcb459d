//! Looks into runtimes, now and then while a server is under load: what was found waiting at one look stands for the time since the last.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use assay_model::profile::{Awaited, Refused, Waiter};
use assay_model::units::Nanos;

use crate::naming::Names;
use crate::runtimes::{self, Runtimes, Waiting, unseen};
use crate::target::Target;

/// Time between two looks; no whole number of milliseconds, so that they keep step with nothing that a server does.
const LOOK: Duration = Duration::from_micros(7_310);
/// Looks take at most one part in so many of the time: the CPU may be the generator's too.
const REST: u32 = 20;
/// Most things that are waited for, most that wait for one, and most ways to it.
const MAX_THINGS: usize = 1 << 16;
const MAX_WAITERS: usize = 1 << 16;
const MAX_WAYS: usize = 64;
/// Most things that are kept: threads wait for few things longest.
const MOST: usize = 32;

/// Looks that go on.
#[derive(Debug)]
pub(crate) struct Looking {
    over: Arc<AtomicBool>,
    looker: JoinHandle<Looks>,
    refused: Vec<Refused>,
}

/// What was seen so far.
#[derive(Default)]
struct Looks {
    runtimes: Runtimes,
    found: Found,
}

/// Where something is that is waited for: the number of its runtime, its address, and its class.
type Thing = (usize, u64, Option<Arc<str>>);

/// Numbers of those that wait, each in its runtime.
type Numbers = HashMap<(usize, u64), u32>;

/// Everything that was found waited for.
#[derive(Debug, Default)]
struct Found(HashMap<Thing, Waits>);

/// Waits for one thing.
#[derive(Debug, Default)]
struct Waits {
    time: Duration,
    waiters: HashSet<u64>,
    ways: HashMap<Vec<u64>, u64>,
}

impl Looking {
    /// Begins to look into the runtimes that processes have now.
    pub(crate) fn start(target: &Target, processes: &BTreeSet<u32>) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        // Before the load: to read the symbols of a program takes time.
        let (runtimes, refused) = runtimes::of(processes);
        let looker = std::thread::spawn({
            let (target, over) = (target.clone(), Arc::clone(&over));
            move || {
                target.keep_clear();
                look(runtimes, &over)
            }
        });
        Self { over, looker, refused }
    }

    /// Ends it: what was waited for longest, and what could not be seen.
    pub(crate) fn finish(self) -> (Vec<Awaited>, Vec<Refused>) {
        self.over.store(true, Ordering::Relaxed);
        let Self { looker, mut refused, .. } = self;
        let Ok(Looks { runtimes, found }) = looker.join() else {
            refused.push(unseen("the thread that looks into runtimes has failed".to_owned()));
            return (Vec::new(), refused);
        };
        refused.extend(runtimes.iter().filter_map(|(_, runtime)| runtime.complaint()).map(unseen));
        let (names, mut numbers) = (Names::new(), Numbers::new());
        let awaited = found.longest().map(|((runtime, address, class), waits)| {
            let (pid, inside) = &runtimes[runtime];
            let is_thread = inside.waiter() == Waiter::Thread;
            Awaited {
                address,
                class: class.map(|class| class.to_string()),
                waiter: inside.waiter(),
                waiters: u32::try_from(waits.waiters.len()).unwrap_or(u32::MAX),
                waiter_ids: if is_thread { waits.ids(runtime, &mut numbers) } else { Vec::new() },
                time_ns: Nanos::from(waits.time),
                callers: inside.frames(&names, *pid, &waits.way()),
            }
        });
        (awaited.collect(), refused)
    }
}

fn look(mut runtimes: Runtimes, over: &AtomicBool) -> Looks {
    let (mut found, mut looked) = (Found::default(), Instant::now());
    while !runtimes.is_empty() && !over.load(Ordering::Relaxed) {
        std::thread::sleep(LOOK);
        let now = Instant::now();
        let since = now - looked;
        looked = now;
        for (number, (_, runtime)) in runtimes.iter_mut().enumerate() {
            runtime.look(&mut |waiting| found.add(number, waiting, since));
        }
        std::thread::sleep((now.elapsed() * REST).saturating_sub(LOOK));
    }
    Looks { runtimes, found }
}

impl Found {
    /// Adds one that was found waiting, for a time.
    fn add(&mut self, runtime: usize, waiting: Waiting, time: Duration) {
        let Waiting { address, class, waiter, way } = waiting;
        let thing = (runtime, address, class);
        if self.0.len() >= MAX_THINGS && !self.0.contains_key(&thing) {
            return;
        }
        let waits = self.0.entry(thing).or_default();
        waits.time += time;
        if waits.waiters.len() < MAX_WAITERS {
            waits.waiters.insert(waiter);
        }
        if let Some(way) = way
            && (waits.ways.len() < MAX_WAYS || waits.ways.contains_key(&way))
        {
            *waits.ways.entry(way).or_default() += 1;
        }
    }

    /// What was waited for longest, that first.
    fn longest(self) -> impl Iterator<Item = (Thing, Waits)> {
        let mut all: Vec<(Thing, Waits)> = self.0.into_iter().collect();
        all.sort_by(|(a, of_a), (b, of_b)| of_b.time.cmp(&of_a.time).then_with(|| a.cmp(b)));
        all.into_iter().take(MOST)
    }
}

impl Waits {
    /// The numbers of those that waited, in their order; whoever has none yet gets the next.
    fn ids(&self, runtime: usize, numbers: &mut Numbers) -> Vec<u32> {
        let number = |waiter: &u64| {
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            *numbers.entry((runtime, *waiter)).or_insert(next)
        };
        let mut ids: Vec<u32> = self.waiters.iter().map(number).collect();
        ids.sort_unstable();
        ids
    }

    /// The way that was found most often; of equals the one that is smaller.
    fn way(&self) -> Vec<u64> {
        let best = self.ways.iter().max_by(|a, b| a.1.cmp(b.1).then_with(|| b.0.cmp(a.0)));
        best.map(|(way, _)| way.clone()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(address: u64, waiter: u64, way: &[u64]) -> Waiting {
        Waiting { address, class: None, waiter, way: Some(way.to_vec()) }
    }

    #[test]
    fn each_look_stands_for_the_time_since_the_last() {
        let (mut found, ms) = (Found::default(), Duration::from_millis);
        found.add(0, waiting(8, 1, &[5]), ms(7));
        found.add(0, waiting(8, 2, &[6]), ms(7));
        found.add(0, waiting(8, 1, &[6]), ms(9));
        found.add(0, waiting(16, 1, &[]), ms(30));
        found.add(1, waiting(8, 1, &[5]), ms(1));
        let found: Vec<(Thing, Waits)> = found.longest().collect();
        let told = |(thing, waits): &(Thing, Waits)| {
            (thing.0, thing.1, waits.time, waits.waiters.len(), waits.way())
        };
        assert_eq!(
            found.iter().map(told).collect::<Vec<_>>(),
            [(0, 16, ms(30), 1, vec![]), (0, 8, ms(23), 2, vec![6]), (1, 8, ms(1), 1, vec![5])]
        );
    }

    #[test]
    fn those_that_wait_have_one_number_whatever_they_wait_for() {
        let (mut found, mut numbers) = (Found::default(), Numbers::new());
        for (at, waiter) in [(8, 71), (8, 72), (16, 72)] {
            found.add(0, waiting(at, waiter, &[]), LOOK);
        }
        let [lock, queue] = [8, 16].map(|at| found.0[&(0, at, None)].ids(0, &mut numbers));
        assert!(lock == [0, 1] && queue.len() == 1 && lock.contains(&queue[0]), "{lock:?}, {queue:?}");
        let elsewhere = found.0[&(0, 16, None)].ids(1, &mut numbers);
        assert_eq!(elsewhere, [2], "of another process");
    }

    #[test]
    fn what_finds_no_room_is_left_out() {
        let (mut found, ms) = (Found::default(), Duration::from_millis(1));
        (0..MAX_THINGS as u64 + 2).for_each(|address| found.add(0, waiting(address, 1, &[]), ms));
        (0..MAX_WAYS as u64 + 2).for_each(|way| found.add(0, waiting(0, way, &[way]), ms));
        assert_eq!((found.0.len(), found.0[&(0, 0, None)].ways.len()), (MAX_THINGS, MAX_WAYS));
    }
}
