//! A table whose entries keep their number, under a generation that grows when the number is given away again.

/// Name of an entry; one that was removed is never mistaken for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Id {
    index: u32,
    generation: u32,
}

pub(crate) struct Arena<T> {
    entries: Vec<(u32, Option<T>)>,
    free: Vec<u32>,
}

impl<T> Arena<T> {
    pub(crate) const fn new() -> Self {
        Self { entries: Vec::new(), free: Vec::new() }
    }

    pub(crate) fn insert(&mut self, value: T) -> Id {
        if let Some(index) = self.free.pop() {
            let entry = &mut self.entries[index as usize];
            entry.1 = Some(value);
            return Id { index, generation: entry.0 };
        }
        let index = self.entries.len() as u32;
        self.entries.push((0, Some(value)));
        Id { index, generation: 0 }
    }

    pub(crate) fn get(&self, id: Id) -> Option<&T> {
        self.entries.get(id.index as usize).filter(|e| e.0 == id.generation)?.1.as_ref()
    }

    pub(crate) fn get_mut(&mut self, id: Id) -> Option<&mut T> {
        self.entries.get_mut(id.index as usize).filter(|e| e.0 == id.generation)?.1.as_mut()
    }

    pub(crate) fn remove(&mut self, id: Id) -> Option<T> {
        let entry = self.entries.get_mut(id.index as usize).filter(|e| e.0 == id.generation)?;
        let value = entry.1.take()?;
        entry.0 = entry.0.wrapping_add(1);
        self.free.push(id.index);
        Some(value)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.entries.iter_mut().filter_map(|e| e.1.as_mut())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Id, &T)> {
        let name = |(index, e): (usize, &'_ (u32, Option<T>))| Id { index: index as u32, generation: e.0 };
        self.entries.iter().enumerate().filter_map(move |(i, e)| e.1.as_ref().map(|v| (name((i, e)), v)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_name_finds_nothing() {
        let mut arena = Arena::new();
        let old = arena.insert('a');
        assert_eq!(arena.remove(old), Some('a'));
        let new = arena.insert('b');
        assert_ne!(old, new);
        assert_eq!((arena.get(old), arena.get(new)), (None, Some(&'b')));
        assert_eq!(arena.remove(old), None);
        assert_eq!(arena.iter().count(), 1);
    }
}
