//! Real programs, looked at while they work.
#![allow(clippy::expect_used, clippy::panic, reason = "helpers of tests may fail as tests do")]

mod named;
mod runtimes;

use std::fs::File;
use std::hint::black_box;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use assay_model::profile::{Facet, FrameKind, Owner, Parked, Refused, Sampled};
use assay_profile::{Sampling, Target, Tracing};
use assay_skip::skip;

/// Says which of [`program`]'s tricks this test program is to do.
const TRICK: &str = "ASSAY_PROFILE_TRICK";
/// Length of one slice.
const SLICE: Duration = Duration::from_millis(300);
/// Most slices until a program was busy enough, each twice as long as the one before: the machine may be busy with others.
const MOST_SLICES: u32 = 7;
/// Fewest samples from which a share is told.
const ENOUGH: u64 = 200;

/// A child that is ended when it is dropped.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Program {
    /// This test program once more, doing a trick.
    fn trick(name: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().expect("own program"));
        Self::start(command.args(["--exact", "program"]).env(TRICK, name))
    }

    fn start(command: &mut Command) -> Self {
        Self(
            command
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("started"),
        )
    }

    fn on_all_cpus(&self) -> Target {
        Target { roots: vec![self.0.id()], cpus: Some(assay_host::cpuset::allowed()) }
    }
}

/// No test of its own: what [`Program::trick`] starts.
#[test]
fn program() {
    match std::env::var(TRICK).as_deref() {
        Ok("divide") => loop {
            six_tenths();
            four_tenths();
        },
        Ok("talk") => talk(),
        _ => {}
    }
}

/// Turns of a loop that calls nothing, so that the innermost function is this one.
macro_rules! spin {
    ($turns:literal) => {{
        let (mut turn, mut sum) = (0_u64, 0_u64);
        while turn < $turns {
            turn += 1;
            sum ^= turn;
        }
        black_box(sum);
    }};
}

#[inline(never)]
fn six_tenths() {
    spin!(60_000);
}

#[inline(never)]
fn four_tenths() {
    spin!(40_000);
}

/// Sends a few bytes to and fro over loopback.
fn talk() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let address = listener.local_addr().expect("address");
    std::thread::spawn(move || {
        let (mut far, _) = listener.accept().expect("accepted");
        let mut bytes = [0; 100];
        while far.read(&mut bytes).is_ok_and(|n| n > 0) && far.write_all(&bytes).is_ok() {}
    });
    let mut near = TcpStream::connect(address).expect("connected");
    let mut bytes = [1; 100];
    while near.write_all(&bytes).and_then(|()| near.read_exact(&mut bytes)).is_ok() {}
}

/// Slices until one satisfies; `None`, and a word, where samples are not allowed.
fn sampled(target: &Target, is_enough: impl Fn(&Sampled) -> bool) -> Option<(Sampled, Vec<Refused>)> {
    for slice in 0..MOST_SLICES {
        let sampling = Sampling::start(target.clone());
        std::thread::sleep(SLICE * 2_u32.pow(slice));
        let (sampled, refused) = sampling.finish(7);
        if let Some(refused) = refused.iter().find(|refused| refused.what == Facet::Samples) {
            skip("root", &refused.why);
            return None;
        }
        if is_enough(&sampled) {
            return Some((sampled, refused));
        }
    }
    panic!("never busy enough: {target:?}");
}

/// Samples of the server in whose stack a function's name contains `name`.
fn samples_in(sampled: &Sampled, name: &str) -> u64 {
    let is_named = |frame: &u32| {
        sampled.frames[*frame as usize].symbol.as_deref().is_some_and(|symbol| symbol.contains(name))
    };
    let own = sampled.stacks.iter().filter(|stack| stack.owner == Owner::Server);
    own.filter(|stack| stack.frames.iter().any(is_named)).map(|stack| stack.samples).sum()
}

