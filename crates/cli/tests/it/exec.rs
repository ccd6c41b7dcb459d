//! `assay exec`: who is started with what, and who is refused. That the library serves is shown by its own tests.

use std::os::unix::fs::PermissionsExt;

use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

use crate::support::{Lab, skip};

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
        return skip("needs a C compiler, apt install gcc");
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
