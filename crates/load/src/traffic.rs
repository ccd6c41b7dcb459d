//! The workload of one thread: what is sent, drawn by weight, and who judges the answers.

use assay_model::load::Checking;
use assay_model::template::{Draw, Part};
use assay_model::workload::RequestKind;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::LoadError;
use crate::judge::Judge;
use crate::mix::Mix;
use crate::request::{Fixed, Rendered};
use crate::slot::Flight;

/// Bytes of requests with placeholders that are written for one send at most. A longer one is sent in several parts.
const WRITTEN_BYTES: usize = assay_engine::SEND_QUEUE_BYTES;

/// Kinds of request with their judges.
pub(crate) struct Traffic {
    kinds: Vec<Kind>,
    mix: Mix,
    numbering: Numbering,
    rng: ChaCha8Rng,
    /// Whether any kind has placeholders.
    varies: bool,
    written: Vec<u8>,
}

struct Kind {
    rendered: Rendered,
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
    /// Renders the kinds; `rng` is a stream of the thread's own.
    pub(crate) fn new(
        requests: &[RequestKind],
        host: &str,
        checking: Checking,
        numbering: Numbering,
        mut rng: ChaCha8Rng,
    ) -> Result<Self, LoadError> {
        let kind = |kind: &RequestKind| -> Result<Kind, LoadError> {
            let rendered = Rendered::new(kind, host)?;
            let judge = Judge::new(kind, rendered.numbers(), checking, ChaCha8Rng::from_rng(&mut rng))
                .map_err(|source| LoadError::BadRequest { path: kind.path.clone(), source })?;
            Ok(Kind { rendered, judge, drawn: 0 })
        };
        let kinds: Vec<Kind> = requests.iter().map(kind).collect::<Result<_, _>>()?;
        let weights: Vec<u32> = requests.iter().map(|kind| kind.weight).collect();
        let varies = kinds.iter().any(|kind| matches!(kind.rendered, Rendered::Varying { .. }));
        Ok(Self { kinds, mix: Mix::new(&weights), numbering, rng, varies, written: Vec::new() })
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

    /// Who judges the answer to this request.
    #[inline]
    pub(crate) fn judge(&mut self, flight: &Flight) -> &mut Judge {
        let draw = self.draw_of(flight);
        let judge = &mut self.kinds[flight.kind as usize].judge;
        judge.body().turn_to(draw);
        judge
    }

    /// Length of a request.
    #[inline]
    pub(crate) fn len(&self, flight: &Flight) -> usize {
        self.kinds[flight.kind as usize].rendered.len(self.draw_of(flight), flight.is_last)
    }

    /// Whether some requests must be written one by one.
    #[inline]
    pub(crate) fn varies(&self) -> bool {
        self.varies
    }

    /// The bytes of a kind without placeholders.
    #[inline]
    pub(crate) fn fixed(&self, kind: u32) -> Option<&Fixed> {
        match &self.kinds[kind as usize].rendered {
            Rendered::Fixed(fixed) => Some(fixed),
            Rendered::Varying { .. } => None,
        }
    }

    /// Writes the requests one after the other, without the first `skip` bytes, as far as there is room.
    #[inline]
    pub(crate) fn write<'f>(&mut self, flights: impl Iterator<Item = &'f Flight>, skip: usize) -> &[u8] {
        let mut written = std::mem::take(&mut self.written);
        written.clear();
        let mut out = Part::new(skip, WRITTEN_BYTES, &mut written);
        for flight in flights {
            self.kinds[flight.kind as usize].rendered.write(self.draw_of(flight), flight.is_last, &mut out);
            if out.is_full() {
                break;
            }
        }
        self.written = written;
        &self.written
    }

    #[inline]
    fn draw_of(&self, flight: &Flight) -> Draw {
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
        let mut numbers = [Vec::new(), Vec::new()];
        for thread in 0..3 {
            let numbering = Numbering { seed: 1, thread, threads: 3 };
            let mut traffic =
                Traffic::new(&kinds, "h", Checking::Full, numbering, ChaCha8Rng::seed_from_u64(thread))
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
