//! Threads of Java that are parked, each with the object for which it waits (`Thread.parkBlocker`, which `LockSupport.park(Object)` sets):
//! a `ReentrantLock` and a pool without work look alike to the kernel, and differ in the class of that object.

mod calls;
mod structs;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use assay_model::profile::{Frame, FrameKind, Waiter};
use procfs::process::{MMapPath, Process};

use super::{Runtime, Waiting, closed};
use crate::memory::{Memory, words_of};
use crate::naming::Names;
use crate::variables::Variables;
use calls::{Calls, Heap};
use structs::Structs;

/// The library that is HotSpot.
const LIBRARY: &str = "libjvm.so";
/// Where the field `parkBlocker` stands in an object of class `Thread`, found by HotSpot when it starts.
const BLOCKER: &str = "_ZN16java_lang_Thread20_park_blocker_offsetE";
/// What makes a reference more than an address, and a head without the pointer to its class: neither is known here.
const UNKNOWN: [(&str, &str); 3] = [
    ("UseZGC", "the collector ZGC"),
    ("UseShenandoahGC", "the collector Shenandoah"),
    ("UseCompactObjectHeaders", "compact object headers"),
];
/// Most threads that are looked at.
const MAX_THREADS: u32 = 1 << 14;
/// Most objects of one class for which calls are followed in one look.
const MAX_FOLLOWED: usize = 4;
/// Most bytes of the name of a class, and most classes that are kept.
const MAX_NAME: u32 = 512;
const MAX_CLASSES: usize = 1 << 12;
/// Most that a field may be away from the beginning of its object.
const MAX_OFFSET: u64 = 1 << 12;

/// HotSpot in a process.
pub(super) struct Java {
    memory: Memory,
    /// Where the list of threads is named.
    list: u64,
    places: Places,
    references: Pointers,
    classes: Pointers,
    names: HashMap<u64, Option<Arc<str>>>,
    /// Where calls are found; absent where that is not known of this version.
    calls: Option<Calls>,
    /// Looks so far.
    looks: usize,
}

/// Where fields stand in what has them.
struct Places {
    list_length: u64,
    list_threads: u64,
    /// Of a thread: what names its object.
    object: u64,
    /// Of an object: its class.
    class: u64,
    /// Of the object of a thread: for what it is parked.
    blocker: u64,
    /// Of a class: its name; and what a name has.
    name: u64,
    length: u64,
    text: u64,
}

/// How pointers are kept in objects: whole, or as 32 bits from a base on.
struct Pointers {
    compressed: Option<(u64, u32)>,
}

/// Names of the code at some addresses of a process: methods that HotSpot compiled, and what else of its own making it runs, such as its
/// interpreter; none of a program that has no HotSpot, or one whose code is kept in a way that is not known.
pub(super) fn compiled(pid: u32, addresses: &BTreeSet<u64>) -> HashMap<u64, String> {
    let named = || {
        let (variables, memory) = (variables(pid)?, Memory::of(pid).ok()?);
        let calls = Calls::read(&Structs::read(&memory, &variables)?)?;
        let heaps = calls.heaps(&memory);
        let name = |address: &u64| Some((*address, calls.name(&memory, &heaps, *address)?));
        Some(addresses.iter().filter_map(name).collect())
    };
    named().unwrap_or_default()
}

/// The variables of the library that is HotSpot; `None` of a process that has none.
fn variables(pid: u32) -> Option<Variables> {
    let maps = Process::new(pid.cast_signed()).ok()?.maps().ok()?;
    let (begin, file) = maps.into_iter().find_map(|map| match map.pathname {
        MMapPath::Path(path) if map.offset == 0 && path.ends_with(LIBRARY) => Some((map.address.0, path)),
        _ => None,
    })?;
    // By the process's own root, which may be a container's.
    Some(Variables::of(format!("/proc/{pid}/root{}", file.display()), begin))
}

impl Java {
    /// HotSpot in a process, or why it cannot be looked into; `None` of a program that has none.
    pub(super) fn of(pid: u32) -> Option<Result<Self, String>> {
        Some(Self::open(pid, &variables(pid)?))
    }

