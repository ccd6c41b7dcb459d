//! Two servers under load at the same time, on the same CPUs: whatever disturbs the machine disturbs both.
//!
//! The base plays with each of the others, and with itself under another name as the A/A control. Each has a generator of its own on one
//! half of the generator's CPUs; who has which half, and whose load begins first, is exchanged in every rotation
//! (docs/method/duet.md).

use std::time::Duration;

use assay_host::cpuset::CpuSet;
use assay_model::design::Side;
use assay_model::load::{Arrival, LoadTurn};
use assay_model::record::DuetTurn;

use super::cell_turns::{CellTurns, Pace};
use super::turn_length::TurnLength;
use crate::event::Event;
use crate::generator::Generator;
use crate::hosts::message::Detail;
use crate::rounds::life::halt::{Halt, Halts};
use crate::rounds::life::server_run::{OngoingRun, while_wanted};
use crate::rounds::telling::Telling;
use crate::schedule::{MAX_ROTATIONS, duet_order};
use crate::stop::Stop;

/// Rotations for each of the control, which is to show a bias and not a small difference.
pub(crate) const CONTROL_EVERY: u32 = 2;

/// The duets over one cell in one round.
pub(super) struct Duets<'a> {
    pub(crate) turns: CellTurns<'a>,
    /// The contender with which all others are paired.
    pub(crate) base: &'a str,
    /// The CPUs of the generator of each side.
    pub(super) seats: [CpuSet; 2],
}

/// A server that takes part in duets, with its generators.
struct Participant<'l, 'a> {
    /// Where it is among the server runs of the round.
    place: usize,
    ongoing: &'l mut OngoingRun<'a>,
    /// One for each seat; where both seats are the same, one for both.
    generators: Vec<Generator>,
    length: TurnLength,
    turns: Vec<DuetTurn>,
}

/// The base and a partner, to be loaded at once.
#[derive(Clone, Copy, Debug)]
struct Pairing {
    /// Index of the base's partner.
    partner: usize,
    /// Side of the base.
    side: Side,
}

/// How long a window of both is.
#[derive(Clone, Copy)]
struct SharedWindow<'s> {
    length: TurnLength,
    stop: &'s Stop,
}

