//! What one epoll instance watches of the stack's descriptors, and which of it may be ready (epoll(7)).
//!
//! As in the kernel there is a list of what may be ready. Something that happens to an object puts its interests on the list;
//! a collection takes them off, looks what is true now, and puts level-triggered ones that were reported back at its end.

use std::collections::{HashMap, VecDeque};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use rustix::event::epoll::EventFlags;

use super::Object;
use super::arena::{Arena, Id};

/// Reported whether asked for or not.
pub(super) const ALWAYS: EventFlags = EventFlags::ERR.union(EventFlags::HUP);
/// Not events but ways of reporting them.
const MANNERS: EventFlags =
    EventFlags::ET.union(EventFlags::ONESHOT).union(EventFlags::EXCLUSIVE).union(EventFlags::WAKEUP);

/// What of an object's truth an interest with these flags is told.
pub(super) fn wanted(flags: EventFlags) -> EventFlags {
    flags.difference(MANNERS) | ALWAYS
}

#[derive(Default)]
pub(crate) struct Set {
    /// Descriptors of the program that name it.
    pub(crate) descriptors: u32,
    interests: Interests,
    by_descriptor: HashMap<RawFd, Id>,
    ready: VecDeque<Id>,
    /// Hangs in the kernel's instance of the same number.
    bell: Option<OwnedFd>,
}

struct Interests(Arena<Interest>);

impl Default for Interests {
    fn default() -> Self {
        Self(Arena::new())
    }
}

pub(crate) struct Interest {
    pub(crate) descriptor: RawFd,
    pub(crate) object: Object,
    flags: EventFlags,
    data: u64,
    /// Whether the interest is on the list.
    listed: bool,
    /// Reported once, as it wanted, and silent until it is changed.
    spent: bool,
}

/// One event for the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) flags: EventFlags,
    pub(crate) data: u64,
}

impl Set {
    /// A set that the program has one descriptor of.
    pub(crate) fn new(bell: OwnedFd) -> Self {
        Self { descriptors: 1, bell: Some(bell), ..Self::default() }
    }

    /// The descriptor of its bell.
    pub(crate) fn bell(&self) -> Option<RawFd> {
        self.bell.as_ref().map(AsRawFd::as_raw_fd)
    }

    pub(crate) fn renew_bell(&mut self, bell: OwnedFd) {
        self.bell = Some(bell);
    }

    /// The interest under this descriptor number, if it is for this object.
    pub(crate) fn find(&self, descriptor: RawFd, object: Object) -> Option<Id> {
        let &id = self.by_descriptor.get(&descriptor)?;
        self.interests.0.get(id).filter(|i| i.object == object).map(|_| id)
    }

    pub(crate) fn insert(&mut self, descriptor: RawFd, object: Object, flags: EventFlags, data: u64) -> Id {
        let interest = Interest { descriptor, object, flags, data, listed: false, spent: false };
        let id = self.interests.0.insert(interest);
        self.by_descriptor.insert(descriptor, id);
        self.list(id);
        id
    }

    pub(crate) fn change(&mut self, id: Id, flags: EventFlags, data: u64) {
        if let Some(interest) = self.interests.0.get_mut(id) {
            (interest.flags, interest.data, interest.spent) = (flags, data, false);
        }
        self.list(id);
    }

    /// The one report that was wanted has been made elsewhere.
    pub(crate) fn silence(&mut self, id: Id) {
        if let Some(interest) = self.interests.0.get_mut(id) {
            interest.spent = true;
        }
    }

    pub(crate) fn remove(&mut self, id: Id) -> Option<Interest> {
        let interest = self.interests.0.remove(id)?;
        if self.by_descriptor.get(&interest.descriptor) == Some(&id) {
            self.by_descriptor.remove(&interest.descriptor);
        }
        Some(interest)
    }

    /// Something happened to the object of this interest.
    pub(crate) fn list(&mut self, id: Id) {
        if let Some(interest) = self.interests.0.get_mut(id).filter(|i| !i.spent && !i.listed) {
            interest.listed = true;
            self.ready.push_back(id);
        }
    }

    /// Whether a collection would report anything. What it finds untrue is off the list, as after a collection.
    pub(crate) fn is_ready(&mut self, mut truth: impl FnMut(Object) -> EventFlags) -> bool {
        while let Some(&id) = self.ready.front() {
            if let Some(interest) = self.interests.0.get_mut(id) {
                if !interest.spent && truth(interest.object).intersects(wanted(interest.flags)) {
                    return true;
                }
                interest.listed = false;
            }
            self.ready.pop_front();
        }
        false
    }

    /// Whether anything may be ready.
    pub(crate) fn may_be_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    pub(crate) fn interests(&self) -> impl Iterator<Item = (Id, &Interest)> {
        self.interests.0.iter()
    }

