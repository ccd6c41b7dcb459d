//! All servers of a round at once: short windows rotate over them, so that every contender sees every phase of the machine.
//!
//! One server is under load at a time, on the CPUs that it would have alone; the others wait with their connections open. The
//! order is drawn anew for each rotation (docs/method/carousel.md#what-a-round-does).

use std::time::{Duration, Instant};

use assay_host::census::Spent;
use assay_host::gauge::{Gauge, Gauging};
use assay_model::experiment::Cell;
use assay_model::record::{Measurement, Run, Turn};
use assay_model::units::Nanos;
use assay_model::usage::Usage;
use assay_verdict::allocation::{SETTLED_EVERY, Settled};

use super::event::Event;
use super::halt::{Halt, Halts};
use super::server_run::{Age, OngoingRun, wanted};
use super::straight::Tally;
use super::telling::Telling;
use super::turn_length::{Bounds, TurnLength};
use super::watch::{Seen, Watch};
use crate::generator::Generator;
use crate::hosts::host::{HostSpan, JobHandle};
use crate::hosts::message::{Detail, ThreadUse};
use crate::log;
use crate::schedule::{MAX_ROTATIONS, MIN_ROTATIONS, rotation};
use crate::stop::Stop;

/// How often a turn is repeated from which others took too much.
const REPEATS: u32 = 1;

/// The rotations over one cell in one round.
pub(super) struct Rotations<'a> {
    pub(super) cell: &'a Cell,
    /// What each window may last.
    pub(super) lengths: Bounds,
    pub(super) pace: Pace,
    /// Who gets fewer turns.
    pub(super) settled: &'a Settled,
    pub(super) seed: u64,
    pub(super) round: u32,
    /// The number of the cell among the experiment's.
    pub(super) number: usize,
    pub(super) stop: &'a Stop,
}

/// When a cell has had its rotations: after so many, or when another one would end later than that, by the clock that stands still in
/// pauses ([`Stop::time`]).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pace {
    pub(super) most: u32,
    pub(super) until: Option<Instant>,
    /// What a turn was planned to take, where nobody has timed one: slower ones are then fewer, because rounds that are planned as equals
    /// would not be if the first took the others' time.
    pub(super) planned: Option<Duration>,
}

/// A server that takes turns, with its generator.
struct Participant<'l, 'a> {
    ongoing: &'l mut OngoingRun<'a>,
    generator: Generator,
    length: TurnLength,
    /// Most turns.
    most: u32,
    /// How many rotations it has one turn in, and the first of them: replicas have theirs one after the other.
    every: u32,
    first: u32,
    /// Rotations in which it had its turn.
    rotations: u32,
    turns: Vec<Turn>,
    seen: Option<Seen>,
    /// From the end of its lead-in on, to know what it used while others had their turns.
    span: Option<HostSpan>,
    /// What that showed in the end.
    whole: Option<ThreadUse>,
    /// The requests that a proxy's upstream had counted before the generator began.
    tally: Tally,
}

