//! What is waited for inside the runtimes of real programs: a lock that is held for long, beside everything that waits for work.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use assay_model::profile::{Awaited, Facet, Refused, Waiter};
use assay_profile::Sampling;
use assay_skip::skip;

use super::{MOST_SLICES, Program, SLICE};

/// Five goroutines that want one mutex and six that want a lock for readers and writers, beside those that wait for a group, a channel,
/// a condition and a time.
const GO: &str = include_str!("shop.go");

/// Five threads that want one lock, beside a pool without work and threads at all else that the library has to wait at.
const JAVA: &str = include_str!("Shop.java");
/// What HotSpot's class of a lock is called in the library of that language.
const LOCK: &str = "java.util.concurrent.locks.ReentrantLock$NonfairSync";

/// A Go program of one file, built in a folder; `None`, and a word, where that cannot be.
pub(super) fn go(folder: &tempfile::TempDir, source: &str, flags: &[&str]) -> Option<PathBuf> {
    let (text, program) = (folder.path().join("program.go"), folder.path().join("program"));
    std::fs::write(&text, source).expect("written");
    let mut build = Command::new("go");
    // Of the toolchain that is here, and no other.
    build.env("GOTOOLCHAIN", "local").env("GOFLAGS", "-buildvcs=false").current_dir(folder.path());
    let built =
        build.arg("build").args(flags).arg("-o").args([&program, &text]).stdin(Stdio::null()).output();
    match built {
        Ok(built) => {
            assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
            Some(program)
        }
        Err(_) => {
            skip("tools", "there is no go");
            None
        }
    }
}

/// What a program waits for in a slice in which that is enough, as it was in the one before: in that one it may have begun. `None`, and a
/// word, where its memory may not be read.
fn awaited(program: &Program, is_enough: impl Fn(&[Awaited]) -> bool) -> Option<Vec<Awaited>> {
    let (mut last, mut was_enough) = (None, false);
    for slice in 0..MOST_SLICES {
        let sampling = Sampling::start(program.on_all_cpus());
        std::thread::sleep(SLICE * 2_u32.pow(slice));
        let (sampled, refused) = sampling.finish(1);
        let refused: Vec<Refused> =
            refused.into_iter().filter(|refused| refused.what == Facet::Runtime).collect();
        if let Some(closed) = refused.iter().find(|refused| refused.why.contains("may not be read")) {
            skip("root", &closed.why);
            return None;
        }
        let is_now = refused.is_empty() && is_enough(&sampled.awaited);
        if is_now && was_enough {
            return Some(sampled.awaited);
        }
        was_enough = is_now;
        last = Some((sampled.awaited, refused));
    }
    panic!("never seen to wait: {last:?}");
}

/// The names of the functions that led to a wait.
fn names(awaited: &Awaited) -> Vec<&str> {
    awaited.callers.iter().filter_map(|frame| frame.symbol.as_deref()).collect()
}

/// Everything to which a function led.
fn by<'a>(all: &'a [Awaited], function: &str) -> Vec<&'a Awaited> {
    all.iter().filter(|awaited| names(awaited).contains(&function)).collect()
}

/// How many waited for something at a time, on the whole: of it, and of something else that one waits for all the time.
fn at_a_time(of: &Awaited, always: &Awaited) -> f64 {
    of.time_ns.0 as f64 / always.time_ns.0 as f64
}