fn assert_divided(sampled: &Sampled) {
    let (six, four) = (samples_in(sampled, "six_tenths"), samples_in(sampled, "four_tenths"));
    let share = six as f64 / (six + four) as f64;
    // Five standard deviations of two hundred samples.
    assert!((0.43..0.77).contains(&share), "{six} and {four}");
    let both = (six + four) as f64 / sampled.samples_of(Owner::Server) as f64;
    assert!(both > 0.9, "{both} of {} samples", sampled.samples_of(Owner::Server));
    assert!(sampled.named_share().is_some_and(|share| share > 0.9), "{:?}", sampled.named_share());
}

#[test]
fn two_functions_have_their_shares_of_the_samples_and_samples_are_the_cpu_time() {
    let program = Program::trick("divide");
    let enough = |sampled: &Sampled| samples_in(sampled, "_tenths") >= ENOUGH;
    let Some((sampled, refused)) = sampled(&program.on_all_cpus(), enough) else { return };
    assert_divided(&sampled);
    assert!(refused.iter().all(|refused| refused.what != Facet::Symbols), "{refused:?}");
    let sampled_ns = sampled.samples_of(Owner::Server) * sampled.interval_ns.0;
    let of_usage = sampled_ns as f64 / sampled.usage.cpu_ns().0 as f64;
    assert!((0.5..1.5).contains(&of_usage), "{of_usage} of {:?}", sampled.usage.cpu_ns());
    assert_eq!(sampled.answers, 7);
}

#[test]
fn threads_are_looked_at_where_a_program_has_no_cpus_of_its_own() {
    let program = Program::trick("divide");
    let target = Target { cpus: None, ..program.on_all_cpus() };
    let enough = |sampled: &Sampled| samples_in(sampled, "_tenths") >= ENOUGH;
    let Some((sampled, _)) = sampled(&target, enough) else { return };
    assert_divided(&sampled);
    assert_eq!((sampled.cpus, sampled.others, sampled.idle), (0, 0, 0));
}

#[test]
fn the_kernels_work_for_a_talker_is_seen_with_its_calls_and_what_tcp_counts() {
    let program = Program::trick("talk");
    let target = program.on_all_cpus();
    let busy = |sampled: &Sampled| samples_in(sampled, "tcp_sendmsg") >= 20;
    let Some((sampled, _)) = sampled(&target, busy) else { return };
    assert!(samples_in(&sampled, "tcp_v4_rcv") > 0, "what is sent over loopback is received at once");
    assert!(sampled.frames.iter().any(|frame| frame.kind == FrameKind::Kernel));
    assert!(sampled.tcp.get("InSegs").is_some_and(|segments| *segments > 100), "{:?}", sampled.tcp);
    assert!(sampled.waits.iter().any(|wait| wait.count > 0), "two threads wait for each other by turns");
    let tracing = match Tracing::start(target) {
        Ok(tracing) => tracing,
        Err(refused) => return skip("root", refused.why),
    };
    std::thread::sleep(SLICE);
    let traced = tracing.finish(9).expect("alive");
    let call = |name: &str| traced.calls.iter().find(|call| call.name == name).map_or(0, |call| call.count);
    let (sent, received) = (call("sendto") + call("write"), call("recvfrom") + call("read"));
    assert!(sent > 100 && received > 100, "{traced:?}");
    assert!(traced.calls[0].time_ns.0 > 0 && traced.answers == 9, "{traced:?}");
}

#[test]
fn a_function_of_node_is_named_by_its_perf_map() {
    const BUSY: &str = "function ofMyOwn(n) { let s = 0; for (let i = 0; i < n; i++) s += i % 7; return s } \
        for (;;) ofMyOwn(1e6)";
    if !Command::new("node").arg("--version").output().is_ok_and(|told| told.status.success()) {
        return skip("tools", "there is no node");
    }
    let folder = tempfile::tempdir().expect("folder");
    let node = || {
        let mut command = Command::new("node");
        command.current_dir(folder.path());
        command
    };
    let program = Program::start(node().args(["--perf-basic-prof", "-e", BUSY]));
    let found = sampled(&program.on_all_cpus(), |sampled| samples_in(sampled, "ofMyOwn") >= 20);
    let map = std::path::PathBuf::from(format!("/tmp/perf-{}.map", program.0.id()));
    drop(program);
    let _ = std::fs::remove_file(map);
    let Some((sampled, _)) = found else { return };
    let named = sampled
        .frames
        .iter()
        .filter(|frame| frame.symbol.as_deref().is_some_and(|name| name.contains("ofMyOwn")));
    assert!(
        named.clone().count() > 0 && named.clone().all(|frame| frame.kind == FrameKind::Jit),
        "{:?}",
        sampled.frames
    );
}