impl Duets<'_> {
    /// Measures the cell with all `server_runs` that take part in it and adds the windows to those that they had in turns. What goes
    /// wrong with one of them is returned with its place and ends its part.
    pub(super) fn play(
        &self,
        server_runs: &mut [(usize, &mut OngoingRun<'_>)],
        telling: &Telling<'_>,
    ) -> Halts {
        // The machine's limit is of another kind.
        let is_asked = |ongoing: &OngoingRun<'_>| !ongoing.server_run.subject.is_limit();
        let (mut participants, mut failures) =
            self.turns.join_all(server_runs, is_asked, |place, ongoing| self.join(place, ongoing));
        // The base first: its partners follow it.
        participants.sort_by_key(|participant| participant.ongoing.run.contender != self.base);
        self.rotate(&mut participants, &mut failures, telling);
        for participant in participants {
            let place = participant.place;
            failures.extend(self.finish(participant).err().map(|failure| (place, failure)));
        }
        failures
    }

    fn join<'l, 'a>(
        &self,
        place: usize,
        ongoing: &'l mut OngoingRun<'a>,
    ) -> Result<Participant<'l, 'a>, Halt> {
        let apart = if self.seats[0] == self.seats[1] { &self.seats[..1] } else { &self.seats[..] };
        let mut generators = Vec::new();
        for (number, cpus) in apart.iter().enumerate() {
            let name = format!("duet{number}");
            let mut generator = ongoing.server_run.start_generator_on(
                &mut ongoing.server,
                (self.turns.cell, Arrival::Closed),
                cpus,
                &name,
            )?;
            while_wanted(&mut ongoing.server, self.turns.stop, |wanted| generator.await_connections(wanted))?;
            generators.push(generator);
        }
        let length = self.turns.length_for(ongoing, ongoing.response_time(self.turns.cell));
        Ok(Participant { place, ongoing, generators, length, turns: Vec::new() })
    }

    fn rotate(
        &self,
        participants: &mut Vec<Participant<'_, '_>>,
        failures: &mut Halts,
        telling: &Telling<'_>,
    ) {
        let CellTurns { cell, stop, .. } = self.turns;
        let mut longest = Duration::ZERO;
        let pace = self.pace_for(participants);
        for rotation in 0..MAX_ROTATIONS {
            let began = stop.unpaused_now();
            for pairing in self.pairings(participants, rotation) {
                if stop.is_requested() || !pace.allows(rotation, longest, stop.unpaused_now()) {
                    return;
                }
                telling.pause(stop);
                telling.notice(&Event::Measuring { contender: self.base, cell });
                let failed = self.measure(participants, pairing, rotation);
                if failed.is_empty() {
                    for Participant { ongoing, turns, .. } in [0, pairing.partner].map(|of| &participants[of])
                    {
                        if let Some(turn) = turns.last() {
                            telling.turned(&ongoing.run.contender, cell, &turn.load);
                        }
                    }
                } else {
                    failures.extend(failed);
                    participants
                        .retain(|participant| failures.iter().all(|(place, _)| *place != participant.place));
                    break;
                }
            }
            longest = longest.max(stop.unpaused_now().duration_since(began));
        }
    }

    /// Fewer rotations where no clock ends them and answers take long.
    fn pace_for(&self, participants: &[Participant<'_, '_>]) -> Pace {
        let longest = participants.iter().map(|participant| participant.length).reduce(TurnLength::or_longer);
        match (self.turns.pace.until, longest) {
            (None, Some(length)) => Pace {
                most: self.turns.lengths.turns_in_the_time_of(self.turns.pace.most, length),
                ..self.turns.pace
            },
            _ => self.turns.pace,
        }
    }

    /// The pairings of everybody with the base on both sides, in an order drawn anew; none without base or partner.
    fn pairings(&self, participants: &[Participant<'_, '_>], rotation: u32) -> Vec<Pairing> {
        let has_base =
            participants.first().is_some_and(|participant| participant.ongoing.run.contender == self.base);
        let due =
            |partner: &usize| rotation.is_multiple_of(CONTROL_EVERY) || !participants[*partner].is_control();
        let partners = (1..participants.len()).filter(|partner| has_base && due(partner));
        let pairings: Vec<Pairing> =
            partners.flat_map(|partner| Side::BOTH.map(|side| Pairing { partner, side })).collect();
        let order =
            duet_order(self.turns.seed, self.turns.round, self.turns.number, rotation, pairings.len());
        order.into_iter().map(|index| pairings[index]).collect()
    }

    /// One window of both; which of them failed, and why.
    fn measure(&self, participants: &mut [Participant<'_, '_>], pairing: Pairing, rotation: u32) -> Halts {
        let offset_ns = participants[0].ongoing.age().offset_ns;
        let mut seats = [(0, pairing.side), (pairing.partner, pairing.side.other())];
        seats.sort_by_key(|(_, side)| *side);
        let span = SharedWindow {
            length: participants[0].length.or_longer(participants[pairing.partner].length),
            stop: self.turns.stop,
        };
        let spans =
            seats.map(|(index, _)| participants[index].ongoing.server.seen()?.begin(Detail::ByThread));
        let begun = seats.map(|(index, side)| participants[index].begin(side, span));
        // Both are waited for, even if the first failed: an answer that is left alone would be the next window's.
        let told = std::iter::zip(seats, begun)
            .map(|((index, side), begun)| begun.and_then(|()| participants[index].end(side, span)))
            .collect::<Vec<_>>();
        let cpu = spans.map(|span| Some(span?.finish_without_memory()?.first_by_thread()?.usage.cpu_ns()));
        let mut failures = Vec::new();
        let mut turns = Vec::new();
        for (((index, side), told), server_cpu_ns) in seats.into_iter().zip(told).zip(cpu) {
            let beside = participants[pairing.partner - index].ongoing.run.contender.clone();
            match told {
                Ok(load) => {
                    participants[index].ongoing.loaded += load.settle_ns + load.window_ns;
                    turns.push((index, DuetTurn { beside, rotation, side, offset_ns, load, server_cpu_ns }))
                }
                Err(failure) => failures.push((participants[index].place, failure)),
            }
        }
        if failures.is_empty() {
            turns.into_iter().for_each(|(index, turn)| participants[index].turns.push(turn));
        }
        failures
    }

    /// Adds its windows to those that it had in turns.
    fn finish(&self, participant: Participant<'_, '_>) -> Result<(), Halt> {
        let Participant { ongoing, turns, generators, .. } = participant;
        drop(generators);
        ongoing.check_server(turns.iter().any(|turn| turn.load.failed > 0))?;
        if let Some(window) = ongoing.run.cells.iter_mut().find(|window| window.cell == *self.turns.cell) {
            window.duet = turns;
        }
        Ok(())
    }
}

impl Participant<'_, '_> {
    /// Whether it is the base once more.
    fn is_control(&self) -> bool {
        self.ongoing.server_run.entry.control_of.is_some()
    }

    fn begin(&mut self, side: Side, span: SharedWindow<'_>) -> Result<(), Halt> {
        let begun = generator_in_seat(&mut self.generators, side)
            .begin_window(span.length.settle, span.length.window);
        while_wanted(&mut self.ongoing.server, span.stop, |_| begun)
    }

    fn end(&mut self, side: Side, span: SharedWindow<'_>) -> Result<LoadTurn, Halt> {
        let Self { ongoing, generators, .. } = self;
        let generator = generator_in_seat(generators, side);
        while_wanted(&mut ongoing.server, span.stop, |wanted| {
            generator.end_window(span.length.settle, span.length.window, wanted)
        })
    }
}

/// The generator of a side; the only one where both have the same CPUs.
fn generator_in_seat(of: &mut [Generator], side: Side) -> &mut Generator {
    let last = of.len() - 1;
    &mut of[last.min(side as usize)]
}