    /// Appends what is ready now until `reports` holds `room`; `truth` tells what is true of an object.
    pub(crate) fn collect(
        &mut self,
        reports: &mut Vec<Report>,
        room: usize,
        mut truth: impl FnMut(Object) -> EventFlags,
    ) {
        for _ in 0..self.ready.len() {
            if reports.len() >= room {
                return;
            }
            let Some(id) = self.ready.pop_front() else { return };
            let Some(interest) = self.interests.0.get_mut(id) else { continue };
            interest.listed = false;
            let flags = truth(interest.object) & wanted(interest.flags);
            if flags.is_empty() || interest.spent {
                continue;
            }
            reports.push(Report { flags, data: interest.data });
            if interest.flags.contains(EventFlags::ONESHOT) {
                interest.spent = true;
            } else if !interest.flags.contains(EventFlags::ET) {
                interest.listed = true;
                self.ready.push_back(id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: EventFlags = EventFlags::IN.union(EventFlags::OUT);

    fn object() -> Object {
        Object::Stream(Arena::new().insert(()))
    }

    fn collected(set: &mut Set, truth: EventFlags) -> Vec<EventFlags> {
        let mut reports = Vec::new();
        set.collect(&mut reports, 8, |_| truth);
        reports.iter().map(|r| r.flags).collect()
    }

    #[test]
    fn a_level_is_reported_while_it_lasts() {
        let mut set = Set::default();
        let id = set.insert(3, object(), EventFlags::IN, 7);
        assert_eq!(collected(&mut set, BOTH), [EventFlags::IN]);
        assert_eq!(collected(&mut set, BOTH), [EventFlags::IN]);
        assert_eq!(collected(&mut set, EventFlags::OUT), []);
        assert!(!set.may_be_ready(), "nothing is looked at again until something happens");
        set.list(id);
        assert_eq!(collected(&mut set, BOTH), [EventFlags::IN]);
    }

    #[test]
    fn an_edge_is_reported_once_with_all_that_is_true() {
        let mut set = Set::default();
        let id = set.insert(3, object(), BOTH | EventFlags::ET, 7);
        assert_eq!(collected(&mut set, EventFlags::OUT), [EventFlags::OUT]);
        assert_eq!(collected(&mut set, BOTH), []);
        set.list(id);
        set.list(id);
        assert_eq!(collected(&mut set, BOTH), [BOTH]);
        assert_eq!(collected(&mut set, BOTH), []);
    }

    #[test]
    fn one_shot_is_silent_until_changed() {
        let mut set = Set::default();
        let id = set.insert(3, object(), EventFlags::IN | EventFlags::ONESHOT, 7);
        assert_eq!(collected(&mut set, BOTH), [EventFlags::IN]);
        set.list(id);
        assert_eq!(collected(&mut set, BOTH | EventFlags::ERR), []);
        set.change(id, EventFlags::OUT | EventFlags::ONESHOT, 8);
        assert_eq!(collected(&mut set, BOTH), [EventFlags::OUT]);
    }

    #[test]
    fn looking_takes_nothing_but_what_is_untrue() {
        let mut set = Set::default();
        let id = set.insert(3, object(), EventFlags::IN | EventFlags::ET, 7);
        assert!(set.is_ready(|_| BOTH) && set.is_ready(|_| BOTH));
        assert_eq!(collected(&mut set, BOTH), [EventFlags::IN]);
        assert!(!set.is_ready(|_| BOTH), "an edge is reported once");
        set.list(id);
        assert!(!set.is_ready(|_| EventFlags::OUT) && !set.is_ready(|_| BOTH), "it has to happen again");
        set.change(id, EventFlags::IN | EventFlags::ONESHOT, 8);
        assert_eq!(collected(&mut set, BOTH), [EventFlags::IN]);
        set.list(id);
        assert!(!set.is_ready(|_| BOTH), "silent until changed");
    }

    #[test]
    fn failure_is_reported_unasked() {
        let mut set = Set::default();
        set.insert(3, object(), EventFlags::empty(), 7);
        assert_eq!(collected(&mut set, BOTH | EventFlags::HUP), [EventFlags::HUP]);
    }

    #[test]
    fn everyone_has_a_turn_when_room_is_short() {
        let mut set = Set::default();
        for i in 0..3 {
            set.insert(i, object(), EventFlags::IN, i as u64);
        }
        let mut seen = Vec::new();
        for _ in 0..3 {
            let mut reports = Vec::new();
            set.collect(&mut reports, 1, |_| EventFlags::IN);
            seen.extend(reports.iter().map(|r| r.data));
        }
        assert_eq!(seen, [0, 1, 2]);
    }

    #[test]
    fn what_was_removed_is_not_reported() {
        let mut set = Set::default();
        let thing = object();
        let id = set.insert(3, thing, EventFlags::IN, 7);
        assert_eq!(set.find(3, thing), Some(id));
        set.remove(id);
        assert_eq!(set.find(3, thing), None);
        assert_eq!(collected(&mut set, BOTH), []);
    }
}
