//! `assay exec`: who is started with what, and who is refused. That the library serves is shown by its own tests.

use std::os::unix::fs::PermissionsExt;

use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

use crate::support::{Lab, Running, eventually, preload_library};
use assay_skip::skip;

#[test]
fn the_program_takes_our_place_and_its_status_is_ours() {
    let lab = Lab::new();
    let kernel = ["exec", "--stack", "kernel", "--", "sh", "-c", "echo $0 $1; exit 7", "a", "--b"];
    lab.assay(&kernel).assert().code(7).stdout("a --b\n");
    lab.assay(&["exec", "--stack", "kernel", "--", "no-such-program"])
        .assert()
        .code(10)
        .stderr(contains("there is no program `no-such-program`"));
}

#[test]
fn on_the_user_space_stack_it_finds_its_end_of_the_wire() {
    let lab = Lab::new();
    // A library without hooks is enough to see what a program is told.
    lab.write("source.c", "int assay_test_nothing;\n");
    let library = lab.path("nothing.so");
    let compiled = std::process::Command::new("cc")
        .args(["-shared", "-o"])
        .args([&library, &lab.path("source.c")])
        .status();
    if !compiled.is_ok_and(|status| status.success()) {
        return skip("tools", "needs a C compiler, apt install gcc");
    }
    let script = "echo $ASSAY_STACK $ASSAY_STACK_WIRE $ASSAY_STACK_ADDRESS $LD_PRELOAD";
    let library = library.canonicalize().expect("path");
    let told = format!("user ring:/dev/shm/w 10.77.0.1/24,fd00::1/64 {}\n", library.display());
    let preload = library.to_string_lossy();
    let wire = ["exec", "--wire", "ring:/dev/shm/w", "--address", "10.77.0.1/24,fd00::1/64"];
    let command = ["--preload", &preload, "--", "sh", "-c", script];
    lab.assay(&[&wire[..], &command[..]].concat()).assert().code(0).stdout(told);
    lab.assay(&["exec", "--", "true"]).assert().code(2).stderr(contains("--wire"));
}

#[test]
fn a_preload_library_that_is_none_is_told_before_anything_starts() {
    let lab = Lab::new();
    lab.write("app.js", "console.log('no library')\n");
    let wire = ["exec", "--wire", "ring:/dev/shm/w", "--address", "10.77.0.1/24"];
    for file in ["app.js", "."] {
        let started = lab.path("started");
        let started = started.to_string_lossy();
        let assert = lab.assay(&[&wire[..], &["--preload", file, "--", "touch", &started]].concat()).assert();
        let told = format!("the preload library {file}: it is no shared library");
        assert.code(2).stdout("").stderr(contains(told));
        assert!(!lab.path("started").exists());
    }
}

#[test]
fn a_wire_that_is_not_understood_or_cannot_be_had_is_told_before_anything_starts() {
    let lab = Lab::new();
    let ring = format!("ring:{}", lab.path("ring").display());
    let nowhere = format!("ring:{}", lab.path("no/such/folder").display());
    for (arguments, code, told) in [
        (["--wire", "rng:/x", "--address", "10.77.0.1/24"], 2, "`rng:/x` is no wire; write ring:PATH"),
        (["--wire", &ring, "--address", "10.77.0.1"], 2, "10.77.0.1/24"),
        (["--wire", &nowhere, "--address", "10.77.0.1/24"], 4, "the ring cannot be made"),
    ] {
        let started = lab.path("started");
        let command = ["--", "touch", &started.to_string_lossy()];
        let all = [&["exec"][..], &arguments, &command].concat();
        lab.assay(&all).assert().code(code).stdout("").stderr(contains(told));
        assert!(!started.exists(), "{arguments:?}");
    }
}

/// The pair of lines in the help, whose server has one queue.
#[test]
fn the_generator_has_as_many_threads_as_the_ring_has_queues() {
    let (lab, memory) = (Lab::new(), tempfile::tempdir_in("/dev/shm").expect("folder"));
    let wire = format!("ring:{}", memory.path().join("ring").display());
    let ends = ["--stack", "user", "--wire", &wire];
    let serve = [&["serve", "--cpus", "0", "--port", "8080"][..], &ends].concat();
    let mut server = Running::start(lab.command(&serve));
    server.wait_for("serving http://");
    let load = ["load", "http://10.77.0.1:8080/hello", "-d", "200ms", "-c", "4"];
    lab.assay(&[&load[..], &ends].concat()).assert().code(0).stdout(contains("right + 0 failed"));
}

#[test]
fn nothing_is_left_of_the_ring_of_a_program_that_is_killed() {
    let Some(library) = preload_library() else { return };
    let (lab, memory) = (Lab::new(), tempfile::tempdir_in("/dev/shm").expect("folder"));
    let wire = format!("ring:{}", memory.path().join("ring").display());
    let script =
        "import socket; s = socket.create_server(('', 8080)); print('listens', flush=True); s.accept()";
    let library = library.to_string_lossy();
    let own = ["exec", "--preload", &library, "--wire", &wire, "--address", "10.77.0.1/24"];
    let program = ["--", "python3", "-c", script];
    let mut child = lab.command(&[&own[..], &program].concat()).spawn().expect("started");
    let names = || memory.path().read_dir().expect("folder").count();
    eventually("the ring and its pipes are there", || names() == 3);
    child.kill().expect("killed");
    child.wait().expect("ended");
    eventually("nothing is left, not even who removed the names", || {
        names() == 0 && lab.processes().is_empty()
    });
}

#[test]
fn nothing_is_left_of_the_ring_of_a_server_or_a_load_that_is_killed() {
    let (lab, memory) = (Lab::new(), tempfile::tempdir_in("/dev/shm").expect("folder"));
    let wire = format!("ring:{}", memory.path().join("ring").display());
    let names = || memory.path().read_dir().expect("folder").count();
    for command in [&["serve"][..], &["stub"], &["load", "http://10.77.0.1:8080/", "-d", "1m"]] {
        let own = ["--stack", "user", "--wire", &wire];
        let mut child = lab.command(&[command, &own].concat()).spawn().expect("started");
        eventually("the ring and its pipes are there", || names() >= 3);
        child.kill().expect("killed");
        child.wait().expect("ended");
        eventually("nothing is left, not even who removed the names", || {
            names() == 0 && lab.processes().is_empty()
        });
    }
}

#[test]
fn what_makes_raw_system_calls_is_refused() {
    let lab = Lab::new();
    // The header of a 64-bit ELF file (elf(5)) without a segment, so without a dynamic loader.
    let mut program = [b"\x7fELF\x02\x01\x01".as_slice(), &[0; 57]].concat();
    program[16] = 2;
    let path = lab.path("static");
    std::fs::write(&path, program).expect("file");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("mode");
    let path = path.to_string_lossy();
    lab.assay(&["exec", "--wire", "ring:/dev/shm/w", "--", &path])
        .assert()
        .code(10)
        .stderr(contains("linked statically").and(contains("raw system calls")));
}