/// Runs two instructions for ever that it has put at an address which a test can know.
const COMPILES: &str = r#"
#include <string.h>
#include <sys/mman.h>

int main(void) {
    void *code = (void *)0x200000000000;
    int all = PROT_READ | PROT_WRITE | PROT_EXEC;
    if (mmap(code, 4096, all, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != code) return 1;
#if defined(__x86_64__)
    memcpy(code, "\x90\xeb\xfd", 3);
#elif defined(__aarch64__)
    memcpy(code, "\x1f\x20\x03\xd5\xff\xff\xff\x17", 8);
#else
#error what are its instructions?
#endif
    __builtin___clear_cache(code, (char *)code + 4096);
    ((void (*)(void))code)();
}
"#;

/// Compiles a program in C; `None`, and a word, where that cannot be.
fn compiled(folder: &Path, source: &str, flags: &[&str]) -> Option<PathBuf> {
    let (text, program) = (folder.join("program.c"), folder.join("program"));
    std::fs::write(&text, source).expect("written");
    let built = Command::new("cc").args(flags).arg("-o").args([&program, &text]).status();
    let is_built = built.is_ok_and(|status| status.success());
    if !is_built {
        skip("tools", "needs a C compiler, apt install gcc");
    }
    is_built.then_some(program)
}

/// The perf map of a process, which is removed when this is dropped.
struct Map(PathBuf);

impl Map {
    fn of(program: &Program) -> Self {
        Self(format!("/tmp/perf-{}.map", program.0.id()).into())
    }

    /// Puts a map there that names the code of [`COMPILES`], between lines that are none.
    fn write(&self) -> &Path {
        self.remove();
        std::fs::write(&self.0, "no line\n200000000000 1000 spun\n2000").expect("written");
        &self.0
    }

    fn remove(&self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Samples of a program's compiled code that its map names, and why the map is not used; `None` where samples are not allowed.
fn named_by_map(program: &Program) -> Option<(u64, Option<String>)> {
    let innermost_is_compiled = |sampled: &Sampled| {
        let compiled = sampled
            .stacks
            .iter()
            .filter(|stack| sampled.innermost(stack).is_some_and(|frame| frame.kind == FrameKind::Jit));
        compiled.map(|stack| stack.samples).sum::<u64>() >= 20
    };
    let (sampled, refused) = sampled(&program.on_all_cpus(), innermost_is_compiled)?;
    let why = refused.into_iter().find(|refused| refused.what == Facet::Symbols).map(|refused| refused.why);
    Some((samples_in(&sampled, "spun"), why))
}

#[test]
fn a_perf_map_is_believed_only_where_the_program_can_have_written_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(program) = compiled(folder.path(), COMPILES, &[]) else { return };
    let program = Program::start(&mut Command::new(program));
    let map = Map::of(&program);
    let Some(none) = named_by_map(&program) else { return };
    assert_eq!(none, (0, None), "there is no map");
    map.write();
    let (named, why) = named_by_map(&program).expect("allowed");
    assert!(named >= 20 && why.is_none(), "{named}: {why:?}");
    let refuses = |what: &str| {
        let (named, why) = named_by_map(&program).expect("allowed");
        assert!(
            named == 0 && why.as_ref().is_some_and(|why| why.contains("is not used")),
            "{what}: {named}, {why:?}"
        );
    };
    let hour = Duration::from_secs(3_600);
    File::open(map.write()).and_then(|file| file.set_modified(SystemTime::now() - hour)).expect("a time");
    refuses("of an earlier process");
    let elsewhere = folder.path().join("map");
    std::fs::copy(map.write(), &elsewhere).expect("copied");
    map.remove();
    std::os::unix::fs::symlink(&elsewhere, &map.0).expect("a link");
    refuses("a link");
    map.remove();
    assert!(Command::new("mkfifo").arg(&map.0).status().is_ok_and(|status| status.success()));
    refuses("a pipe");
    if std::os::unix::fs::chown(map.write(), Some(65_534), None).is_ok() {
        refuses("of somebody else");
    }
}

/// Three threads that want one lock, each of which waits at a word of its own, beside one that waits for work. Its functions have frame
/// pointers but for the one that waits, as a compiler may have it.
const PARKS: &str = r#"
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PLACES 8
static atomic_int next, turn[PLACES] = {1}, work;

__attribute__((noinline)) void lock_slow(int ticket) {
    while (!atomic_exchange(&turn[ticket % PLACES], 0))
        syscall(SYS_futex, &turn[ticket % PLACES], FUTEX_WAIT_PRIVATE, 0, 0, 0, 0);
}
__attribute__((noinline)) void reserve(void) {
    int ticket = atomic_fetch_add(&next, 1);
    lock_slow(ticket);
    usleep(2000);
    atomic_store(&turn[(ticket + 1) % PLACES], 1);
    syscall(SYS_futex, &turn[(ticket + 1) % PLACES], FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}
void *worker(void *unused) {
    for (;;) reserve();
    return unused;
}
int main(void) {
    pthread_t thread;
    for (int i = 0; i < 3; i++) pthread_create(&thread, 0, worker, 0);
    for (;;) syscall(SYS_futex, &work, FUTEX_WAIT_PRIVATE, 0, 0, 0, 0);
}
"#;

#[test]
fn the_way_to_a_lock_that_parks_its_threads_is_known_and_so_is_the_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let flags = ["-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-pthread"];
    let Some(program) = compiled(folder.path(), PARKS, &flags) else { return };
    let program = Program::start(&mut Command::new(program));
    let tracing = match Tracing::start(program.on_all_cpus()) {
        Ok(tracing) => tracing,
        Err(refused) => return skip("root", refused.why),
    };
    std::thread::sleep(3 * SLICE);
    let traced = tracing.finish(1).expect("it lives");
    let way = |parked: &Parked| -> Vec<String> {
        parked.callers.iter().filter_map(|frame| frame.symbol.clone()).take(3).collect()
    };
    let locked = traced.parked.iter().find(|parked| way(parked) == ["syscall", "lock_slow", "reserve"]);
    let Some(locked) = locked else { panic!("no wait for the lock: {:?}", traced.parked) };
    assert!(locked.threads == 3 && locked.waits > 3 && locked.time_ns.0 > 3_000_000, "{locked:?}");
    assert_eq!(locked.thread_ids.len(), 3);
    assert!(traced.locks.is_empty(), "their words say nothing of others: {:?}", traced.locks);
}

#[test]
fn a_server_that_dies_in_the_slice_is_told_and_the_rest_stands() {
    let program = Program::trick("divide");
    let target = program.on_all_cpus();
    let (sampling, tracing) = (Sampling::start(target.clone()), Tracing::start(target.clone()));
    std::thread::sleep(Duration::from_millis(50));
    drop(program);
    let (sampled, refused) = sampling.finish(1);
    assert_eq!((sampled.answers, samples_in(&sampled, "_tenths")), (1, 0), "nothing can be named any more");
    assert!(refused.iter().any(|refused| refused.why.contains("ended")), "{refused:?}");
    if let Ok(tracing) = tracing {
        assert!(tracing.finish(1).is_err_and(|refused| refused.why.contains("ended")));
    }
    let nobody = Sampling::start(target).finish(0);
    assert!(nobody.0.stacks.iter().all(|stack| stack.owner == Owner::Kernel));
}
