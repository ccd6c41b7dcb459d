//! A round, or a group of one, in which all servers live at once: started one after the other, measured in turns, then in one piece where turns
//! are not to be had, and stopped.

use std::time::Duration;

use assay_host::topology::Topology;
use assay_model::experiment::{Cell, Experiment};
use assay_model::record::Run;
use assay_model::units::Nanos;
use assay_verdict::allocation::Settled;

use super::carousel::Rotations;
use super::cell_turns::{CellTurns, Pace};
use super::duet::Duets;
use super::settle::Settles;
use super::turn_length::Bounds;
use crate::groups::{Holding, Room};
use crate::plan::pairs;
use crate::rounds::bench::Bench;
use crate::rounds::life::halt::{Halt, Halts};
use crate::rounds::life::server_run::{OngoingRun, ServerRun};
use crate::rounds::telling::Telling;
use crate::schedule::{MIN_ROTATIONS, predicted_cross_check, predicted_profile, predicted_window};

/// What stopping a server takes, before any was timed.
const TYPICAL_STOP: Duration = Duration::from_millis(100);
/// Share of a cell's time that turns have where duets have the rest: absolute rates need less precision than the ratio does.
pub(crate) const SHARE_OF_TURNS: f64 = 1.0 / 3.0;

/// One round of several server runs.
pub(crate) struct Ensemble<'a> {
    pub(crate) bench: &'a Bench<'a>,
    pub(crate) round: u32,
    /// The cells in which servers take turns, with their numbers, in the round's order.
    pub(crate) cells: Vec<(usize, Cell)>,
    /// Most turns of each server run in a cell, and when the round must be over, if that is given.
    pub(crate) pace: Pace,
    /// Who gets fewer turns.
    pub(crate) settled: &'a Settled,
    pub(crate) settles: &'a Settles,
    /// What there is for all who live at once.
    pub(crate) room: Room,
    /// What each server run was seen to take before, in their order.
    pub(crate) needs: Vec<Option<Holding>>,
    /// The place of the server run that must not be missing.
    pub(crate) common: Option<usize>,
}

/// How far a server run of this round is.
enum Member<'a> {
    Alive { ongoing: Box<OngoingRun<'a>>, holding: Holding },
    Over { run: Box<Run>, holding: Option<Holding> },
    Waiting,
}

/// What became of a server run.
pub(crate) struct EndedRun {
    pub(crate) run: Run,
    /// What it took, if it came so far.
    pub(crate) holding: Option<Holding>,
}

