//! Tells the observer of a run, from wherever something happens.

use std::cell::RefCell;

use super::event::{Event, Observer};

/// The observer of a run, shared by all that happens in it, which is one thing at a time.
pub(super) struct Telling<'a>(RefCell<&'a mut dyn Observer>);

impl<'a> Telling<'a> {
    pub(super) fn new(observer: &'a mut dyn Observer) -> Self {
        Self(RefCell::new(observer))
    }

    pub(super) fn notice(&self, event: &Event<'_>) {
        self.0.borrow_mut().notice(event);
    }
}