#[test]
fn goroutines_that_wait_for_a_lock_are_seen_with_the_function_that_takes_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(program) = go(&folder, GO, &[]) else { return };
    let program = Program::start(&mut Command::new(program));
    let enough = |all: &[Awaited]| {
        let waiters = |of: &str| by(all, of).iter().map(|awaited| awaited.waiters).max().unwrap_or(0);
        waiters("main.reserve") == 5 && waiters("main.stock") == 5 && waiters("main.restock") == 1
    };
    let Some(all) = awaited(&program, enough) else { return };
    let [lock] = by(&all, "main.reserve")[..] else { panic!("one lock: {all:?}") };
    let [group] = by(&all, "sync.(*WaitGroup).Wait")[..] else { panic!("one group: {all:?}") };
    assert_eq!((lock.waiter, lock.waiters, group.waiters), (Waiter::Goroutine, 5, 1));
    // One of the five has the lock.
    let waiting = at_a_time(lock, group);
    assert!((2.5..=5.0).contains(&waiting), "{waiting}: {lock:?}");
    assert!(names(lock).iter().any(|name| name.ends_with("sync.(*Mutex).lockSlow")), "{lock:?}");
    // Go 1.20 made a function of its own of it for readers.
    let of_lock =
        |read: &&Awaited| names(read).iter().any(|name| name.starts_with("sync.runtime_Semacquire"));
    assert!(by(&all, "main.stock").iter().any(of_lock), "{all:?}");
    assert!(all.iter().all(|awaited| awaited.class.is_none()), "{all:?}");
    // What waits for a channel or a condition is in none of the runtime's trees.
    assert!(by(&all, "sync.(*Cond).Wait").is_empty() && by(&all, "runtime.chanrecv").is_empty(), "{all:?}");
}

#[test]
fn a_go_program_at_another_address_is_seen_and_one_without_symbols_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(elsewhere) = go(&folder, GO, &["-buildmode=pie"]) else { return };
    let program = Program::start(&mut Command::new(elsewhere));
    if awaited(&program, |all| by(all, "main.reserve").len() == 1).is_none() {
        return;
    }
    drop(program);
    let stripped = go(&folder, GO, &["-ldflags=-s -w"]).expect("built before");
    let program = Program::start(&mut Command::new(stripped));
    let sampling = Sampling::start(program.on_all_cpus());
    let (sampled, refused) = sampling.finish(1);
    assert!(sampled.awaited.is_empty());
    let told = |refused: &Refused| refused.what == Facet::Runtime && refused.why.contains("no symbols");
    assert!(refused.iter().any(told), "{refused:?}");
}

#[test]
fn threads_of_java_that_are_parked_for_a_lock_are_seen_with_its_class() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("Shop.java");
    std::fs::write(&source, JAVA).expect("written");
    // Java alone does not compile what it starts.
    if !Command::new("javac").arg("-version").output().is_ok_and(|told| told.status.success()) {
        return skip("tools", "there is no javac");
    }
    for flags in
        [&[][..], &["-XX:-UseCompressedOops"], &["-XX:+UseSerialGC", "-XX:-UseCompressedClassPointers"]]
    {
        let program = Program::start(Command::new("java").args(flags).arg(&source));
        let of = |all: &[Awaited], class: &str| -> Vec<Awaited> {
            all.iter().filter(|awaited| awaited.class.as_deref() == Some(class)).cloned().collect()
        };
        let latch = "java.util.concurrent.CountDownLatch$Sync";
        let enough = |all: &[Awaited]| {
            of(all, LOCK).iter().any(|lock| lock.waiters == 5) && !of(all, latch).is_empty()
        };
        let Some(all) = awaited(&program, enough) else { return };
        let [lock] = &of(&all, LOCK)[..] else { panic!("one lock: {all:?}") };
        assert_eq!(lock.waiter, Waiter::Thread);
        let waiting = at_a_time(lock, &of(&all, latch)[0]);
        assert!((2.5..=5.0).contains(&waiting), "{waiting}: {lock:?}");
        assert_eq!(names(lock).first(), Some(&"jdk.internal.misc.Unsafe.park"), "{lock:?}");
        // Whoever takes it may have been compiled into its caller meanwhile.
        assert!(names(lock).iter().any(|name| name.starts_with("Shop.")), "{lock:?}");
        let idle = "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject";
        assert!(of(&all, idle).iter().any(|pool| pool.waiters == 4), "{all:?}");
    }
}

