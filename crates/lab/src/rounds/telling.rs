//! Tells the observer of a run, from wherever something happens.

use std::cell::RefCell;

use assay_model::experiment::Cell;
use assay_model::load::LoadTurn;

use crate::event::{Event, Observer};
use crate::stop::Stop;

/// The observer of a run, shared by all that happens in it, which is one thing at a time.
pub(super) struct Telling<'a>(RefCell<&'a mut dyn Observer>);

impl<'a> Telling<'a> {
    pub(super) fn new(observer: &'a mut dyn Observer) -> Self {
        Self(RefCell::new(observer))
    }

    pub(super) fn wants_verdicts(&self) -> bool {
        self.0.borrow().wants_verdicts()
    }

    /// Waits while a person wants the run to pause.
    pub(super) fn pause(&self, stop: &Stop) {
        if stop.is_paused() {
            self.notice(&Event::Paused);
            let length = stop.wait();
            self.notice(&Event::Resumed { length });
        }
    }

    /// Tells of a turn in which a contender was under this load.
    pub(super) fn turned(&self, contender: &str, cell: &Cell, load: &LoadTurn) {
        let (per_second, failed) = (load.window_ns.rate_of(load.ok), load.failed);
        self.notice(&Event::Turned { contender, cell, per_second, failed });
    }

    pub(super) fn notice(&self, event: &Event<'_>) {
        self.0.borrow_mut().notice(event);
    }
}
