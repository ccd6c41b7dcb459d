//! Epoll instances and what they watch of the stack (epoll_ctl(2)).

use std::os::fd::{OwnedFd, RawFd};

use assay_engine::Engine;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;

use super::arena::Id;
use super::set::{ALWAYS, wanted};
use super::{Core, Object, Report, Set, readiness};
use crate::fdinfo::Watch;

impl<E: Engine> Core<E> {
    /// Makes an epoll instance of the program known, when it first watches one of ours. It keeps what was hung into the kernel's
    /// instance of that number.
    pub(crate) fn adopt_set(&mut self, descriptor: RawFd, bell: OwnedFd) {
        let set = self.sets.insert(Set::new(bell));
        self.put(descriptor, Object::Set(set));
    }

    /// What hangs in the kernel's instance.
    pub(crate) fn bell(&self, set: RawFd) -> Option<RawFd> {
        match self.object(set)? {
            Object::Set(id) => self.sets.get(id)?.bell(),
            Object::Listener(_) | Object::Stream(_) => None,
        }
    }

    /// Gives an epoll instance another bell; whether it is one.
    pub(crate) fn renew_bell(&mut self, set: RawFd, bell: OwnedFd) -> bool {
        let Some(Object::Set(id)) = self.object(set) else { return false };
        self.sets.get_mut(id).is_some_and(|set| {
            set.renew_bell(bell);
            true
        })
    }

    /// Whether a descriptor is the bell of an epoll instance.
    pub(crate) fn has_bell(&self, descriptor: RawFd) -> bool {
        self.sets.iter().any(|(_, set)| set.bell() == Some(descriptor))
    }

    /// `EPOLL_CTL_ADD`.
    pub(crate) fn watch(
        &mut self,
        set: RawFd,
        target: RawFd,
        flags: EventFlags,
        data: u64,
    ) -> Result<(), Errno> {
        let (id, object) = self.set_and_target(set, target)?;
        let entry = self.sets.get_mut(id).ok_or(Errno::BADF)?;
        if entry.find(target, object).is_some() {
            return Err(Errno::EXIST);
        }
        self.want(object);
        let entry = self.sets.get_mut(id).ok_or(Errno::BADF)?;
        let interest = entry.insert(target, object, flags, data);
        match object {
            Object::Listener(l) => self.listeners.get_mut(l).map(|l| l.watchers.push((id, interest))),
            Object::Stream(s) => self.streams.get_mut(s).map(|s| s.watchers.push((id, interest))),
            Object::Set(_) => None,
        };
        Ok(())
    }

    /// `EPOLL_CTL_ADD` as the kernel's instance was told of it. It watches for failures always, unless the one report that was
    /// wanted has been made.
    pub(crate) fn inherit_watch(&mut self, set: RawFd, target: RawFd, watch: Watch) -> Result<(), Errno> {
        self.watch(set, target, watch.flags, watch.data)?;
        let (id, object) = self.set_and_target(set, target)?;
        let entry = self.sets.get_mut(id).ok_or(Errno::BADF)?;
        if !watch.flags.contains(ALWAYS)
            && let Some(interest) = entry.find(target, object)
        {
            entry.silence(interest);
        }
        Ok(())
    }

    /// `EPOLL_CTL_MOD`.
    pub(crate) fn change_watch(
        &mut self,
        set: RawFd,
        target: RawFd,
        flags: EventFlags,
        data: u64,
    ) -> Result<(), Errno> {
        let (id, object) = self.set_and_target(set, target)?;
        let entry = self.sets.get_mut(id).ok_or(Errno::BADF)?;
        let interest = entry.find(target, object).ok_or(Errno::NOENT)?;
        entry.change(interest, flags, data);
        Ok(())
    }

    /// `EPOLL_CTL_DEL`.
    pub(crate) fn unwatch(&mut self, set: RawFd, target: RawFd) -> Result<(), Errno> {
        let (id, object) = self.set_and_target(set, target)?;
        let entry = self.sets.get_mut(id).ok_or(Errno::BADF)?;
        let interest = entry.find(target, object).ok_or(Errno::NOENT)?;
        entry.remove(interest);
        self.forget_watcher(object, (id, interest));
        Ok(())
    }

    /// Whether an interest with these flags in what a descriptor names has something to report already.
    pub(crate) fn is_due(&mut self, target: RawFd, flags: EventFlags) -> bool {
        self.object(target).is_some_and(|object| self.readiness(object).intersects(wanted(flags)))
    }

    /// Appends what the epoll instance has to report until `reports` holds `room`.
    pub(crate) fn collect(&mut self, set: RawFd, reports: &mut Vec<Report>, room: usize) {
        let Some(Object::Set(id)) = self.object(set) else { return };
        let Self { sets, listeners, streams, engine, .. } = self;
        let Some(mut entry) = sets.get_mut(id).map(std::mem::take) else { return };
        entry.collect(reports, room, |object| readiness(object, listeners, streams, sets, engine));
        if let Some(place) = sets.get_mut(id) {
            *place = entry;
        }
    }

    /// What is true of an object now, as poll(2) names it; of an epoll instance, as far as it watches the stack's.
    pub(crate) fn truth(&mut self, object: Object) -> EventFlags {
        let Object::Set(id) = object else { return self.readiness(object) };
        let Self { sets, listeners, streams, engine, .. } = self;
        let Some(mut entry) = sets.get_mut(id).map(std::mem::take) else { return EventFlags::ERR };
        let ready = entry.is_ready(|object| readiness(object, listeners, streams, sets, engine));
        if let Some(place) = sets.get_mut(id) {
            *place = entry;
        }
        if ready { EventFlags::IN | EventFlags::RDNORM } else { EventFlags::empty() }
    }

    /// Notes that an epoll instance hangs in another.
    pub(crate) fn note_nested(&mut self, outer: RawFd, inner: RawFd) {
        if !self.nested.contains(&(outer, inner)) {
            self.nested.push((outer, inner));
        }
    }

    /// Epoll instances in which another hangs, or has hung.
    pub(crate) fn around(&self, inner: RawFd) -> impl Iterator<Item = RawFd> {
        self.nested.iter().filter(move |pair| pair.1 == inner).map(|&(outer, _)| outer)
    }

    /// Ends an epoll instance.
    pub(super) fn drop_set(&mut self, id: Id) {
        let Some(set) = self.sets.remove(id) else { return };
        for (interest, watched) in set.interests() {
            self.forget_watcher(watched.object, (id, interest));
        }
    }

    /// Ends what watches an object that is closed.
    pub(super) fn drop_watchers(&mut self, watchers: &[(Id, Id)]) {
        for &(set, interest) in watchers {
            if let Some(set) = self.sets.get_mut(set) {
                set.remove(interest);
            }
        }
    }

    fn forget_watcher(&mut self, object: Object, watcher: (Id, Id)) {
        let watchers = match object {
            Object::Listener(id) => self.listeners.get_mut(id).map(|l| &mut l.watchers),
            Object::Stream(id) => self.streams.get_mut(id).map(|s| &mut s.watchers),
            Object::Set(_) => None,
        };
        if let Some(watchers) = watchers {
            watchers.retain(|&w| w != watcher);
        }
    }

    fn set_and_target(&self, set: RawFd, target: RawFd) -> Result<(Id, Object), Errno> {
        match (self.object(set), self.object(target)) {
            (Some(Object::Set(id)), Some(object @ (Object::Listener(_) | Object::Stream(_)))) => {
                Ok((id, object))
            }
            (Some(Object::Set(_)), _) => Err(Errno::BADF),
            _ => Err(Errno::INVAL),
        }
    }
}
