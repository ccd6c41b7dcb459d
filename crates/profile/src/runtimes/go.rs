//! Goroutines that wait for a semaphore, as those do that wait for a `sync.Mutex` or `sync.RWMutex`: they are on no thread. Go's runtime
//! keeps them in a table of trees, by the address of the semaphore (`semtable` in runtime/sema.go).

use std::collections::HashSet;
use std::fs::File;
use std::io::Read as _;

use assay_model::profile::{Frame, Waiter};

use super::{Runtime, Waiting, closed};
use crate::memory::{Memory, words_of};
use crate::naming::Names;
use crate::program;
use crate::variables::Variables;

/// Trees of the table (`semTabSize`); a semaphore is in the one that its address over eight says.
const TREES: usize = 251;
/// Where the root of a tree stands in its place, in words: behind its lock (`semaRoot`).
const ROOT: usize = 1;
/// Least and most bytes of a place in the table: what is used of it, and the lines of the cache that it fills at most.
const PLACE: std::ops::RangeInclusive<usize> = 24..=256;
/// Versions whose layout is known: 1.18 to 1.27.
const KNOWN: std::ops::RangeInclusive<u32> = 18..=27;
/// First version in which a waiter keeps the address that it waits at in two words (`maybeTraceablePtr`).
const TWO_WORDS: u32 = 26;
/// Most waiters that are looked at in one look.
const MAX_WAITING: usize = 1 << 14;
/// Most goroutines whose calls are followed in one look, and by how many trees each look begins after the last: no divisor of their number.
const MAX_FOLLOWED: usize = 256;
const STEP: usize = 97;
/// Most of a stack that is read, in bytes, and most calls that are followed.
const MAX_STACK: u64 = 1 << 13;
const DEEPEST: usize = 24;
/// From so many waiters on that were not what they should be, and so many for each that was, something else is there than was thought:
/// of a layout that is not this one, one in 251 looks sound.
const MANY: u64 = 16;
/// How much of a file is read to see whether it is Go's: its notes are at the beginning (cmd/internal/buildid).
const BEGIN: u64 = 1 << 16;

/// Words of a `sudog` (runtime/runtime2.go), by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    /// The address that is waited at.
    address: usize,
    /// The next one that waits there.
    next: usize,
}

/// Words of a `sudog` that are read.
const SUDOG: usize = 10;

/// One that waits, as the runtime keeps it: a `sudog`.
#[derive(Clone, Copy, Debug)]
struct Sudog {
    goroutine: u64,
    address: u64,
    /// Those of other addresses below it in the tree.
    below: [u64; 2],
    next: u64,
}

/// The runtime of a Go program.
pub(super) struct Go {
    memory: Memory,
    /// Where the table is, and how many bytes each tree's place has.
    table: u64,
    place: usize,
    layout: Layout,
    /// Waiters that were what they should be, and others: the runtime changes them while they are read.
    sound: u64,
    odd: u64,
    /// Goroutines whose calls were followed in this look, and looks so far.
    followed: usize,
    looks: usize,
}

impl Go {
    /// The runtime of a process, or why it cannot be looked into; `None` of a program that is not Go's.
    pub(super) fn of(pid: u32) -> Option<Result<Self, String>> {
        let file = program::open(pid).ok()?;
        let mut begin = Vec::new();
        (&file).take(BEGIN).read_to_end(&mut begin).ok()?;
        has_note(&begin).then(|| Self::open(pid, &file))
    }

    fn open(pid: u32, file: &File) -> Result<Self, String> {
        let memory = Memory::of(pid).map_err(|error| closed("Go's runtime", &error))?;
        let ended = || "a Go program ended before its runtime was found".to_owned();
        let variables = Variables::of(program::path(pid), program::bias(pid, file).ok_or_else(ended)?);
        let (Some((table, size)), Some(version)) =
            (variables.find("runtime.semtable"), variables.address("runtime.buildVersion"))
        else {
            return Err("goroutines that wait for a lock are not seen, because the program has no symbols: build it without `-s` \
                        in -ldflags"
                .to_owned());
        };
        let version = text(&memory, version).ok_or_else(ended)?;
        let place = size / TREES;
        let layout = layout(&version).filter(|_| PLACE.contains(&place)).ok_or_else(|| {
            format!(
                "goroutines that wait for a lock are not seen: how {version} keeps them is not known here"
            )
        })?;
        Ok(Self { memory, table, place, layout, sound: 0, odd: 0, followed: 0, looks: 0 })
    }

    fn sudog(&self, at: u64) -> Option<Sudog> {
        let words: [u64; SUDOG] = self.memory.words(at)?;
        let [goroutine, greater, less, ..] = words;
        let (address, next) = (words[self.layout.address], words[self.layout.next]);
        (goroutine != 0 && address != 0).then_some(Sudog { goroutine, address, below: [greater, less], next })
    }

    /// Shows what waits in one tree.
    fn look_into(&mut self, number: usize, root: u64, seen: &mut HashSet<u64>, see: &mut dyn FnMut(Waiting)) {
        let mut below = vec![root];
        while let Some(at) = below.pop().filter(|_| seen.len() < MAX_WAITING) {
            if at == 0 || seen.contains(&at) {
                continue;
            }
            let here = |sudog: &Sudog| sudog.address as usize / 8 % TREES == number;
            let Some(first) = self.sudog(at).filter(here) else {
                self.odd += 1;
                continue;
            };
            below.extend(first.below);
            self.look_along(at, first, seen, see);
        }
    }

