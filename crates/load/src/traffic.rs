//! The workload of one thread: what is sent, drawn by weight, and who judges the answers.

use assay_model::workload::RequestKind;
use rand_chacha::ChaCha8Rng;

use crate::LoadError;
use crate::judge::Judge;
use crate::mix::Mix;
use crate::request::Rendered;
use crate::slot::Flight;

/// Kinds of request with their judges.
pub(crate) struct Traffic {
    kinds: Vec<Kind>,
    mix: Mix,
    rng: ChaCha8Rng,
}

struct Kind {
    rendered: Rendered,
    judge: Judge,
}

impl Traffic {
    /// Renders the kinds; `rng` is a stream of the thread's own.
    pub(crate) fn new(requests: &[RequestKind], host: &str, rng: ChaCha8Rng) -> Result<Self, LoadError> {
        let kind = |kind: &RequestKind| -> Result<Kind, LoadError> {
            Ok(Kind { rendered: Rendered::new(kind, host)?, judge: Judge::new(kind)? })
        };
        let kinds = requests.iter().map(kind).collect::<Result<_, _>>()?;
        let weights: Vec<u32> = requests.iter().map(|kind| kind.weight).collect();
        Ok(Self { kinds, mix: Mix::new(&weights), rng })
    }

    /// The kind of the next request.
    #[inline]
    pub(crate) fn draw(&mut self) -> u32 {
        self.mix.draw(&mut self.rng)
    }

    #[inline]
    pub(crate) fn judge(&mut self, kind: u32) -> &mut Judge {
        &mut self.kinds[kind as usize].judge
    }

    /// The bytes of a flight.
    #[inline]
    pub(crate) fn bytes(&self, flight: &Flight) -> &[u8] {
        let rendered = &self.kinds[flight.kind as usize].rendered;
        if flight.is_last { rendered.last() } else { rendered.one() }
    }

    /// The bytes of `n` ordinary flights of a kind in a row, or of as many as are at hand, with their number.
    #[inline]
    pub(crate) fn train(&self, kind: u32, n: usize) -> (&[u8], usize) {
        self.kinds[kind as usize].rendered.several(n)
    }
}