    fn open(pid: u32, variables: &Variables) -> Result<Self, String> {
        let memory = Memory::of(pid).map_err(|error| closed("Java", &error))?;
        let unseen = |why: &str| format!("which locks Java's threads are parked for is not seen: {why}");
        let is_set = |flag: &str| {
            variables.address(flag).and_then(|at| memory.byte(at)).is_some_and(|value| value != 0)
        };
        if let Some((_, what)) = UNKNOWN.iter().find(|(flag, _)| is_set(flag)) {
            return Err(unseen(&format!("it uses {what}, and how that keeps objects is not known here")));
        }
        let blocker = variables.address(BLOCKER).and_then(|at| memory.half(at));
        let Some(blocker) = blocker else { return Err(unseen("its libjvm.so has no symbols")) };
        let structs = Structs::read(&memory, variables);
        let found = structs.and_then(|structs| {
            let kept =
                |flag, names: &[&str; 2], of| Pointers::read(&memory, &structs, is_set(flag), (of, names));
            let references = kept("UseCompressedOops", &["_narrow_oop._base", "_base"], "CompressedOops")?;
            let classes = kept(
                "UseCompressedClassPointers",
                &["_narrow_klass._base", "_base"],
                "CompressedKlassPointers",
            )?;
            let list = structs.address("ThreadsSMRSupport", &["_java_thread_list"])?;
            let places = Places::read(&structs, u64::from(blocker), classes.compressed.is_some())?;
            Some((list, places, references, classes, Calls::read(&structs)))
        });
        let (list, places, references, classes, calls) =
            found.ok_or_else(|| unseen("how this version keeps its threads is not known here"))?;
        let names = HashMap::new();
        Ok(Self { memory, list, places, references, classes, names, calls, looks: 0 })
    }

    /// The threads that there are now, by where they are kept.
    fn threads(&self) -> Option<Vec<u64>> {
        let list = self.memory.word(self.list)?;
        let length = self.memory.half(list.checked_add(self.places.list_length)?)?.min(MAX_THREADS);
        let threads = self.memory.word(list.checked_add(self.places.list_threads)?)?;
        Some(words_of(&self.memory.bytes(threads, length as usize * 8)?).collect())
    }

    /// For what a thread is parked, and the class of that; `None` of a thread that is not parked for anything.
    fn blocker(&mut self, thread: u64) -> Option<(u64, Arc<str>)> {
        let handle = self.memory.word(thread.checked_add(self.places.object)?)?;
        let object = self.memory.word(handle)?;
        let blocker = self.references.read_at(&self.memory, object.checked_add(self.places.blocker)?)?;
        let class = self.classes.read_at(&self.memory, blocker.checked_add(self.places.class)?)?;
        let known = self.names.get(&class).cloned();
        let name = known.unwrap_or_else(|| {
            let name = self.name(class);
            if self.names.len() < MAX_CLASSES {
                self.names.insert(class, name.clone());
            }
            name
        });
        Some((blocker, name?))
    }

    /// The name of a class; `None` where there is no class, as after a collector has moved what was read.
    fn name(&self, class: u64) -> Option<Arc<str>> {
        let at = self.memory.word(class.checked_add(self.places.name)?)?;
        class_name(&symbol(&self.memory, at, self.places.length, self.places.text)?)
    }

    /// The calls that led a thread to where it is.
    fn way(&self, heaps: &[Heap], thread: u64) -> Option<Vec<u64>> {
        let way = self.calls.as_ref()?.way(&self.memory, heaps, thread);
        (!way.is_empty()).then_some(way)
    }
}

impl Runtime for Java {
    fn waiter(&self) -> Waiter {
        Waiter::Thread
    }

    fn look(&mut self, see: &mut dyn FnMut(Waiting)) {
        let mut threads = self.threads().unwrap_or_default();
        let heaps = self.calls.as_ref().map(|calls| calls.heaps(&self.memory)).unwrap_or_default();
        // One thread is followed of those that wait for one thing, another one in each look; and few of one class, because each answer may
        // be waited for at an object of its own.
        let first = self.looks % threads.len().max(1);
        threads.rotate_left(first);
        self.looks += 1;
        let (mut seen, mut followed) = (HashSet::new(), HashMap::<Arc<str>, HashSet<u64>>::new());
        for thread in threads {
            if let Some((address, class)) = self.blocker(thread).filter(|_| seen.insert(thread)) {
                let of_class = followed.entry(Arc::clone(&class)).or_default();
                let is_followed = of_class.len() < MAX_FOLLOWED && of_class.insert(address);
                let way = is_followed.then(|| self.way(&heaps, thread)).flatten();
                see(Waiting { address, class: Some(class), waiter: thread, way });
            }
        }
    }

