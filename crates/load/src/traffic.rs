//! The workload of one thread: which request comes next, and who judges the answers.

use assay_model::load::Checking;
use assay_model::template::{Draw, Numbers};
use assay_model::workload::RequestKind;
use chacha20::ChaCha8Rng;
use rand::SeedableRng;

use crate::LoadError;
use crate::judge::Judge;
use crate::mix::Mix;
use crate::slot::Flight;

/// Kinds of request with their judges.
pub(crate) struct Traffic {
    kinds: Vec<Kind>,
    mix: Mix,
    numbering: Numbering,
    rng: ChaCha8Rng,
}

struct Kind {
    judge: Judge,
    /// Requests drawn of this kind.
    drawn: u64,
}

/// How requests are numbered so that no two threads use the same number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbering {
    pub(crate) seed: u64,
    pub(crate) thread: u64,
    pub(crate) threads: u64,
}

impl Traffic {
    /// The traffic of kinds whose placeholders have these `numbers`; `rng` is a stream of the thread's own.
    pub(crate) fn new(
        requests: &[RequestKind],
        numbers: &dyn Fn(usize) -> Numbers,
        checking: Checking,
        numbering: Numbering,
        mut rng: ChaCha8Rng,
    ) -> Result<Self, LoadError> {
        let kind = |(index, kind): (usize, &RequestKind)| -> Result<Kind, LoadError> {
            let judge = Judge::new(kind, numbers(index), checking, ChaCha8Rng::from_rng(&mut rng))
                .map_err(|source| LoadError::BadRequest { path: kind.path.clone(), source })?;
            Ok(Kind { judge, drawn: 0 })
        };
        let kinds: Vec<Kind> = requests.iter().enumerate().map(kind).collect::<Result<_, _>>()?;
        let weights: Vec<u32> = requests.iter().map(|kind| kind.weight).collect();
        Ok(Self { kinds, mix: Mix::new(&weights), numbering, rng })
    }

    /// The traffic where bodies are messages of Protocol Buffers.
    pub(crate) fn of_messages(self) -> Self {
        let kind = |kind: Kind| Kind { judge: kind.judge.of_messages(), ..kind };
        Self { kinds: self.kinds.into_iter().map(kind).collect(), ..self }
    }

    /// The kind of the next request, and its number within the kind.
    #[inline]
    pub(crate) fn draw(&mut self) -> (u32, u64) {
        let kind = self.mix.draw(&mut self.rng);
        let drawn = &mut self.kinds[kind as usize].drawn;
        let number = *drawn * self.numbering.threads + self.numbering.thread;
        *drawn += 1;
        (kind, number)
    }

    /// The judge of the answer to this request.
    #[inline]
    pub(crate) fn judge(&mut self, flight: &Flight) -> &mut Judge {
        let draw = self.draw_of(flight);
        let judge = &mut self.kinds[flight.kind as usize].judge;
        judge.body().turn_to(draw);
        judge
    }

    /// From what the placeholders of this request are filled.
    #[inline]
    pub(crate) fn draw_of(&self, flight: &Flight) -> Draw {
        Draw { seed: self.numbering.seed, request: flight.number }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::workload::Expect;

    #[test]
    fn no_two_threads_use_the_same_number() {
        let kind = |path: &str| RequestKind {
            weight: 1,
            method: "GET".into(),
            path: path.into(),
            headers: Vec::new(),
            body: None,
            expect: Expect::default(),
        };
        let kinds = [kind("/a/${sequence}"), kind("/b")];
        let random = ChaCha8Rng::seed_from_u64;
        let mut numbers = [Vec::new(), Vec::new()];
        for thread in 0..3 {
            let numbering = Numbering { seed: 1, thread, threads: 3 };
            let mut traffic =
                Traffic::new(&kinds, &|_| Numbers::default(), Checking::Full, numbering, random(thread))
                    .unwrap();
            for _ in 0..100 {
                let (kind, number) = traffic.draw();
                numbers[kind as usize].push(number);
            }
        }
        for mut numbers in numbers {
            let count = numbers.len();
            numbers.sort_unstable();
            numbers.dedup();
            assert!(count > 100 && numbers.len() == count);
        }
    }
}