impl Ensemble<'_> {
    /// Runs all servers at once; what became of each, in the same order, `None` for one that found no room.
    pub(crate) fn run(
        &self,
        server_runs: Vec<ServerRun<'_>>,
        telling: &Telling<'_>,
    ) -> Vec<Option<EndedRun>> {
        let mut members = self.begin_all(server_runs, telling);
        if self.lacks_its_partner(&mut members) {
            return members.into_iter().map(|member| member.end(Ok(()))).collect();
        }
        let after = self.time_after_the_turns(&mut members);
        self.rotate(&mut members, after, telling);
        self.measure_in_one_piece(&mut members, telling);
        members.into_iter().map(|member| member.end(Ok(()))).collect()
    }

    /// Whether somebody did not start, and the one that is left has nobody to be compared with, which is all that was asked.
    fn lacks_its_partner(&self, members: &mut [Member<'_>]) -> bool {
        let somebody_failed = members.iter().any(|member| matches!(member, Member::Over { .. }));
        let is_compared = |ongoing: &OngoingRun<'_>| {
            let ServerRun { subject, entry, replica, .. } = ongoing.server_run;
            !subject.is_limit() && entry.control_of.is_none() && replica == 0
        };
        let compared = alive(members).filter(|(_, ongoing)| is_compared(ongoing)).count();
        self.bench.plan.least_contenders > 1 && somebody_failed && compared < 2
    }

    /// Measures all in turns, and nothing in one piece.
    pub(crate) fn take_turns(
        &self,
        server_runs: Vec<ServerRun<'_>>,
        telling: &Telling<'_>,
    ) -> Vec<Option<EndedRun>> {
        let mut members = self.begin_all(server_runs, telling);
        let stopping = TYPICAL_STOP * u32::try_from(members.len()).unwrap_or(u32::MAX);
        self.rotate(&mut members, stopping, telling);
        members.into_iter().map(|member| member.end(Ok(()))).collect()
    }

    fn begin_all<'a>(&self, server_runs: Vec<ServerRun<'a>>, telling: &Telling<'_>) -> Vec<Member<'a>> {
        let mut members: Vec<Member<'a>> = Vec::new();
        for mut server_run in server_runs {
            server_run.begun_before = begun_before(&server_run, &mut members);
            let member =
                if self.has_room(&members) { self.begin(server_run, telling) } else { Member::Waiting };
            members.push(member);
        }
        members
    }

    /// Whether there is room for the next life beside those that have begun: for the common one always, and for the first of the
    /// others.
    fn has_room(&self, begun: &[Member<'_>]) -> bool {
        let next = begun.len();
        let is_common = |place: usize| Some(place) == self.common;
        let others = begun.iter().enumerate().filter(|(place, _)| !is_common(*place));
        if is_common(next) || others.clone().next().is_none() {
            return true;
        }
        let mut ongoing: Vec<Holding> = begun.iter().filter_map(Member::holding).collect();
        let known = ongoing.clone();
        ongoing.extend(self.common.filter(|common| *common > next).and_then(|common| self.needs[common]));
        self.room.admits(&ongoing, self.needs[next], &known)
    }

    /// Starts a server and warms it up, while those before it wait.
    fn begin<'a>(&self, server_run: ServerRun<'a>, telling: &Telling<'_>) -> Member<'a> {
        if self.bench.stop.is_requested() {
            return Member::over(server_run.empty_run());
        }
        let sessions = self.sessions();
        match server_run.begin(telling) {
            Err(run) => Member::over(*run),
            Ok(mut ongoing) => match ongoing.warm_up_for_turns(telling) {
                Ok(()) => {
                    let holding = self.holding(&ongoing, sessions);
                    Member::Alive { ongoing: Box::new(ongoing), holding }
                }
                Err(failure) => Member::over(ongoing.end(Err(failure))),
            },
        }
    }

    /// What a server takes that is warm and at rest; so many connections to the database were open before it began.
    fn holding(&self, ongoing: &OngoingRun<'_>, before: Option<u64>) -> Holding {
        let usage = ongoing.server.used();
        let opened = self.sessions().zip(before).map(|(now, before)| now.saturating_sub(before));
        Holding {
            memory_bytes: usage.map_or(0, |usage| usage.memory_bytes()),
            sessions: opened.unwrap_or_default(),
        }
    }

    fn sessions(&self) -> Option<u64> {
        self.bench.sessions().map(|sessions| sessions.open)
    }

    /// Has the servers take turns in each cell, so that `after` is left of the time.
    fn rotate(&self, members: &mut [Member<'_>], after: Duration, telling: &Telling<'_>) {
        for (done, (number, cell)) in self.cells.iter().enumerate() {
            let turns = CellTurns {
                cell,
                number: *number,
                lengths: self.lengths(),
                settles: self.settles,
                pace: self.pace(&self.cells[done..], members, after),
                seed: self.bench.plan.seed,
                round: self.round,
                stop: self.bench.stop,
            };
            let is_duet = self.bench.plan.experiment.is_duet(cell);
            let whole = turns.pace;
            let pace =
                if is_duet { whole.part(SHARE_OF_TURNS, self.bench.stop.unpaused_now()) } else { whole };
            let rotations = Rotations { turns: CellTurns { pace, ..turns }, settled: self.settled };
            let mut server_runs: Vec<(usize, &mut OngoingRun<'_>)> = alive(members).collect();
            let failures = rotations.run(&mut server_runs, telling);
            self.end_failed(members, failures);
            if is_duet {
                self.play_duets(members, turns, telling);
            }
        }
    }

    /// Has base and others under load at the same time, for the rest of the cell's time.
    fn play_duets(&self, members: &mut [Member<'_>], turns: CellTurns<'_>, telling: &Telling<'_>) {
        let Some(comparing) = &self.bench.plan.experiment.comparing else { return };
        let seats = Topology::read().halves(&self.bench.plan.isolation.generator);
        let duets = Duets { turns, base: &comparing.base, seats };
        let mut server_runs: Vec<(usize, &mut OngoingRun<'_>)> = alive(members).collect();
        let failures = duets.play(&mut server_runs, telling);
        self.end_failed(members, failures);
    }

    /// What turns may last. Where no clock ends them they take as long together as a window in one piece, and one that is shorter than
    /// a turn is one.
    fn lengths(&self) -> Bounds {
        let Experiment { turn_s, window_s, .. } = self.bench.plan.experiment;
        let (least_s, most_s) = match self.pace.until {
            Some(_) => (turn_s, window_s),
            None => (turn_s.min(window_s), window_s / f64::from(MIN_ROTATIONS)),
        };
        let least = Nanos::from_secs_f64(least_s);
        Bounds { least, most: Nanos::from_secs_f64(most_s).max(least) }
    }

    /// The first of the `cells` that are left has its part of the time that is left: as many turns as the others, however many
    /// take part in it.
    fn pace(&self, cells: &[(usize, Cell)], members: &mut [Member<'_>], after: Duration) -> Pace {
        let Some(until) = self.pace.until else { return self.pace };
        let now = self.bench.stop.unpaused_now();
        let left = until.saturating_duration_since(now).saturating_sub(after);
        let mut turns_in = |cell: &Cell| -> f64 {
            let participants = alive(members).filter(|(_, ongoing)| ongoing.server_run.cells.contains(cell));
            participants.map(|(_, ongoing)| self.share_of_turns(ongoing, cell)).sum()
        };
        let all: f64 = cells.iter().map(|(_, cell)| turns_in(cell)).sum();
        let own = cells.first().map_or(0.0, |(_, cell)| turns_in(cell));
        let share = if all > 0.0 { own / all } else { 0.0 };
        Pace { until: Some(now + left.mul_f64(share)), ..self.pace }
    }

    /// Turns of a process in a cell for each turn of one that is alone and not told apart.
    fn share_of_turns(&self, ongoing: &OngoingRun<'_>, cell: &Cell) -> f64 {
        self.settled.share_of(&ongoing.run.contender, cell)
            / f64::from(ongoing.replicas_in(cell, self.settled))
    }

    /// What is measured in one piece, and stopping, probably takes.
    fn time_after_the_turns(&self, members: &mut [Member<'_>]) -> Duration {
        let experiment = &self.bench.plan.experiment;
        let own = |ongoing: &OngoingRun<'_>| {
            let cells = ongoing.server_run.cells.iter().filter(|cell| !experiment.is_turned(cell));
            let times = |cell| if pairs(ongoing.server_run.subject, cell) { 2 } else { 1 };
            let windows =
                cells.map(|cell| predicted_window(experiment, cell) * times(cell)).sum::<Duration>();
            let cells = &ongoing.server_run.cells;
            windows
                + predicted_cross_check(experiment, cells)
                + predicted_profile(experiment, cells, ongoing.server_run.lives)
        };
        let stopping = TYPICAL_STOP * u32::try_from(alive(members).count()).unwrap_or(u32::MAX);
        stopping + first_replicas(members).map(|(_, ongoing)| own(ongoing)).sum::<Duration>()
    }

    fn measure_in_one_piece(&self, members: &mut [Member<'_>], telling: &Telling<'_>) {
        let experiment = &self.bench.plan.experiment;
        let failures: Vec<_> = first_replicas(members)
            .filter_map(|(place, ongoing)| {
                let measured = ongoing.measure_in_one_piece(telling, |cell| !experiment.is_turned(cell));
                measured.err().map(|failure| (place, failure))
            })
            .collect();
        self.end_failed(members, failures);
    }

    /// Ends those who failed.
    fn end_failed(&self, members: &mut [Member<'_>], failures: Halts) {
        for (place, failure) in failures {
            let ended = std::mem::replace(&mut members[place], Member::Waiting).end(Err(failure));
            if let Some(EndedRun { run, holding }) = ended {
                members[place] = Member::Over { run: Box::new(run), holding };
            }
        }
    }
}

impl Member<'_> {
    fn over(run: Run) -> Self {
        Self::Over { run: Box::new(run), holding: None }
    }

    /// What it takes now.
    fn holding(&self) -> Option<Holding> {
        match self {
            Self::Alive { holding, .. } => Some(*holding),
            Self::Over { .. } | Self::Waiting => None,
        }
    }

    fn end(self, measured: Result<(), Halt>) -> Option<EndedRun> {
        match self {
            Self::Alive { ongoing, holding } => {
                let run = ongoing.end(measured);
                let used = run.cells.iter().filter_map(|window| window.server.as_ref());
                let most = used.map(|usage| usage.memory_bytes()).max().unwrap_or(0);
                let holding = holding.max(Holding { memory_bytes: most, sessions: 0 });
                Some(EndedRun { run, holding: Some(holding) })
            }
            Self::Over { run, holding } => Some(EndedRun { run: *run, holding }),
            Self::Waiting => None,
        }
    }
}

/// The other one of a contender and its A/A control, if it has begun: what it needed to get warm need not be found again.
fn begun_before(server_run: &ServerRun<'_>, begun: &mut [Member<'_>]) -> Option<Run> {
    let original = server_run.entry.original();
    let is_other = |ongoing: &OngoingRun<'_>| ongoing.server_run.entry.original() == original;
    alive(begun).find(|(_, ongoing)| is_other(ongoing)).map(|(_, ongoing)| ongoing.run.clone())
}

/// The lives that are measured in one piece as well: further processes of a contender are there for its turns alone.
fn first_replicas<'p, 'a>(
    members: &'p mut [Member<'a>],
) -> impl Iterator<Item = (usize, &'p mut OngoingRun<'a>)> {
    alive(members).filter(|(_, ongoing)| ongoing.server_run.replica == 0)
}

fn alive<'p, 'a>(members: &'p mut [Member<'a>]) -> impl Iterator<Item = (usize, &'p mut OngoingRun<'a>)> {
    members.iter_mut().enumerate().filter_map(|(place, member)| match member {
        Member::Alive { ongoing, .. } => Some((place, &mut **ongoing)),
        Member::Over { .. } | Member::Waiting => None,
    })
}
