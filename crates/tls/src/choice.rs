//! With or without TLS: whoever is generic over the engine is given one here, on any stack.

use assay_engine::Engine;
use assay_tcp::{Make, Stack, Work};

use crate::{Terms, Tls};

/// Does the work on this stack, and over TLS if there are terms for it.
pub fn carry_out<W: Work>(stack: &Stack, terms: Option<&Terms>, work: W) -> W::Outcome {
    match terms {
        None => stack.carry_out(work),
        Some(terms) => stack.carry_out(Secured { work, terms }),
    }
}

/// Work to be done over TLS.
struct Secured<'t, W> {
    work: W,
    terms: &'t Terms,
}

impl<W: Work> Work for Secured<'_, W> {
    type Outcome = W::Outcome;

    fn on<E: Engine>(self, make: impl Make<E>) -> Self::Outcome {
        let terms = self.terms;
        self.work.on(move |config, thread, threads| Ok(Tls::new(make(config, thread, threads)?, terms)))
    }
}