impl Rotations<'_> {
    /// Measures the cell on all `lives` that take part in it and files a window for each. What goes wrong with one of them is
    /// returned with its place in `lives` and ends its part; the others go on.
    pub(super) fn run(
        &self,
        server_runs: &mut [(usize, &mut OngoingRun<'_>)],
        settle: impl Fn(&str) -> Nanos,
        telling: &Telling<'_>,
    ) -> Halts {
        let mut failures = Vec::new();
        let mut participants = Vec::new();
        let database = self.database_of(server_runs);
        for (place, ongoing) in
            server_runs.iter_mut().filter(|(_, ongoing)| ongoing.server_run.cells.contains(self.cell))
        {
            let settle = settle(&ongoing.run.contender);
            match self.join(ongoing, settle) {
                Ok(participant) => participants.push((*place, participant)),
                Err(failure) => failures.push((*place, failure)),
            }
        }
        self.connect(&mut participants, &mut failures);
        let database = database.and_then(|job| job.begin(Detail::ByThread));
        self.rotate(&mut participants, &mut failures, telling);
        let database = database.and_then(|span| Some(span.finish_soon()?.first_by_thread()?.usage));
        self.stop_watching(&mut participants);
        for (place, participant) in participants {
            failures.extend(
                self.finish(participant, database.as_ref(), telling).err().map(|failure| (place, failure)),
            );
        }
        failures
    }

    /// The database of those who take part, if it can be seen: it is then looked at closely for the turns of all.
    fn database_of(&self, server_runs: &[(usize, &mut OngoingRun<'_>)]) -> Option<JobHandle> {
        let (_, first) =
            server_runs.iter().find(|(_, ongoing)| ongoing.server_run.cells.contains(self.cell))?;
        first.server_run.database_of(self.cell)?.seen.clone()
    }

    fn join<'l, 'a>(
        &self,
        ongoing: &'l mut OngoingRun<'a>,
        settle: Nanos,
    ) -> Result<Participant<'l, 'a>, Halt> {
        let tally = Tally::begin(&ongoing.server);
        let generator = ongoing.server_run.generator(&mut ongoing.server, self.cell)?;
        let is_settled = self.settled.has(&ongoing.run.contender, self.cell);
        let replicas = ongoing.replicas_in(self.cell, self.settled);
        let every = if is_settled { SETTLED_EVERY } else { replicas };
        let first = ongoing.server_run.replica;
        let (length, most) = (self.lengths.turn(settle, None), self.pace.most);
        Ok(Participant {
            ongoing,
            generator,
            length,
            most,
            every,
            first,
            rotations: 0,
            turns: Vec::new(),
            seen: None,
            span: None,
            whole: None,
            tally,
        })
    }

    /// Waits until all generators run, which start at once, and have made their connections: a ramp beside somebody else's window
    /// would be load on its generator.
    fn connect(&self, participants: &mut Vec<(usize, Participant<'_, '_>)>, failures: &mut Halts) {
        participants.retain_mut(|(place, participant)| {
            let Participant { ongoing, generator, .. } = participant;
            let connected =
                wanted(&mut ongoing.server, self.stop, |wanted| generator.await_connections(wanted));
            let is_connected = connected.is_ok();
            failures.extend(connected.err().map(|failure| (*place, failure)));
            is_connected
        });
    }

    fn rotate(
        &self,
        participants: &mut Vec<(usize, Participant<'_, '_>)>,
        failures: &mut Halts,
        telling: &Telling<'_>,
    ) {
        let (all, began) = (participants.len(), self.stop.time());
        let (mut longest, mut leading_in) = (Duration::ZERO, Duration::ZERO);
        for number in 0..MAX_ROTATIONS {
            let (pace, now) = (self.pace.as_planned(all, began + leading_in), self.stop.time());
            if participants.is_empty() || self.stop.soon() || !pace.allows(number, longest, now) {
                return;
            }
            let led_in = self.rotation(number, participants, failures, telling);
            longest = longest.max(self.stop.time().duration_since(now).saturating_sub(led_in));
            leading_in += led_in;
        }
    }

    /// A turn of each, the first one after its lead-in. Gives the time that went into lead-ins.
    fn rotation(
        &self,
        number: u32,
        participants: &mut Vec<(usize, Participant<'_, '_>)>,
        failures: &mut Halts,
        telling: &Telling<'_>,
    ) -> Duration {
        let (mut leading_in, mut failed) = (Duration::ZERO, Vec::new());
        let order = rotation(self.seed, self.round, self.number, number, participants.len());
        for (place, index) in (0..).zip(order) {
            if !participants[index].1.has_turn_in(number) {
                continue;
            }
            let done = self.lead_in(participants, index, telling).and_then(|led_in| {
                leading_in += led_in;
                self.turn_until_it_counts(&mut participants[index].1, (number, place), telling)
            });
            if let Err(failure) = done {
                failed.push((index, failure));
            }
        }
        failed.sort_by_key(|(index, _)| std::cmp::Reverse(*index));
        failures.extend(failed.into_iter().map(|(index, failure)| (participants.remove(index).0, failure)));
        leading_in
    }

    /// Has a participant answer for a while before its first turn, with no rest between the two in which it could get cold again. Gives the
    /// time that it took. A control goes by what its original was seen to need so far.
    fn lead_in(
        &self,
        participants: &mut [(usize, Participant<'_, '_>)],
        index: usize,
        telling: &Telling<'_>,
    ) -> Result<Duration, Halt> {
        if participants[index].1.rotations > 0 {
            return Ok(Duration::ZERO);
        }
        telling.pause(self.stop);
        let (began, original) = (self.stop.time(), original_of(participants, index));
        let participant = &mut participants[index].1;
        let ongoing = &mut participant.ongoing;
        if original.is_some() {
            ongoing.server_run.begun_before = original;
        }
        ongoing.lead_in(&mut participant.generator, self.cell, telling)?;
        self.fit(participant);
        participant.span = participant.ongoing.server.seen().and_then(|job| job.begin(Detail::ByThread));
        Ok(self.stop.time().duration_since(began))
    }

    /// Gives a participant turns that are long enough for its answers, and fewer of them where no clock ends the rotations.
    fn fit(&self, participant: &mut Participant<'_, '_>) {
        participant.length =
            self.lengths.turn(participant.length.settle, participant.ongoing.response_time(self.cell));
        if participant.length.window > self.lengths.least {
            log::lengthens(&participant.ongoing.run.contender, self.cell, participant.length.window);
        }
        if self.pace.until.is_none() {
            participant.most = self.lengths.turns_in_the_time_of(self.pace.most, participant.length);
        }
    }

    /// A turn, and another one at once where others took too much of it. Else the few turns of a long rotation would all be theirs now and
    /// then, and with them what a restart has to say.
    fn turn_until_it_counts(
        &self,
        participant: &mut Participant<'_, '_>,
        at: (u32, u32),
        telling: &Telling<'_>,
    ) -> Result<(), Halt> {
        participant.rotations += 1;
        for _ in 0..=REPEATS {
            telling.pause(self.stop);
            let contender = &participant.ongoing.run.contender;
            telling.notice(&Event::Measuring { contender, cell: self.cell });
            self.turn(participant, at)?;
            self.tell(participant, telling);
            if self.stop.soon() || !participant.turns.last().is_some_and(Turn::is_void) {
                break;
            }
        }
        Ok(())
    }

    fn turn(&self, participant: &mut Participant<'_, '_>, (rotation, place): (u32, u32)) -> Result<(), Halt> {
        let Participant { ongoing, generator, length, .. } = participant;
        let Age { offset_ns, loaded_ns } = ongoing.age();
        let watch = Watch::start_turn(&ongoing.server_run, &ongoing.server, self.cell);
        let gauging = ongoing.server_run.gauge.map(Gauge::start);
        let load = wanted(&mut ongoing.server, self.stop, |wanted| {
            generator.window(length.settle, length.window, wanted)
        })?;
        let gauged = gauging.and_then(Gauging::finish);
        let seen = watch.finish(&ongoing.server_run, &ongoing.server, Duration::from_nanos(load.window_ns.0));
        let seen = seen.with_gauge(gauged.as_ref());
        let server_cpu_ns = seen.spent.and_then(|spent| spent.cpu_ns);
        let (speed, energy) = (seen.speed.clone(), seen.energy);
        let taken = seen.taken(&ongoing.server_run, &load);
        ongoing.loaded += load.settle_ns + load.window_ns;
        let of_turn = Turn { rotation, place, offset_ns, loaded_ns, load, ..Turn::default() };
        let turn = Turn { server_cpu_ns, energy, speed, gauged, taken, ..of_turn };
        participant.turns.push(turn);
        participant.seen =
            Some(participant.seen.take().map_or_else(|| seen.clone(), |before| before.then(&seen)));
        Ok(())
    }

    /// Tells of a participant's last turn.
    fn tell(&self, participant: &Participant<'_, '_>, telling: &Telling<'_>) {
        let Some(Turn { load, .. }) = participant.turns.last() else { return };
        let (per_second, failed) = (load.window_ns.rate_of(load.ok), load.failed);
        let contender = &participant.ongoing.run.contender;
        telling.notice(&Event::Turned { contender, cell: self.cell, per_second, failed });
    }

    /// Looks at what each used, and then lets all generators end at once: that takes each a while, and closing connections is work for
    /// the servers.
    fn stop_watching(&self, participants: &mut [(usize, Participant<'_, '_>)]) {
        for (_, participant) in participants.iter_mut() {
            let span = participant.span.take();
            participant.whole = span.and_then(|span| span.finish()?.first_by_thread());
        }
        participants.iter_mut().for_each(|(_, participant)| participant.generator.begin_to_finish());
    }

    /// Files what a participant's turns were together, unless their answers were held against what turns out to vary: the next round
    /// knows.
    fn finish(
        &self,
        participant: Participant<'_, '_>,
        database: Option<&Usage>,
        telling: &Telling<'_>,
    ) -> Result<(), Halt> {
        let Participant { ongoing, generator, turns, seen, whole, tally, .. } = participant;
        let (Some(seen), Some(first)) = (seen, turns.first()) else { return Ok(()) };
        let age = Age { offset_ns: first.offset_ns, loaded_ns: first.loaded_ns };
        let idle_busy_share = whole.as_ref().and_then(|whole| idle_share(&whole.usage, seen.spent?));
        let seen = match whole {
            Some(whole) => seen.with(&ongoing.server, whole),
            None => seen,
        };
        let seen = seen.with_database(database);
        let load = wanted(&mut ongoing.server, self.stop, |wanted| generator.finish(wanted))?;
        ongoing.check_server(load.books.failed() > 0)?;
        if ongoing.unlearns(&load)? {
            return Ok(());
        }
        let mut window = seen.beside(&ongoing.server_run, self.cell, age, load);
        tally.note(&ongoing.server, &mut window);
        // Each turn has its own speed.
        ongoing.file(Measurement { turns, idle_busy_share, speed: None, ..window }, telling);
        Ok(())
    }
}

/// The life so far of the original that a control has among the participants.
fn original_of(participants: &[(usize, Participant<'_, '_>)], control: usize) -> Option<Run> {
    let original = participants[control].1.ongoing.server_run.entry.control_of.as_ref()?;
    let mut lives = participants.iter().map(|(_, participant)| &participant.ongoing.run);
    lives.find(|run| run.contender == *original).cloned()
}

impl Participant<'_, '_> {
    fn has_turn_in(&self, rotation: u32) -> bool {
        rotation % self.every == self.first && self.rotations < self.most
    }
}

/// Share of one CPU that a server used while others had their turns, going by all that it used and what it spent in its own.
fn idle_share(whole: &Usage, own: Spent) -> Option<f64> {
    let cpu = whole.cpu_ns() - own.cpu_ns?;
    let wall = whole.wall_ns - own.wall.into();
    Some(cpu.0 as f64 / wall.0.max(1) as f64)
}

impl Pace {
    /// A share of what is left of it `now`, but the least number of rotations at least.
    pub(super) fn part(self, share: f64, now: Instant) -> Self {
        // `as` saturates, and the value is a whole number in range.
        let most = (f64::from(self.most) * share).round() as u32;
        Self {
            most: most.max(MIN_ROTATIONS.min(self.most)),
            until: self.until.map(|until| now + until.saturating_duration_since(now).mul_f64(share)),
            ..self
        }
    }

    /// This one, for turns that begin `now`: over after the time that was planned for all of them, if it is not before.
    fn as_planned(self, participants: usize, now: Instant) -> Self {
        let all = self.most.saturating_mul(u32::try_from(participants).unwrap_or(u32::MAX));
        let planned = self.planned.map(|each| now + each * all);
        Self { until: self.until.into_iter().chain(planned).min(), ..self }
    }

    /// Whether rotation `number`, the first being 0, may begin `now` when the longest so far took `longest`.
    pub(super) fn allows(self, number: u32, longest: Duration, now: Instant) -> bool {
        let in_time = |until| number < MIN_ROTATIONS || now + longest <= until;
        number < self.most && self.until.is_none_or(in_time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_that_are_slower_than_planned_are_fewer_but_not_fewer_than_can_be_judged() {
        let (now, second) = (Instant::now(), Duration::from_secs(1));
        let planned = |each_s: f64| Some(Duration::from_secs_f64(each_s));
        // Four servers with six turns of a quarter of a second: six seconds, where a round could take ten.
        let pace =
            Pace { most: 6, until: Some(now + second * 10), planned: planned(0.25) }.as_planned(4, now);
        assert_eq!(pace.until, Some(now + second * 6));
        // A rotation takes two seconds instead of one.
        let fitting =
            |pace: Pace| (0..).find(|number| !pace.allows(*number, second * 2, now + second * 2 * *number));
        assert_eq!(fitting(pace), Some(3));
        let slow = Pace { planned: planned(0.01), ..pace }.as_planned(4, now);
        assert_eq!(fitting(slow), Some(MIN_ROTATIONS));
        let timed = Pace { planned: None, until: Some(now + second * 10), ..pace };
        assert_eq!((timed.as_planned(4, now), fitting(timed)), (timed, Some(5)));
        let late = Pace { until: Some(now + second * 4), ..pace }.as_planned(4, now);
        assert_eq!(late.until, Some(now + second * 4), "the round ends before");
    }
}
