//! `assay doctor` before saved machines, where its findings are certain, and before this one, where only their form is.

use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

use crate::support::{Lab, stdout};

/// A machine with two cores, a narrow range of ports and short queues.
fn saved() -> Lab {
    let lab = Lab::new();
    for (file, text) in [
        ("proc/cpuinfo", "model name\t: A CPU\nflags\t: fpu lm\n"),
        ("proc/self/limits", "Max open files     1024      1048576      files\n"),
        ("proc/sys/kernel/osrelease", "6.1.0\n"),
        ("proc/sys/net/ipv4/ip_local_port_range", "32768\t40000\n"),
        ("proc/sys/net/core/somaxconn", "128\n"),
        ("sys/devices/system/cpu/online", "0-1\n"),
    ] {
        lab.write(&format!("machine/{file}"), text);
    }
    lab
}

fn root(lab: &Lab) -> String {
    lab.path("machine").display().to_string()
}

#[test]
fn what_objects_comes_with_its_cost_and_its_remedy() {
    let lab = saved();
    let assert = lab.assay(&["doctor", "--root", &root(&lab)]).assert().code(0);
    let words = ["caution ports", "7233 ports", "→ widen", "caution accept-queue", "tried again after 1 s"];
    let assert = words.iter().fold(assert, |assert, word| assert.stdout(contains(*word)));
    assert
        .stdout(contains("usable with caution: ports, accept-queue").and(contains("2 settings would help")));
}

#[test]
fn strict_scripts_are_stopped_by_caution_and_all_by_unfit() {
    let lab = saved();
    lab.assay(&["doctor", "--strict", "--root", &root(&lab)]).assert().code(4);
    lab.write("machine/proc/self/limits", "Max open files     256      512      files\n");
    lab.assay(&["doctor", "--root", &root(&lab)]).assert().code(4).stdout(contains("unfit: open-files"));
}

#[test]
fn the_json_is_a_diagnosis() {
    let lab = saved();
    let text = stdout(&lab.assay(&["doctor", "--json", "--root", &root(&lab)]).assert().code(0));
    let diagnosis: assay_model::doctor::Diagnosis = serde_json::from_str(&text).expect("a diagnosis");
    assert_eq!(diagnosis.schema, assay_model::doctor::DOCTOR_SCHEMA);
    assert!(diagnosis.measured.is_none(), "nothing can be measured on another machine");
    let here = stdout(&lab.assay(&["doctor", "--json", "--watch", "50ms"]).assert());
    let diagnosis: assay_model::doctor::Diagnosis = serde_json::from_str(&here).expect("a diagnosis");
    assert!(diagnosis.measured.is_some_and(|measured| measured.clock_read_ns > 0.0));
}

#[test]
fn a_folder_that_is_no_machine_is_refused() {
    let lab = saved();
    let nothing = lab.path("machine/sys").display().to_string();
    lab.assay(&["doctor", "--root", &nothing]).assert().code(2).stderr(contains("proc/cpuinfo"));
    lab.assay(&["doctor", "--fix", "--root", &root(&lab)]).assert().code(2);
    lab.assay(&["doctor", "--watch", "2m"]).assert().code(2).stderr(contains("a minute is the most"));
}