#[test]
fn what_a_collector_keeps_in_a_way_that_is_not_known_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("Shop.java");
    std::fs::write(&source, JAVA).expect("written");
    if !Command::new("javac")
        .args(["-J-XX:+UseZGC", "-version"])
        .output()
        .is_ok_and(|told| told.status.success())
    {
        return skip("tools", "there is no javac with ZGC");
    }
    let program = Program::start(Command::new("java").arg("-XX:+UseZGC").arg(&source));
    let mut told = None;
    // It takes a moment until the launcher has become Java.
    for slice in 0..MOST_SLICES {
        let (sampled, refused) = Sampling::start(program.on_all_cpus()).finish(1);
        assert!(sampled.awaited.is_empty());
        told = refused.into_iter().find(|refused| refused.what == Facet::Runtime);
        if told.as_ref().is_some_and(|told| told.why.contains("ZGC")) {
            return;
        }
        std::thread::sleep(SLICE * 2_u32.pow(slice));
    }
    if let Some(closed) = told.as_ref().filter(|told| told.why.contains("may not be read")) {
        return skip("root", &closed.why);
    }
    panic!("not told: {told:?}");
}

/// No program of Go's, but one that says so, and whose table of what waits has no end: in each tree is the one waiter, which leads to itself,
/// and so does every call of its stack.
const NO_GO: &str = r#"
#include <stdint.h>
#include <unistd.h>

__asm__(".section .note.go.buildid,\"a\",%note\n.long 4, 4, 4\n.ascii \"Go\\0\\0\"\n.long 0\n.text\n");

static uint64_t stack[8], goroutine[16], waiter[16];
uint64_t table[251 * 8] __asm__("runtime.semtable");
uint64_t version[2] __asm__("runtime.buildVersion") = {(uint64_t)"go1.26", UINT64_MAX};

int main(void) {
    stack[0] = (uint64_t)stack;
    goroutine[1] = UINT64_MAX;
    goroutine[7] = (uint64_t)stack;
    goroutine[9] = (uint64_t)goroutine;
    goroutine[12] = (uint64_t)stack;
    waiter[0] = (uint64_t)goroutine;
    waiter[1] = waiter[2] = waiter[9] = (uint64_t)waiter;
    for (int tree = 0; tree < 251; tree++) table[8 * tree + 1] = (uint64_t)waiter;
    waiter[4] = 8 * 251;
    for (;;) pause();
}
"#;

/// No HotSpot, but a library that says so: its table has no end, and everything that it tells of leads to itself.
const NO_JAVA: &str = r#"
#include <stdint.h>

typedef struct {
    const char *type, *field, *holds;
    uint64_t is_static, offset;
    void *address;
} Entry;

static uint64_t self[1 << 16];
static struct { uint32_t hash; uint16_t length; char text[16]; } name = {1, 9, "java/Evil"};
int _ZN16java_lang_Thread20_park_blocker_offsetE = 8;
char UseCompressedOops = 0, UseCompressedClassPointers = 0;
Entry table[1 << 14];
Entry *gHotSpotVMStructs = table, *gHotSpotVMTypes = table;
uint64_t gHotSpotVMStructEntryTypeNameOffset = 0, gHotSpotVMStructEntryFieldNameOffset = 8;
uint64_t gHotSpotVMStructEntryTypeStringOffset = 16, gHotSpotVMStructEntryOffsetOffset = 32;
uint64_t gHotSpotVMStructEntryAddressOffset = 40, gHotSpotVMStructEntryArrayStride = sizeof(Entry);
uint64_t gHotSpotVMTypeEntryTypeNameOffset = 0, gHotSpotVMTypeEntrySizeOffset = 32;
uint64_t gHotSpotVMTypeEntryArrayStride = sizeof(Entry);