    /// Shows all that wait at the address of the first.
    fn look_along(&mut self, at: u64, first: Sudog, seen: &mut HashSet<u64>, see: &mut dyn FnMut(Waiting)) {
        let Sudog { address, .. } = first;
        let is_followed = self.followed < MAX_FOLLOWED;
        self.followed += 1;
        let mut way = if is_followed { way(&self.memory, first.goroutine) } else { None };
        let (mut at, mut sudog) = (at, first);
        // What is no longer at the address has been woken meanwhile.
        while seen.len() < MAX_WAITING && seen.insert(at) {
            self.sound += 1;
            see(Waiting { address, class: None, waiter: sudog.goroutine, way: way.take() });
            let Some(next) = self.sudog(sudog.next).filter(|next| next.address == address) else { return };
            (at, sudog) = (sudog.next, next);
        }
    }
}

impl Runtime for Go {
    fn waiter(&self) -> Waiter {
        Waiter::Goroutine
    }

    fn look(&mut self, see: &mut dyn FnMut(Waiting)) {
        let Some(table) = self.memory.bytes(self.table, TREES * self.place) else { return };
        let roots: Vec<u64> = table
            .chunks_exact(self.place)
            .map(|place| words_of(place).nth(ROOT).unwrap_or_default())
            .collect();
        let mut seen = HashSet::new();
        self.followed = 0;
        self.looks += 1;
        // From another tree on in each look, so that all have their turn to be followed.
        let begin = self.looks * STEP;
        for number in (0..TREES).map(|number| (number + begin) % TREES) {
            self.look_into(number, roots[number], &mut seen, see);
        }
    }

    fn frames(&self, names: &Names, pid: u32, way: &[u64]) -> Vec<Frame> {
        names.frames(pid, way)
    }

    fn complaint(&self) -> Option<String> {
        (self.odd >= MANY && self.odd > MANY * self.sound).then(|| {
            "goroutines that wait for a lock are not seen: what Go's runtime keeps of them is not what was expected".to_owned()
        })
    }
}

/// The calls that led to where a goroutine waits, innermost first, by frame pointers, which Go has on all platforms of ours; `None`
/// where that is no goroutine that waits.
fn way(memory: &Memory, goroutine: u64) -> Option<Vec<u64>> {
    // What is common to all versions: the limits of its stack, and at word 7 where it goes on (`g.sched`), which names it again. Behind
    // that lie one or two words that are zero, and the frame pointer.
    let words: [u64; 14] = memory.words(goroutine)?;
    let [low, high, .., pointer, counter, itself, _, _, later, last] = words;
    let is_sound = itself == goroutine && (low..high).contains(&pointer);
    let stack = is_sound.then(|| memory.bytes(pointer, (high - pointer).min(MAX_STACK) as usize))??;
    let stack: Vec<u64> = words_of(&stack).collect();
    let place = |frame: u64| {
        let is_there = frame.is_multiple_of(8) && (pointer..high).contains(&frame);
        is_there.then(|| ((frame - pointer) / 8) as usize)
    };
    let mut frame = place(later).or_else(|| place(last));
    let mut way = vec![counter];
    while let Some(at) = frame.filter(|_| way.len() < DEEPEST) {
        let (Some(outer), Some(back)) = (stack.get(at), stack.get(at + 1)) else { break };
        // What a call returns to is behind it, and may belong to the next function.
        way.push(back.saturating_sub(1));
        frame = place(*outer).filter(|outer| *outer > at);
    }
    Some(way)
}

/// What a string variable of Go holds, up to 64 bytes of it.
fn text(memory: &Memory, variable: u64) -> Option<String> {
    let [at, length] = memory.words(variable)?;
    let bytes = memory.bytes(at, length.min(64) as usize)?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Whether the first bytes of a program have the note of Go's linker: its name has four bytes, and so has its kind, 4 (`ELF_NOTE_GOBUILDID`
/// in cmd/link).
fn has_note(begin: &[u8]) -> bool {
    let is_note = |head: &[u8]| head.starts_with(&[4, 0, 0, 0]) && head.ends_with(b"\x04\0\0\0Go\0\0");
    begin.windows(16).any(is_note)
}

/// How a version keeps what waits: `go1.26.8`, `devel go1.25-0123456789`.
fn layout(version: &str) -> Option<Layout> {
    let (_, minor) = version.split_once("go1.")?;
    let end = minor.find(|c: char| !c.is_ascii_digit()).unwrap_or(minor.len());
    let minor = minor[..end].parse().ok().filter(|minor| KNOWN.contains(minor))?;
    let (address, next) = if minor < TWO_WORDS { (3, 8) } else { (4, 9) };
    Some(Layout { address, next })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_follow_versions_and_unknown_ones_have_none() {
        let [before, since] = [(3, 8), (4, 9)].map(|(address, next)| Some(Layout { address, next }));
        assert_eq!((layout("go1.18"), layout("go1.25.4 X:nocoverageredesign")), (before, before));
        assert_eq!((layout("devel go1.26-0a1b2c3d"), layout("go1.27.3")), (since, since));
        assert_eq!(
            (layout("go1.28.0"), layout("go1.9"), layout("go1."), layout("")),
            (None, None, None, None)
        );
    }

    #[test]
    fn programs_of_go_are_known_by_their_note() {
        let note = |kind: u8| [&[0; 5], &[4, 0, 0, 0, 83, 0, 0, 0, kind, 0, 0, 0][..], b"Go\0\0abc"].concat();
        assert!(has_note(&note(4)) && !has_note(&note(3)) && !has_note(b"\x7fELF"));
    }
}
