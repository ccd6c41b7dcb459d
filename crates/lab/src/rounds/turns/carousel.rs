//! All servers of a round at once: short windows rotate over them, so that every contender sees every phase of the machine.
//!
//! One server is under load at a time, on the CPUs that it would have alone; the others wait with their connections open. The
//! order is drawn anew for each rotation (docs/method/carousel.md#what-a-round-does).

use std::time::Duration;

use assay_host::census::Spent;
use assay_host::gauge::{Gauge, Gauging};
use assay_model::load::Arrival;
use assay_model::record::{Measurement, Run, Turn};
use assay_model::usage::Usage;
use assay_verdict::allocation::{SETTLED_EVERY, Settled};

use super::cell_turns::CellTurns;
use super::turn_length::TurnLength;
use crate::event::Event;
use crate::generator::Generator;
use crate::hosts::host::{HostSpan, JobHandle};
use crate::hosts::message::{Detail, ThreadUse};
use crate::log;
use crate::rounds::life::halt::{Halt, Halts};
use crate::rounds::life::server_run::{Age, OngoingRun, while_wanted};
use crate::rounds::life::straight::Tally;
use crate::rounds::life::watch::{Seen, Watch};
use crate::rounds::telling::Telling;
use crate::schedule::{MAX_ROTATIONS, rotation};

/// How often a turn is repeated from which others took too much.
const REPEATS: u32 = 1;

/// The rotations over one cell in one round.
pub(super) struct Rotations<'a> {
    pub(crate) turns: CellTurns<'a>,
    /// Who gets fewer turns.
    pub(crate) settled: &'a Settled,
}