static const Entry fields[] = {
    {"ThreadsSMRSupport", "_java_thread_list", "", 1, 0, self}, {"ThreadsList", "_length", "", 0, 40, 0},
    {"ThreadsList", "_threads", "", 0, 0, 0}, {"JavaThread", "_threadObj", "OopHandle", 0, 0, 0},
    {"OopHandle", "_obj", "", 0, 0, 0}, {"oopDesc", "_metadata._klass", "", 0, 0, 0},
    {"Klass", "_name", "", 0, 16, 0}, {"Symbol", "_length", "", 0, 4, 0}, {"Symbol", "_body[0]", "", 0, 6, 0},
    {"CodeCache", "_heaps", "", 1, 0, self}, {"GrowableArrayBase", "_len", "", 0, 40, 0},
    {"GrowableArray<int>", "_data", "", 0, 0, 0}, {"CodeHeap", "_memory", "", 0, 0, 0},
    {"CodeHeap", "_segmap", "", 0, 24, 0}, {"VirtualSpace", "_low", "", 0, 24, 0},
    {"VirtualSpace", "_high", "", 0, 32, 0}, {"CodeHeap", "_log2_segment_size", "", 0, 24, 0},
    {"HeapBlock", "", "", 0, 0, 0}, {"CodeBlob", "_name", "", 0, 56, 0}, {"CodeBlob", "_frame_size", "", 0, 64, 0},
    {"nmethod", "_method", "", 0, 0, 0}, {"JavaThread", "_anchor", "", 0, 0, 0},
    {"JavaFrameAnchor", "_last_Java_sp", "", 0, 0, 0}, {"JavaFrameAnchor", "_last_Java_pc", "", 0, 0, 0},
    {"JavaFrameAnchor", "_last_Java_fp", "", 0, 0, 0}, {"Method", "_constMethod", "", 0, 0, 0},
    {"ConstMethod", "_constants", "", 0, 0, 0}, {"ConstMethod", "_name_index", "", 0, 0, 0},
    {"ConstantPool", "_pool_holder", "", 0, 0, 0}, {"ConstantPool", "", "", 0, UINT64_MAX, 0},
};

__attribute__((constructor)) static void begin(void) {
    int known = sizeof(fields) / sizeof(Entry);
    for (int i = 0; i < 1 << 14; i++) table[i] = fields[i % known];
    for (int i = 0; i < 1 << 16; i++) self[i] = (uint64_t)self;
    self[2] = (uint64_t)&name;
    self[3] = 0;
    self[4] = UINT64_MAX;
    self[5] = UINT32_MAX;
    self[7] = (uint64_t)"nmethod";
    self[8] = 1;
}
"#;

/// What a program is found to wait for that is no runtime; why it cannot be seen, if it cannot.
fn survived(program: &Program) -> (Vec<Awaited>, Vec<Refused>) {
    let mut seen = (Vec::new(), Vec::new());
    // It takes a moment until it has begun.
    for slice in 0..MOST_SLICES {
        let sampling = Sampling::start(program.on_all_cpus());
        std::thread::sleep(SLICE * 2_u32.pow(slice));
        let (sampled, refused) = sampling.finish(1);
        let refused = refused.into_iter().filter(|refused| refused.what == Facet::Runtime).collect();
        seen = (sampled.awaited, refused);
        if seen.0.len() + seen.1.len() > 0 {
            break;
        }
    }
    seen
}

#[test]
fn what_is_no_runtime_is_survived() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(program) = super::compiled(folder.path(), NO_GO, &[]) else { return };
    let program = Program::start(&mut Command::new(program));
    let (awaited, refused) = survived(&program);
    drop(program);
    if let Some(closed) = refused.iter().find(|refused| refused.why.contains("may not be read")) {
        return skip("root", &closed.why);
    }
    assert!(awaited.iter().all(|awaited| awaited.waiters == 1 && awaited.callers.len() < 32), "{awaited:?}");
    assert!(
        awaited.len() + refused.len() > 0 && refused.iter().all(|refused| !refused.why.contains("failed"))
    );
    let library = super::compiled(folder.path(), NO_JAVA, &["-shared", "-fPIC"]).expect("compiled before");
    let named = folder.path().join("libjvm.so");
    std::fs::rename(library, &named).expect("renamed");
    let program = Program::start(Command::new("sleep").arg("60").env("LD_PRELOAD", &named));
    let (awaited, refused) = survived(&program);
    assert_eq!(refused, []);
    let [evil] = &awaited[..] else { panic!("one thread, however often it is listed: {awaited:?}") };
    assert_eq!((evil.class.as_deref(), evil.waiters), (Some("java.Evil"), 1));
}