    fn frames(&self, _: &Names, _: u32, way: &[u64]) -> Vec<Frame> {
        let Some(calls) = &self.calls else { return Vec::new() };
        let frame = |method: &u64| Frame {
            symbol: calls.method(&self.memory, *method),
            module: None,
            kind: FrameKind::Jit,
        };
        way.iter().map(frame).collect()
    }

    fn complaint(&self) -> Option<String> {
        None
    }
}

impl Places {
    fn read(structs: &Structs, blocker: u64, compressed: bool) -> Option<Self> {
        let offset = |of: &str, name: &str| structs.offset(of, name).filter(|offset| *offset < MAX_OFFSET);
        // Earlier than JDK 17 a thread names its object itself.
        structs.holds("JavaThread", "_threadObj").filter(|holds| *holds == "OopHandle")?;
        let class = if compressed { "_metadata._compressed_klass" } else { "_metadata._klass" };
        Some(Self {
            list_length: offset("ThreadsList", "_length")?,
            list_threads: offset("ThreadsList", "_threads")?,
            object: offset("JavaThread", "_threadObj")? + offset("OopHandle", "_obj")?,
            class: offset("oopDesc", class)?,
            blocker: Some(blocker).filter(|blocker| (1..MAX_OFFSET).contains(blocker))?,
            name: offset("Klass", "_name")?,
            length: offset("Symbol", "_length")?,
            text: offset("Symbol", "_body[0]").or_else(|| offset("Symbol", "_body"))?,
        })
    }
}

impl Pointers {
    /// How they are kept: `of` is the type that has their base and their shift, with the names of the base in builds old and new.
    fn read(memory: &Memory, structs: &Structs, compressed: bool, of: (&str, &[&str; 2])) -> Option<Self> {
        if !compressed {
            return Some(Self { compressed: None });
        }
        let (of, base) = of;
        let shift = base.map(|name| name.replace("base", "shift"));
        let shift = structs.address(of, &[&shift[0], &shift[1]]).and_then(|at| memory.half(at))?;
        let base = memory.word(structs.address(of, base)?)?;
        (shift < 32).then_some(Self { compressed: Some((base, shift)) })
    }

    /// The pointer that is kept at an address; `None` where there is none, or it points nowhere.
    fn read_at(&self, memory: &Memory, at: u64) -> Option<u64> {
        let pointer = match self.compressed {
            Some((base, shift)) => match memory.half(at)? {
                0 => return None,
                kept => base.checked_add(u64::from(kept) << shift)?,
            },
            None => memory.word(at)?,
        };
        (pointer != 0).then_some(pointer)
    }
}

/// The text of a name that HotSpot keeps; `length` and `text` are where it has these.
fn symbol(memory: &Memory, at: u64, length: u64, text: u64) -> Option<Vec<u8>> {
    let length = memory.half(at.checked_add(length)?)? & u32::from(u16::MAX);
    memory.bytes(at.checked_add(text)?, length.min(MAX_NAME) as usize)
}

/// A name as people write it, of the one that HotSpot keeps; `None` of what is none.
fn class_name(kept: &[u8]) -> Option<Arc<str>> {
    let name = std::str::from_utf8(kept).ok()?;
    let is_named = name.chars().next().is_some_and(char::is_alphabetic)
        && name.chars().all(|c| c.is_alphanumeric() || "/$_-+.".contains(c));
    is_named.then(|| name.replace('/', ".").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_classes_are_told_from_what_is_none() {
        let name = |kept: &str| class_name(kept.as_bytes()).map(|name| name.to_string());
        assert_eq!(
            name("java/util/concurrent/Semaphore$Sync").as_deref(),
            Some("java.util.concurrent.Semaphore$Sync")
        );
        assert_eq!((name(""), name("[I"), name("a b"), class_name(&[0xff])), (None, None, None, None));
    }
}