/// A server that takes turns, with its generator.
struct Participant<'l, 'a> {
    /// Where it is among the server runs of the round.
    place: usize,
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
    /// Measures the cell on all `server_runs` that take part in it and files a window for each. What goes wrong with one of them is
    /// returned with its place and ends its part; the others go on.
    pub(crate) fn run(
        &self,
        server_runs: &mut [(usize, &mut OngoingRun<'_>)],
        telling: &Telling<'_>,
    ) -> Halts {
        let database = self.database_of(server_runs);
        let (mut participants, mut failures) =
            self.turns.join_all(server_runs, |_| true, |place, ongoing| self.join(place, ongoing));
        self.connect(&mut participants, &mut failures);
        let database = database.and_then(|job| job.begin(Detail::ByThread));
        self.rotate(&mut participants, &mut failures, telling);
        let database = database.and_then(|span| Some(span.finish_without_memory()?.first_by_thread()?.usage));
        self.stop_watching(&mut participants);
        for participant in participants {
            let place = participant.place;
            let finished = self.finish(participant, database.as_ref(), telling);
            failures.extend(finished.err().map(|failure| (place, failure)));
        }
        failures
    }

    /// The database of those who take part, if it can be seen: it is then looked at closely for the turns of all.
    fn database_of(&self, server_runs: &[(usize, &mut OngoingRun<'_>)]) -> Option<JobHandle> {
        let (_, first) =
            server_runs.iter().find(|(_, ongoing)| ongoing.server_run.cells.contains(self.turns.cell))?;
        first.server_run.database_of(self.turns.cell)?.seen.clone()
    }

    fn join<'l, 'a>(
        &self,
        place: usize,
        ongoing: &'l mut OngoingRun<'a>,
    ) -> Result<Participant<'l, 'a>, Halt> {
        let tally = Tally::begin(&ongoing.server);
        let generator =
            ongoing.server_run.start_generator(&mut ongoing.server, self.turns.cell, Arrival::Closed)?;
        let is_settled = self.settled.has(&ongoing.run.contender, self.turns.cell);
        let replicas = ongoing.replicas_in(self.turns.cell, self.settled);
        let every = if is_settled { SETTLED_EVERY } else { replicas };
        let first = ongoing.server_run.replica;
        let (length, most) = (self.turns.length_for(ongoing, None), self.turns.pace.most);
        Ok(Participant {
            place,
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
    fn connect(&self, participants: &mut Vec<Participant<'_, '_>>, failures: &mut Halts) {
        participants.retain_mut(|participant| {
            let Participant { place, ongoing, generator, .. } = participant;
            let connected = while_wanted(&mut ongoing.server, self.turns.stop, |wanted| {
                generator.await_connections(wanted)
            });
            let is_connected = connected.is_ok();
            failures.extend(connected.err().map(|failure| (*place, failure)));
            is_connected
        });
    }

    fn rotate(
        &self,
        participants: &mut Vec<Participant<'_, '_>>,
        failures: &mut Halts,
        telling: &Telling<'_>,
    ) {
        let CellTurns { pace, stop, .. } = self.turns;
        let (all, began) = (participants.len(), stop.unpaused_now());
        let (mut longest, mut leading_in) = (Duration::ZERO, Duration::ZERO);
        for number in 0..MAX_ROTATIONS {
            let (pace, now) = (pace.as_planned(all, began + leading_in), stop.unpaused_now());
            if participants.is_empty() || stop.is_requested() || !pace.allows(number, longest, now) {
                return;
            }
            let led_in = self.rotation(number, participants, failures, telling);
            longest = longest.max(stop.unpaused_now().duration_since(now).saturating_sub(led_in));
            leading_in += led_in;
        }
    }

    /// A turn of each, the first one after its lead-in. Gives the time that went into lead-ins.
    fn rotation(
        &self,
        number: u32,
        participants: &mut Vec<Participant<'_, '_>>,
        failures: &mut Halts,
        telling: &Telling<'_>,
    ) -> Duration {
        let (mut leading_in, mut failed) = (Duration::ZERO, Vec::new());
        let CellTurns { seed, round, number: cell, .. } = self.turns;
        let order = rotation(seed, round, cell, number, participants.len());
        for (place, index) in (0..).zip(order) {
            if !participants[index].has_turn_in(number) {
                continue;
            }
            let done = self.lead_in(participants, index, telling).and_then(|led_in| {
                leading_in += led_in;
                self.turn_until_it_counts(&mut participants[index], (number, place), telling)
            });
            if let Err(failure) = done {
                failed.push((index, failure));
            }
        }
        failed.sort_by_key(|(index, _)| std::cmp::Reverse(*index));
        failures
            .extend(failed.into_iter().map(|(index, failure)| (participants.remove(index).place, failure)));
        leading_in
    }

    /// Has a participant answer for a while before its first turn, with no rest between the two in which it could get cold again. Gives the
    /// time that it took. A control goes by what its original was seen to need so far.
    fn lead_in(
        &self,
        participants: &mut [Participant<'_, '_>],
        index: usize,
        telling: &Telling<'_>,
    ) -> Result<Duration, Halt> {
        if participants[index].rotations > 0 {
            return Ok(Duration::ZERO);
        }
        telling.pause(self.turns.stop);
        let (began, original) = (self.turns.stop.unpaused_now(), original_of(participants, index));
        let participant = &mut participants[index];
        let ongoing = &mut participant.ongoing;
        if original.is_some() {
            ongoing.server_run.begun_before = original;
        }
        ongoing.lead_in(&mut participant.generator, self.turns.cell, telling)?;
        self.fit(participant);
        participant.span = participant.ongoing.server.seen().and_then(|job| job.begin(Detail::ByThread));
        Ok(self.turns.stop.unpaused_now().duration_since(began))
    }

    /// Gives a participant turns that are long enough for its answers, and fewer of them where no clock ends the rotations.
    fn fit(&self, participant: &mut Participant<'_, '_>) {
        let CellTurns { cell, lengths, pace, .. } = self.turns;
        let response_time = participant.ongoing.response_time(cell);
        participant.length = lengths.turn(participant.length.settle, response_time);
        if participant.length.window > lengths.least {
            log::lengthens(&participant.ongoing.run.contender, cell, participant.length.window);
        }
        if pace.until.is_none() {
            participant.most = lengths.turns_in_the_time_of(pace.most, participant.length);
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
            telling.pause(self.turns.stop);
            let contender = &participant.ongoing.run.contender;
            telling.notice(&Event::Measuring { contender, cell: self.turns.cell });
            self.turn(participant, at)?;
            let Some(turn) = participant.turns.last() else { break };
            telling.turned(&participant.ongoing.run.contender, self.turns.cell, &turn.load);
            if self.turns.stop.is_requested() || !turn.is_void() {
                break;
            }
        }
        Ok(())
    }

    fn turn(&self, participant: &mut Participant<'_, '_>, (rotation, place): (u32, u32)) -> Result<(), Halt> {
        let Participant { ongoing, generator, length, .. } = participant;
        let Age { offset_ns, loaded_ns } = ongoing.age();
        let watch = Watch::start_turn(&ongoing.server_run, &ongoing.server, self.turns.cell);
        let gauging = ongoing.server_run.bench.gauge.as_ref().map(Gauge::start);
        let load = while_wanted(&mut ongoing.server, self.turns.stop, |wanted| {
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

    /// Looks at what each used, and then lets all generators end at once: that takes each a while, and closing connections is work for
    /// the servers.
    fn stop_watching(&self, participants: &mut [Participant<'_, '_>]) {
        for participant in participants.iter_mut() {
            let span = participant.span.take();
            participant.whole = span.and_then(|span| span.finish()?.first_by_thread());
        }
        participants.iter_mut().for_each(|participant| participant.generator.begin_to_finish());
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
        let load = while_wanted(&mut ongoing.server, self.turns.stop, |wanted| generator.finish(wanted))?;
        ongoing.check_server(load.books.failed() > 0)?;
        if ongoing.unlearns(&load)? {
            return Ok(());
        }
        let mut window = seen.into_measurement(&ongoing.server_run, self.turns.cell, age, load);
        tally.note(&ongoing.server, &mut window);
        // Each turn has its own speed.
        ongoing.file(Measurement { turns, idle_busy_share, speed: None, ..window }, telling);
        Ok(())
    }
}

/// The life so far of the original that a control has among the participants.
fn original_of(participants: &[Participant<'_, '_>], control: usize) -> Option<Run> {
    let original = participants[control].ongoing.server_run.entry.control_of.as_ref()?;
    let mut runs = participants.iter().map(|participant| &participant.ongoing.run);
    runs.find(|run| run.contender == *original).cloned()
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
